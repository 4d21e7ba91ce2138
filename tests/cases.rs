//! Incidents that other people had, replayed against the core: each names its public sources, and asserts the decision
//! and the invariants rather than numbers.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod support;

use reprieve::core::detect::{Applicability, Severity};
use reprieve::core::rollout::{Decision, Effect, PodOf};
use serde_json::{Value, json};

use support::judge::{differences, kills_after, startup_seconds};
use support::server::Server;
use support::world::{
    Run, assert_cured, assert_quiet, assert_unwritten, container, drive, manifest, observe, policy, run,
};

macro_rules! fixture {
    ($name:literal) => {
        manifest(include_str!(concat!("cases/", $name, ".yaml")))
    };
}

fn refused(run: &Run) -> (&'static str, &str) {
    assert_eq!((run.outcome.decision, run.outcome.status), (Decision::Refuse, "Refused"), "{}", run.outcome.message);
    (run.outcome.reason, &run.outcome.message)
}

fn finding<'a>(run: &'a Run, rule: &str, field: &str) -> &'a reprieve::core::detect::Finding {
    let found = run.outcome.findings.iter().find(|finding| finding.rule == rule && finding.field() == field);
    found.unwrap_or_else(|| panic!("no {rule} at {field} among {:?}", run.found()))
}

/// The incident that started the project, with the policy of its owners: every value, and the record of the write.
#[test]
fn the_registry_gets_exactly_what_its_policy_says() {
    let mut server = Server::holding(&fixture!("registry"));
    let policy = policy(include_str!("cases/registry-policy.yaml"));
    let run = assert_cured(&mut server, &policy);
    let body = run.applied().unwrap();
    let sent = &body["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        *sent,
        json!({
            "name": "database",
            "livenessProbe": {
                "exec": null, "httpGet": null, "tcpSocket": {"port": 5432}, "grpc": null,
                "initialDelaySeconds": 60, "periodSeconds": 10, "timeoutSeconds": 3, "failureThreshold": 6,
            },
            "startupProbe": {
                "exec": null, "httpGet": null, "tcpSocket": {"port": 5432}, "grpc": null,
                "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 360,
            },
            "readinessProbe": {
                "exec": {"command": ["/docker-healthcheck.sh"]}, "httpGet": null, "tcpSocket": null, "grpc": null,
                "initialDelaySeconds": 10, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3,
            },
            "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "3Gi"}},
        })
    );
    let stored = container(&server, "database");
    let api = json!({"successThreshold": 1});
    assert_eq!(
        stored["livenessProbe"],
        json!({"tcpSocket": {"port": 5432}, "initialDelaySeconds": 60, "periodSeconds": 10, "timeoutSeconds": 3,
            "failureThreshold": 6, "successThreshold": api["successThreshold"]})
    );
    assert_eq!(
        stored["resources"],
        json!({"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "3Gi"}}),
        "a memory limit one notch above the request, and no CPU limit"
    );
    let annotations = &body["metadata"]["annotations"];
    assert_eq!(
        annotations["reprieve.dev/original"].as_str().unwrap().lines().collect::<Vec<_>>(),
        [
            "database/liveness exec /docker-healthcheck.sh",
            "database/liveness failureThreshold 3",
            "database/liveness initialDelaySeconds 300",
            "database/liveness tcpSocket -",
            "database/liveness timeoutSeconds 1",
            "database/readiness exec -",
            "database/readiness failureThreshold -",
            "database/readiness initialDelaySeconds -",
            "database/readiness periodSeconds -",
            "database/readiness timeoutSeconds -",
            "database/resources limits.memory -",
            "database/resources requests.cpu -",
            "database/resources requests.memory -",
            "database/startup failureThreshold -",
            "database/startup periodSeconds -",
            "database/startup tcpSocket -",
            "database/startup timeoutSeconds -",
        ]
    );
    let plan = run.outcome.plan.as_ref().unwrap();
    let (digest, asked) = (&plan.digest, &plan.policy);
    let values = [
        ("liveness exec", "-"),
        ("liveness failureThreshold", "6"),
        ("liveness initialDelaySeconds", "60"),
        ("liveness tcpSocket", "5432"),
        ("liveness timeoutSeconds", "3"),
        ("readiness exec", "/docker-healthcheck.sh"),
        ("readiness failureThreshold", "3"),
        ("readiness initialDelaySeconds", "10"),
        ("readiness periodSeconds", "10"),
        ("readiness timeoutSeconds", "5"),
        ("resources limits.memory", "3Gi"),
        ("resources requests.cpu", "1"),
        ("resources requests.memory", "2Gi"),
        ("startup failureThreshold", "360"),
        ("startup periodSeconds", "10"),
        ("startup tcpSocket", "5432"),
        ("startup timeoutSeconds", "5"),
    ];
    let values: Vec<_> = values.iter().map(|(subject, value)| format!("\"database/{subject}\":\"{value}\"")).collect();
    assert_eq!(
        annotations["reprieve.dev/state"],
        json!(format!(
            "{{\"version\":1,\"plan\":\"{digest}\",\"writes\":1,\"values\":{{{}}},\"policy\":\"{asked}\"}}",
            values.join(",")
        ))
    );
    let rules: std::collections::BTreeSet<_> = run.rules().into_iter().collect();
    assert_eq!(
        rules.into_iter().collect::<Vec<_>>(),
        ["RP001", "RP004", "RP005", "RP009", "RP010", "RP011", "RP014", "RP015"]
    );
    assert_eq!(finding(&run, "RP009", "livenessProbe").evidence["earliestKillSeconds"], 320, "as on that night");
}

/// The same with the readiness that the chart has: it stays the query, and becomes patient.
#[test]
fn the_registrys_own_readiness_is_kept() {
    let mut object = fixture!("registry");
    object["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] =
        json!({"exec": {"command": ["/docker-healthcheck.sh"]}, "initialDelaySeconds": 1, "timeoutSeconds": 1});
    let mut server = Server::holding(&object);
    assert_cured(&mut server, &policy(include_str!("cases/registry-policy.yaml")));
    assert_eq!(
        container(&server, "database")["readinessProbe"],
        json!({"exec": {"command": ["/docker-healthcheck.sh"]}, "initialDelaySeconds": 10, "timeoutSeconds": 5,
            "periodSeconds": 10, "failureThreshold": 3, "successThreshold": 1})
    );
}

/// 001: cagriekin/charts#141, deis/postgres#130, helm/charts#10427.
#[test]
fn recovery_that_outlives_the_budget_is_given_its_time() {
    let mut server = Server::holding(&fixture!("two-minutes"));
    let run = assert_cured(&mut server, &policy(""));
    for (rule, severity) in [("RP001", Severity::Critical), ("RP009", Severity::Critical), ("RP008", Severity::Warning)]
    {
        assert_eq!(finding(&run, rule, "livenessProbe").severity, severity, "{rule}");
    }
    let evidence = &finding(&run, "RP009", "livenessProbe").evidence;
    assert_eq!((&evidence["earliestKillSeconds"], &evidence["allowanceSeconds"]), (&json!(120), &json!(3600)));
    let stored = container(&server, "server");
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
    assert_eq!(stored["livenessProbe"]["tcpSocket"]["port"], 5432, "which answers while the log is replayed");
    assert!(stored["readinessProbe"]["exec"].is_object(), "the query decides readiness only");
}

/// 003: goharbor/harbor#20272, aws/eks-anywhere-build-tooling#5399, goharbor/harbor-helm#1307.
#[test]
fn a_charts_database_is_cured_without_breaking_its_next_upgrade() {
    let mut server = Server::holding(&fixture!("script-in-both"));
    let before = server.stored.clone();
    let policy = policy("resources: {requests: {cpu: 250m, memory: 512Mi}}");
    let run = assert_cured(&mut server, &policy);
    for rule in ["RP001", "RP008", "RP009"] {
        finding(&run, rule, "livenessProbe");
    }
    for probe in ["livenessProbe", "readinessProbe"] {
        let seconds = finding(&run, "RP004", probe);
        assert!(seconds.message.contains("stated or defaulted"), "{}", seconds.message);
    }
    finding(&run, "RP005", "resources");
    assert!(run.outcome.owner.contains("Helm"), "{}", run.outcome.owner);
    // The chart may state everything that is there, so nothing that is there changes.
    let (was, is) = (&before["spec"]["template"]["spec"], &server.stored["spec"]["template"]["spec"]);
    for place in differences(was, is) {
        assert_eq!(was.pointer(&place).filter(|value| !value.is_null()), None, "{place}");
    }
    let stored = container(&server, "database");
    assert_eq!(stored["startupProbe"]["exec"], stored["livenessProbe"]["exec"]);
    assert!(run.outcome.message.contains("timeoutSeconds stays 1"), "{}", run.outcome.message);
}

/// 008: cloudnative-pg/cloudnative-pg#793, ietf-tools/datatracker#9030.
#[test]
fn a_light_check_that_times_out_under_load() {
    let mut server = Server::holding(&fixture!("throttled"));
    let run = assert_cured(&mut server, &policy("resources: {cpuLimit: Remove}"));
    let (kills, rests) = (finding(&run, "RP004", "livenessProbe"), finding(&run, "RP004", "readinessProbe"));
    assert!(kills.severity > rests.severity, "a socket answered by the kernel is not a query");
    assert_eq!(rests.applicability, Applicability::ReportOnly);
    finding(&run, "RP006", "resources");
    assert_eq!(finding(&run, "RP001", "livenessProbe").severity, Severity::Warning, "the startup probe covers starts");
    let stored = container(&server, "pg");
    assert!(stored["resources"]["limits"].get("cpu").is_none());
    assert_eq!(stored["readinessProbe"]["timeoutSeconds"], 1, "a different readiness is its owner's business");
    assert!(
        run.outcome.message.contains("Guaranteed") && run.outcome.message.contains("Burstable"),
        "{}",
        run.outcome.message
    );
}

/// 012: bitnami/charts#27523, helm/charts#15070, sclorg/mariadb-container#148.
#[test]
fn a_lenient_ping_keeps_its_command_and_gets_time() {
    let mut server = Server::holding(&fixture!("ping-everywhere"));
    let before = server.stored.clone();
    let run = assert_cured(&mut server, &policy(""));
    finding(&run, "RP009", "startupProbe");
    assert_eq!(finding(&run, "RP008", "livenessProbe").applicability, Applicability::ReportOnly);
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        finding(&run, "RP004", probe);
    }
    let stored = container(&server, "mysql");
    let was = &before["spec"]["template"]["spec"]["containers"][0];
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        assert_eq!(stored[probe]["exec"], was[probe]["exec"], "no command is invented");
        assert!(stored[probe]["timeoutSeconds"].as_i64() >= Some(5));
    }
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
}

/// 041: prometheus-operator/prometheus-operator#5294, opensearch-project/helm-charts#421.
#[test]
fn two_handlers_are_made_one_and_never_made() {
    let mut server = Server::holding(&fixture!("two-handlers"));
    let run = assert_cured(&mut server, &policy(""));
    assert_eq!(finding(&run, "RP018", "livenessProbe").applicability, Applicability::Safe);
    assert!(matches!(run.answers[0], reprieve::core::rollout::Answer::Rejected { .. }), "no pod could be created");
    let stored = container(&server, "pg");
    assert_eq!(stored["livenessProbe"].get("exec"), None);
    assert_eq!(stored["livenessProbe"]["tcpSocket"]["port"], 5432);
}

/// 041, where neither of the two handlers is the right one.
#[test]
fn of_two_wrong_handlers_neither_stays() {
    let mut object = fixture!("two-handlers");
    let probe = &mut object["spec"]["template"]["spec"]["containers"][0]["livenessProbe"];
    *probe = json!({"exec": {"command": ["pg_isready"]}, "httpGet": {"port": 8080}, "timeoutSeconds": 5});
    let mut server = Server::holding(&object);
    let run = assert_cured(&mut server, &policy(""));
    finding(&run, "RP018", "livenessProbe");
    assert_eq!(container(&server, "pg")["livenessProbe"]["tcpSocket"]["port"], 5432);
    // MySQL wants its own check kept, and time for it.
    let container_json = &mut object["spec"]["template"]["spec"]["containers"][0];
    container_json["image"] = json!("mysql:8");
    container_json["livenessProbe"]["exec"]["command"] = json!(["mysqladmin", "ping"]);
    container_json["readinessProbe"]["exec"]["command"] = json!(["mysqladmin", "ping"]);
    let mut server = Server::holding(&object);
    assert_cured(&mut server, &policy(""));
    let stored = container(&server, "pg");
    assert_eq!(stored["livenessProbe"]["exec"]["command"], json!(["mysqladmin", "ping"]));
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
}

/// 042: kubernetes/kubernetes#97309, kubernetes/kubernetes#131790, elastic/cloud-on-k8s#2854.
#[test]
fn a_pod_that_could_not_be_created_stops_the_write() {
    let mut server = Server::holding(&fixture!("both-ask"));
    server.stores_bad_templates = true;
    server.refuse_patched_pod = Some("Pod \"x\" is invalid: must be less than or equal to memory limit");
    let run = run(&mut server, &policy(""));
    let (reason, message) = refused(&run);
    assert_eq!(reason, "PodDryRunFailed");
    assert!(message.contains("must be less than or equal to memory limit"), "the server's own words: {message}");
    assert_unwritten(&server, &run);
    assert!(matches!(
        run.effects[..],
        [
            Effect::DryRunPod(PodOf::CurrentTemplate, _),
            Effect::DryRunWorkload(_),
            Effect::DryRunPod(PodOf::PatchedTemplate, _)
        ]
    ));
}

/// 044: open-policy-agent/gatekeeper#1353, kubernetes/autoscaler#2278, cert-manager/cert-manager#2186.
#[test]
fn a_webhook_that_allows_no_dry_run_is_no_reason_to_write_for_real() {
    let mut server = Server::holding(&fixture!("both-ask"));
    server.no_pod_dry_run = Some("signer.example");
    let run = run(&mut server, &policy(""));
    let (reason, message) = refused(&run);
    assert_eq!(reason, "DryRunUnsupported");
    assert!(message.contains("signer.example"), "{message}");
    assert_unwritten(&server, &run);
}

/// 045: prometheus-operator/prometheus-operator#3823, pingcap/tidb-operator#4530.
#[test]
fn a_container_is_addressed_by_the_name_that_it_has() {
    let mut server = Server::holding(&fixture!("registry"));
    let run = assert_cured(&mut server, &policy(""));
    let sent = run.applied().unwrap()["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    assert_eq!(sent.iter().map(|c| c["name"].as_str().unwrap()).collect::<Vec<_>>(), ["database"]);
    assert_eq!(server.stored["spec"]["template"]["spec"]["containers"].as_array().unwrap().len(), 1);
}

/// 045, where it is renamed between the look and the write: nothing is appended, and nothing is retried blindly.
#[test]
fn a_rename_meanwhile_is_a_conflict() {
    let mut server = Server::holding(&fixture!("registry"));
    let policy = policy("");
    let observation = observe(&server, &policy);
    server.stored["spec"]["template"]["spec"]["containers"][0]["name"] = json!("db");
    server.stored["metadata"]["resourceVersion"] = json!("42");
    let run = drive(&observation, |effect| server.answer(effect));
    assert_eq!((run.outcome.decision, run.outcome.reason), (Decision::Defer, "Changed"));
    assert_unwritten(&server, &run);
    // The same at the last moment.
    let mut server = Server::holding(&fixture!("registry"));
    server.conflict_on_apply = true;
    let run = support::world::run(&mut server, &policy);
    assert_eq!((run.outcome.decision, run.outcome.reason), (Decision::Defer, "Changed"));
    assert_eq!(run.effects.iter().filter(|effect| matches!(effect, Effect::Apply(_))).count(), 1);
    assert_eq!(server.writes, 0);
}

/// 047: kubernetes-sigs/kustomize#3513, kubernetes/kubernetes#105610.
#[test]
fn ports_are_never_echoed() {
    let mut server = Server::holding(&fixture!("same-number"));
    let before = server.stored.clone();
    let run = assert_cured(&mut server, &policy(""));
    assert!(!run.applied().unwrap()["spec"].to_string().contains("\"ports\""));
    assert_eq!(container(&server, "redis")["ports"], before["spec"]["template"]["spec"]["containers"][0]["ports"]);
    assert!(container(&server, "redis")["livenessProbe"]["timeoutSeconds"].as_i64() > Some(1));
    assert_eq!(container(&server, "redis")["livenessProbe"]["tcpSocket"]["port"], "clients");
}

/// A connect that the kernel answers within a second is no reason to restart anything, and goes along with what is.
#[test]
fn nothing_is_restarted_for_a_socket_that_is_only_untidy() {
    let mut workload = fixture!("same-number");
    workload["spec"]["template"]["spec"]["containers"][0].as_object_mut().unwrap().remove("readinessProbe");
    let run = run(&mut Server::holding(&workload), &policy(""));
    assert!(run.applied().is_none(), "{:?}", run.found());
    finding(&run, "RP004", "livenessProbe");
}

/// 048: dam-agents/dam#154, dam-agents/dam#155.
#[test]
fn what_is_taken_away_is_taken_away_by_null() {
    let mut server = Server::holding(&fixture!("both-ask"));
    let run = assert_cured(&mut server, &policy(""));
    finding(&run, "RP001", "livenessProbe");
    let text = serde_json::to_string(run.applied().unwrap()).unwrap();
    assert!(text.contains(r#""livenessProbe":{"exec":null,"#), "{text}");
    assert_eq!(container(&server, "store")["livenessProbe"].get("exec"), None);
}

/// 050: jordigilh/kubernaut#539, helm/helm#31516, pulumi/pulumi-kubernetes#2355.
#[test]
fn what_a_server_side_applier_states_is_left_to_it() {
    let mut object = fixture!("both-ask");
    let exec = json!({"f:command": {}});
    object["metadata"]["managedFields"] = json!([{"manager": "helm", "operation": "Apply", "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"store\"}": {
        "f:image": {}, "f:name": {},
        "f:livenessProbe": {"f:exec": exec, "f:timeoutSeconds": {}, "f:periodSeconds": {}},
        "f:readinessProbe": {"f:exec": exec, "f:timeoutSeconds": {}},
        "f:resources": {"f:requests": {"f:cpu": {}, "f:memory": {}}, "f:limits": {"f:cpu": {}, "f:memory": {}}},
    }}}}}}}]);
    let mut server = Server::holding(&object);
    let run = assert_cured(&mut server, &policy("resources: {cpuLimit: Remove}"));
    assert!(run.outcome.owner.contains("field manager helm"), "{}", run.outcome.owner);
    let stored = container(&server, "store");
    assert_eq!(
        stored["livenessProbe"]["exec"],
        object["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["exec"]
    );
    assert_eq!(
        (&stored["livenessProbe"]["timeoutSeconds"], &stored["livenessProbe"]["periodSeconds"]),
        (&json!(1), &json!(10))
    );
    assert_eq!(stored["readinessProbe"]["timeoutSeconds"], 1);
    assert_eq!(stored["resources"]["limits"]["cpu"], "1");
    assert!(stored["livenessProbe"]["failureThreshold"].as_i64() > Some(3), "which nobody states");
    assert!(startup_seconds(&stored["startupProbe"]) >= 3600);
    // Asked for by name, the swap is refused with the reason.
    let mut server = Server::holding(&object);
    let run = support::world::run(&mut server, &policy("remedy: Swap"));
    assert_eq!(refused(&run).0, "SwapBreaksOwner");
    assert_unwritten(&server, &run);
}

/// 055: ClickHouse/clickhouse-operator#132, VictoriaMetrics/operator#1084.
#[test]
fn what_the_server_fills_in_is_no_reason_to_write_again() {
    let mut server = Server::holding(&fixture!("process-check"));
    let policy = policy("");
    let run = assert_cured(&mut server, &policy);
    finding(&run, "RP004", "startupProbe");
    for _ in 0..100 {
        assert_quiet(&mut server, &policy);
    }
    assert_eq!(server.stored["metadata"]["generation"], 2);
}

/// 057: bitnami/charts#9338, percona/percona-helm-charts#460, prometheus-operator/prometheus-operator#510.
#[test]
fn a_quota_that_wants_limits_keeps_them_and_gets_the_probes() {
    let mut server = Server::holding(&fixture!("both-ask"));
    server.quota_wants_cpu_limit = true;
    let policy = policy("resources: {cpuLimit: Remove}");
    let before = server.stored.clone();
    let run = run(&mut server, &policy);
    assert_eq!((run.outcome.decision, run.outcome.status), (Decision::Patch, "Applied"), "{}", run.outcome.message);
    finding(&run, "RP006", "resources");
    support::judge::assert_sound(&before, &server.stored, run.applied().unwrap(), 3600, &[]);
    let stored = container(&server, "store");
    assert_eq!(stored["resources"]["limits"]["cpu"], "1");
    assert!(stored["livenessProbe"]["tcpSocket"].is_object());
    assert!(run.outcome.message.contains("must specify limits.cpu"), "{}", run.outcome.message);
    // What is left is only the limit, and it stays refused: no second write.
    let again = support::world::run(&mut server, &policy);
    assert_eq!((again.applied(), server.writes), (None, 1));
}

/// 059: devantler-tech/platform#2308, kubernetes/website#37202.
#[test]
fn what_a_limit_range_fills_in_is_judged_on_the_pod() {
    let range = || Some((json!({"cpu": "500m", "memory": "512Mi"}), json!({"cpu": "50m", "memory": "64Mi"})));
    let mut server = Server::holding(&fixture!("no-requests"));
    server.limit_range = range();
    let run = assert_cured(
        &mut server,
        &policy("resources: {requests: {cpu: 250m, memory: 1Gi}, limits: {memory: 2Gi}, cpuLimit: Remove}"),
    );
    let requests = finding(&run, "RP005", "resources");
    assert_eq!(requests.evidence["qosClass"], "Burstable", "admission makes it so");
    assert!(requests.message.contains("LimitRange"), "{}", requests.message);
    let limit = finding(&run, "RP006", "resources");
    assert_eq!(limit.applicability, Applicability::ReportOnly, "nothing in the workload can remove it");
    assert!(limit.message.contains("LimitRange") && limit.message.contains("500m"), "{}", limit.message);
    assert_eq!(container(&server, "pg")["resources"]["limits"], json!({"memory": "2Gi"}));
    // A request above the injected limit: the pod is refused, so nothing is written.
    let mut server = Server::holding(&fixture!("no-requests"));
    server.limit_range = range();
    let run = support::world::run(&mut server, &policy("resources: {requests: {cpu: 2}}"));
    assert_unwritten(&server, &run);
}

/// 068: keel-hq/keel#772, argoproj/argo-rollouts#3366, simple-container-com/api#347.
#[test]
fn a_sidecar_is_left_alone_with_every_field_that_it_has() {
    let mut server = Server::holding(&fixture!("sidecar"));
    let before = server.stored.clone();
    let run = assert_cured(&mut server, &policy(""));
    let proxy: Vec<_> = run.outcome.findings.iter().filter(|finding| finding.container == "pool").collect();
    assert!(!proxy.is_empty());
    for found in proxy {
        assert_eq!((found.severity, found.applicability), (Severity::Info, Applicability::ReportOnly), "{found}");
        assert!(found.pointer.as_str().contains("/initContainers/0/"), "{found}");
    }
    assert!(run.outcome.findings.iter().all(|finding| finding.container != "ownership"));
    let list = "initContainers";
    assert_eq!(server.stored["spec"]["template"]["spec"][list], before["spec"]["template"]["spec"][list]);
    assert_eq!(container(&server, "pool")["restartPolicyRules"][0]["action"], "Restart");
    assert!(container(&server, "pg")["livenessProbe"]["tcpSocket"].is_object());
}

/// 071: tryretool/retool-helm#335, rook/rook#7494, kubernetes/kubernetes#101324.
#[test]
fn a_server_on_loopback_is_never_dialled_from_outside() {
    let mut server = Server::holding(&fixture!("loopback"));
    let before = server.stored.clone();
    let run = assert_cured(&mut server, &policy(""));
    assert!(!run.effects.iter().any(|effect| matches!(effect, Effect::CheckPort(_))));
    let (stored, was) = (container(&server, "redis"), &before["spec"]["template"]["spec"]["containers"][0]);
    assert_eq!(stored["livenessProbe"]["exec"], was["livenessProbe"]["exec"]);
    assert_eq!(stored["startupProbe"]["exec"], was["livenessProbe"]["exec"]);
    assert!(stored["livenessProbe"]["timeoutSeconds"].as_i64() >= Some(5));
    assert!(kills_after(&stored["livenessProbe"]) >= kills_after(&was["livenessProbe"]));
    assert!(run.outcome.message.contains("127.0.0.1"), "{}", run.outcome.message);
    assert_eq!(Value::Null, stored["livenessProbe"]["tcpSocket"]);
}

/// 071, where nothing in the manifest says so: the running pod does.
#[test]
fn a_port_that_does_not_answer_stops_the_write() {
    let mut server = Server::holding(&fixture!("both-ask"));
    server.does_not_answer = Some("[2001:db8::7]:5432: connection refused");
    let run = run(&mut server, &policy(""));
    let (reason, message) = refused(&run);
    assert_eq!(reason, "PortUnproved");
    assert!(message.contains("connection refused"), "{message}");
    assert_unwritten(&server, &run);
}
