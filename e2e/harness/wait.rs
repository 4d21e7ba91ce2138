use std::time::{Duration, Instant};

use super::failure::Failure;

/// How long [`eventually`] waits. A healthy run needs a second or two; a busy machine may need many more, and only a
/// failing run pays for the patience.
pub const PATIENCE: Duration = Duration::from_secs(60);

const INTERVAL: Duration = Duration::from_millis(50);

/// Asks again and again until there is an answer, and returns it. `what` completes the sentence "waited for …".
///
/// `Ok(None)` and errors both mean "not yet"; the last error is part of the failure when patience runs out.
#[track_caller]
pub fn eventually<T, Attempt, Answer>(
    what: &str,
    attempt: Attempt,
) -> impl Future<Output = Result<T, Failure>> + use<T, Attempt, Answer>
where
    Attempt: FnMut() -> Answer,
    Answer: Future<Output = Result<Option<T>, Failure>>,
{
    eventually_within(PATIENCE, what, attempt)
}

/// [`eventually`] with a patience of one's own.
#[track_caller]
pub fn eventually_within<T, Attempt, Answer>(
    patience: Duration,
    what: &str,
    mut attempt: Attempt,
) -> impl Future<Output = Result<T, Failure>> + use<T, Attempt, Answer>
where
    // Not `AsyncFnMut`, of which the compiler cannot tell in a spawned task that it is `Send`.
    Attempt: FnMut() -> Answer,
    Answer: Future<Output = Result<Option<T>, Failure>>,
{
    let too_late = Failure::new(format!("waited {} s in vain for {what}", patience.as_secs()));
    async move {
        let deadline = Instant::now() + patience;
        loop {
            let last_error = match attempt().await {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => None,
                Err(error) => Some(error),
            };
            if Instant::now() >= deadline {
                return Err(too_late.because(last_error));
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
