//! Cassandra and ScyllaDB.

use super::profile::{
    Answers, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Runtime, Shutdown, Source,
    SteadyLiveness, UNKNOWN, prints,
};
use crate::api::Engine;
use crate::core::model::command::{Answer, Outcome};
use crate::core::model::workload::Container;

pub(super) static CASSANDRA: Profile = Profile {
    engine: Engine::Cassandra,
    images: &["cassandra", "dse-server", "dse-mgmtapi*", "cass-management-api"],
    servers: &["cassandra"],
    ruled_out_by: &["cassandra-stress", "medusa", "reaper"],
    environment: &["CASSANDRA_*"],
    data_paths: &["/var/lib/cassandra", "/bitnami/cassandra", "/cassandra_data"],
    port_environment: &["CASSANDRA_CQL_PORT_NUMBER", "CASSANDRA_NATIVE_TRANSPORT_PORT"],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "apache/cassandra: src/java/org/apache/cassandra/service/CassandraDaemon.java, the native transport starts after commit log replay and joining; killed while bootstrapping in helm/charts#1227",
    },
    in_recovery: "opens its client port only after commit log replay and joining the ring",
    steady: SteadyLiveness::SocketAfterStart,
    startup_practice: "a first copy of the data may stream for hours",
    clients: &[
        Client { with: &["info"], answers: NATIVE_TRANSPORT, ..NODETOOL },
        Client { with: &["statusbinary"], answers: STATUS_BINARY, ..NODETOOL },
        Client { with: &["status"], answers: RING, ..NODETOOL },
        NODETOOL,
        CQLSH,
    ],
    endpoints: &[
        Endpoint {
            path: "/api/v0/probes/liveness",
            recovering: Http::Good,
            does: "is the management API's answer for itself",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/api/v0/probes/readiness",
            recovering: Http::Refusing,
            does: "is the management API's answer whether the server takes clients",
            ..Endpoint::ANY
        },
    ],
    ..CQL
};

pub(super) static SCYLLADB: Profile = Profile {
    engine: Engine::ScyllaDB,
    images: &["scylla", "scylladb", "scylla-enterprise"],
    servers: &["scylla"],
    environment: &["SCYLLA_*", "SCYLLADB_*"],
    data_paths: &["/var/lib/scylla", "/bitnami/scylladb"],
    port_environment: &["SCYLLADB_CQL_PORT_NUMBER"],
    port_arguments: &["--native-transport-port"],
    opens: Opens::Unknown,
    opens_source: Source { kind: Evidence::Unverified, citation: "nobody has measured when ScyllaDB's port opens" },
    in_recovery: "may not answer while it recovers; its own operator notes that it does not respond under load",
    steady: SteadyLiveness::SocketAfterStart,
    startup_practice: "its operator allows 400 s (40 × 10 s)",
    clients: &[Client { answers: Answers::UNKNOWN, ..NODETOOL }, CQLSH],
    ..CQL
};

const CQL: Profile = Profile {
    family: "Cassandra",
    port: 9042,
    port_names: &["cql", "native", "cql-port"],
    client_port_options: &[],
    other_ports: &[
        OtherPort {
            number: 7000,
            names: &["intra", "intra-node", "internode"],
            opens: Opens::Unknown,
            what: "other nodes",
        },
        OtherPort {
            number: 7001,
            names: &["tls", "tls-intra-node"],
            opens: Opens::Unknown,
            what: "other nodes with TLS",
        },
        // Bound to loopback in the official image.
        OtherPort { number: 7199, names: &["jmx"], opens: Opens::Unknown, what: "JMX" },
        OtherPort { number: 9160, names: &["thrift"], opens: Opens::Late, what: "Thrift" },
        OtherPort {
            number: 8080,
            names: &["mgmt-api", "mgmt-api-http"],
            opens: Opens::Early,
            what: "the management API",
        },
    ],
    shutdown: Some(Shutdown { seconds: 300, because: "drains: it flushes its memtables and leaves its clients" }),
    unreachable,
    ..Profile::BLANK
};

/// A Java VM for every call, which asks over JMX. When JMX answers in a start is not shown.
const NODETOOL: Client = Client {
    programs: &["nodetool"],
    login_options: &["-u", "--username"],
    answers: Answers { serving: PASSES, recovering: UNKNOWN, login_refused: FAILS, alone: PASSES },
    runtime: Runtime::Jvm,
    ..Client::ANY
};
const fn perhaps_printing(text: &'static str) -> Answer {
    Answer { outcome: Outcome::Unknown, output: Some(text) }
}
const NATIVE_TRANSPORT: Answers = Answers {
    serving: prints("Native Transport active: true"),
    recovering: perhaps_printing("Native Transport active: false"),
    login_refused: FAILS,
    alone: prints("Native Transport active: true"),
};
const STATUS_BINARY: Answers = Answers {
    serving: prints("running"),
    recovering: perhaps_printing("not running"),
    login_refused: FAILS,
    alone: prints("running"),
};
/// `UJ` while it joins, for hours.
const RING: Answers =
    Answers { serving: prints("UN"), recovering: perhaps_printing("UJ"), login_refused: FAILS, alone: prints("UN") };
const CQLSH: Client = Client {
    programs: &["cqlsh"],
    login_options: &["-u", "--username"],
    answers: Answers::WITH_LOGIN,
    runtime: Runtime::Python,
    ..Client::ANY
};

fn unreachable(container: &Container<'_>) -> Option<String> {
    let (_, address) = container.environment().find(|(name, _)| *name == "CASSANDRA_RPC_ADDRESS")?;
    let address = address?;
    (address == "localhost" || address.starts_with("127."))
        .then(|| format!("CASSANDRA_RPC_ADDRESS is {address}: nothing answers on the pod's IP"))
}
