//! Verdicts on manifests that once were judged wrongly, by meaning: what may be patched, into what, and what may not.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use reprieve::api::PolicySpec;
use reprieve::core::detect::Applicability;
use reprieve::core::model::workload::Workload;
use reprieve::core::rollout::{Judgement, judge};
use serde_json::{Value, json};

fn judged(container: &Value) -> Judgement {
    let mut container = container.clone();
    container["name"] = json!("db");
    container["resources"] = json!({"requests": {"cpu": "500m", "memory": "1Gi"}});
    judge(
        &Workload::new(json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "x"},
            "spec": {"template": {"spec": {"containers": [container]}}}})),
        &PolicySpec::default(),
    )
}

fn probe(handler: &Value) -> Value {
    let mut probe = json!({"periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3});
    for (name, value) in handler.as_object().unwrap() {
        probe[name] = value.clone();
    }
    probe
}

fn exec(words: &[&str]) -> Value {
    probe(&json!({"exec": {"command": words}}))
}

fn sh(text: &str) -> Value {
    exec(&["sh", "-c", text])
}

/// The port that the patched liveness dials, if it dials one.
fn new_socket(judgement: &Judgement) -> Option<u64> {
    let patch = &judgement.plan.as_ref()?.template_patch;
    patch.pointer("/spec/template/spec/containers/0/livenessProbe/tcpSocket/port")?.as_u64()
}

fn rules(judgement: &Judgement) -> Vec<&str> {
    judgement.findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn no_socket_is_put_where_nobody_listens() {
    for container in [
        json!({"image": "redis:7", "args": ["redis-server", "--port", "0", "--unixsocket", "/s"], "livenessProbe": sh("redis-cli -s /s ping | grep PONG")}),
        json!({"image": "redis:7", "command": ["sh", "-c", "exec redis-server --bind 127.0.0.1"], "livenessProbe": sh("redis-cli ping | grep PONG")}),
        json!({"image": "postgres:16", "command": ["sh", "-c", "exec docker-entrypoint.sh postgres -c listen_addresses="], "livenessProbe": exec(&["pg_isready", "-h", "/var/run/postgresql"])}),
        json!({"image": "quay.io/coreos/etcd:v3.5.9", "command": ["sh", "-c", "exec etcd --listen-client-urls=http://127.0.0.1:2379"], "livenessProbe": exec(&["etcdctl", "endpoint", "health"])}),
        json!({"image": "mongo:7", "command": ["sh", "-c", "exec mongod --bind_ip 127.0.0.1"], "livenessProbe": exec(&["mongosh", "--eval", "db.adminCommand('ping')"])}),
    ] {
        assert_eq!(new_socket(&judged(&container)), None, "{container}");
    }
    let tls_only =
        json!([{"name": "REDIS_PORT_NUMBER", "value": "0"}, {"name": "REDIS_TLS_PORT_NUMBER", "value": "6390"}]);
    let redis =
        json!({"image": "bitnami/redis:7", "env": tls_only, "livenessProbe": sh("redis-cli --tls ping | grep PONG")});
    assert_eq!(new_socket(&judged(&redis)), Some(6390));
}

#[test]
fn a_client_of_another_server_is_no_database() {
    let from_config = json!({"name": "POSTGRES_HOST", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}});
    for host in [json!({"name": "POSTGRES_HOST", "value": "db"}), from_config] {
        let environment = json!([host, {"name": "POSTGRES_PASSWORD", "value": "x"}]);
        let shop =
            json!({"image": "acme/shop:1", "env": environment, "livenessProbe": sh("pg_isready -h $POSTGRES_HOST")});
        assert_eq!(judged(&shop).reason, "NoDatabase", "{host}");
    }
    let client = json!({"image": "postgres:16", "command": ["sh", "-c", "while true; do psql -h db -c 'select 1'; sleep 9; done"],
        "livenessProbe": sh("psql -h db -c 'select 1'")});
    let client = judged(&client);
    assert!(client.findings.iter().all(|finding| finding.severity == reprieve::core::detect::Severity::Info));
}

#[test]
fn what_fails_always_is_said_to_and_nothing_else() {
    let inverted = judged(&json!({"image": "postgres:16", "livenessProbe": sh("! pg_isready")}));
    assert!(inverted.plan.is_none());
    assert!(rules(&inverted).contains(&"RP019"), "{:?}", rules(&inverted));
    assert!(!rules(&inverted).iter().any(|rule| ["RP012", "RP015"].contains(rule)), "{:?}", rules(&inverted));
    let of_node = probe(&json!({"tcpSocket": {"port": 5432, "host": "127.0.0.1"}}));
    assert!(rules(&judged(&json!({"image": "postgres:16", "livenessProbe": of_node}))).contains(&"RP019"));
}

#[test]
fn an_empty_check_becomes_no_readiness() {
    let judgement =
        judged(&json!({"image": "postgres:16", "livenessProbe": sh("pg_isready --host $POD_IP -U postgres")}));
    let patch = &judgement.plan.as_ref().unwrap().template_patch;
    assert_eq!(patch.pointer("/spec/template/spec/containers/0/readinessProbe"), None);
    assert!(rules(&judgement).contains(&"RP019"));
}

#[test]
fn a_password_is_needed_only_where_one_is_given() {
    let of = |text: &str| judged(&json!({"image": "redis:7", "livenessProbe": sh(text)}));
    assert!(!rules(&of("redis-cli ping | grep PONG")).contains(&"RP015"));
    assert!(rules(&of("redis-cli -a $PASSWORD ping | grep PONG")).contains(&"RP015"));
}

#[test]
fn safe_is_said_only_of_what_the_patch_cures() {
    let consul = json!({"image": "hashicorp/consul:1.17", "command": ["consul", "agent", "-server"],
        "livenessProbe": exec(&["consul", "operator", "raft", "list-peers"])});
    let judgement = judged(&consul);
    assert!(judgement.plan.is_none() && rules(&judgement).contains(&"RP012"));
    assert!(judgement.findings.iter().all(|finding| finding.applicability != Applicability::Safe));
}

#[test]
fn a_script_of_another_language_is_opaque_too() {
    let judgement = judged(&json!({"image": "postgres:16", "livenessProbe": exec(&["python3", "/probe.py"])}));
    assert!(rules(&judgement).contains(&"RP002"));
    assert_eq!(new_socket(&judgement), Some(5432));
}
