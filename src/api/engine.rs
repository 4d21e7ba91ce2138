use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Writes the engines once: the variant, the name in policies and reports, and what it is.
macro_rules! engines {
    ($($variant:ident $name:literal $what:literal;)*) => {
        /// A database engine that has a profile, by the name its own project uses.
        // Their names are the projects' own, which are no code.
        #[allow(clippy::doc_markdown)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Engine {
            $(#[doc = $what] #[serde(rename = $name)] $variant,)*
        }

        impl Engine {
            /// Every engine.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name as it is written in policies and reports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

engines! {
    PostgreSQL "PostgreSQL" "PostgreSQL, and what is built on it.";
    MySQL "MySQL" "MySQL or Percona Server, alone or with asynchronous replication.";
    MariaDB "MariaDB" "MariaDB without Galera.";
    Galera "Galera" "MariaDB or Percona XtraDB Cluster with Galera replication.";
    MongoDB "MongoDB" "MongoDB or Percona Server for MongoDB.";
    Redis "Redis" "Redis, alone or as a replica.";
    Valkey "Valkey" "Valkey, alone or as a replica.";
    KeyDB "KeyDB" "KeyDB.";
    Sentinel "Sentinel" "The sentinel of Redis or Valkey, which holds no data.";
    Dragonfly "Dragonfly" "Dragonfly.";
    Memcached "Memcached" "Memcached, which holds no data on disk.";
    RabbitMQ "RabbitMQ" "RabbitMQ.";
    Kafka "Kafka" "Apache Kafka, as broker or controller.";
    Redpanda "Redpanda" "Redpanda.";
    NATS "NATS" "NATS with or without JetStream.";
    Pulsar "Pulsar" "Apache Pulsar's broker.";
    BookKeeper "BookKeeper" "Apache BookKeeper's bookie.";
    Etcd "etcd" "etcd.";
    ZooKeeper "ZooKeeper" "Apache ZooKeeper.";
    Consul "Consul" "HashiCorp Consul as a server.";
    Vault "Vault" "HashiCorp Vault.";
    OpenBao "OpenBao" "OpenBao.";
    Cassandra "Cassandra" "Apache Cassandra.";
    ScyllaDB "ScyllaDB" "ScyllaDB.";
    Elasticsearch "Elasticsearch" "Elasticsearch.";
    OpenSearch "OpenSearch" "OpenSearch.";
    Solr "Solr" "Apache Solr.";
    CockroachDB "CockroachDB" "CockroachDB.";
    PD "PD" "TiDB's placement driver.";
    TiKV "TiKV" "TiKV.";
    TiDB "TiDB" "TiDB.";
    YugabyteDB "YugabyteDB" "YugabyteDB's master or tserver.";
    ClickHouse "ClickHouse" "ClickHouse's server.";
    ClickHouseKeeper "ClickHouseKeeper" "ClickHouse Keeper.";
    Neo4j "Neo4j" "Neo4j.";
    InfluxDB "InfluxDB" "InfluxDB, of any major version.";
    CouchDB "CouchDB" "Apache CouchDB.";
    MinIO "MinIO" "MinIO.";
    Prometheus "Prometheus" "Prometheus.";
    Loki "Loki" "Grafana Loki.";
    Mimir "Mimir" "Grafana Mimir.";
    Thanos "Thanos" "Thanos, the parts that hold data.";
    VictoriaMetrics "VictoriaMetrics" "VictoriaMetrics, single or as vmstorage.";
    Milvus "Milvus" "Milvus.";
    Weaviate "Weaviate" "Weaviate.";
    Qdrant "Qdrant" "Qdrant.";
    ArangoDB "ArangoDB" "ArangoDB.";
    Vitess "Vitess" "Vitess's tablet.";
    SQLServer "SQLServer" "Microsoft SQL Server.";
    Oracle "Oracle" "Oracle Database.";
    DB2 "DB2" "IBM Db2.";
    Couchbase "Couchbase" "Couchbase Server.";
    RethinkDB "RethinkDB" "RethinkDB.";
    KurrentDB "KurrentDB" "KurrentDB, formerly EventStoreDB.";
    Aerospike "Aerospike" "Aerospike.";
    Dgraph "Dgraph" "Dgraph.";
    Hazelcast "Hazelcast" "Hazelcast.";
    Ignite "Ignite" "Apache Ignite.";
    OrientDB "OrientDB" "OrientDB.";
    QuestDB "QuestDB" "QuestDB.";
    SurrealDB "SurrealDB" "SurrealDB.";
    Meilisearch "Meilisearch" "Meilisearch.";
    OpenLDAP "OpenLDAP" "OpenLDAP.";
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
