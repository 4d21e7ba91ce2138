//! Databases whose manifest somebody brings again: what they get, and that the next deploy of their owner is as it was.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::databases::{container, create, live, plain_policy, policy, reason, registry_database, status_where};
use super::steps::{Machine, create_as, generation, kubectl, looked_at_anew, settled, with_container, writes_to};
use crate::harness::intercept::Intercept;
use crate::harness::operator::Operator;
use crate::harness::{Cluster, Failure, Namespace};

const CHECK: &str = "/docker-healthcheck.sh";

/// Somebody who comes back with a manifest.
#[derive(Clone, Copy)]
enum Owner {
    /// `kubectl apply` with these flags.
    Kubectl(&'static [&'static str]),
    /// A server-side apply in the name of this manager, as Argo CD does it.
    ServerSide(&'static str),
}

impl Owner {
    async fn applies(self, cluster: &Cluster, namespace: &Namespace, manifest: &Value) -> Result<(), Failure> {
        match self {
            Self::Kubectl(flags) => {
                let arguments = [&["apply"], flags].concat();
                kubectl(cluster, namespace, &arguments, manifest).await?;
            }
            Self::ServerSide(manager) => {
                let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
                let statefulsets = namespace.api::<StatefulSet>();
                statefulsets.patch(name, &PatchParams::apply(manager), &Patch::Apply(manifest)).await?;
            }
        }
        Ok(())
    }
}

/// Only what has to be: the check, and the delay that stood in for a startup probe.
fn terse_database(name: &str) -> Value {
    with_container(
        registry_database(name),
        &json!({"livenessProbe": {"exec": {"command": [CHECK]}, "initialDelaySeconds": 300}}),
    )
}

/// As the incident's chart had it, with each number written down.
fn wordy_database(name: &str) -> Value {
    let probe = json!({
        "exec": {"command": [CHECK]},
        "initialDelaySeconds": 300, "periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3,
    });
    with_container(registry_database(name), &json!({"livenessProbe": probe}))
}

fn enforcing() -> Value {
    let mut spec = plain_policy("Enforce");
    spec["resources"] = json!({"requests": {"cpu": "500m", "memory": "1Gi"}});
    spec
}

/// Client-side apply: the annotation tells what was left unsaid.
pub async fn kubectl_apply_keeps_working_and_keeps_our_values(cluster: &Cluster) -> Result<(), Failure> {
    lives_with(cluster, Owner::Kubectl(&[]), "kubectl apply (the last-applied annotation)").await
}

/// Server-side apply: the managed fields do.
pub async fn kubectl_apply_on_the_server_keeps_working_and_keeps_our_values(cluster: &Cluster) -> Result<(), Failure> {
    lives_with(cluster, Owner::Kubectl(&["--server-side"]), "kubectl apply (field manager kubectl)").await
}

/// The manager of Flux, without `--force-conflicts`, with which it would not show.
pub async fn flux_keeps_working_and_keeps_our_values(cluster: &Cluster) -> Result<(), Failure> {
    let flags = &["--server-side", "--field-manager=kustomize-controller"];
    lives_with(cluster, Owner::Kubectl(flags), "Flux (field manager kustomize-controller)").await
}

/// Helm 4 applies on the server, and does not force.
pub async fn helm_4_keeps_working_and_keeps_our_values(cluster: &Cluster) -> Result<(), Failure> {
    lives_with(cluster, Owner::Kubectl(&["--server-side", "--field-manager=helm"]), "Helm (field manager helm)").await
}

/// Argo CD with `ServerSideApply=true`.
pub async fn argo_cd_keeps_working_and_keeps_our_values(cluster: &Cluster) -> Result<(), Failure> {
    let owner = Owner::ServerSide("argocd-controller");
    lives_with(cluster, owner, "Argo CD (field manager argocd-controller)").await
}

async fn lives_with(cluster: &Cluster, owner: Owner, owner_is: &str) -> Result<(), Failure> {
    let namespace = cluster.namespace("owned").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    owner.applies(cluster, &namespace, &terse_database("terse")).await?;
    owner.applies(cluster, &namespace, &wordy_database("wordy")).await?;
    policy(cluster, &namespace, "databases", enforcing()).await?;
    let intercept = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    for name in ["terse", "wordy"] {
        let entry = status_where(&namespace, "databases", name, "written", |entry| entry["writes"] == 1).await?;
        assert_eq!(entry["owner"], json!(owner_is));
    }
    unsaid_values_are_set(container(&settled(&namespace, "terse").await?));
    let entry = reason(&namespace, "databases", "wordy", "Applied").await?;
    let message = entry["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("livenessProbe.timeoutSeconds stays 1, because its owner states it; 5 would be right"),
        "{message}"
    );
    said_values_are_kept(container(&settled(&namespace, "wordy").await?));

    for (name, manifest) in [("terse", terse_database("terse")), ("wordy", wordy_database("wordy"))] {
        let before = generation(&namespace, name).await?;
        owner.applies(cluster, &namespace, &manifest).await?;
        assert_eq!(generation(&namespace, name).await?, before, "an unchanged apply of {name} changed something");
        let bumped = with_container(manifest, &json!({"image": "goharbor/harbor-db:v2.11.0"}));
        owner.applies(cluster, &namespace, &bumped).await?;
        let after = settled(&namespace, name).await?;
        assert_eq!(after["metadata"]["generation"], before + 1);
        assert_eq!(container(&after)["image"], "goharbor/harbor-db:v2.11.0");
    }
    unsaid_values_are_set(container(&live(&namespace, "terse").await?));
    said_values_are_kept(container(&live(&namespace, "wordy").await?));

    looked_at_anew(cluster, &namespace, "databases", enforcing(), 1).await?;
    for name in ["terse", "wordy"] {
        reason(&namespace, "databases", name, "Applied").await?;
        assert_eq!(writes_to(&intercept, name).len(), 1, "{name} was written again");
    }
    operator.stop().await
}

fn unsaid_values_are_set(database: &Value) {
    additive_values_are_set(database);
    assert_eq!(
        database["livenessProbe"],
        json!({"exec": {"command": [CHECK]}, "initialDelaySeconds": 300, "periodSeconds": 10, "timeoutSeconds": 5,
            "failureThreshold": 6, "successThreshold": 1})
    );
}

fn said_values_are_kept(database: &Value) {
    additive_values_are_set(database);
    assert_eq!(
        database["livenessProbe"],
        json!({"exec": {"command": [CHECK]}, "initialDelaySeconds": 300, "periodSeconds": 10, "timeoutSeconds": 1,
            "failureThreshold": 3, "successThreshold": 1})
    );
}

/// The startup probe is the owner's own check: a socket would pass at once, and guard nothing.
fn additive_values_are_set(database: &Value) {
    assert_eq!(
        database["startupProbe"],
        json!({"exec": {"command": [CHECK]}, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 360,
            "successThreshold": 1})
    );
    assert_eq!(
        database["readinessProbe"],
        json!({"exec": {"command": [CHECK]}, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3,
            "successThreshold": 1})
    );
    assert_eq!(database["resources"], json!({"requests": {"cpu": "500m", "memory": "1Gi"}}));
}

/// Helm 3 merges three ways and keeps its manifest to itself: what is there may be stated, so only what is absent is
/// set. The next upgrade, a patch of what differs between two manifests, passes and leaves ours alone.
pub async fn a_helm_3_release_gets_only_what_was_absent(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("helm3").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    let mut release = wordy_database("registry");
    release["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("Helm");
    release["metadata"]["annotations"] =
        json!({"meta.helm.sh/release-name": "registry", "meta.helm.sh/release-namespace": namespace.name()});
    create_as(&namespace, "helm", &release).await?;
    policy(cluster, &namespace, "databases", enforcing()).await?;
    let intercept = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    let entry = status_where(&namespace, "databases", "registry", "written", |entry| entry["writes"] == 1).await?;
    assert_eq!(entry["owner"], "Helm (Helm release registry, field manager helm)");
    let message = entry["message"].as_str().unwrap_or_default();
    assert!(message.contains("timeoutSeconds stays 1, because its owner states it or may state it"), "{message}");
    said_values_are_kept(container(&settled(&namespace, "registry").await?));

    let upgrade = json!({"spec": {"template": {"spec": {"containers": [
        {"name": "database", "image": "goharbor/harbor-db:v2.11.0"},
    ]}}}});
    let as_helm = PatchParams { field_manager: Some("helm".to_owned()), ..PatchParams::default() };
    namespace.api::<StatefulSet>().patch("registry", &as_helm, &Patch::Strategic(upgrade)).await?;
    said_values_are_kept(container(&settled(&namespace, "registry").await?));
    looked_at_anew(cluster, &namespace, "databases", enforcing(), 1).await?;
    reason(&namespace, "databases", "registry", "Applied").await?;
    assert_eq!(writes_to(&intercept, "registry").len(), 1);
    operator.stop().await
}

/// A client that nobody knows may come back too.
pub async fn an_unrecognised_client_gets_only_what_was_absent(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("stranger").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    create_as(&namespace, "node-fetch", &wordy_database("registry")).await?;
    policy(cluster, &namespace, "databases", enforcing()).await?;
    let operator = Operator::start(cluster, &namespace).await?;

    let entry = status_where(&namespace, "databases", "registry", "written", |entry| entry["writes"] == 1).await?;
    assert_eq!(entry["owner"], "an unrecognised client (field manager node-fetch)");
    said_values_are_kept(container(&live(&namespace, "registry").await?));
    operator.stop().await
}

/// It would freeze every later deploy: two handlers, 422.
pub async fn a_swap_that_would_break_the_owner_is_refused(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("no-swap").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    kubectl(cluster, &namespace, &["apply"], &wordy_database("registry")).await?;
    let mut spec = enforcing();
    spec["remedy"] = json!("Swap");
    policy(cluster, &namespace, "databases", spec).await?;
    let intercept = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    let entry = reason(&namespace, "databases", "registry", "SwapBreaksOwner").await?;
    assert_eq!((&entry["decision"], &entry["status"]), (&json!("Refuse"), &json!("Refused")));
    let message = entry["message"].as_str().unwrap_or_default();
    assert!(message.contains("re-applied by kubectl apply (the last-applied annotation)"), "{message}");
    assert!(message.contains("Use Auto or Additive"), "{message}");
    assert!(entry["patch"].as_str().unwrap_or_default().contains("tcpSocket"), "the refused patch is shown");
    nothing_was_written(&namespace, &intercept).await?;
    operator.stop().await
}

/// The patch is in the status, ready to be committed.
pub async fn a_suggestion_writes_nothing(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("suggest").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    create(&namespace, wordy_database("registry")).await?;
    let mut spec = enforcing();
    spec["remedy"] = json!("Suggest");
    policy(cluster, &namespace, "databases", spec).await?;
    let intercept = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    let entry = reason(&namespace, "databases", "registry", "Suggested").await?;
    assert_eq!((&entry["decision"], &entry["status"]), (&json!("Advise"), &json!("Planned")));
    let patch: Value = serde_json::from_str(entry["patch"].as_str().unwrap_or_default())?;
    let liveness = &container(&patch)["livenessProbe"];
    assert_eq!((&liveness["tcpSocket"]["port"], &liveness["exec"]), (&json!(5432), &Value::Null), "{patch:#}");
    assert!(liveness.get("exec").is_some(), "the null that removes the old handler is part of the patch");
    nothing_was_written(&namespace, &intercept).await?;
    operator.stop().await
}

/// Its controller would undo any write at once.
pub async fn what_another_controller_owns_is_left_to_it(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("controlled").await?;
    let _machine = Machine::answering(cluster, &namespace, 5432).await?;
    let owner = ConfigMap {
        metadata: ObjectMeta { name: Some("hippo".to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    let owner = namespace.api::<ConfigMap>().create(&PostParams::default(), &owner).await?;
    let mut database = wordy_database("registry");
    database["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": owner.name_any(), "uid": owner.uid(), "controller": true,
    }]);
    create(&namespace, database).await?;
    policy(cluster, &namespace, "databases", enforcing()).await?;
    let intercept = Intercept::recording();
    let operator = Operator::start_through(cluster, &namespace, &intercept).await?;

    let entry = reason(&namespace, "databases", "registry", "OwnerManaged").await?;
    assert_eq!((&entry["status"], &entry["owner"]), (&json!("Refused"), &json!("ConfigMap hippo")));
    assert!(entry["message"].as_str().unwrap_or_default().contains("ConfigMap hippo controls it"), "{entry:#}");
    assert!(entry["patch"].as_str().unwrap_or_default().contains("startupProbe"), "{entry:#}");
    nothing_was_written(&namespace, &intercept).await?;
    operator.stop().await
}

async fn nothing_was_written(namespace: &Namespace, intercept: &Intercept) -> Result<(), Failure> {
    let writes = writes_to(intercept, "registry");
    assert!(writes.is_empty(), "{writes:?}");
    let statefulset = live(namespace, "registry").await?;
    assert_eq!(statefulset["metadata"]["generation"], 1);
    assert!(!statefulset.to_string().contains("reprieve.dev/"), "{statefulset:#}");
    Ok(())
}
