//! What a proved plan still waits for.

use serde_json::Value;

use super::kill_loop::KillLoop;
use super::window::{Windows, windows};
use crate::api;
use crate::core::model::pod::Pod;
use crate::core::model::workload::Workload;

/// Why a write does not start yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub reason: &'static str,
    pub message: String,
    /// Seconds after which to look again, where no event will tell.
    pub look_again: Option<u32>,
}

/// The first thing to wait for. A proved kill loop waits for no health, and for no window unless the policy says so:
/// the database is down in any case.
pub(super) fn wait(
    workload: &Workload,
    pods: &[Pod<'_>],
    rollout: &api::Rollout,
    looping: Option<&KillLoop>,
    rolling_elsewhere: usize,
    now: jiff::Timestamp,
) -> Option<Wait> {
    let unhealthy = if looping.is_some() { None } else { unhealthy(workload, pods) };
    if let Some(message) = unhealthy {
        return Some(Wait { reason: "NotHealthy", message, look_again: None });
    }
    if looping.is_none() || rollout.kill_loop == api::KillLoop::Wait {
        match windows(&rollout.windows, now) {
            Windows::Open => {}
            Windows::Closed(next) => {
                let when = next.map_or_else(|| "none opens".to_owned(), |next| format!("the next opens at {next}"));
                let seconds = next.map(|next| next.as_second() - now.as_second() + 1);
                let look_again = seconds.and_then(|seconds| u32::try_from(seconds).ok());
                let although = looping.map_or_else(String::new, |looping| {
                    format!(
                        " although its probe kills it ({}), since the policy says rollout.killLoop: Wait",
                        looping.because
                    )
                });
                let message = format!("waiting for a rollout window{although}; {when}");
                return Some(Wait { reason: "WindowClosed", message, look_again });
            }
            Windows::Unreadable(message) => {
                return Some(Wait { reason: "WindowUnreadable", message, look_again: None });
            }
        }
    }
    let at_once = usize::try_from(rollout.max_concurrent).unwrap_or(1).max(1);
    (rolling_elsewhere >= at_once).then(|| Wait {
        reason: "MaxConcurrent",
        message: format!(
            "waiting for {rolling_elsewhere} other of this policy to finish rolling; {at_once} may at once (rollout.maxConcurrent)"
        ),
        look_again: Some(30),
    })
}

/// Why a workload is not as it should be, if it is not. A restart on top of a failure is nobody's wish.
fn unhealthy(workload: &Workload, pods: &[Pod<'_>]) -> Option<String> {
    let status = |field: &str| workload.json().pointer(&format!("/status/{field}"));
    let number = |field: &str| status(field).and_then(Value::as_i64).unwrap_or(0);
    if let Some(pod) = pods.iter().find(|pod| pod.is_terminating()) {
        return Some(format!("waiting for {} to be gone", pod.name()));
    }
    if is_rolling(workload) {
        return Some("waiting for the rollout that is under way".to_owned());
    }
    let (ready, wanted) = (number("readyReplicas"), workload.replicas());
    (ready < wanted).then(|| format!("waiting for its pods: {ready} of {wanted} are ready, and no kill loop is proved"))
}

/// Whether the StatefulSet controller has not seen the latest spec yet, so that the status speaks of an earlier one.
pub(super) fn is_unobserved(workload: &Workload) -> bool {
    let generation = |pointer: &str| workload.json().pointer(pointer).and_then(Value::as_i64);
    generation("/status/observedGeneration") < generation("/metadata/generation")
}

/// Whether a rollout of the workload is under way. One that waits for its pods to be deleted by hand (`OnDelete`) or
/// is held by a partition is not.
#[must_use]
pub fn is_rolling(workload: &Workload) -> bool {
    let text = |pointer: &str| workload.text(pointer);
    let by_hand = text("/spec/updateStrategy/type") == "OnDelete";
    let partition = workload.json().pointer("/spec/updateStrategy/rollingUpdate/partition").and_then(Value::as_i64);
    let (current, update) = (text("/status/currentRevision"), text("/status/updateRevision"));
    is_unobserved(workload) || (!by_hand && partition.unwrap_or(0) == 0 && !update.is_empty() && current != update)
}
