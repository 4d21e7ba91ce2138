//! What is known of each database engine: how it is recognised, on which port it listens and when that port opens,
//! what its clients answer while it recovers, and which liveness survives that. One file for each family, as data.

mod arangodb;
mod cassandra;
mod catalogue;
mod clickhouse;
mod cockroachdb;
mod connection;
mod consul;
mod couchdb;
mod elasticsearch;
mod etcd;
mod influxdb;
mod kafka;
mod listen;
mod meaning;
mod memcached;
mod minio;
mod mongodb;
mod mysql;
mod nats;
mod neo4j;
mod observability;
mod port;
mod postgresql;
mod profile;
mod pulsar;
mod rabbitmq;
mod recognise;
mod redis;
mod solr;
mod sqlserver;
mod tidb;
mod untouched;
mod vault;
mod vectors;
mod vitess;
mod yugabytedb;
mod zookeeper;

pub use catalogue::{KnownScript, known_script, known_scripts};
pub use meaning::{Check, Meaning};
pub use port::{asked_over_http, port_in_address, resolve_port};
pub use profile::{
    Answers, Client, Endpoint, Evidence, Http, Opens, OtherPort, Profile, Runtime, Shutdown, Situation, Source,
    SteadyLiveness, Variant,
};
pub use recognise::{image_name, recognise};

use crate::api::Engine;
use port::client_port;

/// Every profile; the general before its variants.
pub static PROFILES: &[&Profile] = &[
    &postgresql::POSTGRESQL,
    &mysql::MYSQL,
    &mysql::MARIADB,
    &mysql::GALERA,
    &redis::REDIS,
    &redis::VALKEY,
    &redis::KEYDB,
    &redis::SENTINEL,
    &redis::DRAGONFLY,
    &mongodb::MONGODB,
    &rabbitmq::RABBITMQ,
    &kafka::KAFKA,
    &kafka::REDPANDA,
    &etcd::ETCD,
    &zookeeper::ZOOKEEPER,
    &cassandra::CASSANDRA,
    &cassandra::SCYLLADB,
    &elasticsearch::ELASTICSEARCH,
    &elasticsearch::OPENSEARCH,
    &solr::SOLR,
    &clickhouse::CLICKHOUSE,
    &clickhouse::KEEPER,
    &nats::NATS,
    &observability::PROMETHEUS,
    &observability::THANOS,
    &observability::MIMIR,
    &observability::LOKI,
    &observability::VICTORIAMETRICS,
    // Stores, and what is left alone.
    &memcached::MEMCACHED,
    &consul::CONSUL,
    &vault::VAULT,
    &vault::OPENBAO,
    &cockroachdb::COCKROACHDB,
    &cockroachdb::COCKROACHDB_UNTIL_20_1,
    &tidb::PD,
    &tidb::TIKV,
    &tidb::TIDB,
    &yugabytedb::YUGABYTEDB,
    &neo4j::NEO4J,
    &influxdb::INFLUXDB,
    &influxdb::INFLUXDB3,
    &couchdb::COUCHDB,
    &minio::MINIO,
    &pulsar::PULSAR,
    &pulsar::BOOKKEEPER,
    &vectors::MILVUS,
    &vectors::WEAVIATE,
    &vectors::QDRANT,
    &arangodb::ARANGODB,
    &arangodb::ARANGODB_EARLY,
    &vitess::VITESS,
    &sqlserver::SQLSERVER,
    &untouched::ORACLE,
    &untouched::DB2,
    &untouched::COUCHBASE,
    &untouched::RETHINKDB,
    &untouched::KURRENTDB,
    &untouched::AEROSPIKE,
    &untouched::DGRAPH,
    &untouched::HAZELCAST,
    &untouched::IGNITE,
    &untouched::ORIENTDB,
    &untouched::QUESTDB,
    &untouched::SURREALDB,
    &untouched::MEILISEARCH,
    &untouched::OPENLDAP,
];

/// The profile of an engine, where there are several the general one.
#[must_use]
pub fn profile(engine: Engine) -> &'static Profile {
    // A test holds that every engine has one. Should that ever break, nothing may be written on the strength of another
    // engine's facts.
    PROFILES.iter().find(|profile| profile.engine == engine).unwrap_or(&&untouched::NO_PROFILE)
}

/// How sure a recognition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Something points at it, something else against it.
    Unsure,
    /// More points at it than not; a hint is asked for.
    Probable,
    /// The policy says so.
    Hint,
    /// The image or everything else together says so.
    Certain,
}

impl Confidence {
    /// The word for reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsure => "Unsure",
            Self::Probable => "Probable",
            Self::Hint => "Hint",
            Self::Certain => "Certain",
        }
    }
}

/// The client port of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientPort {
    /// This one, and what says so.
    Known {
        /// The number.
        number: u16,
        /// What says so.
        source: String,
    },
    /// Several are possible and nothing decides.
    Ambiguous(String),
}

/// A container in which a database was recognised.
#[derive(Clone, Debug)]
pub struct Database {
    /// What is known of its engine.
    pub profile: &'static Profile,
    /// How sure it is.
    pub confidence: Confidence,
    /// What it rests on.
    pub evidence: Vec<String>,
    /// Where it accepts clients.
    pub port: ClientPort,
    /// Why a socket probe could not reach it.
    pub unreachable: Option<String>,
    /// Patroni runs the server here and answers for it.
    pub patroni: Option<PatroniApi>,
    /// What its probes mean, once somebody has asked.
    meanings: meaning::Known,
}

/// Patroni's REST API, whose `/liveness` tells whether its own loop is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatroniApi {
    /// Where it listens, where the manifest says so.
    pub port: Option<u16>,
    /// `HTTP` or `HTTPS`.
    pub scheme: String,
}

impl Database {
    /// Whether a write may rest on this recognition.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.confidence >= Confidence::Hint
    }
}

/// The host that a client is told to ask, where that is plainly not the container itself. What is expanded at run time
/// is mostly the pod's own address.
fn asks_elsewhere(call: &super::command::Call) -> Option<&str> {
    let in_url = || {
        let (_, rest) = call.arguments.iter().find_map(|argument| argument.split_once("://"))?;
        let authority = rest.split(['/', '?']).next()?;
        let host = authority.rsplit('@').next()?;
        host.strip_prefix('[').map_or_else(|| host.split(':').next(), |host| host.split(']').next())
    };
    let dialled = || connection::dialled(call).map(|dialled| dialled.host);
    // `etcdctl --endpoints etcd-0.etcd:2379`
    let endpoint = || {
        let first = call.option(&["--endpoints"])?.split(',').next()?;
        first.rsplit_once(':').map(|(host, _)| host).filter(|host| !host.contains("://"))
    };
    let host = dialled().or_else(endpoint).or_else(|| call.option(&["-h", "--host"])).or_else(in_url)?;
    let is_local = host.is_empty()
        || host.starts_with(['/', '@', '-'])
        || (host.contains('$') && !names_another(host))
        || host.eq_ignore_ascii_case("localhost")
        || host.starts_with("127.")
        || matches!(host, "::1" | "::" | "0.0.0.0");
    (!is_local).then_some(host)
}

/// `$POSTGRES_HOST` is where a client finds its server; `$POD_IP`, `$HOSTNAME` and the like are the pod's own.
fn names_another(host: &str) -> bool {
    let name = host.trim_start_matches(['$', '{', '(']).trim_end_matches(['}', ')']);
    name.ends_with("_HOST") && !name.contains("LISTEN") && !name.contains("BIND")
}

#[cfg(test)]
mod tests;
