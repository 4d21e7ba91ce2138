//! The pod that the StatefulSet controller would make of a template.

use serde_json::{Value, json};

use crate::core::model::workload::Workload;

/// Renders the pod of ordinal 0 for a dry-run, as `newStatefulSetPod` in `pkg/controller/statefulset` does: the
/// template's metadata and spec, hostname and subdomain, a volume for each claim, and the StatefulSet as owner. The
/// name is one that no pod has, so that the dry-run meets no namesake.
#[must_use]
pub fn render_pod(workload: &Workload) -> Value {
    let none = Value::Null;
    let template = workload.template().unwrap_or(&none);
    let name: String = workload.name().chars().take(40).collect();
    let name = format!("{}-reprieve-dry-run", name.trim_end_matches(['-', '.']));
    let mut metadata = template.get("metadata").cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
    metadata["name"] = Value::from(name.as_str());
    metadata["namespace"] = Value::from(workload.namespace());
    if !metadata["labels"].is_object() {
        metadata["labels"] = json!({});
    }
    metadata["labels"]["statefulset.kubernetes.io/pod-name"] = Value::from(name.as_str());
    metadata["labels"]["apps.kubernetes.io/pod-index"] = Value::from("0");
    metadata["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": workload.kind(), "name": workload.name(), "uid": workload.uid(), "controller": true,
    }]);
    let mut spec = template.get("spec").cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
    spec["hostname"] = Value::from(name);
    if let Some(service) = workload.json().pointer("/spec/serviceName").filter(|name| name.as_str() != Some("")) {
        spec["subdomain"] = service.clone();
    }
    let claims = workload.json().pointer("/spec/volumeClaimTemplates").and_then(Value::as_array);
    for claim in claims.into_iter().flatten().filter_map(|claim| claim.pointer("/metadata/name")?.as_str()) {
        let volume = json!({
            "name": claim, "persistentVolumeClaim": {"claimName": format!("{claim}-{}-0", workload.name())},
        });
        if !spec["volumes"].is_array() {
            spec["volumes"] = json!([]);
        }
        if let Some(volumes) = spec["volumes"].as_array_mut() {
            volumes.retain(|volume| volume.get("name").and_then(Value::as_str) != Some(claim));
            volumes.push(volume);
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_like_the_controllers() {
        let workload = Workload::new(
            json!({"kind": "StatefulSet", "metadata": {"name": "db", "namespace": "n", "uid": "u"},
            "spec": {"serviceName": "db-svc", "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "a", "unknown": 1}]}}}}),
        );
        let pod = render_pod(&workload);
        assert_eq!(pod["metadata"]["name"], "db-reprieve-dry-run");
        assert_eq!(pod["metadata"]["labels"]["app"], "db");
        assert_eq!(pod["spec"]["subdomain"], "db-svc");
        assert_eq!(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-db-0");
        assert_eq!(pod["spec"]["containers"][0]["unknown"], 1);
        assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], "u");
    }

    #[test]
    fn an_empty_template_renders_without_a_panic() {
        let _ = render_pod(&Workload::new(json!({"kind": "StatefulSet", "spec": {"template": 7}})));
    }
}
