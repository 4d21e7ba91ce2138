//! The last outcome of each workload.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::api::DynamicObject;
use tokio::sync::Notify;

use crate::cluster::{Kind, ObjectRef};
use crate::core::model::policy::PolicyReference;
use crate::core::rollout::Outcome;

/// A workload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub namespace: String,
    pub name: String,
}

impl Key {
    pub(super) fn of(object: &DynamicObject) -> Self {
        Self {
            namespace: object.metadata.namespace.clone().unwrap_or_default(),
            name: object.metadata.name.clone().unwrap_or_default(),
        }
    }

    pub(super) fn reference(&self) -> ObjectRef<DynamicObject> {
        ObjectRef::new_with(&self.name, Kind::StatefulSet.resource()).within(&self.namespace)
    }
}

/// What a workload came to, under which policies.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub uid: String,
    /// One policy, or all that are in conflict, with the generation that was looked at.
    pub policies: Vec<(PolicyReference, i64)>,
    pub outcome: Arc<Outcome>,
    /// What the outcome rests on: where this is unchanged and the time has not come, nothing is asked again.
    pub fingerprint: String,
    pub look_again: jiff::Timestamp,
    /// The generation that our last write made, until the cache has it.
    pub wrote_generation: Option<i64>,
}

/// All of them. Shared.
pub(super) struct Ledger {
    entries: Mutex<BTreeMap<Key, Entry>>,
    dirty: Arc<Notify>,
}

impl Ledger {
    pub(super) fn new(dirty: Arc<Notify>) -> Self {
        Self { entries: Mutex::default(), dirty }
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<Key, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, key: &Key) -> Option<Entry> {
        self.entries().get(key).cloned()
    }

    /// Sets an entry; true if people should hear of it.
    pub(super) fn set(&self, key: &Key, entry: Entry) -> bool {
        let told = |entry: &Entry| {
            let outcome = &entry.outcome;
            (entry.uid.clone(), outcome.status, outcome.reason, outcome.message.clone())
        };
        let news = told(&entry);
        let wrote = entry.outcome.wrote;
        let before = self.entries().insert(key.clone(), entry);
        self.dirty.notify_one();
        wrote || before.as_ref().map(told) != Some(news)
    }

    pub(super) fn forget(&self, key: &Key) {
        if self.entries().remove(key).is_some() {
            self.dirty.notify_one();
        }
    }

    pub(super) fn keep_only(&self, keep: impl Fn(&Key) -> bool) {
        self.entries().retain(|key, _| keep(key));
        self.dirty.notify_one();
    }

    /// The entries under a policy.
    pub(super) fn under(&self, policy: &PolicyReference) -> Vec<(Key, Entry)> {
        let is_under = |entry: &Entry| entry.policies.iter().any(|(reference, _)| reference == policy);
        self.entries().iter().filter(|(_, entry)| is_under(entry)).map(|(k, e)| (k.clone(), e.clone())).collect()
    }
}
