//! What several scenarios begin with or ask for.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::Error;
use kube::api::PostParams;
use serde_json::json;

use crate::harness::wait::eventually;
use crate::harness::{Failure, Namespace};

/// Creates `db`: one container, `database`, whose liveness probe is an exec.
pub async fn create_database(namespace: &Namespace, replicas: i32) -> Result<(), Failure> {
    let statefulset = serde_json::from_value(json!({
        "metadata": {"name": "db"},
        "spec": {
            "serviceName": "db",
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {"containers": [{
                    "name": "database",
                    "image": "postgres:17",
                    "livenessProbe": {"exec": {"command": ["pg_isready"]}},
                }]},
            },
        },
    }))?;
    namespace.api::<StatefulSet>().create(&PostParams::default(), &statefulset).await?;
    Ok(())
}

/// The pod of that name, as soon as it is there.
pub async fn pod_named(namespace: &Namespace, name: &str) -> Result<Pod, Failure> {
    let pods = namespace.api::<Pod>();
    eventually(&format!("the pod {name}"), async || Ok(pods.get_opt(name).await?)).await
}

/// Returns when `db` has that many.
pub async fn ready_replicas(namespace: &Namespace, count: i32) -> Result<(), Failure> {
    let statefulsets = namespace.api::<StatefulSet>();
    eventually(&format!("{count} ready replicas of db"), async || {
        let status = statefulsets.get("db").await?.status.unwrap_or_default();
        Ok((status.ready_replicas == Some(count)).then_some(()))
    })
    .await
}

/// The server's refusal, where anything else would be a failure of the scenario.
pub fn status_of<T>(result: kube::Result<T>) -> Result<Box<kube::core::Status>, Failure> {
    match result {
        Err(Error::Api(status)) => Ok(status),
        Err(other) => Err(Failure::from(other)),
        Ok(_) => Err(Failure::new("the server accepted what it should refuse")),
    }
}
