//! # RP005 besteffort-qos
//!
//! ## What it finds
//! A database whose pod is `BestEffort`, or whose container has no CPU or no memory request.
//!
//! ## Why it is unsafe
//! `BestEffort` has the least CPU weight of all and is evicted first. A database without a CPU request is starved by
//! any neighbour, and a starved probe kills it.
//!
//! ## What Reprieve does
//! Adds the policy's requests. It never lowers one, and guesses none.
//!
//! ## Exceptions
//! A container with limits only has requests equal to them.

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::pointer::Pointer;
use crate::core::model::qos::{QosClass, qos_class};
use crate::core::model::workload::{Container, containers_of};

pub(super) const RULE: Rule = Rule {
    id: "RP005",
    name: "besteffort-qos",
    summary: "the database asks for no CPU or memory",
    severity: Severity::Warning,
    applicability: Applicability::Safe,
    check,
};

/// The requests that a database container lacks, among `cpu` and `memory`.
#[must_use]
pub(crate) fn missing_requests(container: &Container<'_>) -> Vec<&'static str> {
    ["cpu", "memory"]
        .into_iter()
        .filter(|name| {
            let asked = container.amount("requests", name).or_else(|| container.amount("limits", name));
            asked.is_none_or(crate::core::model::quantity::Quantity::is_zero)
        })
        .collect()
}

fn check(case: &Case<'_>) -> Vec<Finding> {
    let Some(pod_spec) = case.workload.pod_spec() else { return Vec::new() };
    // Pod-level requests cover all its containers.
    if pod_spec.get("resources").is_some() && qos_class(pod_spec) != QosClass::BestEffort {
        return Vec::new();
    }
    let class = qos_class(case.effective.unwrap_or(pod_spec));
    let mut findings = Vec::new();
    for (container, _) in case.databases() {
        let missing = missing_requests(container);
        if missing.is_empty() {
            continue;
        }
        let requests = case.policy.resources.requests.as_ref();
        let is_stated = |name: &str| match name {
            "cpu" => requests.is_some_and(|r| r.cpu.is_some()),
            _ => requests.is_some_and(|r| r.memory.is_some()),
        };
        let lacks =
            missing.iter().map(|name| if *name == "cpu" { "CPU" } else { name }).collect::<Vec<_>>().join(" and no ");
        let message = match (class, injected(case, container)) {
            (QosClass::BestEffort, _) => format!(
                "no {lacks} request, and no other container has one: the pod is BestEffort, with the least CPU weight and evicted first"
            ),
            (_, Some(injected)) => format!(
                "no {lacks} request of its own; a LimitRange fills in {injected}, which was not sized for a database"
            ),
            _ => format!("no {lacks} request: the scheduler and the kernel reserve nothing for it"),
        };
        let covered = missing.iter().any(|name| is_stated(name));
        let fix = if covered {
            "add the policy's requests"
        } else {
            "state the requests in the policy: spec.resources.requests.cpu and .memory"
        };
        findings.push(
            Finding::new(&RULE, container, "resources", message, fix)
                .applicability(if covered { Applicability::Safe } else { Applicability::ReportOnly })
                .with("qosClass", class.to_string())
                .with("missing", lacks),
        );
    }
    findings
}

/// What admission filled in for the container, where that is known.
fn injected(case: &Case<'_>, container: &Container<'_>) -> Option<String> {
    let containers = containers_of(case.effective?, &Pointer::root());
    let effective = containers.iter().find(|c| c.name == container.name && c.list == container.list)?;
    let amounts: Vec<_> = missing_requests(container)
        .into_iter()
        .filter_map(|name| Some(format!("{name} {}", effective.amount("requests", name)?)))
        .collect();
    (!amounts.is_empty()).then(|| amounts.join(" and "))
}
