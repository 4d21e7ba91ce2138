//! Whatever JSON comes in, nothing panics.

use proptest::prelude::*;
use proptest::sample::Index;
use reprieve::core::detect::{Case, detect};
use reprieve::core::model::policy::select;
use reprieve::core::model::workload::Workload;
use reprieve::core::remedy::record::State;
use reprieve::core::remedy::verify::{still_applied, verify, verify_pod};
use reprieve::core::remedy::{Planned, Remedy, plan};
use reprieve::core::rollout::{Answer, Effect, Memory, Observation, render_pod};
use serde_json::{Value, json};

use crate::config;
use crate::generate::{anything, manifests, places, policies};
use crate::support::server::Server;
use crate::support::world::{drive, observe};

/// A workload in which something stands that has no business there.
fn broken() -> impl Strategy<Value = Value> {
    let patches = proptest::collection::vec((any::<Index>(), anything()), 1..4);
    prop_oneof![
        1 => anything(),
        6 => (manifests(), patches).prop_map(|(manifest, patches)| {
            let mut object = Server::holding(&manifest).stored;
            for (at, value) in patches {
                let places = places(&object);
                if let Some(place) = object.pointer_mut(&places[at.index(places.len())]) {
                    *place = value;
                }
            }
            object
        }),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn nothing_panics_on_any_workload(
        object in broken(), pods in proptest::collection::vec(anything(), 0..3), policy in policies(),
        answers in proptest::collection::vec(anything(), 8), effective in anything(), swap: bool,
    ) {
        let workload = Workload::new(object.clone());
        let remedy = if swap { Remedy::Swap } else { Remedy::Additive };
        let _ = select(&workload, None, std::slice::from_ref(&policy));
        let _ = render_pod(&workload);
        let _ = State::read(&workload);
        let case = Case::new(&workload, &policy.spec, Some(&effective));
        let found = detect(&case);
        for finding in &found {
            let _ = (finding.to_string(), finding.key());
        }
        if let Planned::Plan(plan) = plan(&case, &found, remedy, true) {
            let body = plan.body(&workload, 1);
            for after in answers.iter().chain([&object]) {
                for violation in verify(&workload, after, &plan, &body, &policy.spec) {
                    let _ = violation.to_string();
                }
                let _ = verify_pod(Some(&effective), &object, after, &plan);
                let _ = verify_pod(None, &object, after, &plan);
                let _ = still_applied(&Workload::new(after.clone()), &plan);
            }
        }
        let observation = Observation {
            workload, pods, policy, rolling_elsewhere: 0, now: "2026-12-05T02:30:00Z".parse().unwrap(),
            memory: Some(Memory { plan: String::new(), writes: i32::MAX, policy: String::new() }),
        };
        let mut answers = answers.into_iter();
        let mut server = Server::holding(&json!({"kind": "StatefulSet"}));
        server.stored = object;
        let run = drive(&observation, |effect| match effect {
            Effect::CheckFit(_) => Answer::Fit(Ok(())),
            Effect::CheckPort(_) => Answer::Port(Ok(())),
            _ => answers.next().map_or(Answer::Gone, Answer::Object),
        });
        // Without a base to bind the write to there is none.
        let bound = |field: &str| observation.workload.json().pointer(field).and_then(Value::as_str).is_some_and(|s| !s.is_empty());
        if !bound("/metadata/uid") || !bound("/metadata/resourceVersion") {
            prop_assert!(run.effects.iter().all(|effect| !matches!(effect, Effect::DryRunWorkload(_) | Effect::Apply(_))));
        }
    }

    #[test]
    fn nothing_panics_on_any_annotation_or_pod(
        manifest in manifests(), policy in policies(), texts in proptest::collection::vec("[ -~\\n]{0,40}", 4),
        pod in anything(), at in any::<Index>(), value in anything(), pods_text in "\\PC{0,30}",
    ) {
        let mut server = Server::holding(&manifest);
        for (name, text) in
            ["reprieve.dev/original", "reprieve.dev/state", "reprieve.dev/ignore", "kubectl.kubernetes.io/last-applied-configuration"]
                .into_iter().zip(&texts)
        {
            if !text.is_empty() {
                server.stored["metadata"]["annotations"][name] = json!(text);
            }
        }
        server.stored["metadata"]["annotations"]["reprieve.dev/policy"] = json!(pods_text);
        let mut observation = observe(&server, &policy);
        let _ = select(&observation.workload, None, std::slice::from_ref(&policy));
        let places = places(&observation.pods[0]);
        if let Some(place) = observation.pods[0].pointer_mut(&places[at.index(places.len())]) {
            *place = value;
        }
        observation.pods.push(pod);
        drive(&observation, |effect| server.answer(effect));
    }
}
