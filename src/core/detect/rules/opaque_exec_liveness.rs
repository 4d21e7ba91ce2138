//! # RP002 opaque-exec-liveness
//!
//! ## What it finds
//! A liveness probe that is a script whose text is not in the pod spec.
//!
//! ## Why it is unsafe
//! Nobody who reads the manifest can tell whether it tolerates recovery. Most such scripts run a query.
//!
//! ## What Reprieve does
//! Where the port opens before recovery the liveness becomes a socket on it: that is safe whatever the script does.
//! Elsewhere it only reports.
//!
//! ## Exceptions
//! Scripts of well-known images are known by path and judged by what they do.

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::detect::budget::kill_budget;
use crate::core::detect::case::StartupGuard;
use crate::core::model::command::Outcome;
use crate::core::model::engine::Check;

pub(super) const RULE: Rule = Rule {
    id: "RP002",
    name: "opaque-exec-liveness",
    summary: "the liveness is a script whose text is not in the pod spec",
    severity: Severity::Warning,
    applicability: Applicability::Safe,
    file: include_str!("opaque_exec_liveness.rs"),
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, database) in case.databases() {
        let Some((probe, _, answer)) = case.liveness(container, database) else { continue };
        if answer.check != Check::Script || answer.outcome != Outcome::Unknown {
            continue;
        }
        let guarded = case.startup_guard(container, database) == StartupGuard::Covers;
        if guarded && !database.profile.opens.is_early() {
            continue;
        }
        let has_socket = database.profile.steady.survives_recovery() && database.unreachable.is_none();
        let budget = kill_budget(probe);
        let message = format!(
            "{}; if it asks the server, {} kills it {}-{} s after each start",
            answer.because, "recovery", budget.earliest, budget.latest
        );
        findings.push(
            Finding::new(
                &RULE,
                container,
                "livenessProbe",
                message,
                "ask the port instead, or show what the script does",
            )
            .applicability(if has_socket { Applicability::Safe } else { Applicability::ReportOnly })
            .with("earliestKillSeconds", budget.earliest)
            .with("latestKillSeconds", budget.latest),
        );
    }
    findings
}
