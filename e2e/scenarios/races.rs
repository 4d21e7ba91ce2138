//! What happens between two steps: somebody else, a lost answer, an outage, an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{DeleteParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Notify};

use super::databases::{
    change, container, create, live, policies, policy, registry_database, registry_policy, status_where,
};
use super::steps::{Machine, looked_at_anew, settled, writes_to};
use crate::harness::binaries::Binaries;
use crate::harness::control_plane::Options;
use crate::harness::intercept::{Fate, Intercept, Seen};
use crate::harness::kubelet::Care;
use crate::harness::operator::Operator;
use crate::harness::wait::eventually;
use crate::harness::{Cluster, Context, Failure, Namespace};

const NAME: &str = "registry-database";

fn is_write(seen: &Seen) -> bool {
    seen.operation == "patch" && seen.path.ends_with(&format!("/statefulsets/{NAME}")) && !seen.is_dry_run()
}

/// Runs `rival` before the first write in earnest goes out, and lets it go.
fn before_the_first_write<Rival, Act>(rival: Rival) -> Intercept
where
    Rival: Fn() -> Act + Send + Sync + 'static,
    Act: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let first = Arc::new(AtomicBool::new(true));
    let rival = Arc::new(rival);
    Intercept::before_each(move |seen| {
        let is_first = is_write(&seen) && first.swap(false, Ordering::SeqCst);
        let rival = Arc::clone(&rival);
        async move {
            if is_first {
                let acted = rival().await;
                assert!(acted.is_ok(), "the rival failed: {acted:?}");
            }
            Fate::Send
        }
    })
}

/// The proof was of another object: a namesake never gets its bytes.
pub async fn a_namesake_is_not_patched_with_the_old_bytes(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("namesake").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    let old = create(&namespace, registry_database(NAME)).await?;
    policy(cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    let statefulsets = namespace.api::<StatefulSet>();
    let intercept = before_the_first_write(move || {
        let statefulsets = statefulsets.clone();
        async move {
            statefulsets.delete(NAME, &DeleteParams::background()).await?;
            let mut manifest = registry_database(NAME);
            manifest["spec"]["template"]["spec"]["containers"][0]["image"] = json!("goharbor/harbor-db:v2.11.0");
            let new: StatefulSet = serde_json::from_value(manifest)?;
            let parameters =
                kube::api::PostParams { field_manager: Some("kubectl-create".to_owned()), ..Default::default() };
            // Its name is free as soon as the old one is gone.
            eventually("the namesake", async || Ok(statefulsets.create(&parameters, &new).await.ok().map(drop))).await
        }
    });
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    status_where(&namespace, "databases", NAME, "written", |entry| entry["writes"] == 1).await?;
    let new = settled(&namespace, NAME).await?;
    assert_ne!(new["metadata"]["uid"], json!(old.uid()));
    assert_eq!(new["metadata"]["generation"], 2, "created, and written once");
    assert_eq!(container(&new)["image"], "goharbor/harbor-db:v2.11.0");
    let uids: Vec<_> = writes_to(&intercept, NAME).iter().map(|seen| seen.json()["metadata"]["uid"].clone()).collect();
    assert_eq!(uids, [json!(old.uid()), new["metadata"]["uid"].clone()], "each plan has its own base");
    operator.stop().await
}

/// A deploy between the dry-run and the write: 409, and a new proof on the new base.
pub async fn a_deploy_in_between_is_seen_and_kept(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("deploy").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    create(&namespace, registry_database(NAME)).await?;
    policy(cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    let statefulsets = namespace.api::<StatefulSet>();
    let intercept = before_the_first_write(move || {
        let statefulsets = statefulsets.clone();
        async move {
            let parameters = PatchParams { field_manager: Some("kubectl-set".to_owned()), ..PatchParams::default() };
            let bump = json!({"spec": {"template": {"spec": {"containers": [
                {"name": "database", "image": "goharbor/harbor-db:v2.11.0"},
            ]}}}});
            statefulsets.patch(NAME, &parameters, &Patch::Strategic(bump)).await?;
            Ok(())
        }
    });
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    status_where(&namespace, "databases", NAME, "written", |entry| entry["writes"] == 1).await?;
    let statefulset = settled(&namespace, NAME).await?;
    assert_eq!(container(&statefulset)["image"], "goharbor/harbor-db:v2.11.0");
    assert_eq!(container(&statefulset)["livenessProbe"]["tcpSocket"]["port"], 5432);
    assert_eq!(statefulset["metadata"]["generation"], 3, "created, deployed, written once");
    let bases: Vec<_> =
        writes_to(&intercept, NAME).iter().map(|seen| seen.json()["metadata"]["resourceVersion"].clone()).collect();
    assert_eq!(bases.len(), 2);
    assert_ne!(bases.first(), bases.last());
    let is_proof = |seen: &Seen| {
        let base = &seen.json()["metadata"]["resourceVersion"];
        seen.is_dry_run() && seen.path.ends_with(NAME) && bases.last() == Some(base)
    };
    assert!(intercept.writes().iter().any(is_proof), "nothing was proved on the new base");
    operator.stop().await
}

/// The server took the write and nobody heard of it: the object's own record tells, and there is no second restart.
pub async fn a_lost_answer_costs_no_second_restart(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("lost-answer").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    create(&namespace, registry_database(NAME)).await?;
    policy(cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    let intercept =
        Intercept::before_each(|seen| async move { if is_write(&seen) { Fate::LoseAnswer } else { Fate::Send } });
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    status_where(&namespace, "databases", NAME, "written", |entry| entry["writes"] == 1).await?;
    settled(&namespace, NAME).await?;
    looked_at_anew(cluster, &namespace, "databases", registry_policy("Enforce"), 1).await?;
    written_once(&namespace, &[&intercept]).await?;
    operator.stop().await
}

/// The process ends after the proof and before the write. The next one starts over.
pub async fn an_end_before_the_write_leaves_one_write_to_the_next(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("end-before").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    create(&namespace, registry_database(NAME)).await?;
    policy(cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    ends_at(cluster, &namespace, |seen, _| is_write(seen)).await?;
    assert_eq!(live(&namespace, NAME).await?["metadata"]["generation"], 1, "the write was not sent");

    let second = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &second).await?;
    status_where(&namespace, "databases", NAME, "written", |entry| entry["writes"] == 1).await?;
    settled(&namespace, NAME).await?;
    written_once(&namespace, &[&second]).await?;
    operator.stop().await
}

/// The process ends after the write and before it told anybody. The next one finds it done.
pub async fn an_end_after_the_write_is_not_followed_by_another(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("end-after").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    create(&namespace, registry_database(NAME)).await?;
    policy(cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    let first = ends_at(cluster, &namespace, |seen, before| {
        seen.operation == "get" && seen.path.ends_with(NAME) && before.iter().any(is_write)
    })
    .await?;

    let second = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &second).await?;
    status_where(&namespace, "databases", NAME, "written", |entry| entry["writes"] == 1).await?;
    settled(&namespace, NAME).await?;
    looked_at_anew(cluster, &namespace, "databases", registry_policy("Enforce"), 1).await?;
    written_once(&namespace, &[&first, &second]).await?;
    operator.stop().await
}

/// Runs an operator until it is about to send a certain request, and ends it there, without a word.
async fn ends_at(
    cluster: &Cluster,
    namespace: &Namespace,
    there: impl Fn(&Seen, &[Seen]) -> bool + Send + Sync + 'static,
) -> Result<Intercept, Failure> {
    let reached = Arc::new(Notify::new());
    let before = std::sync::Mutex::new(Vec::new());
    let intercept = {
        let reached = Arc::clone(&reached);
        Intercept::before_each(move |seen| {
            let mut before = before.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let is_there = there(&seen, &before);
            before.push(seen);
            let reached = Arc::clone(&reached);
            async move {
                if is_there {
                    reached.notify_one();
                    std::future::pending::<()>().await;
                }
                Fate::Send
            }
        })
    };
    let operator = Operator::start_through(cluster, namespace, &intercept).await?;
    tokio::time::timeout(crate::harness::wait::PATIENCE, reached.notified())
        .await
        .context("the operator did not get to the request at which it was to end")?;
    drop(operator);
    Ok(intercept)
}

async fn written_once(namespace: &Namespace, intercepts: &[&Intercept]) -> Result<(), Failure> {
    let writes: usize = intercepts.iter().map(|intercept| writes_to(intercept, NAME).len()).sum();
    assert_eq!(writes, 1);
    let statefulset = live(namespace, NAME).await?;
    assert_eq!(statefulset["metadata"]["generation"], 2, "created, and written once");
    assert_eq!(container(&statefulset)["livenessProbe"]["tcpSocket"]["port"], 5432);
    Ok(())
}

/// Server defaults, status updates and everybody's labels look like changes and are none (VictoriaMetrics/operator#1084).
pub async fn a_hundred_looks_are_one_write(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("hundred").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    create(&namespace, registry_database(NAME)).await?;
    policy(cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    let intercept = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;
    status_where(&namespace, "databases", NAME, "written", |entry| entry["writes"] == 1).await?;
    let before = settled(&namespace, NAME).await?;

    for round in 0..100 {
        let touched = json!({"metadata": {"labels": {"touched": round.to_string()}}});
        change(&namespace, NAME, &touched).await?;
        if round % 10 == 0 {
            let annotation = Patch::Merge(json!({"metadata": {"annotations": {"touched": round.to_string()}}}));
            policies(&namespace).patch("databases", &PatchParams::default(), &annotation).await?;
            looked_at_anew(cluster, &namespace, "databases", registry_policy("Enforce"), round).await?;
        }
    }
    looked_at_anew(cluster, &namespace, "databases", registry_policy("Enforce"), 100).await?;
    let after = live(&namespace, NAME).await?;
    assert_eq!(after["spec"], before["spec"]);
    written_once(&namespace, &[&intercept]).await?;
    let looks = intercept.requests().iter().filter(|seen| seen.operation == "get" && seen.path.ends_with(NAME)).count();
    assert!(looks > 20, "it only looked {looks} times");
    operator.stop().await
}

/// Whatever happens, no version of the object that anybody could have read has two handlers in a probe, or none.
pub async fn two_handlers_never_meet(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("handlers").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    let created = create(&namespace, registry_database(NAME)).await?;
    let versions: Arc<Mutex<Vec<Value>>> = Arc::default();
    let watching = tokio::spawn(all_versions(namespace.api(), created, Arc::clone(&versions)));
    policy(cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    let operator = Operator::start(cluster, &namespace).await?;
    status_where(&namespace, "databases", NAME, "written", |entry| entry["writes"] == 1).await?;
    settled(&namespace, NAME).await?;

    let old_probe = json!({"spec": {"template": {"spec": {"containers": [{
        "name": "database", "image": "goharbor/harbor-db:v2.11.0",
        "livenessProbe": {"exec": {"command": ["/docker-healthcheck.sh"]}, "tcpSocket": null},
    }]}}}});
    change(&namespace, NAME, &old_probe).await?;
    status_where(&namespace, "databases", NAME, "contested", |entry| entry["status"] == "Contested").await?;
    settled(&namespace, NAME).await?;
    let mut spec = registry_policy("Enforce");
    spec["liveness"]["timeoutSeconds"] = json!(4);
    policy(cluster, &namespace, "databases", spec).await?;
    status_where(&namespace, "databases", NAME, "written again", |entry| entry["writes"] == 2).await?;
    let last = settled(&namespace, NAME).await?;

    let seen = eventually("the last version to be watched", async || {
        let versions = versions.lock().await;
        let is_there = versions.iter().any(|v| v["metadata"]["resourceVersion"] == last["metadata"]["resourceVersion"]);
        Ok(is_there.then(|| versions.clone()))
    })
    .await?;
    watching.abort();
    let mut swaps = 0;
    for version in &seen {
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            let probe = &container(version)[probe];
            let handlers = ["exec", "httpGet", "tcpSocket", "grpc"].into_iter().filter(|kind| !probe[*kind].is_null());
            assert!(probe.is_null() || handlers.count() == 1, "{probe}");
        }
        swaps += usize::from(!container(version)["livenessProbe"]["tcpSocket"].is_null());
    }
    assert!(swaps > 0 && swaps < seen.len(), "{swaps} of {} versions have the new handler", seen.len());
    operator.stop().await
}

async fn all_versions(
    statefulsets: Api<StatefulSet>,
    from: StatefulSet,
    versions: Arc<Mutex<Vec<Value>>>,
) -> Result<(), Failure> {
    let parameters = WatchParams::default().fields(&format!("metadata.name={NAME}"));
    let version = from.resource_version().unwrap_or_default();
    versions.lock().await.push(serde_json::to_value(&from)?);
    let mut events = statefulsets.watch(&parameters, &version).await?.boxed();
    while let Some(event) = events.try_next().await? {
        if let WatchEvent::Modified(statefulset) = event {
            versions.lock().await.push(serde_json::to_value(&statefulset)?);
        }
    }
    Ok(())
}

/// The API server is away while the operator waits for something, and silent for a moment when it is back.
pub async fn an_outage_is_survived(binaries: &Binaries) -> Result<(), Failure> {
    let mut cluster = Cluster::from_binaries(binaries, &Options::default()).await?;
    let namespace = cluster.namespace("outage").await?;
    let ready = Arc::new(AtomicBool::new(false));
    let care = {
        let ready = Arc::clone(&ready);
        move |_: &_| if ready.load(Ordering::SeqCst) { Care::MakeReady } else { Care::LetRun }
    };
    let _machine = Machine::with_care(&cluster, &namespace, 5432, care).await?;
    create(&namespace, registry_database(NAME)).await?;
    policy(&cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    let intercept = Intercept::recording();
    let operator = Operator::start_through(&cluster, &namespace, &intercept).await?;
    status_where(&namespace, "databases", NAME, "waiting", |entry| entry["reason"] == "NotHealthy").await?;

    let before = intercept.count("watch");
    cluster.control_plane_mut()?.stop_apiserver()?;
    eventually("the operator to try again", async || Ok((intercept.count("watch") > before + 5).then_some(()))).await?;
    cluster.control_plane_mut()?.start_apiserver().await?;
    cluster.control_plane()?.freeze_apiserver()?;
    let statefulsets = namespace.api::<StatefulSet>();
    eventually("the frozen server to fall silent", async || {
        Ok(tokio::time::timeout(std::time::Duration::from_secs(1), statefulsets.get(NAME)).await.err())
    })
    .await?;
    cluster.control_plane()?.thaw_apiserver()?;
    ready.store(true, Ordering::SeqCst);

    status_where(&namespace, "databases", NAME, "written", |entry| entry["writes"] == 1).await?;
    settled(&namespace, NAME).await?;
    written_once(&namespace, &[&intercept]).await?;
    operator.stop().await
}
