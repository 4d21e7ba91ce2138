//! # RP008 liveness-equals-readiness
//!
//! ## What it finds
//! The same check in liveness and readiness, by meaning: timings, an inner `timeout`, dead code and the name
//! of a port aside. The query of a URL counts.
//!
//! ## Why it is unsafe
//! Readiness is there to take a slow server out of rotation before anything worse. With the same check in both, the
//! kill comes together with it.
//!
//! ## What Reprieve does
//! Where RP001, RP002 or RP012 replaces the liveness, nothing more is needed. Else it only reports.

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::detect::case::same_check;
use crate::core::model::probe::ProbeKind;

pub(super) const RULE: Rule = Rule {
    id: "RP008",
    name: "liveness-equals-readiness",
    summary: "the check that takes the pod out of rotation also kills it",
    severity: Severity::Warning,
    applicability: Applicability::ReportOnly,
    file: include_str!("liveness_equals_readiness.rs"),
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, database) in case.databases() {
        let probe = |kind| container.probe(kind);
        let (Some(liveness), Some(readiness)) = (probe(ProbeKind::Liveness), probe(ProbeKind::Readiness)) else {
            continue;
        };
        if liveness.handler().is_none() || !same_check(container, liveness, readiness) {
            continue;
        }
        let is_replaced = database.profile.steady.replaces() && super::liveness_is_replaced(case, container);
        findings.push(
            Finding::new(
                &RULE,
                container,
                "livenessProbe",
                "liveness and readiness are the same check, so a slow server is killed instead of being given rest"
                    .to_owned(),
                "let readiness decide, and let liveness ask only whether the process is there",
            )
            .applicability(if is_replaced { Applicability::Safe } else { Applicability::ReportOnly }),
        );
    }
    findings
}
