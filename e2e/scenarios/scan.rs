//! `reprieve scan --cluster`: the command itself, against what a real server lists and refuses.

use std::path::Path;
use std::process::Stdio;

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::{Value, json};
use tokio::process::Command;

use super::databases::{registry_database, registry_policy};
use super::stage::{NAME, Stage};
use crate::harness::{Cluster, Context, Failure};

/// What it promises before the operator starts is what the operator then sends, byte for byte.
pub async fn it_foresees_what_the_operator_writes(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "scan").await?;
    stage.run(registry_database(NAME)).await?;
    let mut twin = registry_database("web");
    twin["kind"] = json!("Deployment");
    twin["spec"] = json!({"selector": twin["spec"]["selector"], "template": twin["spec"]["template"]});
    stage.has(twin).await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    cluster.access().write_kubeconfig(&kubeconfig)?;

    let (code, bare) = scan(&kubeconfig, stage.namespace.name()).await?;
    assert_eq!((code, &bare["unread"]), (1, &json!([])), "{bare:#}");
    let names: Vec<_> = bare["workloads"].as_array().into_iter().flatten().map(|w| (&w["kind"], &w["name"])).collect();
    let expected = [("StatefulSet", NAME), ("Deployment", "web")].map(|(kind, name)| (json!(kind), json!(name)));
    assert_eq!(names, expected.iter().map(|(kind, name)| (kind, name)).collect::<Vec<_>>(), "no pod, no ReplicaSet");
    assert_eq!(bare["workloads"][0]["decision"], "Advise", "without a policy: {bare:#}");

    stage.policy(registry_policy("Enforce")).await?;
    let (code, before) = scan(&kubeconfig, stage.namespace.name()).await?;
    assert_eq!((code, &before["unread"]), (1, &json!([])), "{before:#}");
    let foreseen = &before["workloads"][0];
    assert_eq!((&foreseen["decision"], &foreseen["remedy"]), (&json!("Patch"), &json!("Swap")), "{foreseen:#}");
    assert_eq!(foreseen["policy"], format!("ProbePolicy {}/{NAME}", stage.namespace.name()));
    stage.untouched().await?;

    let operator = stage.operator().await?;
    stage.written().await?;
    let sent: Vec<Value> = stage.patches().iter().map(|seen| seen.json()["spec"].clone()).collect();
    assert_eq!(sent, [foreseen["patch"]["spec"].clone()]);

    let (_, after) = scan(&kubeconfig, stage.namespace.name()).await?;
    let patched = &after["workloads"][0];
    assert_eq!((&patched["decision"], &patched["patch"]), (&json!("Noop"), &Value::Null), "{patched:#}");
    assert!(patched["reason"].as_str().is_some_and(|reason| reason.starts_with("patched; ")), "{patched:#}");
    drop(operator);
    Ok(())
}

/// Somebody with few rights gets what they may see, and is told of the rest by verb and resource.
pub async fn it_names_what_it_may_not_list(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "scan-rights").await?;
    stage.create(registry_database(NAME)).await?;
    cluster.with_reprieve().await?;
    let account = stage.namespace.account("reader").await?;
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let rule = PolicyRule {
        api_groups: words(&["apps"]),
        resources: words(&["statefulsets"]),
        verbs: vec!["list".to_owned()],
        ..PolicyRule::default()
    };
    account.allow(vec![rule]).await?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    account.write_kubeconfig(&kubeconfig)?;
    let (code, report) = scan(&kubeconfig, stage.namespace.name()).await?;
    assert_eq!(code, 2, "{report:#}");
    let reasons: Vec<&str> =
        report["unread"].as_array().into_iter().flatten().filter_map(|unread| unread["reason"].as_str()).collect();
    let place = format!("in the namespace {}", stage.namespace.name());
    let missed = [
        ("clusterprobepolicies.reprieve.dev", "at cluster scope"),
        ("probepolicies.reprieve.dev", &place),
        ("deployments.apps", &place),
        ("daemonsets.apps", &place),
        ("replicasets.apps", &place),
        ("replicationcontrollers", &place),
        ("cronjobs.batch", &place),
        ("jobs.batch", &place),
        ("pods", &place),
    ];
    assert_eq!(reasons.len(), missed.len(), "{reasons:#?}");
    for (reason, (resource, place)) in reasons.iter().zip(missed) {
        assert!(reason.starts_with(&format!("cannot list {resource} {place}: ")), "{reason}");
        assert!(reason.contains(&account.user_name()), "{reason}");
    }
    assert_eq!(report["workloads"][0]["name"], NAME);
    assert_eq!(report["workloads"][0]["findings"][0]["rule"], "RP001");
    Ok(())
}

/// Scans a namespace and returns the exit code and the report.
pub async fn scan(kubeconfig: &Path, namespace: &str) -> Result<(i32, Value), Failure> {
    let output = Command::new(env!("CARGO_BIN_EXE_reprieve"))
        .args(["scan", "--cluster", "-o", "json", "--namespace", namespace, "--kubeconfig"])
        .arg(kubeconfig)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await?;
    let said = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_slice(&output.stdout).context(format_args!("no report, but: {said}"))?;
    Ok((output.status.code().unwrap_or(-1), report))
}
