//! MongoDB, Cassandra, search engines, ClickHouse, and stores of metrics and logs.

use super::*;

#[test]
fn mongodb_answers_once_its_storage_is_there() {
    verdicts(
        "mongo:8",
        &[
            (json!("mongosh --quiet --eval \"db.adminCommand('ping')\""), "fails Node"),
            (json!("mongosh -u root -p x --eval \"db.adminCommand('ping')\""), "fails login Node"),
            (
                json!("mongosh --eval 'db.hello().isWritablePrimary || db.hello().secondary' | grep -q true"),
                "fails others Node",
            ),
            (json!("mongo --eval 'db.isMaster().ismaster' | grep true"), "fails others"),
            (json!("mongo --eval \"db.adminCommand('ping')\""), "fails"),
            (json!("/bitnami/scripts/ping-mongodb.sh"), "fails Node"),
            (json!("/bitnami/scripts/startup-probe.sh"), "fails others Node"),
            (json!("/opt/percona/mongodb-healthcheck k8s liveness --startupDelaySeconds 7200"), "fails login"),
            (json!("pgrep mongod"), "passes"),
            (json!({"tcpSocket": {"port": 27017}}), "fails"),
        ],
    );
    let router = json!({"name": "a", "image": "bitnami/mongodb-sharded:8", "env": [{"name": "MONGODB_SHARDING_MODE", "value": "mongos"}]});
    assert_eq!(seen(&router), "nothing", "a router holds no data");
    let shard = json!({"name": "a", "image": "bitnami/mongodb-sharded:8", "env": [{"name": "MONGODB_SHARDING_MODE", "value": "shardsvr"}]});
    assert_eq!(seen(&shard), "Certain MongoDB");
    // Neither image nor program is known, and everything else points to it.
    let unnamed = json!({"name": "a", "command": ["/opt/x/up"], "env": [{"name": "MONGODB_PORT"}, {"name": "MONGODB_REPLSET"}],
        "volumeMounts": [{"mountPath": "/data/db"}], "ports": [{"containerPort": 27017}],
        "livenessProbe": {"exec": {"command": ["/opt/percona/mongodb-healthcheck", "k8s", "liveness"]}}});
    assert_eq!(seen(&unnamed), "Certain MongoDB");
    let started =
        |image: &str, command: Value| is_unreachable(&json!({"name": "a", "image": image, "command": command}));
    assert!(started("mongo:7", json!(["mongod", "--replSet", "rs0"])));
    assert!(started("mongo:7", json!(["mongod", "--bind_ip", "localhost,127.0.0.1"])));
    assert!(!started("mongo:7", json!(["mongod", "--bind_ip_all"])));
    assert!(!started("mongo:7", json!(["mongod", "--config", "/etc/mongod.conf"])));
    assert!(!started("mongo:3.4", json!(["mongod", "--replSet", "rs0"])));
    assert!(
        !is_unreachable(&json!({"name": "a", "image": "mongo:7", "args": ["--replSet", "rs0"]})),
        "the image's entrypoint"
    );
}

#[test]
fn cassandra_joins_before_it_serves() {
    verdicts(
        "cassandra:5",
        &[
            (json!("nodetool status"), "unknown Jvm"),
            (json!("nodetool status | grep UN"), "fails Jvm"),
            (json!("nodetool info | grep 'Native Transport active: true'"), "fails Jvm"),
            (json!("nodetool -u cassandra -pw x info"), "unknown login Jvm"),
            (json!("cqlsh -e 'describe cluster'"), "fails Python"),
            (json!("cqlsh -u cassandra -p x -e 'describe cluster'"), "fails login Python"),
            (json!({"tcpSocket": {"port": 9042}}), "fails"),
            (json!({"tcpSocket": {"port": 7199}}), "unknown"),
            (json!({"httpGet": {"path": "/api/v0/probes/liveness", "port": 8080}}), "passes"),
            (json!({"httpGet": {"path": "/api/v0/probes/readiness", "port": 8080}}), "fails"),
        ],
    );
    assert_eq!(seen(&json!({"name": "a", "image": "scylladb/scylla:6.2"})), "Certain ScyllaDB");
    verdicts(
        "scylladb/scylla:6.2",
        &[(json!("nodetool status"), "unknown Jvm"), (json!({"tcpSocket": {"port": 9042}}), "unknown")],
    );
}

#[test]
fn the_health_of_a_cluster_is_no_servers_own() {
    for image in ["docker.elastic.co/elasticsearch/elasticsearch:8.13.0", "opensearchproject/opensearch:3"] {
        verdicts(
            image,
            &[
                (
                    json!({"httpGet": {"path": "/_cluster/health?wait_for_status=yellow", "port": 9200}}),
                    "unknown others",
                ),
                (json!({"httpGet": {"path": "/_cluster/health?local=true", "port": 9200}}), "unknown"),
                (json!({"httpGet": {"path": "_cluster/health", "port": 9200}}), "unknown others"),
                (json!("curl -fs localhost:9200/_cat/nodes"), "unknown others"),
                (json!({"httpGet": {"path": "/", "port": 9200}}), "unknown"),
                (json!({"tcpSocket": {"port": 9200}}), "passes"),
                (json!({"tcpSocket": {"port": 9300}}), "passes"),
            ],
        );
    }
    let bound = |setting: &str, host: &str| {
        is_unreachable(
            &json!({"name": "a", "image": "elasticsearch:8.13.0", "env": [{"name": setting, "value": host}]}),
        )
    };
    assert!(bound("http.host", "127.0.0.1"));
    assert!(bound("network.host", "_local_"));
    assert!(!bound("network.host", "0.0.0.0"));
    assert!(!bound("network.host", "_local_,_site_"));
    assert_eq!(
        client_port(&json!({"name": "a", "image": "elasticsearch:8.13.0", "args": ["-Ehttp.port=9201"]})),
        "9201"
    );
    verdicts(
        "solr:9",
        &[
            (json!({"httpGet": {"path": "/solr/admin/info/system", "port": 8983}}), "unknown"),
            (json!({"httpGet": {"path": "/solr/admin/info/health", "port": 8983}}), "unknown others"),
        ],
    );
}

#[test]
fn clickhouse_opens_its_ports_by_its_version() {
    let table = [
        (json!("clickhouse-client -q 'select 1'"), "fails", "passes"),
        (json!("clickhouse-client --password x -q 'select 1'"), "fails login", "passes login"),
        (json!({"httpGet": {"path": "/ping", "port": 8123}}), "fails", "passes"),
        (json!({"httpGet": {"path": "/replicas_status", "port": 8123}}), "fails others", "fails others"),
        (json!({"tcpSocket": {"port": 9000}}), "fails", "passes"),
        (json!({"tcpSocket": {"port": 8123}}), "fails", "passes"),
    ];
    for (probe, before, after) in table {
        for (image, expected) in [
            ("clickhouse/clickhouse-server:23.8", before),
            ("clickhouse/clickhouse-server:24.12", before),
            ("clickhouse/clickhouse-server:latest", before),
            ("clickhouse/clickhouse-server:25.2", after),
            ("bitnami/clickhouse:25.7.5-debian-12-r0", after),
        ] {
            assert_eq!(verdict(&probed(image, &probe)), expected, "{image}: {probe}");
        }
    }
}

#[test]
fn prometheus_is_healthy_before_it_is_ready() {
    verdicts(
        "quay.io/prometheus/prometheus:v3.0.0",
        &[
            (json!({"httpGet": {"path": "/-/healthy", "port": 9090}}), "passes"),
            (json!({"httpGet": {"path": "/-/ready", "port": 9090}}), "fails"),
            (json!({"tcpSocket": {"port": 9090}}), "passes"),
        ],
    );
    assert!(is_unreachable(
        &json!({"name": "a", "image": "prom/prometheus", "args": ["--web.listen-address=127.0.0.1:9090"]})
    ));
    for (container, expected) in [
        (json!({"name": "a", "image": "quay.io/thanos/thanos:v0.37", "args": ["receive"]}), "Certain Thanos"),
        (json!({"name": "a", "image": "quay.io/thanos/thanos:v0.37", "args": ["query"]}), "nothing"),
        (json!({"name": "a", "image": "grafana/mimir:2.15"}), "Certain Mimir"),
        (json!({"name": "a", "image": "grafana/loki:3.3"}), "Certain Loki"),
        (json!({"name": "a", "image": "victoriametrics/victoria-metrics:v1"}), "Certain VictoriaMetrics"),
        (json!({"name": "a", "image": "bitnami/victoriametrics-vmstorage:1"}), "Certain VictoriaMetrics"),
    ] {
        assert_eq!(seen(&container), expected, "{container}");
    }
    assert_eq!(client_port(&json!({"name": "a", "image": "victoriametrics/vmstorage:v1"})), "8482");
    verdicts("grafana/loki:3.3", &[(json!({"httpGet": {"path": "/ready", "port": 3100}}), "unknown")]);
}
