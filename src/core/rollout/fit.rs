//! Whether a pod with more requests still fits the node that it is on.
//!
//! The volumes of a StatefulSet often hold a pod to its node. One that was running and then stays Pending because we
//! asked for more is worse off than before, so the answer must be yes for the node it is on today.

use serde_json::Value;

use crate::core::model::pointer::Pointer;
use crate::core::model::quantity::Quantity;
use crate::core::model::workload::{ContainerList, containers_of};

/// What a node offers to pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    cpu: Quantity,
    memory: Quantity,
}

/// What a node offers to pods, by its status; None where it does not say.
#[must_use]
pub fn node_capacity(node: &Value) -> Option<Capacity> {
    let read = |name: &str| Quantity::from_json(node.pointer("/status/allocatable")?.get(name)?).ok();
    Some(Capacity { cpu: read("cpu")?, memory: read("memory")? })
}

/// What is missing on a node for a pod with this spec. `others` are the pods bound to it, the one that is replaced
/// left out.
#[must_use]
pub fn shortage<'a>(capacity: Capacity, others: impl Iterator<Item = &'a Value>, pod_spec: &Value) -> Option<String> {
    let (mut cpu, mut memory) = (Quantity::ZERO, Quantity::ZERO);
    for other in others {
        let phase = other.pointer("/status/phase").and_then(Value::as_str);
        if matches!(phase, Some("Succeeded" | "Failed")) {
            continue;
        }
        let spec = other.get("spec").unwrap_or(&Value::Null);
        cpu = cpu.plus(pod_request(spec, "cpu"));
        memory = memory.plus(pod_request(spec, "memory"));
    }
    let wanted = (pod_request(pod_spec, "cpu"), pod_request(pod_spec, "memory"));
    let free = (capacity.cpu.minus(cpu), capacity.memory.minus(memory));
    let mut short = Vec::new();
    if wanted.0 > free.0 {
        short.push(format!("{} CPU asked for and {} free", wanted.0, free.0));
    }
    if wanted.1 > free.1 {
        short.push(format!("{} memory asked for and {} free", wanted.1, free.1));
    }
    (!short.is_empty()).then(|| short.join(", "))
}

/// What the scheduler counts for a pod: the sum of its containers and sidecars, or its greediest init container beside
/// the sidecars started before it, whichever is more; pod-level requests where they are stated (KEP-2837, KEP-753).
fn pod_request(spec: &Value, name: &str) -> Quantity {
    let quantity = |value: &Value| value.get(name).and_then(|value| Quantity::from_json(value).ok());
    let overhead = spec.get("overhead").and_then(quantity).unwrap_or(Quantity::ZERO);
    if let Some(request) = spec.pointer("/resources/requests").and_then(quantity) {
        return request.plus(overhead);
    }
    let (mut running, mut sidecars, mut peak) = (Quantity::ZERO, Quantity::ZERO, Quantity::ZERO);
    for container in containers_of(spec, &Pointer::root()) {
        let request = container.amount("requests", name).or_else(|| container.amount("limits", name));
        let request = request.unwrap_or(Quantity::ZERO);
        if container.is_native_sidecar() {
            sidecars = sidecars.plus(request);
            peak = peak.max(sidecars);
        } else if container.list == ContainerList::InitContainers {
            peak = peak.max(sidecars.plus(request));
        } else {
            running = running.plus(request);
        }
    }
    running.plus(sidecars).max(peak).plus(overhead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(cpu: &str) -> Value {
        json!({"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]}})
    }

    #[test]
    fn it_fits_or_says_what_is_missing() {
        let capacity = node_capacity(&json!({"status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}})).unwrap();
        let (others, mut done) = ([pod("1"), pod("1500m")], pod("9"));
        done["status"] = json!({"phase": "Succeeded"});
        let all = || others.iter().chain([&done]);
        assert_eq!(shortage(capacity, all(), &pod("1500m")["spec"]), None);
        assert_eq!(shortage(capacity, all(), &pod("2")["spec"]).unwrap(), "2 CPU asked for and 1500m free");
    }

    #[test]
    fn init_containers_count_by_their_peak() {
        let resources = |cpu: &str| json!({"requests": {"cpu": cpu}});
        let spec = json!({
            "initContainers": [{"name": "s", "restartPolicy": "Always", "resources": resources("1")}, {"name": "i", "resources": resources("3")}],
            "containers": [{"name": "a", "resources": resources("2")}]});
        assert_eq!(pod_request(&spec, "cpu"), Quantity::parse("4").unwrap());
    }
}
