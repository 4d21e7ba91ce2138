//! Neo4j.

use super::listen::loopback_only;
use super::profile::{
    Answers, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Runtime, Shutdown, Source,
    SteadyLiveness, UNKNOWN,
};
use crate::api::Engine;

const BOLT_ADDRESS: &[&str] = &["NEO4J_server_bolt_listen__address", "NEO4J_dbms_connector_bolt_listen__address"];

pub(super) static NEO4J: Profile = Profile {
    engine: Engine::Neo4j,
    family: "Neo4j",
    images: &["neo4j", "neo4j-enterprise"],
    servers: &["neo4j console", "neo4j start"],
    starts: &["neo4j"],
    ruled_out_by: &["neo4j-admin"],
    environment: &["NEO4J_AUTH", "NEO4J_server_*", "NEO4J_dbms_*", "NEO4J_PLUGINS", "NEO4J_ACCEPT_LICENSE_AGREEMENT"],
    data_paths: &["/var/lib/neo4j", "/bitnami/neo4j"],
    port: 7687,
    port_names: &["bolt", "tcp-bolt"],
    port_environment: BOLT_ADDRESS,
    other_ports: &[
        OtherPort { number: 7474, names: &["http", "tcp-http"], opens: Opens::Unknown, what: "HTTP" },
        OtherPort { number: 7473, names: &["https", "tcp-https"], opens: Opens::Unknown, what: "HTTPS" },
        OtherPort { number: 6362, names: &["backup", "tcp-backup"], opens: Opens::Unknown, what: "backups" },
    ],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Docs,
        citation: "neo4j/helm-charts: neo4j/values.yaml: the startup probe, a socket on 7687, \"gives time for Neo4j to recover\"",
    },
    in_recovery: "listens after it has recovered",
    steady: SteadyLiveness::SocketAfterStart,
    startup_practice: "Neo4j's own chart allows 5000 s (1000 × 5 s)",
    clients: &[
        Client {
            programs: &["cypher-shell"],
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: FAILS, alone: UNKNOWN },
            depends_on: "the leader of its cluster",
            runtime: Runtime::Jvm,
            ..Client::ANY
        },
        // It looks for the process by its pid file.
        Client {
            programs: &["neo4j"],
            with: &["status"],
            answers: Answers { recovering: UNKNOWN, ..Answers::LOCAL },
            runtime: Runtime::Jvm,
            ..Client::ANY
        },
    ],
    endpoints: &[
        Endpoint {
            path: "/db/",
            alone: Http::Unknown,
            login_refused: Http::Unknown,
            depends_on: "the leader of its cluster",
            does: "tells a database's state",
            ..Endpoint::ANY
        },
        Endpoint { path: "/", does: "names its services", ..Endpoint::ANY },
    ],
    shutdown: Some(Shutdown { seconds: 3600, because: "writes a checkpoint; its own chart gives it 3600 s" }),
    unreachable: |container| loopback_only(container, &[], BOLT_ADDRESS),
    ..Profile::BLANK
};
