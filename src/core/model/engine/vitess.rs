//! Vitess's tablet, which stands before a `mysqld`.

use super::profile::{Endpoint, Evidence, Http, Opens, OtherPort, Profile, Source, SteadyLiveness};
use crate::api::Engine;

pub(super) static VITESS: Profile = Profile {
    engine: Engine::Vitess,
    family: "Vitess",
    images: &["vttablet"],
    servers: &["vttablet"],
    // One image runs all of Vitess, and most of it holds no data.
    ruled_out_by: &["vtgate", "vtctld", "vtorc", "vtadmin", "vtbackup", "mysqlctld", "vtctldclient", "mysqld_exporter"],
    data_paths: &["/vt/vtdataroot"],
    port: 15000,
    port_names: &["web", "debug"],
    port_arguments: &["--port", "-port"],
    other_ports: &[OtherPort { number: 15999, names: &["grpc"], opens: Opens::Unknown, what: "gRPC" }],
    opens_source: Source {
        kind: Evidence::Unverified,
        citation: "a tablet holds no data of its own; its operator asks /debug/status and /debug/health (planetscale/vitess-operator: reconcile_tablet.go)",
    },
    in_recovery: "waits for its mysqld",
    steady: SteadyLiveness::KeepCheck("nobody has shown when its port opens, and its data is in the mysqld beside it"),
    endpoints: &[
        Endpoint { path: "/debug/status", does: "tells that the process answers", ..Endpoint::ANY },
        Endpoint {
            path: "/debug/health",
            alone: Http::Refusing,
            depends_on: "its mysqld and the health of its replication",
            does: "tells whether the tablet can serve",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/healthz",
            alone: Http::Refusing,
            depends_on: "its mysqld and the health of its replication",
            does: "tells whether the tablet can serve",
            ..Endpoint::ANY
        },
    ],
    ..Profile::BLANK
};
