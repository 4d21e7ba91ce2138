//! Somebody takes our patch back. They are named, not fought, and that is not forgotten.

use serde_json::{Value, json};

use super::databases::{container, create, live, policy, reason, registry_database, registry_policy, status_where};
use super::steps::{Machine, delete_policy, generation, kubectl, looked_at_anew, settled, writes_to};
use crate::harness::intercept::Intercept;
use crate::harness::operator::Operator;
use crate::harness::{Cluster, Failure, Namespace};

const NAME: &str = "registry-database";

/// A database that was created and swapped.
async fn swapped(cluster: &Cluster, namespace: &Namespace) -> Result<(Machine, Operator, Intercept), Failure> {
    let machine = Machine::answering(cluster, namespace, 5432).await?;
    create(namespace, registry_database(NAME)).await?;
    policy(cluster, namespace, "databases", registry_policy("Enforce")).await?;
    let intercept = Intercept::recording();
    let operator = Operator::start_through(cluster, namespace, &intercept).await?;
    status_where(namespace, "databases", NAME, "written", |entry| entry["writes"] == 1).await?;
    let statefulset = settled(namespace, NAME).await?;
    assert_eq!(container(&statefulset)["livenessProbe"]["tcpSocket"]["port"], 5432);
    Ok((machine, operator, intercept))
}

/// Only the liveness: the rest of our patch stays, so that what is left to write is another patch than the first.
pub async fn a_probe_that_was_put_back_is_left_alone(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("put-back").await?;
    let (_machine, operator, intercept) = swapped(cluster, &namespace).await?;
    let old_probe = json!({"spec": {"template": {"spec": {"containers": [{
        "name": "database",
        "livenessProbe": {
            "exec": {"command": ["/docker-healthcheck.sh"]}, "tcpSocket": null,
            "initialDelaySeconds": 300, "timeoutSeconds": 1, "failureThreshold": 3,
        },
    }]}}}});
    let arguments = ["patch", "statefulset", NAME, "--namespace", namespace.name(), "--patch"];
    cluster.kubectl(&[&arguments[..], &[&old_probe.to_string()]].concat(), "").await?;
    is_contested(&namespace, "kubectl-patch").await?;

    let before = generation(&namespace, NAME).await?;
    looked_at_anew(cluster, &namespace, "databases", registry_policy("Enforce"), 1).await?;
    is_contested(&namespace, "kubectl-patch").await?;
    operator.stop().await?;
    let second = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &second).await?;
    looked_at_anew(cluster, &namespace, "databases", registry_policy("Enforce"), 2).await?;
    is_contested(&namespace, "kubectl-patch").await?;

    assert_eq!((writes_to(&intercept, NAME).len(), writes_to(&second, NAME).len()), (1, 0));
    assert_eq!(generation(&namespace, NAME).await?, before);
    let statefulset = live(&namespace, NAME).await?;
    assert_eq!(container(&statefulset)["livenessProbe"]["exec"]["command"], json!(["/docker-healthcheck.sh"]));
    operator.stop().await
}

/// The way that everybody knows. It comes as an update of a client that is new to the object.
pub async fn a_rollout_that_was_undone_is_left_alone(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("undone").await?;
    let (_machine, operator, intercept) = swapped(cluster, &namespace).await?;
    cluster.kubectl(&["rollout", "undo", "statefulset", NAME, "--namespace", namespace.name()], "").await?;
    is_contested(&namespace, "kubectl").await?;
    looked_at_anew(cluster, &namespace, "databases", registry_policy("Enforce"), 1).await?;
    is_contested(&namespace, "kubectl").await?;
    let statefulset = live(&namespace, NAME).await?;
    assert_eq!(container(&statefulset)["livenessProbe"]["exec"]["command"], json!(["/docker-healthcheck.sh"]));
    assert_eq!(writes_to(&intercept, NAME).len(), 1);
    operator.stop().await
}

/// A PUT without our annotations takes the object's own memory away. The policy's status remembers.
pub async fn a_replaced_manifest_is_not_fought_even_after_a_restart(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("replaced").await?;
    let (_machine, operator, intercept) = swapped(cluster, &namespace).await?;
    kubectl(cluster, &namespace, &["replace"], &registry_database(NAME)).await?;
    is_contested(&namespace, "kubectl-replace").await?;
    let statefulset = live(&namespace, NAME).await?;
    assert!(!statefulset.to_string().contains("reprieve.dev/"), "the annotations are gone: {statefulset:#}");

    operator.stop().await?;
    let second = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &second).await?;
    looked_at_anew(cluster, &namespace, "databases", registry_policy("Enforce"), 1).await?;
    let entry = is_contested(&namespace, "kubectl-replace").await?;
    assert_eq!(entry["writes"], 1);
    assert_eq!((writes_to(&intercept, NAME).len(), writes_to(&second, NAME).len()), (1, 0));
    operator.stop().await
}

/// The way out: a policy that asks for something else is a new plan, and gets its one write.
pub async fn a_changed_policy_ends_the_contest(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("new-plan").await?;
    let (_machine, operator, intercept) = swapped(cluster, &namespace).await?;
    kubectl(cluster, &namespace, &["replace"], &registry_database(NAME)).await?;
    is_contested(&namespace, "kubectl-replace").await?;
    settled(&namespace, NAME).await?;

    let mut spec = registry_policy("Enforce");
    spec["liveness"]["timeoutSeconds"] = json!(4);
    policy(cluster, &namespace, "databases", spec).await?;
    status_where(&namespace, "databases", NAME, "written again", |entry| entry["writes"] == 2).await?;
    let statefulset = settled(&namespace, NAME).await?;
    assert_eq!(container(&statefulset)["livenessProbe"]["timeoutSeconds"], 4);
    assert_eq!(writes_to(&intercept, NAME).len(), 2);
    operator.stop().await
}

/// What a second policy made of the workload for a while does not make the first forget its write.
pub async fn a_conflict_of_policies_does_not_wipe_the_memory(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("memory").await?;
    let (_machine, operator, intercept) = swapped(cluster, &namespace).await?;
    policy(cluster, &namespace, "second", registry_policy("Enforce")).await?;
    reason(&namespace, "databases", NAME, "PolicyConflict").await?;
    operator.stop().await?;
    kubectl(cluster, &namespace, &["replace"], &registry_database(NAME)).await?;

    let second = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &second).await?;
    delete_policy(cluster, &namespace, "second").await?;
    is_contested(&namespace, "kubectl-replace").await?;
    assert_eq!((writes_to(&intercept, NAME).len(), writes_to(&second, NAME).len()), (1, 0));
    operator.stop().await
}

async fn is_contested(namespace: &Namespace, by: &str) -> Result<Value, Failure> {
    let entry = reason(namespace, "databases", NAME, "Reverted").await?;
    assert_eq!((&entry["decision"], &entry["status"]), (&json!("Halt"), &json!("Contested")));
    let message = entry["message"].as_str().unwrap_or_default();
    // Times are whole seconds: who created it in the same second may be named as well.
    let named = message.split("the field manager ").nth(1).and_then(|rest| rest.split(" (").next()).unwrap_or_default();
    assert!(named.split(" or ").any(|name| name == by), "{message}");
    Ok(entry)
}
