//! # RP014 short-termination-grace
//!
//! ## What it finds
//! A `terminationGracePeriodSeconds` that is shorter than a clean shutdown of the engine takes, the default of 30 s and a
//! stated 0 included. Seconds that a `preStop` hook sleeps count against it. A grace period of its own in a liveness or
//! startup probe counts where that probe kills.
//!
//! ## Why it is unsafe
//! When the time is up the server is killed, and what it did not write it has to recover at its next start. Every rolling
//! update and every drained node is then a crash.
//!
//! ## What Reprieve does
//! Raises the pod's grace period to what the engine needs and the hook sleeps, if the policy opts in to this rule; it
//! never lowers one. A probe's own is only reported: somebody wanted a hung server gone sooner. The pods that run now
//! keep the old one, so that the very rollout which brings the new one still stops them with the old.
//!
//! ## Exceptions
//! Engines that hold no data, and those of which nobody says how long they need.
//!
//! ## References
//! hiero-ledger/hiero-mirror-node#10288, helm/charts#6212, stolostron/search-v2-operator#214

use serde_json::Value;

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::command::Script;
use crate::core::model::probe::ProbeKind;
use crate::core::model::workload::{Container, Workload};

pub(super) const RULE: Rule = Rule {
    id: "RP014",
    name: "short-termination-grace",
    summary: "the database is killed before it has shut down cleanly",
    severity: Severity::Warning,
    applicability: Applicability::OptIn,
    file: include_str!("short_termination_grace.rs"),
    check,
};

const FIELD: &str = "terminationGracePeriodSeconds";
/// What the API fills in where nothing is stated.
const DEFAULT: i64 = 30;

/// The pod's grace period that its databases need, in seconds; None where none of them needs a known time.
#[must_use]
pub(crate) fn needed_grace(case: &Case<'_>) -> Option<i64> {
    case.databases()
        .filter_map(|(container, database)| {
            Some(database.profile.shutdown?.seconds.saturating_add(pre_stop_sleep(container)))
        })
        .max()
}

/// The pod's grace period today, in seconds.
#[must_use]
pub(crate) fn grace(workload: &Workload) -> i64 {
    workload.pod_spec().and_then(|spec| spec.get(FIELD)?.as_i64()).unwrap_or(DEFAULT)
}

fn check(case: &Case<'_>) -> Vec<Finding> {
    let grace = grace(case.workload);
    let mut findings = Vec::new();
    let mut shortest: Option<Finding> = None;
    let mut most = grace;
    for (container, database) in case.databases() {
        let Some(shutdown) = database.profile.shutdown else { continue };
        let sleep = pre_stop_sleep(container);
        let needed = shutdown.seconds.saturating_add(sleep);
        let engine = database.profile.engine;
        // The field is the pod's, so it is one finding, for the database that needs most.
        if needed > most {
            most = needed;
            let left = (grace - sleep).max(0);
            let stated = case.workload.pod_spec().is_some_and(|spec| spec.get(FIELD).is_some_and(|v| !v.is_null()));
            let how = match (grace, stated) {
                (0, _) => "a grace period of 0 kills it at once".to_owned(),
                (_, true) => format!("it is killed {grace} s after it was asked to stop"),
                (_, false) => {
                    format!("it is killed {DEFAULT} s after it was asked to stop, because nobody said otherwise")
                }
            };
            let hook = if sleep > 0 { format!(", of which the preStop hook sleeps {sleep} s") } else { String::new() };
            let message = format!(
                "{how}{hook}; {engine} {} ({} s is the least that is reasonable). Pods that run now keep their old grace period until they are replaced",
                shutdown.because, shutdown.seconds
            );
            let opted_in = case.opts_in(RULE.id);
            let fix = if opted_in {
                format!("{FIELD}: {needed}")
            } else {
                format!("{FIELD}: {needed}, or let Reprieve set it: rules: {{optIn: [{}]}}", RULE.id)
            };
            shortest = Some(
                Finding::new(&RULE, container, FIELD, message, &fix)
                    .at(case.workload.pod_spec_pointer().field(FIELD))
                    .severity(if left * 2 < shutdown.seconds { Severity::Warning } else { Severity::Info })
                    .applicability(if opted_in { Applicability::Safe } else { Applicability::OptIn })
                    .with("graceSeconds", grace)
                    .with("neededSeconds", needed),
            );
        }
        for kind in [ProbeKind::Liveness, ProbeKind::Startup] {
            let own = container.probe(kind).and_then(|probe| probe.json.get(FIELD)?.as_i64());
            let Some(own) = own.filter(|own| *own > 0 && *own < needed && *own < grace) else { continue };
            let message = format!(
                "when the {} probe kills it, it gets {own} s to stop, and not the pod's {grace} s; {engine} {}",
                kind.word(),
                shutdown.because
            );
            findings.push(
                Finding::new(
                    &RULE,
                    container,
                    kind.field(),
                    message,
                    "leave it out, so that the pod's grace period counts",
                )
                .severity(Severity::Info)
                .applicability(Applicability::ReportOnly)
                .with("graceSeconds", own)
                .with("neededSeconds", needed),
            );
        }
    }
    findings.extend(shortest);
    findings
}

/// Seconds for which the `preStop` hook does nothing but wait.
fn pre_stop_sleep(container: &Container<'_>) -> i64 {
    let Some(hook) = container.json.pointer("/lifecycle/preStop") else { return 0 };
    if let Some(seconds) = hook.pointer("/sleep/seconds").and_then(Value::as_i64) {
        return seconds.max(0);
    }
    let command = hook.pointer("/exec/command").and_then(Value::as_array);
    let words: Vec<&str> = command.into_iter().flatten().filter_map(Value::as_str).collect();
    let script = Script::read(&words);
    let sleeps = script.calls().into_iter().filter(|call| call.program() == "sleep");
    sleeps
        .filter_map(|call| call.arguments.first()?.trim_end_matches('s').parse::<i64>().ok())
        .fold(0, i64::saturating_add)
}
