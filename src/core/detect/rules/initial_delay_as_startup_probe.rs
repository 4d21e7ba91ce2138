//! # RP010 initial-delay-as-startup-probe
//!
//! ## What it finds
//! A liveness that does not pass during recovery, an `initialDelaySeconds` of half a minute or more before it, and no
//! startup probe.
//!
//! ## Why it is unsafe
//! The delay is a guess at the longest start. A start that takes longer is killed; one that takes a second leaves a
//! server unwatched for the rest of the delay. A startup probe waits as long as the start takes, and no longer.
//!
//! ## What Reprieve does
//! Where RP009 is fixed, there is a startup probe afterwards. The delay stays what it was: the kubelet counts it from the
//! start of the container, not from the end of the startup probe, so that all it costs is that a hang in those first
//! seconds is seen later. Without it the liveness could kill earlier than today, and no patch may do that unless the
//! policy says so (`liveness: {initialDelaySeconds: 0}`).
//!
//! ## Exceptions
//! A liveness that passes during recovery: its delay stands in for nothing.
//!
//! ## References
//! rabbitmq/rabbitmq-server#3863, elastic/helm-charts#374, `doProbe` in `pkg/kubelet/prober/worker.go`

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::command::Outcome;
use crate::core::model::probe::{ProbeKind, Timing};

pub(super) const RULE: Rule = Rule {
    id: "RP010",
    name: "initial-delay-as-startup-probe",
    summary: "a fixed delay stands in for a startup probe",
    severity: Severity::Info,
    applicability: Applicability::ReportOnly,
    file: include_str!("initial_delay_as_startup_probe.rs"),
    check,
};

/// Seconds; less is what a process needs to come up at all.
const LARGE: i64 = 30;

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, database) in case.databases() {
        let Some((probe, _, meaning)) = case.liveness(container, database) else { continue };
        let delay = probe.timing(Timing::InitialDelay);
        let has_startup = container.probe(ProbeKind::Startup).is_some();
        if delay < LARGE || has_startup || meaning.outcome == Outcome::Passes {
            continue;
        }
        let message = format!(
            "a delay of {delay} s stands in for a startup probe: a longer start is killed, and a hang after a shorter one is not seen until then"
        );
        findings.push(
            Finding::new(
                &RULE,
                container,
                "livenessProbe",
                message,
                "write a startup probe with the recovery allowance; the delay may then go",
            )
            .with("initialDelaySeconds", delay),
        );
    }
    findings
}
