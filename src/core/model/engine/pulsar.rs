//! Pulsar's broker and BookKeeper's bookie, which one image runs.

use super::profile::{
    Answers, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Runtime, Source,
    SteadyLiveness, UNKNOWN,
};
use crate::api::Engine;

pub(super) static PULSAR: Profile = Profile {
    engine: Engine::Pulsar,
    images: &["pulsar", "pulsar-all"],
    servers: &["pulsar broker", "pulsar standalone"],
    ruled_out_by: &[
        "pulsar bookie",
        "pulsar zookeeper",
        "pulsar proxy",
        "pulsar autorecovery",
        "pulsar websocket",
        "pulsar functions-worker",
        "pulsar initialize-cluster-metadata",
        "pulsar-admin",
        "pulsarctl",
    ],
    data_paths: &["/pulsar/data"],
    port: 6650,
    port_names: &["pulsar", "pulsarssl", "tcp-pulsar"],
    other_ports: &[
        OtherPort { number: 8080, names: &["http"], opens: Opens::Unknown, what: "its HTTP API" },
        OtherPort { number: 8443, names: &["https"], opens: Opens::Unknown, what: "its HTTPS API" },
    ],
    opens_source: Source {
        kind: Evidence::Unverified,
        citation: "a broker holds no data of its own and waits for its metadata store; when it listens nobody has read here",
    },
    in_recovery: "waits for its metadata store",
    steady: SteadyLiveness::SocketAfterStart,
    clients: &[Client {
        programs: &["pulsar-admin"],
        answers: Answers { serving: PASSES, recovering: FAILS, login_refused: FAILS, alone: FAILS },
        depends_on: "its metadata store and the bookies",
        runtime: Runtime::Jvm,
        ..Client::ANY
    }],
    endpoints: &[
        // The liveness of Pulsar's own chart (apache/pulsar-helm-chart).
        Endpoint {
            path: "/status.html",
            alone: Http::Unknown,
            depends_on: "its metadata store",
            does: "tells that the broker is in rotation",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/admin/v2/brokers/health",
            alone: Http::Refusing,
            login_refused: Http::Refusing,
            depends_on: "its metadata store and the bookies",
            does: "sends a message through the broker and the bookies",
            ..Endpoint::ANY
        },
    ],
    ..PULSAR_LIKE
};

pub(super) static BOOKKEEPER: Profile = Profile {
    engine: Engine::BookKeeper,
    images: &["bookkeeper"],
    servers: &["pulsar bookie", "bookkeeper bookie"],
    ruled_out_by: &["pulsar autorecovery", "bookkeeper autorecovery", "bookkeeper shell metaformat"],
    environment: &["BK_*", "BOOKIE_*"],
    data_paths: &["/pulsar/data/bookkeeper", "/bk", "/bookkeeper"],
    port: 3181,
    port_names: &["bookie"],
    port_environment: &["BK_bookiePort"],
    other_ports: &[OtherPort { number: 8000, names: &["http"], opens: Opens::Late, what: "its HTTP API" }],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "apache/bookkeeper: BookieServer.java, start: bookie.start, which replays the journal, comes before nettyServer.start; EmbeddedServer.java adds the HTTP service after the bookie",
    },
    in_recovery: "replays its journal before it listens",
    steady: SteadyLiveness::SocketAfterStart,
    clients: &[Client {
        programs: &["bookkeeper"],
        with: &["shell"],
        answers: Answers { serving: PASSES, recovering: FAILS, login_refused: UNKNOWN, alone: UNKNOWN },
        depends_on: "its metadata store",
        runtime: Runtime::Jvm,
        ..Client::ANY
    }],
    endpoints: &[Endpoint {
        path: "/api/v1/bookie/",
        recovering: Http::Closed,
        does: "is the bookie's own answer, on a port that opens after the journal is replayed",
        ..Endpoint::ANY
    }],
    ..PULSAR_LIKE
};

const PULSAR_LIKE: Profile = Profile { family: "Pulsar", ..Profile::BLANK };
