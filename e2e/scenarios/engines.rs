//! Each engine gets what suits it, what is none gets nothing, and the rest of the pod stays as it is.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::databases::{container, create, live, plain_policy, policy, postgresql, reason, status_where};
use super::fixtures::pod_named;
use super::steps::{Machine, generation, kubectl, looked_at_anew, settled, with_container, writes_to};
use crate::harness::intercept::Intercept;
use crate::harness::operator::Operator;
use crate::harness::{Cluster, Failure, Namespace};

/// A StatefulSet of one container named `database`, with requests so that only its probes are at stake.
fn database(name: &str, values: &Value) -> Value {
    let without = json!({"livenessProbe": null, "readinessProbe": null});
    with_container(with_container(postgresql(name), &without), values)
}

/// A namespace in which all pods run and one port answers, an operator that enforces, and what it asks the server.
struct Stage {
    namespace: Namespace,
    intercept: Intercept,
    operator: Operator,
    _machine: Machine,
}

impl Stage {
    async fn set(cluster: &Cluster, prefix: &str, port: u16) -> Result<Self, Failure> {
        let namespace = cluster.namespace(prefix).await?;
        let machine = Machine::answering(cluster, &namespace, port).await?;
        policy(cluster, &namespace, "databases", plain_policy("Enforce")).await?;
        let intercept = Intercept::recording();
        let operator = Operator::start_through(cluster, &namespace, &intercept).await?;
        Ok(Self { namespace, intercept, operator, _machine: machine })
    }

    /// The StatefulSet after its one write.
    async fn written(&self, name: &str) -> Result<Value, Failure> {
        status_where(&self.namespace, "databases", name, "written", |entry| entry["writes"] == 1).await?;
        let statefulset = settled(&self.namespace, name).await?;
        assert_eq!(writes_to(&self.intercept, name).len(), 1);
        Ok(statefulset)
    }
}

/// Its port opens when recovery is over, and a bare socket counts as a connect error: the owner's check stays, behind
/// a startup probe that waits.
pub async fn mariadb_gets_time_to_start_and_no_socket(cluster: &Cluster) -> Result<(), Failure> {
    let stage = Stage::set(cluster, "mariadb", 3306).await?;
    let check = json!({"exec": {"command": ["sh", "-c", "mysqladmin ping -uroot -p\"$MARIADB_ROOT_PASSWORD\""]}});
    let mut liveness = check.clone();
    liveness["initialDelaySeconds"] = json!(120);
    create(&stage.namespace, database("asks", &json!({"image": "mariadb:11.4", "livenessProbe": liveness}))).await?;
    let socket = json!({"tcpSocket": {"port": 3306}, "initialDelaySeconds": 30});
    create(&stage.namespace, database("dials", &json!({"image": "mariadb:11.4", "livenessProbe": socket}))).await?;

    let asks = stage.written("asks").await?;
    let (liveness, startup) = (&container(&asks)["livenessProbe"], &container(&asks)["startupProbe"]);
    assert_eq!((&liveness["exec"], &startup["exec"]), (&check["exec"], &check["exec"]));
    assert_eq!((&liveness["tcpSocket"], &startup["tcpSocket"]), (&Value::Null, &Value::Null));
    assert_eq!((&startup["periodSeconds"], &startup["failureThreshold"]), (&json!(10), &json!(360)));
    assert_eq!(liveness["initialDelaySeconds"], 120, "what the owner wrote is never shortened");

    let dials = stage.written("dials").await?;
    let (liveness, startup) = (&container(&dials)["livenessProbe"], &container(&dials)["startupProbe"]);
    assert_eq!((&liveness["tcpSocket"]["port"], &startup["tcpSocket"]["port"]), (&json!(3306), &json!(3306)));
    assert_eq!(startup["failureThreshold"], 360);
    stage.operator.stop().await
}

/// `redis-cli ping` exits with 0 while the server loads, so nothing kills it; a grep for PONG does.
pub async fn redis_is_swapped_only_where_its_check_fails_while_it_loads(cluster: &Cluster) -> Result<(), Failure> {
    let stage = Stage::set(cluster, "redis", 6379).await?;
    let ping = json!({"exec": {"command": ["redis-cli", "ping"]}});
    let waits_for_pong = json!({"exec": {"command": ["sh", "-c", "redis-cli ping | grep PONG"]}});
    create(&stage.namespace, database("ping", &json!({"image": "redis:7.2", "livenessProbe": ping}))).await?;
    create(&stage.namespace, database("pong", &json!({"image": "redis:7.2", "livenessProbe": waits_for_pong}))).await?;

    let statefulset = stage.written("ping").await?;
    let patched = container(&statefulset);
    assert_eq!(patched["livenessProbe"]["exec"], ping["exec"]);
    assert_eq!(patched["livenessProbe"]["timeoutSeconds"], 5);
    assert_eq!((&patched["startupProbe"], &patched["readinessProbe"]), (&Value::Null, &Value::Null));

    let statefulset = stage.written("pong").await?;
    let patched = container(&statefulset);
    assert_eq!(patched["livenessProbe"]["tcpSocket"]["port"], 6379);
    assert_eq!(patched["livenessProbe"]["exec"], Value::Null);
    assert_eq!(patched["readinessProbe"]["exec"], waits_for_pong["exec"]);
    assert_eq!(patched["startupProbe"]["tcpSocket"]["port"], 6379);
    stage.operator.stop().await
}

/// The kubelet dials the pod's IP, and nothing answers there.
pub async fn a_server_on_loopback_gets_no_socket(cluster: &Cluster) -> Result<(), Failure> {
    let stage = Stage::set(cluster, "loopback", 6379).await?;
    let check = json!({"exec": {"command": ["sh", "-c", "redis-cli -h 127.0.0.1 ping | grep PONG"]}});
    let values = json!({
        "image": "redis:7.2", "args": ["redis-server", "--bind", "127.0.0.1", "::1"], "livenessProbe": check,
    });
    create(&stage.namespace, database("local", &values)).await?;

    let statefulset = stage.written("local").await?;
    let patched = container(&statefulset);
    for probe in ["livenessProbe", "startupProbe"] {
        assert_eq!(patched[probe]["exec"], check["exec"], "{probe}");
        assert_eq!(patched[probe]["tcpSocket"], Value::Null, "{probe}");
    }
    assert_eq!(patched["startupProbe"]["failureThreshold"], 360);
    let entry = reason(&stage.namespace, "databases", "local", "Applied").await?;
    let message = entry["message"].as_str().unwrap_or_default();
    assert!(message.contains("--bind is 127.0.0.1 ::1: nothing answers on the pod's IP"), "{message}");
    stage.operator.stop().await
}

/// Patroni answers for itself: not for its role, and not for PostgreSQL.
pub async fn patroni_is_asked_for_its_own_life(cluster: &Cluster) -> Result<(), Failure> {
    let stage = Stage::set(cluster, "patroni", 8008).await?;
    let values = json!({
        "image": "ghcr.io/zalando/spilo-16:3.2-p3",
        "ports": [{"containerPort": 8008, "name": "patroni"}, {"containerPort": 5432, "name": "postgresql"}],
        "livenessProbe": {"exec": {"command": ["pg_isready", "-U", "postgres"]}, "initialDelaySeconds": 60},
    });
    create(&stage.namespace, database("patroni", &values)).await?;

    let statefulset = stage.written("patroni").await?;
    let patched = container(&statefulset);
    let asked = json!({"path": "/liveness", "port": 8008, "scheme": "HTTP"});
    assert_eq!(patched["livenessProbe"]["httpGet"], asked);
    assert_eq!(patched["livenessProbe"]["exec"], Value::Null);
    assert_eq!(patched["startupProbe"]["httpGet"], asked);
    assert_eq!(patched["readinessProbe"]["exec"]["command"], json!(["pg_isready", "-U", "postgres"]));
    stage.operator.stop().await
}

/// What stands beside a database, or only uses its image.
pub async fn what_is_no_database_gets_nothing(cluster: &Cluster) -> Result<(), Failure> {
    let stage = Stage::set(cluster, "decoys", 5432).await?;
    let http = json!({"httpGet": {"path": "/", "port": 9187}, "timeoutSeconds": 1});
    let pg_isready = json!({"exec": {"command": ["pg_isready", "-h", "127.0.0.1"]}, "timeoutSeconds": 1});
    let decoys = [
        (
            "exporter",
            json!({"image": "quay.io/prometheuscommunity/postgres-exporter:v0.15.0", "livenessProbe": http,
            "env": [{"name": "DATA_SOURCE_URI", "value": "db:5432"}]}),
        ),
        (
            "pooler",
            json!({"image": "bitnami/pgbouncer:1.23", "livenessProbe": pg_isready,
            "ports": [{"containerPort": 5432, "name": "postgresql"}], "env": [{"name": "POSTGRESQL_HOST", "value": "db"}]}),
        ),
        (
            "stolon",
            json!({"image": "sorintlab/stolon:v0.17.0-pg15", "command": ["stolon-sentinel"],
            "livenessProbe": {"exec": {"command": ["pgrep", "stolon-sentinel"]}, "timeoutSeconds": 1}}),
        ),
        (
            "dumps",
            json!({"image": "postgres:16", "command": ["sh", "-c", "while sleep 86400; do pg_dump app > /backup/app.sql; done"],
            "livenessProbe": pg_isready}),
        ),
    ];
    for (name, values) in &decoys {
        create(&stage.namespace, database(name, values)).await?;
    }
    create(&stage.namespace, postgresql("real")).await?;
    stage.written("real").await?;
    looked_at_anew(cluster, &stage.namespace, "databases", plain_policy("Enforce"), 1).await?;
    for (name, _) in &decoys {
        let entry = status_where(&stage.namespace, "databases", name, "an outcome", |_| true).await?;
        assert_eq!((&entry["decision"], &entry["reason"]), (&json!("Noop"), &json!("NoDatabase")), "{entry:#}");
        assert_eq!(generation(&stage.namespace, name).await?, 1, "{name}");
        assert!(writes_to(&stage.intercept, name).is_empty(), "{name}");
    }
    stage.operator.stop().await
}

/// A Sentinel has the image of Redis, another port, and no data to load.
pub async fn a_sentinel_is_no_redis(cluster: &Cluster) -> Result<(), Failure> {
    let stage = Stage::set(cluster, "sentinel", 26379).await?;
    let check = json!({"exec": {"command": ["redis-cli", "-p", "26379", "ping"]}});
    let values = json!({
        "image": "redis:7.2", "command": ["redis-sentinel", "/etc/redis/sentinel.conf"], "livenessProbe": check,
        "ports": [{"containerPort": 26379}],
    });
    create(&stage.namespace, database("sentinel", &values)).await?;

    let statefulset = stage.written("sentinel").await?;
    let patched = container(&statefulset);
    assert_eq!(patched["livenessProbe"]["exec"], check["exec"], "only its second is not enough");
    assert_eq!(patched["livenessProbe"]["timeoutSeconds"], 5);
    assert_eq!((&patched["startupProbe"], &patched["readinessProbe"]), (&Value::Null, &Value::Null));
    stage.operator.stop().await
}

/// A sidecar under the init containers keeps what makes it one, and a port on two protocols keeps both
/// (kubernetes/kubernetes#105610). Applied by kubectl, so that the owner's replay passes over them too.
pub async fn sidecars_and_ports_stay_as_they_are(cluster: &Cluster) -> Result<(), Failure> {
    let stage = Stage::set(cluster, "sidecar", 5432).await?;
    let mut manifest = with_container(
        postgresql("registry"),
        &json!({"ports": [
            {"name": "gossip-tcp", "containerPort": 8301, "protocol": "TCP"},
            {"name": "gossip-udp", "containerPort": 8301, "protocol": "UDP"},
            {"name": "sql", "containerPort": 5432},
        ]}),
    );
    manifest["spec"]["template"]["spec"]["initContainers"] = json!([
        {"name": "proxy", "image": "proxy:1", "restartPolicy": "Always",
            "startupProbe": {"tcpSocket": {"port": 6432}, "failureThreshold": 30},
            "livenessProbe": {"tcpSocket": {"port": 6432}}},
        {"name": "init-permissions", "image": "busybox:1.36"},
    ]);
    let mut created = manifest.clone();
    created["metadata"]["name"] = json!("created");
    create(&stage.namespace, created).await?;
    kubectl(cluster, &stage.namespace, &["apply"], &manifest).await?;
    let before = live(&stage.namespace, "registry").await?;

    for name in ["created", "registry"] {
        let after = stage.written(name).await?;
        let (before, after) = (&before["spec"]["template"]["spec"], &after["spec"]["template"]["spec"]);
        assert_eq!(after["initContainers"], before["initContainers"], "{name}");
        assert_eq!(after["initContainers"][0]["restartPolicy"], "Always");
        assert_eq!(after["containers"][0]["ports"], before["containers"][0]["ports"], "{name}");
        assert_ne!(after["containers"][0]["startupProbe"], Value::Null, "{name}");
    }
    // And the next apply of its owner still is one that changes nothing.
    let settled_generation = generation(&stage.namespace, "registry").await?;
    kubectl(cluster, &stage.namespace, &["apply"], &manifest).await?;
    assert_eq!(generation(&stage.namespace, "registry").await?, settled_generation);
    stage.operator.stop().await
}

/// The patch waits in the template until somebody deletes the pods, and the status says so.
pub async fn pods_that_are_replaced_by_hand_are_waited_for(cluster: &Cluster) -> Result<(), Failure> {
    let stage = Stage::set(cluster, "on-delete", 5432).await?;
    let mut manifest = postgresql("registry");
    manifest["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
    create(&stage.namespace, manifest).await?;
    let old = pod_named(&stage.namespace, "registry-0").await?;

    let says = |words: &'static str| {
        move |entry: &Value| entry["writes"] == 1 && entry["message"].as_str().is_some_and(|text| text.contains(words))
    };
    let wanted = says("its update strategy is OnDelete, so each pod takes it on when it is deleted");
    status_where(&stage.namespace, "databases", "registry", "to delete pods", wanted).await?;
    looked_at_anew(cluster, &stage.namespace, "databases", plain_policy("Enforce"), 1).await?;
    let pods = stage.namespace.api::<Pod>();
    assert_eq!(pods.get("registry-0").await?.uid(), old.uid(), "nobody deleted it");

    pods.delete("registry-0", &kube::api::DeleteParams::default()).await?;
    let wanted = says("every pod has it and is ready");
    status_where(&stage.namespace, "databases", "registry", "that all pods have it", wanted).await?;
    assert_eq!(writes_to(&stage.intercept, "registry").len(), 1);
    stage.operator.stop().await
}
