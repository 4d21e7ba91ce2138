//! Key-value, graph, object, time series and vector stores, and the engines that are left alone.

use super::super::*;
use super::{seen, with};
use crate::core::model::command::Outcome::{self, Fails, Passes, Unknown};
use crate::core::model::probe::ProbeKind;
use serde_json::{Value, json};

/// The families of this file, which stand at the end of [`PROFILES`].
fn stores() -> impl Iterator<Item = &'static Profile> {
    PROFILES.iter().copied().skip_while(|profile| profile.engine != Engine::Memcached)
}

fn exec(text: &str) -> Value {
    json!({"exec": {"command": ["sh", "-c", text]}})
}

fn get(path: &str) -> Value {
    json!({"httpGet": {"path": path, "port": 8080}})
}

fn socket(port: i64) -> Value {
    json!({"tcpSocket": {"port": port}})
}

#[test]
fn stores_are_recognised_by_what_runs() {
    let table = [
        (json!({"image": "memcached:1.6"}), "Certain Memcached"),
        (json!({"image": "quay.io/airshipit/memcached:1.6.32", "command": ["/tmp/memcached.sh"]}), "Certain Memcached"),
        (json!({"image": "bitnami/consul:1.21"}), "Certain Consul"),
        (
            json!({"image": "hashicorp/consul:1.20", "args": ["agent", "-server", "-bootstrap-expect=3"]}),
            "Certain Consul",
        ),
        (
            json!({"image": "hashicorp/consul:1.20", "ports": [{"containerPort": 8300, "name": "server"}],
                "command": ["/bin/sh", "-ec", "exec /usr/local/bin/docker-entrypoint.sh consul agent \\\n -config-dir=/consul/config"]}),
            "Certain Consul",
        ),
        (json!({"image": "hashicorp/vault:1.20", "command": ["vault", "server", "-config=/x"]}), "Certain Vault"),
        (json!({"image": "bitnami/vault:1.20", "args": ["server", "-config=/x"]}), "Certain Vault"),
        (json!({"image": "quay.io/openbao/openbao:2.4", "args": ["server", "-config=/x"]}), "Certain OpenBao"),
        (
            json!({"image": "cockroachdb/cockroach:v25", "command": ["/bin/bash", "-ecx", "exec /cockroach/cockroach start --join=a"]}),
            "Certain CockroachDB",
        ),
        (
            json!({"image": "pingcap/pd:v8.5.0", "command": ["/bin/sh", "/usr/local/bin/pd_start_script.sh"]}),
            "Certain PD",
        ),
        (json!({"image": "mirror.example/x/y:1", "command": ["/pd-server", "--name=a"]}), "Certain PD"),
        (json!({"image": "pingcap/tikv:v8.5.0"}), "Certain TiKV"),
        (json!({"image": "pingcap/tidb:v8.5.0"}), "Certain TiDB"),
        (
            json!({"image": "yugabytedb/yugabyte:2.25", "command": ["/sbin/tini", "--"], "args": ["/bin/bash", "-c", "exec /home/yugabyte/bin/yb-master --x"]}),
            "Certain YugabyteDB",
        ),
        (json!({"image": "neo4j:5-enterprise"}), "Certain Neo4j"),
        (json!({"image": "influxdb:2.7-alpine"}), "Certain InfluxDB"),
        (json!({"image": "couchdb:3.5.0"}), "Certain CouchDB"),
        (json!({"image": "hyperledger/fabric-couchdb:0.4"}), "Certain CouchDB"),
        (json!({"image": "minio/minio:latest", "args": ["server", "/data"]}), "Certain MinIO"),
        (
            json!({"image": "minio/minio", "command": ["/bin/sh", "-ce", "/usr/bin/docker-entrypoint.sh minio -S /c server /export"]}),
            "Certain MinIO",
        ),
        (
            json!({"image": "apachepulsar/pulsar-all:4", "command": ["sh", "-c"], "args": ["exec bin/pulsar broker;"]}),
            "Certain Pulsar",
        ),
        (
            json!({"image": "apachepulsar/pulsar-all:4", "command": ["sh", "-c"], "args": ["exec bin/pulsar bookie;"]}),
            "Certain BookKeeper",
        ),
        (
            json!({"image": "milvusdb/milvus:v2.6", "args": ["/milvus/tools/run.sh", "milvus", "run", "standalone"]}),
            "Certain Milvus",
        ),
        (
            json!({"image": "cr.weaviate.io/semitechnologies/weaviate:1.38", "command": ["/bin/weaviate"], "args": ["--host", "0.0.0.0"]}),
            "Certain Weaviate",
        ),
        (
            json!({"image": "qdrant/qdrant:v1.19", "command": ["/bin/bash", "-c"], "args": ["./config/initialize.sh"]}),
            "Certain Qdrant",
        ),
        (json!({"image": "arangodb/enterprise:3.12", "command": ["/usr/sbin/arangod"]}), "Certain ArangoDB"),
        (json!({"image": "vitess/lite:v22", "command": ["/vt/bin/vttablet"]}), "Certain Vitess"),
        (json!({"image": "mcr.microsoft.com/mssql/server:2022-latest"}), "Certain SQLServer"),
        (json!({"image": "microsoft/mssql-server-linux:2017-CU5"}), "Certain SQLServer"),
        (json!({"image": "gvenzl/oracle-free:23"}), "Certain Oracle"),
        (json!({"image": "container-registry.oracle.com/database/enterprise:21.3.0.0"}), "Certain Oracle"),
        (json!({"image": "icr.io/db2_community/db2:12"}), "Certain DB2"),
        (json!({"image": "couchbase:enterprise-7.6"}), "Certain Couchbase"),
        (json!({"image": "codylundquist/helm-rethinkdb-cluster:0.1.0"}), "Certain RethinkDB"),
        (json!({"image": "docker.kurrent.io/kurrent-latest/kurrentdb:25"}), "Certain KurrentDB"),
        (json!({"image": "aerospike/aerospike-server:8"}), "Certain Aerospike"),
        (json!({"image": "dgraph/dgraph:v25", "command": ["bash", "-c", "dgraph alpha --my=a"]}), "Certain Dgraph"),
        (json!({"image": "hazelcast/hazelcast:5"}), "Certain Hazelcast"),
        (json!({"image": "apacheignite/ignite:2.17"}), "Certain Ignite"),
        (json!({"image": "orientdb:3.2"}), "Certain OrientDB"),
        (json!({"image": "questdb/questdb:9"}), "Certain QuestDB"),
        (json!({"image": "surrealdb/surrealdb:v2", "args": ["start"]}), "Certain SurrealDB"),
        (json!({"image": "getmeili/meilisearch:v1"}), "Certain Meilisearch"),
        (json!({"image": "osixia/openldap:1.5"}), "Certain OpenLDAP"),
    ];
    for (mut container, expected) in table {
        container["name"] = json!("a");
        assert_eq!(seen(&container), expected, "{container}");
    }
}

#[test]
fn what_runs_beside_a_store_is_none() {
    let table = [
        json!({"image": "hashicorp/consul:1.20", "args": ["agent", "-retry-join=consul-server", "-config-dir=/consul/config"]}),
        json!({"image": "bitnami/consul:1", "env": [{"name": "CONSUL_AGENT_MODE", "value": "client"}]}),
        json!({"image": "hashicorp/consul:1.20", "command": ["consul", "connect", "envoy", "-sidecar-for", "a"]}),
        json!({"image": "hashicorp/consul-k8s-control-plane:1.7", "command": ["consul-k8s-control-plane"]}),
        json!({"image": "hashicorp/consul-dataplane:1.7"}),
        json!({"image": "prom/consul-exporter"}),
        json!({"image": "hashicorp/vault:1.20", "command": ["/bin/sh", "-ec"],
            "args": ["echo ${VAULT_CONFIG?} | base64 -d > /home/vault/config.json && vault agent -config=/home/vault/config.json"]}),
        json!({"image": "hashicorp/vault-k8s:1.7", "args": ["agent-inject"]}),
        json!({"image": "hashicorp/vault-csi-provider:1.5"}),
        json!({"image": "example/app", "command": ["sh", "-c", "vault kv get secret/a && exec /app"], "env": [{"name": "VAULT_ADDR"}]}),
        json!({"image": "minio/mc", "command": ["mc", "mirror"], "env": [{"name": "MINIO_ACCESS_KEY"}]}),
        json!({"image": "minio/minio", "command": ["mc", "alias", "set", "a", "http://minio:9000"]}),
        json!({"image": "minio/operator:v7"}),
        json!({"image": "cockroachdb/cockroach:v25", "command": ["/cockroach/cockroach", "init", "--insecure"]}),
        json!({"image": "cockroachdb/cockroach-operator:v2"}),
        json!({"image": "pingcap/tidb-operator:v1"}),
        json!({"image": "yugabytedb/yugabyte:2.25", "command": ["/sbin/tini", "--"], "args": ["/bin/bash", "-c", "/home/yugabyte/scripts/log_cleanup.sh"]}),
        json!({"image": "yugabytedb/yugabyte:2.25", "command": ["/home/yugabyte/bin/yugabyted-ui"]}),
        json!({"image": "neo4j/helm-charts-backup:5", "env": [{"name": "NEO4J_AUTH"}]}),
        json!({"image": "influxdb:1.12.3-meta"}),
        json!({"image": "influxdata/influxdb3-ui:1"}),
        json!({"image": "kocolosk/couchdb-statefulset-assembler:2.1.0"}),
        json!({"image": "apachepulsar/pulsar-all:4", "command": ["sh", "-c", "exec bin/pulsar proxy"]}),
        json!({"image": "apachepulsar/pulsar-all:4", "command": ["sh", "-c", "exec bin/pulsar zookeeper"]}),
        json!({"image": "milvusdb/milvus-operator"}),
        json!({"image": "zilliz/attu", "env": [{"name": "MILVUS_URL"}]}),
        json!({"image": "arangodb/kube-arangodb:1.3"}),
        json!({"image": "vitess/lite:v22", "command": ["/vt/bin/vtgate"]}),
        json!({"image": "vitess/lite:v22", "command": ["/vt/bin/vtctld"]}),
        json!({"image": "mcr.microsoft.com/mssql-tools", "env": [{"name": "SA_PASSWORD"}, {"name": "ACCEPT_EULA"}]}),
        json!({"image": "prom/memcached-exporter", "ports": [{"containerPort": 11211}]}),
        json!({"image": "jphalip/mcrouter:0.36", "ports": [{"containerPort": 11211}]}),
        json!({"image": "hazelcast/management-center:4"}),
        json!({"image": "dgraph/ratel"}),
        json!({"image": "codylundquist/helm-rethinkdb-cluster:0.1.0", "args": ["rethinkdb", "proxy"]}),
        json!({"image": "codylundquist/helm-rethinkdb-cluster:0.1.0", "env": [{"name": "PROXY", "value": "true"}]}),
        json!({"image": "osixia/phpldapadmin"}),
        // A folder that begins like one of MinIO's, and a port name that anybody has.
        json!({"image": "example/app", "ports": [{"containerPort": 8080, "name": "http"}], "volumeMounts": [{"mountPath": "/exporters"}]}),
        json!({"image": "oracle/weblogic"}),
    ];
    for mut container in table {
        container["name"] = json!("a");
        assert_eq!(seen(&container), "nothing", "{container}");
    }
}

#[test]
fn the_client_port_of_a_store() {
    let table = [
        (json!({"image": "memcached", "args": ["-p", "11212"]}), 11212),
        (json!({"image": "bitnami/consul", "env": [{"name": "CONSUL_HTTP_PORT_NUMBER", "value": "8510"}]}), 8510),
        (
            json!({"image": "cockroachdb/cockroach", "args": ["start", "--listen-addr=:26258", "--sql-addr=:26300"]}),
            26300,
        ),
        (
            json!({"image": "cockroachdb/cockroach", "ports": [{"name": "grpc", "containerPort": 26258},
                {"name": "http", "containerPort": 8080}, {"name": "sql", "containerPort": 26257}]}),
            26257,
        ),
        (json!({"image": "pingcap/pd", "args": ["--client-urls=http://0.0.0.0:2389"]}), 2389),
        (
            json!({"image": "neo4j", "env": [{"name": "NEO4J_server_bolt_listen__address", "value": "0.0.0.0:7777"}]}),
            7777,
        ),
        (json!({"image": "influxdb:2.7", "env": [{"name": "INFLUXD_HTTP_BIND_ADDRESS", "value": ":9999"}]}), 9999),
        (json!({"image": "influxdb:2.7"}), 8086),
        (json!({"image": "influxdb:3-core", "args": ["influxdb3", "serve"]}), 8181),
        (json!({"image": "influxdb:3.2-core"}), 8181),
        (json!({"image": "minio/minio", "args": ["server", "--address", ":9090", "/data"]}), 9090),
        (json!({"image": "arangodb", "args": ["arangod", "--server.endpoint", "tcp://0.0.0.0:8530"]}), 8530),
        (
            json!({"image": "mcr.microsoft.com/mssql/server", "env": [{"name": "MSSQL_TCP_PORT", "value": "1444"}]}),
            1444,
        ),
        (json!({"image": "qdrant/qdrant", "env": [{"name": "QDRANT__SERVICE__HTTP_PORT", "value": "7333"}]}), 7333),
    ];
    for (mut container, expected) in table {
        container["name"] = json!("a");
        with(&container, &[], |_, database| match database.expect("a database").port {
            ClientPort::Known { number, .. } => assert_eq!(number, expected, "{container}"),
            ClientPort::Ambiguous(why) => panic!("{container}: {why}"),
        });
    }
}

#[test]
fn a_store_on_loopback_is_out_of_reach() {
    let table = [
        (json!({"image": "memcached", "args": ["-l", "127.0.0.1"]}), true),
        (json!({"image": "memcached", "args": ["-s", "/tmp/m.sock"]}), true),
        (json!({"image": "memcached", "args": ["-m", "64"]}), false),
        (
            json!({"image": "cockroachdb/cockroach", "command": ["sh", "-c", "exec cockroach start --sql-addr=localhost:26257 --x"]}),
            true,
        ),
        (json!({"image": "cockroachdb/cockroach", "args": ["start", "--host", "$(hostname -f)"]}), false),
        (
            json!({"image": "influxdb:2", "env": [{"name": "INFLUXD_HTTP_BIND_ADDRESS", "value": "127.0.0.1:8086"}]}),
            true,
        ),
        (json!({"image": "influxdb:2", "env": [{"name": "INFLUXD_HTTP_BIND_ADDRESS", "value": ":8086"}]}), false),
        (json!({"image": "qdrant/qdrant", "env": [{"name": "QDRANT__SERVICE__HOST", "value": "::1"}]}), true),
        (
            json!({"image": "neo4j", "env": [{"name": "NEO4J_server_bolt_listen__address", "value": "localhost:7687"}]}),
            true,
        ),
        (json!({"image": "minio/minio", "args": ["server", "--address", "127.0.0.1:9000", "/data"]}), true),
    ];
    for (mut container, expected) in table {
        container["name"] = json!("a");
        with(&container, &[], |_, database| {
            assert_eq!(database.expect("a database").unreachable.is_some(), expected, "{container}");
        });
    }
}

/// A probe of an image: whether it passes in recovery, who else decides it, and whether a login does.
type Expected = (Outcome, &'static str, bool);

#[test]
fn what_a_probe_of_a_store_means() {
    let table: &[(&str, Value, Expected)] = &[
        ("memcached", socket(11211), (Passes, "", false)),
        ("memcached", exec("pgrep memcached"), (Passes, "", false)),
        // One lost quorum would restart every server.
        ("bitnami/consul", exec("consul operator raft list-peers"), (Fails, "leader", false)),
        ("bitnami/consul", exec("consul operator raft list-peers -stale"), (Fails, "", false)),
        ("bitnami/consul", exec("consul members"), (Fails, "", false)),
        ("bitnami/consul", exec("curl -sf http://127.0.0.1:8500/v1/status/leader"), (Fails, "", false)),
        ("bitnami/consul", get("/v1/agent/self"), (Fails, "", true)),
        ("bitnami/consul", socket(8500), (Fails, "", false)),
        ("bitnami/consul", socket(8301), (Fails, "", false)),
        ("bitnami/consul", socket(8300), (Unknown, "", false)),
        // A sealed server is a good one, and waits for a person.
        ("bitnami/vault", exec("vault status -tls-skip-verify"), (Fails, "", false)),
        ("bitnami/vault", socket(8200), (Passes, "", false)),
        ("bitnami/vault", get("/v1/sys/health"), (Fails, "active", false)),
        ("bitnami/vault", get("/v1/sys/health?standbyok=true"), (Fails, "", false)),
        ("bitnami/vault", get("/v1/sys/health?sealedcode=204"), (Unknown, "active", false)),
        ("bitnami/vault", get("/v1/sys/health?standbyok=true&sealedcode=204&uninitcode=204"), (Passes, "", false)),
        ("bitnami/vault", get("/v1/sys/health?sealedcode=503&standbyok=true"), (Fails, "", false)),
        ("bitnami/vault", get("/v1/sys/seal-status"), (Passes, "", false)),
        ("openbao/openbao", exec("bao status"), (Fails, "", false)),
        ("openbao/openbao", get("/v1/sys/health?standbyok=true&uninitcode=204&sealedcode=204"), (Passes, "", false)),
        // The readiness of one query word asks for a majority; the liveness does not.
        ("cockroachdb/cockroach", get("/health?ready=1"), (Fails, "majority", false)),
        ("cockroachdb/cockroach", get("/health?ready=0"), (Fails, "", false)),
        ("cockroachdb/cockroach", get("/health"), (Fails, "", false)),
        ("cockroachdb/cockroach:v19.2.5", get("/health"), (Unknown, "", false)),
        ("cockroachdb/cockroach:v20.1.17", get("/health?ready=1"), (Fails, "majority", false)),
        ("cockroachdb/cockroach:v20.2.1", get("/health"), (Fails, "", false)),
        ("cockroachdb/cockroach", exec("cockroach node status --insecure"), (Fails, "majority", true)),
        ("cockroachdb/cockroach", exec("cockroach sql -e 'select 1'"), (Fails, "", true)),
        ("cockroachdb/cockroach", exec("curl -f http://localhost:8080/health?ready=1"), (Fails, "majority", false)),
        ("cockroachdb/cockroach", socket(26257), (Fails, "", false)),
        ("pingcap/tikv", socket(20160), (Fails, "", false)),
        ("pingcap/tikv", get("/status"), (Fails, "", false)),
        ("pingcap/pd", socket(2379), (Unknown, "", false)),
        ("pingcap/tidb", exec("mysqladmin ping -h 127.0.0.1 -P 4000"), (Fails, "", false)),
        ("pingcap/tidb", get("/status"), (Unknown, "", false)),
        ("yugabytedb/yugabyte", exec("ysqlsh -c 'select 1'"), (Fails, "", true)),
        ("neo4j", socket(7687), (Fails, "", false)),
        ("neo4j", exec("cypher-shell -u neo4j -p x 'return 1'"), (Fails, "", true)),
        ("influxdb:1.8", get("/ping"), (Fails, "", false)),
        ("influxdb:2.7", exec("influx ping"), (Fails, "", false)),
        ("influxdb:1.8", exec("influx -execute 'show databases'"), (Fails, "", true)),
        ("influxdb:3-core", get("/health"), (Unknown, "", false)),
        ("influxdb:3-core", socket(8181), (Unknown, "", false)),
        // 404 in maintenance mode, and while it is seeded.
        ("couchdb:3", get("/_up"), (Passes, "maintenance mode", false)),
        ("couchdb:3", exec("curl -f http://localhost:5984/_up"), (Passes, "maintenance mode", false)),
        ("couchdb:3", get("/"), (Passes, "", false)),
        ("couchdb:3", socket(5984), (Passes, "", false)),
        ("minio/minio", get("/minio/health/live"), (Passes, "", false)),
        ("minio/minio", get("/minio/health/ready"), (Unknown, "", false)),
        ("minio/minio", get("/minio/health/cluster?verify"), (Fails, "drives", false)),
        ("minio/minio", exec("mc ready local"), (Fails, "", false)),
        ("minio/minio", socket(9000), (Passes, "", false)),
        ("apache/bookkeeper", get("/api/v1/bookie/state"), (Fails, "", false)),
        ("apache/bookkeeper", socket(3181), (Fails, "", false)),
        ("apachepulsar/pulsar", get("/status.html"), (Unknown, "", false)),
        ("apachepulsar/pulsar", exec("bin/pulsar-admin brokers healthcheck"), (Fails, "metadata store", true)),
        ("milvusdb/milvus", get("/healthz"), (Unknown, "etcd", false)),
        ("milvusdb/milvus", get("/livez"), (Unknown, "", false)),
        ("milvusdb/milvus", socket(19530), (Fails, "", false)),
        ("milvusdb/milvus", socket(9091), (Unknown, "", false)),
        ("semitechnologies/weaviate", get("/v1/.well-known/live"), (Fails, "", false)),
        ("qdrant/qdrant", get("/livez"), (Fails, "", false)),
        ("qdrant/qdrant", socket(6334), (Fails, "", false)),
        ("arangodb", get("/_api/version"), (Fails, "", true)),
        ("arangodb", socket(8529), (Fails, "", false)),
        ("mcr.microsoft.com/mssql/server", socket(1433), (Passes, "", false)),
        ("mcr.microsoft.com/mssql/server", exec("/opt/mssql-tools/bin/sqlcmd -Q 'select 1'"), (Unknown, "", true)),
        ("questdb/questdb", socket(9000), (Unknown, "", false)),
        ("surrealdb/surrealdb", get("/health"), (Unknown, "", false)),
    ];
    for (image, probe, (outcome, depends_on, needs_login)) in table {
        let container = json!({"name": "a", "image": image, "livenessProbe": probe});
        with(&container, &[], |container, database| {
            let meaning =
                database.expect("a database").meaning(container, container.probe(ProbeKind::Liveness).unwrap());
            let what = format!("{image} {probe}: {meaning:?}");
            assert_eq!(meaning.outcome, *outcome, "{what}");
            match &meaning.depends_on {
                Some(named) => assert!(!depends_on.is_empty() && named.contains(depends_on), "{what}"),
                None => assert!(depends_on.is_empty(), "{what}"),
            }
            assert_eq!(meaning.needs_login, *needs_login, "{what}");
            assert_eq!(meaning.always, None, "{what}");
        });
    }
}

#[test]
fn arangodb_is_early_where_it_is_told_to_be() {
    let early = |arguments: Value| {
        let container =
            json!({"name": "a", "image": "arangodb", "args": arguments, "livenessProbe": get("/_api/version")});
        with(&container, &[], |container, database| {
            let database = database.expect("a database");
            database.meaning(container, container.probe(ProbeKind::Liveness).unwrap()).outcome
        })
    };
    assert_eq!(early(json!(["arangod", "--server.early-connections", "true"])), Passes);
    assert_eq!(early(json!(["arangod", "--server.early-connections=false"])), Fails);
    assert_eq!(early(json!(["arangod"])), Fails);
}

#[test]
fn no_write_rests_on_what_nobody_has_verified() {
    for profile in stores() {
        let rests_on_it = profile.opens != Opens::Unknown || profile.steady.survives_recovery();
        let is_unverified = profile.opens_source.kind == Evidence::Unverified;
        assert!(!(rests_on_it && is_unverified), "{}", profile.engine);
        assert!(!profile.steady.survives_recovery() || profile.opens == Opens::Early, "{}", profile.engine);
        assert_eq!(profile.opens == Opens::Unknown, is_unverified, "{}", profile.engine);
    }
}

#[test]
fn what_is_left_alone_says_why() {
    let left: Vec<Engine> = stores()
        .filter_map(|profile| match profile.steady {
            SteadyLiveness::LeaveAlone(because) => {
                assert!(because.len() > 20, "{}", profile.engine);
                Some(profile.engine)
            }
            _ => None,
        })
        .collect();
    for engine in [Engine::Oracle, Engine::DB2, Engine::Couchbase, Engine::RethinkDB, Engine::OpenLDAP] {
        assert!(left.contains(&engine), "{engine}");
    }
    assert!(!left.contains(&Engine::CouchDB));
}

#[test]
fn every_dependence_is_named() {
    for profile in stores() {
        for client in profile.clients {
            let fails_alone = client.answers.alone.outcome == Fails;
            assert!(!fails_alone || !client.depends_on.is_empty(), "{} {client:?}", profile.engine);
        }
        for endpoint in profile.endpoints {
            assert!(endpoint.alone == Http::Good || !endpoint.depends_on.is_empty(), "{} {endpoint:?}", profile.engine);
            assert!(!endpoint.does.is_empty(), "{} {endpoint:?}", profile.engine);
        }
    }
}

/// Every engine that a policy may name has a profile, so that none gets another's.
#[test]
fn every_engine_has_a_profile() {
    for engine in Engine::ALL {
        assert_eq!(profile(*engine).engine, *engine);
    }
}
