//! What is cached of the cluster, and which workloads a change concerns.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::Stream;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use kube::api::DynamicObject;
use serde_json::Value;
use tokio::sync::{Notify, OnceCell};
use tokio::task::JoinSet;

use super::ledger::{Key, Ledger};
use crate::api::{ClusterProbePolicySpec, PolicySpec};
use crate::cluster::{Changed, Cluster, Health, Kind, ObjectRef, Store, WatchState, watch};
use crate::core::model::policy::{Policy, PolicyReference};
use crate::core::model::workload::Workload;

/// The caches. Trimmed: a reconcile reads its workload anew.
pub(super) struct Stores {
    pub workloads: Store<DynamicObject>,
    pods: Store<DynamicObject>,
    namespaces: Store<DynamicObject>,
    policies: [Store<DynamicObject>; 2],
    pub health: Health,
    /// Told whenever a watch starts or stops working.
    settled: Arc<Notify>,
    ready: OnceCell<()>,
}

/// A policy as cached: what it asks for, or why it cannot be used.
#[derive(Clone, Debug)]
pub(super) struct CachedPolicy {
    pub reference: PolicyReference,
    pub generation: i64,
    pub json: Value,
    pub policy: Result<Policy, String>,
}

impl Stores {
    /// Starts the watches. The stream has the workloads to look at.
    pub(super) fn start(
        cluster: &Cluster,
        ledger: &Arc<Ledger>,
        dirty: &Arc<Notify>,
        tasks: &mut JoinSet<()>,
    ) -> (Self, impl Stream<Item = ObjectRef<DynamicObject>> + Send + 'static) {
        let (sender, triggers) = unbounded();
        let health = Health::default();
        let settled = Arc::new(Notify::new());
        let told = |dirty: &Arc<Notify>| {
            let (dirty, settled) = (dirty.clone(), settled.clone());
            move || {
                dirty.notify_one();
                settled.notify_waiters();
            }
        };

        let relisted = Arc::new(Notify::new());
        let seen = {
            let (sender, ledger, dirty, relisted) = (sender.clone(), ledger.clone(), dirty.clone(), relisted.clone());
            move |changed| {
                match changed {
                    Changed::There(object) => {
                        trigger(&sender, [ObjectRef::from_obj_with(&*object, Kind::StatefulSet.resource())]);
                    }
                    Changed::Gone(object) => ledger.forget(&Key::of(&object)),
                    Changed::Everything => relisted.notify_one(),
                }
                dirty.notify_one();
            }
        };
        let (workloads, task) = watch(cluster, Kind::StatefulSet, health.clone(), trim_workload, seen, told(dirty));
        tasks.spawn(task);
        tasks.spawn(trigger_after_lists(relisted, workloads.clone(), ledger.clone(), sender.clone()));

        let seen = {
            let (sender, workloads) = (sender.clone(), workloads.clone());
            move |changed| match changed {
                Changed::There(pod) | Changed::Gone(pod) => trigger(&sender, owner_of(&pod)),
                Changed::Everything => trigger(&sender, all(&workloads)),
            }
        };
        // What waited for the pods to be seen need not wait for its time.
        let seen_again = {
            let (sender, workloads, health, told) = (sender.clone(), workloads.clone(), health.clone(), told(dirty));
            move || {
                told();
                if health.of(Kind::Pod) == WatchState::Live {
                    trigger(&sender, all(&workloads));
                }
            }
        };
        let (pods, task) = watch(cluster, Kind::Pod, health.clone(), trim_pod, seen, seen_again);
        tasks.spawn(task);

        let of_namespace = |kind: Kind| {
            let (sender, workloads, dirty) = (sender.clone(), workloads.clone(), dirty.clone());
            move |changed: Changed| {
                let namespace = match &changed {
                    Changed::There(object) | Changed::Gone(object) => match kind {
                        Kind::Namespace => object.metadata.name.clone(),
                        _ => object.metadata.namespace.clone(),
                    },
                    Changed::Everything => None,
                };
                let concerned = all(&workloads).into_iter();
                trigger(&sender, concerned.filter(|key| namespace.is_none() || key.namespace == namespace));
                dirty.notify_one();
            }
        };
        let (namespaces, task) =
            watch(cluster, Kind::Namespace, health.clone(), trim_namespace, of_namespace(Kind::Namespace), told(dirty));
        tasks.spawn(task);
        let policies = [Kind::ProbePolicy, Kind::ClusterProbePolicy].map(|kind| {
            let (store, task) =
                watch(cluster, kind, health.clone(), trim_managed_fields, of_namespace(kind), told(dirty));
            tasks.spawn(task);
            store
        });
        (Self { workloads, pods, namespaces, policies, health, settled, ready: OnceCell::new() }, triggers)
    }

    /// Waits until workloads and policies are here, and until pods and namespaces are here or have failed: a decision
    /// on half a view would be wrong quietly.
    pub(super) async fn ready(&self) {
        // One waits for all: a store wakes only the last of several that wait for it (kube's `DelayedInit` holds one
        // waker), and the workloads of the others would never be looked at.
        self.ready.get_or_init(|| self.wait_until_ready()).await;
    }

    async fn wait_until_ready(&self) {
        for store in [&self.workloads, &self.policies[0], &self.policies[1]] {
            // An error means that its task is gone, which ends the process elsewhere.
            let _ = store.wait_until_ready().await;
        }
        for kind in [Kind::Pod, Kind::Namespace] {
            loop {
                let changed = self.settled.notified();
                if self.health.of(kind) != WatchState::Starting {
                    break;
                }
                changed.await;
            }
        }
    }

    /// All policies, usable or not, in the order of their names: sentences that name several must not change by chance.
    pub(super) fn policies(&self) -> Vec<CachedPolicy> {
        let mut policies = Vec::new();
        for (kind, store) in [Kind::ProbePolicy, Kind::ClusterProbePolicy].into_iter().zip(&self.policies) {
            policies.extend(store.state().iter().map(|object| cached_policy(kind, object)));
        }
        policies.sort_by(|one, other| one.reference.cmp(&other.reference));
        policies
    }

    /// A cached workload.
    pub(super) fn workload(&self, key: &Key) -> Option<Workload> {
        let object = self.workloads.get(&key.reference())?;
        Some(Workload::new(json(&object)))
    }

    /// All cached workloads.
    pub(super) fn all_workloads(&self) -> Vec<(Key, Workload)> {
        self.workloads.state().iter().map(|object| (Key::of(object), Workload::new(json(object)))).collect()
    }

    /// The cached pods of a workload, by the uid of their owner.
    pub(super) fn pods_of(&self, workload: &Workload) -> Vec<Value> {
        let is_of = |pod: &DynamicObject| {
            pod.metadata.namespace.as_deref() == Some(workload.namespace())
                && pod.metadata.owner_references.iter().flatten().any(|owner| owner.uid == workload.uid())
        };
        let mut pods: Vec<_> = self.pods.state().iter().filter(|pod| is_of(pod)).map(|pod| json(pod)).collect();
        pods.sort_by_key(|pod| pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("").to_owned());
        pods
    }

    /// The labels of a namespace, if they are known.
    pub(super) fn namespace_labels(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let key = ObjectRef::new_with(name, Kind::Namespace.resource());
        Some(self.namespaces.get(&key)?.metadata.labels.clone().unwrap_or_default())
    }
}

/// Triggers all workloads after a list, and forgets those that are in it no longer.
async fn trigger_after_lists(
    relisted: Arc<Notify>,
    workloads: Store<DynamicObject>,
    ledger: Arc<Ledger>,
    sender: UnboundedSender<ObjectRef<DynamicObject>>,
) {
    loop {
        relisted.notified().await;
        ledger.keep_only(|key| workloads.get(&key.reference()).is_some());
        trigger(&sender, all(&workloads));
    }
}

fn trigger(
    sender: &UnboundedSender<ObjectRef<DynamicObject>>,
    keys: impl IntoIterator<Item = ObjectRef<DynamicObject>>,
) {
    for key in keys {
        // Nobody listens any more only while the process shuts down.
        let _ = sender.unbounded_send(key);
    }
}

fn all(workloads: &Store<DynamicObject>) -> Vec<ObjectRef<DynamicObject>> {
    workloads.state().iter().map(|object| ObjectRef::from_obj_with(&**object, Kind::StatefulSet.resource())).collect()
}

fn owner_of(pod: &DynamicObject) -> Option<ObjectRef<DynamicObject>> {
    let owner = pod.metadata.owner_references.iter().flatten().find(|owner| owner.kind == "StatefulSet")?;
    let namespace = pod.metadata.namespace.as_deref()?;
    Some(ObjectRef::new_with(&owner.name, Kind::StatefulSet.resource()).within(namespace))
}

fn json(object: &DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    // Objects of a list come without their kind.
    if value.get("kind").is_none() {
        value["kind"] = Value::from("StatefulSet");
        value["apiVersion"] = Value::from("apps/v1");
    }
    value
}

fn cached_policy(kind: Kind, object: &DynamicObject) -> CachedPolicy {
    let name = object.metadata.name.clone().unwrap_or_default();
    let reference = PolicyReference { namespace: object.metadata.namespace.clone(), name };
    let spec = object.data.get("spec").cloned().unwrap_or_default();
    let unreadable = |error: serde_json::Error| format!("spec: {error}");
    let policy = if kind == Kind::ProbePolicy {
        serde_json::from_value::<PolicySpec>(spec).map(|spec| (spec, None))
    } else {
        serde_json::from_value::<ClusterProbePolicySpec>(spec).map(|spec| (spec.policy, spec.namespace_selector))
    };
    let policy = policy
        .map(|(spec, namespace_selector)| Policy { reference: reference.clone(), spec, namespace_selector })
        .map_err(unreadable);
    CachedPolicy { reference, generation: object.metadata.generation.unwrap_or(0), json: json(object), policy }
}

fn trim_managed_fields(object: &mut DynamicObject) {
    object.metadata.managed_fields = None;
}

/// Ownership is read from the live object before anything is decided.
fn trim_workload(object: &mut DynamicObject) {
    trim_managed_fields(object);
    if let Some(annotations) = &mut object.metadata.annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    // Selection and the state of the rollout need no template.
    if let Some(spec) = object.data.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|field, _| matches!(field.as_str(), "replicas" | "updateStrategy"));
    }
}

fn trim_pod(object: &mut DynamicObject) {
    trim_managed_fields(object);
    object.metadata.annotations = None;
    if let Some(spec) = object.data.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|field, _| matches!(field.as_str(), "nodeName" | "containers" | "initContainers" | "resources"));
        // Of the containers only what admission made of their resources.
        for list in ["containers", "initContainers"] {
            let containers = spec.get_mut(list).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
                container.retain(|field, _| matches!(field.as_str(), "name" | "resources" | "restartPolicy"));
            }
        }
    }
    if let Some(status) = object.data.get_mut("status").and_then(Value::as_object_mut) {
        status.retain(|field, _| {
            matches!(field.as_str(), "phase" | "podIP" | "conditions" | "containerStatuses" | "initContainerStatuses")
        });
    }
}

fn trim_namespace(object: &mut DynamicObject) {
    trim_managed_fields(object);
    object.metadata.annotations = None;
    object.data = Value::Null;
}
