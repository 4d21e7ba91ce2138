//! NATS, with or without JetStream.

use super::profile::{
    Answers, Client, Endpoint, Evidence, Http, Opens, OtherPort, Profile, Shutdown, Source, SteadyLiveness,
};
use crate::api::Engine;
use crate::core::model::command::option_value;
use crate::core::model::workload::Container;

const MONITOR: OtherPort = OtherPort {
    number: 8222,
    names: &["monitor", "monitoring", "http-monitor"],
    opens: Opens::Early,
    what: "the monitoring endpoint",
};

pub(super) static NATS: Profile = Profile {
    engine: Engine::NATS,
    family: "NATS",
    images: &["nats", "nats-server", "nats-streaming"],
    servers: &["nats-server", "nats-streaming-server"],
    ruled_out_by: &["nats-box", "nats-surveyor"],
    environment: &["NATS_*"],
    data_paths: &["/data/jetstream", "/data/nats", "/bitnami/nats"],
    port: 4222,
    port_names: &["nats", "client", "tcp-client"],
    port_arguments: &["-p", "--port"],
    client_port_options: &[],
    other_ports: &[
        MONITOR,
        OtherPort { number: 6222, names: &["cluster", "tcp-cluster"], opens: Opens::Unknown, what: "other servers" },
        OtherPort { number: 7422, names: &["leafnodes"], opens: Opens::Unknown, what: "leaf nodes" },
        OtherPort { number: 8080, names: &["websocket"], opens: Opens::Unknown, what: "WebSocket clients" },
        OtherPort { number: 7777, names: &["metrics"], opens: Opens::Unknown, what: "metrics" },
    ],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Measured,
        citation: "NATS 2.9 with 2.0 GB of JetStream: port 4222 opened after 3.7 s, 8222 after 0.47 s",
    },
    in_recovery: "refuses clients until JetStream is recovered",
    steady: SteadyLiveness::OtherSocket(MONITOR),
    startup_practice: "its own chart allows 910 s (10 s + 90 × 10 s of /healthz)",
    clients: &[Client { programs: &["nats"], answers: Answers::WITH_LOGIN, ..Client::ANY }],
    endpoints: &[
        Endpoint {
            path: "/healthz",
            query: &["js-enabled-only"],
            recovering: Http::Good,
            does: "asks whether JetStream is on, not whether it is recovered",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/healthz",
            query: &["js-server-only"],
            recovering: Http::Refusing,
            alone: Http::Refusing,
            depends_on: "a leader of JetStream",
            does: "asks whether this server is in step with JetStream's leader",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/healthz",
            recovering: Http::Refusing,
            alone: Http::Refusing,
            depends_on: "the state of every stream and consumer in the cluster",
            does: "is refused while any stream or consumer recovers (nats-io/k8s#331, #576)",
            ..Endpoint::ANY
        },
        Endpoint { path: "/", recovering: Http::Good, does: "is the monitoring endpoint's own page", ..Endpoint::ANY },
    ],
    shutdown: Some(Shutdown { seconds: 60, because: "goes through lame duck mode, 30 s and more" }),
    unreachable,
    ..Profile::BLANK
};

fn unreachable(container: &Container<'_>) -> Option<String> {
    let arguments = super::listen::words(container);
    let address = option_value(&arguments, &["-a", "--addr", "--net"])?;
    (address == "localhost" || address.starts_with("127."))
        .then(|| format!("it listens on {address}: nothing answers on the pod's IP"))
}
