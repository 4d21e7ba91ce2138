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

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::probe::ProbeKind;

pub(super) const RULE: Rule = Rule {
    id: "RP011",
    name: "readiness-missing",
    summary: "nothing keeps traffic from a database that is not ready",
    severity: Severity::Warning,
    applicability: Applicability::ReportOnly,
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, _) in case.databases() {
        if container.probe(ProbeKind::Readiness).is_some() {
            continue;
        }
        let moves = super::liveness_is_replaced(case, container);
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
