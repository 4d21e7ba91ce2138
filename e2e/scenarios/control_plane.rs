//! Proves the control plane itself: that the server and the controllers are real, and can be broken on purpose.

use std::process::Command;
use std::time::Duration;

use http::Request;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::fixtures::{create_database, pod_named, ready_replicas, status_of};
use crate::harness::binaries::{Binaries, Source};
use crate::harness::control_plane::Options;
use crate::harness::tcp::loopback_address;
use crate::harness::wait::eventually;
use crate::harness::{Cluster, Failure};

/// Without `exec: null` a strategic merge patch leaves the old handler beside the new one.
pub async fn a_second_probe_handler_is_refused(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("two-handlers").await?;
    let statefulsets = namespace.api::<StatefulSet>();
    create_database(&namespace, 0).await?;

    let handler = |probe: Value| json!({"spec": {"template": {"spec": {"containers": [{"name": "database", "livenessProbe": probe}]}}}});
    let added = handler(json!({"tcpSocket": {"port": 5432}}));
    let refusal = status_of(statefulsets.patch("db", &PatchParams::default(), &Patch::Strategic(added)).await)?;
    assert_eq!(refusal.code, 422, "{}", refusal.message);
    assert!(refusal.message.contains("may not specify more than 1 handler type"), "{}", refusal.message);

    let swapped = handler(json!({"exec": null, "tcpSocket": {"port": 5432}}));
    statefulsets.patch("db", &PatchParams::default(), &Patch::Strategic(swapped)).await?;
    Ok(())
}

/// The real controller makes the pod, the played kubelet makes it Ready, the controller counts it.
pub async fn the_statefulset_controller_sees_pods_become_ready(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("ready").await?;
    create_database(&namespace, 1).await?;
    let pod = pod_named(&namespace, "db-0").await?;
    cluster.kubelet().runs(&pod).ready().at("127.31.0.7").await?;
    ready_replicas(&namespace, 1).await?;

    let pod = namespace.api::<Pod>().get("db-0").await?;
    let status = pod.status.unwrap_or_default();
    assert_eq!(status.pod_ip.as_deref(), Some("127.31.0.7"));
    assert_eq!(status.phase.as_deref(), Some("Running"));
    Ok(())
}

/// Bound pods stay until the kubelet lets them go; the background kubelet does, and the rollout comes to its end.
pub async fn a_rollout_replaces_pods_on_nodes(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("rollout").await?;
    let kubelet = cluster.kubelet();
    let node = format!("node-of-{}", namespace.name());
    kubelet.registers(&node, "8", "32Gi").await?;
    create_database(&namespace, 2).await?;
    kubelet.binds(&pod_named(&namespace, "db-0").await?, &node).await?;
    let _attendance = kubelet.makes_all_ready(&namespace);
    ready_replicas(&namespace, 2).await?;

    let statefulsets = namespace.api::<StatefulSet>();
    let grace = json!({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 45}}}});
    statefulsets.patch("db", &PatchParams::default(), &Patch::Merge(grace)).await?;
    eventually("both pods run the new revision and are Ready", async || {
        let status = statefulsets.get("db").await?.status.unwrap_or_default();
        let done = status.observed_generation == Some(2)
            && status.current_revision == status.update_revision
            && status.ready_replicas == Some(2);
        Ok(done.then_some(()))
    })
    .await
}

/// `sideEffects: Unknown` cannot be created any more, but upgraded clusters still hold it, and there every dry run
/// that it matches fails.
pub async fn a_webhook_from_old_times_refuses_dry_runs(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("old-webhook").await?;
    let name = format!("old-{}", namespace.name());
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {
            "name": name,
            "uid": "00000000-0000-4000-8000-000000000001",
            "creationTimestamp": "2019-06-01T00:00:00Z",
            "ownerReferences": [namespace.owner_reference()],
        },
        "webhooks": [{
            "name": "old.example.com",
            "admissionReviewVersions": ["v1", "v1beta1"],
            "sideEffects": "Unknown",
            "failurePolicy": "Ignore",
            "matchPolicy": "Exact",
            "timeoutSeconds": 1,
            "clientConfig": {"url": "https://127.0.0.1:9/"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace.name()}},
            "objectSelector": {},
            "rules": [{
                "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
            }],
        }],
    });
    let key = format!("/registry/mutatingwebhookconfigurations/{name}");
    cluster.control_plane()?.etcd_put(&key, &configuration).await?;

    let webhooks: Api<MutatingWebhookConfiguration> = Api::all(cluster.client());
    let served = webhooks.get(&name).await?;
    let webhook = served.webhooks.unwrap_or_default().pop();
    assert_eq!(webhook.map(|webhook| webhook.side_effects).as_deref(), Some("Unknown"));
    let mut copy = configuration.clone();
    copy["metadata"] = json!({"name": format!("new-{}", namespace.name())});
    let refusal = status_of(webhooks.create(&PostParams::default(), &serde_json::from_value(copy)?).await)?;
    assert_eq!(refusal.code, 422, "the server would take it today: {}", refusal.message);

    let configmaps = namespace.api::<ConfigMap>();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let new: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "new"}}))?;
    let refusal =
        eventually("the webhook to take effect on dry runs", async || Ok(configmaps.create(&dry, &new).await.err()))
            .await?;
    let refusal = status_of::<ConfigMap>(Err(refusal))?;
    assert_eq!(refusal.code, 400, "{}", refusal.message);
    assert!(refusal.message.contains("does not support dry run"), "{}", refusal.message);
    Ok(())
}

/// The real kubectl is at hand, for what only client-side apply does.
pub async fn kubectl_applies(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("kubectl").await?;
    let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: applied}, data: {key: value}}";
    cluster.kubectl(&["apply", "--namespace", namespace.name(), "--filename", "-"], manifest).await?;
    let applied = namespace.api::<ConfigMap>().get("applied").await?;
    assert!(applied.annotations().contains_key("kubectl.kubernetes.io/last-applied-configuration"));
    Ok(())
}

/// One binary behaves as each supported version.
pub async fn an_old_server_lacks_mutating_admission_policies(cluster: &Cluster) -> Result<(), Failure> {
    // `major` and `minor` go on naming the binary.
    let version: Value = cluster.client().request(Request::get("/version").body(Vec::new())?).await?;
    assert_eq!((&version["emulationMajor"], &version["emulationMinor"]), (&json!("1"), &json!("33")), "{version}");
    let resources = cluster.client().list_api_group_resources("admissionregistration.k8s.io/v1").await?;
    let kinds: Vec<_> = resources.resources.into_iter().map(|resource| resource.kind).collect();
    assert!(kinds.iter().any(|kind| kind == "ValidatingAdmissionPolicy"), "{kinds:?}");
    assert!(!kinds.iter().any(|kind| kind == "MutatingAdmissionPolicy"), "{kinds:?}");

    // Its controllers work as well.
    let namespace = cluster.namespace("old-server").await?;
    create_database(&namespace, 1).await?;
    let pod = pod_named(&namespace, "db-0").await?;
    cluster.kubelet().runs(&pod).ready().at(loopback_address()).await?;
    ready_replicas(&namespace, 1).await
}

/// Scenarios about outages own their control plane, and can see with its audit log what arrived.
pub async fn an_apiserver_goes_silent_and_away_and_comes_back(binaries: &Binaries) -> Result<(), Failure> {
    let audit_policy = json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [{"level": "RequestResponse", "resources": [{"group": "", "resources": ["configmaps"]}]}],
    });
    let options = Options { audit_policy: Some(audit_policy), ..Options::default() };
    let mut cluster = Cluster::from_binaries(binaries, &options).await?;
    let configmaps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let before: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "before"}}))?;
    configmaps.create(&PostParams::default(), &before).await?;

    cluster.control_plane()?.freeze_apiserver()?;
    // On a busy machine its threads stop one after the other.
    eventually("the frozen server to fall silent", async || {
        Ok(tokio::time::timeout(Duration::from_secs(1), configmaps.get("before")).await.err())
    })
    .await?;
    cluster.control_plane()?.thaw_apiserver()?;
    configmaps.get("before").await?;

    let control_plane = cluster.control_plane_mut()?;
    control_plane.stop_apiserver()?;
    assert!(configmaps.get("before").await.is_err(), "a dead server answered");
    control_plane.start_apiserver().await?;
    configmaps.get("before").await?;

    let log = std::fs::read_to_string(control_plane.audit_log())?;
    let creations: Vec<Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|event: &Value| event["verb"] == "create" && event["objectRef"]["name"] == "before")
        .collect();
    assert_eq!(creations.len(), 1, "{creations:?}");
    let request = Request::get("/readyz").body(Vec::new())?;
    assert_eq!(cluster.client().request_text(request).await?, "ok");
    Ok(())
}

/// What `--keep` leaves running is a whole cluster, which a later run can use through its kubeconfig.
pub async fn a_kept_control_plane_serves_another_program(binaries: &Binaries) -> Result<(), Failure> {
    let cluster = Cluster::from_binaries(binaries, &Options::default()).await?;
    let (folder, process_ids) = cluster.keep()?;
    let visit = async {
        let source = Source::Kubeconfig(folder.join("admin.kubeconfig"));
        let cluster = Cluster::start(&source, &Options::default()).await?;
        let namespace = cluster.namespace("visitor").await?;
        let name = namespace.name().to_owned();
        drop(namespace);
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(cluster.client());
        cluster.finish().await;
        Ok::<_, Failure>(namespaces.get_opt(&name).await?.is_none())
    }
    .await;
    // First of all: nobody else will do it.
    let process_ids = process_ids.iter().map(ToString::to_string);
    let killed = Command::new("kill").args(["-s", "KILL"]).args(process_ids).status()?;
    let removed = std::fs::remove_dir_all(&folder);
    assert!(killed.success(), "a part of the kept control plane did not live on");
    removed?;
    assert!(visit?, "a visitor leaves namespaces behind");
    Ok(())
}

/// Whoever sees a control plane fail to start sees why.
pub async fn a_part_that_does_not_start_shows_its_log(binaries: &Binaries) -> Result<(), Failure> {
    let options = Options { apiserver_arguments: vec!["--no-such-flag".to_owned()], ..Options::default() };
    let Err(failure) = Cluster::from_binaries(binaries, &options).await else {
        return Err(Failure::new("the API server started with an unknown flag"));
    };
    let text = failure.to_string();
    assert!(text.contains("kube-apiserver ended"), "{text}");
    assert!(text.contains("unknown flag: --no-such-flag"), "{text}");
    Ok(())
}
