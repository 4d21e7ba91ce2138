//! # RP009 kill-budget-below-recovery
//!
//! ## What it finds
//! The first probe that fails during recovery kills before the recovery allowance is over: a liveness without a startup
//! probe before it, or a startup probe itself.
//!
//! ## Why it is unsafe
//! A kill during recovery throws the progress away. The next start needs the same time again and gets no more of it.
//! Raising the threshold a little only moves the cliff.
//!
//! ## What Reprieve does
//! Gives the start a startup probe with the recovery allowance, or that allowance to the one that is there.
//!
//! ## Exceptions
//! Where nobody has shown whether the engine's port opens before or after recovery, it is reported and not patched.
//!
//! ## References
//! CloudNativePG allows 3600 s (`startDelay`), MySQL's operator 30 000 s, Neo4j's chart 5000 s.

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::detect::budget::{kill_budget, startup_budget};
use crate::core::detect::case::StartupGuard;
use crate::core::model::command::Outcome;
use crate::core::model::engine::{Check, Database, Meaning, Opens};
use crate::core::model::probe::ProbeKind;

pub(super) const RULE: Rule = Rule {
    id: "RP009",
    name: "kill-budget-below-recovery",
    summary: "the database is killed before its recovery can be over",
    severity: Severity::Critical,
    applicability: Applicability::Safe,
    file: include_str!("kill_budget_below_recovery.rs"),
    check,
};

/// A socket on an engine of which nobody has shown when its port opens: taken to be late, and left for a person.
fn is_late_until_shown(database: &Database, answer: &Meaning) -> bool {
    answer.outcome == Outcome::Unknown && answer.check == Check::Socket && database.profile.opens == Opens::Unknown
}

fn check(case: &Case<'_>) -> Vec<Finding> {
    let allowance = case.recovery_allowance();
    let mut findings = Vec::new();
    for (container, database) in case.databases() {
        let guard = case.startup_guard(container, database);
        let killer = match guard {
            StartupGuard::Covers => continue,
            StartupGuard::Short => container.probe(ProbeKind::Startup),
            StartupGuard::Missing | StartupGuard::Open => case
                .liveness(container, database)
                .filter(|(_, _, answer)| answer.outcome == Outcome::Fails || is_late_until_shown(database, answer))
                .map(|(probe, ..)| probe),
        };
        let Some(probe) = killer else { continue };
        let answer = database.meaning(container, probe);
        let budget = kill_budget(probe);
        let is_startup = probe.kind == ProbeKind::Startup;
        let allowed = if is_startup { startup_budget(probe) } else { budget.earliest };
        let is_shown = answer.outcome == Outcome::Fails;
        // A startup probe that cannot be read may well pass at once.
        if allowed >= allowance || !(is_shown || is_late_until_shown(database, &answer)) {
            continue;
        }
        let message = format!(
            "the {} probe kills {}-{} s after each start ({}); recovery may take {allowance} s",
            probe.kind.word(),
            budget.earliest,
            budget.latest,
            answer.because
        );
        findings.push(
            Finding::new(
                &RULE,
                container,
                probe.kind.field(),
                message,
                "give the start a startup probe with the recovery allowance",
            )
            .severity(if is_shown { Severity::Critical } else { Severity::Warning })
            .applicability(if is_shown { Applicability::Safe } else { Applicability::ReportOnly })
            .with("earliestKillSeconds", budget.earliest)
            .with("latestKillSeconds", budget.latest)
            .with("allowanceSeconds", allowance),
        );
    }
    findings
}
