use super::*;
use crate::api::PolicySpec;
use crate::core::detect::detect;
use crate::core::model::workload::Workload;
use serde_json::{Value, json};

/// What is found in a pod spec under a policy, as `RULE field severity applicability`.
fn found_in(spec: &Value, metadata: &Value, policy: &Value, effective: Option<&Value>) -> Vec<String> {
    let workload =
        Workload::new(json!({"kind": "StatefulSet", "metadata": metadata, "spec": {"template": {"spec": spec}}}));
    let policy: PolicySpec = serde_json::from_value(policy.clone()).unwrap();
    detect(&Case::new(&workload, &policy, effective))
        .iter()
        .map(|f| format!("{} {} {} {:?}", f.rule, f.field(), f.severity, f.applicability))
        .collect()
}

/// The same for one container, one rule and no policy.
fn found(rule: &str, container: &Value) -> Vec<String> {
    found_under(rule, container, &json!({}))
}

fn found_under(rule: &str, container: &Value, policy: &Value) -> Vec<String> {
    let all = found_in(&json!({"containers": [container]}), &json!({}), policy, None);
    all.iter().filter_map(|line| Some(line.strip_prefix(rule)?.trim().to_owned())).collect()
}

fn with(image: &str, fields: &Value) -> Value {
    let mut container = json!({"name": "a", "image": image, "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}});
    for (name, value) in fields.as_object().unwrap() {
        container[name] = value.clone();
    }
    container
}

fn postgres(fields: &Value) -> Value {
    with("postgres:16", fields)
}

fn exec(command: &[&str], timings: &Value) -> Value {
    let mut probe = json!({"exec": {"command": command}, "timeoutSeconds": 5});
    for (name, value) in timings.as_object().unwrap() {
        probe[name] = value.clone();
    }
    probe
}

fn asks() -> Value {
    exec(&["pg_isready"], &json!({}))
}

const NOTHING: &[&str] = &[];

#[test]
fn rp001_a_check_that_recovery_fails() {
    let liveness = |image: &str, probe: Value| found("RP001", &with(image, &json!({"livenessProbe": probe})));
    assert_eq!(liveness("postgres", asks()), ["livenessProbe critical Safe"]);
    assert_eq!(liveness("mysql", exec(&["mysqladmin", "ping"], &json!({}))), ["livenessProbe critical Safe"]);
    assert_eq!(
        liveness("redis", exec(&["sh", "-c", "redis-cli ping | grep PONG"], &json!({}))),
        ["livenessProbe critical Safe"]
    );
    assert_eq!(liveness("postgres", json!({"tcpSocket": {"port": 5432}})), NOTHING);
    assert_eq!(liveness("postgres", exec(&["pgrep", "postgres"], &json!({}))), NOTHING);
    assert_eq!(liveness("redis", exec(&["redis-cli", "ping"], &json!({}))), NOTHING, "LOADING exits with 0");
    assert_eq!(
        liveness("redis", exec(&["sh", "-c", "test \"$(redis-cli ping)\" = PONG"], &json!({}))),
        ["livenessProbe warning ReportOnly"],
        "it cannot be told, which is a reason to say so"
    );
    let elsewhere = exec(&["pg_isready", "-h", "primary"], &json!({}));
    assert_eq!(liveness("postgres", elsewhere), ["livenessProbe warning ReportOnly"]);
}

#[test]
fn rp001_a_startup_probe_is_enough_for_late_ports_only() {
    let both = |image: &str, command: &[&str], startup: Value| {
        let probes = json!({"livenessProbe": exec(command, &json!({})), "startupProbe": startup});
        found("RP001", &with(image, &probes))
    };
    let ping = ["mysqladmin", "ping"];
    let covers = |command: &[&str]| exec(command, &json!({"failureThreshold": 360}));
    assert_eq!(both("mysql", &ping, covers(&ping)), NOTHING);
    assert_eq!(both("mysql", &ping, exec(&ping, &json!({"failureThreshold": 359}))), ["livenessProbe critical Safe"]);
    assert_eq!(
        both("mysql", &ping, covers(&["/ready.sh"])),
        ["livenessProbe warning ReportOnly"],
        "a script that may pass at once guards nothing for certain"
    );
    assert_eq!(
        both("postgres", &["pg_isready"], covers(&["pg_isready"])),
        ["livenessProbe warning Safe"],
        "PostgreSQL also recovers inside a running container"
    );
    let opens_at_once = json!({"tcpSocket": {"port": 5432}, "failureThreshold": 360});
    assert_eq!(both("postgres", &["pg_isready"], opens_at_once), ["livenessProbe critical Safe"]);
}

#[test]
fn rp002_a_script_that_nobody_can_read() {
    let liveness = |image: &str, command: &[&str], more: &Value| {
        let mut probes = json!({"livenessProbe": exec(command, &json!({}))});
        if more.is_object() {
            probes["startupProbe"] = more.clone();
        }
        found("RP002", &with(image, &probes))
    };
    let none = Value::Null;
    assert_eq!(liveness("postgres", &["/alive.sh"], &none), ["livenessProbe warning Safe"]);
    assert_eq!(liveness("mysql", &["/alive.sh"], &none), ["livenessProbe warning ReportOnly"]);
    let covers = exec(&["mysqladmin", "ping"], &json!({"failureThreshold": 360}));
    assert_eq!(liveness("mysql", &["/alive.sh"], &covers), NOTHING);
    assert_eq!(liveness("redis", &["/health/ping_liveness_local.sh", "5"], &none), NOTHING, "it is known");
    assert_eq!(liveness("goharbor/harbor-db", &["/docker-healthcheck.sh"], &none), NOTHING, "RP001 knows what it does");
    let mut loopback = postgres(&json!({"livenessProbe": exec(&["/alive.sh"], &json!({}))}));
    loopback["args"] = json!(["-c", "listen_addresses=localhost"]);
    assert_eq!(found("RP002", &loopback), ["livenessProbe warning ReportOnly"], "no socket can replace it");
}

#[test]
fn rp003_and_rp004_tell_a_stated_second_from_a_default() {
    let of = |rule: &str, probe: Value| found(rule, &postgres(&json!({"readinessProbe": probe})));
    let one = |handler: Value| {
        let mut probe = handler;
        probe["timeoutSeconds"] = json!(1);
        probe
    };
    let command = json!({"exec": {"command": ["pg_isready"]}});
    assert_eq!(of("RP003", one(command.clone())), ["readinessProbe warning Safe"]);
    assert_eq!(of("RP004", one(command.clone())), NOTHING);
    assert_eq!(of("RP004", command.clone()), ["readinessProbe warning Safe"]);
    assert_eq!(of("RP003", command.clone()), NOTHING);
    assert_eq!(of("RP003", asks()), NOTHING, "five seconds");
    assert_eq!(of("RP003", one(json!({"tcpSocket": {"port": 5432}}))), ["readinessProbe info ReportOnly"]);
    assert_eq!(
        of("RP004", json!({"exec": {"command": ["pg_isready"]}, "timeoutSeconds": 0})),
        ["readinessProbe warning Safe"]
    );
    let socket = postgres(&json!({"livenessProbe": {"tcpSocket": {"port": 5432}, "timeoutSeconds": 1}}));
    assert_eq!(found("RP003", &socket), ["livenessProbe info Safe"]);
    let meant = json!({"readiness": {"timeoutSeconds": 1}});
    assert_eq!(found_under("RP003", &postgres(&json!({"readinessProbe": one(command)})), &meant), NOTHING);
}

#[test]
fn rp004_in_a_live_object_says_which_it_is_where_that_is_known() {
    let probe = json!({"exec": {"command": ["pg_isready"]}, "timeoutSeconds": 1});
    let container = postgres(&json!({"readinessProbe": probe}));
    let of = |metadata: &Value| -> Vec<String> {
        let all = found_in(&json!({"containers": [container]}), metadata, &json!({}), None);
        all.into_iter().filter(|line| line.starts_with("RP003") || line.starts_with("RP004")).collect()
    };
    let fields = |probe: &Value| {
        json!({"uid": "u", "managedFields": [{"manager": "flux", "operation": "Apply", "fieldsV1": {"f:spec": {"f:template": {"f:spec":
            {"f:containers": {"k:{\"name\":\"a\"}": {"f:readinessProbe": probe}}}}}}}]})
    };
    assert_eq!(of(&json!({"uid": "u"})), ["RP004 readinessProbe warning Safe"]);
    assert_eq!(of(&fields(&json!({"f:timeoutSeconds": {}}))), ["RP003 readinessProbe warning Safe"]);
    assert_eq!(of(&fields(&json!({"f:exec": {}}))), ["RP004 readinessProbe warning Safe"]);
}

#[test]
fn rp003_names_a_sidecars_second_and_leaves_it() {
    let spec = json!({
        "initContainers": [{"name": "proxy", "restartPolicy": "Always", "image": "x", "livenessProbe": {"tcpSocket": {"port": 1}, "timeoutSeconds": 1}}],
        "containers": [postgres(&json!({"readinessProbe": asks()})), {"name": "app", "image": "x", "livenessProbe": {"tcpSocket": {"port": 1}}}],
    });
    assert_eq!(found_in(&spec, &json!({}), &json!({}), None), ["RP003 livenessProbe info ReportOnly"]);
}

#[test]
fn rp005_requests() {
    let of = |resources: Value, policy: &Value| {
        found_under("RP005", &postgres(&json!({"resources": resources})), &json!({"resources": {"requests": policy}}))
    };
    let both = json!({"cpu": "1", "memory": "1Gi"});
    assert_eq!(of(json!({}), &both), ["resources warning Safe"]);
    assert_eq!(of(json!({}), &json!({})), ["resources warning ReportOnly"], "it guesses none");
    assert_eq!(of(json!({"requests": {"cpu": "1"}}), &json!({"cpu": "1"})), ["resources warning ReportOnly"]);
    assert_eq!(of(json!({"requests": {"cpu": "0", "memory": "1Gi"}}), &both), ["resources warning Safe"]);
    assert_eq!(of(json!({"requests": {"ephemeral-storage": "1Gi"}}), &both), ["resources warning Safe"]);
    assert_eq!(of(json!({"requests": {"cpu": "1m", "memory": "1"}}), &both), NOTHING);
    assert_eq!(of(json!({"limits": {"cpu": "1", "memory": "1Gi"}}), &both), NOTHING, "limits stand in for requests");
    let spec = json!({"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}, "containers": [{"name": "a", "image": "postgres"}]});
    let pod_level = found_in(&spec, &json!({}), &json!({}), None);
    assert!(pod_level.iter().all(|line| !line.starts_with("RP005")), "pod-level requests cover it: {pod_level:?}");
}

#[test]
fn rp006_cpu_limits() {
    let limited = postgres(&json!({"resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}}));
    assert_eq!(found("RP006", &limited), ["resources info OptIn"]);
    assert_eq!(found_under("RP006", &limited, &json!({"resources": {"cpuLimit": "Remove"}})), ["resources info Safe"]);
    assert_eq!(found_under("RP006", &limited, &json!({"rules": {"optIn": ["RP006"]}})), ["resources info Safe"]);
    assert_eq!(found("RP006", &postgres(&json!({}))), NOTHING);
    let mut reads_back = limited;
    reads_back["env"] = json!([{"name": "N", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]);
    let remove = json!({"resources": {"cpuLimit": "Remove"}});
    assert_eq!(found_under("RP006", &reads_back, &remove), ["resources info ReportOnly"]);
    let injected = json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": "500m"}}}]});
    let spec = json!({"containers": [postgres(&json!({"readinessProbe": asks()}))]});
    assert_eq!(
        found_in(&spec, &json!({}), &remove, Some(&injected)),
        ["RP006 resources info ReportOnly"],
        "a limit that the namespace puts there comes back"
    );
}

#[test]
fn rp008_one_check_in_both() {
    let both = |image: &str, one: &[&str], other: &[&str]| {
        let probes = json!({"livenessProbe": exec(one, &json!({})), "readinessProbe": exec(other, &json!({"periodSeconds": 3}))});
        found("RP008", &with(image, &probes))
    };
    assert_eq!(
        both("postgres", &["pg_isready"], &["sh", "-c", "timeout 3 pg_isready"]),
        ["livenessProbe warning Safe"]
    );
    assert_eq!(
        both("postgres", &["pg_isready"], &["sh", "-c", "exec pg_isready && test -f /x"]),
        ["livenessProbe warning Safe"]
    );
    assert_eq!(both("mysql", &["mysqladmin", "ping"], &["mysqladmin", "ping"]), ["livenessProbe warning ReportOnly"]);
    assert_eq!(both("redis", &["redis-cli", "ping"], &["redis-cli", "ping"]), ["livenessProbe warning ReportOnly"]);
    assert_eq!(both("postgres", &["pg_isready"], &["psql", "-c", "select 1"]), NOTHING);
    assert_eq!(both("postgres", &["pg_isready"], &["pg_isready", "-U", "app"]), NOTHING);
    let sockets = json!({"livenessProbe": {"httpGet": {"port": 1}}, "readinessProbe": {"httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}}});
    assert_eq!(found("RP008", &postgres(&sockets)), ["livenessProbe warning ReportOnly"]);
    // With RP001 left out nobody takes the check out of the liveness.
    let probes = json!({"livenessProbe": asks(), "readinessProbe": asks()});
    let left_out = json!({"rules": {"disable": ["RP001"]}});
    assert_eq!(found_under("RP008", &postgres(&probes), &left_out), ["livenessProbe warning ReportOnly"]);
}

#[test]
fn rp009_budgets_against_the_allowance() {
    let of = |fields: &Value| found("RP009", &postgres(fields));
    assert_eq!(of(&json!({"livenessProbe": asks()})), ["livenessProbe critical Safe"]);
    assert_eq!(of(&json!({"livenessProbe": exec(&["pg_isready"], &json!({"failureThreshold": 361}))})), NOTHING);
    let patient = json!({"livenessProbe": exec(&["pg_isready"], &json!({"failureThreshold": 360}))});
    assert_eq!(of(&patient), ["livenessProbe critical Safe"], "the earliest kill is one period earlier");
    let startup = |failures: i64| json!({"livenessProbe": {"tcpSocket": {"port": 5432}}, "startupProbe": exec(&["pg_isready"], &json!({"failureThreshold": failures}))});
    assert_eq!(of(&startup(359)), ["startupProbe critical Safe"], "even before a harmless liveness");
    assert_eq!(of(&startup(360)), NOTHING);
    let open = json!({"livenessProbe": asks(), "startupProbe": {"tcpSocket": {"port": 5432}, "failureThreshold": 3}});
    assert_eq!(of(&open), ["livenessProbe critical Safe"], "a socket lets the liveness start during recovery");
    let unknown = json!({"livenessProbe": {"tcpSocket": {"port": 5432}}, "startupProbe": exec(&["/x.sh"], &json!({}))});
    assert_eq!(of(&unknown), NOTHING, "a script may well pass at once");
    assert_eq!(
        found("RP009", &with("mysql", &json!({"livenessProbe": {"tcpSocket": {"port": 3306}}}))),
        ["livenessProbe critical Safe"]
    );
    let short = json!({"startup": {"recoveryAllowanceSeconds": 60}});
    assert_eq!(
        found_under(
            "RP009",
            &postgres(&json!({"livenessProbe": exec(&["pg_isready"], &json!({"failureThreshold": 7}))})),
            &short
        ),
        NOTHING
    );
}

#[test]
fn rp011_no_readiness() {
    let of = |fields: &Value| found("RP011", &postgres(fields));
    assert_eq!(of(&json!({"livenessProbe": asks()})), ["readinessProbe warning Safe"], "the check moves there");
    assert_eq!(of(&json!({"livenessProbe": {"tcpSocket": {"port": 5432}}})), ["readinessProbe info ReportOnly"]);
    assert_eq!(of(&json!({})), ["readinessProbe info ReportOnly"]);
    assert_eq!(of(&json!({"readinessProbe": asks()})), NOTHING);
    let left_out = json!({"rules": {"disable": ["RP001"]}});
    let asked = postgres(&json!({"livenessProbe": asks()}));
    assert_eq!(found_under("RP011", &asked, &left_out), ["readinessProbe info ReportOnly"]);
}

#[test]
fn rp018_what_the_api_refuses() {
    let of = |field: &str, probe: Value| found("RP018", &postgres(&json!({field: probe})));
    let two = json!({"exec": {"command": ["a"]}, "tcpSocket": {"port": 5432}});
    assert_eq!(of("livenessProbe", two.clone()), ["livenessProbe critical Safe"]);
    assert_eq!(of("livenessProbe", json!({})), ["livenessProbe critical ReportOnly"]);
    assert_eq!(of("livenessProbe", json!({"exec": null, "tcpSocket": {"port": 1}})), NOTHING);
    assert_eq!(of("startupProbe", exec(&["a"], &json!({"successThreshold": 2}))), ["startupProbe critical ReportOnly"]);
    assert_eq!(of("readinessProbe", exec(&["a"], &json!({"successThreshold": 2}))), NOTHING);
    assert_eq!(
        of("readinessProbe", exec(&["a"], &json!({"terminationGracePeriodSeconds": 5}))),
        ["readinessProbe critical ReportOnly"]
    );
    assert_eq!(
        of("livenessProbe", exec(&["a"], &json!({"terminationGracePeriodSeconds": 0}))),
        ["livenessProbe critical ReportOnly"]
    );
    assert_eq!(of("livenessProbe", exec(&["a"], &json!({"terminationGracePeriodSeconds": 5}))), NOTHING);
    let beside = |list: &str, container: Value| {
        let mut spec = json!({"containers": [postgres(&json!({"readinessProbe": asks()}))]});
        match spec[list].as_array_mut() {
            Some(all) => all.push(container),
            None => spec[list] = json!([container]),
        }
        found_in(&spec, &json!({}), &json!({}), None)
    };
    let probed = json!({"name": "i", "image": "x", "livenessProbe": {"exec": {"command": ["a"]}}});
    assert_eq!(beside("initContainers", probed), ["RP018 livenessProbe critical ReportOnly"]);
    let other = json!({"name": "i", "image": "x", "livenessProbe": two});
    assert_eq!(beside("containers", other), ["RP018 livenessProbe critical ReportOnly"], "not ours to choose");
}

#[test]
fn rules_are_left_out_by_policy_and_by_annotation() {
    let spec = json!({"containers": [postgres(&json!({"livenessProbe": asks(), "readinessProbe": {"exec": {"command": ["x"]}}}))]});
    let of = |ignore: &str, disable: &[&str]| {
        let metadata = json!({"annotations": {"reprieve.dev/ignore": ignore}});
        let lines = found_in(&spec, &metadata, &json!({"rules": {"disable": disable}}), None);
        lines.iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("", &[]), ["RP001", "RP004", "RP009"]);
    assert_eq!(of("RP004", &[]), ["RP001", "RP009"]);
    assert_eq!(of(" rp004 , RP009,", &[]), ["RP001"]);
    assert_eq!(of("RP004", &["RP001"]), ["RP009"]);
    for everything in ["*", " * ", "RP004,*"] {
        assert_eq!(of(everything, &[]), NOTHING, "{everything}");
    }
}

#[test]
fn a_databases_image_that_runs_something_else_is_only_reported() {
    let requests = json!({"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}});
    let backup = json!({"name": "backup", "image": "postgres:16", "command": ["/scripts/backup.sh"]});
    let of = |policy: &Value| -> Vec<String> {
        let lines = found_in(&json!({"containers": [backup]}), &json!({}), policy, None);
        lines.into_iter().filter(|line| line.contains("Safe")).collect()
    };
    assert_eq!(of(&requests), NOTHING);
    let mut hinted = requests;
    hinted["databases"] = json!([{"container": "backup", "engine": "PostgreSQL"}]);
    assert_eq!(of(&hinted), ["RP005 resources warning Safe"]);
}

#[test]
fn what_runs_to_completion_is_no_server() {
    let spec = json!({"initContainers": [with("postgres", &json!({"resources": {}}))], "containers": [{"name": "app", "image": "x"}]});
    assert_eq!(found_in(&spec, &json!({}), &json!({}), None), NOTHING);
    // As a native sidecar it is one.
    let mut spec = spec;
    spec["initContainers"][0]["restartPolicy"] = json!("Always");
    assert_eq!(
        found_in(&spec, &json!({}), &json!({}), None),
        ["RP005 resources warning ReportOnly", "RP011 readinessProbe info ReportOnly"]
    );
}

#[test]
fn every_rule_has_its_own_id_and_name() {
    let ids: std::collections::BTreeSet<_> = RULES.iter().map(|rule| rule.id).collect();
    let names: std::collections::BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!((ids.len(), names.len()), (RULES.len(), RULES.len()));
    assert!(RULES.windows(2).all(|pair| pair[0].id < pair[1].id));
}
