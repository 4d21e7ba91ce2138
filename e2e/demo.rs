//! `cargo demo`: the incident that started Reprieve, and how it ends, on a real API server.
//!
//! Starts etcd, kube-apiserver and kube-controller-manager, applies a registry's database and a policy, runs the
//! operator and prints what happened. Exits with 1 if the result is not the promised one. There is no kubelet: the
//! demo plays it, and says so where it does.

#![allow(unreachable_pub, reason = "a program has no outside; `pub` says what a module offers")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what the demo prints is what it is for")]

#[path = "scenarios/databases.rs"]
#[allow(dead_code, reason = "the scenarios use the rest")]
mod databases;
mod demo_print;
mod harness;

use std::process::ExitCode;

use clap::Parser;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use databases::{container, create, live, policies, policy, registry_database, registry_policy, status_where};
use demo_print::{diff, heading, note, yaml};
use harness::binaries::Source;
use harness::control_plane::Options;
use harness::operator::Operator;
use harness::tcp::{OpenPort, loopback_address};
use harness::wait::eventually;
use harness::{Cluster, Context, Failure, Namespace};

const DATABASE: &str = "registry-database";
const POLICY: &str = "registry-database";

/// Shows a database that its own liveness probe kills, and its reprieve.
#[derive(Parser)]
struct Arguments {
    /// Leave the control plane running afterwards, and say how to reach and how to stop it.
    #[arg(long)]
    keep: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let source = Source::find();
    if let Source::Nothing(advice) = &source {
        eprintln!("error: {advice}");
        return ExitCode::from(2);
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start: {error}");
            return ExitCode::from(2);
        }
    };
    match runtime.block_on(show(&source, arguments.keep)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nerror: the demo did not end as promised: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn show(source: &Source, keep: bool) -> Result<(), Failure> {
    note("Starting etcd, kube-apiserver and kube-controller-manager.");
    let cluster = Cluster::start(source, &Options::default()).await?;
    cluster.with_reprieve().await?;
    let namespace = cluster.namespace("registry").await?;
    let told = tell(&cluster, &namespace).await;
    if keep && told.is_ok() {
        // Dropping it would delete what people are to play with.
        std::mem::forget(namespace);
        let (folder, processes) = cluster.keep()?;
        let processes: Vec<_> = processes.iter().map(ToString::to_string).collect();
        heading("Yours to play with");
        note(&format!("export KUBECONFIG={}", folder.join("admin.kubeconfig").display()));
        note("cargo run -- run        # the operator, until Ctrl-C");
        note("To stop it all:");
        note(&format!("kill -9 {} && rm -r {}", processes.join(" "), folder.display()));
    } else {
        drop(namespace);
        cluster.finish().await;
    }
    told
}

async fn tell(cluster: &Cluster, namespace: &Namespace) -> Result<(), Failure> {
    let kubelet = cluster.kubelet();
    let address = loopback_address();
    let _port = OpenPort::at(address, 5432).await?;
    let pods: Api<Pod> = namespace.api();
    let pod_name = format!("{DATABASE}-0");

    heading("1. A registry's database");
    create(namespace, registry_database(DATABASE)).await?;
    let before = live(namespace, DATABASE).await?;
    print!("{}", yaml(&judged_parts(&before)));
    let pod = eventually("the database's pod", async || Ok(pods.get_opt(&pod_name).await?)).await?;
    kubelet.reports_restarts(&pod, 42).at(address).last_exit(137).lived_seconds(342).still_starting().await?;
    note(
        "Its node was busy, three checks in a row took 1.2 s, and the kubelet killed it. It came back in crash recovery,",
    );
    note(
        "where it refuses queries, so the check failed by design. (There is no kubelet here: the demo writes its reports.)",
    );
    print!("{}", cluster.kubectl(&["-n", namespace.name(), "get", "pods"], "").await?);

    heading("2. A policy in mode Audit: what is wrong, and what would be done");
    policy(cluster, namespace, POLICY, registry_policy("Audit")).await?;
    let operator = Operator::start(cluster, namespace).await?;
    let audited =
        status_where(namespace, POLICY, DATABASE, "a proved plan", |entry| entry["reason"] == "Audit").await?;
    for finding in audited["findings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        note(&format!("• {finding}"));
    }
    let text = audited["patch"].as_str().unwrap_or_default();
    let patch: Value = serde_json::from_str(text).context("the patch in the status is no JSON")?;
    println!(
        "\nThe strategic merge patch that Enforce would send, after dry-runs of the StatefulSet and of its pod:\n"
    );
    print!("{}", yaml(&patch));
    let untouched = live(namespace, DATABASE).await?;
    promise("Audit writes nothing", before["metadata"]["generation"] == untouched["metadata"]["generation"])?;

    heading("3. The same policy in mode Enforce");
    policy(cluster, namespace, POLICY, registry_policy("Enforce")).await?;
    let written = status_where(namespace, POLICY, DATABASE, "one write", |entry| entry["writes"] == 1).await?;
    let after = live(namespace, DATABASE).await?;
    print!("{}", diff(&yaml(&judged_parts(&before)), &yaml(&judged_parts(&after))));
    check(&after)?;
    note(&format!("\nThe status says: {}", written["message"].as_str().unwrap_or_default()));

    heading("4. The pod that loops must be deleted once: the StatefulSet controller waits for it to become ready");
    println!("$ kubectl -n {} delete pod {pod_name}", namespace.name());
    pods.delete(&pod_name, &DeleteParams::default().grace_period(0)).await?;
    let old = pod.metadata.uid.clone();
    let fresh =
        eventually("the new pod", async || Ok(pods.get_opt(&pod_name).await?.filter(|pod| pod.metadata.uid != old)))
            .await?;
    kubelet.runs(&fresh).ready().at(address).await?;
    let probe = serde_json::to_value(&fresh)?["spec"]["containers"][0]["livenessProbe"].clone();
    promise("the new pod has the new liveness", probe["exec"].is_null() && probe["tcpSocket"]["port"] == 5432)?;
    status_where(namespace, POLICY, DATABASE, "patched", |entry| entry["status"] == "Applied").await?;
    let api = policies(namespace);
    eventually("the policy is ready", async || {
        let status = serde_json::to_value(api.get(POLICY).await?)?["status"].clone();
        Ok((status["summary"]["patched"] == 1 && status["conditions"][0]["status"] == "True").then_some(()))
    })
    .await?;
    for arguments in [
        vec!["get", "pods"],
        vec!["get", "pp", "-o", "wide"],
        vec![
            "get",
            "events",
            "--field-selector=reason!=SuccessfulCreate,involvedObject.kind=StatefulSet",
            "-o=custom-columns=TYPE:.type,REASON:.reason,OBJECT:.involvedObject.name,MESSAGE:.message",
        ],
    ] {
        println!("\n$ kubectl {}", arguments.join(" "));
        let arguments: Vec<_> = ["-n", namespace.name()].into_iter().chain(arguments).collect();
        print!("{}", demo_print::shorten_lines(&cluster.kubectl(&arguments, "").await?));
    }
    operator.stop().await?;
    note("\nThe liveness no longer kills a database that recovers. That is the promised result.");
    Ok(())
}

/// What Reprieve judges, in the order in which people write it.
fn judged_parts(statefulset: &Value) -> Value {
    const FIELDS: [&str; 6] = ["name", "image", "livenessProbe", "readinessProbe", "startupProbe", "resources"];
    const PROBE: [&str; 7] =
        ["exec", "httpGet", "tcpSocket", "initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold"];
    let pick = |from: &Value, fields: &[&str]| -> Value {
        let there = fields.iter().filter_map(|field| Some(((*field).to_owned(), from.get(field)?.clone())));
        Value::Object(there.collect())
    };
    let mut parts = pick(container(statefulset), &FIELDS);
    for (name, part) in parts.as_object_mut().into_iter().flatten() {
        if name.ends_with("Probe") {
            *part = pick(part, &PROBE);
        }
    }
    parts
}

/// The values that the incident ended with.
fn check(after: &Value) -> Result<(), Failure> {
    let database = container(after);
    let liveness = &database["livenessProbe"];
    promise("the liveness asks the port", liveness["tcpSocket"] == json!({"port": 5432}))?;
    promise("the exec handler is gone from the liveness", liveness["exec"].is_null())?;
    promise(
        "the check decides readiness",
        database["readinessProbe"]["exec"]["command"] == json!(["/docker-healthcheck.sh"]),
    )?;
    let startup = &database["startupProbe"];
    let budget = startup["failureThreshold"].as_i64().zip(startup["periodSeconds"].as_i64()).map(|(n, s)| n * s);
    promise("the start may take an hour", budget >= Some(3600))?;
    promise(
        "CPU and memory are asked for, and only memory is limited",
        database["resources"] == json!({"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "3Gi"}}),
    )
}

fn promise(what: &str, holds: bool) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::new(format!("it was promised that {what}"))) }
}
