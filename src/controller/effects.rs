//! Carries out what the step function names.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::cluster::{CallError, Cluster, Kind};
use crate::core::model::workload::Workload;
use crate::core::rollout::{Answer, DialTarget, Effect, FitQuestion, node_capacity, shortage};

/// As long as a patient probe would wait.
const DIAL: Duration = Duration::from_secs(5);

/// Runs one effect.
pub(super) async fn run(cluster: &Cluster, workload: &Workload, effect: &Effect) -> Answer {
    let (namespace, name) = (workload.namespace(), workload.name());
    let forbidden = |verb: &str, resource: &str| format!("{verb} {resource} in the namespace {namespace}");
    match effect {
        Effect::DryRunPod(_, pod) => {
            let answer = cluster.dry_run_pod(namespace, pod).await;
            server_answer(answer, &forbidden("create (as a dry-run)", "pods"))
        }
        Effect::DryRunWorkload(body) | Effect::ReplayOwner(body) => {
            let answer = cluster.patch(namespace, name, body, true).await;
            server_answer(answer, &forbidden("patch", "statefulsets.apps"))
        }
        Effect::Apply(body) => {
            let answer = cluster.patch(namespace, name, body, false).await;
            server_answer(answer, &forbidden("patch", "statefulsets.apps"))
        }
        Effect::ReadBack => {
            let answer = cluster.get(Kind::StatefulSet, Some(namespace), name).await;
            server_answer(answer, &forbidden("get", "statefulsets.apps"))
        }
        Effect::CheckFit(question) => match check_fit(cluster, namespace, question).await {
            Ok(fit) => Answer::Fit(fit),
            Err((what, error)) => server_answer(Err(error), &what),
        },
        Effect::CheckPort(targets) => Answer::Port(check_port(targets).await),
    }
}

fn server_answer(answer: Result<Value, CallError>, what: &str) -> Answer {
    match answer {
        Ok(object) => Answer::Object(object),
        Err(CallError::Conflict(_)) => Answer::Conflict,
        Err(CallError::Gone(_)) => Answer::Gone,
        Err(CallError::Forbidden(message)) => Answer::Forbidden { what: what.to_owned(), message },
        Err(CallError::DryRunUnsupported(message)) => Answer::DryRunUnsupported(message),
        Err(CallError::Rejected { code, message }) => Answer::Rejected { code, message },
        Err(CallError::Unavailable { message, retry_after }) => Answer::Unavailable { message, retry_after },
    }
}

/// Whether the pods with their new requests still fit the nodes that they are on.
async fn check_fit(
    cluster: &Cluster,
    namespace: &str,
    question: &FitQuestion,
) -> Result<Result<(), String>, (String, CallError)> {
    let mut by_node: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (pod, node) in &question.replaced {
        by_node.entry(node).or_default().push(pod);
    }
    for (name, replaced) in by_node {
        let node = match cluster.get(Kind::Node, None, name).await {
            Ok(node) => node,
            Err(CallError::Gone(_)) => return Ok(Err(format!("the node {name} is gone"))),
            Err(error) => return Err((format!("get nodes ({name})"), error)),
        };
        let Some(capacity) = node_capacity(&node) else {
            return Ok(Err(format!("the node {name} does not say what it offers (status.allocatable)")));
        };
        let bound =
            cluster.pods_on_node(name).await.map_err(|error| ("list pods in all namespaces".to_owned(), error))?;
        let is_replaced = |pod: &Value| {
            let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or("");
            text("/metadata/namespace") == namespace && replaced.contains(&text("/metadata/name"))
        };
        // In the end all of ours on this node have the new requests.
        let mut others: Vec<Value> = bound.into_iter().filter(|pod| !is_replaced(pod)).collect();
        let ours = serde_json::json!({ "spec": question.pod_spec });
        others.extend(std::iter::repeat_n(ours, replaced.len().saturating_sub(1)));
        if let Some(short) = shortage(capacity, others.iter(), &question.pod_spec) {
            return Ok(Err(format!("the node {name} is short: {short}")));
        }
    }
    Ok(Ok(()))
}

/// Whether every address answers.
async fn check_port(targets: &[DialTarget]) -> Result<(), String> {
    for target in targets {
        let DialTarget { pod, ip, port } = target;
        // An IPv6 address stands in brackets only in text.
        match timeout(DIAL, TcpStream::connect((ip.as_str(), *port))).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                return Err(format!(
                    "{pod} at {ip}, port {port}: {error}. If the server listens elsewhere, name the port in the policy (databases)"
                ));
            }
            Err(_) => {
                return Err(format!(
                    "{pod} at {ip}, port {port}: no answer within {} s. If a NetworkPolicy keeps the operator out, let it in: the kubelet's way cannot be tried from here",
                    DIAL.as_secs()
                ));
            }
        }
    }
    Ok(())
}
