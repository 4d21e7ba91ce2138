//! Which manifests have a pod template.

use serde_json::Value;

/// Whether this is a workload of Kubernetes itself: a kind with a pod template, or a pod.
///
/// The group counts too, because others have kinds of the same names and another shape (a `Job` of Volcano has a list
/// of tasks). A manifest without an `apiVersion` is taken for what its kind says.
#[must_use]
pub fn is_workload(manifest: &Value) -> bool {
    let text = |field| manifest.get(field).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("apiVersion");
    let groups: &[&str] = match text("kind") {
        // `extensions` is where they lived before 1.16; such manifests are still about.
        "DaemonSet" | "Deployment" | "ReplicaSet" => &["apps", "extensions"],
        "StatefulSet" => &["apps"],
        "CronJob" | "Job" => &["batch"],
        "Pod" | "ReplicationController" => &[""],
        _ => return false,
    };
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    api_version.is_empty() || groups.contains(&group)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_with_a_pod_template_in_their_own_group() {
        for (api_version, kind, expected) in [
            ("apps/v1", "StatefulSet", true),
            ("apps/v1beta1", "Deployment", true),
            ("extensions/v1beta1", "DaemonSet", true),
            ("apps/v1", "ReplicaSet", true),
            ("v1", "ReplicationController", true),
            ("batch/v1", "Job", true),
            ("batch/v1beta1", "CronJob", true),
            ("v1", "Pod", true),
            ("", "StatefulSet", true),
            ("batch.volcano.sh/v1alpha1", "Job", false),
            ("apps.kruise.io/v1beta1", "StatefulSet", false),
            ("v1", "PodTemplate", false),
            ("v1", "Service", false),
            ("v1", "", false),
        ] {
            let manifest = json!({"apiVersion": api_version, "kind": kind});
            assert_eq!(is_workload(&manifest), expected, "{api_version} {kind}");
        }
        for other in [json!(null), json!("Pod"), json!([]), json!({"kind": 1}), json!({"kind": ["Pod"]})] {
            assert!(!is_workload(&other), "{other}");
        }
    }
}
