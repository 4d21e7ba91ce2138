//! What the scenarios about the operator do again and again.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use serde_json::{Value, json};

use super::databases::{live, policies, policy};
use crate::harness::intercept::{Intercept, Seen};
use crate::harness::kubelet::{Attendance, Care};
use crate::harness::tcp::{OpenPort, loopback_address};
use crate::harness::wait::eventually;
use crate::harness::{Cluster, Failure, Namespace};

/// A machine on which all pods of a namespace run and are ready, and where one port answers. Until dropped.
pub struct Machine {
    _port: OpenPort,
    _attendance: Attendance,
}

impl Machine {
    /// Starts one.
    pub async fn answering(cluster: &Cluster, namespace: &Namespace, port: u16) -> Result<Self, Failure> {
        Self::with_care(cluster, namespace, port, |_| Care::MakeReady).await
    }

    /// The same with a say in what becomes of each pod.
    pub async fn with_care(
        cluster: &Cluster,
        namespace: &Namespace,
        port: u16,
        care: impl Fn(&Pod) -> Care + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let address = loopback_address();
        let port = OpenPort::at(address, port).await?;
        let attendance = cluster.kubelet().tends_at(namespace, address, care);
        Ok(Self { _port: port, _attendance: attendance })
    }
}

/// A manifest with other values in its only container. Null removes.
pub fn with_container(mut manifest: Value, values: &Value) -> Value {
    let container = &mut manifest["spec"]["template"]["spec"]["containers"][0];
    for (field, value) in values.as_object().into_iter().flatten() {
        match value {
            Value::Null => drop(container.as_object_mut().map(|container| container.remove(field))),
            value => container[field] = value.clone(),
        }
    }
    manifest
}

/// Runs kubectl with a manifest on its standard input: `apply --server-side`, `replace`, …
pub async fn kubectl(
    cluster: &Cluster,
    namespace: &Namespace,
    arguments: &[&str],
    manifest: &Value,
) -> Result<String, Failure> {
    let arguments = [arguments, &["--namespace", namespace.name(), "--filename", "-"]].concat();
    cluster.kubectl(&arguments, &manifest.to_string()).await
}

/// Creates an object in the name of a field manager, as a client without server-side apply does.
pub async fn create_as(namespace: &Namespace, manager: &str, manifest: &Value) -> Result<StatefulSet, Failure> {
    let statefulset: StatefulSet = serde_json::from_value(manifest.clone())?;
    let parameters = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
    Ok(namespace.api::<StatefulSet>().create(&parameters, &statefulset).await?)
}

/// The changes of a StatefulSet that were asked for in earnest. Two of a plan would be two restarts.
pub fn writes_to(intercept: &Intercept, name: &str) -> Vec<Seen> {
    let path = format!("/statefulsets/{name}");
    intercept.writes().into_iter().filter(|seen| seen.path.ends_with(&path) && !seen.is_dry_run()).collect()
}

/// The generation of a StatefulSet: it grows with each change of its spec.
pub async fn generation(namespace: &Namespace, name: &str) -> Result<i64, Failure> {
    let statefulset = live(namespace, name).await?;
    statefulset["metadata"]["generation"].as_i64().ok_or_else(|| Failure::new("a StatefulSet without a generation"))
}

/// Returns when all pods of a StatefulSet are ready and of its present template.
pub async fn settled(namespace: &Namespace, name: &str) -> Result<Value, Failure> {
    eventually(&format!("the rollout of {name} to be over"), async || {
        let statefulset = live(namespace, name).await?;
        let (status, spec) = (&statefulset["status"], &statefulset["spec"]);
        let is_settled = status["observedGeneration"] == statefulset["metadata"]["generation"]
            && status["currentRevision"] == status["updateRevision"]
            && status["readyReplicas"] == spec["replicas"]
            && status["updatedReplicas"] == spec["replicas"];
        Ok(is_settled.then_some(statefulset))
    })
    .await
}

/// Changes a policy in a way that no plan depends on, so that all its workloads are looked at anew, and returns when
/// its status tells of that.
pub async fn looked_at_anew(
    cluster: &Cluster,
    namespace: &Namespace,
    name: &str,
    mut spec: Value,
    round: i32,
) -> Result<Value, Failure> {
    spec["rollout"]["soakSeconds"] = json!(200 + round);
    policy(cluster, namespace, name, spec).await?;
    let policies = policies(namespace);
    eventually(&format!("the status of {name} to be of its present generation"), async || {
        let object = serde_json::to_value(policies.get(name).await?)?;
        let is_present = object["status"]["observedGeneration"] == object["metadata"]["generation"];
        Ok(is_present.then(|| object["status"].clone()))
    })
    .await
}

/// Deletes a ProbePolicy.
pub async fn delete_policy(cluster: &Cluster, namespace: &Namespace, name: &str) -> Result<(), Failure> {
    cluster.kubectl(&["delete", "probepolicy", name, "--namespace", namespace.name()], "").await?;
    Ok(())
}

/// What `kubectl get events` shows of a StatefulSet.
pub async fn events_of(cluster: &Cluster, namespace: &Namespace, name: &str) -> Result<String, Failure> {
    let selector = format!("involvedObject.kind=StatefulSet,involvedObject.name={name}");
    cluster.kubectl(&["get", "events", "--namespace", namespace.name(), "--field-selector", &selector], "").await
}

/// Whether an object has an annotation.
pub fn annotated(object: &Value, name: &str) -> bool {
    object["metadata"]["annotations"].get(name).is_some()
}
