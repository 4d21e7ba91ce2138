//! # RP007 memory-limit-equals-request
//!
//! ## What it finds
//! A memory limit on a database container that is no higher than its request.
//!
//! ## Why it is unsafe
//! What was reserved is what may be used, to the byte: a sort, a vacuum or a burst of connections beyond it is an OOM
//! kill, and an OOM kill is a crash recovery. With a short kill budget the one becomes the other's loop.
//!
//! ## What Reprieve does
//! Raises the limit to the policy's `resources.limits.memory`, if that is higher and the policy opts in to this rule. The
//! request stays. A Guaranteed pod becomes Burstable by that, which the plan says. A quota or `LimitRange` that forbids it
//! is found by the dry-runs, and then the limit is left alone.
//!
//! ## Exceptions
//! A pod in which all amounts are equal is Guaranteed by intent: last to be evicted, and for some that is worth the
//! missing headroom. Whether the limit was ever reached only a running pod can tell.
//!
//! ## References
//! sourcegraph/deploy-sourcegraph#4136, OpenHands/OpenHands-Cloud#829

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::qos::{QosClass, qos_class};
use crate::core::model::quantity::Quantity;
use crate::core::model::workload::Container;

pub(super) const RULE: Rule = Rule {
    id: "RP007",
    name: "memory-limit-equals-request",
    summary: "the memory limit leaves no headroom above the request",
    severity: Severity::Info,
    applicability: Applicability::OptIn,
    file: include_str!("memory_limit_equals_request.rs"),
    check,
};

/// The memory limit that the policy asks for, where it is higher than the container's.
#[must_use]
pub(crate) fn higher_memory_limit<'p>(case: &Case<'p>, container: &Container<'_>) -> Option<&'p str> {
    let stated = &case.policy.resources.limits.as_ref()?.memory.as_ref()?.0;
    let limit = container.amount("limits", "memory")?;
    (Quantity::parse(stated).ok()? > limit).then_some(stated)
}

fn check(case: &Case<'_>) -> Vec<Finding> {
    let is_guaranteed = case.workload.pod_spec().map(qos_class) == Some(QosClass::Guaranteed);
    let mut findings = Vec::new();
    for (container, _) in case.databases() {
        let Some(limit) = container.amount("limits", "memory").filter(|limit| !limit.is_zero()) else { continue };
        if container.amount("requests", "memory").is_some_and(|request| request < limit) {
            continue;
        }
        let intent = if is_guaranteed { "; the pod is Guaranteed, which asks for just that" } else { "" };
        let message = format!(
            "its memory limit of {limit} is its request: a byte more is an OOM kill, and then a recovery{intent}"
        );
        let higher = higher_memory_limit(case, container);
        let (applicability, fix) = match higher {
            Some(higher) if case.opts_in(RULE.id) => {
                (Applicability::Safe, format!("raise the limit to the policy's {higher}, and keep the request"))
            }
            Some(higher) => (
                Applicability::OptIn,
                format!("opt in to raise the limit to the policy's {higher}: rules: {{optIn: [{}]}}", RULE.id),
            ),
            None => (
                Applicability::OptIn,
                "give it headroom: a limit above the request, sized by what it has used at most".to_owned(),
            ),
        };
        findings.push(
            Finding::new(&RULE, container, "resources", message, &fix)
                .applicability(applicability)
                .with("limit", limit.to_string()),
        );
    }
    findings
}
