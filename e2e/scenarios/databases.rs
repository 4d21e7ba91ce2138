//! Databases and policies that the scenarios of the operator begin with, and what they ask of them.

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::harness::operator::apply;
use crate::harness::wait::eventually;
use crate::harness::{Cluster, Context, Failure, Namespace};

/// The registry's database of the incident, as its chart rendered it.
pub fn registry_database(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": name, "labels": {"component": "database"}},
        "spec": {
            "serviceName": name, "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "database",
                    "image": "goharbor/harbor-db:v2.10.0",
                    "livenessProbe": {
                        "exec": {"command": ["/docker-healthcheck.sh"]},
                        "initialDelaySeconds": 300, "periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3,
                    },
                    "resources": {},
                }]},
            },
        },
    })
}

/// A PostgreSQL whose liveness and readiness are one query, with requests.
pub fn postgresql(name: &str) -> Value {
    let check = json!({"exec": {"command": ["sh", "-c", "pg_isready -U app -h 127.0.0.1"]}, "timeoutSeconds": 1});
    let mut database = registry_database(name);
    database["spec"]["template"]["spec"]["containers"] = json!([{
        "name": "database", "image": "postgres:16", "livenessProbe": check, "readinessProbe": check,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }]);
    database
}

/// The policy that the incident ended with.
pub fn registry_policy(mode: &str) -> Value {
    json!({
        "mode": mode,
        "selector": {"matchLabels": {"component": "database"}},
        "databases": [{"container": "database", "engine": "PostgreSQL", "port": 5432}],
        "liveness": {"initialDelaySeconds": 60, "periodSeconds": 10, "timeoutSeconds": 3, "failureThreshold": 6},
        "readiness": {"initialDelaySeconds": 10, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3},
        "startup": {"recoveryAllowanceSeconds": 3600},
        "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "3Gi"}, "cpuLimit": "Remove"},
    })
}

/// A policy that only selects.
pub fn plain_policy(mode: &str) -> Value {
    json!({"mode": mode, "selector": {"matchLabels": {"component": "database"}}})
}

/// Creates a StatefulSet as `kubectl create` does: nobody comes back with its manifest.
pub async fn create(namespace: &Namespace, statefulset: Value) -> Result<StatefulSet, Failure> {
    let statefulset: StatefulSet = serde_json::from_value(statefulset)?;
    let parameters = PostParams { field_manager: Some("kubectl-create".to_owned()), ..PostParams::default() };
    Ok(namespace.api::<StatefulSet>().create(&parameters, &statefulset).await?)
}

/// Writes a policy, new or changed.
pub async fn policy(cluster: &Cluster, namespace: &Namespace, name: &str, spec: Value) -> Result<(), Failure> {
    cluster.with_reprieve().await?;
    let object = json!({
        "apiVersion": "reprieve.dev/v1alpha1", "kind": "ProbePolicy",
        "metadata": {"name": name, "namespace": namespace.name()}, "spec": spec,
    });
    apply(&cluster.client(), &object).await?;
    Ok(())
}

/// The policies of a namespace.
pub fn policies(namespace: &Namespace) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("reprieve.dev", "v1alpha1", "ProbePolicy");
    let resource = ApiResource::from_gvk_with_plural(&kind, "probepolicies");
    Api::namespaced_with(namespace.client(), namespace.name(), &resource)
}

/// A StatefulSet as the server has it.
pub async fn live(namespace: &Namespace, name: &str) -> Result<Value, Failure> {
    Ok(serde_json::to_value(namespace.api::<StatefulSet>().get(name).await?)?)
}

/// The container `database` of a StatefulSet.
pub fn container(statefulset: &Value) -> &Value {
    &statefulset["spec"]["template"]["spec"]["containers"][0]
}

/// What the policy's status says of a workload, as soon as `wanted` holds for it. Says what it says instead if that
/// does not come.
pub async fn status_where(
    namespace: &Namespace,
    policy: &str,
    workload: &str,
    what: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Result<Value, Failure> {
    let api = policies(namespace);
    let last = std::sync::Mutex::new(Value::Null);
    let found = eventually(&format!("{policy} says of {workload}: {what}"), async || {
        let object = serde_json::to_value(api.get(policy).await?)?;
        let status = &object["status"];
        *last.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = status.clone();
        if status["observedGeneration"] != object["metadata"]["generation"] {
            return Ok(None);
        }
        let entries = status["workloads"].as_array().cloned().unwrap_or_default();
        Ok(entries.into_iter().find(|entry| entry["name"] == workload && wanted(entry)))
    })
    .await;
    let last = last.into_inner().unwrap_or_default();
    found.context(format_args!("the last status was {last:#}"))
}

/// The same by the reason.
pub async fn reason(namespace: &Namespace, policy: &str, workload: &str, reason: &str) -> Result<Value, Failure> {
    status_where(namespace, policy, workload, reason, |entry| entry["reason"] == reason).await
}

/// A condition of a policy, as soon as it has this status.
pub async fn condition(namespace: &Namespace, policy: &str, type_: &str, status: &str) -> Result<Value, Failure> {
    let api = policies(namespace);
    let last = std::sync::Mutex::new(Value::Null);
    let found = eventually(&format!("{policy} has {type_}={status}"), async || {
        let object = serde_json::to_value(api.get(policy).await?)?;
        *last.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = object["status"].clone();
        if object["status"]["observedGeneration"] != object["metadata"]["generation"] {
            return Ok(None);
        }
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        Ok(conditions.into_iter().find(|c| c["type"] == type_ && c["status"] == status))
    })
    .await;
    let last = last.into_inner().unwrap_or_default();
    found.context(format_args!("the last status was {last:#}"))
}

/// Merges a change into an object's metadata or spec, as its owner would by `kubectl patch`.
pub async fn change(namespace: &Namespace, name: &str, body: &Value) -> Result<(), Failure> {
    let parameters = PatchParams { field_manager: Some("kubectl-patch".to_owned()), ..PatchParams::default() };
    namespace.api::<StatefulSet>().patch(name, &parameters, &Patch::Strategic(body)).await?;
    Ok(())
}
