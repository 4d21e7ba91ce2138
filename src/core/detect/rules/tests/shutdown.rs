//! How long the database has to stop: RP014.

use super::*;

fn in_pod(container: &Value, grace: Option<i64>, policy: &Value) -> Vec<String> {
    let mut spec = json!({"containers": [container]});
    spec["terminationGracePeriodSeconds"] = json!(grace);
    let all = found_in(&spec, &json!({}), policy, None);
    let all = if grace.is_some() { all } else { found_left_out(&spec) };
    all.iter().filter_map(|line| Some(line.strip_prefix("RP014 ")?.to_owned())).collect()
}

fn found_left_out(spec: &Value) -> Vec<String> {
    let mut spec = spec.clone();
    spec.as_object_mut().unwrap().remove("terminationGracePeriodSeconds");
    let workload = Workload::new(json!({"kind": "StatefulSet", "spec": {"template": {"spec": spec}}}));
    let found = detect(&Case::new(&workload, &PolicySpec::default(), None));
    found.iter().map(|f| format!("{} {} {} {:?}", f.rule, f.field(), f.severity, f.applicability)).collect()
}

#[test]
fn rp014_the_pods_grace_period() {
    let of = |image: &str, grace: Option<i64>| in_pod(&with(image, &json!({})), grace, &json!({}));
    let field = |severity: &str| vec![format!("terminationGracePeriodSeconds {severity} OptIn")];
    assert_eq!(of("postgres", None), field("info"), "half of what it needs");
    assert_eq!(of("postgres", Some(29)), field("warning"));
    assert_eq!(of("postgres", Some(0)), field("warning"));
    assert_eq!(of("postgres", Some(60)), NOTHING);
    assert_eq!(of("mysql", None), field("warning"));
    assert_eq!(of("mysql", Some(120)), NOTHING);
    assert_eq!(of("redis-sentinel", Some(1)), NOTHING, "it holds no data");
    let opted_in = json!({"rules": {"optIn": ["RP014"]}});
    let found = in_pod(&with("postgres", &json!({})), Some(30), &opted_in);
    assert_eq!(found, ["terminationGracePeriodSeconds info Safe"]);
    let text = message("RP014", &json!({"containers": [with("postgres", &json!({}))]}));
    assert!(text.contains("30 s") && text.contains("nobody said otherwise") && text.contains("checkpoint"), "{text}");
    assert!(text.contains("Pods that run now keep their old grace period"), "{text}");
}

#[test]
fn rp014_a_hook_that_sleeps_uses_it_up() {
    let of = |hook: Value, grace: i64| {
        in_pod(&with("postgres", &json!({"lifecycle": {"preStop": hook}})), Some(grace), &json!({}))
    };
    let needs_more = |hook: Value| !of(hook.clone(), 74).is_empty() && of(hook, 75).is_empty();
    assert!(needs_more(json!({"sleep": {"seconds": 15}})));
    assert!(needs_more(json!({"exec": {"command": ["sleep", "15"]}})));
    assert!(needs_more(json!({"exec": {"command": ["sh", "-c", "touch /x; sleep 10 && sleep 5s"]}})));
    let fast = json!({"exec": {"command": ["pg_ctl", "stop", "-m", "fast"]}});
    assert_eq!(of(fast, 60), NOTHING, "a hook that stops the server is part of the stop");
}

#[test]
fn rp014_a_probes_own_grace_period() {
    let of = |own: i64, grace: i64| {
        let probe = json!({"tcpSocket": {"port": 5432}, "timeoutSeconds": 5, "terminationGracePeriodSeconds": own});
        in_pod(&postgres(&json!({"livenessProbe": probe})), Some(grace), &json!({}))
    };
    assert_eq!(of(5, 60), ["livenessProbe info ReportOnly"]);
    assert_eq!(of(60, 60), NOTHING);
    assert_eq!(of(30, 30), ["terminationGracePeriodSeconds info OptIn"], "one word is enough");
}

#[test]
fn rp014_of_two_databases_the_slower_one_counts() {
    let mut mysql = with("mysql", &json!({}));
    mysql["name"] = json!("b");
    for containers in [json!([postgres(&json!({})), mysql]), json!([mysql, postgres(&json!({}))])] {
        let workload =
            Workload::new(json!({"kind": "StatefulSet", "spec": {"template": {"spec": {"containers": containers}}}}));
        let found = detect(&Case::new(&workload, &PolicySpec::default(), None));
        let of_rule: Vec<_> = found.iter().filter(|f| f.rule == "RP014").collect();
        assert_eq!(of_rule.len(), 1);
        assert_eq!((of_rule[0].container.as_str(), &of_rule[0].evidence["neededSeconds"]), ("b", &json!(120)));
    }
}
