//! CockroachDB.

use super::listen::loopback_only;
use super::profile::{
    Answers, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Shutdown, Source,
    SteadyLiveness, UNKNOWN,
};
use crate::api::Engine;

const HTTP: OtherPort =
    OtherPort { number: 8080, names: &["http", "https"], opens: Opens::Late, what: "the console and health checks" };
const MAJORITY: &str = "a majority of the cluster";

pub(super) static COCKROACHDB: Profile = Profile {
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "cockroachdb/cockroach: pkg/server/server.go, NewServer: CreateEngines opens the stores before anything listens",
    },
    in_recovery: "opens its stores before it listens",
    endpoints: &[
        Endpoint { query: &["ready=0"], ..HEALTH },
        Endpoint { query: &["ready=false"], ..HEALTH },
        READY,
        HEALTH,
        Endpoint {
            path: "/_status/vars",
            recovering: Http::Closed,
            does: "is this node's metrics, on a port that opens after its stores",
            ..Endpoint::ANY
        },
    ],
    ..COCKROACHDB_LIKE
};

/// Until 20.1 the ports were bound before the stores were opened; what was answered meanwhile nobody has shown.
pub(super) static COCKROACHDB_UNTIL_20_1: Profile = Profile {
    images: &["cockroach:v1.*", "cockroach:v2.*", "cockroach:v19.*", "cockroach:v20.1.*"],
    opens: Opens::Unknown,
    opens_source: Source {
        kind: Evidence::Unverified,
        citation: "until 20.1 the ports were bound before the stores were opened (cockroachdb/cockroach: pkg/server/server.go, Start); what they answered meanwhile nobody has shown",
    },
    in_recovery: "may not answer while it opens its stores",
    endpoints: &[
        Endpoint { recovering: Http::Refusing, ..READY },
        Endpoint { recovering: Http::Unknown, does: "tells that the process answers", ..HEALTH },
    ],
    ..COCKROACHDB_LIKE
};

/// What the releases share.
const COCKROACHDB_LIKE: Profile = Profile {
    engine: Engine::CockroachDB,
    family: "CockroachDB",
    images: &["cockroach", "cockroachdb", "cockroach-*"],
    servers: &["cockroach start", "cockroach start-single-node", "cockroach.sh start"],
    starts: &["cockroach", "start-single-node"],
    ruled_out_by: &["cockroach init", "cockroach cert", "cockroach demo", "cockroach sql"],
    environment: &["COCKROACH_*"],
    data_paths: &["/cockroach/cockroach-data"],
    port: 26257,
    port_names: &["sql", "grpc", "cockroachdb", "db"],
    port_arguments: &["--sql-addr", "--listen-addr", "--port"],
    other_ports: &[
        HTTP,
        OtherPort { number: 26258, names: &["grpc"], opens: Opens::Late, what: "requests between nodes" },
    ],
    steady: SteadyLiveness::HttpAfterStart { port: HTTP, path: "/health" },
    clients: &[
        // It reads crdb_internal, which an unavailable cluster cannot answer (docs, Monitoring and Alerting).
        Client {
            with: &["node", "status"],
            answers: Answers { alone: FAILS, ..Answers::WITH_LOGIN },
            depends_on: MAJORITY,
            ..CLI
        },
        Client {
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: FAILS, alone: UNKNOWN },
            depends_on: MAJORITY,
            ..CLI
        },
    ],
    shutdown: Some(Shutdown { seconds: 300, because: "drains its leases and clients; its own chart gives it 300 s" }),
    unreachable: |container| loopback_only(container, &["--sql-addr", "--listen-addr", "--host"], &[]),
    ..Profile::BLANK
};

const CLI: Client = Client { programs: &["cockroach"], ..Client::ANY };
/// "An empty response is returned immediately": `pkg/server/serverpb`, `HealthRequest`.
const HEALTH: Endpoint = Endpoint {
    path: "/health",
    recovering: Http::Closed,
    does: "tells that the process answers, on a port that opens after its stores",
    ..Endpoint::ANY
};
/// 503 as well until somebody ran the one-time `cockroach init` (cockroachdb/cockroachdb-cloudformation#18).
const READY: Endpoint = Endpoint {
    query: &["ready"],
    alone: Http::Refusing,
    depends_on: MAJORITY,
    does: "is the readiness: 503 while it starts or drains, before the cluster is initialised, and without a majority",
    ..HEALTH
};
