//! An operator that lacks one verb of `config/rbac` says which, writes nothing, and goes on once it is granted.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Event as CoreEvent, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::databases::{change, container, create, live, plain_policy, postgresql, registry_database, registry_policy};
use super::fixtures::{pod_named, status_of};
use super::stage::{NAME, Stage, findings, must_say, text};
use crate::harness::account::{Account, may};
use crate::harness::operator::{Operator, access, apply, rules_without};
use crate::harness::wait::{eventually, eventually_within};
use crate::harness::{Cluster, Failure};

pub async fn patching_statefulsets_is_missed_by_name(cluster: &Cluster) -> Result<(), Failure> {
    let stage = ready(cluster, "no-patch").await?;
    let place = format!("patch statefulsets.apps in the namespace {}", stage.namespace.name());
    missed(&stage, "patch", "apps", "statefulsets", "MissingPermission", &[&place, "cannot patch resource"]).await
}

pub async fn creating_pods_is_missed_by_name(cluster: &Cluster) -> Result<(), Failure> {
    let stage = ready(cluster, "no-create").await?;
    let place = format!("create (as a dry-run) pods in the namespace {}", stage.namespace.name());
    missed(&stage, "create", "", "pods", "MissingPermission", &[&place, "cannot create resource"]).await
}

pub async fn reading_statefulsets_is_missed_by_name(cluster: &Cluster) -> Result<(), Failure> {
    let stage = ready(cluster, "no-get").await?;
    let place = format!("get statefulsets.apps in the namespace {}", stage.namespace.name());
    missed(&stage, "get", "apps", "statefulsets", "MissingPermission", &[&place, "cannot get resource"]).await
}

pub async fn listing_statefulsets_is_missed_by_name(cluster: &Cluster) -> Result<(), Failure> {
    let stage = ready(cluster, "no-list").await?;
    let place = format!("list or watch statefulsets.apps in the namespace {}", stage.namespace.name());
    missed(&stage, "list", "apps", "statefulsets", "WatchFailing", &[&place, "cannot list resource"]).await
}

pub async fn listing_pods_is_missed_by_name(cluster: &Cluster) -> Result<(), Failure> {
    let stage = ready(cluster, "no-pods").await?;
    let place = format!("list or watch pods in the namespace {}", stage.namespace.name());
    missed(&stage, "list", "", "pods", "WatchFailing", &[&place, "cannot list resource"]).await
}

pub async fn watching_pods_is_missed_by_name(cluster: &Cluster) -> Result<(), Failure> {
    let stage = ready(cluster, "no-watch").await?;
    let place = format!("list or watch pods in the namespace {}", stage.namespace.name());
    missed(&stage, "watch", "", "pods", "WatchFailing", &[&place, "cannot watch resource"]).await
}

/// Only where requests are raised and the pod is on a node.
pub async fn reading_nodes_is_missed_by_name(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "no-nodes").await?;
    let node = format!("node-of-{}", stage.namespace.name());
    cluster.kubelet().registers(&node, "8", "32Gi").await?;
    stage.create(registry_database(NAME)).await?;
    let pod = stage.new_pod().await?;
    cluster.kubelet().binds(&pod, &node).await?;
    cluster.kubelet().runs(&pod).ready().at(stage.address).await?;
    stage.ready_replica().await?;
    stage.policy(registry_policy("Enforce")).await?;
    let what = format!("get nodes ({node})");
    missed(&stage, "get", "", "nodes", "MissingPermission", &[&what, "at the cluster scope"]).await?;
    // Nobody else would, and the namespace could not go.
    cluster.kubelet().lets_go(&pod).await
}

/// A policy of the namespace needs to know nothing of namespaces and acts. A cluster policy that selects by their
/// labels cannot know its reach and does not. Both is said.
pub async fn listing_namespaces_is_missed_by_name(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "no-namespaces").await?;
    stage.run(registry_database(NAME)).await?;
    let mut policy = registry_policy("Enforce");
    policy["selector"] = json!({"matchLabels": {"component": "database", "carried": "here"}});
    let carried = json!({"metadata": {"labels": {"carried": "here"}}});
    super::databases::change(&stage.namespace, NAME, &carried).await?;
    stage.policy(policy).await?;
    create(&stage.namespace, registry_database("far")).await?;
    let pod = pod_named(&stage.namespace, "far-0").await?;
    cluster.kubelet().runs(&pod).ready().at(stage.address).await?;
    let before = live(&stage.namespace, "far").await?;
    let mut far = registry_policy("Enforce");
    far["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": stage.namespace.name()}});
    let object = json!({
        "apiVersion": "reprieve.dev/v1alpha1", "kind": "ClusterProbePolicy",
        "metadata": {"name": stage.namespace.name(), "ownerReferences": [stage.namespace.owner_reference()]},
        "spec": far,
    });
    apply(&cluster.client(), &object).await?;
    let account = account_without(&stage, "list", "namespaces").await?;
    let operator = stage.operator_as(&account).await?;

    let degraded = stage.condition("Degraded", "True").await?;
    must_say(&degraded, &["list or watch namespaces at cluster scope", "cannot list resource \"namespaces\""])?;
    stage.condition("Ready", "False").await?;
    stage.written().await?;
    assert_eq!(live(&stage.namespace, "far").await?["spec"], before["spec"], "its reach is not known");

    account.allow_everywhere(vec![may(&["list"], "", &["namespaces"])]).await?;
    stage.condition("Degraded", "False").await?;
    eventually("the cluster policy to reach the namespace", async || {
        let far = live(&stage.namespace, "far").await?;
        Ok(container(&far)["livenessProbe"]["tcpSocket"].is_object().then_some(()))
    })
    .await?;
    operator.stop().await
}

/// A script that may not be read is no reason to stop: the finding says what is missing, and once that is granted the
/// script is judged by its text.
pub async fn an_opaque_script_becomes_known_through_its_config_map(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "config-map").await?;
    let data = json!({"alive.sh": "#!/bin/sh\nanswer=$(pg_isready -h 127.0.0.1)\ncase \"$answer\" in\n*accepting*) exit 0 ;;\nesac\nexit 1\n"});
    stage.has(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "checks"}, "data": data})).await?;
    let mut database = postgresql(NAME);
    let spec = &mut database["spec"]["template"]["spec"];
    spec["volumes"] = json!([{"name": "checks", "configMap": {"name": "checks", "defaultMode": 0o755}}]);
    spec["containers"][0]["volumeMounts"] = json!([{"name": "checks", "mountPath": "/checks"}]);
    spec["containers"][0]["livenessProbe"] = json!({"exec": {"command": ["/checks/alive.sh"]}, "timeoutSeconds": 5});
    stage.run(database).await?;
    stage.policy(plain_policy("Audit")).await?;
    let account = account_without(&stage, "get", "configmaps").await?;
    let operator = stage.operator_as(&account).await?;

    let why =
        format!("ConfigMap checks, which may not be read: get configmaps in the namespace {}", stage.namespace.name());
    stage.says("the script unread", |entry| findings(entry, "RP002").iter().any(|found| found.contains(&why))).await?;

    account.allow_everywhere(vec![may(&["get"], "", &["configmaps"])]).await?;
    // It is looked at again when it changes, or after a while.
    change(&stage.namespace, NAME, &json!({"metadata": {"labels": {"look": "again"}}})).await?;
    stage
        .says("the script read", |entry| {
            let reads = findings(entry, "RP001").iter().any(|found| found.contains("it runs pg_isready"));
            reads && findings(entry, "RP002").is_empty()
        })
        .await?;
    assert!(stage.patches().is_empty(), "an audit writes nothing");
    stage.only_harmless_writes()?;
    operator.stop().await
}

/// An event is a courtesy.
pub async fn without_events_it_still_patches(cluster: &Cluster) -> Result<(), Failure> {
    let stage = ready(cluster, "no-events").await?;
    let account = account_without(&stage, "create", "events").await?;
    let operator = stage.operator_as(&account).await?;
    stage.written().await?;
    stage.condition("Ready", "True").await?;
    let ours = ListParams::default().fields("reportingComponent=reprieve");
    assert_eq!(stage.namespace.api::<CoreEvent>().list(&ours).await?.items.len(), 0);
    operator.stop().await
}

/// Without policies there is nothing to do, and no status in which to say so: the process ends with a sentence.
pub async fn without_policies_to_list_it_ends_and_says_what_to_do(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("no-policies").await?;
    for resource in ["probepolicies", "clusterprobepolicies"] {
        let account = namespace.account(&format!("without-{resource}")).await?;
        cluster.with_reprieve().await?;
        account.allow_everywhere(rules_without("list", resource)?).await?;
        let operator = Operator::start_as(cluster, &namespace, &account).await?;
        let Err(failure) = operator.stop().await else {
            return Err(Failure::new(format!("it runs without {resource}")));
        };
        let place = match resource {
            "probepolicies" => format!("in the namespace {}", namespace.name()),
            _ => "at cluster scope".to_owned(),
        };
        let said = failure.to_string();
        for words in [format!("may not list {resource}.reprieve.dev {place}").as_str(), "apply config/rbac"] {
            assert!(said.contains(words), "\"{words}\" is missing in: {said}");
        }
    }
    Ok(())
}

/// RBAC cannot say "dry-run only"; the admission policy beside it does.
pub async fn the_operator_itself_cannot_create_a_pod(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("pods-dry-run-only").await?;
    let pods: Api<Pod> = Api::namespaced(access(cluster).await?.client().await?, namespace.name());
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "real"}, "spec": {"containers": [{"name": "a", "image": "example.com/a"}]},
    }))?;
    // Where admission has not learned of the policy yet, the pod is made; and must go again.
    let refusal = eventually("the admission policy to be in force", async || {
        match pods.create(&PostParams::default(), &pod).await {
            Err(error) => Ok(Some(status_of::<Pod>(Err(error))?)),
            Ok(made) => {
                namespace.api::<Pod>().delete(&made.name_any(), &DeleteParams::default().grace_period(0)).await?;
                Ok(None)
            }
        }
    })
    .await?;
    assert_eq!(refusal.code, 403, "{}", refusal.message);
    assert!(refusal.message.contains("the operator reprieve may create pods as a dry-run only"), "{}", refusal.message);

    let dry = PostParams { dry_run: true, ..PostParams::default() };
    pods.create(&dry, &pod).await?;
    assert!(namespace.api::<Pod>().get_opt("real").await?.is_none());
    // And it concerns nobody else.
    namespace.api::<Pod>().create(&PostParams::default(), &pod).await?;
    Ok(())
}

/// A database that would be written, under a policy that asks for requests too.
async fn ready<'c>(cluster: &'c Cluster, prefix: &str) -> Result<Stage<'c>, Failure> {
    let mut stage = Stage::open(cluster, prefix).await?;
    stage.run(registry_database(NAME)).await?;
    stage.policy(registry_policy("Enforce")).await?;
    Ok(stage)
}

async fn account_without(stage: &Stage<'_>, verb: &str, resource: &str) -> Result<Account, Failure> {
    let account = stage.namespace.account("operator").await?;
    account.allow_everywhere(rules_without(verb, resource)?).await?;
    Ok(account)
}

/// The operator lacks this verb: it says so in these words, writes nothing, and once the verb is granted it goes on
/// by itself while the person who granted it still watches.
async fn missed(
    stage: &Stage<'_>,
    verb: &str,
    group: &str,
    resource: &str,
    reason: &str,
    words: &[&str],
) -> Result<(), Failure> {
    let account = account_without(stage, verb, resource).await?;
    let operator = stage.operator_as(&account).await?;

    let degraded = stage.condition("Degraded", "True").await?;
    assert_eq!(text(&degraded, "reason"), reason, "{degraded}");
    must_say(&degraded, words)?;
    assert!(!text(&degraded, "message").contains("Status {"), "in words: {degraded}");
    must_say(&stage.condition("Ready", "False").await?, words)?;
    stage.untouched().await?;

    account.allow_everywhere(vec![may(&[verb], group, &[resource])]).await?;
    let statefulsets = stage.namespace.api::<StatefulSet>();
    eventually_within(std::time::Duration::from_secs(30), "it to go on by itself", async || {
        let database: Value = serde_json::to_value(statefulsets.get(NAME).await?)?;
        Ok(container(&database)["livenessProbe"]["tcpSocket"].is_object().then_some(()))
    })
    .await?;
    stage.condition("Degraded", "False").await?;
    stage.only_harmless_writes()?;
    operator.stop().await
}
