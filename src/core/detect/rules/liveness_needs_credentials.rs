//! # RP015 liveness-needs-credentials
//!
//! ## What it finds
//! A liveness or startup probe that fails when its login is refused.
//!
//! ## Why it is unsafe
//! The password in a probe's environment is the one from the day when the pod was started. Rotated in the server, it
//! lets every pod be killed, again and again, while all of them serve.
//!
//! ## What Reprieve does
//! Nothing by itself. Where RP001 or RP012 replaces the liveness, the login is gone with it.
//!
//! ## Exceptions
//! `mysqladmin ping` succeeds on a refused login, `pg_isready` does not log in, and whether `psql` needs a password is
//! for `pg_hba.conf` to say.
//!
//! ## References
//! bitnami/charts#27523, helm/charts#15070

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::detect::case::same_check;
use crate::core::model::probe::ProbeKind;

pub(super) const RULE: Rule = Rule {
    id: "RP015",
    name: "liveness-needs-credentials",
    summary: "a password that was changed kills the database",
    severity: Severity::Warning,
    applicability: Applicability::ReportOnly,
    file: include_str!("liveness_needs_credentials.rs"),
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, database) in case.databases() {
        for kind in [ProbeKind::Liveness, ProbeKind::Startup] {
            let Some(probe) = container.probe(kind) else { continue };
            let meaning = database.meaning(container, probe);
            // Where the startup probe repeats the liveness, one word about it is enough.
            let liveness = container.probe(ProbeKind::Liveness).filter(|_| kind == ProbeKind::Startup);
            let is_repeated = liveness.is_some_and(|liveness| same_check(container, liveness, probe));
            if !meaning.needs_login || is_repeated {
                continue;
            }
            let is_replaced = kind == ProbeKind::Liveness
                && database.profile.steady.replaces()
                && super::liveness_is_replaced(case, container);
            let message = format!(
                "the {} probe logs in ({}): a password that was rotated, or an account that is gone, kills a server that is well",
                kind.word(),
                meaning.because
            );
            findings.push(
                Finding::new(&RULE, container, kind.field(), message, "use a check that needs no login")
                    .applicability(if is_replaced { Applicability::Safe } else { Applicability::ReportOnly }),
            );
        }
    }
    findings
}
