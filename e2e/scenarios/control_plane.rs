//! Proves the harness itself: that the server, the controllers and the played parts behave as the other scenarios
//! take for granted.

use std::time::Duration;

use http::{Request, StatusCode};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Error, ResourceExt};
use serde_json::{Value, json};

use crate::harness::account::may;
use crate::harness::binaries::Binaries;
use crate::harness::control_plane::Options;
use crate::harness::intercept::{Fate, Intercept};
use crate::harness::tcp::{OpenPort, loopback_address};
use crate::harness::wait::eventually;
use crate::harness::{Cluster, Failure, Namespace};

/// Without `exec: null` a strategic merge patch leaves the old handler beside the new one.
pub async fn a_second_probe_handler_is_refused(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("two-handlers").await?;
    let statefulsets = namespace.api::<StatefulSet>();
    create_database(&namespace, 0).await?;

    let handler = |probe: Value| json!({"spec": {"template": {"spec": {"containers": [{"name": "database", "livenessProbe": probe}]}}}});
    let added = handler(json!({"tcpSocket": {"port": 5432}}));
    let refusal = status_of(
        statefulsets
            .patch("db", &PatchParams::default(), &Patch::Strategic(added))
            .await,
    )?;
    assert_eq!(refusal.code, 422, "{}", refusal.message);
    assert!(
        refusal
            .message
            .contains("may not specify more than 1 handler type"),
        "{}",
        refusal.message
    );

    let swapped = handler(json!({"exec": null, "tcpSocket": {"port": 5432}}));
    statefulsets
        .patch("db", &PatchParams::default(), &Patch::Strategic(swapped))
        .await?;
    Ok(())
}

/// The real controller makes the pod, the played kubelet makes it Ready, the controller counts it.
pub async fn the_statefulset_controller_sees_pods_become_ready(
    cluster: &Cluster,
) -> Result<(), Failure> {
    let namespace = cluster.namespace("ready").await?;
    create_database(&namespace, 1).await?;
    let pod = pod_named(&namespace, "db-0").await?;
    cluster
        .kubelet()
        .runs(&pod)
        .ready()
        .at("127.31.0.7")
        .await?;
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
    kubelet
        .binds(&pod_named(&namespace, "db-0").await?, &node)
        .await?;
    let _attendance = kubelet.makes_all_ready(&namespace);
    ready_replicas(&namespace, 2).await?;

    let statefulsets = namespace.api::<StatefulSet>();
    let grace = json!({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 45}}}});
    statefulsets
        .patch("db", &PatchParams::default(), &Patch::Merge(grace))
        .await?;
    eventually("both pods run the new revision and are Ready", async || {
        let status = statefulsets.get("db").await?.status.unwrap_or_default();
        let done = status.observed_generation == Some(2)
            && status.current_revision == status.update_revision
            && status.ready_replicas == Some(2);
        Ok(done.then_some(()))
    })
    .await
}

/// What a crash loop looks like from outside: counts, exit codes, lifetimes, events.
pub async fn a_report_of_restarts_is_kept(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("restarts").await?;
    let kubelet = cluster.kubelet();
    create_database(&namespace, 1).await?;
    let pod = pod_named(&namespace, "db-0").await?;
    kubelet
        .reports_restarts(&pod, 42)
        .last_exit(137)
        .lived_seconds(340)
        .await?;
    kubelet
        .probe_failed(&pod, "database", "Liveness", "command timed out")
        .await?;
    kubelet.kills(&pod, "database", "liveness").await?;

    let events = namespace
        .api::<Event>()
        .list(&ListParams::default().fields("reason=Killing"))
        .await?;
    let messages: Vec<_> = events
        .items
        .into_iter()
        .filter_map(|event| event.message)
        .collect();
    assert_eq!(
        messages,
        ["Container database failed liveness probe, will be restarted"]
    );

    let database = container_status(&namespace).await?;
    assert_eq!(database.restart_count, 42);
    let end = database
        .last_state
        .and_then(|state| state.terminated)
        .unwrap_or_default();
    assert_eq!((end.exit_code, end.reason.as_deref()), (137, Some("Error")));
    let (Some(started), Some(finished)) = (end.started_at, end.finished_at) else {
        return Err(Failure::new("the last life has no beginning or no end"));
    };
    assert_eq!(finished.0.as_second() - started.0.as_second(), 340);

    kubelet.crash_loops(&pod).await?;
    let database = container_status(&namespace).await?;
    let waiting = database
        .state
        .and_then(|state| state.waiting)
        .unwrap_or_default();
    assert_eq!(waiting.reason.as_deref(), Some("CrashLoopBackOff"));
    assert_eq!(
        (database.restart_count, database.ready),
        (42, false),
        "later reports keep the count"
    );
    Ok(())
}

/// RBAC is on, and grants are in force when `allow` returns.
pub async fn an_account_may_do_only_what_it_is_granted(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("rights").await?;
    let account = namespace.account("reprieve").await?;
    let client = account.client().await?;
    let here: Api<StatefulSet> = Api::namespaced(client.clone(), namespace.name());
    let everywhere: Api<StatefulSet> = Api::all(client);

    let refusal = status_of(here.list(&ListParams::default()).await)?;
    assert_eq!(refusal.code, 403);
    assert!(
        refusal.message.contains(&account.user_name()),
        "{}",
        refusal.message
    );

    account
        .allow(vec![may(&["list"], "apps", &["statefulsets"])])
        .await?;
    here.list(&ListParams::default()).await?;
    assert_eq!(
        status_of(everywhere.list(&ListParams::default()).await)?.code,
        403
    );

    account
        .allow_everywhere(vec![may(&["list"], "apps", &["statefulsets"])])
        .await?;
    everywhere.list(&ListParams::default()).await?;
    Ok(())
}

/// A scenario can act between two requests of the client under test, and make the network lie.
pub async fn requests_can_be_watched_and_broken(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("requests").await?;
    let account = namespace.account("reprieve").await?;
    account
        .allow(vec![may(&["get", "create", "patch"], "", &["configmaps"])])
        .await?;
    let administrator = namespace.api::<ConfigMap>();

    let rival = administrator.clone();
    let intercept = Intercept::before_each(move |seen| {
        let rival = rival.clone();
        async move {
            match (seen.operation, seen.is_dry_run()) {
                ("patch", false) => {
                    let deleted = rival.delete("victim", &DeleteParams::default()).await;
                    assert!(deleted.is_ok(), "the rival cannot delete: {deleted:?}");
                    Fate::Send
                }
                ("create", _) if seen.json()["metadata"]["name"] == "unsent" => Fate::Break,
                ("create", _) if seen.json()["metadata"]["name"] == "unheard" => Fate::LoseAnswer,
                ("get", _) => Fate::Answer(
                    StatusCode::SERVICE_UNAVAILABLE,
                    json!({"kind": "Status", "status": "Failure", "code": 503, "message": "overloaded"}),
                ),
                _ => Fate::Send,
            }
        }
    });
    let configmaps: Api<ConfigMap> =
        Api::namespaced(account.client_through(&intercept).await?, namespace.name());
    let named = |name: &str| ConfigMap {
        metadata: kube::api::ObjectMeta {
            name: Some(name.to_owned()),
            ..Default::default()
        },
        ..ConfigMap::default()
    };

    configmaps
        .create(&PostParams::default(), &named("victim"))
        .await?;
    let change = Patch::Merge(json!({"data": {"key": "value"}}));
    let dry = PatchParams {
        dry_run: true,
        ..PatchParams::default()
    };
    configmaps.patch("victim", &dry, &change).await?;
    let gone = status_of(
        configmaps
            .patch("victim", &PatchParams::default(), &change)
            .await,
    )?;
    assert_eq!(gone.code, 404, "the rival came first");

    assert!(matches!(
        configmaps
            .create(&PostParams::default(), &named("unsent"))
            .await,
        Err(Error::Service(_))
    ));
    assert!(administrator.get_opt("unsent").await?.is_none());
    assert!(matches!(
        configmaps
            .create(&PostParams::default(), &named("unheard"))
            .await,
        Err(Error::Service(_))
    ));
    assert!(administrator.get_opt("unheard").await?.is_some());
    assert_eq!(status_of(configmaps.get("unheard").await)?.code, 503);

    assert_eq!(
        (
            intercept.count("create"),
            intercept.count("patch"),
            intercept.count("get")
        ),
        (3, 2, 1)
    );
    let patch = intercept
        .writes()
        .into_iter()
        .find(|seen| seen.operation == "patch");
    let patch = patch.ok_or_else(|| Failure::new("no patch was recorded"))?;
    assert!(patch.path.ends_with("/configmaps/victim"), "{}", patch.path);
    assert_eq!(patch.content_type, "application/merge-patch+json");
    assert_eq!(patch.json(), json!({"data": {"key": "value"}}));
    Ok(())
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
    cluster
        .control_plane()?
        .etcd_put(&key, &configuration)
        .await?;

    let webhooks: Api<MutatingWebhookConfiguration> = Api::all(cluster.client());
    let served = webhooks.get(&name).await?;
    let webhook = served.webhooks.unwrap_or_default().pop();
    assert_eq!(
        webhook.map(|webhook| webhook.side_effects).as_deref(),
        Some("Unknown")
    );
    let mut copy = configuration.clone();
    copy["metadata"] = json!({"name": format!("new-{}", namespace.name())});
    let refusal = status_of(
        webhooks
            .create(&PostParams::default(), &serde_json::from_value(copy)?)
            .await,
    )?;
    assert_eq!(
        refusal.code, 422,
        "the server would take it today: {}",
        refusal.message
    );

    let configmaps = namespace.api::<ConfigMap>();
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let new: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "new"}}))?;
    let refusal = eventually("the webhook to take effect on dry runs", async || {
        Ok(configmaps.create(&dry, &new).await.err())
    })
    .await?;
    let refusal = status_of::<ConfigMap>(Err(refusal))?;
    assert_eq!(refusal.code, 400, "{}", refusal.message);
    assert!(
        refusal.message.contains("does not support dry run"),
        "{}",
        refusal.message
    );
    Ok(())
}

/// The real kubectl is at hand, for what only client-side apply does.
pub async fn kubectl_applies(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("kubectl").await?;
    let manifest =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: applied}, data: {key: value}}";
    cluster
        .kubectl(
            &["apply", "--namespace", namespace.name(), "--filename", "-"],
            manifest,
        )
        .await?;
    let applied = namespace.api::<ConfigMap>().get("applied").await?;
    assert!(
        applied
            .annotations()
            .contains_key("kubectl.kubernetes.io/last-applied-configuration")
    );
    Ok(())
}

/// A pod can be given an IP at which something really answers.
pub async fn a_port_accepts_connections(_: &Cluster) -> Result<(), Failure> {
    let address = loopback_address();
    assert_ne!(address, loopback_address());
    let port = OpenPort::at(address, 5432).await?;
    let _connection = tokio::net::TcpStream::connect(port.address()).await?;
    eventually("the connection to be counted", async || {
        Ok((port.connections() == 1).then_some(()))
    })
    .await?;
    drop(port);
    eventually("the port to be closed", async || {
        Ok(tokio::net::TcpStream::connect((address, 5432))
            .await
            .err()
            .map(drop))
    })
    .await
}

/// One binary behaves as each supported version.
pub async fn an_old_server_lacks_mutating_admission_policies(
    cluster: &Cluster,
) -> Result<(), Failure> {
    // `major` and `minor` go on naming the binary.
    let version: Value = cluster
        .client()
        .request(Request::get("/version").body(Vec::new())?)
        .await?;
    assert_eq!(
        (&version["emulationMajor"], &version["emulationMinor"]),
        (&json!("1"), &json!("33")),
        "{version}"
    );
    let resources = cluster
        .client()
        .list_api_group_resources("admissionregistration.k8s.io/v1")
        .await?;
    let kinds: Vec<_> = resources
        .resources
        .into_iter()
        .map(|resource| resource.kind)
        .collect();
    assert!(
        kinds.iter().any(|kind| kind == "ValidatingAdmissionPolicy"),
        "{kinds:?}"
    );
    assert!(
        !kinds.iter().any(|kind| kind == "MutatingAdmissionPolicy"),
        "{kinds:?}"
    );

    // Its controllers work as well.
    let namespace = cluster.namespace("old-server").await?;
    create_database(&namespace, 1).await?;
    let pod = pod_named(&namespace, "db-0").await?;
    cluster
        .kubelet()
        .runs(&pod)
        .ready()
        .at(loopback_address())
        .await?;
    ready_replicas(&namespace, 1).await
}

/// Scenarios about outages own their control plane, and can see with its audit log what arrived.
pub async fn an_apiserver_goes_silent_and_away_and_comes_back(
    binaries: &Binaries,
) -> Result<(), Failure> {
    let audit_policy = json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [{"level": "RequestResponse", "resources": [{"group": "", "resources": ["configmaps"]}]}],
    });
    let options = Options {
        audit_policy: Some(audit_policy),
        ..Options::default()
    };
    let mut cluster = Cluster::from_binaries(binaries, &options).await?;
    let configmaps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let before: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "before"}}))?;
    configmaps.create(&PostParams::default(), &before).await?;

    cluster.control_plane()?.freeze_apiserver()?;
    let silent = tokio::time::timeout(Duration::from_secs(1), configmaps.get("before")).await;
    assert!(silent.is_err(), "a frozen server answered");
    cluster.control_plane()?.thaw_apiserver()?;
    configmaps.get("before").await?;

    let control_plane = cluster.control_plane_mut()?;
    control_plane.stop_apiserver()?;
    assert!(
        configmaps.get("before").await.is_err(),
        "a dead server answered"
    );
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

async fn create_database(namespace: &Namespace, replicas: i32) -> Result<(), Failure> {
    let statefulset = serde_json::from_value(json!({
        "metadata": {"name": "db"},
        "spec": {
            "serviceName": "db",
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {"containers": [{
                    "name": "database",
                    "image": "postgres:17",
                    "livenessProbe": {"exec": {"command": ["pg_isready"]}},
                }]},
            },
        },
    }))?;
    namespace
        .api::<StatefulSet>()
        .create(&PostParams::default(), &statefulset)
        .await?;
    Ok(())
}

async fn pod_named(namespace: &Namespace, name: &str) -> Result<Pod, Failure> {
    let pods = namespace.api::<Pod>();
    eventually(&format!("the pod {name}"), async || {
        Ok(pods.get_opt(name).await?)
    })
    .await
}

async fn ready_replicas(namespace: &Namespace, count: i32) -> Result<(), Failure> {
    let statefulsets = namespace.api::<StatefulSet>();
    eventually(&format!("{count} ready replicas of db"), async || {
        let status = statefulsets.get("db").await?.status.unwrap_or_default();
        Ok((status.ready_replicas == Some(count)).then_some(()))
    })
    .await
}

async fn container_status(
    namespace: &Namespace,
) -> Result<k8s_openapi::api::core::v1::ContainerStatus, Failure> {
    let pod = namespace.api::<Pod>().get("db-0").await?;
    let statuses = pod
        .status
        .and_then(|status| status.container_statuses)
        .unwrap_or_default();
    statuses
        .into_iter()
        .next()
        .ok_or_else(|| Failure::new("the pod db-0 has no container status"))
}

/// The server's refusal, where anything else would be a failure of the scenario.
fn status_of<T>(result: kube::Result<T>) -> Result<Box<kube::core::Status>, Failure> {
    match result {
        Err(Error::Api(status)) => Ok(status),
        Err(other) => Err(Failure::from(other)),
        Ok(_) => Err(Failure::new("the server accepted what it should refuse")),
    }
}
