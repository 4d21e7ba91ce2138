//! # RP017 probe-longer-than-period
//!
//! ## What it finds
//! A `timeoutSeconds` as long as the `periodSeconds` or longer, and a `timeout` inside the command that is no shorter than
//! the probe's.
//!
//! ## Why it is unsafe
//! The probes of one container do not overlap: the kubelet waits for one before it starts the next, so that with a long
//! timeout the period says nothing any more, and a server that hangs is noticed late. A `timeoutSeconds` of 300 does not
//! make a wrong check right, it makes it slow. Where the inner limit is the longer one, the outer always comes first: it
//! ends the shell, and the client that the shell had started stays behind, with nobody to reap it.
//!
//! ## What Reprieve does
//! Nothing by itself. Where it raises a timeout, and the inner limit is below ten seconds, it goes above that.
//!
//! ## Exceptions
//! Five seconds, which is what a client needs on a busy node, and what Reprieve itself sets. A number that the policy
//! states.
//!
//! ## References
//! kubernetes/kubernetes#110070, containerd/containerd#4594, portworx/helm#950, `run` in `pkg/kubelet/prober/worker.go`

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::command::InnerTimeout;
use crate::core::model::probe::{Probe, ProbeKind, Timing};

pub(super) const RULE: Rule = Rule {
    id: "RP017",
    name: "probe-longer-than-period",
    summary: "the probe's timeout is no shorter than its period, or than a limit inside it",
    severity: Severity::Info,
    applicability: Applicability::ReportOnly,
    file: include_str!("probe_longer_than_period.rs"),
    check,
};

/// Seconds that are no sign of anything, whatever the period.
const USUAL: i64 = 5;

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, database) in case.databases() {
        for probe in ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)) {
            let inner = database.meaning(container, probe).inner_timeout;
            let reasons = [beyond_period(case, probe), inner.as_ref().and_then(|inner| beyond_timeout(probe, inner))];
            let reasons: Vec<String> = reasons.into_iter().flatten().collect();
            if reasons.is_empty() {
                continue;
            }
            let message = format!("the {} probe: {}", probe.kind.word(), reasons.join("; "));
            let fix =
                "an inner limit below the timeout, a timeout below the period, and more failures if it needs patience";
            let finding = Finding::new(&RULE, container, probe.kind.field(), message, fix)
                .with("timeoutSeconds", probe.timing(Timing::Timeout))
                .with("periodSeconds", probe.timing(Timing::Period));
            findings.push(match inner {
                Some(inner) => finding.with("innerTimeoutSeconds", inner.seconds()),
                None => finding,
            });
        }
    }
    findings
}

fn beyond_period(case: &Case<'_>, probe: Probe<'_>) -> Option<String> {
    let [timeout, period, failures] =
        [Timing::Timeout, Timing::Period, Timing::FailureThreshold].map(|timing| probe.timing(timing));
    if timeout <= USUAL || timeout < period || case.policy_timeout(probe.kind) == Some(timeout) {
        return None;
    }
    Some(format!(
        "its timeout of {timeout} s is no shorter than its period of {period} s; probes do not overlap, so that a server that hangs is noticed after {} s",
        failures.saturating_mul(timeout)
    ))
}

fn beyond_timeout(probe: Probe<'_>, inner: &InnerTimeout) -> Option<String> {
    let timeout = probe.timing(Timing::Timeout);
    (inner.milliseconds >= timeout.unsigned_abs().saturating_mul(1000)).then(|| {
        format!(
            "its timeout of {timeout} s always comes before {} in its command, and leaves what the shell had started behind",
            inner.set_by
        )
    })
}
