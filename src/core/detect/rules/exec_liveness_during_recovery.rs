//! # RP001 exec-liveness-during-recovery
//!
//! ## What it finds
//! A liveness probe that runs a client or a query against an engine that refuses it while it recovers.
//!
//! ## Why it is unsafe
//! Slow once, the server is killed; it comes back in recovery, fails the same probe by design, and is killed again
//! before recovery is over. Nothing but the end of the loop ends the loop. With several replicas a stall of storage that
//! they share kills all of them at once, and none is left to take over.
//!
//! ## What Reprieve does
//! Where the port opens before recovery, the liveness becomes a socket on it and the check moves to readiness.
//! Elsewhere, and where somebody re-applies the manifest, a startup probe with the same check and the recovery
//! allowance comes first.
//!
//! ## Exceptions
//! Where the port opens only after recovery, a startup probe that holds for the recovery allowance is enough. An engine
//! such as PostgreSQL also recovers without a container restart, when one of its processes dies, so there it is not.
//! A check whose outcome depends on what only a running container knows is reported, and not patched; so is a startup
//! probe of which nobody can tell whether it holds.
//!
//! ## References
//! cagriekin/charts#141, sapcc/openstack-helm#64, docker-library/mysql#937, pawtograder/platform#946

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::detect::budget::kill_budget;
use crate::core::detect::case::StartupGuard;
use crate::core::model::command::Outcome;
use crate::core::model::engine::Check;
use crate::core::model::probe::{HandlerKind, ProbeKind};

pub(super) const RULE: Rule = Rule {
    id: "RP001",
    name: "exec-liveness-during-recovery",
    summary: "the liveness asks a server that refuses to answer while it recovers",
    severity: Severity::Critical,
    applicability: Applicability::Safe,
    file: include_str!("exec_liveness_during_recovery.rs"),
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, database) in case.databases() {
        let Some((probe, HandlerKind::Exec, answer)) = case.liveness(container, database) else { continue };
        let is_known = answer.outcome == Outcome::Fails;
        // Of one that another server decides, RP012 has more to say.
        let is_told = answer.outcome == Outcome::Passes || answer.check != Check::Client || answer.depends_on.is_some();
        if !is_known && is_told {
            continue;
        }
        let opens_early = database.profile.opens.is_early();
        let guarded = case.startup_guard(container, database) == StartupGuard::Covers;
        // A startup probe that cannot be read may pass at once, and then guards nothing.
        let startup = container.probe(ProbeKind::Startup).map(|probe| database.meaning(container, probe));
        let unread = startup.filter(|startup| guarded && startup.outcome == Outcome::Unknown);
        if guarded && !opens_early && (unread.is_none() || !is_known) {
            continue;
        }
        let budget = kill_budget(probe);
        let outlasts = budget.earliest >= case.recovery_allowance();
        if outlasts && !opens_early {
            continue;
        }
        let replicas = case.workload.replicas();
        let at_once = if replicas > 1 {
            format!("; all {replicas} replicas ask alike, so that a stall of what they share kills them together")
        } else {
            String::new()
        };
        let message = if !is_known {
            format!(
                "{}; if it fails during recovery, it kills {}-{} s after each start",
                answer.because, budget.earliest, budget.latest
            )
        } else if let Some(startup) = unread.as_ref().filter(|_| !opens_early) {
            format!(
                "{}; whether the startup probe holds until then cannot be told: {}",
                answer.because, startup.because
            )
        } else if guarded {
            format!(
                "{}; the startup probe covers the start, but not a recovery inside a running container, which is killed after {} s",
                answer.because, budget.earliest
            )
        } else {
            format!(
                "{}; it is killed {}-{} s after each start, and recovery may take {} s",
                answer.because,
                budget.earliest,
                budget.latest,
                case.recovery_allowance()
            )
        };
        let fix = if opens_early {
            "ask the port instead, and let this check decide readiness"
        } else {
            "put a startup probe with the same check and the recovery allowance before it"
        };
        let is_certain = is_known && (opens_early || unread.is_none());
        findings.push(
            Finding::new(&RULE, container, "livenessProbe", message + &at_once, fix)
                .severity(if guarded || !is_known || outlasts { Severity::Warning } else { Severity::Critical })
                .applicability(if is_certain { Applicability::Safe } else { Applicability::ReportOnly })
                .with("earliestKillSeconds", budget.earliest)
                .with("latestKillSeconds", budget.latest)
                .with("allowanceSeconds", case.recovery_allowance())
                .with("replicas", replicas)
                .with("source", database.profile.opens_source.citation),
        );
    }
    findings
}
