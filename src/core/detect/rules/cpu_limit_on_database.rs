//! # RP006 cpu-limit-on-database
//!
//! ## What it finds
//! A CPU limit on a database container.
//!
//! ## Why it is unsafe
//! The kernel's quota stops every thread of the container for the rest of each period, the probe's too: the delay that
//! kills.
//!
//! ## What Reprieve does
//! Removes it, if the policy says `cpuLimit: Remove` or opts in to this rule.
//!
//! ## Exceptions
//! Never where the container reads the limit back (`resourceFieldRef`), and not where a `LimitRange` puts it there: that
//! would only come back.

use serde_json::Value;

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::api::CpuLimit;
use crate::core::model::pointer::Pointer;
use crate::core::model::workload::{Container, containers_of};

pub(super) const RULE: Rule = Rule {
    id: "RP006",
    name: "cpu-limit-on-database",
    summary: "a CPU limit throttles the database and its probes",
    severity: Severity::Info,
    applicability: Applicability::OptIn,
    file: include_str!("cpu_limit_on_database.rs"),
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    let opted_in = case.policy.resources.cpu_limit == CpuLimit::Remove || case.opts_in(RULE.id);
    let effective = case.effective.map(|spec| containers_of(spec, &Pointer::root())).unwrap_or_default();
    let mut findings = Vec::new();
    for (container, _) in case.databases() {
        let (message, applicability) = if let Some(limit) = container.amount("limits", "cpu") {
            let applicability = match (reads_limit_back(container), opted_in) {
                (true, _) => Applicability::ReportOnly,
                (false, true) => Applicability::Safe,
                (false, false) => Applicability::OptIn,
            };
            (
                format!("a CPU limit of {limit} stops all its threads when the quota is used up, the probe's too"),
                applicability,
            )
        } else {
            let injected = effective.iter().find(|c| c.name == container.name && c.list == container.list);
            let Some(limit) = injected.and_then(|c| c.amount("limits", "cpu")) else { continue };
            let message = format!(
                "a LimitRange of the namespace sets a CPU limit of {limit} on every pod; no change to the workload can remove it"
            );
            (message, Applicability::ReportOnly)
        };
        findings.push(
            Finding::new(&RULE, container, "resources", message, "remove the limit and keep the request")
                .applicability(applicability),
        );
    }
    findings
}

fn reads_limit_back(container: &Container<'_>) -> bool {
    let environment = container.json.get("env").and_then(Value::as_array);
    environment.into_iter().flatten().any(|entry| {
        entry.pointer("/valueFrom/resourceFieldRef/resource").and_then(Value::as_str) == Some("limits.cpu")
    })
}
