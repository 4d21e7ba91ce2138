//! Kafka and Redpanda.

use super::catalogue::KnownScript;
use super::profile::{
    Answers, Client, Evidence, FAILS, Opens, OtherPort, PASSES, Profile, Runtime, Shutdown, Source, SteadyLiveness,
    UNKNOWN, Variant,
};
use crate::api::Engine;
use crate::core::model::workload::Container;

pub(super) static KAFKA: Profile = Profile {
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "apache/kafka: core/src/main/scala/kafka/server/BrokerServer.scala, acceptors bind after log recovery, catching up and unfencing; death spirals in cal-itp/data-infra#5147 and strimzi/strimzi-kafka-operator#5263",
    },
    steady: SteadyLiveness::SocketAfterStart,
    variants: &[Variant { when: is_controller_only, profile: &CONTROLLER }],
    ..BROKER
};

/// A KRaft controller that is no broker.
static CONTROLLER: Profile = Profile {
    port: 9093,
    port_names: &["controller"],
    other_ports: &[],
    opens: Opens::Unknown,
    opens_source: Source { kind: Evidence::Unverified, citation: "nobody has measured when a controller's port opens" },
    steady: SteadyLiveness::KeepCheck("nobody has shown when a KRaft controller's port opens"),
    ..BROKER
};

pub(super) static REDPANDA: Profile = Profile {
    engine: Engine::Redpanda,
    images: &["redpanda", "redpanda-unstable"],
    servers: &["redpanda", "rpk"],
    ruled_out_by: &["console"],
    environment: &["REDPANDA_*"],
    data_paths: &["/var/lib/redpanda"],
    other_ports: &[
        OtherPort { number: 9644, names: &["admin"], opens: Opens::Unknown, what: "the admin API" },
        OtherPort { number: 33145, names: &["rpc"], opens: Opens::Unknown, what: "the internal RPC" },
        OtherPort { number: 8082, names: &["http"], opens: Opens::Unknown, what: "the HTTP proxy" },
        OtherPort { number: 8081, names: &["schemaregistry"], opens: Opens::Unknown, what: "the schema registry" },
    ],
    opens: Opens::Unknown,
    opens_source: Source { kind: Evidence::Unverified, citation: "nobody has measured when Redpanda's port opens" },
    in_recovery: "may not answer while it recovers",
    steady: SteadyLiveness::KeepCheck("nobody has shown when Redpanda's ports open"),
    startup_practice: "",
    clients: &[
        Client {
            programs: &["rpk"],
            with: &["health"],
            answers: Answers { serving: PASSES, recovering: UNKNOWN, login_refused: UNKNOWN, alone: FAILS },
            depends_on: "the health of the whole cluster",
            ..Client::ANY
        },
        Client { programs: &["rpk"], answers: Answers::UNKNOWN, ..Client::ANY },
    ],
    ..BROKER
};

/// What brokers share.
const BROKER: Profile = Profile {
    engine: Engine::Kafka,
    family: "Kafka",
    images: &["kafka", "kafka-native", "cp-kafka", "cp-server", "cp-enterprise-kafka", "strimzi/kafka"],
    servers: &["kafka-server-start.sh", "kafka-server-start", "kafka.Kafka", "kafka_run.sh"],
    ruled_out_by: &[
        "zookeeper-server-start.sh",
        "zookeeper-server-start",
        "connect-distributed.sh",
        "connect-distributed",
        "connect-standalone.sh",
        "kafka-mirror-maker.sh",
        "connect-mirror-maker.sh",
        "kafka-topics.sh",
        "kafka-topics",
    ],
    environment: &["KAFKA_*"],
    data_paths: &[
        "/bitnami/kafka",
        "/var/lib/kafka",
        "/kafka/data",
        "/opt/kafka/data",
        "/opt/kafka/data-0",
        "/var/lib/kafka/data",
    ],
    port: 9092,
    port_names: &["kafka", "client", "tcp-client", "broker", "plaintext", "inside"],
    port_environment: &["KAFKA_LISTENERS", "KAFKA_CFG_LISTENERS"],
    client_port_options: &["--bootstrap-server", "--broker-list", "-b"],
    other_ports: &[
        OtherPort { number: 9093, names: &["controller"], opens: Opens::Unknown, what: "the controller listener" },
        OtherPort {
            number: 9094,
            names: &["internal", "interbroker", "outside", "external"],
            opens: Opens::Late,
            what: "another listener",
        },
        OtherPort { number: 5555, names: &["jmx"], opens: Opens::Unknown, what: "JMX" },
    ],
    in_recovery: "refuses connections until its logs are recovered and a controller has let it in",
    startup_practice: "20 to 60 minutes are common advice",
    clients: &[
        Client {
            programs: &["kafka-metadata-quorum.sh", "kafka-metadata-quorum"],
            answers: Answers { alone: FAILS, ..Answers::LOCAL },
            depends_on: "a quorum of controllers",
            runtime: Runtime::Jvm,
            ..Client::ANY
        },
        Client {
            programs: &[
                "kafka-topics.sh",
                "kafka-topics",
                "kafka-broker-api-versions.sh",
                "kafka-broker-api-versions",
                "kafka-cluster.sh",
                "kafka-consumer-groups.sh",
                "kafka-consumer-groups",
                "kafka-console-consumer.sh",
                "kafka-console-producer.sh",
                "kafka-configs.sh",
                "kafka-log-dirs.sh",
            ],
            runtime: Runtime::Jvm,
            ..Client::ANY
        },
        Client { programs: &["kcat", "kafkacat"], ..Client::ANY },
    ],
    shutdown: Some(Shutdown {
        seconds: 120,
        because: "hands its partitions over; one that is killed recovers its logs at the next start",
    }),
    unreachable,
    ..Profile::BLANK
};

pub(super) const SCRIPTS: &[KnownScript] = &[KnownScript {
    path: "/opt/kafka/kafka_liveness.sh",
    does: "Strimzi's kafka_liveness.sh asks for a listening port only once the broker was ready",
    answers: Answers { alone: UNKNOWN, ..Answers::TOLERANT },
    source: "strimzi/strimzi-kafka-operator: docker-images/kafka-based/kafka/scripts/kafka_liveness.sh",
    ..KnownScript::ANY
}];

fn setting<'a>(container: &Container<'a>, names: &[&str]) -> Option<&'a str> {
    container.environment().find_map(|(name, value)| value.filter(|_| names.contains(&name)))
}

fn is_controller_only(container: &Container<'_>) -> bool {
    setting(container, &["KAFKA_PROCESS_ROLES", "KAFKA_CFG_PROCESS_ROLES"])
        .is_some_and(|roles| roles.trim() == "controller")
}

/// `PLAINTEXT://127.0.0.1:9092,…`: every listener but the controllers'.
fn unreachable(container: &Container<'_>) -> Option<String> {
    let listeners = setting(container, &["KAFKA_LISTENERS", "KAFKA_CFG_LISTENERS"])?;
    let mut hosts = listeners.split(',').filter_map(|listener| {
        let (name, address) = listener.trim().split_once("://")?;
        (name != "CONTROLLER").then(|| address.rsplit_once(':').map_or("", |(host, _)| host))
    });
    let loopback = |host: &str| matches!(host, "localhost" | "[::1]") || host.starts_with("127.");
    let first = hosts.next()?;
    (loopback(first) && hosts.all(loopback))
        .then(|| format!("its listeners are {listeners}: nothing answers on the pod's IP"))
}
