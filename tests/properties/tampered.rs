//! A dry-run whose result is not what was planned is noticed, wherever it differs.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use reprieve::core::rollout::{Answer, Decision, Effect, PodOf};
use serde_json::{Value, json};

use crate::config;
use crate::generate::{manifests, places, policies};
use crate::support::defaults;
use crate::support::server::Server;
use crate::support::world::{drive, observe};

/// Changes one place of an object; None where the place says the same afterwards.
fn tamper(object: &Value, at: &str, how: &str) -> Option<Value> {
    let mut changed = object.clone();
    let place = changed.pointer_mut(at)?;
    match (how, &mut *place) {
        ("add", Value::Object(map)) => {
            map.insert("unheardOf".to_owned(), json!({"a": 1}));
        }
        ("add", Value::Array(all)) => {
            let more = all.first().cloned().unwrap_or_else(|| json!("x"));
            all.push(more);
        }
        ("replace", Value::Number(number)) => *place = json!(number.as_i64()? + 1),
        ("replace", Value::String(text)) => *place = json!(format!("{text}x")),
        ("replace", Value::Bool(truth)) => *place = json!(!*truth),
        ("remove", _) => {
            let (parent, name) = at.rsplit_once('/')?;
            let name = name.replace("~1", "/").replace("~0", "~");
            match changed.pointer_mut(parent)? {
                Value::Object(map) => drop(map.shift_remove(&name)),
                Value::Array(all) => drop(all.remove(name.parse().ok()?)),
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(changed)
}

fn is_judged(at: &str) -> bool {
    let volatile = ["resourceVersion", "generation", "managedFields", "uid", "creationTimestamp"];
    !volatile.iter().any(|field| at.starts_with(&format!("/metadata/{field}"))) && !at.starts_with("/status")
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_tampered_workload_is_never_written(
        manifest in manifests(), policy in policies(), at in any::<Index>(), how in select(vec!["add", "replace", "remove"]),
    ) {
        let mut server = Server::of_old(&manifest);
        let observation = observe(&server, &policy);
        let mut where_and_how = None;
        let run = drive(&observation, |effect| {
            let answer = server.answer(effect);
            let (Effect::DryRunWorkload(_), Answer::Object(object)) = (effect, &answer) else { return answer };
            let places: Vec<_> = places(object).into_iter().filter(|at| is_judged(at)).collect();
            let at = &places[at.index(places.len())];
            let Some(changed) = tamper(object, at, how) else { return answer };
            // What the defaults make the same again is no difference.
            let (mut one, mut other) = (object.clone(), changed.clone());
            defaults::stateful_set(&mut one);
            defaults::stateful_set(&mut other);
            if one == other {
                return answer;
            }
            where_and_how = Some(format!("{how} {at}"));
            Answer::Object(changed)
        });
        if let Some(what) = where_and_how {
            prop_assert!(run.applied().is_none(), "{what} went unnoticed");
            prop_assert_ne!(run.outcome.decision, Decision::Patch);
        }
    }

    #[test]
    fn a_tampered_pod_is_never_written(
        manifest in manifests(), policy in policies(), at in any::<Index>(), how in select(vec!["add", "replace", "remove"]),
    ) {
        let mut server = Server::holding(&manifest);
        let observation = observe(&server, &policy);
        let mut tampered = None;
        let mut has_current = true;
        let run = drive(&observation, |effect| {
            let answer = server.answer(effect);
            has_current &= !matches!(answer, Answer::Rejected { .. });
            // Without a pod of today's template nothing tells what admission adds.
            if how == "add" && !has_current {
                return answer;
            }
            let (Effect::DryRunPod(PodOf::PatchedTemplate, _), Answer::Object(pod)) = (effect, &answer) else {
                return answer;
            };
            let spec = &pod["spec"];
            // The token volume is drawn anew for each pod, so nothing is said about it.
            let is_token = |at: &str| {
                let parent = |depth: usize| at.split('/').take(depth).collect::<Vec<_>>().join("/");
                [2, 3, 5].iter().any(|depth| {
                    spec.pointer(&parent(*depth)).is_some_and(|json| json["name"].as_str().is_some_and(|n| n.starts_with("kube-api-access-")))
                })
            };
            let places: Vec<_> = places(spec).into_iter().filter(|at| !is_token(at) && !at.ends_with("/name") && !at.contains("olume")).collect();
            let at = &places[at.index(places.len())];
            let Some(changed) = tamper(spec, at, how) else { return answer };
            let (mut one, mut other) = (spec.clone(), changed.clone());
            for spec in [&mut one, &mut other] {
                defaults::pod_spec(spec);
                defaults::pod_requests(spec);
            }
            if one == other {
                return answer;
            }
            tampered = Some(format!("{how} {at}"));
            let mut pod = pod.clone();
            pod["spec"] = changed;
            Answer::Object(pod)
        });
        if let Some(what) = tampered {
            prop_assert!(run.applied().is_none() || run.outcome.message.contains("left as they are"), "{what} went unnoticed");
        }
    }
}
