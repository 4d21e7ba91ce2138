//! Incidents with engines whose port opens late, or whose probes cost or demand too much: as `cases.rs` does, each names
//! its public sources, and asserts the decision and the invariants rather than numbers.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod support;

use reprieve::core::detect::{Applicability, Finding, Severity};
use reprieve::core::rollout::Decision;
use serde_json::{Value, json};

use support::judge::{handlers, startup_seconds};
use support::server::Server;
use support::world::{Run, assert_cured, assert_unwritten, container, manifest, policy, run};

macro_rules! fixture {
    ($name:literal) => {
        manifest(include_str!(concat!("cases/", $name, ".yaml")))
    };
}

fn finding<'a>(run: &'a Run, rule: &str, field: &str) -> &'a Finding {
    let found = run.outcome.findings.iter().find(|finding| finding.rule == rule && finding.field() == field);
    found.unwrap_or_else(|| panic!("no {rule} at {field} among {:?}", run.found()))
}

fn first_container(object: &Value) -> &Value {
    &object["spec"]["template"]["spec"]["containers"][0]
}

/// 015: helm/charts#17501, bitnami/bitnami-docker-mongodb#87. And 018, CloudPirates-io/helm-charts#1034: both probes ask
/// the same, and readiness keeps asking it.
#[test]
fn a_recovery_of_unknown_length_is_waited_for() {
    let mut server = Server::holding(&fixture!("first-copy"));
    let before = server.stored.clone();
    let run = assert_cured(&mut server, &policy(""));
    assert_eq!(finding(&run, "RP001", "livenessProbe").severity, Severity::Critical);
    finding(&run, "RP008", "livenessProbe");
    finding(&run, "RP009", "livenessProbe");
    let stored = container(&server, "mongod");
    // No port is declared, so the number stands there and no name.
    assert_eq!(stored["livenessProbe"]["tcpSocket"], json!({"port": 27017}));
    assert_eq!(stored["startupProbe"]["tcpSocket"], json!({"port": 27017}));
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
    assert_eq!(stored["readinessProbe"]["exec"], first_container(&before)["readinessProbe"]["exec"]);
}

/// 015, where the server listens on loopback only: the check stays, and the start becomes patient.
#[test]
fn a_member_on_loopback_keeps_its_check() {
    let mut object = fixture!("first-copy");
    object["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["mongod"]);
    let mut server = Server::holding(&object);
    let run = assert_cured(&mut server, &policy(""));
    let stored = container(&server, "mongod");
    assert_eq!((handlers(&stored["livenessProbe"]), handlers(&stored["startupProbe"])), (vec!["exec"], vec!["exec"]));
    assert!(run.outcome.message.contains("--bind_ip"), "{}", run.outcome.message);
}

/// 017: portworx/helm#950.
#[test]
fn a_role_is_no_sign_of_life() {
    let mut server = Server::holding(&fixture!("elected"));
    let run = assert_cured(&mut server, &policy(""));
    let found = finding(&run, "RP001", "livenessProbe");
    assert!(found.message.contains("mongosh"), "{}", found.message);
    assert!(finding(&run, "RP012", "livenessProbe").message.contains("the role"), "whatever the timeout is");
    assert_eq!(handlers(&container(&server, "mongod")["livenessProbe"]), ["tcpSocket"]);
    // Nobody asks for the role any more where that would kill.
    assert_eq!(container(&server, "mongod")["startupProbe"].get("exec"), None);
}

/// 023: rabbitmq/rabbitmq-server#3863, GoogleCloudPlatform/click-to-deploy#522, bitnami/charts#11116.
#[test]
fn a_broker_is_not_asked_by_starting_a_machine_for_it() {
    let mut server = Server::holding(&fixture!("two-machines"));
    let run = assert_cured(&mut server, &policy(""));
    finding(&run, "RP001", "livenessProbe");
    finding(&run, "RP008", "livenessProbe");
    finding(&run, "RP006", "resources");
    let stored = container(&server, "broker");
    assert_eq!(stored["livenessProbe"]["tcpSocket"], json!({"port": 25672}), "what a ping needs, and nothing more");
    assert_eq!(handlers(&stored["readinessProbe"]), ["exec"]);
}

/// 023, with what most charts declare: the port of the clients. That one opens late, so the check stays.
#[test]
fn a_broker_that_declares_no_distribution_port_keeps_its_check() {
    let mut object = fixture!("two-machines");
    object["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{"name": "amqp", "containerPort": 5672}]);
    let mut server = Server::holding(&object);
    let run = assert_cured(&mut server, &policy(""));
    let stored = container(&server, "broker");
    assert_eq!(stored["livenessProbe"]["exec"]["command"], json!(["rabbitmqctl", "status"]));
    assert_eq!(stored["startupProbe"]["exec"]["command"], json!(["rabbitmqctl", "status"]));
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
    assert!(run.outcome.message.contains("25672"), "{}", run.outcome.message);
}

/// 025: helm/charts#1227, Orange-OpenSource/casskop#129, bitnami/charts#14162.
#[test]
fn a_node_that_joins_is_left_to_join() {
    let mut server = Server::holding(&fixture!("joining"));
    let run = assert_cured(&mut server, &policy(""));
    finding(&run, "RP001", "livenessProbe");
    finding(&run, "RP008", "livenessProbe");
    let stored = container(&server, "cassandra");
    // Not JMX, which the image binds to loopback.
    assert_eq!(stored["livenessProbe"]["tcpSocket"], json!({"port": 9042}));
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
    assert_eq!(handlers(&stored["readinessProbe"]), ["exec"]);
}

/// 026: CredentialEngine/CredentialRegistry#1013, elastic/helm-charts#374, pires/kubernetes-elasticsearch-cluster#188.
#[test]
fn the_state_of_a_cluster_kills_no_node() {
    let mut server = Server::holding(&fixture!("yellow"));
    let run = assert_cured(&mut server, &policy(""));
    finding(&run, "RP004", "livenessProbe");
    finding(&run, "RP004", "readinessProbe");
    finding(&run, "RP008", "livenessProbe");
    let others = finding(&run, "RP012", "livenessProbe");
    assert_eq!((others.severity, others.applicability), (Severity::Critical, Applicability::Safe));
    assert_eq!(finding(&run, "RP012", "readinessProbe").applicability, Applicability::ReportOnly);
    let stored = container(&server, "node");
    // When the port opens nobody has shown, so the start is covered too.
    assert_eq!(stored["livenessProbe"]["tcpSocket"], json!({"port": 9200}));
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
    assert_eq!(stored["readinessProbe"]["httpGet"]["port"], 9200);
    assert_eq!(server.stored["spec"]["podManagementPolicy"], "OrderedReady", "which cannot be changed in place");
}

/// 027: cal-itp/data-infra#5147, strimzi/strimzi-kafka-operator#5263, strimzi/proposals#83.
#[test]
fn a_socket_is_no_cure_where_the_port_opens_last() {
    let mut server = Server::holding(&fixture!("unflushed"));
    let run = assert_cured(&mut server, &policy(""));
    let budget = finding(&run, "RP009", "livenessProbe");
    assert_eq!((budget.severity, budget.applicability), (Severity::Critical, Applicability::Safe));
    assert!(budget.message.contains("only after recovery"), "{}", budget.message);
    finding(&run, "RP004", "livenessProbe");
    let stored = container(&server, "broker");
    assert_eq!(stored["startupProbe"]["tcpSocket"], json!({"port": "plaintext"}));
    assert_eq!(stored["livenessProbe"]["tcpSocket"], json!({"port": "plaintext"}));
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
}

/// 029: yehudacohen/typekro#230, Altinity/clickhouse-operator#1068, ClickHouse/ClickHouse#62419.
#[test]
fn a_start_that_grows_is_found_while_all_is_well() {
    let mut server = Server::holding(&fixture!("growing"));
    let run = run(&mut server, &policy(""));
    finding(&run, "RP009", "livenessProbe");
    finding(&run, "RP004", "livenessProbe");
    finding(&run, "RP008", "livenessProbe");
    assert_eq!(
        (run.outcome.decision, run.outcome.reason),
        (Decision::Refuse, "OwnerManaged"),
        "{}",
        run.outcome.message
    );
    assert_unwritten(&server, &run);
    // A version that accepts connections first is not said to refuse them.
    let mut object = fixture!("growing");
    object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("clickhouse/clickhouse-server:25.8");
    let newer = support::world::run(&mut Server::holding(&object), &policy(""));
    assert!(!newer.rules().contains(&"RP009"), "{:?}", newer.found());
}
