//! The part of a kubelet that others see: what it writes to the API server about nodes, pods and events. Nothing runs.

mod attendance;
mod report;

pub use attendance::{Attendance, Care};
pub use report::Report;

use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::{Event, Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use super::failure::{Context, Failure};
use super::namespace::Namespace;

/// Plays the kubelet, and the scheduler where a pod has to be on a node.
#[derive(Clone)]
pub struct Kubelet {
    client: Client,
}

impl Kubelet {
    /// `client` must be allowed to write the status of nodes and pods.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Registers a Ready node without taints that has this much to give. Doing so again changes the numbers.
    pub async fn registers(&self, node: &str, cpu: &str, memory: &str) -> Result<(), Failure> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let as_kubelet = PatchParams::apply("kubelet").force();
        let registration = json!({"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": node, "labels": {"kubernetes.io/hostname": node, "kubernetes.io/os": "linux"},
        }});
        nodes
            .patch(node, &as_kubelet, &Patch::Apply(registration))
            .await
            .context(format_args!("cannot register the node {node}"))?;
        // Admission taints each new node as not ready, and the controller that would lift it is not run.
        nodes.patch(node, &PatchParams::default(), &Patch::Merge(json!({"spec": {"taints": null}}))).await?;
        let resources = json!({"cpu": cpu, "memory": memory, "pods": "110"});
        let status = json!({"status": {
            "capacity": resources,
            "allocatable": resources,
            "addresses": [{"type": "Hostname", "address": node}, {"type": "InternalIP", "address": "10.1.0.1"}],
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastHeartbeatTime": Time(Timestamp::now()), "lastTransitionTime": Time(Timestamp::now()),
            }],
        }});
        nodes.patch_status(node, &PatchParams::default(), &Patch::Merge(status)).await?;
        Ok(())
    }

    /// Puts a pod on a node, as the scheduler does. From then on a deleted pod stays until it [`Kubelet::lets_go`].
    pub async fn binds(&self, pod: &Pod, node: &str) -> Result<(), Failure> {
        let name = pod.name_any();
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name, "uid": pod.uid()},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        let _: Value = self
            .pods_beside(pod)
            .create_subresource("binding", &name, &PostParams::default(), &binding)
            .await
            .context(format_args!("cannot bind the pod {name} to {node}"))?;
        Ok(())
    }

    /// Reports that the pod's containers run. It is sent when awaited; what is known from earlier reports and not
    /// contradicted stays.
    pub fn runs(&self, pod: &Pod) -> Report {
        Report::new(self.pods_beside(pod), pod)
    }

    /// Reports that containers run again after `count` restarts in all.
    pub fn reports_restarts(&self, pod: &Pod, count: i32) -> Report {
        self.runs(pod).restarts(count)
    }

    /// Reports containers that wait to be started again because they ended too often.
    pub fn crash_loops(&self, pod: &Pod) -> Report {
        self.runs(pod).crash_looping()
    }

    /// Writes the event of a failed probe; `probe` is `Liveness`, `Readiness` or `Startup`.
    pub async fn probe_failed(&self, pod: &Pod, container: &str, probe: &str, output: &str) -> Result<(), Failure> {
        self.says(pod, container, "Warning", "Unhealthy", &format!("{probe} probe failed: {output}")).await
    }

    /// Writes the event of a kill by a probe; `probe` is `liveness` or `startup`.
    pub async fn kills(&self, pod: &Pod, container: &str, probe: &str) -> Result<(), Failure> {
        let message = format!("Container {container} failed {probe} probe, will be restarted");
        self.says(pod, container, "Normal", "Killing", &message).await
    }

    /// Writes an event about a container of a pod.
    pub async fn says(
        &self,
        pod: &Pod,
        container: &str,
        event_type: &str,
        reason: &str,
        message: &str,
    ) -> Result<(), Failure> {
        let now = Timestamp::now();
        let namespace = pod.namespace().unwrap_or_default();
        let mut involved_object = pod.object_ref(&());
        involved_object.field_path = Some(format!("spec.containers{{{container}}}"));
        let event: Event = serde_json::from_value(json!({
            "metadata": {"generateName": format!("{}.", pod.name_any()), "namespace": namespace},
            "involvedObject": involved_object,
            "type": event_type, "reason": reason, "message": message, "count": 1,
            "firstTimestamp": Time(now), "lastTimestamp": Time(now), "eventTime": Option::<MicroTime>::None,
            "source": {"component": "kubelet", "host": pod.spec.as_ref().and_then(|spec| spec.node_name.clone())},
            "reportingComponent": "kubelet",
        }))?;
        let events: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        events.create(&PostParams::default(), &event).await.context(format_args!("cannot write the event {reason}"))?;
        Ok(())
    }

    /// Confirms that the containers of a deleted pod have ended: the pod is gone then.
    pub async fn lets_go(&self, pod: &Pod) -> Result<(), Failure> {
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        let this_pod_only =
            at_once.preconditions(kube::api::Preconditions { uid: pod.uid(), ..kube::api::Preconditions::default() });
        self.pods_beside(pod).delete(&pod.name_any(), &this_pod_only).await?;
        Ok(())
    }

    /// Makes every pod in the namespace run and be Ready, at a loopback address of its own, and lets deleted pods go,
    /// until the result is dropped.
    pub fn makes_all_ready(&self, namespace: &Namespace) -> Attendance {
        self.tends(namespace, |_| Care::MakeReady)
    }

    /// The same, with a say in what becomes of each pod. `care` is asked again and again while a pod is not Ready.
    pub fn tends(&self, namespace: &Namespace, care: impl Fn(&Pod) -> Care + Send + Sync + 'static) -> Attendance {
        Attendance::begin(self.clone(), namespace.api(), None, care)
    }

    /// The same at one address for all of them, where a scenario may listen in their stead.
    pub fn tends_at(
        &self,
        namespace: &Namespace,
        address: Ipv4Addr,
        care: impl Fn(&Pod) -> Care + Send + Sync + 'static,
    ) -> Attendance {
        Attendance::begin(self.clone(), namespace.api(), Some(address), care)
    }

    fn pods_beside(&self, pod: &Pod) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default())
    }
}
