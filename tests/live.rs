//! `reprieve scan --cluster` as a black box, against a server that answers lists from a table.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use assert_cmd::Command;
use reprieve::core::model::workload::Workload;
use reprieve::core::rollout::judge;
use serde_json::{Value, json};

/// A path without its query, and what is answered: objects of a list, a single object, or a refusal.
type Answers = Vec<(&'static str, Answer)>;

#[derive(Clone)]
enum Answer {
    List(Vec<Value>),
    Object(Value),
    Refusal(u16, &'static str),
}

/// Lists that are not in the table are empty; the custom resources are not installed.
struct Server {
    folder: tempfile::TempDir,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn answering(answers: Answers) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "c", "cluster": {"server": format!("http://{}", listener.local_addr().unwrap())}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u"}}],
        });
        std::fs::write(folder.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = asked.clone();
        // Lives as long as the test program.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &answers, &log);
            }
        });
        Self { folder, asked }
    }

    fn scan(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = Command::cargo_bin("reprieve")
            .unwrap()
            .current_dir(self.folder.path())
            .args(["scan", "--cluster", "--kubeconfig", "kubeconfig"])
            .args(arguments)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn report(&self, arguments: &[&str]) -> (i32, Value) {
        let (code, out, error) = self.scan(&[&["-o", "json"], arguments].concat());
        (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{error}")))
    }
}

fn answer(mut stream: TcpStream, answers: &Answers, log: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
    let Some(first) = lines.next() else { return };
    lines.find(String::is_empty);
    let uri = first.split(' ').nth(1).unwrap().to_owned();
    log.lock().unwrap().push(uri.clone());
    let path = uri.split('?').next().unwrap();
    let found = answers.iter().find(|(known, _)| *known == path).map(|(_, answer)| answer.clone());
    let missing =
        if path.contains("reprieve.dev") { Answer::Refusal(404, "not found") } else { Answer::List(Vec::new()) };
    let (code, body) = match found.unwrap_or(missing) {
        Answer::List(items) => (200, json!({"metadata": {"resourceVersion": "1"}, "items": items})),
        Answer::Object(object) => (200, object),
        Answer::Refusal(code, message) => {
            (code, json!({"kind": "Status", "status": "Failure", "code": code, "message": message}))
        }
    };
    let body = body.to_string();
    let head = "content-type: application/json\r\nconnection: close";
    write!(stream, "HTTP/1.1 {code} X\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
}

fn template() -> Value {
    json!({"spec": {"containers": [{
        "name": "pg", "image": "postgres:16",
        "livenessProbe": {"exec": {"command": ["pg_isready"]}, "timeoutSeconds": 5, "periodSeconds": 10, "failureThreshold": 3, "successThreshold": 1},
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }]}})
}

/// A database that runs and is ready.
fn database(name: &str, metadata: &Value) -> Value {
    let mut object = json!({
        "metadata": {"name": name, "namespace": "db", "uid": format!("uid of {name}"), "resourceVersion": "7", "generation": 1},
        "spec": {"replicas": 1, "template": template()},
        "status": {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "currentRevision": "a", "updateRevision": "a"},
    });
    for (field, value) in metadata.as_object().unwrap() {
        object["metadata"][field] = value.clone();
    }
    object
}

fn helm() -> Value {
    json!({"labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": {"meta.helm.sh/release-name": "db"}})
}

fn policy(name: &str, spec: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "db", "generation": 1}, "spec": spec})
}

fn workload<'r>(report: &'r Value, name: &str) -> &'r Value {
    let workloads = report["workloads"].as_array().unwrap();
    workloads.iter().find(|workload| workload["name"] == name).unwrap_or_else(|| panic!("no {name} in {report:#}"))
}

const STATEFULSETS: &str = "/apis/apps/v1/statefulsets";
const POLICIES: &str = "/apis/reprieve.dev/v1alpha1/probepolicies";
const CLUSTER_POLICIES: &str = "/apis/reprieve.dev/v1alpha1/clusterprobepolicies";

#[test]
fn without_the_operator_everything_is_reported_under_the_defaults() {
    let controlled = |kind: &str, version: &str| json!({"ownerReferences": [{"apiVersion": version, "kind": kind, "name": "x", "uid": "u", "controller": true}]});
    let server = Server::answering(vec![
        (STATEFULSETS, Answer::List(vec![database("pg", &json!({}))])),
        ("/apis/apps/v1/deployments", Answer::List(vec![database("deployed", &json!({}))])),
        (
            "/apis/apps/v1/replicasets",
            Answer::List(vec![
                database("of-deployment", &controlled("Deployment", "apps/v1")),
                database("of-rollout", &controlled("Rollout", "argoproj.io/v1alpha1")),
            ]),
        ),
    ]);
    let (code, report) = server.report(&[]);
    assert_eq!((code, &report["unread"]), (1, &json!([])), "{report:#}");
    let names: Vec<_> = report["workloads"].as_array().unwrap().iter().map(|w| w["name"].clone()).collect();
    assert_eq!(names, ["pg", "deployed", "of-rollout"], "nothing is told twice");
    let pg = workload(&report, "pg");
    assert_eq!(pg["source"], json!({"file": "cluster:lab", "document": 0, "line": 0}));
    assert_eq!((&pg["decision"], &pg["remedy"], &pg["policy"]), (&json!("Advise"), &json!("Swap"), &Value::Null));
    assert!(pg["reason"].as_str().unwrap().contains("no policy selects it"), "{pg:#}");
    assert!(pg["patch"].is_object());
    let deployed = workload(&report, "deployed");
    assert_eq!(deployed["decision"], "Advise");
    assert!(deployed["reason"].as_str().unwrap().contains("writes to StatefulSets only"), "{deployed:#}");
    let owned = workload(&report, "of-rollout");
    assert_eq!(owned["decision"], "Refuse");
    assert!(owned["reason"].as_str().unwrap().contains("Rollout x controls it"), "{owned:#}");
    assert!(server.asked.lock().unwrap().iter().all(|uri| !uri.contains("namespaces")), "no label is asked for");
}

#[test]
fn policies_of_the_cluster_count_and_files_replace_them() {
    let enforce = json!({"mode": "Enforce", "selector": {"matchLabels": {"tier": "db"}}});
    let labels = json!({"labels": {"tier": "db"}});
    let mut helm = helm();
    helm["labels"]["tier"] = json!("db");
    let mut rolling = database("rolling", &labels);
    rolling["status"]["updateRevision"] = json!("b");
    let server = Server::answering(vec![
        (STATEFULSETS, Answer::List(vec![database("plain", &labels), database("released", &helm)])),
        (POLICIES, Answer::List(vec![policy("all", &enforce), policy("bad", &json!({"mode": "Loud"}))])),
        (CLUSTER_POLICIES, Answer::List(vec![])),
    ]);
    let (code, report) = server.report(&[]);
    assert_eq!(code, 1, "a policy that nobody can use hides no workload: {report:#}");
    assert!(report["unread"][0]["reason"].as_str().unwrap().starts_with("ProbePolicy db/bad cannot be used"));
    let plain = workload(&report, "plain");
    assert_eq!((&plain["decision"], &plain["remedy"]), (&json!("Patch"), &json!("Swap")), "{plain:#}");
    assert_eq!(plain["policy"], "ProbePolicy db/all");
    let released = workload(&report, "released");
    assert_eq!((&released["decision"], &released["remedy"]), (&json!("Patch"), &json!("Additive")), "{released:#}");
    assert!(released["owner"].as_str().unwrap().contains("Helm"));

    let mine = "kind: ProbePolicy\nmetadata: {name: all, namespace: db}\nspec: {mode: Enforce, selectAll: true, remedy: Suggest}\n";
    std::fs::write(server.folder.path().join("mine.yaml"), mine).unwrap();
    let (_, report) = server.report(&["--policy", "mine.yaml"]);
    let plain = workload(&report, "plain");
    assert_eq!((&plain["decision"], &plain["policy"]), (&json!("Advise"), &json!("ProbePolicy db/all")));
    assert!(plain["reason"].as_str().unwrap().contains("remedy: Suggest"), "{plain:#}");

    // One at a time: what rolls already is counted.
    let server = Server::answering(vec![
        (STATEFULSETS, Answer::List(vec![database("plain", &labels), rolling])),
        (POLICIES, Answer::List(vec![policy("all", &enforce)])),
        (CLUSTER_POLICIES, Answer::List(vec![])),
    ]);
    let (_, report) = server.report(&[]);
    let plain = workload(&report, "plain");
    assert_eq!(plain["decision"], "Defer");
    assert!(plain["reason"].as_str().unwrap().contains("waiting for 1 other"), "{plain:#}");
    assert!(workload(&report, "rolling")["reason"].as_str().unwrap().contains("the rollout that is under way"));
}

#[test]
fn what_was_patched_and_taken_back_is_not_promised_again() {
    let labels = json!({"labels": {"tier": "db"}});
    let spec = json!({"mode": "Enforce", "selectAll": true});
    let answers = |status: Value| {
        let mut policy = policy("all", &spec);
        policy["status"] = status;
        vec![
            (STATEFULSETS, Answer::List(vec![database("plain", &labels)])),
            (POLICIES, Answer::List(vec![policy])),
            (CLUSTER_POLICIES, Answer::List(vec![])),
        ]
    };
    let (_, report) = Server::answering(answers(json!({}))).report(&[]);
    assert_eq!(workload(&report, "plain")["decision"], "Patch");
    let planned = judge(&Workload::new(database("plain", &labels)), &serde_json::from_value(spec.clone()).unwrap());
    let asked = planned.plan.unwrap().policy;
    let remembered =
        json!({"workloads": [{"uid": "uid of plain", "writtenPlan": "x", "writtenPolicy": asked, "writes": 1}]});
    let (_, report) = Server::answering(answers(remembered)).report(&[]);
    assert_eq!(workload(&report, "plain")["decision"], "Halt", "{report:#}");
}

#[test]
fn what_may_not_be_listed_is_named_and_the_rest_is_reported() {
    let forbidden = r#"deployments.apps is forbidden: User "me" cannot list resource "deployments" in API group "apps" at the cluster scope"#;
    let server = Server::answering(vec![
        (STATEFULSETS, Answer::List(vec![database("pg", &json!({}))])),
        ("/apis/apps/v1/deployments", Answer::Refusal(403, forbidden)),
        ("/apis/batch/v1/cronjobs", Answer::Refusal(404, "the server could not find the requested resource")),
        (
            CLUSTER_POLICIES,
            Answer::Refusal(
                403,
                r#"clusterprobepolicies.reprieve.dev is forbidden: User "me" cannot list resource "clusterprobepolicies""#,
            ),
        ),
    ]);
    let (code, report) = server.report(&[]);
    assert_eq!(code, 2);
    let unread = report["unread"].as_array().unwrap();
    let reasons: Vec<_> = unread.iter().map(|unread| unread["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(reasons[0].starts_with("cannot list clusterprobepolicies.reprieve.dev at cluster scope: "), "{reasons:?}");
    assert_eq!(reasons[1], format!("cannot list deployments.apps at cluster scope: {forbidden}"));
    assert_eq!(reasons[2], "the server has no cronjobs.batch");
    assert!(unread.iter().all(|unread| unread["file"] == "cluster:lab" && unread["lost"] == true));
    assert_eq!(workload(&report, "pg")["findings"][0]["rule"], "RP001");

    // Every form copes with what stands in no file.
    let (_, table, error) = server.scan(&[]);
    assert!(table.contains("cluster:lab: not read: cannot list deployments.apps"), "{table}");
    assert!(table.contains("StatefulSet db/pg  PostgreSQL in pg  cluster:lab\n"), "{table}");
    assert!(table.contains("critical RP001 pg/livenessProbe  "), "{table}");
    assert!(error.contains("what could not be read: 3"), "{error}");
    let (_, github, _) = server.scan(&["-o", "github"]);
    assert!(
        github.lines().all(|line| ["error", "warning", "notice"]
            .iter()
            .any(|kind| line.starts_with(&format!("::{kind} title=")))),
        "{github}"
    );
    let (_, junit, _) = server.scan(&["-o", "junit"]);
    assert!(junit.contains(r#"<testsuite name="cluster:lab" tests="4" failures="#), "{junit}");
    let (_, sarif, _) = server.scan(&["-o", "sarif"]);
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    let schema =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schemas/sarif-2.1.0.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema.replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&sarif), "{sarif:#}");
    let location = &sarif["runs"][0]["results"][0]["locations"][0];
    assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], "db/StatefulSet/pg/pg");
    assert!(location.get("physicalLocation").is_none(), "{location}");
}

#[test]
fn namespaces_and_labels_narrow_it_down() {
    let reaching = json!({"mode": "Enforce", "selectAll": true, "namespaceSelector": {"matchLabels": {"env": "prod"}}});
    let namespace = |name: &str, labels: Value| Answer::Object(json!({"metadata": {"name": name, "labels": labels}}));
    let mut in_web = database("web", &json!({}));
    in_web["metadata"]["namespace"] = json!("web");
    let server = Server::answering(vec![
        ("/apis/apps/v1/namespaces/db/statefulsets", Answer::List(vec![database("pg", &json!({}))])),
        ("/apis/apps/v1/namespaces/web/statefulsets", Answer::List(vec![in_web])),
        ("/api/v1/namespaces/db", namespace("db", json!({"env": "prod"}))),
        ("/api/v1/namespaces/web", namespace("web", json!({"env": "test"}))),
        ("/api/v1/namespaces/typo", Answer::Refusal(404, r#"namespaces "typo" not found"#)),
        (CLUSTER_POLICIES, Answer::List(vec![json!({"metadata": {"name": "prod"}, "spec": reaching})])),
    ]);
    let (code, report) = server.report(&["-n", "db", "-n", "web", "--selector", "app=db"]);
    assert_eq!(code, 1, "{report:#}");
    assert_eq!(workload(&report, "pg")["policy"], "ClusterProbePolicy prod");
    assert_eq!(workload(&report, "web")["policy"], Value::Null);
    let asked = server.asked.lock().unwrap().clone();
    let lists: Vec<_> = asked.iter().filter(|uri| uri.contains("/statefulsets")).skip(1).collect();
    assert!(lists.iter().all(|uri| uri.contains("labelSelector=app%3Ddb")), "{lists:?}");
    assert!(asked.iter().all(|uri| !uri.starts_with("/apis/apps/v1/deployments")), "{asked:?}");
    let (code, report) = server.report(&["-n", "typo"]);
    assert_eq!((code, &report["unread"][0]["reason"]), (2, &json!("there is no namespace typo")));
}

#[test]
fn a_server_that_is_not_there_is_an_error_and_no_empty_report() {
    let server = Server::answering(vec![(STATEFULSETS, Answer::Refusal(503, "shutting down"))]);
    let (code, out, error) = server.scan(&["-o", "json"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        error.contains("cannot read from the API server http://127.0.0.1:") && error.contains("shutting down"),
        "{error}"
    );
    let (code, _, error) = server.scan(&["manifests"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("cannot be used with"), "{error}");
}
