//! Vector databases: Milvus, Weaviate and Qdrant.

use super::listen::loopback_only;
use super::profile::{Endpoint, Evidence, Http, Opens, OtherPort, Profile, Shutdown, Source, SteadyLiveness};
use crate::api::Engine;

/// The management port; that it opens before the port of clients has been seen, not when it opens in recovery.
const MILVUS_MANAGEMENT: OtherPort =
    OtherPort { number: 9091, names: &["metrics"], opens: Opens::Unknown, what: "management and metrics" };

pub(super) static MILVUS: Profile = Profile {
    engine: Engine::Milvus,
    family: "Milvus",
    images: &["milvus"],
    servers: &["milvus run"],
    environment: &["ETCD_ENDPOINTS", "MINIO_ADDRESS", "MILVUS_*", "MQ_TYPE"],
    data_paths: &["/var/lib/milvus"],
    port: 19530,
    port_names: &["milvus"],
    other_ports: &[MILVUS_MANAGEMENT],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Issue,
        citation: "after a restart the management port answers while 19530 still refuses (milvus-io/milvus#53731)",
    },
    in_recovery: "loads its segments before it serves",
    // What Milvus's own operator does (zilliztech/milvus-operator#255).
    steady: SteadyLiveness::OtherSocket(MILVUS_MANAGEMENT),
    endpoints: &[
        Endpoint { path: "/livez", does: "tells that the process answers (milvus-io/milvus#45454)", ..Endpoint::ANY },
        Endpoint {
            path: "/healthz",
            alone: Http::Refusing,
            depends_on: "etcd, the object store and Milvus's other components",
            does: "asks all components and what they depend on (milvus-io/milvus#45443)",
            ..Endpoint::ANY
        },
    ],
    ..Profile::BLANK
};

pub(super) static WEAVIATE: Profile = Profile {
    engine: Engine::Weaviate,
    family: "Weaviate",
    images: &["weaviate"],
    servers: &["weaviate --host"],
    starts: &["weaviate"],
    environment: &[
        "PERSISTENCE_DATA_PATH",
        "CLUSTER_GOSSIP_BIND_PORT",
        "DEFAULT_VECTORIZER_MODULE",
        "RAFT_BOOTSTRAP_*",
    ],
    data_paths: &["/var/lib/weaviate"],
    port: 8080,
    port_names: &["http", "weaviate"],
    port_arguments: &["--port"],
    other_ports: &[
        OtherPort { number: 50051, names: &["grpc"], opens: Opens::Unknown, what: "gRPC" },
        OtherPort { number: 7000, names: &["gossip"], opens: Opens::Unknown, what: "gossip" },
    ],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Issue,
        citation: "after a crash it read its *.wal files for 30 minutes, and the chart's liveness on /v1/.well-known/live restarted it for ever (weaviate/weaviate-helm#64)",
    },
    in_recovery: "reads its write-ahead logs before it answers",
    steady: SteadyLiveness::SocketAfterStart,
    startup_practice: "Weaviate's own chart waits 900 s before the first liveness check",
    endpoints: &[
        Endpoint {
            path: "/v1/.well-known/live",
            recovering: Http::Closed,
            does: "tells that the process answers, and is refused while it reads its write-ahead logs",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/v1/.well-known/ready",
            recovering: Http::Closed,
            alone: Http::Unknown,
            depends_on: "the other nodes",
            does: "is the readiness",
            ..Endpoint::ANY
        },
    ],
    shutdown: Some(Shutdown { seconds: 600, because: "writes what it holds in memory; its own chart gives it 600 s" }),
    unreachable: |container| loopback_only(container, &["--host"], &[]),
    ..Profile::BLANK
};

pub(super) static QDRANT: Profile = Profile {
    engine: Engine::Qdrant,
    family: "Qdrant",
    images: &["qdrant", "qdrant-unprivileged"],
    starts: &["qdrant", "initialize.sh"],
    environment: &["QDRANT__*", "QDRANT_INIT_FILE_PATH"],
    data_paths: &["/qdrant/storage"],
    port: 6333,
    port_names: &["http", "rest"],
    port_environment: &["QDRANT__SERVICE__HTTP_PORT"],
    other_ports: &[
        OtherPort { number: 6334, names: &["grpc"], opens: Opens::Late, what: "gRPC" },
        OtherPort { number: 6335, names: &["p2p"], opens: Opens::Unknown, what: "its peers" },
    ],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "qdrant/qdrant: src/main.rs: TableOfContent::new loads all collections before the REST and gRPC servers start",
    },
    in_recovery: "loads its collections before it listens",
    steady: SteadyLiveness::SocketAfterStart,
    startup_practice: "Qdrant's own chart leaves the liveness off",
    endpoints: &[
        Endpoint { path: "/livez", ..QDRANT_ENDPOINT },
        Endpoint { path: "/healthz", ..QDRANT_ENDPOINT },
        Endpoint {
            path: "/readyz",
            alone: Http::Unknown,
            depends_on: "the consensus of its cluster",
            does: "is the readiness, on a port that opens after the collections are loaded",
            ..QDRANT_ENDPOINT
        },
        Endpoint { path: "/", login_refused: Http::Unknown, ..QDRANT_ENDPOINT },
    ],
    unreachable: |container| loopback_only(container, &[], &["QDRANT__SERVICE__HOST"]),
    ..Profile::BLANK
};
const QDRANT_ENDPOINT: Endpoint = Endpoint {
    recovering: Http::Closed,
    does: "tells that the process answers, on a port that opens after the collections are loaded",
    ..Endpoint::ANY
};
