//! What the liveness asks, and what else decides it: RP001, RP002, RP008, RP012, RP015.

use super::*;

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
        ["livenessProbe critical Safe"]
    );
    assert_eq!(
        liveness("redis", exec(&["sh", "-c", "test \"$(redis-cli ping)\" = \"$WANTED\""], &json!({}))),
        ["livenessProbe warning ReportOnly"],
        "it cannot be told, which is a reason to say so"
    );
    let elsewhere = exec(&["pg_isready", "-h", "primary"], &json!({}));
    assert_eq!(liveness("postgres", elsewhere), NOTHING, "RP012 tells who decides");
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

fn patroni(fields: &Value) -> Value {
    let mut container = with("ghcr.io/zalando/spilo-16:3.3", fields);
    container["ports"] = json!([{"name": "patroni", "containerPort": 8008}]);
    container
}

#[test]
fn rp012_somebody_else_decides() {
    let of = |field: &str, probe: Value| found("RP012", &patroni(&json!({field: probe})));
    let get = |path: &str| json!({"httpGet": {"path": path, "port": "patroni"}, "timeoutSeconds": 5});
    for path in ["/primary", "/master", "/replica?lag=1MB", "/leader", "/read-only", "/"] {
        assert_eq!(of("livenessProbe", get(path)), ["livenessProbe critical Safe"], "{path}");
    }
    for path in ["/liveness", "/health", "/readiness", "/patroni"] {
        assert_eq!(of("livenessProbe", get(path)), NOTHING, "{path}");
    }
    let curl = exec(&["curl", "-f", "http://localhost:8008/primary"], &json!({}));
    assert_eq!(of("livenessProbe", curl), ["livenessProbe critical Safe"]);
    assert_eq!(of("startupProbe", get("/primary")), ["startupProbe critical ReportOnly"], "nothing to take its place");
    let both = json!({"livenessProbe": get("/liveness"), "startupProbe": get("/primary")});
    assert_eq!(found("RP012", &patroni(&both)), ["startupProbe critical Safe"], "it becomes what the liveness is");
    let both = json!({"livenessProbe": get("/primary"), "startupProbe": get("/primary")});
    assert_eq!(found("RP012", &patroni(&both)), ["livenessProbe critical Safe", "startupProbe critical Safe"]);
    // Without Patroni the same path is anybody's.
    assert_eq!(found("RP012", &postgres(&json!({"livenessProbe": get("/primary")}))), NOTHING);
    let elsewhere = postgres(&json!({"livenessProbe": exec(&["pg_isready", "-h", "primary"], &json!({}))}));
    assert_eq!(found("RP012", &elsewhere), ["livenessProbe critical Safe"]);
    let mut loopback = elsewhere.clone();
    loopback["args"] = json!(["-c", "listen_addresses=localhost"]);
    assert_eq!(found("RP012", &loopback), ["livenessProbe critical ReportOnly"], "no socket can replace it");
    let kept = with("mysql", &json!({"livenessProbe": exec(&["mysqladmin", "-h", "primary", "ping"], &json!({}))}));
    assert_eq!(found("RP012", &kept), ["livenessProbe critical ReportOnly"], "no better liveness is known");
}

#[test]
fn rp012_a_readiness_that_waits_for_pods_that_wait_for_it() {
    let of = |spec: Value| {
        let probe = json!({"httpGet": {"path": "/replica", "port": 8008}, "timeoutSeconds": 5});
        let mut object = json!({"kind": "StatefulSet", "spec": {"replicas": 3,
            "template": {"spec": {"containers": [patroni(&json!({"readinessProbe": probe}))]}}}});
        for (name, value) in spec.as_object().unwrap() {
            object["spec"][name] = value.clone();
        }
        let workload = Workload::new(object);
        let found = detect(&Case::new(&workload, &PolicySpec::default(), None));
        found
            .iter()
            .filter(|f| f.rule == "RP012")
            .map(|f| format!("{} {} {:?}", f.field(), f.severity, f.applicability))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(json!({})), ["readinessProbe warning ReportOnly"]);
    assert_eq!(of(json!({"podManagementPolicy": "OrderedReady"})), ["readinessProbe warning ReportOnly"]);
    assert_eq!(of(json!({"podManagementPolicy": "Parallel"})), NOTHING);
    assert_eq!(of(json!({"replicas": 1})), NOTHING);
}

#[test]
fn rp012_takes_rp008_along_and_leaves_rp011() {
    let get = json!({"httpGet": {"path": "/primary", "port": "patroni"}, "timeoutSeconds": 5});
    let both = patroni(&json!({"livenessProbe": get, "readinessProbe": get}));
    assert_eq!(found("RP008", &both), ["livenessProbe warning Safe"]);
    let alone = patroni(&json!({"livenessProbe": get}));
    assert_eq!(found("RP011", &alone), ["readinessProbe info ReportOnly"], "a role is no readiness of every member");
}

#[test]
fn rp015_a_login_that_kills() {
    let of = |image: &str, field: &str, command: &[&str]| {
        found("RP015", &with(image, &json!({field: exec(command, &json!({}))})))
    };
    assert_eq!(of("mysql", "livenessProbe", &["mysqladmin", "status"]), ["livenessProbe warning ReportOnly"]);
    assert_eq!(of("mysql", "startupProbe", &["mysql", "-e", "select 1"]), ["startupProbe warning ReportOnly"]);
    assert_eq!(of("mysql", "readinessProbe", &["mysqladmin", "status"]), NOTHING, "it kills nothing");
    assert_eq!(of("mysql", "livenessProbe", &["mysqladmin", "ping"]), NOTHING);
    assert_eq!(of("postgres", "livenessProbe", &["psql", "-c", "select 1"]), NOTHING);
    let status = exec(&["mysqladmin", "status"], &json!({}));
    let both = with("mysql", &json!({"livenessProbe": status, "startupProbe": status}));
    assert_eq!(found("RP015", &both), ["livenessProbe warning ReportOnly"], "one word is enough");
    assert_eq!(
        of("redis", "livenessProbe", &["redis-cli", "-a", "$P", "-e", "ping"]),
        ["livenessProbe warning Safe"],
        "with RP001"
    );
    assert_eq!(of("redis", "livenessProbe", &["redis-cli", "-e", "ping"]), NOTHING, "it has no password");
}

#[test]
fn rp008_what_is_one_check_and_what_is_not() {
    let both = |one: Value, other: Value| {
        let mut container = with("postgres", &json!({"livenessProbe": one, "readinessProbe": other}));
        container["ports"] = json!([{"name": "pg", "containerPort": 5432}]);
        !found("RP008", &container).is_empty()
    };
    let command = |text: &str| exec(&["sh", "-c", text], &json!({}));
    assert!(both(command("timeout 5 pg_isready"), command("timeout 3 pg_isready")));
    assert!(both(command("PGCONNECT_TIMEOUT=3 pg_isready"), command("PGCONNECT_TIMEOUT=5 pg_isready")));
    assert!(both(json!({"tcpSocket": {"port": "pg"}}), json!({"tcpSocket": {"port": 5432}})), "one port by two names");
    let get = |path: &str| json!({"httpGet": {"path": path, "port": 80}});
    assert!(both(get("/health"), get("/health")));
    assert!(!both(get("/health"), get("/health?ready=1")), "the query decides what is asked");
}
