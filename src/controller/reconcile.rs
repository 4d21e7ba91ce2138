//! One look at one workload.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use kube::api::DynamicObject;
use kube::runtime::controller::Action;
use serde_json::Value;
use tokio::sync::Mutex;

use super::ledger::{Entry, Key, Ledger};
use super::stores::{CachedPolicy, Stores};
use super::{Options, effects, events};
use crate::cluster::{CallError, Cluster, ConfigMaps, Kind};
use crate::core::model::policy::{Policy, Selection, select};
use crate::core::model::workload::Workload;
use crate::core::rollout::{Decision, Memory, Observation, Outcome, Progress, is_rolling, step};

/// The path has nine effects at most, and requests may be withheld once.
const MOST_STEPS: usize = 32;

/// What a reconcile works with.
pub(super) struct Context {
    cluster: Cluster,
    stores: Arc<Stores>,
    ledger: Arc<Ledger>,
    options: Options,
    /// Held while a workload may be written: two of one policy must not both find the way free.
    writing: Mutex<()>,
    /// What was last said of workloads that name a policy which is not there.
    said: std::sync::Mutex<BTreeMap<Key, String>>,
}

impl Context {
    pub(super) fn new(cluster: Cluster, stores: Arc<Stores>, ledger: Arc<Ledger>, options: Options) -> Self {
        Self { cluster, stores, ledger, options, writing: Mutex::new(()), said: std::sync::Mutex::default() }
    }
}

/// Looks at a workload and says when to look again. It has no error of its own: whatever goes wrong is an outcome that
/// people see.
pub(super) async fn reconcile(object: Arc<DynamicObject>, context: Arc<Context>) -> Result<Action, Infallible> {
    context.stores.ready().await;
    let key = Key::of(&object);
    let Some(cached) = context.stores.workload(&key) else {
        context.ledger.forget(&key);
        return Ok(Action::await_change());
    };
    let policies = context.stores.policies();
    let usable: Vec<Policy> = policies.iter().filter_map(|cached| cached.policy.as_ref().ok().cloned()).collect();
    let labels = context.stores.namespace_labels(&key.namespace);
    let selection = select(&cached, labels.as_ref(), &usable);
    if !matches!(selection, Selection::Missing(_)) {
        context.said().remove(&key);
    }
    let seconds = match selection {
        Selection::Nothing => {
            context.ledger.forget(&key);
            return Ok(Action::await_change());
        }
        Selection::Missing(policy) => {
            context.ledger.forget(&key);
            let message =
                format!("the annotation {} names {policy}, which does not exist", crate::api::POLICY_ANNOTATION);
            let earlier = context.said().insert(key, message.clone());
            if earlier.as_ref() != Some(&message) {
                events::publish_missing_policy(&context.cluster, &cached, &message).await;
            }
            return Ok(Action::requeue(context.options.resync));
        }
        Selection::Conflict(conflicting) => {
            let names: Vec<_> = conflicting.iter().map(|policy| policy.reference.to_string()).collect();
            let message = format!(
                "{} select it, so none of them acts: narrow their selectors, or name one in the annotation {}",
                names.join(" and "),
                crate::api::POLICY_ANNOTATION
            );
            let outcome = bare_outcome(Decision::Refuse, "Refused", "PolicyConflict", message);
            let references = conflicting.iter().map(|policy| &policy.reference);
            let involved: Vec<_> = policies.iter().filter(|p| references.clone().any(|r| *r == p.reference)).collect();
            context.settle(&key, &cached, &involved, outcome, String::new(), None).await
        }
        Selection::Policy(policy) => {
            let Some(own) = policies.iter().find(|cached| cached.reference == policy.reference) else {
                return Ok(Action::await_change());
            };
            context.look(&key, &cached, policy, own, &usable).await
        }
    };
    Ok(Action::requeue(Duration::from_secs(u64::from(seconds))))
}

impl Context {
    fn said(&self) -> MutexGuard<'_, BTreeMap<Key, String>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at a workload under its policy.
    async fn look(&self, key: &Key, cached: &Workload, policy: &Policy, own: &CachedPolicy, usable: &[Policy]) -> u32 {
        let _alone = if policy.enforces() { Some(self.writing.lock().await) } else { None };
        let involved = [own];
        let live = self.cluster.get(Kind::StatefulSet, Some(&key.namespace), &key.name).await;
        let live = match live {
            Ok(json) => Workload::new(json),
            Err(CallError::Gone(_)) => {
                self.ledger.forget(key);
                return self.resync();
            }
            Err(error) => {
                let outcome = unread(&format!("get statefulsets.apps in the namespace {}", key.namespace), &error);
                return self.settle(key, cached, &involved, outcome, String::new(), None).await;
            }
        };
        let workload = match ConfigMaps::default().read_for(&self.cluster, live).await {
            Ok(workload) => workload,
            Err(error) => {
                let outcome = unread(&format!("get configmaps in the namespace {}", key.namespace), &error);
                return self.settle(key, cached, &involved, outcome, String::new(), None).await;
            }
        };
        if let Some((_, message)) = self.stores.health.failing().into_iter().find(|(kind, _)| *kind == Kind::Pod) {
            let mut outcome = bare_outcome(
                Decision::Defer,
                "Deferred",
                "PodsUnknown",
                format!("its pods cannot be seen, so nothing about them can be proved: {message}"),
            );
            outcome.missing_verb = message.contains("cannot").then(|| "list pods in all namespaces".to_owned());
            outcome.look_again = Some(30);
            return self.settle(key, &workload, &involved, outcome, String::new(), None).await;
        }
        let observation = self.observe(key, workload, policy, own, usable);
        let fingerprint = fingerprint(&observation, own);
        if let Some(entry) = self.ledger.get(key)
            && entry.fingerprint == fingerprint
            && observation.now < entry.look_again
        {
            let left = entry.look_again.as_second() - observation.now.as_second();
            return u32::try_from(left).unwrap_or(1).max(1);
        }
        let (outcome, generation) = self.walk(&observation).await;
        self.settle(key, &observation.workload, &involved, outcome, fingerprint, generation).await
    }

    fn observe(
        &self,
        key: &Key,
        workload: Workload,
        policy: &Policy,
        own: &CachedPolicy,
        usable: &[Policy],
    ) -> Observation {
        let pods = self.stores.pods_of(&workload);
        // Goes through all workloads, so only where a write may follow.
        let rolling_elsewhere = if policy.enforces() { self.rolling_elsewhere(key, policy, usable) } else { 0 };
        let memory = self.memory(key, &workload, &[own]);
        Observation { workload, policy: policy.clone(), pods, rolling_elsewhere, memory, now: (self.options.now)() }
    }

    /// Our last write to a workload, as this process or the status of one of its policies remembers it.
    fn memory(&self, key: &Key, workload: &Workload, policies: &[&CachedPolicy]) -> Option<Memory> {
        let entry = self.ledger.get(key).filter(|entry| entry.uid == workload.uid());
        entry
            .and_then(|entry| entry.outcome.written.clone())
            .or_else(|| policies.iter().find_map(|policy| Memory::in_status(&policy.json, workload.uid())))
    }

    /// How many other workloads of a policy are rolling, by the caches: what was looked at in this process is not all.
    fn rolling_elsewhere(&self, key: &Key, policy: &Policy, usable: &[Policy]) -> usize {
        let is_carried = |other: &Key, workload: &Workload| {
            let labels = self.stores.namespace_labels(&other.namespace);
            matches!(select(workload, labels.as_ref(), usable), Selection::Policy(own) if own.reference == policy.reference)
        };
        let others = self.stores.all_workloads().into_iter().filter(|(other, _)| other != key);
        others.filter(|(other, workload)| self.is_rolling(other, workload) && is_carried(other, workload)).count()
    }

    /// Whether a workload is rolling, or is about to: the cache may not have our last write yet.
    fn is_rolling(&self, key: &Key, cached: &Workload) -> bool {
        let generation = cached.json().pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        let wrote = self.ledger.get(key).and_then(|entry| entry.wrote_generation);
        wrote.is_some_and(|wrote| generation < wrote) || is_rolling(cached)
    }

    /// Walks the path of the step function. Returns the outcome, and the generation that a write made.
    async fn walk(&self, observation: &Observation) -> (Outcome, Option<i64>) {
        let mut progress = Progress::default();
        let mut generation = None;
        for _ in 0..MOST_STEPS {
            let (next, effect) = step(observation, progress);
            progress = next;
            if let Some(outcome) = progress.outcome.take() {
                return (*outcome, generation);
            }
            let Some(effect) = effect else { break };
            let answer = effects::run(&self.cluster, &observation.workload, &effect).await;
            if let (crate::core::rollout::Effect::Apply(_), crate::core::rollout::Answer::Object(object)) =
                (&effect, &answer)
            {
                generation = object.pointer("/metadata/generation").and_then(Value::as_i64);
            }
            progress.answer = Some(answer);
        }
        let message = "the path did not come to an end; this is a fault of the operator, please report it".to_owned();
        (bare_outcome(Decision::Halt, "Failed", "PathWithoutEnd", message), generation)
    }

    /// Remembers an outcome, tells people of it where it is news, and says when to look again.
    async fn settle(
        &self,
        key: &Key,
        workload: &Workload,
        policies: &[&CachedPolicy],
        mut outcome: Outcome,
        fingerprint: String,
        wrote_generation: Option<i64>,
    ) -> u32 {
        // What is not known this time (two policies, a server that does not answer) was still written once.
        outcome.written = outcome.written.or_else(|| self.memory(key, workload, policies));
        let seconds = outcome.look_again.unwrap_or_else(|| self.resync()).clamp(1, 86_400);
        let outcome = Arc::new(outcome);
        let earlier = self.ledger.get(key).and_then(|entry| entry.wrote_generation);
        let entry = Entry {
            uid: workload.uid().to_owned(),
            policies: policies.iter().map(|policy| (policy.reference.clone(), policy.generation)).collect(),
            outcome: outcome.clone(),
            fingerprint,
            look_again: (self.options.now)() + SignedDuration::from_secs(i64::from(seconds)),
            wrote_generation: wrote_generation.or(earlier),
        };
        // Looked at again within a second: nobody has to know.
        let is_passing = outcome.reason == "Changed";
        if self.ledger.set(key, entry) && !is_passing {
            tracing::info!(
                namespace = key.namespace,
                name = key.name,
                decision = %outcome.decision,
                reason = outcome.reason,
                message = outcome.message,
                "looked at a workload"
            );
            events::publish(&self.cluster, workload, &outcome).await;
        }
        seconds
    }

    fn resync(&self) -> u32 {
        u32::try_from(self.options.resync.as_secs()).unwrap_or(600)
    }
}

/// What an outcome rests on.
fn fingerprint(observation: &Observation, own: &CachedPolicy) -> String {
    let pods: Vec<String> = observation
        .pods
        .iter()
        .map(|pod| {
            let at = |pointer: &str| pod.pointer(pointer).unwrap_or(&Value::Null).to_string();
            [at("/metadata/uid"), at("/metadata/deletionTimestamp"), at("/status")].concat()
        })
        .collect();
    let mut files = std::hash::DefaultHasher::new();
    observation.workload.files().hash(&mut files);
    format!(
        "{} {} {:?} {} {:?} {} {} {:x}",
        observation.workload.uid(),
        observation.workload.resource_version(),
        own.reference,
        own.generation,
        observation.memory,
        observation.rolling_elsewhere,
        pods.concat(),
        files.finish()
    )
}

/// An outcome of the shell itself, before the core has seen the workload.
fn bare_outcome(decision: Decision, status: &'static str, reason: &'static str, message: String) -> Outcome {
    Outcome {
        decision,
        status,
        reason,
        message,
        findings: Vec::new(),
        plan: None,
        written: None,
        owner: String::new(),
        look_again: None,
        missing_verb: None,
        wrote: false,
    }
}

fn unread(what: &str, error: &CallError) -> Outcome {
    let is_forbidden = matches!(error, CallError::Forbidden(_));
    let (reason, message) = if is_forbidden {
        ("MissingPermission", format!("the operator may not {what}, which config/rbac grants: {error}"))
    } else {
        ("ServerUnavailable", format!("cannot {what}: {error}"))
    };
    let mut outcome = bare_outcome(Decision::Defer, "Deferred", reason, message);
    outcome.missing_verb = is_forbidden.then(|| what.to_owned());
    outcome.look_again = Some(match error {
        CallError::Unavailable { retry_after: Some(seconds), .. } => *seconds,
        _ => 15,
    });
    outcome
}
