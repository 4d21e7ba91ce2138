//! The rules, one file each. A rule's documentation is the comment at the top of its file.

mod besteffort_qos;
mod cpu_limit_on_database;
mod defaulted_probe_timeout;
mod exec_liveness_during_recovery;
mod initial_delay_as_startup_probe;
mod kill_budget_below_recovery;
mod liveness_depends_on_others;
mod liveness_equals_readiness;
mod liveness_needs_credentials;
mod memory_limit_equals_request;
mod one_second_probe_timeout;
mod opaque_exec_liveness;
pub mod page;
mod patroni_lag_in_bytes;
mod probe_longer_than_period;
mod probe_without_check;
mod readiness_missing;
mod ready_while_loading;
mod refused_probe;
mod short_termination_grace;

use super::{Applicability, Case, Finding, Severity};
use crate::core::model::engine::Database;
use crate::core::model::probe::{Probe, ProbeKind};
use crate::core::model::workload::Container;
pub(crate) use besteffort_qos::missing_requests;
pub(crate) use memory_limit_equals_request::higher_memory_limit;
pub(crate) use short_termination_grace::{grace, needed_grace};

/// One hazard.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// `RP001`…; never reused.
    pub id: &'static str,
    /// The kebab-case name.
    pub name: &'static str,
    /// What it finds, in one line.
    pub summary: &'static str,
    /// How bad it usually is.
    pub severity: Severity,
    /// What may usually be done about it.
    pub applicability: Applicability,
    /// The text of its file. The comment at the top is its page; see [`Rule::page`].
    pub file: &'static str,
    /// The check.
    pub check: fn(&Case<'_>) -> Vec<Finding>,
}

/// All rules, by id.
pub static RULES: [Rule; 19] = [
    exec_liveness_during_recovery::RULE,
    opaque_exec_liveness::RULE,
    one_second_probe_timeout::RULE,
    defaulted_probe_timeout::RULE,
    besteffort_qos::RULE,
    cpu_limit_on_database::RULE,
    memory_limit_equals_request::RULE,
    liveness_equals_readiness::RULE,
    kill_budget_below_recovery::RULE,
    initial_delay_as_startup_probe::RULE,
    readiness_missing::RULE,
    liveness_depends_on_others::RULE,
    patroni_lag_in_bytes::RULE,
    short_termination_grace::RULE,
    liveness_needs_credentials::RULE,
    ready_while_loading::RULE,
    probe_longer_than_period::RULE,
    refused_probe::RULE,
    probe_without_check::RULE,
];

/// Why the check of a probe must not become another probe's too; None where it may.
#[must_use]
pub(crate) fn unfit_to_repeat(container: &Container<'_>, database: &Database, probe: Probe<'_>) -> Option<String> {
    let depends_on = database.meaning(container, probe).depends_on.map(|what| format!("it rests on {what}"));
    depends_on.or_else(|| probe_without_check::emptiness(container, database, probe))
}

/// The rules whose findings put another handler in the place of a probe's.
const REPLACING: [Rule; 3] =
    [exec_liveness_during_recovery::RULE, opaque_exec_liveness::RULE, liveness_depends_on_others::RULE];

/// Whether RP001, RP002 or RP012 takes the check out of a container's liveness.
fn liveness_is_replaced(case: &Case<'_>, container: &Container<'_>) -> bool {
    let is_its = |finding: &Finding| {
        finding.container == container.name
            && finding.field() == ProbeKind::Liveness.field()
            && finding.applicability == Applicability::Safe
    };
    REPLACING.iter().filter(|rule| case.is_on(rule.id)).any(|rule| (rule.check)(case).iter().any(is_its))
}

#[cfg(test)]
mod tests;
