//! What stands in a namespace and refuses or changes pods: limit ranges, quotas, pod security, webhooks, priorities.

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Namespace as NamespaceObject, Pod, ResourceQuota};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::databases::{container, plain_policy, postgresql, registry_database, registry_policy};
use super::stage::{NAME, Stage, findings, must_say, text};
use crate::harness::wait::eventually;
use crate::harness::{Cluster, Failure};

/// The limit that admission puts on every pod is not in the template, and no patch of the template takes it off.
pub async fn a_limit_range_that_sets_a_cpu_limit_is_named(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "limit-range").await?;
    stage.has(limit_range("200m")).await?;
    stage.run(registry_database(NAME)).await?;
    let mut policy = registry_policy("Enforce");
    policy["resources"]["requests"]["cpu"] = json!("100m");
    stage.policy(policy).await?;
    let operator = stage.operator().await?;

    stage.written().await?;
    // The write's own words are replaced by those of later looks, which must say it as well.
    stage.new_pod_is_ready().await?;
    let entry = stage
        .says("applied, with the LimitRange's limit", |entry| {
            entry["status"] == "Applied" && entry["decision"] == "Noop" && !findings(entry, "RP006").is_empty()
        })
        .await?;
    let [finding] = findings(&entry, "RP006").try_into().unwrap_or_default();
    let finding: String = finding;
    assert!(finding.contains("LimitRange") && finding.contains("200m"), "{finding}");
    assert!(finding.contains("no change to the workload can remove it"), "{finding}");

    let database = stage.live().await?;
    let database = container(&database);
    assert_eq!(database["livenessProbe"]["tcpSocket"]["port"], 5432);
    let expected = json!({"requests": {"cpu": "100m", "memory": "2Gi"}, "limits": {"memory": "3Gi"}});
    assert_eq!(database["resources"], expected, "no CPU limit in the template");
    let pod = stage.namespace.api::<Pod>().get("db-0").await?;
    assert_eq!(serde_json::to_value(pod)?["spec"]["containers"][0]["resources"]["limits"]["cpu"], "200m");
    operator.stop().await
}

/// A request above the limit that the namespace sets makes no pod, though the StatefulSet's own dry-run passes.
pub async fn requests_that_a_limit_range_refuses_are_left_and_the_probes_go_alone(
    cluster: &Cluster,
) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "limit-refuses").await?;
    stage.has(limit_range("200m")).await?;
    stage.run(registry_database(NAME)).await?;
    let mut policy = registry_policy("Enforce");
    policy["resources"]["requests"]["cpu"] = json!("500m");
    stage.policy(policy).await?;
    let operator = stage.operator().await?;

    stage.written().await?;
    stage.new_pod_is_ready().await?;
    let entry = stage.reason("ResourcesWithheld").await?;
    must_say(
        &entry,
        &["requests and limits are left as they are", "500m", "must be less than or equal to cpu limit of 200m"],
    )?;
    assert_eq!((text(&entry, "status"), text(&entry, "decision")), ("Applied", "Noop"));
    assert_eq!(findings(&entry, "RP005").len(), 1, "{entry:#}");
    assert!(findings(&entry, "RP001").is_empty() && findings(&entry, "RP002").is_empty(), "{entry:#}");
    must_say(&stage.condition("Ready", "True").await?, &["1 patched"])?;

    let database = stage.live().await?;
    assert_eq!(container(&database)["livenessProbe"]["tcpSocket"]["port"], 5432);
    assert_eq!(container(&database)["resources"], json!({}));
    assert_eq!(stage.patches().len(), 1, "the second look writes nothing");
    operator.stop().await
}

/// Taken off, the template's limit of 1 would be replaced by the namespace's 200m: five times worse.
pub async fn a_cpu_limit_stays_where_a_limit_range_would_set_a_lower_one(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "limit-lower").await?;
    stage.has(limit_range("200m")).await?;
    stage.run(with_cpu_limit("1")).await?;
    stage.policy(removing_cpu_limits()).await?;
    let operator = stage.operator().await?;

    stage.written().await?;
    stage.new_pod_is_ready().await?;
    let entry = stage.reason("ResourcesWithheld").await?;
    must_say(&entry, &["limits.cpu should be gone and is \"200m\""])?;
    let database = stage.live().await?;
    assert_eq!(container(&database)["resources"]["limits"]["cpu"], "1");
    assert_eq!(container(&database)["livenessProbe"]["tcpSocket"]["port"], 5432);
    operator.stop().await
}

/// Where a quota counts limits, a pod without one is refused: taken off, the limit would strand the database.
pub async fn a_cpu_limit_that_a_quota_demands_stays(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "quota-limits").await?;
    quota(&stage, json!({"limits.cpu": "8"})).await?;
    stage.run(with_cpu_limit("1")).await?;
    stage.policy(removing_cpu_limits()).await?;
    let operator = stage.operator().await?;

    stage.written().await?;
    stage.new_pod_is_ready().await?;
    let entry = stage.reason("ResourcesWithheld").await?;
    must_say(&entry, &["requests and limits are left as they are", "must specify limits.cpu"])?;
    assert_eq!(findings(&entry, "RP006").len(), 1, "{entry:#}");
    let database = stage.live().await?;
    assert_eq!(container(&database)["resources"]["limits"]["cpu"], "1");
    assert_eq!(container(&database)["livenessProbe"]["tcpSocket"]["port"], 5432);
    operator.stop().await
}

/// A dry-run counts as a further pod. Without room for one nothing can be proved.
pub async fn a_quota_without_room_for_one_more_pod_keeps_the_write_away(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "quota-pods").await?;
    quota(&stage, json!({"pods": "1"})).await?;
    stage.run(registry_database(NAME)).await?;
    let quotas = stage.namespace.api::<ResourceQuota>();
    eventually("the quota to count the pod", async || {
        let used = quotas.get("quota").await?.status.and_then(|status| status.used).unwrap_or_default();
        Ok(used.get("pods").filter(|count| count.0 == "1").map(drop))
    })
    .await?;
    stage.policy(registry_policy("Enforce")).await?;
    let operator = stage.operator().await?;

    let entry = stage.reason("QuotaExhausted").await?;
    must_say(&entry, &["one more pod", "exceeded quota: quota, requested: pods=1, used: pods=1, limited: pods=1"])?;
    assert_eq!(text(&entry, "status"), "Refused");
    stage.condition("Ready", "False").await?;
    stage.untouched().await?;
    operator.stop().await
}

/// The namespace was tightened after the pods were made: a restart would leave none.
pub async fn a_template_that_pod_security_refuses_is_not_restarted(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "pod-security").await?;
    stage.run(registry_database(NAME)).await?;
    let label = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    Api::<NamespaceObject>::all(cluster.client())
        .patch(stage.namespace.name(), &PatchParams::default(), &Patch::Merge(label))
        .await?;
    pods_are_refused(&stage, registry_database(NAME), "violates PodSecurity").await?;
    stage.policy(registry_policy("Enforce")).await?;
    let operator = stage.operator().await?;

    let entry = stage.reason("TemplateRefused").await?;
    must_say(&entry, &["a restart would leave none", "violates PodSecurity \"restricted:latest\""])?;
    stage.untouched().await?;
    operator.stop().await
}

/// A StatefulSet may name a priority class that is gone; its pods cannot.
pub async fn a_template_that_makes_no_pod_is_not_restarted(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "priority").await?;
    let mut database = registry_database(NAME);
    database["spec"]["template"]["spec"]["priorityClassName"] = json!("gone");
    stage.create(database).await?;
    stage.policy(registry_policy("Enforce")).await?;
    let operator = stage.operator().await?;

    let entry = stage.reason("TemplateRefused").await?;
    must_say(&entry, &["a restart would leave none", "no PriorityClass with name gone was found"])?;
    stage.untouched().await?;
    operator.stop().await
}

/// A webhook on pods that cannot be asked without side effects: `sideEffects: Unknown`, as old clusters still hold it.
pub async fn a_webhook_on_pods_that_takes_no_dry_run_keeps_the_write_away(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "webhook-pods").await?;
    stage.run(registry_database(NAME)).await?;
    let webhook = old_webhook(&stage, "CREATE", "", "pods").await?;
    pods_are_refused(&stage, registry_database(NAME), "does not support dry run").await?;
    stage.policy(registry_policy("Enforce")).await?;
    let operator = stage.operator().await?;

    let entry = stage.reason("DryRunUnsupported").await?;
    must_say(&entry, &["nothing can be proved", "admission webhook \"old.example.com\" does not support dry run"])?;
    assert_eq!(text(&entry, "status"), "Refused");
    stage.untouched().await?;
    operator.stop().await?;
    webhook.remove().await
}

/// The same on StatefulSets.
pub async fn a_webhook_on_statefulsets_that_takes_no_dry_run_keeps_the_write_away(
    cluster: &Cluster,
) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "webhook-sets").await?;
    stage.run(registry_database(NAME)).await?;
    let webhook = old_webhook(&stage, "UPDATE", "apps", "statefulsets").await?;
    let statefulsets = stage.namespace.api::<k8s_openapi::api::apps::v1::StatefulSet>();
    let dry = PatchParams { dry_run: true, ..PatchParams::default() };
    let change = json!({"metadata": {"labels": {"changed": "dry"}}});
    eventually("the webhook to take effect", async || {
        Ok(statefulsets.patch(NAME, &dry, &Patch::Merge(&change)).await.err().map(drop))
    })
    .await?;
    stage.policy(registry_policy("Enforce")).await?;
    let operator = stage.operator().await?;

    let entry = stage.reason("DryRunUnsupported").await?;
    must_say(&entry, &["the patch's dry-run", "admission webhook \"old.example.com\" does not support dry run"])?;
    stage.untouched().await?;
    operator.stop().await?;
    webhook.remove().await
}

fn limit_range(cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": cpu}}]},
    })
}

/// PostgreSQL with requests and this CPU limit.
fn with_cpu_limit(cpu: &str) -> Value {
    let mut database = postgresql(NAME);
    database["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = json!({"cpu": cpu});
    database
}

fn removing_cpu_limits() -> Value {
    let mut policy = plain_policy("Enforce");
    policy["resources"] = json!({"cpuLimit": "Remove"});
    policy
}

/// A quota that is in force when this returns.
async fn quota(stage: &Stage<'_>, hard: Value) -> Result<(), Failure> {
    let object = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "quota"}, "spec": {"hard": hard},
    });
    stage.has(object).await?;
    let quotas = stage.namespace.api::<ResourceQuota>();
    eventually("the quota to be in force", async || {
        let status = quotas.get("quota").await?.status.unwrap_or_default();
        Ok(status.used.filter(|used| !used.is_empty()).map(drop))
    })
    .await
}

/// Returns when admission refuses the database's pods in these words: it learns of its configuration by watches.
async fn pods_are_refused(stage: &Stage<'_>, database: Value, words: &str) -> Result<(), Failure> {
    let mut pod = database["spec"]["template"].clone();
    pod["metadata"]["name"] = json!("trial");
    let pod: Pod = serde_json::from_value(pod)?;
    let pods = stage.namespace.api::<Pod>();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    eventually(&format!("pods to be refused: {words}"), async || {
        Ok(pods.create(&dry, &pod).await.err().filter(|error| error.to_string().contains(words)).map(drop))
    })
    .await
}

/// A webhook of which other scenarios must hear nothing, neither now nor later.
struct OldWebhook {
    api: Api<MutatingWebhookConfiguration>,
    name: String,
}

impl OldWebhook {
    async fn remove(self) -> Result<(), Failure> {
        self.api.delete(&self.name, &DeleteParams::default()).await?;
        Ok(())
    }
}

/// Cannot be created any more, but upgraded clusters still hold such webhooks, so it is put behind the API server.
async fn old_webhook(stage: &Stage<'_>, operation: &str, group: &str, resource: &str) -> Result<OldWebhook, Failure> {
    let name = format!("old-{}", stage.namespace.name());
    let namespace = stage.namespace.owner_reference();
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {
            "name": name,
            // Like the namespace's, but for its beginning: no two objects may share one.
            "uid": format!("00000000{}", &namespace.uid[8..]),
            "creationTimestamp": "2019-06-01T00:00:00Z",
            "ownerReferences": [namespace],
        },
        "webhooks": [{
            "name": "old.example.com",
            "admissionReviewVersions": ["v1", "v1beta1"],
            "sideEffects": "Unknown",
            "failurePolicy": "Ignore",
            "matchPolicy": "Exact",
            "timeoutSeconds": 1,
            "clientConfig": {"url": "https://127.0.0.1:9/"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": stage.namespace.name()}},
            "objectSelector": {},
            "rules": [{
                "operations": [operation], "apiGroups": [group], "apiVersions": ["v1"], "resources": [resource],
            }],
        }],
    });
    let key = format!("/registry/mutatingwebhookconfigurations/{name}");
    stage.cluster.control_plane()?.etcd_put(&key, &configuration).await?;
    Ok(OldWebhook { api: Api::all(stage.cluster.client()), name })
}
