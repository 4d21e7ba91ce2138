//! RabbitMQ.

use super::catalogue::KnownScript;
use super::profile::{
    Answers, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Runtime, Shutdown, Source,
    SteadyLiveness, UNKNOWN,
};
use crate::api::Engine;
use crate::core::model::workload::Container;

/// Where nodes and their tools talk to each other: what `rabbitmq-diagnostics ping` needs, and nothing more.
const DISTRIBUTION: OtherPort = OtherPort {
    number: 25672,
    names: &["dist", "clustering", "inter-node"],
    opens: Opens::Early,
    what: "the Erlang distribution",
};

pub(super) static RABBITMQ: Profile = Profile {
    engine: Engine::RabbitMQ,
    family: "RabbitMQ",
    images: &["rabbitmq", "rabbitmq-server"],
    servers: &["rabbitmq-server"],
    ruled_out_by: &["rabbitmqadmin"],
    environment: &["RABBITMQ_*"],
    data_paths: &["/var/lib/rabbitmq", "/bitnami/rabbitmq", "/opt/bitnami/rabbitmq/.rabbitmq/mnesia"],
    port: 5672,
    port_names: &["amqp", "rabbitmq"],
    port_environment: &["RABBITMQ_NODE_PORT", "RABBITMQ_NODE_PORT_NUMBER"],
    client_port_options: &[],
    other_ports: &[
        DISTRIBUTION,
        OtherPort {
            number: 5671,
            names: &["amqps", "amqp-ssl", "amqp-tls"],
            opens: Opens::Late,
            what: "AMQP with TLS",
        },
        OtherPort {
            number: 15672,
            names: &["management", "mgmt", "stats", "http", "http-stats", "manager"],
            opens: Opens::Late,
            what: "the management API",
        },
        OtherPort {
            number: 15692,
            names: &["prometheus", "metrics"],
            opens: Opens::Late,
            what: "the metrics of the Prometheus plugin",
        },
        OtherPort { number: 4369, names: &["epmd"], opens: Opens::Early, what: "Erlang's port mapper" },
    ],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Measured,
        citation: "RabbitMQ 3.10, kill -9 with 258 000 persistent messages: port 25672 opened after 3.6 s, 5672 after 20.0 s",
    },
    in_recovery: "refuses clients until its message stores are read and its peers are there",
    steady: SteadyLiveness::OtherSocket(DISTRIBUTION),
    startup_practice: "its own operator sets no liveness at all (rabbitmq/cluster-operator: internal/resource/statefulset.go)",
    clients: CLIENTS,
    endpoints: MANAGEMENT,
    shutdown: Some(Shutdown {
        seconds: 120,
        because: "waits for mirrors and quorum queues to be in step; its own operator allows a week",
    }),
    unreachable,
    ..Profile::BLANK
};

const CLI: Client = Client {
    programs: &["rabbitmq-diagnostics", "rabbitmqctl"],
    answers: Answers { serving: PASSES, recovering: UNKNOWN, login_refused: PASSES, alone: UNKNOWN },
    runtime: Runtime::Erlang,
    ..Client::ANY
};

/// It needs the node's own boot to be over.
const BOOTED: Answers = Answers::LOCAL;

const CLIENTS: &[Client] = &[
    // Measured: 69 for some seconds, then 0 through the whole boot.
    Client { with: &["ping"], answers: Answers::TOLERANT, ..CLI },
    Client { with: &["check_running"], answers: BOOTED, ..CLI },
    Client { with: &["check_port_connectivity"], answers: BOOTED, ..CLI },
    Client { with: &["check_port_listener"], answers: BOOTED, ..CLI },
    Client { with: &["check_protocol_listener"], answers: BOOTED, ..CLI },
    Client { with: &["check_virtual_hosts"], answers: BOOTED, ..CLI },
    Client { with: &["node_health_check"], answers: BOOTED, ..CLI },
    Client { with: &["is_running"], answers: BOOTED, ..CLI },
    Client { with: &["await_startup"], answers: BOOTED, ..CLI },
    Client { with: &["list_queues"], answers: BOOTED, ..CLI },
    Client { with: &["list_vhosts"], answers: BOOTED, ..CLI },
    Client { with: &["status"], answers: BOOTED, ..CLI },
    Client {
        with: &["check_alarms"],
        answers: Answers { alone: FAILS, ..CLI.answers },
        depends_on: "an alarm on any node",
        ..CLI
    },
    Client {
        with: &["check_if_node_is_quorum_critical"],
        answers: Answers { alone: FAILS, ..CLI.answers },
        depends_on: "the state of its quorum queues on other nodes",
        ..CLI
    },
    CLI,
    // The old chart's wrappers of `curl --fail` with a user and a password.
    Client { programs: &["rabbitmq-api-check", "rabbitmq-health-check"], answers: Answers::WITH_LOGIN, ..Client::ANY },
];

const MANAGEMENT: &[Endpoint] = &[
    Endpoint {
        path: "/api/health/checks/alarms",
        recovering: Http::Closed,
        login_refused: Http::Refusing,
        alone: Http::Refusing,
        depends_on: "an alarm on any node",
        does: "is refused for an alarm on any node, and needs the management plugin and a password",
        ..Endpoint::ANY
    },
    Endpoint {
        path: "/api/health/checks/node-is-quorum-critical",
        recovering: Http::Closed,
        login_refused: Http::Refusing,
        alone: Http::Refusing,
        depends_on: "the state of its quorum queues on other nodes",
        does: "is refused while other nodes cannot be spared this one",
        ..Endpoint::ANY
    },
    Endpoint {
        path: "/api/",
        recovering: Http::Closed,
        login_refused: Http::Refusing,
        does: "is answered by the management plugin, which starts last and asks for a password",
        ..Endpoint::ANY
    },
    Endpoint {
        path: "/",
        recovering: Http::Closed,
        does: "is answered by a plugin, and plugins start last",
        ..Endpoint::ANY
    },
];

pub(super) const SCRIPTS: &[KnownScript] = &[
    KnownScript {
        path: "/tmp/rabbitmq-liveness.sh",
        does: "OpenStack-Helm's rabbitmq-liveness.sh excuses a node that boots, but only for the time of its probes_delay value",
        answers: Answers { serving: PASSES, ..Answers::UNKNOWN },
        runtime: Runtime::Erlang,
        source: "openstack/openstack-helm: rabbitmq/templates/bin/_rabbitmq-liveness.sh.tpl",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/tmp/rabbitmq-readiness.sh",
        does: "OpenStack-Helm's rabbitmq-readiness.sh runs node_health_check, which a booting node fails",
        answers: Answers { serving: PASSES, recovering: FAILS, ..Answers::UNKNOWN },
        runtime: Runtime::Erlang,
        source: "openstack/openstack-helm: rabbitmq/templates/bin/_rabbitmq-readiness.sh.tpl",
        ..KnownScript::ANY
    },
];

fn unreachable(container: &Container<'_>) -> Option<String> {
    let (_, address) = container.environment().find(|(name, _)| *name == "RABBITMQ_NODE_IP_ADDRESS")?;
    let address = address?;
    (address == "localhost" || address.starts_with("127.") || address == "::1")
        .then(|| format!("RABBITMQ_NODE_IP_ADDRESS is {address}: nothing answers on the pod's IP"))
}
