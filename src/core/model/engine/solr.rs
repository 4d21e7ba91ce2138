//! Solr.

use super::profile::{
    Answers, Client, Endpoint, Evidence, Http, Opens, OtherPort, Profile, Runtime, Shutdown, Source, SteadyLiveness,
};
use crate::api::Engine;

pub(super) static SOLR: Profile = Profile {
    engine: Engine::Solr,
    family: "Solr",
    images: &["solr"],
    servers: &["solr", "solr-foreground"],
    ruled_out_by: &["solr-exporter"],
    environment: &["SOLR_*"],
    data_paths: &["/var/solr", "/bitnami/solr", "/opt/solr/server/home"],
    port: 8983,
    port_names: &["solr", "solr-client"],
    port_environment: &["SOLR_PORT", "SOLR_PORT_NUMBER"],
    client_port_options: &[],
    other_ports: &[OtherPort {
        number: 9983,
        names: &["zookeeper"],
        opens: Opens::Unknown,
        what: "a built-in ZooKeeper",
    }],
    opens: Opens::Unknown,
    opens_source: Source { kind: Evidence::Unverified, citation: "nobody has measured when Solr's port opens" },
    in_recovery: "may not answer while it loads its cores",
    steady: SteadyLiveness::KeepCheck(
        "Solr's own operator asks the same over HTTP (apache/solr-operator: controllers/util/solr_util.go)",
    ),
    startup_practice: "its own operator allows 60 s (10 s + 10 × 5 s), which is little for large cores",
    clients: &[Client { programs: &["solr"], answers: Answers::UNKNOWN, runtime: Runtime::Jvm, ..Client::ANY }],
    endpoints: &[
        Endpoint {
            path: "/solr/admin/info/health",
            alone: Http::Refusing,
            login_refused: Http::Unknown,
            depends_on: "its connection to ZooKeeper",
            does: "asks whether the node is in the cluster",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/solr/admin/",
            login_refused: Http::Unknown,
            does: "is this node's own answer",
            ..Endpoint::ANY
        },
    ],
    shutdown: Some(Shutdown { seconds: 60, because: "commits and closes its cores" }),
    ..Profile::BLANK
};
