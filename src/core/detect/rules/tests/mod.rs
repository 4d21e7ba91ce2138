//! Tests of the rules, by subject.

mod liveness;
mod readiness;
mod refused;
mod resources;
mod shutdown;
mod timing;

use super::*;
use crate::api::PolicySpec;
use crate::core::detect::detect;
use crate::core::model::workload::Workload;
use serde_json::{Value, json};

/// What is found in a pod spec under a policy, as `RULE field severity applicability`.
fn found_in(spec: &Value, metadata: &Value, policy: &Value, effective: Option<&Value>) -> Vec<String> {
    let mut spec = spec.clone();
    // Enough for every engine, so that RP014 keeps out of the other rules' tests.
    if spec.get("terminationGracePeriodSeconds").is_none() {
        spec["terminationGracePeriodSeconds"] = json!(86400);
    }
    let workload =
        Workload::new(json!({"kind": "StatefulSet", "metadata": metadata, "spec": {"template": {"spec": spec}}}));
    let policy: PolicySpec = serde_json::from_value(policy.clone()).unwrap();
    detect(&Case::new(&workload, &policy, effective))
        .iter()
        .map(|f| format!("{} {} {} {:?}", f.rule, f.field(), f.severity, f.applicability))
        .collect()
}

/// The first finding of a rule in a pod spec.
fn finding(rule: &str, spec: &Value) -> Finding {
    let workload = Workload::new(json!({"kind": "StatefulSet", "spec": {"template": {"spec": spec}}}));
    let found = detect(&Case::new(&workload, &PolicySpec::default(), None));
    found.into_iter().find(|finding| finding.rule == rule).unwrap()
}

fn message(rule: &str, spec: &Value) -> String {
    finding(rule, spec).message
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
