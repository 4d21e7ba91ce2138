//! The rules, one file each. A rule's documentation is the comment at the top of its file.

mod besteffort_qos;
mod cpu_limit_on_database;
mod defaulted_probe_timeout;
mod exec_liveness_during_recovery;
mod kill_budget_below_recovery;
mod liveness_equals_readiness;
mod one_second_probe_timeout;
mod opaque_exec_liveness;
mod readiness_missing;
mod refused_probe;

use super::{Applicability, Case, Finding, Severity};
use crate::core::model::workload::Container;
pub(crate) use besteffort_qos::missing_requests;

/// One hazard.
#[derive(Debug)]
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
    /// The check.
    pub check: fn(&Case<'_>) -> Vec<Finding>,
}

/// All rules, by id.
pub static RULES: [Rule; 10] = [
    exec_liveness_during_recovery::RULE,
    opaque_exec_liveness::RULE,
    one_second_probe_timeout::RULE,
    defaulted_probe_timeout::RULE,
    besteffort_qos::RULE,
    cpu_limit_on_database::RULE,
    liveness_equals_readiness::RULE,
    kill_budget_below_recovery::RULE,
    readiness_missing::RULE,
    refused_probe::RULE,
];

/// Whether RP001 or RP002 takes the check out of a container's liveness.
fn liveness_is_replaced(case: &Case<'_>, container: &Container<'_>) -> bool {
    [exec_liveness_during_recovery::RULE, opaque_exec_liveness::RULE].iter().filter(|rule| case.is_on(rule.id)).any(
        |rule| {
            (rule.check)(case).iter().any(|f| f.container == container.name && f.applicability == Applicability::Safe)
        },
    )
}

#[cfg(test)]
mod tests;
