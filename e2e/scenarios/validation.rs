//! Policies and workloads that are wrong, odd or unusable: what the server says, and what the operator says of the rest.

use kube::Api;
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::databases::{
    condition, container, create, live, plain_policy, policies, policy, postgresql, reason, registry_policy,
    status_where,
};
use super::fixtures::{pod_named, status_of};
use super::stage::must_say;
use crate::harness::operator::Operator;
use crate::harness::tcp::{OpenPort, loopback_address};
use crate::harness::{Cluster, Context, Failure, Namespace};

/// Each spec with what `kubectl apply` prints of it. Our own rules run here in the server's implementation; ranges,
/// patterns, enums and lists are the server's alone.
const REFUSED: [(&str, &str); 21] = [
    ("selector: {}", "spec: Invalid value: an empty selector would match every StatefulSet: write matchLabels"),
    ("{selectAll: true, selector: {matchLabels: {a: b}}}", "selectAll: true and a selector contradict each other"),
    (
        "selector: {matchExpressions: [{key: a, operator: In}]}",
        "spec.selector.matchExpressions[0]: Invalid value: operators In and NotIn need values",
    ),
    ("mode: Enforced", r#"spec.mode: Unsupported value: "Enforced": supported values: "Audit", "Enforce""#),
    ("remedy: Replace", r#"supported values: "Auto", "Swap", "Additive", "Suggest""#),
    ("databases: [{container: a, engine: Postgres}]", r#"spec.databases[0].engine: Unsupported value: "Postgres""#),
    (
        "databases: [{container: a, engine: MySQL, port: 70000}]",
        "spec.databases[0].port: Invalid value: 70000: spec.databases[0].port in body should be less than or equal to 65535",
    ),
    (
        "databases: [{container: a, engine: MySQL}, {container: a, engine: Redis}]",
        r#"spec.databases[1]: Duplicate value: {"container":"a"}"#,
    ),
    ("liveness: {failureThreshold: 1}", "spec.liveness.failureThreshold in body should be greater than or equal to 3"),
    (
        "liveness: {timeoutSeconds: 11, periodSeconds: 10}",
        "spec.liveness: Invalid value: liveness.timeoutSeconds is above periodSeconds",
    ),
    ("startup: {recoveryAllowanceSeconds: 5}", "should be greater than or equal to 60"),
    (
        "resources: {requests: {memory: 2gb}}",
        "resources.requests.memory must be a quantity above zero, for example 2Gi",
    ),
    (
        "resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}",
        "resources.limits.memory is below resources.requests.memory: raise the limit",
    ),
    (
        "{resources: {cpuLimit: Remove}, rules: {disable: [RP006]}}",
        "resources.cpuLimit: Remove asks for rule RP006, which rules.disable leaves out",
    ),
    ("rules: {disable: [rp4]}", "spec.rules.disable[0] in body should match '^RP[0-9]{3}$'"),
    ("rules: {disable: [RP006], optIn: [RP006]}", "a rule stands in both rules.disable and rules.optIn"),
    ("rollout: {maxConcurrent: 0}", "spec.rollout.maxConcurrent in body should be greater than or equal to 1"),
    ("rollout: {soakSeconds: 1200}", "rollout.soakSeconds must be below progressDeadlineSeconds"),
    (
        "rollout: {windows: [{schedule: 0 2 * * 8, duration: 3h}]}",
        "spec.rollout.windows[0]: Invalid value: schedule must be five cron fields within their ranges",
    ),
    (
        "rollout: {windows: [{schedule: 0 2 * * 6, duration: 3 hours}]}",
        "duration must be hours and minutes above zero, for example 3h, 90m or 1h30m",
    ),
    (
        "rollout: {windows: [{schedule: 0 2 * * 6, duration: 3h, timeZone: UTC+1}]}",
        "timeZone must be an IANA name, for example Europe/Berlin or UTC",
    ),
];

pub async fn bad_policies_are_refused_with_a_sentence(cluster: &Cluster) -> Result<(), Failure> {
    cluster.with_reprieve().await?;
    let namespace = cluster.namespace("bad-policies").await?;
    let namespaced = policies(&namespace);
    let everywhere = cluster_policies(cluster);
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    for (spec, words) in REFUSED {
        let spec: Value = serde_yaml::from_str(spec).context(spec)?;
        for (kind, api) in [("ProbePolicy", &namespaced), ("ClusterProbePolicy", &everywhere)] {
            let object = json!({
                "apiVersion": "reprieve.dev/v1alpha1", "kind": kind, "metadata": {"name": "bad"}, "spec": spec,
            });
            let refusal = status_of(api.create(&dry, &serde_json::from_value(object)?).await).context(&spec)?;
            assert_eq!(refusal.code, 422, "{spec}: {}", refusal.message);
            assert!(refusal.message.contains(words), "{kind} {spec}: {}", refusal.message);
        }
    }

    // As a person meets it.
    let Err(printed) = apply(cluster, &namespace, "{selector: {}}").await else {
        return Err(Failure::new("kubectl applied an empty selector"));
    };
    let printed = printed.to_string();
    assert!(printed.contains("The ProbePolicy \"registry\" is invalid: spec: Invalid value:"), "{printed}");
    assert!(printed.contains("or say selectAll: true if you mean all of them"), "{printed}");
    let Err(printed) = apply(cluster, &namespace, "{selectAll: true, livenes: {periodSeconds: 10}}").await else {
        return Err(Failure::new("kubectl applied a field that does not exist"));
    };
    assert!(printed.to_string().contains("unknown field \"spec.livenes\""), "{printed}");
    Ok(())
}

/// What is left out is filled in, so that `kubectl get -o yaml` shows what is in force.
pub async fn a_good_policy_is_stored_with_its_defaults(cluster: &Cluster) -> Result<(), Failure> {
    cluster.with_reprieve().await?;
    let namespace = cluster.namespace("good-policies").await?;
    let mut spec = registry_policy("Enforce");
    spec["rollout"] = json!({"windows": [{"schedule": "0 2 * * 6", "duration": "3h", "timeZone": "Europe/Berlin"}]});
    policy(cluster, &namespace, "registry", spec.clone()).await?;
    let stored = serde_json::to_value(policies(&namespace).get("registry").await?)?;
    let mut expected = spec;
    for (field, value) in [("killLoop", json!("Immediate")), ("maxConcurrent", json!(1)), ("soakSeconds", json!(120))] {
        expected["rollout"][field] = value;
    }
    expected["rollout"]["progressDeadlineSeconds"] = json!(1200);
    expected["rollout"]["onFailure"] = json!("Rollback");
    expected["rollout"]["deleteStuckPods"] = json!(false);
    expected["rules"] = json!({});
    expected["remedy"] = json!("Auto");
    expected["onDelete"] = json!("Keep");
    assert_eq!(stored["spec"], expected);

    policy(cluster, &namespace, "empty", json!({})).await?;
    let stored = serde_json::to_value(policies(&namespace).get("empty").await?)?;
    assert_eq!(stored["spec"]["mode"], "Audit");
    assert_eq!(stored["spec"]["startup"]["recoveryAllowanceSeconds"], 3600);
    assert_eq!(stored["spec"]["resources"]["cpuLimit"], "Keep");
    Ok(())
}

/// What no schema can see: a range that runs backwards, a zone that is not on the map, a rule that does not exist. Such
/// a policy stops, in words; the others go on.
pub async fn an_unusable_policy_stalls_alone(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("stalled").await?;
    let _port = database(cluster, &namespace, "good", "good").await?;
    let _other = database(cluster, &namespace, "stuck", "stuck").await?;
    let before = live(&namespace, "stuck").await?;
    policy(cluster, &namespace, "good", carrying("good")).await?;
    let mut bad = carrying("stuck");
    bad["rules"] = json!({"disable": ["RP099"]});
    bad["rollout"] = json!({"windows": [
        {"schedule": "* * * * *", "duration": "1h"},
        {"schedule": "0 2 * * FRI-MON", "duration": "3h"},
        {"schedule": "0 2 * * 6", "duration": "3h", "timeZone": "Europe/Atlantis"},
        {"schedule": "0 2 30 2 *", "duration": "3h"},
    ]});
    policy(cluster, &namespace, "stuck", bad).await?;
    let operator = Operator::start(cluster, &namespace).await?;

    let stalled = condition(&namespace, "stuck", "Stalled", "True").await?;
    assert_eq!(stalled["reason"], "InvalidPolicy");
    let words = [
        "spec.rules.disable: this version has no rule RP099",
        "spec.rollout.windows[1]: schedule \"0 2 * * FRI-MON\"",
        "5-6,0-1 for Friday to Monday",
        "spec.rollout.windows[2]: timeZone \"Europe/Atlantis\" is not known",
        "spec.rollout.windows[3]: schedule \"0 2 30 2 *\" names a day that never comes",
    ];
    must_say(&stalled, &words)?;
    must_say(&condition(&namespace, "stuck", "Ready", "False").await?, &words)?;
    must_say(&reason(&namespace, "stuck", "stuck", "InvalidPolicy").await?, &words)?;
    status_where(&namespace, "good", "good", "written", |entry| entry["writes"] == 1).await?;
    condition(&namespace, "good", "Stalled", "False").await?;
    assert_eq!(live(&namespace, "stuck").await?["spec"], before["spec"], "nothing is written under it");

    policy(cluster, &namespace, "stuck", carrying("stuck")).await?;
    status_where(&namespace, "stuck", "stuck", "written", |entry| entry["writes"] == 1).await?;
    condition(&namespace, "stuck", "Stalled", "False").await?;
    operator.stop().await
}

/// Huge, crowded, strangely written, or with a record that nobody can read: each is judged by itself.
pub async fn odd_statefulsets_do_not_stop_the_others(cluster: &Cluster) -> Result<(), Failure> {
    let namespace = cluster.namespace("odd").await?;
    let _good = database(cluster, &namespace, "good", "database").await?;

    let mut odd = postgresql("odd");
    // 256 KiB are allowed for all annotations of an object.
    odd["metadata"]["annotations"] = json!({"example.com/notes": "ü".repeat(120_000)});
    let containers = odd["spec"]["template"]["spec"]["containers"].as_array_mut();
    containers.into_iter().flatten().for_each(|database| {
        database["resources"] = json!({"requests": {"cpu": "1e-1", "memory": ".5Gi"}, "limits": {"memory": "1e9"}});
    });
    for number in 1..40 {
        let sidecar = json!({
            "name": format!("sidecar-{number}"), "image": "example.com/sidecar:1",
            "resources": {"requests": {"cpu": "1e0", "memory": "1e3"}, "limits": {"cpu": "+2", "memory": "00.1G"}},
        });
        if let Some(containers) = odd["spec"]["template"]["spec"]["containers"].as_array_mut() {
            containers.push(sidecar);
        }
    }
    create(&namespace, odd).await?;
    let address = loopback_address();
    let _odd = OpenPort::at(address, 5432).await?;
    cluster.kubelet().runs(&pod_named(&namespace, "odd-0").await?).ready().at(address).await?;

    let mut unreadable = postgresql("unreadable");
    unreadable["metadata"]["annotations"] = json!({"reprieve.dev/state": "{version: one}"});
    create(&namespace, unreadable).await?;
    let before = live(&namespace, "unreadable").await?;

    let mut spec = plain_policy("Enforce");
    spec["rollout"] = json!({"maxConcurrent": 3});
    policy(cluster, &namespace, "all", spec).await?;
    let operator = Operator::start(cluster, &namespace).await?;

    for name in ["good", "odd"] {
        status_where(&namespace, "all", name, "written", |entry| entry["writes"] == 1).await?;
        let database = live(&namespace, name).await?;
        assert_eq!(container(&database)["livenessProbe"]["tcpSocket"]["port"], 5432, "{name}");
    }
    let odd = live(&namespace, "odd").await?;
    assert_eq!(odd["spec"]["template"]["spec"]["containers"].as_array().map(Vec::len), Some(40));
    let entry = reason(&namespace, "all", "unreadable", "RecordUnreadable").await?;
    assert_eq!((&entry["decision"], &entry["status"]), (&json!("Halt"), &json!("Failed")));
    must_say(&entry, &["reprieve.dev/state", "nothing is written until it is removed or repaired"])?;
    let after = live(&namespace, "unreadable").await?;
    assert_eq!(
        (&after["spec"], &after["metadata"]["annotations"]),
        (&before["spec"], &before["metadata"]["annotations"])
    );
    must_say(&condition(&namespace, "all", "Ready", "False").await?, &["3 workloads", "2 patched", "1 refused"])?;
    operator.stop().await
}

/// A PostgreSQL with this label, whose pod is ready and answers.
async fn database(cluster: &Cluster, namespace: &Namespace, name: &str, component: &str) -> Result<OpenPort, Failure> {
    let mut database = postgresql(name);
    database["metadata"]["labels"]["component"] = json!(component);
    create(namespace, database).await?;
    let address = loopback_address();
    let port = OpenPort::at(address, 5432).await?;
    cluster.kubelet().runs(&pod_named(namespace, &format!("{name}-0")).await?).ready().at(address).await?;
    Ok(port)
}

fn carrying(component: &str) -> Value {
    json!({"mode": "Enforce", "selector": {"matchLabels": {"component": component}}})
}

async fn apply(cluster: &Cluster, namespace: &Namespace, spec: &str) -> Result<String, Failure> {
    let manifest =
        format!("apiVersion: reprieve.dev/v1alpha1\nkind: ProbePolicy\nmetadata: {{name: registry}}\nspec: {spec}\n");
    cluster.kubectl(&["apply", "--namespace", namespace.name(), "--filename", "-"], &manifest).await
}

fn cluster_policies(cluster: &Cluster) -> Api<DynamicObject> {
    let mut resource = ApiResource::from_gvk(&GroupVersionKind::gvk("reprieve.dev", "v1alpha1", "ClusterProbePolicy"));
    "clusterprobepolicies".clone_into(&mut resource.plural);
    Api::all_with(cluster.client(), &resource)
}
