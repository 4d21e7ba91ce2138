//! The status of each policy, from the ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::Value;
use tokio::sync::Notify;

use super::ledger::{Entry, Key, Ledger};
use super::stores::{CachedPolicy, Stores};
use crate::api::{MAX_FINDINGS, MAX_WORKLOADS, OnDelete, PolicyStatus, Summary, WorkloadStatus, condition};
use crate::cluster::{CallError, Cluster, Kind, WatchState};
use crate::core::model::policy::{Policy, PolicyReference, Selection, select};
use crate::core::rollout::{Decision, Outcome, policy_problems};

/// Changes come in bursts: a rollout changes a workload many times a second.
const SETTLE: Duration = Duration::from_millis(250);
/// After a status that could not be written.
const RETRY: Duration = Duration::from_secs(5);

/// Writes the statuses that differ from what the server has, for ever.
pub(super) async fn keep_writing(
    cluster: Cluster,
    stores: Arc<Stores>,
    ledger: Arc<Ledger>,
    dirty: Arc<Notify>,
    now: fn() -> Timestamp,
) {
    let mut written: BTreeMap<(PolicyReference, String), Value> = BTreeMap::new();
    loop {
        dirty.notified().await;
        tokio::time::sleep(SETTLE).await;
        let carried = carried(&stores);
        let failing = stores.health.failing();
        if stores.health.of(Kind::StatefulSet) == WatchState::Starting {
            // Nobody's workloads are known yet. What the statuses remember of our writes must outlive this.
            continue;
        }
        for cached in stores.policies() {
            let uid = cached.json.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or("").to_owned();
            let key = (cached.reference.clone(), uid);
            let current = written.get(&key).or_else(|| cached.json.get("status")).cloned().unwrap_or_default();
            let mine = carried.get(&cached.reference).cloned().unwrap_or_default();
            let entries = ledger.under(&cached.reference);
            let Some(status) =
                status_of(&cached, &mine, &entries, &failing, &|kind| cluster.place(kind), &current, now())
            else {
                continue;
            };
            if status == current {
                continue;
            }
            match cluster.write_status(&cached.reference, &status).await {
                Ok(()) => {
                    written.insert(key, status);
                }
                Err(CallError::Gone(_)) => {}
                Err(error) => {
                    tracing::warn!(policy = %cached.reference, %error, "cannot write the status");
                    let dirty = dirty.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(RETRY).await;
                        dirty.notify_one();
                    });
                }
            }
        }
        let alive: BTreeSet<_> = stores.policies().into_iter().map(|policy| policy.reference).collect();
        written.retain(|(reference, _), _| alive.contains(reference));
    }
}

/// Which workloads each policy carries, or is in conflict about.
fn carried(stores: &Stores) -> BTreeMap<PolicyReference, BTreeSet<Key>> {
    let usable: Vec<Policy> = stores.policies().into_iter().filter_map(|cached| cached.policy.ok()).collect();
    let mut carried: BTreeMap<PolicyReference, BTreeSet<Key>> = BTreeMap::new();
    for (key, workload) in stores.all_workloads() {
        let labels = stores.namespace_labels(&key.namespace);
        let policies = match select(&workload, labels.as_ref(), &usable) {
            Selection::Policy(policy) => vec![policy],
            Selection::Conflict(policies) => policies,
            Selection::Nothing | Selection::Missing(_) => Vec::new(),
        };
        for policy in policies {
            carried.entry(policy.reference.clone()).or_default().insert(key.clone());
        }
    }
    carried
}

/// The status of one policy. None while a workload that it carries was not looked at under its present generation:
/// half a count would be wrong quietly.
fn status_of(
    cached: &CachedPolicy,
    carried: &BTreeSet<Key>,
    entries: &[(Key, Entry)],
    failing: &[(Kind, String)],
    place: &dyn Fn(Kind) -> String,
    current: &Value,
    now: Timestamp,
) -> Option<Value> {
    let looked_at: BTreeSet<&Key> = entries
        .iter()
        .filter(|(_, entry)| {
            entry
                .policies
                .iter()
                .any(|(policy, generation)| *policy == cached.reference && *generation == cached.generation)
        })
        .map(|(key, _)| key)
        .collect();
    // Where the workloads themselves cannot be watched there is nothing to wait for.
    let blind = failing.iter().any(|(kind, _)| *kind == Kind::StatefulSet);
    let is_complete = cached.policy.is_ok() && carried.iter().all(|key| looked_at.contains(key));
    if cached.policy.is_ok() && !blind && !is_complete {
        return None;
    }
    let entries: Vec<_> = entries.iter().filter(|(key, _)| carried.contains(key)).collect();
    let summary = summary(&entries);
    let conditions = conditions(cached, &summary, &entries, failing, place)
        .into_iter()
        .map(|condition| with_transition_time(condition, current, now, cached.generation))
        .collect();
    let status = PolicyStatus {
        observed_generation: Some(cached.generation),
        conditions,
        summary,
        workloads: workloads(cached.reference.namespace.is_none(), &entries),
    };
    let mut status = serde_json::to_value(status).ok()?;
    if !is_complete || (blind && carried.is_empty()) {
        // The last that was known, with what it remembers of our writes.
        for field in ["summary", "workloads"] {
            if let Some(known) = current.get(field) {
                status[field] = known.clone();
            }
        }
    }
    // A merge patch leaves alone what it does not name.
    if status.get("workloads").is_none() {
        status["workloads"] = Value::Array(Vec::new());
    }
    Some(status)
}

fn summary(entries: &[&(Key, Entry)]) -> Summary {
    let count = |wanted: fn(&Outcome) -> bool| {
        let number = entries.iter().filter(|(_, entry)| wanted(&entry.outcome)).count();
        i32::try_from(number).unwrap_or(i32::MAX)
    };
    let findings: usize = entries.iter().map(|(_, entry)| entry.outcome.findings.len()).sum();
    Summary {
        matched: i32::try_from(entries.len()).unwrap_or(i32::MAX),
        clean: count(|outcome| outcome.status == "Clean"),
        patched: count(|outcome| outcome.status == "Applied"),
        deferred: count(|outcome| outcome.decision == Decision::Defer),
        refused: count(|outcome| outcome.decision == Decision::Refuse || outcome.status == "Failed"),
        contested: count(|outcome| outcome.status == "Contested"),
        findings: i32::try_from(findings).unwrap_or(i32::MAX),
    }
}

/// A condition before its time is known.
struct Judged {
    type_: &'static str,
    holds: bool,
    reason: &'static str,
    message: String,
}

fn conditions(
    cached: &CachedPolicy,
    summary: &Summary,
    entries: &[&(Key, Entry)],
    failing: &[(Kind, String)],
    place: &dyn Fn(Kind) -> String,
) -> Vec<Judged> {
    let stalled = stalled(cached, entries);
    let degraded = degraded(cached, entries, failing, place);
    let ready = match (&stalled, &degraded) {
        (Some((reason, message)), _) | (None, Some((reason, message))) => (false, *reason, message.clone()),
        (None, None) if summary.matched == 0 => {
            let message = "no StatefulSet is carried by this policy: check its selector against `kubectl get statefulsets --show-labels`";
            (false, "NothingMatched", message.to_owned())
        }
        (None, None) => {
            let waits = summary.refused + summary.contested;
            let reason = if waits > 0 { "NeedsAttention" } else { "Reconciled" };
            (waits == 0, reason, counts(summary))
        }
    };
    let none = || (false, "None", String::new());
    let flag =
        |found: Option<(&'static str, String)>| found.map_or_else(none, |(reason, message)| (true, reason, message));
    [(condition::READY, ready), (condition::STALLED, flag(stalled)), (condition::DEGRADED, flag(degraded))]
        .into_iter()
        .map(|(type_, (holds, reason, message))| Judged { type_, holds, reason, message })
        .collect()
}

fn counts(summary: &Summary) -> String {
    let reported =
        summary.matched - summary.clean - summary.patched - summary.deferred - summary.refused - summary.contested;
    let parts: Vec<_> = [
        (summary.clean, "clean"),
        (summary.patched, "patched"),
        (reported, "reported"),
        (summary.deferred, "waiting"),
        (summary.refused, "refused"),
        (summary.contested, "contested"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{count} {word}"))
    .collect();
    let plural = |count: i32, word: &str| if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") };
    format!("{}: {}; {}", plural(summary.matched, "workload"), parts.join(", "), plural(summary.findings, "finding"))
}

fn stalled(cached: &CachedPolicy, entries: &[&(Key, Entry)]) -> Option<(&'static str, String)> {
    match &cached.policy {
        Err(error) => return Some(("InvalidPolicy", error.clone())),
        Ok(policy) => {
            let problems = policy_problems(policy);
            if !problems.is_empty() {
                return Some(("InvalidPolicy", problems.join("; ")));
            }
        }
    }
    let (key, entry) = entries.iter().find(|(_, entry)| entry.outcome.reason == "PolicyConflict")?;
    Some(("PolicyConflict", format!("{}/{}: {}", key.namespace, key.name, entry.outcome.message)))
}

fn degraded(
    cached: &CachedPolicy,
    entries: &[&(Key, Entry)],
    failing: &[(Kind, String)],
    place: &dyn Fn(Kind) -> String,
) -> Option<(&'static str, String)> {
    if let Some((kind, message)) = failing.first() {
        let (plural, place) = (kind.plural(), place(*kind));
        let message = format!("cannot list or watch {plural} {place}: {message}");
        return Some(("WatchFailing", message));
    }
    let lacking = entries.iter().find_map(|(_, entry)| Some((entry, entry.outcome.missing_verb.as_ref()?)));
    if let Some((entry, _)) = lacking {
        return Some(("MissingPermission", entry.outcome.message.clone()));
    }
    let spec = &cached.policy.as_ref().ok()?.spec;
    let mut idle = Vec::new();
    if spec.on_delete == OnDelete::Restore {
        idle.push("onDelete: Restore");
    }
    if spec.rollout.delete_stuck_pods {
        idle.push("rollout.deleteStuckPods");
    }
    (!idle.is_empty()).then(|| {
        ("NotActedOn", format!("this version does not act on {}: remove it, and do that by hand", idle.join(" and ")))
    })
}

fn with_transition_time(judged: Judged, current: &Value, now: Timestamp, generation: i64) -> Condition {
    let status = if judged.holds { "True" } else { "False" };
    let earlier = current.get("conditions").and_then(Value::as_array).into_iter().flatten().find(|condition| {
        condition.get("type").and_then(Value::as_str) == Some(judged.type_)
            && condition.get("status").and_then(Value::as_str) == Some(status)
    });
    let since = earlier
        .and_then(|condition| condition.get("lastTransitionTime")?.as_str()?.parse::<Timestamp>().ok())
        .unwrap_or_else(|| Timestamp::from_second(now.as_second()).unwrap_or(now));
    Condition {
        type_: judged.type_.to_owned(),
        status: status.to_owned(),
        reason: judged.reason.to_owned(),
        message: judged.message,
        last_transition_time: Time(since),
        observed_generation: Some(generation),
    }
}

fn workloads(with_namespace: bool, entries: &[&(Key, Entry)]) -> Vec<WorkloadStatus> {
    let mut all: Vec<_> = entries.iter().collect();
    // Worst first: what people must look at must not fall off the end.
    let rank = |outcome: &Outcome| match outcome.decision {
        Decision::Halt => 0,
        Decision::Refuse => 1,
        Decision::Defer => 2,
        Decision::Advise => 3,
        Decision::Patch => 4,
        Decision::Noop => 5,
    };
    all.sort_by_key(|(key, entry)| (rank(&entry.outcome), key.clone()));
    all.into_iter().take(MAX_WORKLOADS).map(|(key, entry)| workload_status(with_namespace, key, entry)).collect()
}

fn workload_status(with_namespace: bool, key: &Key, entry: &Entry) -> WorkloadStatus {
    let outcome = &entry.outcome;
    let plan = outcome.plan.as_ref();
    WorkloadStatus {
        namespace: with_namespace.then(|| key.namespace.clone()),
        name: key.name.clone(),
        uid: entry.uid.clone(),
        decision: outcome.decision.to_string(),
        status: outcome.status.to_owned(),
        reason: outcome.reason.to_owned(),
        message: outcome.message.clone(),
        owner: Some(outcome.owner.clone()).filter(|owner| !owner.is_empty()),
        remedy: plan.map(|plan| plan.remedy.to_string()),
        findings: outcome.findings.iter().take(MAX_FINDINGS).map(ToString::to_string).collect(),
        finding_count: i32::try_from(outcome.findings.len()).unwrap_or(i32::MAX),
        plan_digest: plan.map(|plan| plan.digest.clone()),
        written_plan: outcome.written.as_ref().map(|written| written.plan.clone()),
        written_policy: outcome
            .written
            .as_ref()
            .map(|written| written.policy.clone())
            .filter(|digest| !digest.is_empty()),
        writes: outcome.written.as_ref().map_or(0, |written| written.writes),
        patch: plan.map(|plan| plan.template_patch.to_string()),
    }
}
