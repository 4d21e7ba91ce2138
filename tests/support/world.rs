//! Observations, and a drive from the first step to the outcome.

use reprieve::api::PolicySpec;
use reprieve::core::model::policy::{Policy, PolicyReference};
use reprieve::core::model::workload::Workload;
use reprieve::core::rollout::{Answer, Decision, Effect, Observation, Outcome, Progress, step};
use serde_json::{Value, json};

use super::judge;
use super::server::Server;

/// More than any path takes.
pub const MOST_STEPS: usize = 30;

/// A manifest from its text.
pub fn manifest(yaml: &str) -> Value {
    serde_yaml::from_str(yaml).unwrap()
}

/// A policy in Enforce, with what is written in it.
pub fn policy(yaml: &str) -> Policy {
    let mut spec: PolicySpec =
        if yaml.is_empty() { PolicySpec::default() } else { serde_yaml::from_str(yaml).unwrap() };
    if !yaml.contains("mode:") {
        spec.mode = reprieve::api::Mode::Enforce;
    }
    let reference = PolicyReference { namespace: Some("shop".to_owned()), name: "databases".to_owned() };
    Policy { reference, spec, namespace_selector: None }
}

/// A pod of the workload, running and ready.
pub fn ready_pod(workload: &Value) -> Value {
    let status = |container: &Value| {
        json!({"name": container["name"], "ready": true, "restartCount": 0,
        "state": {"running": {"startedAt": "2026-12-01T00:00:00Z"}}})
    };
    let statuses = |list: &str| -> Vec<Value> {
        workload["spec"]["template"]["spec"][list].as_array().into_iter().flatten().map(status).collect()
    };
    json!({
        "metadata": {"name": format!("{}-0", workload["metadata"]["name"].as_str().unwrap_or("")), "uid": "p0"},
        "spec": {"nodeName": "n1"},
        "status": {"podIP": "10.1.1.7", "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": statuses("containers"), "initContainerStatuses": statuses("initContainers")},
    })
}

/// What the controller would see of a workload in good health.
pub fn observe(server: &Server, policy: &Policy) -> Observation {
    let mut object = server.stored.clone();
    object["status"] = json!({
        "observedGeneration": object["metadata"]["generation"],
        "readyReplicas": object["spec"]["replicas"], "currentRevision": "r1", "updateRevision": "r1",
    });
    Observation {
        pods: vec![ready_pod(&object)],
        workload: Workload::new(object),
        policy: policy.clone(),
        rolling_elsewhere: 0,
        memory: None,
        now: "2026-12-05T02:30:00Z".parse().unwrap(),
    }
}

/// A path that was gone to its end.
pub struct Run {
    pub effects: Vec<Effect>,
    pub answers: Vec<Answer>,
    pub outcome: Outcome,
}

impl Run {
    pub fn applied(&self) -> Option<&Value> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Apply(body) => Some(body),
            _ => None,
        })
    }

    pub fn rules(&self) -> Vec<&'static str> {
        self.outcome.findings.iter().map(|finding| finding.rule).collect()
    }

    /// The findings as `RP001 livenessProbe`.
    pub fn found(&self) -> Vec<String> {
        self.outcome.findings.iter().map(|finding| format!("{} {}", finding.rule, finding.field())).collect()
    }
}

/// Goes the path of a workload to its end.
pub fn drive(observation: &Observation, mut answer: impl FnMut(&Effect) -> Answer) -> Run {
    let (mut effects, mut answers) = (Vec::new(), Vec::new());
    let mut progress = Progress::default();
    for _ in 0..MOST_STEPS {
        let (next, effect) = step(observation, progress);
        progress = next;
        if let Some(outcome) = progress.outcome.clone() {
            assert!(effect.is_none(), "an outcome and something to do");
            return Run { effects, answers, outcome: *outcome };
        }
        let effect = effect.expect("neither an outcome nor something to do");
        let answered = answer(&effect);
        progress.answer = Some(answered.clone());
        effects.push(effect);
        answers.push(answered);
    }
    panic!("no end after {MOST_STEPS} steps: {effects:?}");
}

/// Goes the path against a server.
pub fn run(server: &mut Server, policy: &Policy) -> Run {
    let observation = observe(server, policy);
    drive(&observation, |effect| server.answer(effect))
}

/// What the policy states about the liveness.
pub fn stated(policy: &Policy) -> Vec<(&'static str, i64)> {
    let Some(stated) = &policy.spec.liveness else { return Vec::new() };
    [
        ("initialDelaySeconds", stated.initial_delay_seconds),
        ("periodSeconds", stated.period_seconds),
        ("timeoutSeconds", stated.timeout_seconds),
        ("failureThreshold", stated.failure_threshold),
    ]
    .into_iter()
    .filter_map(|(field, number)| Some((field, i64::from(number?))))
    .collect()
}

/// A write happened, it was sound, and looking again finds nothing more to write.
pub fn assert_cured(server: &mut Server, policy: &Policy) -> Run {
    let before = server.stored.clone();
    let run = run(server, policy);
    let outcome = &run.outcome;
    assert_eq!((outcome.decision, outcome.status), (Decision::Patch, "Applied"), "{}", outcome.message);
    let body = run.applied().expect("a write");
    let allowance = i64::from(policy.spec.startup.recovery_allowance_seconds);
    judge::assert_sound(&before, &server.stored, body, allowance, &stated(policy));
    assert_eq!(server.writes, 1);
    assert_quiet(server, policy);
    run
}

/// Looking again, a hundred times over, writes nothing.
pub fn assert_quiet(server: &mut Server, policy: &Policy) {
    let writes = server.writes;
    for _ in 0..3 {
        let again = self::run(server, policy);
        assert!(again.effects.is_empty(), "not idempotent: {:?}", again.effects);
        assert_eq!(again.outcome.decision, Decision::Noop, "{}", again.outcome.message);
    }
    assert_eq!(server.writes, writes);
}

/// Nothing was written.
pub fn assert_unwritten(server: &Server, run: &Run) {
    assert_eq!((server.writes, run.applied()), (0, None), "{}", run.outcome.message);
}

/// A container of the stored object.
pub fn container<'a>(server: &'a Server, name: &str) -> &'a Value {
    ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| server.stored["spec"]["template"]["spec"][list].as_array().into_iter().flatten())
        .find(|container| container["name"] == name)
        .unwrap()
}
