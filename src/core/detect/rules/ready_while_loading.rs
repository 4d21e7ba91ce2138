//! # RP016 ready-while-loading
//!
//! ## What it finds
//! A readiness that passes while the engine still recovers or loads its data: `redis-cli ping` exits with 0 on LOADING,
//! and a socket connects as soon as the port is open.
//!
//! ## Why it is unsafe
//! The pod gets traffic that the server answers with errors, and a rolling update goes on to the next pod while this one
//! cannot serve. Rolled like that, all of them can be loading at once.
//!
//! ## What Reprieve does
//! Nothing: which answer means ready is for the owner to say, and a stricter readiness takes pods out of rotation.
//!
//! ## Exceptions
//! Engines that load no data. A readiness that asks nothing of the server, such as a process check, says so by itself.
//!
//! ## References
//! helm/charts#15093, spotahome/redis-operator#316

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::command::Outcome;
use crate::core::model::engine::{Check, Database};
use crate::core::model::probe::ProbeKind;

pub(super) const RULE: Rule = Rule {
    id: "RP016",
    name: "ready-while-loading",
    summary: "traffic is sent to a database that still loads",
    severity: Severity::Warning,
    applicability: Applicability::ReportOnly,
    file: include_str!("ready_while_loading.rs"),
    check,
};

/// A Sentinel or a cache loads nothing, and has nothing to save either.
fn holds_data(database: &Database) -> bool {
    database.profile.shutdown.is_some()
}

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, database) in case.databases().filter(|(_, database)| holds_data(database)) {
        let Some(probe) = container.probe(ProbeKind::Readiness) else { continue };
        let meaning = database.meaning(container, probe);
        let asks = matches!(meaning.check, Check::Client | Check::Socket | Check::Http);
        if meaning.outcome != Outcome::Passes || !asks || meaning.always.is_some() {
            continue;
        }
        // A client gets an error that it can read from a port that is open, so this is the lesser one.
        let severity = if meaning.check == Check::Socket { Severity::Info } else { Severity::Warning };
        let message = format!(
            "it is ready while it recovers ({}), and {} {}",
            meaning.because, database.profile.engine, database.profile.in_recovery
        );
        findings.push(
            Finding::new(
                &RULE,
                container,
                "readinessProbe",
                message,
                "ask for an answer that only a server gives that serves",
            )
            .severity(severity),
        );
    }
    findings
}
