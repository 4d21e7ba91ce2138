//! ArangoDB, whose HTTP interface opens late unless it is told to open early.

use super::listen::{loopback_only, words};
use super::profile::{
    Answers, Client, Endpoint, Evidence, FAILS, Http, Opens, PASSES, Profile, Source, SteadyLiveness, UNKNOWN,
};
use crate::api::Engine;
use crate::core::model::command::option_value;
use crate::core::model::workload::Container;

pub(super) static ARANGODB: Profile = Profile {
    opens: Opens::Late,
    in_recovery: "recovers before it listens",
    endpoints: &[
        Endpoint { path: "/_api/version", ..LATE },
        Endpoint { path: "/_admin/version", ..LATE },
        Endpoint { path: "/_admin/status", ..LATE },
        AVAILABILITY,
    ],
    ruled_out: opens_early,
    ..ARANGODB_LIKE
};

/// With `--server.early-connections true` (since 3.10) it answers for its version and state while it recovers.
pub(super) static ARANGODB_EARLY: Profile = Profile {
    opens: Opens::Early,
    in_recovery: "answers for its version and state only while it recovers",
    endpoints: &[
        Endpoint { path: "/_api/version", ..EARLY },
        Endpoint { path: "/_admin/version", ..EARLY },
        Endpoint { path: "/_admin/status", ..EARLY },
        AVAILABILITY,
    ],
    ruled_out: |container| !opens_early(container),
    ..ARANGODB_LIKE
};

const ARANGODB_LIKE: Profile = Profile {
    engine: Engine::ArangoDB,
    family: "ArangoDB",
    images: &["arangodb", "arangodb/enterprise", "arangodb-preview", "enterprise-preview"],
    servers: &["arangod"],
    ruled_out_by: &["arangodump", "arangorestore", "arangobackup", "arangosync", "arangodb_operator"],
    environment: &["ARANGO_*"],
    data_paths: &["/var/lib/arangodb3"],
    port: 8529,
    port_names: &["server", "arangodb"],
    port_arguments: &["--server.endpoint"],
    opens_source: Source {
        kind: Evidence::Docs,
        citation: "ArangoDB HTTP API, \"Respond to liveliness probes\": the interface opens late by default, and before recovery with --server.early-connections true (since 3.10)",
    },
    steady: SteadyLiveness::SocketAfterStart,
    clients: &[Client {
        programs: &["arangosh"],
        answers: Answers { serving: PASSES, recovering: FAILS, login_refused: FAILS, alone: UNKNOWN },
        depends_on: "the other servers of its cluster",
        ..Client::ANY
    }],
    unreachable: |container| loopback_only(container, &["--server.endpoint"], &[]),
    ..Profile::BLANK
};
const LATE: Endpoint = Endpoint {
    recovering: Http::Closed,
    login_refused: Http::Refusing,
    does: "is answered after recovery, since --server.early-connections is not set",
    ..Endpoint::ANY
};
const EARLY: Endpoint = Endpoint {
    recovering: Http::Good,
    login_refused: Http::Refusing,
    does: "is answered during recovery, since --server.early-connections is set",
    ..Endpoint::ANY
};
/// The readiness of ArangoDB's operator (`arangodb/kube-arangodb`: `pkg/deployment/resources/pod_creator_probes.go`).
const AVAILABILITY: Endpoint = Endpoint {
    path: "/_admin/server/availability",
    recovering: Http::Refusing,
    alone: Http::Unknown,
    depends_on: "the other servers of its cluster",
    does: "tells whether it takes requests",
    ..Endpoint::ANY
};

fn opens_early(container: &Container<'_>) -> bool {
    let words = words(container);
    match option_value(&words, &["--server.early-connections"]) {
        Some(value) => value != "false",
        None => words.contains(&"--server.early-connections"),
    }
}
