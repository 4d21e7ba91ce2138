//! Requests and limits: RP005, RP006.

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
