//! The proof that a result is what was planned: on the local merge, on each dry-run, on the read-back.

mod pod;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};

use super::plan::Change;
use super::{Plan, Planned, patch};
use crate::api::PolicySpec;
use crate::core::detect::budget::{kill_budget, startup_budget};
use crate::core::detect::rules::grace;
use crate::core::detect::{Applicability, Case, Finding, FindingKey, detect};
use crate::core::model::pointer::Pointer;
use crate::core::model::probe::{HandlerKind, Probe, ProbeKind, Timing};
use crate::core::model::qos::{QosClass, qos_class};
use crate::core::model::quantity::Quantity;
use crate::core::model::workload::{Container, Workload};

pub use pod::verify_pod;

/// Something in a result that was not planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The result could not be worked out at all.
    Unusable(String),
    /// A probe has no handler or several, or names a port that its container does not declare.
    Handler {
        /// The probe.
        pointer: Pointer,
        /// What is wrong.
        what: String,
    },
    /// A container came, went, or changed its image or ports.
    Container(String),
    /// Something changed that was not in the plan.
    Unintended {
        /// Where.
        pointer: String,
        /// What it is now.
        found: String,
    },
    /// A planned value is not there.
    NotApplied {
        /// The value's subject, as in the record.
        subject: String,
        /// What was planned.
        planned: String,
        /// What is there.
        found: String,
    },
    /// A liveness or startup probe kills earlier than before, and the policy did not ask for that.
    KillsEarlier {
        /// The probe.
        pointer: Pointer,
        /// Seconds before.
        before: i64,
        /// Seconds after.
        after: i64,
    },
    /// A pod gets less time to stop than before.
    StopsSooner {
        /// Seconds before.
        before: i64,
        /// Seconds after.
        after: i64,
    },
    /// A finding that should be gone is still there.
    Remains(FindingKey),
    /// A finding that was not there before.
    New(FindingKey),
    /// Planning on the result gives another plan.
    NotIdempotent(String),
    /// The pod's `QoS` class got worse.
    QosClass {
        /// Before.
        before: QosClass,
        /// After.
        after: QosClass,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(why) => write!(f, "the result cannot be used: {why}"),
            Self::Handler { pointer, what } => write!(f, "{pointer}: {what}"),
            Self::Container(what) => f.write_str(what),
            Self::Unintended { pointer, found } => write!(f, "{pointer} changed, which was not planned: {found}"),
            Self::NotApplied { subject, planned, found } if planned == "-" => {
                write!(f, "{subject} should be gone and is {found}")
            }
            Self::NotApplied { subject, planned, found } => {
                write!(f, "{subject} should be {planned} and is {found}")
            }
            Self::KillsEarlier { pointer, before, after } => {
                write!(f, "{pointer} would kill after {after} s, and killed after {before} s before")
            }
            Self::StopsSooner { before, after } => {
                write!(f, "the pod would be killed {after} s after it is asked to stop, and had {before} s before")
            }
            Self::Remains((rule, pointer)) => write!(f, "{rule} is still found at {pointer}"),
            Self::New((rule, pointer)) => write!(f, "{rule} is found at {pointer} and was not before"),
            Self::NotIdempotent(digest) => write!(f, "planning on the result gives another plan ({digest})"),
            Self::QosClass { before, after } => write!(f, "the QoS class would go from {before} to {after}"),
        }
    }
}

/// Parts of an object that any write or status update changes.
const VOLATILE: [&str; 6] = ["resourceVersion", "generation", "managedFields", "uid", "creationTimestamp", "selfLink"];

/// Judges a workload that should be `before` with `plan` applied: the local merge, the answer of a dry-run, or the
/// answer of the write itself.
#[must_use]
pub fn verify(before: &Workload, after: &Value, plan: &Plan, body: &Value, policy: &PolicySpec) -> Vec<Violation> {
    let expected = match patch::apply(before.json(), body) {
        Ok(expected) => expected,
        Err(error) => return vec![Violation::Unusable(error.to_string())],
    };
    let after = before.changed(after.clone());
    let mut violations = probes_are_valid(&before.containers(), &after.containers());
    violations.extend(containers_are_kept(before, &after));
    violations.extend(only_planned_paths(&expected, after.json()));
    violations
        .extend(plan.changes.iter().filter_map(|change| is_applied(change, after.pod_spec(), &after.containers())));
    violations.extend(kills_no_earlier(before, &after, policy));
    violations.extend(stops_no_sooner(before, &after));
    violations.extend(findings_are_gone(before, &after, plan, policy));
    violations.extend(qos_is_no_worse(before.pod_spec(), after.pod_spec()));
    violations
}

/// Whether every planned value is in force in an object that was written: what somebody reverted at once.
#[must_use]
pub fn still_applied(workload: &Workload, plan: &Plan) -> Vec<Violation> {
    let containers = workload.containers();
    plan.changes.iter().filter_map(|change| is_applied(change, workload.pod_spec(), &containers)).collect()
}

/// Whether the API would take every probe, and what a new handler dials is there.
fn probes_are_valid(before: &[Container<'_>], after: &[Container<'_>]) -> Vec<Violation> {
    let check = |container: &Container<'_>| {
        let earlier = before.iter().find(|c| c.name == container.name && c.list == container.list);
        container_probes_are_valid(earlier, container)
    };
    after.iter().flat_map(check).collect()
}

fn container_probes_are_valid(earlier: Option<&Container<'_>>, container: &Container<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for probe in ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)) {
        let mut say = |what: String| {
            violations.push(Violation::Handler { pointer: probe.pointer(&container.pointer), what });
        };
        let handlers: Vec<_> = probe.handlers().map(|(kind, _)| kind.field()).collect();
        if handlers.len() != 1 {
            say(format!("a probe takes one handler and has {} ({})", handlers.len(), handlers.join(", ")));
        }
        // A probe that dialled a name without a port before is its owner's mistake, and was one before.
        let dialled = earlier.and_then(|container| container.probe(probe.kind)?.port());
        if let Some(Value::String(name)) = probe.port()
            && probe.port() != dialled
            && name.parse::<u16>().is_err()
            && !container.tcp_ports().any(|(declared, _)| declared == Some(name.as_str()))
        {
            say(format!("the port {name} is not declared in its container"));
        }
        let grace = probe.json.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
        if probe.kind == ProbeKind::Readiness {
            if grace.is_some() {
                say("a readiness probe takes no terminationGracePeriodSeconds".to_owned());
            }
        } else {
            if probe.timing(Timing::SuccessThreshold) != 1 {
                say("successThreshold must be 1".to_owned());
            }
            if grace == Some(0) {
                say("terminationGracePeriodSeconds must be above zero".to_owned());
            }
        }
    }
    violations
}

fn containers_are_kept(before: &Workload, after: &Workload) -> Vec<Violation> {
    let (before, after) = (before.containers(), after.containers());
    let names = |containers: &[Container<'_>]| -> BTreeSet<_> {
        containers.iter().map(|c| (c.list, c.name.to_owned())).collect()
    };
    let (was, is) = (names(&before), names(&after));
    let mut violations: Vec<_> = is
        .symmetric_difference(&was)
        .map(|(list, name)| {
            let word = if is.contains(&(*list, name.clone())) { "appears" } else { "is gone" };
            Violation::Container(format!("{}: {name} {word}", list.field()))
        })
        .collect();
    for container in &after {
        let Some(earlier) = before.iter().find(|c| c.name == container.name && c.list == container.list) else {
            continue;
        };
        for field in ["image", "ports"] {
            if differs(earlier.json.get(field), container.json.get(field), field) {
                violations.push(Violation::Container(format!("{}/{field} changed", container.pointer)));
            }
        }
    }
    violations
}

fn differs(one: Option<&Value>, other: Option<&Value>, field: &str) -> bool {
    let normal = |value: Option<&Value>| normalised(field, value.unwrap_or(&Value::Null));
    normal(one) != normal(other)
}

fn only_planned_paths(expected: &Value, found: &Value) -> Vec<Violation> {
    // A local merge is the same to the letter; only a server writes things differently.
    if expected == found {
        return Vec::new();
    }
    let strip = |object: &Value| {
        let mut object = normalised("", object);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in VOLATILE {
                metadata.remove(field);
            }
        }
        if let Some(object) = object.as_object_mut() {
            object.remove("status");
        }
        object
    };
    differences(&strip(expected), &strip(found), "")
}

fn differences(expected: &Value, found: &Value, at: &str) -> Vec<Violation> {
    json_patch::diff(expected, found)
        .0
        .iter()
        .map(|operation| {
            let pointer = operation.path().as_str();
            let found = found.pointer(pointer).map_or_else(|| "it is gone".to_owned(), ToString::to_string);
            Violation::Unintended { pointer: format!("{at}{pointer}"), found }
        })
        .collect()
}

/// A document in which two ways of writing the same are one: probes with the API's defaults, quantities as numbers,
/// nulls and empty maps left out.
pub(super) fn normalised(field: &str, value: &Value) -> Value {
    match value {
        Value::Object(map) if matches!(field, "livenessProbe" | "readinessProbe" | "startupProbe") => {
            normalised_probe(map)
        }
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), normalised_amount(field, name, value)))
                .filter(|(name, value)| {
                    !(is_empty_map(value) && matches!(name.as_str(), "resources" | "requests" | "limits"))
                })
                .collect(),
        ),
        Value::Array(elements) => {
            let singular = if field == "ports" { "port" } else { "" };
            Value::Array(elements.iter().map(|element| normalised(singular, element)).collect())
        }
        simple => simple.clone(),
    }
}

fn is_empty_map(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn normalised_amount(section: &str, name: &str, value: &Value) -> Value {
    if matches!(section, "requests" | "limits")
        && let Ok(quantity) = Quantity::from_json(value)
    {
        return Value::from(quantity.to_string());
    }
    normalised(name, value)
}

fn normalised_probe(probe: &serde_json::Map<String, Value>) -> Value {
    let mut normal: serde_json::Map<String, Value> = probe
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), normalised("", value)))
        .collect();
    for timing in Timing::ALL {
        let stated = normal.get(timing.field()).and_then(Value::as_i64).unwrap_or(0);
        if stated == 0 {
            normal.insert(timing.field().to_owned(), Value::from(timing.default_value()));
        }
    }
    if let Some(http) = normal.get_mut(HandlerKind::HttpGet.field()) {
        fill_in_http(http);
    }
    if let Some(grpc) = normal.get_mut(HandlerKind::Grpc.field()).and_then(Value::as_object_mut) {
        grpc.entry("service").or_insert_with(|| json!(""));
    }
    Value::Object(normal)
}

/// What the API fills in where a GET does not state it.
fn fill_in_http(handler: &mut Value) {
    if let Some(http) = handler.as_object_mut() {
        http.entry("path").or_insert_with(|| json!("/"));
        http.entry("scheme").or_insert_with(|| json!("HTTP"));
    }
}

fn is_applied(change: &Change, pod_spec: Option<&Value>, containers: &[Container<'_>]) -> Option<Violation> {
    let found = change.found(pod_spec, containers);
    let quantity = |value: Option<&Value>| value.and_then(|value| Quantity::from_json(value).ok());
    let is_timing = Timing::ALL.iter().find(|timing| timing.field() == change.field);
    let is_there = match (&change.to, found) {
        (None, None) => true,
        // A delay of zero is left out by the server.
        (Some(to), None) => is_timing.is_some_and(|timing| to.as_i64() == Some(timing.default_value())),
        (None, Some(_)) => false,
        (Some(to), Some(found)) if change.is_amount() => {
            quantity(Some(to)).is_some() && quantity(Some(to)) == quantity(Some(found))
        }
        (Some(to), Some(found)) => {
            // The server fills in what a GET leaves out; a local merge does not.
            let whole = |value: &Value| {
                let mut value = normalised("", value);
                if change.field == HandlerKind::HttpGet.field() {
                    fill_in_http(&mut value);
                }
                value
            };
            whole(to) == whole(found)
        }
    };
    (!is_there).then(|| Violation::NotApplied {
        subject: change.subject(),
        planned: change.becomes(),
        found: found.map_or_else(|| "not there".to_owned(), std::string::ToString::to_string),
    })
}

/// Promise one: no liveness or startup probe kills earlier than it did, unless the policy states that very number.
fn kills_no_earlier(before: &Workload, after: &Workload, policy: &PolicySpec) -> Vec<Violation> {
    let mut violations = Vec::new();
    for container in after.containers() {
        let earlier = before.containers();
        let Some(earlier) = earlier.iter().find(|c| c.name == container.name && c.list == container.list) else {
            continue;
        };
        for kind in [ProbeKind::Liveness, ProbeKind::Startup] {
            let Some(is) = container.probe(kind) else { continue };
            let Some(was) = earlier.probe(kind) else {
                // A startup probe that is new kills where the liveness had the start to itself.
                let killer = earlier.probe(ProbeKind::Liveness).filter(|_| kind == ProbeKind::Startup);
                let before = killer.map_or(0, |probe| kill_budget(probe).earliest);
                let after = kill_budget(is).earliest;
                if after < before {
                    violations.push(Violation::KillsEarlier { pointer: is.pointer(&container.pointer), before, after });
                }
                continue;
            };
            // What the policy states is taken out of the comparison: the old probe is judged with it.
            let mut baseline = was.json.clone();
            if kind == ProbeKind::Liveness
                && let (Some(stated), Some(baseline)) = (policy.liveness.as_ref(), baseline.as_object_mut())
            {
                let numbers = [
                    (Timing::InitialDelay, stated.initial_delay_seconds),
                    (Timing::Period, stated.period_seconds),
                    (Timing::Timeout, stated.timeout_seconds),
                    (Timing::FailureThreshold, stated.failure_threshold),
                ];
                for (timing, number) in numbers {
                    let Some(number) = number.map(i64::from).filter(|n| is.timing(timing) == *n) else { continue };
                    baseline.insert(timing.field().to_owned(), Value::from(number));
                }
            }
            let was = Probe { kind, json: &baseline };
            let budget = |probe: Probe<'_>| match kind {
                ProbeKind::Startup => startup_budget(probe),
                _ => kill_budget(probe).earliest,
            };
            let numbers = [(budget(was), budget(is)), (was.timing(Timing::Timeout), is.timing(Timing::Timeout))];
            if let Some((before, after)) = numbers.into_iter().find(|(before, after)| after < before) {
                violations.push(Violation::KillsEarlier { pointer: is.pointer(&container.pointer), before, after });
            }
        }
    }
    violations
}

/// The same for a stop: a grace period is raised or left alone.
fn stops_no_sooner(before: &Workload, after: &Workload) -> Option<Violation> {
    let (before, after) = (grace(before), grace(after));
    (after < before).then_some(Violation::StopsSooner { before, after })
}

fn findings_are_gone(before: &Workload, after: &Workload, plan: &Plan, policy: &PolicySpec) -> Vec<Violation> {
    let case = Case::new(after, policy, None);
    let found = detect(&case);
    let earlier = detect(&Case::new(before, policy, None));
    let keys: BTreeSet<FindingKey> = found.iter().map(Finding::key).collect();
    // Twins that tell a stated second from a defaulted one may change places once the server has filled it in.
    let twin = |key: &FindingKey| match key.0 {
        "RP003" => ("RP004", key.1.clone()),
        "RP004" => ("RP003", key.1.clone()),
        _ => key.clone(),
    };
    let expected: BTreeSet<FindingKey> =
        plan.remaining.iter().map(Finding::key).flat_map(|key| [twin(&key), key]).collect();
    let safe = found.iter().filter(|finding| finding.applicability == Applicability::Safe);
    let safe: BTreeSet<FindingKey> = safe.map(Finding::key).collect();
    let mut violations: Vec<_> =
        plan.cured.iter().filter(|key| safe.contains(*key)).cloned().map(Violation::Remains).collect();
    violations.extend(keys.iter().filter(|key| !expected.contains(*key)).cloned().map(Violation::New));
    // One that was foreseen may take the place of a worse one, not that of a lesser one.
    let is_worse = |finding: &&Finding| {
        let of_key = earlier.iter().filter(|was| was.key() == finding.key());
        let of_container = earlier.iter().filter(|was| was.container == finding.container);
        let was = of_key.map(|was| was.severity).max().or_else(|| of_container.map(|was| was.severity).max());
        was.is_none_or(|was| finding.severity > was)
    };
    violations.extend(found.iter().filter(is_worse).map(Finding::key).map(Violation::New));
    if let Planned::Plan(again) = super::plan(&case, &found, plan.remedy, plan.changes_resources()) {
        violations.push(Violation::NotIdempotent(again.digest.clone()));
    }
    violations
}

fn qos_is_no_worse(before: Option<&Value>, after: Option<&Value>) -> Vec<Violation> {
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    let (before, after) = (qos_class(before), qos_class(after));
    // Without its CPU limit a Guaranteed pod is Burstable: asked for, and said. BestEffort is never an outcome.
    if after == QosClass::BestEffort && before != QosClass::BestEffort {
        return vec![Violation::QosClass { before, after }];
    }
    Vec::new()
}
