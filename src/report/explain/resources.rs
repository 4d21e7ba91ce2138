//! What the requests and limits mean on a node: the class, the share of the CPU, and who goes first when memory ends.

use super::Page;
use crate::core::model::qos::{QosClass, oom_score_adjustment, qos_class, qos_reason};
use crate::core::model::quantity::Quantity;
use crate::core::model::weight;
use crate::core::model::workload::{Container, ContainerList};
use crate::report::subject::{DatabaseView, Subject};

/// Nodes for an example, in GiB.
const NODES: [i128; 2] = [16, 64];

pub(super) fn explain(page: &mut Page, subject: &Subject, databases: &[DatabaseView<'_>]) {
    let Some(pod_spec) = subject.workload.pod_spec() else { return };
    let class = qos_class(pod_spec);
    page.section("Its share of the node");
    let mut lines = vec![format!("{class}: {}", qos_reason(pod_spec))];
    if let Some(then) = subject.patched().and_then(|patched| patched.pod_spec().map(qos_class)) {
        lines.push(format!("with the patch {then}"));
    }
    page.entry("QoS class", &lines);
    page.entry("CPU", &[
        "when there is not enough for all, the kernel divides it by weight; cpu.shares on cgroup v1, cpu.weight on v2".to_owned(),
        "how shares become a weight depends on the container runtime (kubernetes/kubernetes#131216)".to_owned(),
        "runc 1.3.1, crun 1.22 and before: 1 + (shares - 2) × 9999 / 262142".to_owned(),
        "runc 1.3.2, crun 1.23 and since: 10 ^ ((l² + 125 l) / 612 - 7/34), l = log2(shares), rounded up".to_owned(),
        "what runs beside Kubernetes on the node weighs 100 unless somebody says otherwise".to_owned(),
    ]);
    page.line(&format!(
        "{:<42}{:>10}{:>10}{:>14}{:>14}",
        "container", "request", "shares", "weight before", "weight since"
    ));
    for container in subject.workload.containers() {
        page.line(&weights(&container));
    }
    for view in databases {
        page.entry("out of memory", &[memory(class, view.container)]);
    }
}

/// A request, or the limit that stands in for it.
fn requested(container: &Container<'_>, resource: &str) -> Option<Quantity> {
    container.amount("requests", resource).or_else(|| container.amount("limits", resource))
}

fn weights(container: &Container<'_>) -> String {
    let request = requested(container, "cpu");
    let shares = weight::shares(request.map_or(0, Quantity::milli));
    let request = request.map_or_else(|| "none".to_owned(), |request| request.to_string());
    let (before, since) = (weight::linear(shares), weight::quadratic(shares));
    let is_init = container.list == ContainerList::InitContainers && !container.is_native_sidecar();
    let name = format!("{}{}", container.name, if is_init { " (before the others)" } else { "" });
    let name: String = name.chars().take(40).collect();
    format!("{name:<42}{request:>10}{shares:>10}{before:>14}{since:>14}")
}

fn memory(class: QosClass, container: &Container<'_>) -> String {
    let request = requested(container, "memory").map_or(0, Quantity::units);
    let name = container.name;
    match class {
        QosClass::Guaranteed => {
            format!(
                "oom_score_adj -997: {name} is among the last that the kernel kills when the node has no memory left"
            )
        }
        QosClass::BestEffort => {
            format!(
                "oom_score_adj 1000: {name} is among the first that the kernel kills when the node has no memory left"
            )
        }
        QosClass::Burstable => {
            let examples = NODES
                .map(|gib| format!("{} on a node with {gib} GiB", oom_score_adjustment(class, request, gib << 30)));
            format!(
                "oom_score_adj of {name} is 1000 - 1000 × memory request / node memory, from 3 (late) to 999 (soon): {}",
                examples.join(", ")
            )
        }
    }
}
