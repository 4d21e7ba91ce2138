//! MinIO.

use super::listen::loopback_only;
use super::profile::{
    Answers, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Source, SteadyLiveness,
    UNKNOWN,
};
use crate::api::Engine;

const DRIVES: &str = "the drives of the other servers";

pub(super) static MINIO: Profile = Profile {
    engine: Engine::MinIO,
    family: "MinIO",
    images: &["minio", "minio/aistor"],
    servers: &["minio server"],
    starts: &["server", "minio"],
    ruled_out_by: &["mc", "gateway", "minio-operator", "minio gateway", "sidekick"],
    environment: &["MINIO_ROOT_*", "MINIO_ACCESS_KEY", "MINIO_SECRET_KEY", "MINIO_VOLUMES", "MINIO_*_PORT_NUMBER"],
    data_paths: &["/export", "/bitnami/minio/data"],
    port: 9000,
    port_names: &["http", "https", "minio", "minio-api", "http-minio", "https-minio", "service"],
    port_environment: &["MINIO_ADDRESS", "MINIO_API_PORT_NUMBER"],
    port_arguments: &["--address"],
    other_ports: &[OtherPort {
        number: 9001,
        names: &["console", "minio-console", "https-console", "http-console"],
        opens: Opens::Late,
        what: "the console",
    }],
    opens: Opens::Early,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "minio/minio: cmd/server-main.go, serverMain: configureServer listens before newObjectLayer and waitForQuorum",
    },
    in_recovery: "answers, but not for objects, until its drives are there",
    steady: SteadyLiveness::Socket,
    clients: &[
        // `mc ready` asks for the health of the cluster.
        Client {
            programs: &["mc"],
            with: &["ready"],
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: PASSES, alone: UNKNOWN },
            depends_on: DRIVES,
            ..Client::ANY
        },
        Client {
            programs: &["mc"],
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: UNKNOWN, alone: UNKNOWN },
            depends_on: DRIVES,
            ..Client::ANY
        },
    ],
    // cmd/healthcheck-handler.go.
    endpoints: &[
        Endpoint {
            path: "/minio/health/live",
            recovering: Http::Good,
            does: "tells that the process answers; newer releases also refuse it when too many requests wait",
            ..Endpoint::ANY
        },
        // Releases of 2020 were ready when they had a quorum, later ones when etcd and the key server answer.
        Endpoint {
            path: "/minio/health/ready",
            alone: Http::Unknown,
            depends_on: "etcd and the key server, where they are used",
            does: "is the readiness, which asked for different things in different releases",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/minio/health/cluster",
            recovering: Http::Refusing,
            alone: Http::Refusing,
            depends_on: DRIVES,
            does: "tells whether the cluster has a quorum",
            ..Endpoint::ANY
        },
    ],
    unreachable: |container| loopback_only(container, &["--address"], &["MINIO_ADDRESS"]),
    ..Profile::BLANK
};
