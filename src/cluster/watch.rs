//! Watches that heal, one task each, and a view of how they do.
//!
//! kube's `Controller` puts all its triggers behind one backoff, so that a single forbidden or failing watch blinds the
//! others. Here each has its own, capped at five seconds, that starts over once a watch has lived for half a minute.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::utils::ResetTimerBackoff;
use kube::runtime::watcher::{self, Event, ExponentialBackoff, watcher};

use super::{Cluster, chain};

/// The kinds that the operator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// apps/v1
    StatefulSet,
    /// apps/v1; like all down to `ReplicationController` only listed, by a scan
    Deployment,
    /// apps/v1
    DaemonSet,
    /// apps/v1
    ReplicaSet,
    /// batch/v1
    CronJob,
    /// batch/v1
    Job,
    /// v1
    ReplicationController,
    /// v1
    Pod,
    /// v1
    Namespace,
    /// v1; read, never watched
    Node,
    /// v1; read by name, never listed
    ConfigMap,
    /// reprieve.dev/v1alpha1
    ProbePolicy,
    /// reprieve.dev/v1alpha1
    ClusterProbePolicy,
}

impl Kind {
    /// How the API calls it.
    #[must_use]
    pub fn resource(self) -> ApiResource {
        let (group, version, kind, plural) = match self {
            Self::StatefulSet => ("apps", "v1", "StatefulSet", "statefulsets"),
            Self::Deployment => ("apps", "v1", "Deployment", "deployments"),
            Self::DaemonSet => ("apps", "v1", "DaemonSet", "daemonsets"),
            Self::ReplicaSet => ("apps", "v1", "ReplicaSet", "replicasets"),
            Self::CronJob => ("batch", "v1", "CronJob", "cronjobs"),
            Self::Job => ("batch", "v1", "Job", "jobs"),
            Self::ReplicationController => ("", "v1", "ReplicationController", "replicationcontrollers"),
            Self::Pod => ("", "v1", "Pod", "pods"),
            Self::Namespace => ("", "v1", "Namespace", "namespaces"),
            Self::Node => ("", "v1", "Node", "nodes"),
            Self::ConfigMap => ("", "v1", "ConfigMap", "configmaps"),
            Self::ProbePolicy => (crate::api::GROUP, crate::api::VERSION, "ProbePolicy", "probepolicies"),
            Self::ClusterProbePolicy => {
                (crate::api::GROUP, crate::api::VERSION, "ClusterProbePolicy", "clusterprobepolicies")
            }
        };
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version,
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        }
    }

    /// The plural with its group, as permissions are written: `statefulsets.apps`.
    #[must_use]
    pub fn plural(self) -> String {
        let resource = self.resource();
        if resource.group.is_empty() { resource.plural } else { format!("{}.{}", resource.plural, resource.group) }
    }
}

/// What a watch saw.
#[derive(Clone, Debug)]
pub enum Changed {
    /// The object is new or different.
    There(Arc<DynamicObject>),
    /// The object is gone.
    Gone(Arc<DynamicObject>),
    /// The whole list was read anew, at the start or after a gap: anything may be different or gone.
    Everything,
}

/// How a watch does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchState {
    /// The server has not begun to answer the watch yet; the list may be here.
    Starting,
    /// It lives: the server answers it, and what is cached is what is there.
    Live,
    /// It failed last time, and why.
    Failing(String),
}

/// How all watches do. Shared.
#[derive(Clone, Debug, Default)]
pub struct Health {
    states: Arc<Mutex<BTreeMap<Kind, WatchState>>>,
}

impl Health {
    /// The watches that do not live, with what they say.
    #[must_use]
    pub fn failing(&self) -> Vec<(Kind, String)> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states
            .iter()
            .filter_map(|(kind, state)| match state {
                WatchState::Failing(message) => Some((*kind, message.clone())),
                WatchState::Starting | WatchState::Live => None,
            })
            .collect()
    }

    /// How the watch of a kind does.
    #[must_use]
    pub fn of(&self, kind: Kind) -> WatchState {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.get(&kind).cloned().unwrap_or(WatchState::Starting)
    }

    /// Sets a state; true if it is another than before.
    fn set(&self, kind: Kind, state: WatchState) -> bool {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.insert(kind, state.clone()) != Some(state)
    }
}

/// Watches a kind for ever into a store. `trim` makes the cached objects smaller; `seen` is told of each change after
/// the store has it, and of a change of the watch's own health.
pub fn watch(
    cluster: &Cluster,
    kind: Kind,
    health: Health,
    trim: fn(&mut DynamicObject),
    seen: impl Fn(Changed) + Send + 'static,
    health_changed: impl Fn() + Send + Sync + 'static,
) -> (Store<DynamicObject>, impl Future<Output = ()> + Send + 'static) {
    let mut writer: Writer<DynamicObject> = Writer::new(kind.resource());
    let store = writer.as_reader();
    let set = {
        let health = health.clone();
        Arc::new(move |state| {
            if health.set(kind, state) {
                health_changed();
            }
        })
    };
    // On a quiet cluster no event would ever tell that a watch which failed works again.
    let live = {
        let set = set.clone();
        move || set(WatchState::Live)
    };
    // The server ends the watch before our own idle limit would; a second line behind the silence limit.
    let (objects, fields) = cluster.telling(live).watched(kind);
    let config = watcher::Config { field_selector: fields, ..watcher::Config::default().timeout(240) };
    let backoff = backon::ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(500))
        .with_max_delay(Duration::from_secs(5))
        .without_max_times()
        .with_jitter();
    let backoff = ResetTimerBackoff::new(ExponentialBackoff::from(backoff), Duration::from_secs(30));
    health.set(kind, WatchState::Starting);
    let mut events = watcher(objects, config).backoff(backoff).modify(trim).boxed();
    let future = async move {
        while let Some(event) = events.next().await {
            let changed = match event {
                Err(error) => {
                    let message = chain(&error);
                    tracing::warn!(kind = kind.plural(), %message, "watch failed, trying again");
                    set(WatchState::Failing(message));
                    continue;
                }
                Ok(event) => {
                    writer.apply_watcher_event(&event);
                    event
                }
            };
            match changed {
                Event::Apply(object) => seen(Changed::There(Arc::new(object))),
                Event::Delete(object) => seen(Changed::Gone(Arc::new(object))),
                Event::InitDone => {
                    if matches!(health.of(kind), WatchState::Failing(_)) {
                        set(WatchState::Starting);
                    }
                    seen(Changed::Everything);
                }
                // The store keeps the old objects until the list is whole.
                Event::Init | Event::InitApply(_) => {}
            }
        }
    };
    (store, future)
}
