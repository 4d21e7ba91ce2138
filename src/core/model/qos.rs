//! The `QoS` class of a pod.

use std::fmt;

use serde_json::Value;

use super::pointer::Pointer;
use super::quantity::Quantity;
use super::workload::{amount, containers_of};

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
}
