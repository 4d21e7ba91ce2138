//! What a remedy makes of checks that others decide, and of what belongs to the pod: its grace period, its class.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![allow(clippy::needless_pass_by_value, reason = "the values are written where they are used")]

mod support;

use reprieve::api::PolicySpec;
use reprieve::core::detect::{Applicability, Case, detect};
use reprieve::core::model::workload::Workload;
use reprieve::core::remedy::record::State;
use reprieve::core::remedy::verify::verify;
use reprieve::core::remedy::{Plan, Planned, Remedy, Violation, patch, plan};
use reprieve::core::rollout::{Answer, Effect, PodOf};
use serde_json::{Value, json};

use support::judge::{handlers, startup_seconds};
use support::server::Server;
use support::world::{assert_cured, assert_unwritten, drive, observe, policy, run};

fn stateful_set(spec: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"serviceName": "db", "replicas": 2, "template": {"spec": spec}}})
}

fn planned(object: &Value, policy: &str, remedy: Remedy) -> Planned {
    let workload = Workload::new(object.clone());
    let policy: PolicySpec = serde_yaml::from_str(policy).unwrap();
    let case = Case::new(&workload, &policy, None);
    plan(&case, &detect(&case), remedy, true)
}

fn plan_of(object: &Value, policy: &str, remedy: Remedy) -> Plan {
    match planned(object, policy, remedy) {
        Planned::Plan(plan) => *plan,
        other => panic!("no plan: {other:?}"),
    }
}

fn swapped(object: &Value, policy: &str) -> Value {
    let after = plan_of(object, policy, Remedy::Swap).patched(&Workload::new(object.clone())).unwrap();
    after.pod_spec().unwrap().clone()
}

fn patroni(fields: Value) -> Value {
    let mut container = json!({"name": "db", "image": "registry/spilo-15:3.0-p1",
        "ports": [{"name": "patroni", "containerPort": 8008}],
        "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}}});
    for (name, value) in fields.as_object().unwrap() {
        container[name] = value.clone();
    }
    stateful_set(json!({"terminationGracePeriodSeconds": 300, "containers": [container]}))
}

fn role() -> Value {
    json!({"httpGet": {"path": "/replica?lag=16MB", "port": "patroni", "scheme": "HTTPS",
        "httpHeaders": [{"name": "X-Probe", "value": "1"}]}, "timeoutSeconds": 5})
}

#[test]
fn of_a_role_check_only_the_path_changes() {
    let after = &swapped(&patroni(json!({"livenessProbe": role(), "readinessProbe": role()})), "{}")["containers"][0];
    let mut expected = role()["httpGet"].clone();
    expected["path"] = json!("/liveness");
    assert_eq!(after["livenessProbe"]["httpGet"], expected);
    assert_eq!(handlers(&after["livenessProbe"]), ["httpGet"]);
    assert_eq!(after["readinessProbe"]["httpGet"], role()["httpGet"], "who gets reads is the owner's business");
}

#[test]
fn a_role_check_becomes_nothing_else() {
    let after = &swapped(&patroni(json!({"livenessProbe": role()})), "{}")["containers"][0];
    assert_eq!(after.get("readinessProbe"), None, "one member would be ready, and the others not");
    assert_eq!(after["startupProbe"]["httpGet"], after["livenessProbe"]["httpGet"]);
    // Who re-applies it states the handler. A startup probe with the same check would hold every replica back.
    let mut owned = patroni(json!({"livenessProbe": role()}));
    owned["metadata"]["annotations"] = json!({"meta.helm.sh/release-name": "db"});
    match planned(&owned, "{}", Remedy::Additive) {
        Planned::Nothing(notes) => {
            assert!(notes.iter().any(|note| note.contains("it rests on the role that Patroni gave it")), "{notes:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_startup_probe_that_others_decide_becomes_what_the_liveness_is() {
    let alive = json!({"httpGet": {"path": "/liveness", "port": 8008}, "timeoutSeconds": 5, "failureThreshold": 6});
    let mut startup = role();
    startup["failureThreshold"] = json!(30);
    let object = patroni(json!({"livenessProbe": alive, "readinessProbe": role(), "startupProbe": startup}));
    let after = &swapped(&object, "{}")["containers"][0];
    assert_eq!(after["startupProbe"]["httpGet"], alive["httpGet"]);
    assert!(startup_seconds(&after["startupProbe"]) >= 3600);
    assert_eq!(after["livenessProbe"], alive, "which was right");
}

#[test]
fn without_a_port_for_patroni_a_role_check_is_reported() {
    let mut object = patroni(
        json!({"livenessProbe": {"exec": {"command": ["curl", "-f", "http://localhost:8008/primary"]}, "timeoutSeconds": 5}}),
    );
    object["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([]);
    let workload = Workload::new(object);
    let policy = PolicySpec::default();
    let found = detect(&Case::new(&workload, &policy, None));
    let of_role = found.iter().find(|finding| finding.rule == "RP012").unwrap();
    assert_eq!(of_role.applicability, Applicability::ReportOnly);
}

const OPT_IN: &str = "rules: {optIn: [RP014]}";

fn postgres(grace: Option<i64>, hook: Value) -> Value {
    let mut spec = json!({"containers": [{"name": "db", "image": "postgres:16", "lifecycle": {"preStop": hook},
        "readinessProbe": {"exec": {"command": ["pg_isready"]}, "timeoutSeconds": 5},
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]});
    if let Some(grace) = grace {
        spec["terminationGracePeriodSeconds"] = json!(grace);
    }
    stateful_set(spec)
}

#[test]
fn a_grace_period_is_raised_and_never_lowered() {
    let none = Value::Null;
    for (before, hook, after) in
        [(None, none.clone(), 60), (Some(0), none.clone(), 60), (Some(45), json!({"sleep": {"seconds": 10}}), 70)]
    {
        let object = postgres(before, hook);
        assert_eq!(swapped(&object, OPT_IN)["terminationGracePeriodSeconds"], after);
        assert!(matches!(planned(&object, "{}", Remedy::Swap), Planned::Nothing(_)), "it is asked for by name");
    }
    assert!(matches!(planned(&postgres(Some(600), none), OPT_IN, Remedy::Swap), Planned::Nothing(_)));
}

#[test]
fn the_whole_way_of_a_grace_period() {
    let mut server = Server::holding(&postgres(None, Value::Null));
    let policy = policy(OPT_IN);
    let run = assert_cured(&mut server, &policy);
    let body = run.applied().unwrap();
    assert_eq!(body["spec"]["template"]["spec"], json!({"terminationGracePeriodSeconds": 60}), "and nothing else");
    assert!(run.outcome.message.contains("still stops the running pods after 30 s"), "{}", run.outcome.message);
    assert_eq!(body["metadata"]["annotations"]["reprieve.dev/original"], "pod/spec terminationGracePeriodSeconds 30");
    let stored = Workload::new(server.stored.clone());
    let state = State::read(&stored).unwrap().unwrap();
    assert_eq!(state.values["pod/spec terminationGracePeriodSeconds"], "60");
    assert!(state.is_in_force(&stored));
    // Put back, it is not fought.
    server.stored["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(30);
    assert!(!state.is_in_force(&Workload::new(server.stored.clone())));
    let again = self::run(&mut server, &policy);
    assert_eq!((again.outcome.status, again.outcome.reason), ("Contested", "Reverted"), "{}", again.outcome.message);
    assert_eq!(server.writes, 1);
}

#[test]
fn a_stated_grace_period_is_its_owners() {
    let statement = |spec: Value| json!({"spec": {"template": {"spec": spec}}}).to_string();
    let of = |manifest: Value| {
        let mut object = postgres(Some(30), Value::Null);
        object["metadata"]["annotations"] =
            json!({"kubectl.kubernetes.io/last-applied-configuration": statement(manifest)});
        planned(&object, OPT_IN, Remedy::Additive)
    };
    let Planned::Plan(plan) = of(json!({"containers": []})) else { panic!("the server filled it in") };
    assert_eq!(plan.changes[0].becomes(), "60");
    match of(json!({"terminationGracePeriodSeconds": 30})) {
        Planned::Nothing(notes) => assert!(notes[0].contains("stays 30, because its owner states it"), "{notes:?}"),
        other => panic!("{other:?}"),
    }
    let mut helm = Server::holding(&postgres(Some(30), Value::Null));
    helm.stored["metadata"]["annotations"] = json!({"meta.helm.sh/release-name": "db"});
    let run = run(&mut helm, &policy(OPT_IN));
    assert_unwritten(&helm, &run);
    assert!(run.outcome.message.contains("or may state it"), "{}", run.outcome.message);
}

#[test]
fn a_result_with_less_time_to_stop_is_refused() {
    let object = postgres(None, Value::Null);
    let policy: PolicySpec = serde_yaml::from_str(OPT_IN).unwrap();
    let before = Workload::new(object.clone());
    let plan = plan_of(&object, OPT_IN, Remedy::Swap);
    let body = plan.template_patch.clone();
    let mut after = patch::apply(&object, &body).unwrap();
    assert_eq!(verify(&before, &after, &plan, &body, &policy), []);
    after["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(10);
    let violations = verify(&before, &after, &plan, &body, &policy);
    assert!(violations.contains(&Violation::StopsSooner { before: 30, after: 10 }), "{violations:?}");
    assert!(violations.iter().any(|v| v.to_string().contains("should be 60 and is 10")), "{violations:?}");
}

fn limited(resources: Value) -> Value {
    let mut object = postgres(Some(300), Value::Null);
    object["spec"]["template"]["spec"]["containers"][0]["resources"] = resources;
    object
}

#[test]
fn a_memory_limit_is_raised_without_its_request() {
    let policy = "{resources: {limits: {memory: 3Gi}}, rules: {optIn: [RP007]}}";
    let of = |resources: Value| swapped(&limited(resources), policy)["containers"][0]["resources"].clone();
    assert_eq!(
        of(json!({"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "2Gi"}})),
        json!({"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "3Gi"}})
    );
    assert_eq!(
        of(json!({"limits": {"cpu": "1", "memory": "2048Mi"}})),
        json!({"limits": {"cpu": "1", "memory": "3Gi"}, "requests": {"memory": "2Gi"}}),
        "which the limit stood in for"
    );
    let higher = limited(json!({"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"memory": "4Gi"}}));
    assert!(matches!(planned(&higher, policy, Remedy::Swap), Planned::Nothing(_)), "a limit is never lowered");
}

#[test]
fn a_pod_that_is_guaranteed_no_more_says_so() {
    let equal = json!({"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "1", "memory": "2Gi"}});
    let mut server = Server::holding(&limited(equal));
    let run = assert_cured(&mut server, &policy("{resources: {limits: {memory: 3Gi}}, rules: {optIn: [RP007]}}"));
    let message = &run.outcome.message;
    assert!(message.contains("Guaranteed") && message.contains("Burstable"), "{message}");
}

#[test]
fn a_timeout_that_is_raised_goes_above_the_one_inside() {
    let of = |seconds: i64| {
        let text = format!("redis-cli -t {seconds} ping | grep PONG");
        let probe = json!({"exec": {"command": ["sh", "-c", text]}, "timeoutSeconds": 1});
        let object = stateful_set(json!({"terminationGracePeriodSeconds": 300, "containers": [{"name": "db",
            "image": "redis:7", "readinessProbe": probe, "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}));
        swapped(&object, "{}")["containers"][0]["readinessProbe"]["timeoutSeconds"].clone()
    };
    assert_eq!((of(3), of(5), of(9)), (json!(5), json!(6), json!(10)));
    assert_eq!(of(60), 5, "such a limit is no reason to wait for a minute");
}

/// Also where no pod of today's template can be made to compare with: its two handlers are refused.
#[test]
fn a_limit_that_admission_takes_from_the_patched_pod_is_noticed() {
    let bounded = json!({"name": "second", "image": "postgres:16", "livenessProbe": {"exec": {"command": ["pgrep", "postgres"]}, "timeoutSeconds": 5},
        "resources": {"requests": {"memory": "512Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}});
    let two = json!({"exec": {"command": ["pg_isready"]}, "tcpSocket": {"port": 5432}, "timeoutSeconds": 5});
    let one = json!({"tcpSocket": {"port": 5432}, "timeoutSeconds": 5});
    for startup in [two, one] {
        let first = json!({"name": "db", "image": "postgres:16", "startupProbe": startup});
        let mut server = Server::of_old(&stateful_set(json!({"containers": [first, bounded]})));
        let policy = policy("{mode: Enforce, selectAll: true, rules: {optIn: [RP006]}}");
        let mut is_taken = false;
        let run = drive(&observe(&server, &policy), |effect| {
            let mut answer = server.answer(effect);
            if let (Effect::DryRunPod(PodOf::PatchedTemplate, _), Answer::Object(pod)) = (effect, &mut answer) {
                let limits = pod["spec"]["containers"][1]["resources"]["limits"].as_object_mut().unwrap();
                is_taken = limits.remove("memory").is_some();
            }
            answer
        });
        assert!(is_taken, "the patched pod was looked at");
        let is_left = run.outcome.message.contains("left as they are");
        assert!(run.applied().is_none() || is_left, "{}", run.outcome.message);
    }
}
