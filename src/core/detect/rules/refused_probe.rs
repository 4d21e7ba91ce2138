//! # RP018 refused-probe
//!
//! ## What it finds
//! A probe that the API refuses for the pod: more than one handler or none, a `successThreshold` over 1 on liveness or
//! startup, a probe-level grace period on readiness or of zero, a probe on an init container that is no sidecar.
//!
//! ## Why it is unsafe
//! Servers before 1.34 store such a StatefulSet and then cannot create its pods. The running ones go on, until the
//! first of them is restarted.
//!
//! ## What Reprieve does
//! Where a database has two handlers it leaves the one that its engine wants. Else it only reports.
//!
//! ## References
//! kubernetes/kubernetes#97309, kubernetes/kubernetes#131790

use serde_json::Value;

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::probe::{ProbeKind, Timing};
use crate::core::model::workload::ContainerList;

pub(super) const RULE: Rule = Rule {
    id: "RP018",
    name: "refused-probe",
    summary: "the API refuses this probe, so no pod of the workload can be created",
    severity: Severity::Critical,
    applicability: Applicability::ReportOnly,
    file: include_str!("refused_probe.rs"),
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if case.databases().next().is_none() {
        return findings;
    }
    for examined in &case.containers {
        let container = &examined.container;
        for probe in ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)) {
            let handlers: Vec<_> = probe.handlers().map(|(kind, _)| kind.field()).collect();
            let kills = probe.kind != ProbeKind::Readiness;
            let grace = probe.json.get("terminationGracePeriodSeconds").filter(|v| !v.is_null());
            let on_init = container.list == ContainerList::InitContainers && !container.is_native_sidecar();
            let (what, is_safe) = if on_init {
                ("init containers that run to completion may have no probe".to_owned(), false)
            } else if handlers.len() > 1 {
                (format!("it has {} handlers ({}), and a probe takes one", handlers.len(), handlers.join(", ")), true)
            } else if handlers.is_empty() {
                ("it has no handler, and a probe needs one of exec, httpGet, tcpSocket, grpc".to_owned(), false)
            } else if kills && probe.timing(Timing::SuccessThreshold) != 1 {
                ("its successThreshold must be 1".to_owned(), false)
            } else if !kills && grace.is_some() {
                ("terminationGracePeriodSeconds is not allowed on a readiness probe".to_owned(), false)
            } else if grace.and_then(Value::as_i64) == Some(0) {
                ("its terminationGracePeriodSeconds must be above zero".to_owned(), false)
            } else {
                continue;
            };
            let is_safe = is_safe && examined.database.is_some();
            let fix = if is_safe { "keep one handler" } else { "correct the probe in the manifest" };
            let message = format!("the {} probe is refused by the API: {what}", probe.kind.word());
            findings.push(Finding::new(&RULE, container, probe.kind.field(), message, fix).applicability(if is_safe {
                Applicability::Safe
            } else {
                Applicability::ReportOnly
            }));
        }
    }
    findings
}
