//! RabbitMQ, Kafka, Redpanda and NATS.

use super::*;

#[test]
fn rabbitmq_passes_only_its_ping_while_it_boots() {
    verdicts(
        "rabbitmq:4-management",
        &[
            (json!("rabbitmq-diagnostics -q ping"), "passes Erlang"),
            (json!("rabbitmq-diagnostics -q check_running"), "fails Erlang"),
            (
                json!("rabbitmq-diagnostics -q check_running && rabbitmq-diagnostics -q check_local_alarms"),
                "fails Erlang",
            ),
            (json!("rabbitmq-diagnostics check_port_connectivity"), "fails Erlang"),
            (json!("rabbitmqctl status"), "fails Erlang"),
            (json!("rabbitmqctl node_health_check"), "fails Erlang"),
            (json!("rabbitmq-diagnostics check_alarms"), "unknown others Erlang"),
            (json!("rabbitmq-diagnostics check_if_node_is_quorum_critical"), "unknown others Erlang"),
            (json!("curl -f --user u:p 127.0.0.1:15672/api/health/checks/virtual-hosts"), "fails login"),
            (json!("curl -f --user u:p http://127.0.0.1:15672/api/health/checks/alarms"), "fails login others"),
            (json!({"tcpSocket": {"port": 5672}}), "fails"),
            (json!({"httpGet": {"path": "/api/health/checks/local-alarms", "port": 15672}}), "fails login"),
        ],
    );
    let distribution = json!({"name": "a", "image": "rabbitmq:4", "ports": [{"containerPort": 25672, "name": "dist"}],
        "livenessProbe": {"tcpSocket": {"port": "dist"}}});
    assert_eq!(verdict(&distribution), "passes");
    assert_eq!(
        client_port(
            &json!({"name": "a", "image": "rabbitmq", "env": [{"name": "RABBITMQ_NODE_PORT", "value": "5673"}]})
        ),
        "5673"
    );
}

#[test]
fn kafka_opens_its_listeners_last() {
    verdicts(
        "apache/kafka:4.1.0",
        &[
            (json!("pgrep -f kafka"), "passes"),
            (json!("kafka-topics.sh --bootstrap-server localhost:9092 --list"), "fails Jvm"),
            (json!("/opt/kafka/bin/kafka-broker-api-versions.sh --bootstrap-server=localhost:9092"), "fails Jvm"),
            (json!("kafka-metadata-quorum.sh --bootstrap-server localhost:9092 describe --status"), "fails others Jvm"),
            (json!("kcat -b localhost -L"), "fails"),
            (json!("nc -z localhost 9092"), "fails"),
            (json!({"tcpSocket": {"port": 9092}}), "fails"),
        ],
    );
    assert_eq!(seen(&json!({"name": "a", "image": "confluentinc/cp-server:6.1.0"})), "Certain Kafka");
    // The image does not decide what runs in it.
    let other =
        json!({"name": "a", "image": "solsson/kafka:2.5", "command": ["./bin/zookeeper-server-start.sh", "/etc/x"]});
    assert_eq!(seen(&other), "Certain ZooKeeper");
    let connect =
        json!({"name": "a", "image": "apache/kafka:4", "command": ["/opt/kafka/bin/connect-distributed.sh", "/x"]});
    assert_eq!(seen(&connect), "nothing");

    let listening = |listeners: &str| json!({"name": "a", "image": "bitnami/kafka:4", "env": [{"name": "KAFKA_CFG_LISTENERS", "value": listeners}]});
    assert_eq!(client_port(&listening("CLIENT://:9095,CONTROLLER://:9093")), "9095");
    assert!(is_unreachable(&listening("PLAINTEXT://localhost:9092,CONTROLLER://:9093")));
    assert!(!is_unreachable(&listening("PLAINTEXT://127.0.0.1:9092,EXTERNAL://0.0.0.0:9094")));
    let controller = json!({"name": "a", "image": "apache/kafka:4", "env": [{"name": "KAFKA_PROCESS_ROLES", "value": "controller"}],
        "livenessProbe": {"tcpSocket": {"port": 9093}}});
    assert_eq!((client_port(&controller).as_str(), verdict(&controller).as_str()), ("9093", "unknown"));
}

#[test]
fn redpanda_is_reported_until_somebody_measures_it() {
    assert_eq!(seen(&json!({"name": "a", "image": "redpandadata/redpanda:v25"})), "Certain Redpanda");
    verdicts(
        "redpandadata/redpanda:v25",
        &[(json!("rpk cluster health"), "unknown others"), (json!({"tcpSocket": {"port": 9092}}), "unknown")],
    );
}

#[test]
fn nats_has_a_monitor_that_answers_early() {
    verdicts(
        "nats:2.11",
        &[
            (json!({"tcpSocket": {"port": 4222}}), "fails"),
            (json!({"tcpSocket": {"port": 8222}}), "passes"),
            (json!({"httpGet": {"path": "/healthz?js-enabled-only=true", "port": 8222}}), "passes"),
            (json!({"httpGet": {"path": "/healthz?js-server-only=true", "port": 8222}}), "fails others"),
            (json!({"httpGet": {"path": "/healthz", "port": 8222}}), "fails others"),
            (json!("wget -q -O - http://localhost:8222/"), "passes"),
        ],
    );
    assert_eq!(client_port(&json!({"name": "a", "image": "nats", "args": ["-p", "4333"]})), "4333");
    assert!(is_unreachable(&json!({"name": "a", "image": "nats", "args": ["--addr", "127.0.0.1"]})));
}
