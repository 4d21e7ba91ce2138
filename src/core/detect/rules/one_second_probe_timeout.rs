//! # RP003 one-second-probe-timeout
//!
//! ## What it finds
//! A probe of a database whose timeout is one second, and stated.
//!
//! ## Why it is unsafe
//! Starting a client takes longer than a second whenever the node is busy: measured, `pg_isready` in a starved
//! container needs 7 s in the median while the database is fine. HTTP needs the server's CPU as well. A socket connect
//! is answered by the kernel, so there one second is only untidy.
//!
//! ## What Reprieve does
//! Raises it to the policy's number, or to five seconds.
//!
//! ## Exceptions
//! A policy that states one second means it.
//!
//! ## References
//! kubernetes/kubernetes#94080

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::owner::Stated;
use crate::core::model::probe::{HandlerKind, Probe, ProbeKind, Timing};
use crate::core::model::workload::Container;

pub(super) const RULE: Rule = Rule {
    id: "RP003",
    name: "one-second-probe-timeout",
    summary: "a probe must answer within one second, and the manifest says so",
    severity: Severity::Warning,
    applicability: Applicability::Safe,
    file: include_str!("one_second_probe_timeout.rs"),
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    findings(case, &RULE, |origin| origin == Origin::Stated)
}

/// Why the timeout is one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Stated,
    LeftOut,
    /// In a live object the server has filled in the defaults.
    EitherWay,
}

fn origin(case: &Case<'_>, container: &Container<'_>, probe: Probe<'_>) -> Origin {
    if probe.stated(Timing::Timeout).is_none() {
        return Origin::LeftOut;
    }
    if case.workload.uid().is_empty() {
        return Origin::Stated;
    }
    if !case.ownership.is_reapplied() {
        return Origin::EitherWay;
    }
    match case.ownership.states(container.list, container.name, &[probe.kind.field(), Timing::Timeout.field()]) {
        Stated::Yes => Origin::Stated,
        Stated::No => Origin::LeftOut,
        Stated::Unknown => Origin::EitherWay,
    }
}

/// The findings of this rule and of its twin for defaulted timeouts.
pub(super) fn findings(case: &Case<'_>, rule: &Rule, wanted: impl Fn(Origin) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let has_database = case.databases().next().is_some();
    for examined in &case.containers {
        let container = &examined.container;
        let is_database = examined.database.is_some();
        // A native sidecar holds up the whole pod, so it is worth a word; it is never patched.
        let counts = is_database || (has_database && container.is_native_sidecar());
        if !counts {
            continue;
        }
        for probe in ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)) {
            let Some((handler, _)) = probe.handler() else { continue };
            let is_one_second = probe.timing(Timing::Timeout) == 1 && case.policy_timeout(probe.kind) != Some(1);
            let origin = origin(case, container, probe);
            if !is_one_second || !wanted(origin) {
                continue;
            }
            let how = match origin {
                Origin::Stated => "1 s, stated",
                Origin::LeftOut => "1 s, because timeoutSeconds was left out",
                Origin::EitherWay => "1 s, stated or defaulted",
            };
            let asks = match handler {
                HandlerKind::Exec => "starting its command alone takes longer on a busy node",
                HandlerKind::HttpGet | HandlerKind::Grpc => "the answer needs CPU that a starved server does not get",
                HandlerKind::TcpSocket => "the kernel answers it, so this is untidy rather than dangerous",
            };
            let message = format!("the {} probe's timeout is {how}; {asks}", probe.kind.word());
            let kills = probe.kind != ProbeKind::Readiness;
            let (severity, applicability) = match (is_database, handler, kills) {
                (false, ..) | (true, HandlerKind::TcpSocket, false) => (Severity::Info, Applicability::ReportOnly),
                (true, HandlerKind::TcpSocket, true) => (Severity::Info, Applicability::Safe),
                (true, ..) => (Severity::Warning, Applicability::Safe),
            };
            findings.push(
                Finding::new(rule, container, probe.kind.field(), message, "allow five seconds")
                    .severity(severity)
                    .applicability(applicability)
                    .with("timeoutSeconds", 1),
            );
        }
    }
    findings
}
