//! Requests and limits: RP005, RP006, RP007.

use super::*;

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
    assert_eq!(of(json!({"limits": {"cpu": "1", "memory": "1Gi"}}), &both), NOTHING, "limits stand in for requests");
    let spec = json!({"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}, "containers": [{"name": "a", "image": "postgres"}]});
    let pod_level = found_in(&spec, &json!({}), &json!({}), None);
    assert!(pod_level.iter().all(|line| !line.starts_with("RP005")), "pod-level requests cover it: {pod_level:?}");
}

#[test]
fn rp005_names_what_is_missing() {
    let of = |resources: Value| {
        let spec = json!({"containers": [postgres(&json!({"resources": resources}))]});
        finding("RP005", &spec).evidence["missing"].clone()
    };
    assert_eq!(of(json!({})), json!(["cpu", "memory"]));
    assert_eq!(of(json!({"requests": {"cpu": "1"}})), json!(["memory"]));
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
fn rp005_requests_for_show() {
    let of = |resources: Value| found("RP005", &postgres(&json!({"resources": resources})));
    for token in [
        json!({"requests": {"cpu": "1m", "memory": "1Gi"}}),
        json!({"requests": {"cpu": "1", "memory": "1Mi"}}),
        json!({"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "2Gi"}}),
    ] {
        assert_eq!(of(token.clone()), ["resources warning ReportOnly"], "{token}");
    }
    for measured in [
        json!({"requests": {"cpu": "10m", "memory": "32Mi"}}),
        json!({"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "2Gi"}}),
    ] {
        assert_eq!(of(measured.clone()), NOTHING, "{measured}");
    }
    let policy = json!({"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}});
    let token = postgres(&json!({"resources": {"requests": {"cpu": "1m", "memory": "1Gi"}}}));
    assert_eq!(found_under("RP005", &token, &policy), ["resources warning ReportOnly"], "its owner wrote it");
}

#[test]
fn rp005_a_sidecar_that_lowers_the_class() {
    let equal = json!({"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"cpu": "2", "memory": "4Gi"}});
    let beside = |sidecar: Value| {
        let spec = json!({"containers": [postgres(&json!({"resources": equal})), sidecar]});
        let found = found_in(&spec, &json!({}), &json!({}), None);
        found.into_iter().filter(|line| line.starts_with("RP005")).collect::<Vec<_>>()
    };
    assert_eq!(beside(json!({"name": "exporter", "image": "x"})), ["RP005 resources info ReportOnly"]);
    assert_eq!(beside(json!({"name": "exporter", "image": "x", "resources": equal})), NOTHING);
    let spec = json!({"containers": [postgres(&json!({"resources": equal})), {"name": "exporter", "image": "x"}]});
    assert!(message("RP005", &spec).contains("because of exporter"));
}

#[test]
fn rp007_no_headroom() {
    let with_limit = |resources: Value| postgres(&json!({"resources": resources}));
    let equal = with_limit(json!({"requests": {"cpu": "1", "memory": "1024Mi"}, "limits": {"memory": "1Gi"}}));
    assert_eq!(found("RP007", &equal), ["resources info OptIn"]);
    assert_eq!(found("RP007", &with_limit(json!({"limits": {"cpu": "1", "memory": "1Gi"}}))), ["resources info OptIn"]);
    assert_eq!(
        found("RP007", &with_limit(json!({"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}))),
        NOTHING
    );
    assert_eq!(found("RP007", &with_limit(json!({"requests": {"memory": "1Gi"}}))), NOTHING);
    let policy =
        |limit: &str, rules: &[&str]| json!({"resources": {"limits": {"memory": limit}}, "rules": {"optIn": rules}});
    assert_eq!(found_under("RP007", &equal, &policy("2Gi", &["RP007"])), ["resources info Safe"]);
    assert_eq!(found_under("RP007", &equal, &policy("2Gi", &[])), ["resources info OptIn"]);
    assert_eq!(
        found_under("RP007", &equal, &policy("1Gi", &["RP007"])),
        ["resources info OptIn"],
        "that is no headroom"
    );
    let guaranteed = with_limit(json!({"limits": {"cpu": "1", "memory": "1Gi"}}));
    assert!(message("RP007", &json!({"containers": [guaranteed]})).contains("Guaranteed"));
    assert!(!message("RP007", &json!({"containers": [equal]})).contains("Guaranteed"));
}
