//! More incidents that other people had, by what the rules have to say about each: findings, decision and invariants
//! rather than numbers. Each names its public sources.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod support;

use reprieve::core::detect::{Applicability, Finding, Severity};
use reprieve::core::model::workload::Workload;
use reprieve::core::rollout::{Decision, judge};
use serde_json::{Value, json};

use support::judge::{handlers, startup_seconds};
use support::server::Server;
use support::world::{Run, assert_cured, assert_unwritten, container, manifest, policy, run};

macro_rules! fixture {
    ($name:literal) => {
        manifest(include_str!(concat!("cases/", $name, ".yaml")))
    };
}

fn found<'a>(findings: &'a [Finding], rule: &str, field: &str) -> &'a Finding {
    let found = findings.iter().find(|finding| finding.rule == rule && finding.field() == field);
    found.unwrap_or_else(|| panic!("no {rule} at {field} among {findings:?}"))
}

fn finding<'a>(run: &'a Run, rule: &str, field: &str) -> &'a Finding {
    found(&run.outcome.findings, rule, field)
}

/// 005: pawtograder/platform#946, bitnami/charts#11006.
#[test]
fn a_stall_of_storage_kills_all_replicas_at_once() {
    let mut server = Server::holding(&fixture!("storage-stall"));
    let run = assert_cured(&mut server, &policy(""));
    let liveness = finding(&run, "RP001", "livenessProbe");
    assert_eq!((liveness.severity, &liveness.evidence["replicas"]), (Severity::Critical, &json!(2)));
    assert!(liveness.message.contains("all 2 replicas ask alike"), "{}", liveness.message);
    finding(&run, "RP009", "livenessProbe");
    let stored = container(&server, "pg");
    assert_eq!(handlers(&stored["livenessProbe"]), ["tcpSocket"], "which the kernel answers while the disk stalls");
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
}

/// 006: sourcegraph/deploy-sourcegraph#4136, OpenHands/OpenHands-Cloud#829, kubernetes/kubernetes#90973.
#[test]
fn a_preset_without_headroom_makes_the_recoveries_that_the_probe_cuts_short() {
    let mut server = Server::holding(&fixture!("small-preset"));
    let run = assert_cured(&mut server, &policy(""));
    finding(&run, "RP009", "livenessProbe");
    finding(&run, "RP006", "resources");
    assert_eq!(finding(&run, "RP007", "resources").applicability, Applicability::OptIn);
    let before = fixture!("small-preset")["spec"]["template"]["spec"]["containers"][0]["resources"].clone();
    assert_eq!(container(&server, "db")["resources"], before, "memory is nobody's to guess");
    // The owner of the policy has measured.
    let mut server = Server::holding(&fixture!("small-preset"));
    assert_cured(&mut server, &policy("{resources: {limits: {memory: 512Mi}}, rules: {optIn: [RP007]}}"));
    let resources = &container(&server, "db")["resources"];
    assert_eq!((&resources["limits"]["memory"], &resources["requests"]["memory"]), (&json!("512Mi"), &json!("192Mi")));
}

/// 009: airflow-helm/charts#484, Azure/AKS#2256, kubernetes/kubernetes#94080.
#[test]
fn a_second_that_nobody_wrote_is_not_called_stated() {
    let object = fixture!("left-out");
    let offline = judge(&Workload::new(object.clone()), &policy("").spec);
    assert!(found(&offline.findings, "RP004", "livenessProbe").message.contains("was left out"));
    let mut server = Server::holding(&object);
    let live = assert_cured(&mut server, &policy(""));
    let said = finding(&live, "RP004", "livenessProbe");
    assert!(said.message.contains("stated or defaulted"), "{}", said.message);
    assert_eq!(said.severity, found(&offline.findings, "RP004", "livenessProbe").severity);
    finding(&live, "RP010", "livenessProbe");
    assert!(container(&server, "mysql")["livenessProbe"]["timeoutSeconds"].as_i64() >= Some(5));
}

/// 011: kubernetes/kubernetes#110070, containerd/containerd#4594, k3s-io/k3s#5675.
#[test]
fn the_limit_inside_comes_before_the_one_outside() {
    let mut server = Server::holding(&fixture!("outer-first"));
    let run = assert_cured(&mut server, &policy(""));
    for probe in ["livenessProbe", "readinessProbe"] {
        let odd = finding(&run, "RP017", probe);
        assert!(odd.message.contains("always comes before"), "{}", odd.message);
    }
    let stored = container(&server, "cache");
    assert!(stored["readinessProbe"]["timeoutSeconds"].as_i64() > Some(5), "{}", stored["readinessProbe"]);
    assert_eq!(handlers(&stored["livenessProbe"]), ["tcpSocket"], "no shell, no child");
}

/// 014: mariadb-operator/mariadb-operator#219, bitnami/charts#6698.
#[test]
fn a_cluster_that_an_operator_owns_is_reported_to_its_owner() {
    let mut server = Server::holding(&fixture!("cluster-ready"));
    let run = run(&mut server, &policy(""));
    assert_unwritten(&server, &run);
    assert_eq!((run.outcome.decision, run.outcome.reason), (Decision::Refuse, "OwnerManaged"));
    assert!(run.outcome.message.contains("MariaDB mariadb"), "{}", run.outcome.message);
    finding(&run, "RP008", "livenessProbe");
}

/// 019: helm/charts#15093, helm/charts#14999, spotahome/redis-operator#316, Enapter/charts#60.
#[test]
fn loading_is_not_dead() {
    let mut server = Server::holding(&fixture!("loading"));
    let run = assert_cured(&mut server, &policy(""));
    for rule in ["RP001", "RP004", "RP009"] {
        finding(&run, rule, "livenessProbe");
    }
    assert_eq!(finding(&run, "RP009", "livenessProbe").evidence["earliestKillSeconds"], 25);
    let stored = container(&server, "redis");
    assert_eq!(handlers(&stored["livenessProbe"]), ["tcpSocket"]);
    assert!(stored["readinessProbe"]["exec"].is_object(), "and it gets no traffic meanwhile");
}

/// 021: CloudPirates-io/helm-charts#1119, bitnami/charts#29097, redis/redis#13636, OT-CONTAINER-KIT/redis-operator#1030.
#[test]
fn requests_for_show_are_best_effort() {
    let mut server = Server::holding(&fixture!("token-requests"));
    let run = run(&mut server, &policy("resources: {cpuLimit: Remove}"));
    let token = finding(&run, "RP005", "resources");
    assert_eq!((token.severity, token.applicability), (Severity::Warning, Applicability::ReportOnly));
    assert!(token.message.contains("BestEffort in all but name"), "{}", token.message);
    finding(&run, "RP006", "resources");
    assert!(run.applied().is_some(), "{}", run.outcome.message);
    let resources = &container(&server, "sentinel")["resources"];
    assert_eq!(resources["limits"].get("cpu"), None);
    assert_eq!(resources["requests"], json!({"cpu": "1m", "memory": "1Mi"}), "which are their owner's");
}

/// 030: cockroachdb/cockroachdb-cloudformation#18, cockroachdb/cockroach#44832, cockroachdb/cockroach#13580.
#[test]
fn the_query_of_a_url_decides_what_is_asked() {
    let mut server = Server::holding(&fixture!("ready-as-liveness"));
    let before = container(&server, "crdb").clone();
    let run = assert_cured(&mut server, &policy(""));
    assert_eq!(finding(&run, "RP012", "livenessProbe").applicability, Applicability::Safe);
    for (rule, field) in [("RP004", "livenessProbe"), ("RP008", "livenessProbe"), ("RP006", "resources")] {
        finding(&run, rule, field);
    }
    let stored = container(&server, "crdb");
    assert_eq!(stored["livenessProbe"]["httpGet"]["path"], "/health");
    assert_eq!(stored["readinessProbe"]["httpGet"], before["readinessProbe"]["httpGet"]);
    assert_eq!(stored["resources"], before["resources"], "Guaranteed may be meant");
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
    // With the liveness's own URL they are not the same check.
    let mut apart = fixture!("ready-as-liveness");
    apart["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["httpGet"]["path"] = json!("/health");
    let apart = judge(&Workload::new(apart), &policy("").spec);
    assert!(apart.findings.iter().all(|finding| !["RP008", "RP012"].contains(&finding.rule)), "{:?}", apart.findings);
}

/// 032: patroni/patroni#1159, patroni/patroni#1590, patroni/patroni#2395, patroni/patroni#2756.
#[test]
fn of_a_wrong_endpoint_only_the_path_changes() {
    let mut server = Server::holding(&fixture!("role-endpoint"));
    let before = container(&server, "patroni").clone();
    let run = assert_cured(&mut server, &policy(""));
    let role = finding(&run, "RP012", "livenessProbe");
    assert_eq!((role.severity, role.applicability), (Severity::Critical, Applicability::Safe));
    let stored = container(&server, "patroni");
    let mut expected = before["livenessProbe"]["httpGet"].clone();
    expected["path"] = json!("/liveness");
    assert_eq!(stored["livenessProbe"]["httpGet"], expected, "scheme, headers and port as they were");
    assert_eq!(stored["readinessProbe"], before["readinessProbe"]);
}

/// 032, where the readiness asks for a role as well.
#[test]
fn the_roles_that_decide_readiness_stay_with_their_owner() {
    let mut object = fixture!("role-endpoint");
    object["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"] = json!("/replica");
    let mut server = Server::holding(&object);
    let run = assert_cured(&mut server, &policy(""));
    let deadlock = finding(&run, "RP012", "readinessProbe");
    assert_eq!((deadlock.severity, deadlock.applicability), (Severity::Warning, Applicability::ReportOnly));
    assert_eq!(container(&server, "patroni")["readinessProbe"]["httpGet"]["path"], "/replica");
}

/// 033: hiero-ledger/hiero-mirror-node#10288, konveyor/tackle-pathfinder#323, helm/charts#6212.
#[test]
fn a_checkpoint_needs_longer_than_the_default() {
    let object = fixture!("checkpoint");
    let mut server = Server::holding(&object);
    let audit = run(&mut server, &policy(""));
    assert_unwritten(&server, &audit);
    let grace = finding(&audit, "RP014", "terminationGracePeriodSeconds");
    assert_eq!((grace.applicability, &grace.evidence["graceSeconds"]), (Applicability::OptIn, &json!(30)));
    let run = assert_cured(&mut server, &policy("rules: {optIn: [RP014]}"));
    let then = server.stored["spec"]["template"]["spec"]["terminationGracePeriodSeconds"].as_i64();
    assert!(then > Some(30));
    assert!(run.outcome.message.contains("this very rollout still stops the running pods after 30 s"));
}

/// 035: DataKitchen/dataops-observability#11, neondatabase/helm-charts#141, CrunchyData/postgres-operator#1526.
#[test]
fn a_sidecar_without_requests_lowers_the_class() {
    let mut server = Server::holding(&fixture!("only-burstable"));
    let run = run(&mut server, &policy("resources: {requests: {cpu: 100m, memory: 512Mi}}"));
    assert_unwritten(&server, &run);
    let class = finding(&run, "RP005", "resources");
    assert_eq!((class.severity, class.applicability), (Severity::Info, Applicability::ReportOnly));
    assert!(class.message.contains("only Burstable, because of exporter"), "{}", class.message);
    finding(&run, "RP006", "resources");
    assert_eq!(finding(&run, "RP007", "resources").severity, Severity::Info);
}

/// 037: zalando/postgres-operator#2428, paritytech/helm-charts#294.
#[test]
fn an_operator_that_leaves_labels_only_is_an_owner() {
    let mut server = Server::holding(&fixture!("labels-of-an-operator"));
    let run = run(&mut server, &policy("resources: {cpuLimit: Remove}"));
    assert_unwritten(&server, &run);
    assert_eq!((run.outcome.decision, run.outcome.reason), (Decision::Refuse, "OwnerManaged"));
    assert!(run.outcome.message.contains("application: spilo"), "{}", run.outcome.message);
    finding(&run, "RP006", "resources");
}

/// 039: GEECS-BELLA/GEECS-Plugins#790, sclorg/mysql-container#285, louislam/uptime-kuma#7692.
#[test]
fn mysql_gets_no_bare_sockets() {
    let mut server = Server::holding(&fixture!("ping-alone"));
    let run = assert_cured(&mut server, &policy(""));
    finding(&run, "RP004", "livenessProbe");
    let stored = container(&server, "mysql");
    for probe in ["livenessProbe", "startupProbe"] {
        assert_eq!(stored[probe]["exec"], json!({"command": ["mysqladmin", "ping"]}), "{probe}");
        assert_eq!(stored[probe].get("tcpSocket"), None::<&Value>, "{probe}");
    }
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
}
