//! Probes that the API or the container makes useless: RP018.

use super::*;

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
