//! The proof that a database is being killed by its own probe.

use crate::core::detect::Case;
use crate::core::detect::budget::kill_budget;
use crate::core::model::command::Outcome;
use crate::core::model::pod::Pod;
use crate::core::model::probe::ProbeKind;

/// Fewer restarts may be chance.
const RESTARTS: i64 = 3;
/// SIGKILL, SIGTERM, and a server that obeys SIGTERM and exits cleanly.
const EXIT_CODES: [i64; 3] = [137, 143, 0];
/// The kubelet's own delays: starting, probing late under load, reporting.
const SLACK_SECONDS: i64 = 15;

/// A proved kill loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillLoop {
    /// The pod.
    pub pod: String,
    /// The arithmetic that proves it.
    pub because: String,
}

/// Looks for a database whose last life was as long as its kill budget, and whose present one is no longer than that:
/// a loop that ended is none. `OOMKilled` rules it out.
#[must_use]
pub fn kill_loop(case: &Case<'_>, pods: &[Pod<'_>], now: jiff::Timestamp) -> Option<KillLoop> {
    let grace =
        case.workload.pod_spec().and_then(|spec| spec.get("terminationGracePeriodSeconds")?.as_i64()).unwrap_or(30);
    for (container, database) in case.databases() {
        // The killer is whichever probe fails during recovery: the startup probe before the liveness.
        let killer = [ProbeKind::Startup, ProbeKind::Liveness].into_iter().find_map(|kind| {
            let probe = container.probe(kind)?;
            (database.meaning(container, probe).outcome != Outcome::Passes).then_some(probe)
        });
        let Some(killer) = killer else { continue };
        let budget = kill_budget(killer);
        for pod in pods {
            let Some(status) = pod.container(container.name) else { continue };
            let Some(end) = status.last_termination() else { continue };
            let Some(lived) = end.lifetime_seconds else { continue };
            let longest = budget.latest.saturating_add(grace).saturating_add(SLACK_SECONDS);
            let fits = (budget.earliest..=longest).contains(&lived);
            let survived = status.running_since().is_some_and(|start| now.as_second() - start.as_second() > longest);
            let is_kill = EXIT_CODES.contains(&end.exit_code) && end.reason != "OOMKilled";
            if status.restarts() >= RESTARTS && fits && is_kill && !survived {
                let because = format!(
                    "{} was restarted {} times and last lived {lived} s; its {} probe kills after {}-{} s",
                    pod.name(),
                    status.restarts(),
                    killer.kind.word(),
                    budget.earliest,
                    budget.latest
                );
                return Some(KillLoop { pod: pod.name().to_owned(), because });
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::PolicySpec;
    use crate::core::model::workload::Workload;
    use serde_json::{Value, json};

    fn found(pod: &Value) -> bool {
        let workload = Workload::new(
            json!({"kind": "StatefulSet", "spec": {"template": {"spec": {"containers": [{"name": "database",
            "image": "goharbor/harbor-db:v2", "livenessProbe": {"exec": {"command": ["/docker-healthcheck.sh"]},
            "initialDelaySeconds": 300, "periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3}}]}}}}),
        );
        let policy = PolicySpec::default();
        let now = "2026-12-05T02:00:00Z".parse().unwrap();
        kill_loop(&Case::new(&workload, &policy, None), &[Pod(pod)], now).is_some()
    }

    fn pod(restarts: i64, exit_code: i64, reason: &str, lived: i64) -> Value {
        let start: jiff::Timestamp = "2026-12-05T01:00:00Z".parse().unwrap();
        let end = start + jiff::SignedDuration::from_secs(lived);
        json!({"metadata": {"name": "database-0"}, "status": {"containerStatuses": [{"name": "database", "restartCount": restarts,
            "lastState": {"terminated": {"exitCode": exit_code, "reason": reason, "startedAt": start.to_string(), "finishedAt": end.to_string()}}}]}})
    }

    #[test]
    fn a_loop_that_ended_is_none() {
        let since = |time: &str| {
            let mut pod = pod(42, 137, "Error", 342);
            pod["status"]["containerStatuses"][0]["state"] = json!({"running": {"startedAt": time}});
            found(&pod)
        };
        assert!(since("2026-12-05T01:58:00Z"), "it may be killed any minute");
        assert!(!since("2026-12-05T01:50:00Z"), "no life of the loop was as long as this");
        assert!(!since("2026-11-05T01:50:00Z"), "it has served for a month");
    }

    #[test]
    fn a_loop_has_the_length_of_its_budget() {
        assert!(found(&pod(42, 137, "Error", 342)), "5.7 minutes apart");
        assert!(found(&pod(3, 0, "Completed", 321)), "PostgreSQL obeys SIGTERM");
        assert!(!found(&pod(2, 137, "Error", 342)), "too few to tell");
        assert!(!found(&pod(42, 137, "OOMKilled", 342)));
        assert!(!found(&pod(42, 1, "Error", 342)), "it ended by itself");
        assert!(!found(&pod(42, 137, "Error", 20)), "it did not live long enough to be killed");
        assert!(!found(&pod(42, 137, "Error", 4000)), "it served for an hour first");
    }
}
