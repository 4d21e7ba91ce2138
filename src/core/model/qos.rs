//! The `QoS` class of a pod.

use std::fmt;

use serde_json::Value;

use super::pointer::Pointer;
use super::quantity::Quantity;
use super::workload::{Container, amount, containers_of};

/// What the kernel and the eviction order make of a pod, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QosClass {
    /// Every container has CPU and memory limits, and requests equal to them.
    Guaranteed,
    /// Anything between.
    Burstable,
    /// No container asks for anything: the least CPU weight, the first to be evicted.
    BestEffort,
}

impl fmt::Display for QosClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Guaranteed => "Guaranteed",
            Self::Burstable => "Burstable",
            Self::BestEffort => "BestEffort",
        })
    }
}

const COUNTED: [&str; 2] = ["cpu", "memory"];

/// The class of a pod spec, as `ComputePodQOS` of `pkg/apis/core/v1/helper/qos` sees it: over containers and init
/// containers, CPU and memory only, zeroes not counted, limits standing in for requests that were left out (the pod's
/// defaulting does that). Pod-level resources, where they are stated, decide alone (KEP-2837).
#[must_use]
pub fn qos_class(pod_spec: &Value) -> QosClass {
    let pod_level = pod_spec.get("resources").filter(|r| COUNTED.iter().any(|name| has(Some(r), name)));
    if let Some(resources) = pod_level {
        return if is_guaranteed(Some(resources)) { QosClass::Guaranteed } else { QosClass::Burstable };
    }
    let containers = containers_of(pod_spec, &Pointer::root());
    let resources: Vec<_> = containers.iter().map(|container| container.json.get("resources")).collect();
    if resources.iter().all(|resources| !COUNTED.iter().any(|name| has(*resources, name))) {
        QosClass::BestEffort
    } else if resources.iter().all(|resources| is_guaranteed(*resources)) {
        QosClass::Guaranteed
    } else {
        QosClass::Burstable
    }
}

/// Why a pod spec has its class, as a sentence that names the containers which decide.
#[must_use]
pub fn qos_reason(pod_spec: &Value) -> String {
    if pod_spec.get("resources").is_some_and(|r| COUNTED.iter().any(|name| has(Some(r), name))) {
        return "the pod states resources of its own, and those decide".to_owned();
    }
    let containers = containers_of(pod_spec, &Pointer::root());
    match qos_class(pod_spec) {
        QosClass::BestEffort => "none of its containers asks for CPU or memory, or limits them".to_owned(),
        QosClass::Guaranteed => "every container has limits for CPU and memory, and requests equal to them".to_owned(),
        QosClass::Burstable => {
            let resources = |container: &Container<'_>| container.json.get("resources").cloned();
            let asks =
                containers.iter().find(|container| COUNTED.iter().any(|name| has(resources(container).as_ref(), name)));
            let short = containers.iter().find(|container| !is_guaranteed(resources(container).as_ref()));
            let asks = asks.map_or("", |container| container.name);
            let (short, lacks) = short.map_or(("", String::new()), |container| {
                let lacks = COUNTED.iter().filter_map(|name| {
                    let word = if *name == "cpu" { "CPU" } else { name };
                    let resources = resources(container);
                    match (positive(resources.as_ref(), "limits", name), amount(resources.as_ref(), "requests", name)) {
                        (None, _) => Some(format!("no {word} limit")),
                        (Some(limit), Some(request)) if request != limit => {
                            Some(format!("a {word} request below its limit"))
                        }
                        _ => None,
                    }
                });
                (container.name, lacks.collect::<Vec<_>>().join(" and "))
            });
            format!("not BestEffort because {asks} asks for something, not Guaranteed because {short} has {lacks}")
        }
    }
}

/// What the kernel adds to a process's badness when the node runs out of memory, from -1000 (never) to 1000 (first)
/// (`GetContainerOOMScoreAdjust` in `pkg/kubelet/qos/policy.go`). Bytes. Node-critical pods count as Guaranteed, which
/// is for the caller to know.
#[must_use]
pub fn oom_score_adjustment(class: QosClass, memory_request: i128, node_memory: i128) -> i128 {
    match class {
        QosClass::Guaranteed => -997,
        QosClass::BestEffort => 1000,
        QosClass::Burstable => {
            let share = memory_request.max(0).saturating_mul(1000) / node_memory.max(1);
            // Worse than any Guaranteed pod, better than any BestEffort one.
            (1000 - share.min(1000)).clamp(3, 999)
        }
    }
}

fn positive(resources: Option<&Value>, section: &str, name: &str) -> Option<Quantity> {
    amount(resources, section, name).filter(|quantity| !quantity.is_zero())
}

fn has(resources: Option<&Value>, name: &str) -> bool {
    positive(resources, "requests", name).or_else(|| positive(resources, "limits", name)).is_some()
}

fn is_guaranteed(resources: Option<&Value>) -> bool {
    COUNTED.iter().all(|name| {
        positive(resources, "limits", name).is_some_and(|limit| {
            // A request that was left out is filled in from the limit; a stated zero is not.
            amount(resources, "requests", name).is_none_or(|request| request == limit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_all_containers_and_only_cpu_and_memory() {
        let full = json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1000m", "memory": "1024Mi"}});
        let table = [
            (json!({"containers": [{"name": "a"}]}), QosClass::BestEffort),
            (
                json!({"containers": [{"name": "a", "resources": {"requests": {"ephemeral-storage": "1Gi"}}}]}),
                QosClass::BestEffort,
            ),
            (json!({"containers": [{"name": "a", "resources": {"requests": {"cpu": "0"}}}]}), QosClass::BestEffort),
            (
                json!({"containers": [{"name": "a"}], "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "1m"}}}]}),
                QosClass::Burstable,
            ),
            (json!({"containers": [{"name": "a", "resources": full}]}), QosClass::Guaranteed),
            (json!({"containers": [{"name": "a", "resources": full}, {"name": "b"}]}), QosClass::Burstable),
            (
                json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}),
                QosClass::Guaranteed,
            ),
            (json!({"containers": [{"name": "a", "resources": {"limits": {"memory": "1Gi"}}}]}), QosClass::Burstable),
            (json!({"containers": [{"name": "a"}], "resources": {"requests": {"cpu": "1"}}}), QosClass::Burstable),
            (
                json!({"containers": [{"name": "a"}], "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}),
                QosClass::Guaranteed,
            ),
        ];
        for (spec, class) in table {
            assert_eq!(qos_class(&spec), class, "{spec}");
        }
    }

    #[test]
    fn says_who_decides() {
        let full = json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}});
        let table = [
            (json!({"containers": [{"name": "a"}, {"name": "b"}]}), "none of its containers asks"),
            (json!({"containers": [{"name": "a", "resources": full}]}), "every container has limits"),
            (
                json!({"containers": [{"name": "db", "resources": full}, {"name": "side", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}]}),
                "because db asks for something, not Guaranteed because side has a CPU request below its limit and no memory limit",
            ),
            (json!({"containers": [{"name": "a"}], "resources": {"requests": {"cpu": "1"}}}), "resources of its own"),
        ];
        for (spec, part) in table {
            let reason = qos_reason(&spec);
            assert!(reason.contains(part), "{reason}");
        }
    }

    #[test]
    fn the_smaller_the_request_the_sooner_the_kernel_kills() {
        let gib = 1_i128 << 30;
        let table = [
            (QosClass::Guaranteed, gib, -997),
            (QosClass::BestEffort, 0, 1000),
            (QosClass::Burstable, 0, 999),
            (QosClass::Burstable, 2 * gib, 875),
            (QosClass::Burstable, 16 * gib, 3),
            (QosClass::Burstable, 64 * gib, 3),
        ];
        for (class, request, expected) in table {
            assert_eq!(oom_score_adjustment(class, request, 16 * gib), expected, "{class} {request}");
        }
    }
}
