//! The same for the pod that admission makes of a patched template.

use serde_json::Value;

use super::{Violation, differences, is_applied, normalised, probes_are_valid, qos_is_no_worse};
use crate::core::model::pointer::Pointer;
use crate::core::model::probe::ProbeKind;
use crate::core::model::quantity::Quantity;
use crate::core::model::workload::{Container, ContainerList, containers_of};
use crate::core::remedy::plan::{Change, Place};
use crate::core::remedy::{Plan, patch};

/// Judges the pod that admission makes of the patched template, against the one that it makes of today's. Where
/// today's template is refused there is none to compare with, and what was sent has to be in what came back.
#[must_use]
pub fn verify_pod(current: Option<&Value>, sent: &Value, patched: &Value, plan: &Plan) -> Vec<Violation> {
    let none = Value::Null;
    let spec = patched.get("spec").unwrap_or(&none);
    let containers = containers_of(spec, &Pointer::parse("/spec"));
    let Some(current) = current else {
        let sent_containers = containers_of(sent.get("spec").unwrap_or(&none), &Pointer::parse("/spec"));
        let mut violations = probes_are_valid(&sent_containers, &containers);
        violations.extend(plan.changes.iter().filter_map(|change| is_applied(change, Some(spec), &containers)));
        let without = |spec: &Value| without_judged_parts(spec, plan);
        let sent = without(sent.get("spec").unwrap_or(&none));
        violations.extend(missing(&sent, &without(spec), "", &Pointer::parse("/spec")));
        violations.extend(containers.iter().flat_map(|container| amounts_no_worse(&sent_containers, container, plan)));
        return violations;
    };
    let today = current.get("spec").unwrap_or(&none);
    let earlier = containers_of(today, &Pointer::parse("/spec"));
    let mut violations = probes_are_valid(&earlier, &containers);
    violations.extend(plan.changes.iter().filter_map(|change| is_applied(change, Some(spec), &containers)));
    // Both pods went through the same admission, so today's with the patch is what the other one should be.
    let template_patch = plan.template_patch.pointer("/spec/template/spec").unwrap_or(&none);
    match patch::apply(today, template_patch) {
        Ok(expected) => {
            let without = |spec: &Value| without_judged_parts(spec, plan);
            violations.extend(differences(&without(&expected), &without(spec), "/spec"));
        }
        Err(error) => violations.push(Violation::Unusable(error.to_string())),
    }
    violations.extend(containers.iter().flat_map(|container| amounts_no_worse(&earlier, container, plan)));
    violations.extend(qos_is_no_worse(Some(today), Some(spec)));
    violations
}

/// What was sent and is not in what came back. Admission may add to a pod, but not take away.
fn missing(sent: &Value, found: &Value, field: &str, at: &Pointer) -> Vec<Violation> {
    let is_probe = ProbeKind::ALL.iter().any(|kind| kind.field() == field);
    match (sent, found) {
        (Value::Object(sent), Value::Object(found)) if !is_probe => sent
            .iter()
            .filter(|(_, value)| !value.is_null())
            .flat_map(|(name, value)| {
                let none = &Value::Null;
                missing(value, found.get(name).unwrap_or(none), name, &at.field(name))
            })
            .collect(),
        (Value::Array(sent), Value::Array(found)) if sent.iter().all(|element| element.get("name").is_some()) => sent
            .iter()
            .enumerate()
            .flat_map(|(index, value)| {
                let same = found.iter().find(|other| other.get("name") == value.get("name"));
                missing(value, same.unwrap_or(&Value::Null), "", &at.index(index))
            })
            .collect(),
        _ if sent == found => Vec::new(),
        _ => vec![Violation::Unintended { pointer: at.to_string(), found: found.to_string() }],
    }
}

const TOKEN_VOLUME: &str = "kube-api-access-";

/// A pod spec without the token volume, whose name is drawn anew for each pod, and without the CPU and memory of
/// containers that get new ones: admission may have its own word in those, see [`amounts_no_worse`].
fn without_judged_parts(spec: &Value, plan: &Plan) -> Value {
    let is_token =
        |entry: &Value| entry.get("name").and_then(Value::as_str).is_some_and(|name| name.starts_with(TOKEN_VOLUME));
    let mut spec = spec.clone();
    for list in [ContainerList::Containers, ContainerList::InitContainers] {
        for container in spec.get_mut(list.field()).and_then(Value::as_array_mut).into_iter().flatten() {
            let name = container.get("name").and_then(Value::as_str).unwrap_or("").to_owned();
            if changes_amounts(plan, list, &name) {
                for pointer in ["/resources/requests", "/resources/limits"] {
                    if let Some(amounts) = container.pointer_mut(pointer).and_then(Value::as_object_mut) {
                        amounts.retain(|resource, _| !JUDGED.contains(&resource.as_str()));
                    }
                }
            }
            if let Some(mounts) = container.get_mut("volumeMounts").and_then(Value::as_array_mut) {
                mounts.retain(|mount| !is_token(mount));
            }
        }
    }
    if let Some(volumes) = spec.get_mut("volumes").and_then(Value::as_array_mut) {
        volumes.retain(|volume| !is_token(volume));
    }
    normalised("", &spec)
}

const JUDGED: [&str; 2] = ["cpu", "memory"];

fn changes_amounts(plan: &Plan, list: ContainerList, name: &str) -> bool {
    let is_its = |change: &Change| match &change.place {
        Place::Container { list: its, name: called, section } => {
            *its == list && called == name && *section == "resources"
        }
        Place::Pod => false,
    };
    plan.changes.iter().any(is_its)
}

/// Amounts that were not planned, in containers that get others: admission may raise them along, but neither lower or
/// remove one, nor put a limit where none was.
fn amounts_no_worse(earlier: &[Container<'_>], container: &Container<'_>, plan: &Plan) -> Vec<Violation> {
    if !changes_amounts(plan, container.list, container.name) {
        return Vec::new();
    }
    let earlier = earlier.iter().find(|c| c.name == container.name && c.list == container.list);
    let planned = |field: &str| plan.changes.iter().any(|c| c.container() == Some(container.name) && c.field == field);
    let mut violations = Vec::new();
    for (section, resource) in ["requests", "limits"].into_iter().flat_map(|s| JUDGED.map(|resource| (s, resource))) {
        let field = format!("{section}.{resource}");
        let was = earlier.and_then(|container| container.amount(section, resource));
        let was = was.filter(|was| section == "limits" || !was.is_zero());
        let found = container.json.get("resources").and_then(|all| all.get(section)?.get(resource));
        let is = found.map(|found| Quantity::from_json(found).ok());
        if planned(&field) {
            continue;
        }
        let is_fine = match (section, was, is) {
            (_, None, None) | ("requests", None, Some(Some(_))) => true,
            (_, Some(was), Some(Some(is))) => is >= was,
            _ => false,
        };
        if !is_fine {
            let found = found.map_or_else(|| "it is gone".to_owned(), ToString::to_string);
            let pointer = format!("{}/resources/{section}/{resource}", container.pointer);
            violations.push(Violation::Unintended { pointer, found });
        }
    }
    violations
}
