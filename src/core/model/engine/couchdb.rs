//! CouchDB. Its files are only ever appended to, so there is no log to replay.

use super::profile::{Endpoint, Evidence, Http, Opens, OtherPort, Profile, Source, SteadyLiveness};
use crate::api::Engine;

pub(super) static COUCHDB: Profile = Profile {
    engine: Engine::CouchDB,
    family: "CouchDB",
    images: &["couchdb", "fabric-couchdb"],
    servers: &["couchdb"],
    environment: &["COUCHDB_*"],
    data_paths: &["/opt/couchdb/data", "/bitnami/couchdb"],
    port: 5984,
    port_names: &["couchdb", "http"],
    port_environment: &["COUCHDB_PORT_NUMBER"],
    other_ports: &[
        OtherPort { number: 6984, names: &["https"], opens: Opens::Unknown, what: "HTTPS" },
        OtherPort { number: 4369, names: &["epmd"], opens: Opens::Unknown, what: "Erlang's port mapper" },
        OtherPort { number: 9100, names: &["erlang-dist"], opens: Opens::Unknown, what: "its cluster" },
    ],
    opens: Opens::Early,
    opens_source: Source {
        kind: Evidence::Docs,
        citation: "apache/couchdb: src/docs/src/intro/overview.rst: what a crash left half written is forgotten on restart, so nothing is replayed before it listens",
    },
    in_recovery: "has nothing to replay",
    steady: SteadyLiveness::Socket,
    endpoints: &[
        // src/chttpd/src/chttpd_misc.erl, handle_up_req: 404 in maintenance mode, for load balancers, and while seeding.
        Endpoint {
            path: "/_up",
            recovering: Http::Good,
            alone: Http::Refusing,
            depends_on: "maintenance mode and the nodes of its seed list",
            does: "is 404 in maintenance mode and until its nodes have seeded it",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/",
            recovering: Http::Good,
            login_refused: Http::Unknown,
            does: "tells that the process answers",
            ..Endpoint::ANY
        },
    ],
    ..Profile::BLANK
};
