//! Which policy acts on what, what it says, and that a policy which only looks does nothing else.

use kube::Api;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kube::api::DeleteParams;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::databases::{
    change, condition, container, create, live, plain_policy, policies, policy, postgresql, reason, registry_database,
    registry_policy, status_where,
};
use super::steps::{Machine, annotated, delete_policy, events_of, looked_at_anew, settled, with_container, writes_to};
use crate::harness::intercept::Intercept;
use crate::harness::kubelet::Care;
use crate::harness::operator::{Operator, apply};
use crate::harness::wait::eventually;
use crate::harness::{Cluster, Failure};

/// Audit is the default: a report and the exact patch, and not a byte of change. Enforce then writes that patch, and
/// without its policy the patch stays and nothing more happens.
pub async fn an_audit_writes_nothing_until_it_is_told_to(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("audit").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    create(&namespace, registry_database("registry")).await?;
    let before = settled(&namespace, "registry").await?;
    policy(cluster, &namespace, "databases", registry_policy("Audit")).await?;
    let intercept = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    let entry = reason(&namespace, "databases", "registry", "Audit").await?;
    assert_eq!(
        (&entry["decision"], &entry["status"], &entry["remedy"]),
        (&json!("Advise"), &json!("Planned"), &json!("Swap"))
    );
    let patch: Value = serde_json::from_str(entry["patch"].as_str().unwrap_or_default())?;
    assert_eq!(container(&patch)["livenessProbe"]["tcpSocket"], json!({"port": 5432}));
    for round in 1..=3 {
        looked_at_anew(cluster, &namespace, "databases", registry_policy("Audit"), round).await?;
    }
    let after = live(&namespace, "registry").await?;
    for field in ["generation", "resourceVersion"] {
        assert_eq!(after["metadata"][field], before["metadata"][field], "{field}");
    }
    assert!(writes_to(&intercept, "registry").is_empty());
    let events = events_of(cluster, &namespace, "registry").await?;
    for word in ["Audit", "RP001 database/livenessProbe", "RP009", "mode is Audit"] {
        assert!(events.contains(word), "no {word} in the events: {events}");
    }

    policy(cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    status_where(&namespace, "databases", "registry", "written", |entry| entry["writes"] == 1).await?;
    let written = settled(&namespace, "registry").await?;
    let writes = writes_to(&intercept, "registry");
    assert_eq!(writes.iter().map(|seen| seen.json()["spec"].clone()).collect::<Vec<_>>(), [patch["spec"].clone()]);

    delete_policy(cluster, &namespace, "databases").await?;
    change(&namespace, "registry", &json!({"metadata": {"labels": {"touched": "yes"}}})).await?;
    // A later change that the operator acts on shows that it has seen the earlier ones.
    let mut witness = registry_database("witness");
    witness["metadata"]["labels"]["component"] = json!("witness");
    create(&namespace, witness).await?;
    let mut spec = registry_policy("Enforce");
    spec["selector"] = json!({"matchLabels": {"component": "witness"}});
    policy(cluster, &namespace, "witness", spec).await?;
    status_where(&namespace, "witness", "witness", "written", |entry| entry["writes"] == 1).await?;
    let kept = live(&namespace, "registry").await?;
    assert_eq!(kept["spec"], written["spec"], "the patch stays");
    assert!(annotated(&kept, "reprieve.dev/original"), "and so does what it replaced");
    assert_eq!(writes_to(&intercept, "registry").len(), 1);
    operator.stop().await
}

/// Two that select the same: both say so, none acts, and one that goes leaves the other to act.
pub async fn two_policies_stand_still_until_one_goes(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("conflict").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    create(&namespace, registry_database("registry")).await?;
    for name in ["first", "second"] {
        policy(cluster, &namespace, name, registry_policy("Enforce")).await?;
    }
    let intercept = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    for name in ["first", "second"] {
        let stalled = condition(&namespace, name, "Stalled", "True").await?;
        assert_eq!(stalled["reason"], "PolicyConflict");
        let message = stalled["message"].as_str().unwrap_or_default();
        for word in ["/first and ", "/second select it", "narrow their selectors", "reprieve.dev/policy"] {
            assert!(message.contains(word), "{message}");
        }
        assert_eq!(condition(&namespace, name, "Ready", "False").await?["reason"], "PolicyConflict");
    }
    assert!(writes_to(&intercept, "registry").is_empty());

    delete_policy(cluster, &namespace, "second").await?;
    status_where(&namespace, "first", "registry", "written", |entry| entry["writes"] == 1).await?;
    condition(&namespace, "first", "Stalled", "False").await?;
    condition(&namespace, "first", "Ready", "True").await?;
    operator.stop().await
}

/// What is nearer to the workload wins: its annotation, then its namespace, then the cluster.
pub async fn the_nearer_policy_acts(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("precedence").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    cluster.with_reprieve().await?;
    let timeout = |seconds: i32| {
        let mut spec = registry_policy("Enforce");
        spec["liveness"]["timeoutSeconds"] = json!(seconds);
        spec
    };
    let far = format!("far-{}", namespace.name());
    let mut spec = timeout(7);
    spec["selector"] = json!({"matchExpressions": [{"key": "component", "operator": "Exists"}]});
    spec["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace.name()}});
    let metadata = json!({"name": far, "ownerReferences": [namespace.owner_reference()]});
    let cluster_policy = json!({
        "apiVersion": "reprieve.dev/v1alpha1", "kind": "ClusterProbePolicy", "metadata": metadata, "spec": spec,
    });
    apply(&cluster.client(), &cluster_policy).await?;
    policy(cluster, &namespace, "near", timeout(8)).await?;
    let mut spec = timeout(9);
    spec["selector"] = json!({"matchLabels": {"component": "nothing"}});
    policy(cluster, &namespace, "named", spec).await?;

    let mut of_cluster = registry_database("of-cluster");
    of_cluster["metadata"]["labels"]["component"] = json!("else");
    let mut by_annotation = registry_database("by-annotation");
    by_annotation["metadata"]["annotations"] = json!({"reprieve.dev/policy": "named"});
    let mut far_by_annotation = registry_database("far-by-annotation");
    far_by_annotation["metadata"]["annotations"] = json!({"reprieve.dev/policy": format!("cluster/{far}")});
    let by_namespace = registry_database("by-namespace");
    for database in [of_cluster, by_annotation, far_by_annotation, by_namespace] {
        create(&namespace, database).await?;
    }
    let operator = Operator::start(cluster, &namespace).await?;

    for (name, seconds) in [("of-cluster", 7), ("far-by-annotation", 7), ("by-namespace", 8), ("by-annotation", 9)] {
        let what = format!("{name} to have a liveness timeout of {seconds} s");
        eventually(&what, async || {
            let statefulset = live(&namespace, name).await?;
            Ok((container(&statefulset)["livenessProbe"]["timeoutSeconds"] == seconds).then_some(()))
        })
        .await?;
    }
    operator.stop().await?;
    let all = cluster_policies(cluster);
    all.delete(&far, &DeleteParams::default()).await?;
    Ok(())
}

/// Nobody would look for a database that nobody protects.
pub async fn an_annotation_that_names_no_policy_is_told(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("missing").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    let mut database = registry_database("registry");
    database["metadata"]["annotations"] = json!({"reprieve.dev/policy": "registy"});
    create(&namespace, database).await?;
    policy(cluster, &namespace, "registry", registry_policy("Enforce")).await?;
    let operator = Operator::start(cluster, &namespace).await?;

    eventually("an event on the StatefulSet", async || {
        let events = events_of(cluster, &namespace, "registry").await?;
        let tells = events.contains("PolicyMissing")
            && events.contains(&format!("names ProbePolicy {}/registy, which does not exist", namespace.name()));
        Ok(tells.then_some(()))
    })
    .await?;
    assert_eq!(condition(&namespace, "registry", "Ready", "False").await?["reason"], "NothingMatched");
    // The name is corrected by whoever reads that.
    let corrected = json!({"metadata": {"annotations": {"reprieve.dev/policy": "registry"}}});
    change(&namespace, "registry", &corrected).await?;
    status_where(&namespace, "registry", "registry", "written", |entry| entry["writes"] == 1).await?;
    operator.stop().await
}

/// An opt-out is kept, and shown.
pub async fn what_opts_out_is_left_alone_and_shown(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("ignore").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    let ignoring = |name: &str, what: &str| {
        let mut database = registry_database(name);
        database["metadata"]["annotations"] = json!({"reprieve.dev/ignore": what});
        database
    };
    create(&namespace, ignoring("everything", "*")).await?;
    create(&namespace, ignoring("two-rules", "RP001,RP009")).await?;
    policy(cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    let intercept = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    let entry = reason(&namespace, "databases", "everything", "OptedOut").await?;
    assert!(entry["message"].as_str().unwrap_or_default().contains("reprieve.dev/ignore"), "{entry}");
    status_where(&namespace, "databases", "two-rules", "written", |entry| entry["writes"] == 1).await?;
    let statefulset = settled(&namespace, "two-rules").await?;
    let database = container(&statefulset);
    assert_eq!(database["livenessProbe"]["exec"]["command"], json!(["/docker-healthcheck.sh"]), "RP001 is ignored");
    assert_eq!(database["startupProbe"], Value::Null, "RP009 is ignored");
    assert_eq!(database["livenessProbe"]["timeoutSeconds"], 3, "RP004 is not");
    assert!(writes_to(&intercept, "everything").is_empty());
    operator.stop().await
}

/// Silence is a fault: a policy without a database says so, until there is one.
pub async fn a_policy_that_matches_nothing_says_so_and_recovers(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("nothing").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    policy(cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    let operator = Operator::start(cluster, &namespace).await?;
    let ready = condition(&namespace, "databases", "Ready", "False").await?;
    assert_eq!(ready["reason"], "NothingMatched");
    assert!(ready["message"].as_str().unwrap_or_default().contains("--show-labels"), "{ready}");

    create(&namespace, registry_database("registry")).await?;
    status_where(&namespace, "databases", "registry", "written", |entry| entry["writes"] == 1).await?;
    assert_eq!(condition(&namespace, "databases", "Ready", "True").await?["reason"], "Reconciled");

    namespace.api::<k8s_openapi::api::apps::v1::StatefulSet>().delete("registry", &DeleteParams::default()).await?;
    assert_eq!(condition(&namespace, "databases", "Ready", "False").await?["reason"], "NothingMatched");
    operator.stop().await
}

/// Counts, the worst first, and what `kubectl get` shows of them.
pub async fn the_status_counts_and_begins_with_the_worst(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("summary").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    let healthy = json!({"livenessProbe": {"tcpSocket": {"port": 5432}, "timeoutSeconds": 5},
        "readinessProbe": {"exec": {"command": ["pg_isready"]}, "timeoutSeconds": 5},
        "startupProbe": {"tcpSocket": {"port": 5432}, "timeoutSeconds": 5, "failureThreshold": 360}});
    let mut clean = with_container(postgresql("a-clean"), &healthy);
    clean["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(60);
    create(&namespace, clean).await?;
    create(&namespace, postgresql("b-to-patch")).await?;
    let two_ports = json!({"ports": [{"containerPort": 6001}, {"containerPort": 6002}]});
    create(&namespace, with_container(postgresql("c-ambiguous"), &two_ports)).await?;
    policy(cluster, &namespace, "databases", plain_policy("Enforce")).await?;
    let operator = Operator::start(cluster, &namespace).await?;

    status_where(&namespace, "databases", "b-to-patch", "written", |entry| entry["writes"] == 1).await?;
    reason(&namespace, "databases", "c-ambiguous", "AmbiguousPorts").await?;
    reason(&namespace, "databases", "a-clean", "Clean").await?;
    let status = policies(&namespace).get("databases").await?.data["status"].clone();
    let summary = &status["summary"];
    let counts = ["matched", "clean", "patched", "refused", "deferred", "contested"].map(|word| summary[word].clone());
    assert_eq!(counts.to_vec(), [3, 1, 1, 1, 0, 0], "{status:#}");
    let names: Vec<_> = status["workloads"].as_array().into_iter().flatten().map(|entry| &entry["name"]).collect();
    assert_eq!(names.first(), Some(&&json!("c-ambiguous")), "the worst comes first");
    let findings: u64 =
        status["workloads"].as_array().into_iter().flatten().filter_map(|entry| entry["findingCount"].as_u64()).sum();
    assert_eq!(summary["findings"], findings);
    let ready = condition(&namespace, "databases", "Ready", "False").await?;
    assert_eq!(ready["reason"], "NeedsAttention");

    let table = cluster.kubectl(&["get", "pp", "--namespace", namespace.name()], "").await?;
    let lines: Vec<Vec<_>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    let [titles, row] = lines.as_slice() else {
        return Err(Failure::new(format!("two lines were expected: {table}")));
    };
    assert_eq!(titles[..], ["NAME", "MODE", "MATCHED", "FINDINGS", "PATCHED", "REFUSED", "READY", "AGE"]);
    assert_eq!(row[..3], ["databases", "Enforce", "3"]);
    assert_eq!(row[4..7], ["1", "1", "False"]);
    operator.stop().await
}

/// One at a time: the next is written when the pods of the one before are new and ready.
pub async fn the_second_database_waits_for_the_first(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("one-by-one").await?;
    let held = Arc::new(AtomicBool::new(false));
    let care = {
        let held = Arc::clone(&held);
        move |_: &_| if held.load(Ordering::SeqCst) { Care::LetRun } else { Care::MakeReady }
    };
    let _machine = Machine::with_care(cluster, &namespace, 5432, care).await?;
    for name in ["one", "two"] {
        create(&namespace, registry_database(name)).await?;
        settled(&namespace, name).await?;
    }
    held.store(true, Ordering::SeqCst);
    policy(cluster, &namespace, "databases", registry_policy("Enforce")).await?;
    let intercept = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    let (first, second) = eventually("one to be written and the other to wait", async || {
        let status = policies(&namespace).get("databases").await?.data["status"].clone();
        let of = |name: &str| status["workloads"].as_array()?.iter().find(|entry| entry["name"] == name).cloned();
        let (Some(one), Some(two)) = (of("one"), of("two")) else { return Ok(None) };
        let waits = |entry: &Value| entry["reason"] == "MaxConcurrent" && entry["decision"] == "Defer";
        let order = match (one["writes"] == 1 && waits(&two), two["writes"] == 1 && waits(&one)) {
            (true, _) => ("one", "two"),
            (_, true) => ("two", "one"),
            _ => return Ok(None),
        };
        Ok(Some(order))
    })
    .await?;
    looked_at_anew(cluster, &namespace, "databases", registry_policy("Enforce"), 1).await?;
    reason(&namespace, "databases", second, "MaxConcurrent").await?;
    assert_eq!((writes_to(&intercept, first).len(), writes_to(&intercept, second).len()), (1, 0));

    held.store(false, Ordering::SeqCst);
    status_where(&namespace, "databases", second, "written", |entry| entry["writes"] == 1).await?;
    operator.stop().await
}

fn cluster_policies(cluster: &Cluster) -> Api<DynamicObject> {
    let kind = kube::core::GroupVersionKind::gvk("reprieve.dev", "v1alpha1", "ClusterProbePolicy");
    let resource = kube::core::ApiResource::from_gvk_with_plural(&kind, "clusterprobepolicies");
    Api::all_with(cluster.client(), &resource)
}
