use std::error::Error;
use std::fmt;
use std::panic::Location;

/// Why a scenario, or the harness under it, could not go on, and where in the source that was.
///
/// Any error becomes one through `?`. For that reason it is itself no [`Error`], as in other crates of this kind.
pub struct Failure {
    text: String,
    location: &'static Location<'static>,
}

impl Failure {
    /// A failure in one's own words. They should say what was expected, and what to do where that is known.
    #[track_caller]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), location: Location::caller() }
    }

    /// The same failure, at the same place, with its cause where one is known.
    pub fn because(mut self, cause: Option<Self>) -> Self {
        if let Some(cause) = cause {
            self.text.push_str("; last error: ");
            self.text.push_str(&cause.to_string());
        }
        self
    }
}

impl<E: Error> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Self {
        // kube's `Display` repeats its source in some variants and leaves it out in others.
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text.push_str(": ");
                text.push_str(&cause_text);
            }
            source = cause.source();
        }
        Self::new(text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\n  at {}", self.text, self.location)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Adds the step that failed to an error, for those errors that do not name it, such as "No such file or directory".
pub trait Context<T> {
    /// Puts `step` in front of the error's own text.
    fn context(self, step: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> Context<T> for Result<T, E> {
    #[track_caller]
    fn context(self, step: impl fmt::Display) -> Result<T, Failure> {
        match self {
            Ok(value) => Ok(value),
            Err(error) => {
                let Failure { text, .. } = error.into();
                Err(Failure::new(format!("{step}: {text}")))
            }
        }
    }
}
