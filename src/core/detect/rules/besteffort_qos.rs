//! # RP005 besteffort-qos
//!
//! ## What it finds
//! A database whose pod is `BestEffort`, or whose container has no CPU or no memory request. Also requests that are
//! there for show (`1m`, `1Mi`, or a sixteenth of the limit), and a database with equal requests and limits in a pod that
//! another container keeps from being Guaranteed.
//!
//! ## Why it is unsafe
//! `BestEffort` has the least CPU weight of all and is evicted first. A database without a CPU request is starved by
//! any neighbour, and a starved probe kills it.
//!
//! ## What Reprieve does
//! Adds the policy's requests. It never lowers one, and guesses none. A request that is there is its owner's measure,
//! so small ones are only reported.
//!
//! ## Exceptions
//! A container with limits only has requests equal to them.
//!
//! ## References
//! DataKitchen/dataops-observability#11, bitnami/charts#29097, helm/charts#1227

use serde_json::json;

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::pointer::Pointer;
use crate::core::model::qos::{QosClass, qos_class};
use crate::core::model::quantity::Quantity;
use crate::core::model::workload::{Container, Workload, containers_of};

pub(super) const RULE: Rule = Rule {
    id: "RP005",
    name: "besteffort-qos",
    summary: "the database asks for no CPU or memory",
    severity: Severity::Warning,
    applicability: Applicability::Safe,
    file: include_str!("besteffort_qos.rs"),
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
            findings.extend(token(container).or_else(|| dragged_down(case.workload, container)));
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
                .with("missing", missing),
        );
    }
    findings
}

/// Below these an amount reserves nothing worth the name: one core of a hundred, and less memory than an idle server.
const TOKEN_CPU: &str = "10m";
const TOKEN_MEMORY: &str = "32Mi";
/// How many times its request a container may use, before the request is a word rather than a measure.
const TOKEN_RATIO: i128 = 16;

/// Requests that are there for show: they make the pod Burstable, and reserve nothing.
fn token(container: &Container<'_>) -> Option<Finding> {
    let is_below = |amount: Quantity, least: &str| Quantity::parse(least).is_ok_and(|least| amount < least);
    let cpu = container.amount("requests", "cpu").filter(|cpu| is_below(*cpu, TOKEN_CPU));
    let memory = container.amount("requests", "memory").filter(|memory| {
        let limit = container.amount("limits", "memory");
        is_below(*memory, TOKEN_MEMORY)
            || limit.is_some_and(|limit| memory.milli().saturating_mul(TOKEN_RATIO) < limit.milli())
    });
    let amounts: Vec<_> = cpu
        .map(|cpu| format!("{cpu} CPU"))
        .into_iter()
        .chain(memory.map(|memory| format!("{memory} memory")))
        .collect();
    if amounts.is_empty() {
        return None;
    }
    let message = format!(
        "it asks for {}: BestEffort in all but name, since nearly nothing is reserved and all that it uses counts against it when memory is short",
        amounts.join(" and ")
    );
    let finding = Finding::new(&RULE, container, "resources", message, "ask for what it uses when it is busy");
    Some(finding.applicability(Applicability::ReportOnly))
}

/// A database whose own amounts say Guaranteed, in a pod that another container makes Burstable.
fn dragged_down(workload: &Workload, container: &Container<'_>) -> Option<Finding> {
    let alone = |container: &Container<'_>| qos_class(&json!({"containers": [container.json]}));
    if alone(container) != QosClass::Guaranteed || qos_class(workload.pod_spec()?) == QosClass::Guaranteed {
        return None;
    }
    let containers = workload.containers();
    let others: Vec<_> =
        containers.iter().filter(|other| alone(other) != QosClass::Guaranteed).map(|other| other.name).collect();
    let message =
        format!("its requests equal its limits, and yet the pod is only Burstable, because of {}", others.join(", "));
    let fix = "give every container equal requests and limits, if Guaranteed was meant";
    let finding = Finding::new(&RULE, container, "resources", message, fix);
    Some(finding.severity(Severity::Info).applicability(Applicability::ReportOnly))
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
