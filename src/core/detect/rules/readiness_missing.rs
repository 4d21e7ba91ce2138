//! # RP011 readiness-missing
//!
//! ## What it finds
//! A database container without a readiness probe.
//!
//! ## Why it is unsafe
//! It gets traffic from its first second, in recovery too, and the StatefulSet moves on to the next pod at once.
//!
//! ## What Reprieve does
//! Where RP001 or RP002 takes the check out of the liveness, it becomes the readiness. Else it only reports: a check
//! that nobody wrote may hold up a rollout for ever.
//!
//! ## Exceptions
//! A check that other servers decide is never made the readiness: where pods are started one after the other, the first
//! would wait for others that wait for it.

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::probe::ProbeKind;

pub(super) const RULE: Rule = Rule {
    id: "RP011",
    name: "readiness-missing",
    summary: "nothing keeps traffic from a database that is not ready",
    severity: Severity::Warning,
    applicability: Applicability::ReportOnly,
    file: include_str!("readiness_missing.rs"),
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, database) in case.databases() {
        if container.probe(ProbeKind::Readiness).is_some() {
            continue;
        }
        // A check that others decide, or that tells nothing, would keep the pod out of rotation for no fault of its own.
        let liveness = container.probe(ProbeKind::Liveness);
        let is_fit = liveness.is_some_and(|probe| super::unfit_to_repeat(container, database, probe).is_none());
        let moves = is_fit && super::liveness_is_replaced(case, container);
        let fix =
            if moves { "let the liveness check decide readiness" } else { "write a readiness probe for this database" };
        findings.push(
            Finding::new(
                &RULE,
                container,
                "readinessProbe",
                "no readiness probe: clients are sent to it while it still recovers".to_owned(),
                fix,
            )
            .severity(if moves { Severity::Warning } else { Severity::Info })
            .applicability(if moves { Applicability::Safe } else { Applicability::ReportOnly }),
        );
    }
    findings
}
