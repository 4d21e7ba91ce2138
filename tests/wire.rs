//! What goes over the wire and what comes of odd answers, against a scripted API. Time is virtual: what would take
//! minutes is over at once.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use reprieve::cluster::{CallError, Changed, Cluster, ConfigMaps, Health, Kind, WatchState, patience, watch};
use reprieve::core::model::workload::Workload;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What the scripted server does with a request.
enum Scripted {
    Answer(u16, &'static str, String),
    /// Says nothing, for ever.
    Hangs,
    /// Begins to answer, and then says nothing.
    GoesSilent(String),
}

/// A request as it was sent.
#[derive(Clone, Debug)]
struct Sent {
    method: String,
    uri: String,
    content_type: String,
    body: Value,
}

/// Watches that fail, with what they say.
type Failing = Vec<(Kind, String)>;

type Script = Arc<Mutex<VecDeque<Scripted>>>;

/// A body with one chunk and no end.
struct Unfinished(Option<bytes::Bytes>);

impl http_body::Body for Unfinished {
    type Data = bytes::Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        match self.0.take() {
            Some(chunk) => Poll::Ready(Some(Ok(http_body::Frame::data(chunk)))),
            None => Poll::Pending,
        }
    }
}

fn api(script: Vec<Scripted>) -> (Cluster, Arc<Mutex<Vec<Sent>>>) {
    let script: Script = Arc::new(Mutex::new(script.into()));
    let sent: Arc<Mutex<Vec<Sent>>> = Arc::default();
    let log = sent.clone();
    let server = tower::service_fn(move |request: Request<Body>| {
        let (script, log) = (script.clone(), log.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            let header = |name: &str| head.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or("").to_owned();
            log.lock().unwrap().push(Sent {
                method: head.method.to_string(),
                uri: head.uri.to_string(),
                content_type: header("content-type"),
                body: serde_json::from_slice(&body).unwrap_or_default(),
            });
            // Past its script the server hangs: a call that nobody expected does not go unnoticed.
            let next = script.lock().unwrap().pop_front().unwrap_or(Scripted::Hangs);
            match next {
                Scripted::Answer(code, kind, text) => {
                    let body = http_body_util::Full::new(bytes::Bytes::from(text)).boxed();
                    Ok::<_, Infallible>(
                        Response::builder().status(code).header("content-type", kind).body(body).unwrap(),
                    )
                }
                Scripted::GoesSilent(text) => Ok(Response::new(Unfinished(Some(bytes::Bytes::from(text))).boxed())),
                Scripted::Hangs => std::future::pending().await,
            }
        }
    });
    let service = tower::ServiceBuilder::new().layer(patience()).service(server);
    (Cluster::from_client(Client::new(service, "default")), sent)
}

fn json_answer(code: u16, value: &Value) -> Scripted {
    Scripted::Answer(code, "application/json", value.to_string())
}

fn refusal(code: u16, reason: &str, message: &str, details: &Value) -> Scripted {
    json_answer(
        code,
        &json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message, "details": details}),
    )
}

#[tokio::test(start_paused = true)]
async fn a_patch_keeps_its_nulls_and_asks_for_strict_validation() {
    let stored = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}});
    let (cluster, sent) = api(vec![json_answer(200, &stored), json_answer(200, &stored)]);
    let body = json!({"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"template": {"spec": {"containers": [
        {"name": "db", "livenessProbe": {"exec": null, "tcpSocket": {"port": 5432}}}]}}}});
    cluster.patch("n", "db", &body, true).await.unwrap();
    cluster.patch("n", "db", &body, false).await.unwrap();
    let sent = sent.lock().unwrap();
    for (request, dry_run) in sent.iter().zip([true, false]) {
        assert_eq!(
            (request.method.as_str(), request.content_type.as_str()),
            ("PATCH", "application/strategic-merge-patch+json")
        );
        assert!(request.uri.starts_with("/apis/apps/v1/namespaces/n/statefulsets/db?"), "{}", request.uri);
        assert!(
            request.uri.contains("fieldManager=reprieve") && request.uri.contains("fieldValidation=Strict"),
            "{}",
            request.uri
        );
        assert_eq!(request.uri.contains("dryRun=All"), dry_run, "{}", request.uri);
        assert_eq!(request.body, body, "nulls included");
    }
    assert_eq!(sent.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_given_up() {
    let (cluster, sent) = api(vec![Scripted::Hangs, Scripted::GoesSilent("{\"kind\": \"Stat".to_owned())]);
    let started = Instant::now();
    let hung = cluster.get(Kind::StatefulSet, Some("n"), "db").await.unwrap_err();
    assert!(matches!(hung, CallError::Unavailable { .. }), "{hung:?}");
    let silent = cluster.get(Kind::StatefulSet, Some("n"), "db").await.unwrap_err();
    assert!(matches!(silent, CallError::Unavailable { .. }), "{silent:?}");
    assert!(started.elapsed() < Duration::from_secs(180), "{:?}", started.elapsed());
    assert_eq!(sent.lock().unwrap().len(), 2, "nothing is repeated behind the caller's back");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_patience_is_heard_at_once() {
    let (cluster, sent) = api(vec![
        refusal(429, "TooManyRequests", "slow down", &json!({"retryAfterSeconds": 7})),
        refusal(503, "ServiceUnavailable", "shutting down", &json!({})),
        Scripted::Answer(502, "text/html", "<html><h1>Bad Gateway</h1></html>".to_owned()),
        Scripted::Answer(200, "application/json", "no JSON at all".to_owned()),
    ]);
    let started = Instant::now();
    let first = cluster.patch("n", "db", &json!({}), false).await.unwrap_err();
    assert_eq!(first, CallError::Unavailable { message: "slow down".to_owned(), retry_after: Some(7) });
    for _ in 0..3 {
        let error = cluster.get(Kind::StatefulSet, Some("n"), "db").await.unwrap_err();
        assert!(matches!(error, CallError::Unavailable { .. }), "{error:?}");
        assert!(!error.to_string().contains("ApiError"), "for people: {error}");
    }
    assert_eq!(sent.lock().unwrap().len(), 4);
    assert!(started.elapsed() < Duration::from_secs(1), "no hidden waits");
}

#[tokio::test(start_paused = true)]
async fn a_failing_watch_is_seen_and_heals() {
    let list = json!({"apiVersion": "v1", "kind": "NamespaceList", "metadata": {"resourceVersion": "5"}, "items": [
        {"metadata": {"name": "a", "resourceVersion": "4", "uid": "u"}}]});
    let forbidden =
        r#"namespaces is forbidden: User "x" cannot list resource "namespaces" in API group "" at the cluster scope"#;
    let (cluster, _) = api(vec![
        refusal(403, "Forbidden", forbidden, &json!({})),
        refusal(500, "InternalError", "etcd has no leader", &json!({})),
        json_answer(200, &list),
    ]);
    let health = Health::default();
    let (news, mut told) = tokio::sync::mpsc::unbounded_channel();
    let states: Arc<Mutex<Vec<Failing>>> = Arc::default();
    let (store, task) = {
        let (health_now, states) = (health.clone(), states.clone());
        watch(
            &cluster,
            Kind::Namespace,
            health.clone(),
            |_| {},
            move |changed| {
                let _ = news.send(matches!(changed, Changed::Everything));
            },
            move || states.lock().unwrap().push(health_now.failing()),
        )
    };
    let task = tokio::spawn(task);
    assert_eq!(told.recv().await, Some(true), "the list arrives after two failures");
    assert_eq!(store.len(), 1);
    assert!(health.failing().is_empty(), "it lives now");
    let seen = states.lock().unwrap().clone();
    assert!(seen[0][0].1.contains("cannot list resource \"namespaces\""), "{seen:?}");
    assert!(seen[1][0].1.contains("etcd has no leader"), "{seen:?}");
    assert_eq!(seen.last(), Some(&Vec::new()));
    task.abort();
}

/// On a quiet cluster no event would tell that a watch works again.
#[tokio::test(start_paused = true)]
async fn a_watch_that_begins_again_lives_without_an_event() {
    let list = json!({"apiVersion": "v1", "kind": "NamespaceList", "metadata": {"resourceVersion": "5"}, "items": []});
    let forbidden =
        r#"namespaces is forbidden: User "x" cannot watch resource "namespaces" in API group "" at the cluster scope"#;
    let (cluster, sent) = api(vec![
        json_answer(200, &list),
        refusal(403, "Forbidden", forbidden, &json!({})),
        Scripted::GoesSilent(String::new()),
    ]);
    let health = Health::default();
    let (news, mut told) = tokio::sync::mpsc::unbounded_channel();
    let changed = {
        let health = health.clone();
        move || {
            let _ = news.send(health.of(Kind::Namespace));
        }
    };
    let (_, task) = watch(&cluster, Kind::Namespace, health.clone(), |_| {}, |_| {}, changed);
    let task = tokio::spawn(task);
    let failing = told.recv().await;
    assert!(matches!(&failing, Some(WatchState::Failing(why)) if why.contains("cannot watch")), "{failing:?}");
    assert_eq!(told.recv().await, Some(WatchState::Live), "as soon as the server answers");
    assert_eq!(sent.lock().unwrap().len(), 3, "the list is not read again");
    task.abort();
}

fn page(names: &[&str], next: &str) -> Scripted {
    let items: Vec<Value> =
        names.iter().map(|name| json!({"metadata": {"name": name, "uid": format!("uid of {name}")}})).collect();
    json_answer(
        200,
        &json!({"apiVersion": "apps/v1", "kind": "StatefulSetList", "metadata": {"resourceVersion": "5", "continue": next}, "items": items}),
    )
}

#[tokio::test(start_paused = true)]
async fn a_list_is_read_page_by_page() {
    let (cluster, sent) = api(vec![page(&["a", "b"], "more"), page(&["c"], "")]);
    let mut names = Vec::new();
    let within = cluster.within(Some("n".to_owned()));
    let take = |object: Value| {
        assert_eq!((&object["apiVersion"], &object["kind"]), (&json!("apps/v1"), &json!("StatefulSet")));
        names.push(object["metadata"]["name"].as_str().unwrap().to_owned());
    };
    within.list(Kind::StatefulSet, Some("app=db"), take).await.unwrap();
    assert_eq!(names, ["a", "b", "c"]);
    let uris: Vec<_> = sent.lock().unwrap().iter().map(|request| request.uri.clone()).collect();
    assert_eq!(uris.len(), 2);
    for uri in &uris {
        assert!(uri.starts_with("/apis/apps/v1/namespaces/n/statefulsets?"), "{uri}");
        assert!(uri.contains("limit=500") && uri.contains("labelSelector=app%3Ddb"), "{uri}");
    }
    assert!(!uris[0].contains("continue=") && uris[1].contains("continue=more"), "{uris:?}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_expired_is_read_whole_and_nothing_twice() {
    let expired = refusal(410, "Expired", "The provided continue parameter is too old", &json!({}));
    let (cluster, sent) = api(vec![page(&["a", "b"], "old"), expired, page(&["a", "b", "c"], "")]);
    let mut names = Vec::new();
    let take = |object: Value| names.push(object["metadata"]["name"].as_str().unwrap().to_owned());
    cluster.list(Kind::StatefulSet, None, take).await.unwrap();
    assert_eq!(names, ["a", "b", "c"]);
    let last = sent.lock().unwrap()[2].uri.clone();
    assert!(!last.contains("limit=") && !last.contains("continue="), "{last}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_says_why_and_keeps_what_was_read() {
    let forbidden = r#"statefulsets.apps is forbidden: User "x" cannot list resource "statefulsets" in API group "apps" at the cluster scope"#;
    let (cluster, _) = api(vec![
        page(&["a"], "more"),
        refusal(403, "Forbidden", forbidden, &json!({})),
        Scripted::Answer(404, "text/plain", "404 page not found".to_owned()),
    ]);
    let mut read = 0;
    let error = cluster.list(Kind::StatefulSet, None, |_| read += 1).await.unwrap_err();
    assert!(matches!(error, CallError::Forbidden(_)), "{error:?}");
    assert_eq!(read, 1);
    let error = cluster.list(Kind::ProbePolicy, None, |_| read += 1).await.unwrap_err();
    assert!(matches!(error, CallError::Gone(_)), "a server without the custom resource: {error:?}");
    assert_eq!(read, 1);
}

/// A workload whose probe runs a script of the config map `checks`, which runs one of `library`.
fn with_script() -> Workload {
    Workload::new(
        json!({"kind": "StatefulSet", "metadata": {"namespace": "db", "name": "a"}, "spec": {"template": {"spec": {
            "containers": [{"name": "a", "livenessProbe": {"exec": {"command": ["/checks/alive.sh"]}},
                "volumeMounts": [{"name": "c", "mountPath": "/checks"}, {"name": "l", "mountPath": "/lib"}, {"name": "s", "mountPath": "/etc/a"}]}],
            "volumes": [{"name": "c", "configMap": {"name": "checks"}}, {"name": "l", "configMap": {"name": "library"}},
                {"name": "s", "configMap": {"name": "settings"}}],
        }}}}),
    )
}

#[tokio::test(start_paused = true)]
async fn config_maps_that_probes_run_are_read_by_name_and_no_others() {
    let map = |name: &str, data: Value| {
        json_answer(200, &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}))
    };
    let script = vec![
        map("checks", json!({"alive.sh": "#!/bin/sh\n. /lib/all.sh\n"})),
        map("library", json!({"all.sh": "true\n"})),
    ];
    let (cluster, sent) = api(script);
    let mut config_maps = ConfigMaps::default();
    let read = config_maps.read_for(&cluster, with_script()).await.unwrap();
    assert_eq!(read.containers()[0].file("/lib/all.sh"), Some("true\n"));
    config_maps.read_for(&cluster, with_script()).await.unwrap();
    let asked: Vec<_> = sent.lock().unwrap().iter().map(|sent| format!("{} {}", sent.method, sent.uri)).collect();
    let at = "/api/v1/namespaces/db/configmaps";
    assert_eq!(asked, [format!("GET {at}/checks"), format!("GET {at}/library")], "each once, and no settings");
}

#[tokio::test(start_paused = true)]
async fn a_config_map_that_may_not_be_read_is_said_and_a_silent_server_is_no_answer() {
    use reprieve::core::model::files::File;
    let why = |workload: &Workload| match workload.containers()[0].look_up("/checks/alive.sh") {
        File::Hidden { because, .. } => because.unwrap_or("").to_owned(),
        other => panic!("{other:?}"),
    };
    let details = json!({"name": "checks", "kind": "configmaps"});
    let cannot =
        r#"configmaps "checks" is forbidden: User "system:serviceaccount:a:b" cannot get resource "configmaps""#;
    let (cluster, _) = api(vec![refusal(403, "Forbidden", cannot, &details)]);
    let read = ConfigMaps::default().read_for(&cluster, with_script()).await.unwrap();
    assert_eq!(why(&read), "which may not be read: get configmaps in the namespace db is not granted");
    let (cluster, _) = api(vec![refusal(404, "NotFound", "not found", &details)]);
    let read = ConfigMaps::default().read_for(&cluster, with_script()).await.unwrap();
    assert_eq!(why(&read), "which is not there in the namespace db");
    let (cluster, _) = api((0..10).map(|_| refusal(503, "ServiceUnavailable", "etcd", &details)).collect());
    let failed = ConfigMaps::default().read_for(&cluster, with_script()).await;
    assert!(matches!(failed, Err(CallError::Unavailable { .. })), "{failed:?}");
}
