//! Consul as a server. A client agent holds no data, and a dead one is no outage of the store.

use super::listen::words;
use super::profile::{
    Answers, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Source, SteadyLiveness,
    UNKNOWN,
};
use crate::api::Engine;
use crate::core::model::workload::Container;

/// Gossip: a server that cannot bind it to the pod's address is in no cluster, whereas 8500 is on loopback by default.
const SERF_LAN: OtherPort = OtherPort {
    number: 8301,
    names: &["serflan-tcp", "serf-lan-tcp", "serflan", "serf-lan", "serf-tcp"],
    opens: Opens::Late,
    what: "gossip within the data centre",
};
const LEADER: &str = "a leader of the cluster";

pub(super) static CONSUL: Profile = Profile {
    engine: Engine::Consul,
    family: "Consul",
    images: &["consul", "consul-enterprise"],
    servers: &["consul agent"],
    starts: &["agent", "consul"],
    ruled_out_by: &["consul connect", "consul watch", "consul lock", "consul-k8s", "consul-k8s-control-plane"],
    ruled_out: is_client_agent,
    environment: &["CONSUL_BOOTSTRAP_EXPECT", "CONSUL_LOCAL_CONFIG", "CONSUL_RETRY_JOIN", "CONSUL_*_PORT_NUMBER"],
    data_paths: &["/consul/data", "/bitnami/consul"],
    port: 8500,
    port_names: &["http", "https", "consul"],
    port_environment: &["CONSUL_HTTP_PORT_NUMBER"],
    port_arguments: &["-http-port", "--http-port"],
    client_port_options: &[],
    other_ports: &[
        SERF_LAN,
        OtherPort {
            number: 8302,
            names: &["serfwan-tcp", "serf-wan-tcp", "serfwan"],
            opens: Opens::Late,
            what: "gossip between data centres",
        },
        // Bound before the snapshot is restored, and not served until after: the queue of the kernel answers.
        OtherPort {
            number: 8300,
            names: &["server", "rpc-server", "rpc"],
            opens: Opens::Unknown,
            what: "RPC between servers",
        },
        OtherPort { number: 8501, names: &["https"], opens: Opens::Late, what: "the HTTPS API" },
        OtherPort { number: 8502, names: &["grpc"], opens: Opens::Late, what: "the gRPC API" },
        OtherPort { number: 8600, names: &["dns-tcp", "dns"], opens: Opens::Late, what: "DNS" },
    ],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "hashicorp/consul: agent/agent.go, Start: NewServer with setupRaft, which restores the snapshot, comes before listenHTTP; agent/consul/server.go: setupSerfLAN comes after setupRaft",
    },
    in_recovery: "restores its snapshot before it listens",
    steady: SteadyLiveness::OtherSocket(SERF_LAN),
    clients: &[
        // With -stale any server answers for itself.
        Client { with: &["list-peers", "-stale"], answers: OF_THIS_AGENT, ..CLI },
        // "No cluster leader" is a 500 (hashicorp/consul_exporter#208), so one lost quorum restarts all servers.
        Client {
            with: &["operator"],
            // Whether it needs a token is for the ACLs to say, which no manifest shows.
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: UNKNOWN, alone: FAILS },
            depends_on: LEADER,
            ..CLI
        },
        Client { with: &["members"], answers: OF_THIS_AGENT, ..CLI },
        Client { with: &["info"], answers: OF_THIS_AGENT, ..CLI },
        Client {
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: UNKNOWN, alone: UNKNOWN },
            depends_on: LEADER,
            ..CLI
        },
    ],
    endpoints: &[
        // It answers 200 and an empty string without a leader; only who reads the body depends on one.
        Endpoint {
            path: "/v1/status/leader",
            recovering: Http::Closed,
            does: "tells who leads, and answers 200 when nobody does; its port opens after the snapshot is restored",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/v1/agent/",
            recovering: Http::Closed,
            login_refused: Http::Refusing,
            does: "is this agent's own answer; its port opens after the snapshot is restored",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/v1/",
            recovering: Http::Closed,
            alone: Http::Unknown,
            login_refused: Http::Unknown,
            depends_on: LEADER,
            does: "is answered after the snapshot is restored",
            ..Endpoint::ANY
        },
    ],
    ..Profile::BLANK
};

const CLI: Client = Client { programs: &["consul"], ..Client::ANY };
/// What the agent knows without asking another. Whether it needs a token is for its configuration to say.
const OF_THIS_AGENT: Answers = Answers { serving: PASSES, recovering: FAILS, login_refused: UNKNOWN, alone: PASSES };

/// An agent that nothing makes a server: no `-server`, no `-dev`, no port or setting of one.
fn is_client_agent(container: &Container<'_>) -> bool {
    let setting = |wanted: &str| container.environment().find(|(name, _)| *name == wanted).and_then(|(_, value)| value);
    if setting("CONSUL_AGENT_MODE").is_some_and(|mode| mode == "client") {
        return true;
    }
    let words = words(container);
    if !words.contains(&"agent") {
        return false;
    }
    let is_server = words.iter().any(|word| {
        let word = word.trim_start_matches('-');
        (word.starts_with("server") && word != "server=false") || word == "dev" || word.starts_with("bootstrap")
    });
    let configured = setting("CONSUL_LOCAL_CONFIG").is_some_and(|json| json.contains("\"server\""));
    let has_port = container.tcp_ports().any(|(_, number)| number == 8300);
    !(is_server || configured || has_port)
}
