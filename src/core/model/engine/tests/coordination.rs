//! etcd, ZooKeeper and ClickHouse Keeper.

use super::*;

#[test]
fn etcd_takes_connections_before_it_answers() {
    verdicts(
        "quay.io/coreos/etcd:v3.6.0",
        &[
            (json!("etcdctl endpoint health"), "fails others"),
            (json!("etcdctl --user root:x endpoint health"), "fails others"),
            (json!("etcdctl endpoint status"), "fails"),
            (json!("etcdctl get foo"), "fails others"),
            (json!("etcdctl --user root:x get foo"), "fails login others"),
            (json!("/opt/bitnami/scripts/etcd/healthcheck.sh"), "fails others"),
            (json!({"tcpSocket": {"port": 2379}}), "passes"),
            (json!({"httpGet": {"path": "/livez", "port": 2379}}), "fails"),
            (json!({"httpGet": {"path": "/readyz", "port": 2381}}), "fails others"),
            (json!({"httpGet": {"path": "/health", "port": 2379}}), "fails others"),
            (json!({"httpGet": {"path": "/health?serializable=true", "port": 2379}}), "fails"),
        ],
    );
    let listening =
        |urls: &str| json!({"name": "a", "image": "etcd", "env": [{"name": "ETCD_LISTEN_CLIENT_URLS", "value": urls}]});
    assert_eq!(client_port(&listening("https://0.0.0.0:2479")), "2479");
    assert!(is_unreachable(&listening("http://127.0.0.1:2379")));
    assert!(is_unreachable(&listening("unix:///run/etcd.sock,http://localhost:2379")));
    assert!(!is_unreachable(&listening("http://127.0.0.1:2379,https://$(POD_IP):2379")));
    // The option beats the variable.
    let mut both = listening("http://0.0.0.0:2379");
    both["command"] = json!(["etcd", "--listen-client-urls=http://127.0.0.1:2379"]);
    assert!(is_unreachable(&both));
    assert_eq!(
        client_port(&probed("etcd", &json!("etcdctl --endpoints=http://localhost:12379 endpoint health"))),
        "12379"
    );
    let elsewhere = probed("etcd", &json!("etcdctl --endpoints etcd-0.etcd:2379 endpoint health"));
    assert_eq!(verdict(&elsewhere), "unknown others", "another server's answer");
}

/// A ZooKeeper that knows its peers.
fn member(probe: &Value) -> Value {
    let mut container = probed("zookeeper:3.9", probe);
    container["ports"] = json!([{"containerPort": 2181}, {"containerPort": 2888}, {"containerPort": 3888}]);
    container
}

#[test]
fn zookeeper_opens_early_and_speaks_later() {
    let table = [
        (json!("echo ruok | nc localhost 2181 | grep imok"), "fails", "unknown"),
        (json!("echo ruok | nc localhost 2181"), "fails", "unknown"),
        (json!("echo srvr | nc localhost 2181 | grep Mode"), "fails others", "fails others"),
        (json!("nc -z localhost 2181"), "passes", "passes"),
        (json!("zkServer.sh status"), "fails others Jvm", "fails others Jvm"),
        (json!("zkCli.sh ls /"), "fails others Jvm", "fails others Jvm"),
        (json!("zkOk.sh"), "fails", "fails"),
        (json!({"tcpSocket": {"port": 2181}}), "passes", "passes"),
    ];
    for (probe, with_peers, perhaps_alone) in table {
        assert_eq!(verdict(&member(&probe)), with_peers, "{probe}");
        assert_eq!(verdict(&probed("zookeeper:3.9", &probe)), perhaps_alone, "{probe}");
    }
}

#[test]
fn a_zookeeper_of_which_nothing_is_shown_is_treated_as_unknown() {
    for setting in [
        json!({"command": ["sh", "-c", "echo standaloneEnabled=false >> /conf/zoo.cfg && zkServer.sh start-foreground"]}),
        json!({"command": ["/conf/zookeeperStart.sh"]}),
        json!({"env": [{"name": "ZOO_TLS_CLIENT_ENABLE", "value": "true"}]}),
        json!({"env": [{"name": "ZOO_CFG_EXTRA", "value": "secureClientPort=2281"}]}),
        json!({"env": [{"name": "JVMFLAGS", "value": "-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory"}]}),
    ] {
        let mut container = member(&json!({"tcpSocket": {"port": 2181}}));
        for (name, value) in setting.as_object().unwrap() {
            container[name] = value.clone();
        }
        assert_eq!(verdict(&container), "unknown", "{setting}");
        with(&container, &[], |_, database| {
            assert!(matches!(database.unwrap().profile.steady, SteadyLiveness::KeepCheck(_)), "{setting}");
        });
    }
}

#[test]
fn keeper_does_the_reverse_of_zookeeper() {
    verdicts(
        "clickhouse/clickhouse-keeper:25.3",
        &[
            (json!({"tcpSocket": {"port": 9181}}), "fails"),
            (json!("echo ruok | nc localhost 9181 | grep imok"), "fails"),
            (json!("/conf/keeperLive.sh"), "fails"),
            (json!("clickhouse-keeper-client -q 'get /'"), "fails others"),
            (json!({"httpGet": {"path": "/ready", "port": 9182}}), "fails others"),
        ],
    );
    let named = json!({"name": "a", "image": "bitnami/clickhouse-keeper:25", "ports": [{"name": "tcp", "containerPort": 2181}, {"name": "raft", "containerPort": 9234}]});
    assert_eq!(client_port(&named), "2181");
}
