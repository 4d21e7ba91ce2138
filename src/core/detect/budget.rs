//! How long a process may fail a probe before the kubelet kills it.

use crate::core::model::probe::{Probe, Timing};

/// Seconds from container start to the kill, when every probe fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillBudget {
    /// The earliest: the first probe runs as soon as its delay is over, and each failure is immediate.
    pub earliest: i64,
    /// The latest: one period more, and every probe runs into its timeout.
    pub latest: i64,
}

/// The kill budget of a liveness or startup probe. The kubelet's worker starts its ticker at a random point of the
/// first period (`pkg/kubelet/prober/worker.go`), which is the period between the two numbers.
///
/// An attempt that runs longer than the period keeps the next one waiting: the worker asks one after the other, and of
/// the ticks that it missed it makes up for one.
#[must_use]
pub fn kill_budget(probe: Probe<'_>) -> KillBudget {
    let [delay, period, timeout, threshold] =
        [Timing::InitialDelay, Timing::Period, Timing::Timeout, Timing::FailureThreshold].map(|t| probe.timing(t));
    let more = (threshold - 1).max(0);
    let earliest = more.saturating_mul(period).saturating_add(delay);
    let slowest = more.saturating_mul(period.max(timeout)).saturating_add(delay);
    KillBudget { earliest, latest: slowest.saturating_add(period).saturating_add(timeout) }
}

/// What a startup probe allows: `failureThreshold × periodSeconds`, the number that the Kubernetes documentation
/// gives for it.
#[must_use]
pub fn startup_budget(probe: Probe<'_>) -> i64 {
    probe.timing(Timing::FailureThreshold).saturating_mul(probe.timing(Timing::Period))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::probe::ProbeKind;
    use serde_json::json;

    #[test]
    fn the_incident_was_killed_every_five_and_a_half_minutes() {
        let json = json!({"initialDelaySeconds": 300, "periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3});
        let probe = Probe { kind: ProbeKind::Liveness, json: &json };
        assert_eq!(kill_budget(probe), KillBudget { earliest: 320, latest: 331 });
    }

    #[test]
    fn attempts_that_are_longer_than_the_period_wait_for_each_other() {
        let json = json!({"periodSeconds": 5, "timeoutSeconds": 8, "failureThreshold": 3});
        let probe = Probe { kind: ProbeKind::Liveness, json: &json };
        assert_eq!(kill_budget(probe), KillBudget { earliest: 10, latest: 16 + 5 + 8 });
    }

    #[test]
    fn absurd_numbers_do_not_overflow() {
        let json = json!({"initialDelaySeconds": i64::MAX, "periodSeconds": i64::MAX, "failureThreshold": i64::MAX});
        let probe = Probe { kind: ProbeKind::Startup, json: &json };
        assert_eq!((kill_budget(probe).earliest, startup_budget(probe)), (i64::MAX, i64::MAX));
    }
}
