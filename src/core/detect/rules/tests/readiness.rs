//! Readiness: RP011, RP013, RP016.

use super::*;

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
fn rp011_what_tells_nothing_does_not_become_the_readiness() {
    let always = postgres(&json!({"livenessProbe": exec(&["sh", "-c", "pg_isready; exit 1"], &json!({}))}));
    assert_eq!(found("RP001", &always), ["livenessProbe critical Safe"]);
    assert_eq!(found("RP011", &always), ["readinessProbe info ReportOnly"], "the pod would never be ready");
}

#[test]
fn rp013_bytes_and_not_seconds() {
    let of = |path: &str| {
        let probe = json!({"httpGet": {"path": path, "port": 8008}, "timeoutSeconds": 5});
        with("spilo-16", &json!({"readinessProbe": probe}))
    };
    let text = |path: &str| message("RP013", &json!({"containers": [of(path)]}));
    assert_eq!(found("RP013", &of("/replica?lag=64MB")), ["readinessProbe info ReportOnly"]);
    assert!(text("/replica?lag=64MB").contains("67108864 bytes"), "{}", text("/replica?lag=64MB"));
    assert!(text("/replica?lag=64MB").contains("4 s at 16 MB/s of writes, 64 s at 1 MB/s"));
    assert!(text("/replica?lag=64MB").contains("10 s old, or 160 MB"));
    assert!(text("/readiness?mode=apply&lag=1048576").contains("62 ms at 16 MB/s"));
    assert_eq!(found("RP013", &of("/replica?lag=30")), ["readinessProbe warning ReportOnly"]);
    assert!(text("/replica?lag=30").contains("less than 1 ms"), "{}", text("/replica?lag=30"));
    assert_eq!(found("RP013", &of("/replica?lag=30s")), ["readinessProbe warning ReportOnly"]);
    assert!(text("/replica?lag=30s").contains("sets no limit"));
    assert_eq!(found("RP013", &of("/replica")), NOTHING);
    let curl = exec(&["curl", "-sf", "http://localhost:8008/replica?lag=16MB"], &json!({}));
    assert_eq!(found("RP013", &with("spilo-16", &json!({"readinessProbe": curl}))), ["readinessProbe info ReportOnly"]);
    let plain = json!({"readinessProbe": {"httpGet": {"path": "/x?lag=1", "port": 80}}});
    assert_eq!(found("RP013", &postgres(&plain)), NOTHING, "there is no Patroni");
}

#[test]
fn rp016_ready_too_soon() {
    let of = |image: &str, probe: Value| found("RP016", &with(image, &json!({"readinessProbe": probe})));
    let command = |text: &str| exec(&["sh", "-c", text], &json!({}));
    assert_eq!(of("redis", command("redis-cli ping")), ["readinessProbe warning ReportOnly"], "LOADING exits with 0");
    assert_eq!(of("redis", command("redis-cli ping | grep PONG")), NOTHING);
    assert_eq!(of("redis", command("/health/ping_liveness_local.sh 1")), ["readinessProbe warning ReportOnly"]);
    assert_eq!(of("redis", command("/health/ping_readiness_local.sh 1")), NOTHING);
    assert_eq!(of("postgres", json!({"tcpSocket": {"port": 5432}})), ["readinessProbe info ReportOnly"]);
    assert_eq!(of("mysql", json!({"tcpSocket": {"port": 3306}})), NOTHING, "its port opens when it serves");
    assert_eq!(of("postgres", asks()), NOTHING);
    assert_eq!(of("redis", command("pgrep redis-server")), NOTHING, "which asks nothing, and says so");
    assert_eq!(of("redis-sentinel", command("redis-cli -p 26379 ping")), NOTHING, "it loads nothing");
}
