//! Strategic merge patches, applied without a server.
//!
//! The part of `k8s.io/apimachinery/pkg/util/strategicpatch` that our own patches and owners' manifests use: maps merge,
//! lists of the pod template merge by their keys, other lists are replaced, null removes. Directives (`$patch` and the
//! like) are refused rather than misread.

use serde_json::{Map, Value};

/// Why a patch cannot be applied here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// A directive that we never write.
    #[error("the patch uses the directive {0}, which is not supported here")]
    Directive(String),
    /// An element of a list that merges by key has no key.
    #[error("an element of {list} in the patch has no {key}, so it cannot be matched")]
    NoKey {
        /// The list.
        list: String,
        /// The key that its elements merge by.
        key: &'static str,
    },
}

/// The key by which the elements of a list merge (`patchMergeKey` in `k8s.io/api/core/v1/types.go`).
fn merge_key(list: &str) -> Option<&'static str> {
    match list {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "env"
        | "volumes"
        | "imagePullSecrets"
        | "resourceClaims" => Some("name"),
        "ports" => Some("containerPort"),
        "volumeMounts" => Some("mountPath"),
        "volumeDevices" => Some("devicePath"),
        "hostAliases" => Some("ip"),
        "topologySpreadConstraints" => Some("topologyKey"),
        "ownerReferences" => Some("uid"),
        _ => None,
    }
}

/// The object that a server would make of `base` and `patch`, before it fills in defaults.
///
/// # Errors
/// When the patch holds something that we do not know how to apply.
pub fn apply(base: &Value, patch: &Value) -> Result<Value, PatchError> {
    merge("", Some(base), patch, Nulls::Remove)
}

/// One patch that does what `first` and then `second` do. Nulls of the first survive where the second is silent.
///
/// # Errors
/// As [`apply`].
pub fn compose(first: &Value, second: &Value) -> Result<Value, PatchError> {
    merge("", Some(first), second, Nulls::Keep)
}

/// The part of a manifest in which an object differs from it: what a client-side apply of that manifest sends when it
/// is the one that was applied last. None where it changes nothing.
#[must_use]
pub fn difference(object: &Value, manifest: &Value) -> Option<Value> {
    differing("", Some(object), manifest)
}

fn differing(field: &str, object: Option<&Value>, wanted: &Value) -> Option<Value> {
    let object = object.filter(|value| !value.is_null());
    match (object, wanted) {
        (None, Value::Null) => None,
        (Some(Value::Object(object)), Value::Object(wanted)) => {
            let changes: Map<String, Value> = wanted
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), differing(name, object.get(name), value)?)))
                .collect();
            (!changes.is_empty()).then_some(Value::Object(changes))
        }
        (Some(Value::Array(present)), Value::Array(wanted)) => match merge_key(field) {
            Some(key) => {
                let changes: Vec<_> =
                    wanted.iter().filter_map(|element| differing_element(key, present, element)).collect();
                (!changes.is_empty()).then_some(Value::Array(changes))
            }
            None => (present != wanted).then(|| Value::Array(wanted.clone())),
        },
        (object, wanted) => (object != Some(wanted)).then(|| wanted.clone()),
    }
}

/// One key may stand for several elements, such as a port number on two protocols. One of them is enough.
fn differing_element(key: &str, present: &[Value], wanted: &Value) -> Option<Value> {
    let mut least = None;
    for namesake in present.iter().filter(|element| element.get(key) == wanted.get(key)) {
        let mut change = differing("", Some(namesake), wanted)?;
        change[key] = wanted[key].clone();
        least.get_or_insert(change);
    }
    Some(least.unwrap_or_else(|| wanted.clone()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// They delete.
    Remove,
    /// They stay, to delete later.
    Keep,
}

fn merge(field: &str, base: Option<&Value>, patch: &Value, nulls: Nulls) -> Result<Value, PatchError> {
    match patch {
        Value::Object(patch) => merge_maps(base.and_then(Value::as_object), patch, nulls),
        Value::Array(elements) => match merge_key(field) {
            Some(key) => merge_lists(field, key, base.and_then(Value::as_array), elements, nulls),
            None => Ok(patch.clone()),
        },
        simple => Ok(simple.clone()),
    }
}

fn merge_maps(
    base: Option<&Map<String, Value>>,
    patch: &Map<String, Value>,
    nulls: Nulls,
) -> Result<Value, PatchError> {
    let mut merged = base.cloned().unwrap_or_default();
    for (name, value) in patch {
        if name.starts_with('$') {
            return Err(PatchError::Directive(name.clone()));
        }
        if value.is_null() && nulls == Nulls::Remove {
            merged.shift_remove(name);
        } else {
            let value = merge(name, merged.get(name), value, nulls)?;
            merged.insert(name.clone(), value);
        }
    }
    Ok(Value::Object(merged))
}

fn merge_lists(
    field: &str,
    key: &'static str,
    base: Option<&Vec<Value>>,
    patch: &[Value],
    nulls: Nulls,
) -> Result<Value, PatchError> {
    let mut merged = base.cloned().unwrap_or_default();
    for element in patch {
        let no_key = || PatchError::NoKey { list: field.to_owned(), key };
        let wanted = element.get(key).filter(|value| !value.is_null()).ok_or_else(no_key)?;
        match merged.iter_mut().find(|present| present.get(key) == Some(wanted)) {
            Some(present) => *present = merge("", Some(present), element, nulls)?,
            None => merged.push(merge("", None, element, nulls)?),
        }
    }
    Ok(Value::Array(merged))
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::DeepMerge as _;
    use k8s_openapi::api::core::v1::PodSpec;
    use serde_json::json;

    #[test]
    fn containers_merge_by_name_and_null_removes() {
        let base = json!({"containers": [
            {"name": "a", "livenessProbe": {"exec": {"command": ["x", "y"]}, "timeoutSeconds": 1}, "unknown": 7},
            {"name": "b"}]});
        let patch = json!({"containers": [
            {"name": "a", "livenessProbe": {"exec": null, "tcpSocket": {"port": 1}, "grpc": null}, "startupProbe": {"exec": null, "tcpSocket": {"port": 1}}}]});
        assert_eq!(
            apply(&base, &patch).unwrap(),
            json!({"containers": [
                {"name": "a", "livenessProbe": {"timeoutSeconds": 1, "tcpSocket": {"port": 1}}, "unknown": 7, "startupProbe": {"tcpSocket": {"port": 1}}},
                {"name": "b"}]})
        );
    }

    #[test]
    fn an_empty_object_changes_nothing_and_other_lists_are_replaced() {
        let base = json!({"a": {"exec": {"command": ["x", "y"]}}});
        assert_eq!(apply(&base, &json!({"a": {}})).unwrap(), base);
        assert_eq!(
            apply(&base, &json!({"a": {"exec": {"command": ["z"]}}})).unwrap(),
            json!({"a": {"exec": {"command": ["z"]}}})
        );
    }

    #[test]
    fn an_unknown_name_would_add_a_container() {
        let merged = apply(
            &json!({"containers": [{"name": "database"}]}),
            &json!({"containers": [{"name": "db", "livenessProbe": null}]}),
        );
        assert_eq!(merged.unwrap()["containers"].as_array().unwrap().len(), 2, "which the verifier refuses");
    }

    #[test]
    fn what_we_never_write_is_refused() {
        assert_eq!(apply(&json!({}), &json!({"$patch": "replace"})), Err(PatchError::Directive("$patch".to_owned())));
        assert!(matches!(apply(&json!({}), &json!({"containers": [{"image": "x"}]})), Err(PatchError::NoKey { .. })));
    }

    #[test]
    fn composed_patches_keep_their_nulls() {
        let ours = json!({"containers": [{"name": "a", "livenessProbe": {"exec": null, "tcpSocket": {"port": 1}}}]});
        let theirs =
            json!({"containers": [{"name": "a", "image": "v2", "livenessProbe": {"exec": {"command": ["x"]}}}]});
        assert_eq!(
            compose(&ours, &theirs).unwrap(),
            json!({"containers": [{"name": "a", "image": "v2", "livenessProbe": {"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}}}]})
        );
    }

    #[test]
    fn a_manifest_differs_only_where_an_apply_would_change_something() {
        let port = |name: &str, protocol: &str| json!({"name": name, "containerPort": 8301, "protocol": protocol});
        let manifest = json!({"replicas": 1, "containers": [{
            "name": "a", "image": "v1", "startupProbe": null, "ports": [port("tcp", "TCP"), port("udp", "UDP")],
            "livenessProbe": {"exec": {"command": ["x"]}, "timeoutSeconds": 1},
        }]});
        let mut object = manifest.clone();
        object["containers"][0]["livenessProbe"]["periodSeconds"] = json!(10);
        object["containers"][0]["readinessProbe"] = json!({"exec": {"command": ["x"]}});
        assert_eq!(difference(&object, &manifest), None, "defaults, and what somebody added");

        object["containers"][0]["livenessProbe"]["timeoutSeconds"] = json!(5);
        object["containers"][0]["startupProbe"] = json!({"exec": {"command": ["x"]}});
        object["containers"][0]["ports"] = json!([port("tcp", "TCP")]);
        assert_eq!(
            difference(&object, &manifest),
            Some(json!({"containers": [{
                "name": "a", "startupProbe": null, "ports": [{"name": "udp", "protocol": "UDP", "containerPort": 8301}],
                "livenessProbe": {"timeoutSeconds": 1},
            }]}))
        );
    }

    proptest::proptest! {
        /// `DeepMerge` of k8s-openapi is generated from the same merge keys, by other hands. It cannot delete, so the
        /// two are compared on patches without nulls.
        #[test]
        fn agrees_with_the_generated_merge(
            names in proptest::sample::subsequence(vec!["a", "b", "c"], 1..=3),
            patched in proptest::sample::select(vec!["a", "b", "c", "d"]),
            delay in 0..1000i32, port in 1..65535i32, memory in "[1-9]Gi",
        ) {
            let containers: Vec<_> = names.iter().map(|name| json!({"name": name, "livenessProbe": {"exec": {"command": ["x"]}}})).collect();
            let base = json!({ "containers": containers });
            let patch = json!({"containers": [{"name": patched,
                "livenessProbe": {"initialDelaySeconds": delay}, "startupProbe": {"tcpSocket": {"port": port}},
                "resources": {"requests": {"memory": memory}}}]});
            let mut typed: PodSpec = serde_json::from_value(base.clone()).unwrap();
            typed.merge_from(serde_json::from_value(patch.clone()).unwrap());
            let ours: PodSpec = serde_json::from_value(apply(&base, &patch).unwrap()).unwrap();
            proptest::prop_assert_eq!(ours, typed);
        }
    }
}
