//! What a remedy makes of probes and resources, in the corners: odd handlers, owners, resources, several databases.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![allow(clippy::needless_pass_by_value, reason = "the values are written where they are used")]

mod support;

use reprieve::api::PolicySpec;
use reprieve::core::detect::{Case, Severity, detect};
use reprieve::core::model::workload::Workload;
use reprieve::core::remedy::{Plan, Planned, Remedy, plan};
use serde_json::{Value, json};

use support::judge::{kills_after, startup_seconds};

fn stateful_set(spec: Value) -> Value {
    json!({"kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop"}, "spec": {"template": {"spec": spec}}})
}

fn planned(object: &Value, policy: &str, remedy: Remedy) -> Planned {
    let workload = Workload::new(object.clone());
    let policy: PolicySpec = serde_yaml::from_str(if policy.is_empty() { "{}" } else { policy }).unwrap();
    let case = Case::new(&workload, &policy, None);
    plan(&case, &detect(&case), remedy, true)
}

fn plan_of(object: &Value, policy: &str, remedy: Remedy) -> Plan {
    match planned(object, policy, remedy) {
        Planned::Plan(plan) => *plan,
        other => panic!("no plan: {other:?}"),
    }
}

/// One container with a swap, as it is afterwards.
fn swapped(container: &Value, policy: &str) -> Value {
    let object = stateful_set(json!({"containers": [container]}));
    let after = plan_of(&object, policy, Remedy::Swap).patched(&Workload::new(object)).unwrap();
    after.pod_spec().unwrap()["containers"][0].clone()
}

fn refusal(container: &Value, policy: &str) -> &'static str {
    match planned(&stateful_set(json!({"containers": [container]})), policy, Remedy::Swap) {
        Planned::Refused(why) => why.reason,
        other => panic!("not refused: {other:?}"),
    }
}

fn asks(timings: Value) -> Value {
    let mut probe = json!({"exec": {"command": ["pg_isready"]}, "timeoutSeconds": 5});
    for (name, value) in timings.as_object().unwrap() {
        probe[name] = value.clone();
    }
    probe
}

fn postgres(fields: Value) -> Value {
    let mut container =
        json!({"name": "db", "image": "postgres:16", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}});
    for (name, value) in fields.as_object().unwrap() {
        container[name] = value.clone();
    }
    container
}

#[test]
fn numbers_are_the_policys_else_the_more_lenient() {
    let container = postgres(
        json!({"livenessProbe": asks(json!({"initialDelaySeconds": 300, "periodSeconds": 30, "timeoutSeconds": 20, "failureThreshold": 20}))}),
    );
    let lenient = &swapped(&container, "")["livenessProbe"];
    assert_eq!(
        *lenient,
        json!({"timeoutSeconds": 20, "initialDelaySeconds": 300, "periodSeconds": 30, "failureThreshold": 20, "tcpSocket": {"port": 5432}})
    );
    // The policy may ask for less; what it is silent about stays as patient as it was.
    let stricter = &swapped(&container, "liveness: {initialDelaySeconds: 0, timeoutSeconds: 3}")["livenessProbe"];
    assert_eq!((&stricter["initialDelaySeconds"], &stricter["timeoutSeconds"]), (&json!(0), &json!(3)));
    assert_eq!((&stricter["periodSeconds"], &stricter["failureThreshold"]), (&json!(30), &json!(20)));
    assert!(kills_after(stricter) < kills_after(lenient), "which the owner of the policy states");
}

/// Nothing is put before this liveness: its socket is out of reach, and its check must not be repeated. A policy that
/// states less patience would shorten the time that a recovery has.
#[test]
fn a_policy_takes_no_time_from_a_recovery_that_nothing_holds() {
    let never_passes = json!({"exec": {"command": ["sh", "-c", "pg_isready; exit 1"]}, "initialDelaySeconds": 4000});
    let policy = "{startup: {recoveryAllowanceSeconds: 60}, liveness: {initialDelaySeconds: 0, timeoutSeconds: 7}}";
    let container = postgres(json!({"livenessProbe": never_passes, "args": ["-c", "listen_addresses=localhost"]}));
    let object = stateful_set(json!({"containers": [container]}));
    for remedy in [Remedy::Swap, Remedy::Additive] {
        let plan = plan_of(&object, policy, remedy);
        let after = plan.patched(&Workload::new(object.clone())).unwrap();
        let liveness = &after.pod_spec().unwrap()["containers"][0]["livenessProbe"];
        assert_eq!((&liveness["initialDelaySeconds"], &liveness["timeoutSeconds"]), (&json!(4000), &json!(7)));
        assert!(plan.notes.iter().any(|note| note.contains("initialDelaySeconds stays 4000")), "{:?}", plan.notes);
    }
}

/// The API refuses a startup probe without a handler, so it guards nothing.
#[test]
fn an_empty_startup_probe_is_given_a_handler_where_that_may_be() {
    let slow = asks(json!({"initialDelaySeconds": 30, "periodSeconds": 60}));
    let container = postgres(json!({"livenessProbe": slow, "startupProbe": {}}));
    let policy = "{startup: {recoveryAllowanceSeconds: 60}, liveness: {periodSeconds: 1}}";
    let after = swapped(&container, policy);
    assert_eq!(after["startupProbe"]["tcpSocket"], json!({"port": 5432}));
    assert!(startup_seconds(&after["startupProbe"]) >= 60);
    // An owner who states it gets nothing that they would put back, and no less time either.
    let mut object = stateful_set(json!({"containers": [container]}));
    object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!(object.to_string());
    let plan = plan_of(&object, policy, Remedy::Additive);
    let after = plan.patched(&Workload::new(object.clone())).unwrap();
    let liveness = &after.pod_spec().unwrap()["containers"][0]["livenessProbe"];
    assert!(
        kills_after(liveness) >= kills_after(&object["spec"]["template"]["spec"]["containers"][0]["livenessProbe"])
    );
}

#[test]
fn what_moves_to_readiness_leaves_behind_what_only_a_liveness_may_have() {
    let liveness =
        asks(json!({"terminationGracePeriodSeconds": 60, "failureThreshold": 50, "initialDelaySeconds": 300}));
    let after = swapped(&postgres(json!({"livenessProbe": liveness})), "");
    assert_eq!(
        after["readinessProbe"],
        json!({"exec": {"command": ["pg_isready"]}, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3}),
        "a pod that is out of rotation for the liveness's fifty failures is no use"
    );
    assert_eq!(after["livenessProbe"]["terminationGracePeriodSeconds"], 60, "it stays where it was");
}

#[test]
fn a_startup_probe_holds_for_the_allowance_and_is_what_the_liveness_is() {
    let with =
        |startup: Value| swapped(&postgres(json!({"livenessProbe": asks(json!({})), "startupProbe": startup})), "");
    for startup in [
        asks(json!({"failureThreshold": 30})),
        asks(json!({"periodSeconds": 7, "initialDelaySeconds": 20})),
        json!({"exec": {"command": ["/ready.sh"]}}),
        json!({"httpGet": {"port": 8080}, "failureThreshold": 1}),
        json!({"tcpSocket": {"port": 5432}, "failureThreshold": 3}),
        json!({"tcpSocket": {"port": 5432}, "periodSeconds": 3600, "failureThreshold": 1}),
    ] {
        let after = with(startup.clone());
        assert!(startup_seconds(&after["startupProbe"]) >= 3600, "{startup} became {}", after["startupProbe"]);
        assert_eq!(after["startupProbe"]["tcpSocket"], json!({"port": 5432}), "{startup}");
        assert_eq!(support::judge::handlers(&after["startupProbe"]), ["tcpSocket"], "{startup}");
    }
    let covers = asks(json!({"failureThreshold": 360}));
    assert_eq!(with(covers.clone())["startupProbe"], covers, "one that holds is left alone");
}

#[test]
fn a_socket_is_no_guard_before_a_check_that_stays() {
    // Nothing may be dialled from outside, so the check stays, and the socket before it would let it start at once.
    let container = postgres(json!({
        "args": ["-c", "listen_addresses=127.0.0.1"], "livenessProbe": asks(json!({})),
        "startupProbe": {"tcpSocket": {"port": 5432}, "timeoutSeconds": 5, "failureThreshold": 360},
    }));
    let after = swapped(&container, "");
    assert_eq!(support::judge::handlers(&after["startupProbe"]), ["exec"]);
    assert_eq!(after["startupProbe"]["exec"], after["livenessProbe"]["exec"]);
}

#[test]
fn additive_adds_a_readiness_that_repeats_the_check_and_says_what_is_left() {
    let object = stateful_set(json!({"containers": [postgres(json!({"livenessProbe": asks(json!({}))}))]}));
    let plan = plan_of(&object, "", Remedy::Additive);
    let after = plan.patched(&Workload::new(object)).unwrap();
    let container = &after.pod_spec().unwrap()["containers"][0];
    assert_eq!(container["readinessProbe"]["exec"], container["livenessProbe"]["exec"]);
    assert_eq!(container["startupProbe"]["exec"], container["livenessProbe"]["exec"]);
    let cured: Vec<_> = plan.cured.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(cured, ["RP009", "RP011"]);
    let left: Vec<_> = plan.remaining.iter().map(|finding| (finding.rule, finding.severity)).collect();
    assert_eq!(
        left,
        [("RP001", Severity::Warning), ("RP008", Severity::Warning), ("RP014", Severity::Info)],
        "no longer critical, and not silent"
    );
}

#[test]
fn requests_are_added_and_never_lowered() {
    let policy = "resources: {requests: {cpu: '1', memory: 2Gi}, limits: {memory: 3Gi}}";
    let of = |resources: Value| {
        let container = postgres(json!({"livenessProbe": asks(json!({})), "resources": resources}));
        swapped(&container, policy)["resources"].clone()
    };
    let full = json!({"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "3Gi"}});
    assert_eq!(of(json!({})), full);
    assert_eq!(of(json!({"requests": {"cpu": "0", "memory": "0"}})), full);
    assert_eq!(
        of(json!({"requests": {"cpu": "4"}})),
        json!({"requests": {"cpu": "4", "memory": "2Gi"}, "limits": {"memory": "3Gi"}})
    );
    let small = json!({"requests": {"cpu": "10m", "memory": "8Gi"}});
    assert_eq!(of(small.clone()), small, "what is there is its owner's measure");
    let limits_only = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
    assert_eq!(of(limits_only.clone()), limits_only, "such a pod keeps its class");
    let below = json!({"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "500m", "memory": "1Gi"}});
    assert_eq!(of(below.clone()), below, "a request above the limit would be refused");
    let memory_limit = json!({"limits": {"memory": "8Gi"}});
    assert_eq!(of(memory_limit), json!({"limits": {"memory": "8Gi"}, "requests": {"cpu": "1"}}));
}

#[test]
fn a_cpu_limit_that_goes_leaves_its_request_behind() {
    let policy = "resources: {cpuLimit: Remove, requests: {cpu: '2', memory: 1Gi}}";
    let of = |resources: Value| {
        let container = postgres(json!({"livenessProbe": asks(json!({})), "resources": resources}));
        swapped(&container, policy)["resources"].clone()
    };
    assert_eq!(
        of(json!({"limits": {"cpu": "500m", "memory": "1Gi"}})),
        json!({"limits": {"memory": "1Gi"}, "requests": {"cpu": "500m"}}),
        "the limit stood in for it"
    );
    assert_eq!(
        of(json!({"requests": {"cpu": "0", "memory": "1Gi"}, "limits": {"cpu": "1"}})),
        json!({"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {}}),
        "a zero is the policy's to fill, and the limit is no longer in the way"
    );
}

#[test]
fn half_of_the_requests_is_better_than_none() {
    let container = postgres(json!({"readinessProbe": asks(json!({})), "resources": {}}));
    let object = stateful_set(json!({"containers": [container]}));
    let plan = plan_of(&object, "resources: {requests: {cpu: 500m}}", Remedy::Swap);
    assert_eq!(
        plan.template_patch["spec"]["template"]["spec"]["containers"][0]["resources"],
        json!({"requests": {"cpu": "500m"}})
    );
    let left: Vec<_> = plan.remaining.iter().map(|finding| format!("{finding} {:?}", finding.applicability)).collect();
    assert!(left[0].contains("RP005") && left[0].contains("memory") && left[0].ends_with("ReportOnly"), "{left:?}");
}

#[test]
fn a_database_as_native_sidecar_is_patched_where_it_stands() {
    let mut sidecar = postgres(json!({"livenessProbe": asks(json!({}))}));
    sidecar["restartPolicy"] = json!("Always");
    let object = stateful_set(
        json!({"initContainers": [{"name": "first"}, sidecar], "containers": [{"name": "app", "image": "x"}]}),
    );
    let plan = plan_of(&object, "", Remedy::Swap);
    let sent = &plan.template_patch["spec"]["template"]["spec"];
    assert_eq!(sent.as_object().unwrap().keys().collect::<Vec<_>>(), ["initContainers"]);
    assert_eq!(sent["initContainers"][0]["name"], "db");
    let after = plan.patched(&Workload::new(object)).unwrap();
    assert_eq!(after.containers().len(), 3);
    assert_eq!(after.pod_spec().unwrap()["initContainers"][1]["restartPolicy"], "Always");
}

#[test]
fn two_databases_in_one_pod_are_one_patch() {
    let cache = json!({"name": "cache", "image": "redis:7", "livenessProbe": {"exec": {"command": ["sh", "-c", "redis-cli ping | grep PONG"]}, "timeoutSeconds": 5}});
    let object = stateful_set(json!({"containers": [postgres(json!({"livenessProbe": asks(json!({}))})), cache]}));
    let plan = plan_of(&object, "", Remedy::Swap);
    assert_eq!(plan.dials, [("db".to_owned(), 5432), ("cache".to_owned(), 6379)]);
    let sent = plan.template_patch["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    assert_eq!(sent.iter().map(|c| c["name"].as_str().unwrap()).collect::<Vec<_>>(), ["db", "cache"]);
}

#[test]
fn the_port_is_the_one_that_is_known_or_none() {
    let liveness = |fields: Value| {
        let mut all = json!({"livenessProbe": asks(json!({}))});
        for (name, value) in fields.as_object().unwrap() {
            all[name] = value.clone();
        }
        postgres(all)
    };
    let dials =
        |container: &Value, policy: &str| swapped(container, policy)["livenessProbe"]["tcpSocket"]["port"].clone();
    assert_eq!(dials(&liveness(json!({"ports": [{"name": "sql", "containerPort": 5999}]})), ""), 5999);
    let by_name = json!({"readinessProbe": {"tcpSocket": {"port": "sql"}, "timeoutSeconds": 5}, "ports": [{"name": "sql", "containerPort": 5999}, {"containerPort": 5432}]});
    assert_eq!(dials(&liveness(by_name), ""), 5999, "the port that a probe asks already");
    assert_eq!(dials(&liveness(json!({"env": [{"name": "PGPORT", "value": "5433"}]})), ""), 5433);
    let hint = "databases: [{container: db, engine: PostgreSQL, port: 6000}]";
    let unclear = liveness(json!({"ports": [{"containerPort": 1}, {"containerPort": 2}]}));
    assert_eq!(refusal(&unclear, ""), "AmbiguousPorts");
    assert_eq!(dials(&unclear, hint), 6000);
    let hidden =
        liveness(json!({"env": [{"name": "PGPORT", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}]}));
    assert_eq!(refusal(&hidden, ""), "AmbiguousPorts");
    let udp = liveness(json!({"ports": [{"name": "sql", "containerPort": 5999, "protocol": "UDP"}]}));
    assert_eq!(dials(&udp, ""), 5432, "no probe dials UDP");
}

#[test]
fn under_patroni_its_own_answer_counts() {
    let patroni = |fields: Value| {
        let mut container = postgres(fields);
        container["image"] = json!("ghcr.io/zalando/spilo-16:3.3");
        container
    };
    let asked = json!({"livenessProbe": asks(json!({})), "ports": [{"name": "patroni", "containerPort": 8008}]});
    let after = swapped(&patroni(asked), "");
    assert_eq!(after["livenessProbe"]["httpGet"], json!({"path": "/liveness", "port": 8008, "scheme": "HTTP"}));
    assert_eq!(after["startupProbe"]["httpGet"], after["livenessProbe"]["httpGet"]);
    assert_eq!(refusal(&patroni(json!({"livenessProbe": asks(json!({}))})), ""), "PatroniPortUnknown");
}

#[test]
fn what_is_not_certain_is_not_restarted() {
    let probable = json!({"name": "db", "image": "example/pg", "env": [{"name": "PGDATA"}],
        "volumeMounts": [{"mountPath": "/var/lib/postgresql/data"}], "livenessProbe": {"exec": {"command": ["sh", "-c", "/x || exit 1"]}}});
    assert_eq!(refusal(&probable, ""), "EngineUnsure");
    let contradicted =
        json!({"name": "db", "image": "redis:7", "livenessProbe": {"exec": {"command": ["redis-cli", "ping"]}}});
    assert_eq!(refusal(&contradicted, "databases: [{container: db, engine: PostgreSQL}]"), "EngineUnsure");
    // A helper with the database's image keeps nobody from the database.
    let helper = json!({"name": "backup", "image": "postgres:16", "command": ["/backup.sh"]});
    let object = stateful_set(json!({"containers": [postgres(json!({"livenessProbe": asks(json!({}))})), helper]}));
    let plan = plan_of(&object, "resources: {requests: {cpu: 1}}", Remedy::Swap);
    assert!(plan.changes.iter().all(|change| change.container() == Some("db")));
}

#[test]
fn the_patch_stands_where_the_kind_has_its_pod_spec() {
    let spec = json!({"containers": [postgres(json!({"livenessProbe": asks(json!({}))}))]});
    let pod = json!({"kind": "Pod", "metadata": {"name": "db"}, "spec": spec});
    let job = json!({"kind": "CronJob", "metadata": {"name": "db"}, "spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}});
    let deployment = json!({"kind": "Deployment", "metadata": {"name": "db"}, "spec": {"template": {"spec": spec}}});
    for object in [pod, job, deployment] {
        let after = plan_of(&object, "", Remedy::Swap).patched(&Workload::new(object.clone())).unwrap();
        assert_eq!(after.containers().len(), 1);
        assert!(
            after.pod_spec().unwrap()["containers"][0]["livenessProbe"]["tcpSocket"].is_object(),
            "{}",
            object["kind"]
        );
    }
}

#[test]
fn a_plan_is_the_same_whatever_the_objects_version() {
    let container = postgres(json!({"livenessProbe": asks(json!({}))}));
    let mut object = stateful_set(json!({"containers": [container]}));
    let one = plan_of(&object, "", Remedy::Swap).digest;
    object["metadata"]["resourceVersion"] = json!("77");
    object["status"] = json!({"replicas": 1});
    assert_eq!(plan_of(&object, "", Remedy::Swap).digest, one);
    assert_ne!(plan_of(&object, "liveness: {failureThreshold: 9}", Remedy::Swap).digest, one);
    assert_eq!(one.len(), 16);
}

/// `consul operator raft list-peers` fails on every server when one leader is lost. Gossip is bound to the pod's address,
/// 8500 by default to loopback, and both open after the snapshot is restored.
#[test]
fn consul_is_asked_over_gossip_behind_a_startup_probe() {
    let container = json!({
        "name": "consul", "image": "bitnami/consul:1.21",
        "ports": [{"name": "http", "containerPort": 8500}, {"name": "serflan-tcp", "containerPort": 8301}],
        "livenessProbe": {"exec": {"command": ["consul", "operator", "raft", "list-peers"]}, "timeoutSeconds": 5},
        "readinessProbe": {"exec": {"command": ["consul", "members"]}, "timeoutSeconds": 5},
    });
    let after = swapped(&container, "");
    assert_eq!(after["livenessProbe"]["tcpSocket"], json!({"port": 8301}));
    assert_eq!(after["startupProbe"]["tcpSocket"], json!({"port": 8301}));
    assert_eq!(startup_seconds(&after["startupProbe"]), 3600);
    assert_eq!(after["readinessProbe"]["exec"]["command"], json!(["consul", "members"]));
}

/// A sealed Vault waits for a person; killing it makes it wait for ever.
#[test]
fn a_sealed_vault_is_not_killed() {
    let container = json!({
        "name": "vault", "image": "hashicorp/vault:1.20", "args": ["server"],
        "ports": [{"name": "http", "containerPort": 8200}],
        "livenessProbe": {"exec": {"command": ["vault", "status", "-tls-skip-verify"]}, "timeoutSeconds": 5},
        "readinessProbe": {"exec": {"command": ["vault", "status", "-tls-skip-verify"]}, "timeoutSeconds": 5},
    });
    let after = swapped(&container, "");
    assert_eq!(after["livenessProbe"]["tcpSocket"], json!({"port": 8200}));
    assert_eq!(after["readinessProbe"]["exec"]["command"][1], "status");
}

/// Whether the console speaks HTTP or HTTPS is what today's probes say; where none says it, the check stays.
#[test]
fn cockroachdb_is_asked_as_its_other_probes_ask() {
    let container = |readiness: Value| {
        json!({
            "name": "db", "image": "cockroachdb/cockroach:v25.1.5", "args": ["start"],
            "ports": [{"name": "sql", "containerPort": 26257}, {"name": "http", "containerPort": 8080}],
            "livenessProbe": {"exec": {"command": ["cockroach", "node", "status"]}, "timeoutSeconds": 5},
            "readinessProbe": readiness,
        })
    };
    let https = json!({"httpGet": {"path": "/health?ready=1", "port": "http", "scheme": "HTTPS"}, "timeoutSeconds": 5});
    let after = swapped(&container(https), "");
    let expected = json!({"path": "/health", "port": 8080, "scheme": "HTTPS"});
    assert_eq!(after["livenessProbe"]["httpGet"], expected);
    assert_eq!(after["startupProbe"]["httpGet"], expected);
    assert_eq!(after["readinessProbe"]["httpGet"]["path"], "/health?ready=1");

    // A startup probe that waits for a majority would keep the first pod of a stopped cluster from ever being ready.
    let object =
        stateful_set(json!({"containers": [container(json!({"tcpSocket": {"port": 26257}, "timeoutSeconds": 5}))]}));
    match planned(&object, "", Remedy::Swap) {
        Planned::Nothing(notes) => assert!(notes.iter().any(|note| note.contains("HTTP or HTTPS")), "{notes:?}"),
        other => panic!("{other:?}"),
    }
}

/// The readiness URL in the liveness kills a node that nobody has initialised yet (cockroachdb/cockroach#44832). Without
/// another cure it is at least given the time of a recovery.
#[test]
fn a_readiness_url_gets_a_startup_probe() {
    let probe =
        json!({"httpGet": {"path": "/health?ready=1", "port": "http"}, "periodSeconds": 5, "timeoutSeconds": 5});
    let container = json!({
        "name": "db", "image": "cockroachdb/cockroach:v23.1", "args": ["start"],
        "ports": [{"name": "http", "containerPort": 8080}], "livenessProbe": probe, "readinessProbe": probe,
    });
    let after = swapped(&container, "");
    assert_eq!(startup_seconds(&after["startupProbe"]), 3600);
}

/// `/_up` is for load balancers: 404 in maintenance mode. Recovery is none of its reasons.
#[test]
fn a_couchdb_in_maintenance_is_not_in_recovery() {
    let up = json!({"httpGet": {"path": "/_up", "port": 5984}, "timeoutSeconds": 5});
    let object = stateful_set(json!({"containers": [{
        "name": "couchdb", "image": "couchdb:3.5.0", "ports": [{"containerPort": 5984}],
        "livenessProbe": up, "readinessProbe": up, "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }]}));
    let workload = Workload::new(object);
    let policy: PolicySpec = serde_yaml::from_str("{}").unwrap();
    let found: Vec<_> = detect(&Case::new(&workload, &policy, None)).iter().map(|finding| finding.rule).collect();
    assert!(found.contains(&"RP008") && !found.contains(&"RP009"), "{found:?}");
}

/// What is left alone gets no write, whatever is found, and says why.
#[test]
fn an_engine_that_is_left_alone_is_left_alone() {
    let object = stateful_set(json!({"containers": [{
        "name": "db", "image": "gvenzl/oracle-free:23",
        "livenessProbe": {"tcpSocket": {"port": 1521}, "timeoutSeconds": 1},
        "readinessProbe": {"exec": {"command": ["healthcheck.sh"]}, "timeoutSeconds": 1},
    }]}));
    let workload = Workload::new(object.clone());
    let policy: PolicySpec = serde_yaml::from_str("{}").unwrap();
    let findings = detect(&Case::new(&workload, &policy, None));
    assert!(!findings.is_empty());
    assert!(findings.iter().all(|finding| finding.fix.contains("untouched")), "{findings:?}");
    assert!(!matches!(planned(&object, "", Remedy::Swap), Planned::Plan(_)));
}
