//! What is proved and waited for before a write, and what is written in the end.

use std::time::Duration;

use http::StatusCode;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::tz::TimeZone;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::databases::{container, plain_policy, postgresql, registry_database, registry_policy};
use super::stage::{NAME, Stage, findings, is_workload_patch, must_say, text};
use crate::harness::intercept::{Fate, Intercept, Seen};
use crate::harness::{Cluster, Failure};

/// A volume may tie the pod to its node; one that was running and then stays Pending is worse off than before.
pub async fn requests_that_do_not_fit_the_node_are_left_and_the_probes_go_alone(
    cluster: &Cluster,
) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "fit").await?;
    let kubelet = cluster.kubelet();
    let node = format!("node-of-{}", stage.namespace.name());
    kubelet.registers(&node, "500m", "8Gi").await?;
    stage.create(registry_database(NAME)).await?;
    let pod = stage.new_pod().await?;
    kubelet.binds(&pod, &node).await?;
    kubelet.runs(&pod).ready().at(stage.address).await?;
    stage.ready_replica().await?;
    stage.policy(registry_policy("Enforce")).await?;
    let operator = stage.operator().await?;

    stage.written().await?;
    let short = format!("the node {node} is short: 1 CPU asked for and 500m free");
    let database = stage.live().await?;
    assert_eq!(container(&database)["livenessProbe"]["tcpSocket"]["port"], 5432);
    assert_eq!(container(&database)["resources"], json!({}));

    // The new pod is on the same node, where there is still no room.
    kubelet.lets_go(&pod).await?;
    let pod = stage.new_pod().await?;
    kubelet.binds(&pod, &node).await?;
    kubelet.runs(&pod).ready().at(stage.address).await?;
    let entry = stage.reason("ResourcesWithheld").await?;
    must_say(&entry, &["patched", "requests and limits are left as they are", &short])?;
    assert_eq!(findings(&entry, "RP005").len(), 1, "{entry:#}");
    stage.ready_replica().await?;
    assert_eq!(stage.patches().len(), 1);
    operator.stop().await?;
    // Nobody else would, and the namespace could not go.
    kubelet.lets_go(&pod).await
}

/// A probe of a port at which nobody listens would kill what worked.
pub async fn a_port_that_does_not_answer_keeps_the_write_away(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "port").await?;
    stage.close_port();
    stage.run(registry_database(NAME)).await?;
    stage.policy(registry_policy("Enforce")).await?;
    let operator = stage.operator().await?;

    let entry = stage.reason("PortUnproved").await?;
    let target = format!("db-0 at {}, port 5432", stage.address);
    must_say(&entry, &["would dial a port that does not answer", &target, "refused", "databases"])?;
    stage.untouched().await?;
    operator.stop().await
}

/// Nothing answers before there is a pod. It is waited for, and then the write comes without anybody's help.
pub async fn a_database_without_a_running_pod_is_waited_for(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "no-pod").await?;
    stage.create(registry_database(NAME)).await?;
    stage.policy(registry_policy("Enforce")).await?;
    let operator = stage.operator().await?;

    let entry = stage.reason("NoRunningPod").await?;
    assert_eq!(text(&entry, "status"), "Deferred");
    stage.untouched().await?;
    stage.new_pod_is_ready().await?;
    stage.written().await?;
    operator.stop().await
}

/// One that runs and is not ready may be in trouble; a restart on top is nobody's wish.
pub async fn a_database_that_is_not_ready_is_waited_for(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "unready").await?;
    stage.create(registry_database(NAME)).await?;
    let pod = stage.new_pod().await?;
    cluster.kubelet().runs(&pod).at(stage.address).await?;
    stage.policy(registry_policy("Enforce")).await?;
    let operator = stage.operator().await?;

    let entry = stage.reason("NotHealthy").await?;
    must_say(&entry, &["0 of 1 are ready", "no kill loop is proved"])?;
    stage.untouched().await?;
    cluster.kubelet().runs(&pod).ready().await?;
    stage.written().await?;
    operator.stop().await
}

/// The owner said when.
pub async fn a_closed_window_is_waited_for(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "window").await?;
    stage.run(registry_database(NAME)).await?;
    let (window, opening) = window_in_half_a_year();
    stage.policy(with_rollout(json!({"windows": [window]}))).await?;
    let operator = stage.operator().await?;

    let entry = stage.reason("WindowClosed").await?;
    must_say(&entry, &["waiting for a rollout window", &opening])?;
    assert_eq!((text(&entry, "status"), text(&entry, "decision")), ("Deferred", "Defer"));
    assert!(entry["patch"].as_str().is_some_and(|patch| patch.contains("tcpSocket")), "what it will send is shown");
    stage.untouched().await?;

    stage.policy(with_rollout(json!({"windows": [window, {"schedule": "* * * * *", "duration": "1h"}]}))).await?;
    stage.written().await?;
    operator.stop().await
}

/// The database is down in any case.
pub async fn a_proved_kill_loop_does_not_wait_for_a_window(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "loop-now").await?;
    loops(&mut stage).await?;
    let (window, _) = window_in_half_a_year();
    stage.policy(with_rollout(json!({"windows": [window]}))).await?;
    let operator = stage.operator().await?;

    stage.written().await?;
    let entry = stage.says("which pod to delete", |entry| entry["decision"] == "Noop").await?;
    let command = format!("kubectl -n {} delete pod db-0", stage.namespace.name());
    must_say(&entry, &["does not replace a pod that is not ready", &command])?;
    operator.stop().await
}

/// Unless its owner says so.
pub async fn a_proved_kill_loop_waits_for_a_window_where_the_policy_says_so(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "loop-wait").await?;
    loops(&mut stage).await?;
    let (window, opening) = window_in_half_a_year();
    stage.policy(with_rollout(json!({"windows": [window], "killLoop": "Wait"}))).await?;
    let operator = stage.operator().await?;

    let entry = stage.reason("WindowClosed").await?;
    must_say(&entry, &[&opening, "killLoop"])?;
    stage.untouched().await?;
    operator.stop().await
}

/// Whatever stands between us and the server: what comes back is judged, not trusted.
pub async fn a_dry_run_with_another_result_keeps_the_write_away(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "tampered").await?;
    stage.run(registry_database(NAME)).await?;
    let statefulsets = stage.namespace.api::<StatefulSet>();
    stage.intercept = Intercept::before_each(move |seen| {
        let statefulsets = statefulsets.clone();
        async move {
            if !(is_workload_patch(&seen) && seen.is_dry_run()) {
                return Fate::Send;
            }
            match tampered(&statefulsets, &seen).await {
                Ok(object) => Fate::Answer(StatusCode::OK, object),
                Err(failure) => Fate::Answer(StatusCode::IM_A_TEAPOT, json!({"message": failure.to_string()})),
            }
        }
    });
    stage.policy(registry_policy("Enforce")).await?;
    let operator = stage.operator().await?;

    let entry = stage.reason("VerificationFailed").await?;
    must_say(&entry, &["the dry-run's result is not what was planned", "/containers/0/image"])?;
    stage.untouched().await?;
    operator.stop().await
}

/// Before every real write: today's pod, the patch, the patched pod, each as a dry-run; then the very same bytes.
pub async fn a_write_is_the_dry_runs_bytes(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "same-bytes").await?;
    stage.run(postgresql(NAME)).await?;
    let before = stage.live().await?;
    stage.policy(plain_policy("Enforce")).await?;
    let operator = stage.operator().await?;
    stage.written().await?;

    let mut path: Vec<Seen> = stage.intercept.writes();
    path.retain(|seen| is_workload_patch(seen) || seen.path.ends_with("/pods"));
    let end = path.iter().position(|seen| !seen.is_dry_run()).ok_or_else(|| Failure::new("nothing was written"))?;
    let [current, dry, patched, write] = &path[end.saturating_sub(3)..=end] else {
        return Err(Failure::new(format!("too few dry-runs: {path:#?}")));
    };
    for pod in [current, patched] {
        assert!(pod.operation == "create" && pod.path.ends_with("/pods") && pod.is_dry_run(), "{pod:?}");
    }
    let handler = |pod: &Seen| pod.json()["spec"]["containers"][0]["livenessProbe"].clone();
    assert!(handler(current)["exec"].is_object() && handler(patched)["tcpSocket"].is_object());
    assert!(handler(patched)["exec"].is_null());
    assert!(is_workload_patch(dry) && dry.is_dry_run(), "{dry:?}");
    assert!(is_workload_patch(write) && !write.is_dry_run(), "{write:?}");

    assert_eq!(write.body, dry.body, "the very same bytes");
    assert_eq!((&write.path, &write.content_type), (&dry.path, &dry.content_type));
    assert_eq!(write.content_type, "application/strategic-merge-patch+json");
    for seen in [dry, write] {
        let mut parameters: Vec<_> = seen.query.split('&').filter(|parameter| *parameter != "dryRun=All").collect();
        parameters.sort_unstable();
        assert_eq!(parameters, ["fieldManager=reprieve", "fieldValidation=Strict"]);
    }
    let body = write.json();
    for field in ["uid", "resourceVersion"] {
        assert!(body["metadata"][field].is_string());
    }
    assert_eq!(body["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(body["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["exec"], Value::Null);
    let text = String::from_utf8_lossy(&write.body);
    assert!(text.contains("\"exec\":null"), "the null survives: {text}");
    assert_eq!(stage.patches().len(), 1);
    stage.only_harmless_writes()?;
    operator.stop().await
}

/// The database is killed by its probe again and again, as in the incident.
async fn loops(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.create(registry_database(NAME)).await?;
    let pod = stage.new_pod().await?;
    let report = stage.cluster.kubelet().reports_restarts(&pod, 42).at(stage.address);
    report.last_exit(137).lived_seconds(342).still_starting().await
}

fn with_rollout(rollout: Value) -> Value {
    let mut policy = registry_policy("Enforce");
    policy["rollout"] = rollout;
    policy
}

/// A window that is closed today whatever day it is, and when it opens.
fn window_in_half_a_year() -> (Value, String) {
    let then = (Timestamp::now() + Duration::from_secs(180 * 24 * 3600)).to_zoned(TimeZone::UTC);
    let schedule = format!("30 2 {} {} *", then.day(), then.month());
    let opening = format!("{}T02:30:00Z", then.date());
    (json!({"schedule": schedule, "duration": "3h", "timeZone": "UTC"}), opening)
}

/// What the server makes of a dry-run, with another image.
async fn tampered(statefulsets: &Api<StatefulSet>, seen: &Seen) -> Result<Value, Failure> {
    let parameters =
        PatchParams { dry_run: true, field_manager: Some("reprieve".to_owned()), ..PatchParams::default() };
    let object = statefulsets.patch(NAME, &parameters, &Patch::Strategic(seen.json())).await?;
    let mut object = serde_json::to_value(object)?;
    object["apiVersion"] = json!("apps/v1");
    object["kind"] = json!("StatefulSet");
    object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("example.com/another:1");
    Ok(object)
}
