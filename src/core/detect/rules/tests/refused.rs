//! Probes that the API refuses or that tell nothing: RP018, RP019.

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

#[test]
fn rp019_probes_that_tell_nothing() {
    let of = |field: &str, probe: Value| found("RP019", &postgres(&json!({field: probe})));
    let command = |text: &str| exec(&["sh", "-c", text], &json!({}));
    assert_eq!(of("readinessProbe", command("pg_isready || true")), ["readinessProbe warning ReportOnly"]);
    assert_eq!(of("livenessProbe", command("pg_isready || true")), ["livenessProbe info ReportOnly"]);
    assert_eq!(of("livenessProbe", command("pg_isready && exit 1")), ["livenessProbe critical ReportOnly"]);
    assert_eq!(of("livenessProbe", command("pg_isready; exit 1")), ["livenessProbe critical ReportOnly"]);
    assert_eq!(of("readinessProbe", command("pg_isready; exit 1")), ["readinessProbe warning ReportOnly"]);
    for honest in ["true", "echo ok", "exit 0"] {
        assert_eq!(of("livenessProbe", command(honest)), NOTHING, "{honest} checks nothing, and says so");
    }
    assert_eq!(of("livenessProbe", command("pg_isready")), NOTHING);
    assert_eq!(of("livenessProbe", command("pgrep postgres")), NOTHING);
}

#[test]
fn rp019_ports_that_nobody_answers() {
    let mut container = postgres(&json!({"livenessProbe": {"tcpSocket": {"port": "pg"}, "timeoutSeconds": 5}}));
    assert_eq!(found("RP019", &container), ["livenessProbe info ReportOnly"], "it never fails");
    container["ports"] = json!([{"name": "pg", "containerPort": 5432, "protocol": "UDP"}]);
    assert_eq!(found("RP019", &container), ["livenessProbe info ReportOnly"], "no probe dials UDP");
    container["ports"] = json!([{"name": "pg", "containerPort": 5432}]);
    assert_eq!(found("RP019", &container), NOTHING);
    let startup = |probe: Value| found("RP019", &postgres(&json!({"startupProbe": probe})));
    assert_eq!(startup(json!({"httpGet": {"port": "web"}})), ["startupProbe warning ReportOnly"], "it never passes");
    assert_eq!(startup(json!({"httpGet": {"port": "8080"}})), NOTHING, "a number in quotes is one");
    container["args"] = json!(["-c", "listen_addresses=127.0.0.1"]);
    assert_eq!(found("RP019", &container), ["livenessProbe critical ReportOnly"]);
    container["livenessProbe"] = asks();
    assert_eq!(found("RP019", &container), NOTHING, "a client in the container gets through");
}

#[test]
fn rp019_parts_of_a_command_that_do_nothing() {
    let of = |command: &[&str]| found("RP019", &postgres(&json!({"readinessProbe": exec(command, &json!({}))})));
    assert_eq!(of(&["sh", "-c", "exec pg_isready && test -f /x"]), ["readinessProbe info ReportOnly"]);
    let liveness = |text: &str| postgres(&json!({"livenessProbe": exec(&["sh", "-c", text], &json!({}))}));
    let narrowed = liveness("exec pg_isready && test -f /x");
    assert_eq!(found("RP011", &narrowed), ["readinessProbe warning Safe"], "a check is there");
}
