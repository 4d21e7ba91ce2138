//! Numbers: RP003, RP004, RP009, RP010, RP017.

use super::*;

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
fn rp010_a_delay_for_a_startup_probe() {
    let of = |image: &str, command: &[&str], delay: i64, more: &Value| {
        let mut probes = json!({"livenessProbe": exec(command, &json!({"initialDelaySeconds": delay}))});
        for (name, value) in more.as_object().unwrap() {
            probes[name] = value.clone();
        }
        found("RP010", &with(image, &probes))
    };
    let alone = json!({});
    assert_eq!(of("postgres", &["pg_isready"], 300, &alone), ["livenessProbe info ReportOnly"]);
    assert_eq!(of("postgres", &["pg_isready"], 30, &alone), ["livenessProbe info ReportOnly"]);
    assert_eq!(of("postgres", &["pg_isready"], 29, &alone), NOTHING);
    assert_eq!(of("postgres", &["pgrep", "postgres"], 300, &alone), NOTHING, "it stands in for nothing");
    assert_eq!(of("postgres", &["pg_isready"], 300, &json!({"startupProbe": asks()})), NOTHING);
}

#[test]
fn rp017_longer_than_its_period() {
    let of = |timings: Value, policy: &Value| {
        let mut probe = json!({"tcpSocket": {"port": 5432}});
        for (name, value) in timings.as_object().unwrap() {
            probe[name] = value.clone();
        }
        found_under("RP017", &postgres(&json!({"livenessProbe": probe})), policy)
    };
    let none = json!({});
    assert_eq!(
        of(json!({"timeoutSeconds": 10}), &none),
        ["livenessProbe info ReportOnly"],
        "the period is 10 by default"
    );
    assert_eq!(of(json!({"timeoutSeconds": 9}), &none), NOTHING);
    assert_eq!(of(json!({"timeoutSeconds": 5, "periodSeconds": 5}), &none), NOTHING, "what a client needs");
    assert_eq!(of(json!({"timeoutSeconds": 6, "periodSeconds": 5}), &none), ["livenessProbe info ReportOnly"]);
    assert_eq!(
        of(json!({"timeoutSeconds": 30}), &json!({"liveness": {"timeoutSeconds": 30}})),
        NOTHING,
        "it is asked for"
    );
    let hangs = message(
        "RP017",
        &json!({"containers": [postgres(&json!({"livenessProbe": {
        "tcpSocket": {"port": 5432}, "timeoutSeconds": 300, "failureThreshold": 3}}))]}),
    );
    assert!(hangs.contains("900 s"), "{hangs}");
}

#[test]
fn rp017_a_limit_inside_the_probe() {
    let of = |text: &str, timeout: i64| {
        let probe = json!({"exec": {"command": ["sh", "-c", text]}, "timeoutSeconds": timeout});
        found("RP017", &postgres(&json!({"readinessProbe": probe})))
    };
    for text in ["pg_isready -t 5", "pg_isready --timeout=5"] {
        assert_eq!(of(text, 5), ["readinessProbe info ReportOnly"], "{text}");
        assert_eq!(of(text, 6), NOTHING, "{text}");
    }
    assert_eq!(of("pg_isready", 1), NOTHING);
    let probe = json!({"exec": {"command": ["sh", "-c", "pg_isready -t 20"]}, "timeoutSeconds": 15});
    let both = message("RP017", &json!({"containers": [postgres(&json!({"livenessProbe": probe}))]}));
    assert!(both.contains("-t 20") && both.contains("period of 10 s"), "{both}");
}
