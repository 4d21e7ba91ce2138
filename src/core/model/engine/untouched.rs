//! Engines that are recognised and left as they are, since not enough is known to touch them. Each says why, and the
//! findings about them are for a person to judge.

use super::profile::{Evidence, Opens, Profile, Source, SteadyLiveness};
use crate::api::Engine;

pub(super) static ORACLE: Profile = Profile {
    engine: Engine::Oracle,
    family: "Oracle",
    images: &[
        "oracle-free",
        "oracle-xe",
        "oracle-database*",
        "oracle/database",
        "database/enterprise",
        "database/standard",
        "database/express",
        "database/free",
        "oracle-xe-*",
    ],
    ruled_out_by: &["sqlplus"],
    environment: &["ORACLE_SID", "ORACLE_PDB", "ORACLE_CHARACTERSET", "ORACLE_EDITION"],
    data_paths: &["/opt/oracle/oradata"],
    port: 1521,
    port_names: &["oracle", "sqlnet", "oracle-listener", "listener"],
    steady: SteadyLiveness::LeaveAlone(
        "its listener is a process of its own, so that port 1521 says nothing about the instance",
    ),
    ..UNTOUCHED
};

pub(super) static DB2: Profile = Profile {
    engine: Engine::DB2,
    family: "DB2",
    images: &["db2", "db2_community/db2", "db2-luw", "db2u*"],
    servers: &["db2start"],
    environment: &["DB2INST*", "DB2INSTANCE"],
    data_paths: &["/database", "/mnt/blumeta0"],
    port: 50000,
    port_names: &["db2", "db2-server", "legacy-db2-server"],
    steady: SteadyLiveness::LeaveAlone("nobody has shown what its port says while it recovers"),
    ..UNTOUCHED
};

pub(super) static COUCHBASE: Profile = Profile {
    engine: Engine::Couchbase,
    family: "Couchbase",
    images: &["couchbase", "couchbase/server", "server-sandbox"],
    servers: &["couchbase-server"],
    ruled_out_by: &["cbbackupmgr"],
    environment: &["COUCHBASE_*"],
    data_paths: &["/opt/couchbase/var"],
    port: 8091,
    port_names: &["couchbase", "admin", "couchbase-ui"],
    steady: SteadyLiveness::LeaveAlone(
        "its console listens before its data service has warmed up, and a restart of a node may trigger a failover",
    ),
    ..UNTOUCHED
};

pub(super) static RETHINKDB: Profile = Profile {
    engine: Engine::RethinkDB,
    family: "RethinkDB",
    images: &["rethinkdb", "helm-rethinkdb-cluster", "rethinkdb-kubernetes"],
    servers: &["rethinkdb"],
    starts: &["run.sh"],
    ruled_out_by: &["rethinkdb proxy", "rethinkdb dump"],
    // The chart's image runs a proxy where it is told to.
    ruled_out: |container| container.environment().any(|(name, value)| name == "PROXY" && value == Some("true")),
    environment: &["RETHINK_*", "RETHINKDB_*"],
    data_paths: &["/data/rethinkdb_data"],
    port: 28015,
    port_names: &["driver", "rethinkdb"],
    steady: SteadyLiveness::LeaveAlone("nobody has shown when its ports open while it loads its tables"),
    ..UNTOUCHED
};

pub(super) static KURRENTDB: Profile = Profile {
    engine: Engine::KurrentDB,
    family: "KurrentDB",
    images: &["kurrentdb", "eventstore", "eventstoredb-ee", "eventstore-ee"],
    servers: &["eventstored", "kurrentd"],
    environment: &["EVENTSTORE_*", "KURRENTDB_*"],
    data_paths: &["/var/lib/eventstore", "/var/lib/kurrentdb"],
    port: 2113,
    port_names: &["http", "eventstore", "kurrentdb"],
    steady: SteadyLiveness::LeaveAlone(
        "it verifies and indexes its log at start, and nobody has shown whether it answers meanwhile",
    ),
    ..UNTOUCHED
};

pub(super) static AEROSPIKE: Profile = Profile {
    engine: Engine::Aerospike,
    family: "Aerospike",
    images: &["aerospike-server", "aerospike-server-*", "aerospike"],
    servers: &["asd"],
    ruled_out_by: &["asbackup", "asadm"],
    environment: &["AEROSPIKE_*"],
    data_paths: &["/opt/aerospike/data"],
    port: 3000,
    port_names: &["clients", "service", "aerospike"],
    steady: SteadyLiveness::LeaveAlone(
        "a cold start reads all its data for hours, and nobody has shown what its port says meanwhile",
    ),
    ..UNTOUCHED
};

pub(super) static DGRAPH: Profile = Profile {
    engine: Engine::Dgraph,
    family: "Dgraph",
    images: &["dgraph", "dgraph/standalone"],
    servers: &["dgraph alpha", "dgraph zero"],
    ruled_out_by: &["dgraph live", "dgraph bulk", "ratel", "dgraph-ratel"],
    environment: &["DGRAPH_*"],
    data_paths: &["/dgraph"],
    port: 8080,
    port_names: &["http-alpha", "http-zero"],
    steady: SteadyLiveness::LeaveAlone(
        "its alphas wait for a quorum and for its zeros, and nobody has shown what its health endpoints say meanwhile",
    ),
    ..UNTOUCHED
};

pub(super) static HAZELCAST: Profile = Profile {
    engine: Engine::Hazelcast,
    family: "Hazelcast",
    images: &["hazelcast", "hazelcast-enterprise", "hazelcast-*"],
    servers: &["hz-start"],
    starts: &["hz", "start-hazelcast.sh"],
    ruled_out_by: &["hazelcast-jet", "hz-cli"],
    environment: &["HAZELCAST_*", "HZ_*"],
    data_paths: &["/data/hazelcast", "/data/hot-restart"],
    port: 5701,
    port_names: &["hazelcast"],
    steady: SteadyLiveness::LeaveAlone(
        "its health endpoints speak for the state of the member and the safety of its partitions, and persistence is loaded in a way that nobody has shown",
    ),
    ..UNTOUCHED
};

pub(super) static IGNITE: Profile = Profile {
    engine: Engine::Ignite,
    family: "Ignite",
    images: &["ignite", "ignite3", "gridgain"],
    servers: &["ignite.sh"],
    ruled_out_by: &["control.sh"],
    environment: &["IGNITE_*", "OPTION_LIBS", "CONFIG_URI"],
    data_paths: &["/opt/ignite/apache-ignite/work", "/persistence", "/wal"],
    port: 10800,
    port_names: &["thin-clients", "thinclients", "client"],
    steady: SteadyLiveness::LeaveAlone(
        "it replays its log and waits for the baseline of its cluster, and nobody has shown when its ports open",
    ),
    ..UNTOUCHED
};

pub(super) static ORIENTDB: Profile = Profile {
    engine: Engine::OrientDB,
    family: "OrientDB",
    images: &["orientdb"],
    servers: &["server.sh"],
    starts: &["orientdb"],
    ruled_out_by: &["backup.sh", "console.sh"],
    environment: &["ORIENTDB_*"],
    data_paths: &["/orientdb/databases", "/orientdb/backup"],
    port: 2424,
    port_names: &["binary", "orientdb"],
    steady: SteadyLiveness::LeaveAlone("nobody has shown when its ports open while it recovers"),
    ..UNTOUCHED
};

pub(super) static QUESTDB: Profile = Profile {
    engine: Engine::QuestDB,
    family: "QuestDB",
    images: &["questdb"],
    servers: &["questdb.sh"],
    starts: &["questdb"],
    environment: &["QDB_*"],
    data_paths: &["/var/lib/questdb"],
    port: 9000,
    port_names: &["http", "questdb"],
    steady: SteadyLiveness::LeaveAlone("nobody has shown when its ports open while it applies its log"),
    ..UNTOUCHED
};

pub(super) static SURREALDB: Profile = Profile {
    engine: Engine::SurrealDB,
    family: "SurrealDB",
    images: &["surrealdb"],
    servers: &["surreal start"],
    starts: &["surreal"],
    ruled_out_by: &["surreal sql", "surreal import", "surreal export"],
    environment: &["SURREAL_*"],
    data_paths: &["/data/surreal"],
    port: 8000,
    port_names: &["http", "surrealdb"],
    steady: SteadyLiveness::LeaveAlone(
        "it stands on a store of its own or of others, and nobody has shown what its health endpoint says meanwhile",
    ),
    ..UNTOUCHED
};

pub(super) static MEILISEARCH: Profile = Profile {
    engine: Engine::Meilisearch,
    family: "Meilisearch",
    images: &["meilisearch", "meilisearch-enterprise"],
    servers: &["meilisearch"],
    environment: &["MEILI_*"],
    data_paths: &["/meili_data"],
    port: 7700,
    port_names: &["http", "meilisearch"],
    steady: SteadyLiveness::LeaveAlone(
        "nobody has shown when its port opens while it imports a dump or upgrades its indexes",
    ),
    ..UNTOUCHED
};

pub(super) static OPENLDAP: Profile = Profile {
    engine: Engine::OpenLDAP,
    family: "OpenLDAP",
    images: &["openldap", "osixia/openldap", "openldap-backup"],
    servers: &["slapd"],
    ruled_out_by: &["ldapsearch", "slapcat"],
    environment: &["LDAP_*", "OPENLDAP_*"],
    data_paths: &["/var/lib/ldap", "/bitnami/openldap"],
    port: 389,
    port_names: &["ldap", "ldap-port", "ldaps"],
    steady: SteadyLiveness::LeaveAlone(
        "nobody has shown when its port opens while it loads its configuration and its first entries",
    ),
    ..UNTOUCHED
};

/// What is the same for all of them: nothing is claimed.
const UNTOUCHED: Profile = Profile {
    opens: Opens::Unknown,
    opens_source: Source {
        kind: Evidence::Unverified,
        citation: "nobody has measured or read here when it listens, so it is left as it is",
    },
    in_recovery: "may not answer while it recovers",
    ..Profile::BLANK
};

/// What stands in for a profile that is missing; see [`super::profile`].
pub(super) static NO_PROFILE: Profile = Profile {
    engine: Engine::Oracle,
    family: "unknown",
    port: 1,
    steady: SteadyLiveness::LeaveAlone("it has no profile"),
    ..UNTOUCHED
};
