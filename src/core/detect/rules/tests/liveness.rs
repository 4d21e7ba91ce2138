//! What the liveness asks, and what else decides it: RP001, RP002, RP008.

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
