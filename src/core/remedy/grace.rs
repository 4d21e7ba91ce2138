//! The grace period of a pod: the one field of a plan that belongs to no container.

use serde_json::Value;

use super::Remedy;
use crate::core::detect::rules::{grace, needed_grace};
use crate::core::detect::{Applicability, Case, Finding};
use crate::core::model::owner::Stated;
use crate::core::model::workload::Workload;

/// The rule that the policy opts in to.
pub(super) const RULE: &str = "RP014";

/// The pod spec's field.
pub(super) const FIELD: &str = "terminationGracePeriodSeconds";

/// What becomes of a pod's grace period.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GraceTarget {
    /// Nothing.
    Stays,
    /// Nothing, although it should, and why.
    MustStay(String),
    /// It is raised to so many seconds.
    Becomes(i64),
}

/// What the change does not do. The grace period that counts for a pod's end is the one that it was started with.
pub(super) fn of_this_rollout(workload: &Workload) -> String {
    format!("this very rollout still stops the running pods after {} s", grace(workload))
}

/// What should become of it, given what was found.
pub(super) fn grace_target(case: &Case<'_>, findings: &[Finding], remedy: Remedy) -> GraceTarget {
    let is_wanted = |finding: &Finding| finding.field() == FIELD && finding.applicability == Applicability::Safe;
    let Some(needed) = needed_grace(case).filter(|needed| *needed > grace(case.workload)) else {
        return GraceTarget::Stays;
    };
    if !findings.iter().any(is_wanted) {
        return GraceTarget::Stays;
    }
    let present = case.workload.pod_spec().and_then(|spec| spec.get(FIELD)).filter(|value| !value.is_null());
    let stated = if remedy == Remedy::Swap { Stated::No } else { case.ownership.states_of_pod(&[FIELD]) };
    match (stated, present) {
        // Had the owner stated it, it would be there.
        (Stated::No, _) | (Stated::Unknown, None) => GraceTarget::Becomes(needed),
        (Stated::Unknown | Stated::Yes, present) => GraceTarget::MustStay(format!(
            "{FIELD} stays {}, because its owner states it{}; {needed} would be right",
            present.map_or_else(|| "what it is".to_owned(), Value::to_string),
            if stated == Stated::Unknown { " or may state it" } else { "" },
        )),
    }
}
