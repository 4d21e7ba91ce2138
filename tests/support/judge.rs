//! Judges results by rules of its own: nothing here calls the core's verification.

use serde_json::Value;

use super::defaults::thousandths;

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];

/// The handlers of a probe that are set.
pub fn handlers(probe: &Value) -> Vec<&'static str> {
    HANDLERS.into_iter().filter(|handler| probe.get(handler).is_some_and(|json| !json.is_null())).collect()
}

/// Every place in which two documents differ.
pub fn differences(one: &Value, other: &Value) -> Vec<String> {
    fn walk(one: &Value, other: &Value, at: &str, found: &mut Vec<String>) {
        match (one, other) {
            (Value::Object(a), Value::Object(b)) => {
                let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
                names.sort();
                names.dedup();
                for name in names {
                    let none = Value::Null;
                    let (a, b) = (a.get(name).unwrap_or(&none), b.get(name).unwrap_or(&none));
                    walk(a, b, &format!("{at}/{}", name.replace('/', "~1")), found);
                }
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                for (index, (a, b)) in a.iter().zip(b).enumerate() {
                    walk(a, b, &format!("{at}/{index}"), found);
                }
            }
            _ if one == other => {}
            _ => found.push(at.to_owned()),
        }
    }
    let mut found = Vec::new();
    walk(one, other, "", &mut found);
    found
}

/// Whether a place is one that a write may change.
pub fn may_change(place: &str) -> bool {
    if ["/metadata/annotations/reprieve.dev~1original", "/metadata/annotations/reprieve.dev~1state"].contains(&place)
        || ["/metadata/resourceVersion", "/metadata/generation", "/metadata/managedFields"].contains(&place)
        // Both annotations in a map that was not there.
        || place == "/metadata/annotations"
    {
        return true;
    }
    let Some(rest) = place.strip_prefix("/spec/template/spec/") else { return false };
    if rest == "terminationGracePeriodSeconds" {
        return true;
    }
    let steps: Vec<&str> = rest.split('/').collect();
    matches!(steps.as_slice(), ["containers" | "initContainers", _, section, ..]
        if PROBES.contains(section) || *section == "resources")
}

fn containers(object: &Value) -> Vec<(&'static str, &Value)> {
    ["initContainers", "containers"]
        .into_iter()
        .flat_map(|list| {
            let all = object["spec"]["template"]["spec"][list].as_array();
            all.into_iter().flatten().map(move |container| (list, container))
        })
        .collect()
}

fn timing(probe: &Value, name: &str) -> i64 {
    let default = match name {
        "initialDelaySeconds" => 0,
        "periodSeconds" => 10,
        "failureThreshold" => 3,
        _ => 1,
    };
    probe[name].as_i64().filter(|value| *value != 0).unwrap_or(default)
}

/// Seconds until a liveness that fails from the start kills.
pub fn kills_after(probe: &Value) -> i64 {
    timing(probe, "initialDelaySeconds") + (timing(probe, "failureThreshold") - 1) * timing(probe, "periodSeconds")
}

/// Seconds that a startup probe gives.
pub fn startup_seconds(probe: &Value) -> i64 {
    timing(probe, "failureThreshold") * timing(probe, "periodSeconds")
}

/// What the policy states about the liveness, by field.
pub type Stated<'a> = &'a [(&'a str, i64)];

/// The invariants that hold between an object and what became of it; `body` is the patch that was sent.
pub fn assert_sound(before: &Value, after: &Value, body: &Value, allowance: i64, stated: Stated<'_>) {
    assert_one_handler_each(after);
    assert_same_containers(before, after);
    assert_only_allowed_places(before, after);
    assert_patch_nulls_survive(body);
    assert_bound_to_its_base(before, body);
    let grace =
        |object: &Value| object["spec"]["template"]["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    assert!(grace(after) >= grace(before), "{} s to stop, and it had {}", grace(after), grace(before));
    for (list, container) in containers(after) {
        let earlier = containers(before).into_iter().find(|(l, c)| *l == list && c["name"] == container["name"]);
        let (_, earlier) = earlier.unwrap();
        assert_never_kills_earlier(earlier, container, allowance, stated);
        assert_requests_never_fall(earlier, container);
    }
}

pub fn assert_one_handler_each(object: &Value) {
    for (_, container) in containers(object) {
        for probe in PROBES {
            let Some(json) = container.get(probe).filter(|json| !json.is_null()) else { continue };
            assert_eq!(handlers(json).len(), 1, "{probe} of {}: {json}", container["name"]);
            if probe == "readinessProbe" {
                assert!(json.get("terminationGracePeriodSeconds").is_none(), "{json}");
            } else {
                assert_eq!(timing(json, "successThreshold"), 1, "{probe}: {json}");
            }
        }
    }
}

pub fn assert_same_containers(before: &Value, after: &Value) {
    let shape = |object: &Value| -> Vec<String> {
        let of = |(list, c): (&'static str, &Value)| format!("{list} {} {} {}", c["name"], c["image"], c["ports"]);
        containers(object).into_iter().map(of).collect()
    };
    assert_eq!(shape(before), shape(after));
}

pub fn assert_only_allowed_places(before: &Value, after: &Value) {
    let forbidden: Vec<_> = differences(before, after).into_iter().filter(|place| !may_change(place)).collect();
    assert!(forbidden.is_empty(), "changed outside the plan: {forbidden:?}");
}

/// Each probe in a patch names all four handlers, and all but one as null, also after it went over the wire.
pub fn assert_patch_nulls_survive(body: &Value) {
    let wire: Value = serde_json::from_slice(&serde_json::to_vec(body).unwrap()).unwrap();
    assert_eq!(&wire, body);
    for (_, container) in containers(&wire) {
        for probe in PROBES {
            let Some(json) = container.get(probe) else { continue };
            for handler in HANDLERS {
                assert!(json.get(handler).is_some(), "{probe} is silent about {handler}: {json}");
            }
            assert_eq!(handlers(json).len(), 1, "{probe}: {json}");
        }
        let known = |name: &&String| PROBES.contains(&name.as_str()) || ["name", "resources"].contains(&name.as_str());
        assert!(container.as_object().unwrap().keys().all(|name| known(&name)), "{container}");
    }
}

pub fn assert_bound_to_its_base(before: &Value, body: &Value) {
    for field in ["uid", "resourceVersion"] {
        assert!(body["metadata"][field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {}", body["metadata"]);
        assert_eq!(body["metadata"][field], before["metadata"][field]);
    }
}

fn assert_never_kills_earlier(before: &Value, after: &Value, allowance: i64, stated: Stated<'_>) {
    let (was, is) = (&before["livenessProbe"], &after["livenessProbe"]);
    if was.is_object() && is.is_object() {
        let mut was = was.clone();
        for (field, number) in stated {
            if timing(is, field) == *number {
                was[*field] = Value::from(*number);
            }
        }
        assert!(kills_after(is) >= kills_after(&was), "liveness: {is} kills before {was}");
        let steady = |probe: &Value| (timing(probe, "failureThreshold") - 1) * timing(probe, "periodSeconds");
        assert!(steady(is) >= steady(&was), "liveness: {is} kills a running server before {was}");
        assert!(timing(is, "timeoutSeconds") >= timing(&was, "timeoutSeconds"), "{is} waits less than {was}");
    }
    assert!(was.is_object() || !is.is_object(), "a liveness where none was: {is}");
    let (was, is) = (&before["startupProbe"], &after["startupProbe"]);
    if was.is_object() {
        assert!(is.is_object(), "a startup probe went");
        assert!(startup_seconds(is) >= startup_seconds(was), "startup: {is} gives less than {was}");
        assert!(timing(is, "timeoutSeconds") >= timing(was, "timeoutSeconds"), "{is} waits less than {was}");
    } else if is.is_object() {
        assert!(startup_seconds(is) >= allowance, "startup: {is}");
        // Something that passes at once guards nothing: it must be what the liveness is.
        let liveness = &after["livenessProbe"];
        for handler in HANDLERS {
            assert_eq!(is.get(handler), liveness.get(handler), "startup {is} before liveness {liveness}");
        }
    }
}

fn assert_requests_never_fall(before: &Value, after: &Value) {
    for (name, was) in before["resources"]["requests"].as_object().into_iter().flatten() {
        let is = &after["resources"]["requests"][name];
        assert!(!is.is_null() && thousandths(is) >= thousandths(was), "requests.{name}: {was} became {is}");
    }
    for (name, was) in before["resources"]["limits"].as_object().into_iter().flatten() {
        let is = &after["resources"]["limits"][name];
        let rises = thousandths(is) >= thousandths(was);
        assert!(name == "cpu" || (name == "memory" && rises) || is == was, "limits.{name}: {was} became {is}");
    }
}
