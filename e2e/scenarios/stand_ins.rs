//! Proves the parts of the harness that stand in for something: the kubelet, the operator's account, a bad network,
//! a database's port.

use http::StatusCode;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, ContainerStatus, Event, Pod};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Error};
use serde_json::json;
use tokio::net::TcpStream;

use super::fixtures::{create_database, pod_named, status_of};
use crate::harness::account::may;
use crate::harness::intercept::{Fate, Intercept};
use crate::harness::tcp::{OpenPort, loopback_address};
use crate::harness::wait::eventually;
use crate::harness::{Cluster, Failure, Namespace};

/// What a crash loop looks like from outside: counts, exit codes, lifetimes, events.
pub async fn a_report_of_restarts_is_kept(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("restarts").await?;
    let kubelet = cluster.kubelet();
    create_database(&namespace, 1).await?;
    let pod = pod_named(&namespace, "db-0").await?;
    kubelet.reports_restarts(&pod, 42).last_exit(137).lived_seconds(340).await?;
    kubelet.probe_failed(&pod, "database", "Liveness", "command timed out").await?;
    kubelet.kills(&pod, "database", "liveness").await?;

    let events = namespace.api::<Event>().list(&ListParams::default().fields("reason=Killing")).await?;
    let messages: Vec<_> = events.items.into_iter().filter_map(|event| event.message).collect();
    assert_eq!(messages, ["Container database failed liveness probe, will be restarted"]);

    let database = container_status(&namespace).await?;
    assert_eq!(database.restart_count, 42);
    let end = database.last_state.and_then(|state| state.terminated).unwrap_or_default();
    assert_eq!((end.exit_code, end.reason.as_deref()), (137, Some("Error")));
    let (Some(started), Some(finished)) = (end.started_at, end.finished_at) else {
        return Err(Failure::new("the last life has no beginning or no end"));
    };
    assert_eq!(finished.0.as_second() - started.0.as_second(), 340);

    kubelet.crash_loops(&pod).await?;
    let database = container_status(&namespace).await?;
    let waiting = database.state.and_then(|state| state.waiting).unwrap_or_default();
    assert_eq!(waiting.reason.as_deref(), Some("CrashLoopBackOff"));
    assert_eq!((database.restart_count, database.ready), (42, false), "later reports keep the count");
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
    assert!(refusal.message.contains(&account.user_name()), "{}", refusal.message);

    account.allow(vec![may(&["list"], "apps", &["statefulsets"])]).await?;
    here.list(&ListParams::default()).await?;
    assert_eq!(status_of(everywhere.list(&ListParams::default()).await)?.code, 403);

    account.allow_everywhere(vec![may(&["list"], "apps", &["statefulsets"])]).await?;
    everywhere.list(&ListParams::default()).await?;
    Ok(())
}

/// A scenario can act between two requests of the client under test, and make the network lie.
pub async fn requests_can_be_watched_and_broken(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("requests").await?;
    let account = namespace.account("reprieve").await?;
    account.allow(vec![may(&["get", "create", "patch"], "", &["configmaps"])]).await?;
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
    let configmaps: Api<ConfigMap> = Api::namespaced(account.client_through(&intercept).await?, namespace.name());
    let named = |name: &str| ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..Default::default() },
        ..ConfigMap::default()
    };

    configmaps.create(&PostParams::default(), &named("victim")).await?;
    let change = Patch::Merge(json!({"data": {"key": "value"}}));
    let dry = PatchParams { dry_run: true, ..PatchParams::default() };
    configmaps.patch("victim", &dry, &change).await?;
    let gone = status_of(configmaps.patch("victim", &PatchParams::default(), &change).await)?;
    assert_eq!(gone.code, 404, "the rival came first");

    assert!(matches!(configmaps.create(&PostParams::default(), &named("unsent")).await, Err(Error::Service(_))));
    assert!(administrator.get_opt("unsent").await?.is_none());
    assert!(matches!(configmaps.create(&PostParams::default(), &named("unheard")).await, Err(Error::Service(_))));
    assert!(administrator.get_opt("unheard").await?.is_some());
    assert_eq!(status_of(configmaps.get("unheard").await)?.code, 503);

    assert_eq!((intercept.count("create"), intercept.count("patch"), intercept.count("get")), (3, 2, 1));
    let patch = intercept.writes().into_iter().find(|seen| seen.operation == "patch");
    let patch = patch.ok_or_else(|| Failure::new("no patch was recorded"))?;
    assert!(patch.path.ends_with("/configmaps/victim"), "{}", patch.path);
    assert_eq!(patch.content_type, "application/merge-patch+json");
    assert_eq!(patch.json(), json!({"data": {"key": "value"}}));
    Ok(())
}

/// A pod can be given an IP at which something really answers.
pub async fn a_port_accepts_connections(_: &Cluster) -> Result<(), Failure> {
    let address = loopback_address();
    assert_ne!(address, loopback_address());
    let port = OpenPort::at(address, 5432).await?;
    let _connection = TcpStream::connect(port.address()).await?;
    eventually("the connection to be counted", async || Ok((port.connections() == 1).then_some(()))).await?;
    drop(port);
    eventually("the port to be closed", async || Ok(TcpStream::connect((address, 5432)).await.err().map(drop))).await
}

async fn container_status(namespace: &Namespace) -> Result<ContainerStatus, Failure> {
    let pod = namespace.api::<Pod>().get("db-0").await?;
    let statuses = pod.status.and_then(|status| status.container_statuses).unwrap_or_default();
    statuses.into_iter().next().ok_or_else(|| Failure::new("the pod db-0 has no container status"))
}
