//! The incident that started this: a registry's database, killed by its own probe 42 times.

use serde_json::json;

use super::databases::{container, create, live, policy, registry_database, registry_policy, status_where};
use super::fixtures::pod_named;
use crate::harness::operator::Operator;
use crate::harness::tcp::{OpenPort, loopback_address};
use crate::harness::{Cluster, Failure};

/// Created, not applied: nobody comes back with the manifest, so the handler is swapped. The exact values.
pub async fn the_registry_database_is_reprieved(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("registry").await?;
    let kubelet = cluster.kubelet();
    let address = loopback_address();
    let _port = OpenPort::at(address, 5432).await?;
    create(&namespace, registry_database("registry-database")).await?;
    let pod = pod_named(&namespace, "registry-database-0").await?;
    kubelet.reports_restarts(&pod, 42).at(address).last_exit(137).lived_seconds(342).still_starting().await?;
    policy(cluster, &namespace, "registry-database", registry_policy("Enforce")).await?;

    let operator = Operator::start(cluster, &namespace).await?;

    status_where(&namespace, "registry-database", "registry-database", "written", |entry| entry["writes"] == 1).await?;

    let statefulset = live(&namespace, "registry-database").await?;
    let database = container(&statefulset);
    assert_eq!(
        database["livenessProbe"],
        json!({"tcpSocket": {"port": 5432}, "initialDelaySeconds": 60, "periodSeconds": 10, "timeoutSeconds": 3,
            "failureThreshold": 6, "successThreshold": 1})
    );
    assert_eq!(
        database["readinessProbe"],
        json!({"exec": {"command": ["/docker-healthcheck.sh"]}, "initialDelaySeconds": 10, "periodSeconds": 10,
            "timeoutSeconds": 5, "failureThreshold": 3, "successThreshold": 1})
    );
    assert_eq!(
        database["startupProbe"],
        json!({"tcpSocket": {"port": 5432}, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 360,
            "successThreshold": 1})
    );
    assert_eq!(database["resources"], json!({"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "3Gi"}}));
    let annotations = &statefulset["metadata"]["annotations"];
    let original = annotations["reprieve.dev/original"].as_str().unwrap_or_default();
    assert!(original.contains("database/liveness exec /docker-healthcheck.sh\n"), "{original}");
    assert!(original.contains("database/liveness timeoutSeconds 1\n"), "{original}");
    assert!(original.contains("database/resources requests.cpu -"), "{original}");
    assert!(annotations["reprieve.dev/state"].as_str().unwrap_or_default().contains("\"writes\":1"));
    operator.stop().await
}

/// The oldest server that is supported.
pub async fn the_registry_database_is_reprieved_on_an_old_server(cluster: &Cluster) -> Result<(), Failure> {
    the_registry_database_is_reprieved(cluster).await
}
