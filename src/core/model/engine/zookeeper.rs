//! ZooKeeper.

use super::catalogue::KnownScript;
use super::profile::{
    Answers, CONNECTING, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Runtime, Shutdown,
    Source, SteadyLiveness, UNKNOWN, Variant, prints,
};
use crate::api::Engine;
use crate::core::model::command::{Answer, Outcome};
use crate::core::model::workload::Container;

pub(super) static ZOOKEEPER: Profile = Profile {
    variants: &[
        Variant { when: listens_in_another_way, profile: &UNPROVED },
        Variant { when: is_quorum_member, profile: &MEMBER },
    ],
    ..SERVER
};

/// One of several: `ruok` stays unanswered until its data is loaded.
static MEMBER: Profile = Profile { clients: MEMBER_CLIENTS, ..SERVER };

/// A listener of which nobody has shown when it opens, or whether it is on the client port at all.
static UNPROVED: Profile = Profile {
    clients: MEMBER_CLIENTS,
    opens: Opens::Unknown,
    opens_source: Source {
        kind: Evidence::Unverified,
        citation: "with Netty, with TLS, with standaloneEnabled=false or with a configuration that is not in the manifest, nobody has measured when the port opens",
    },
    steady: SteadyLiveness::KeepCheck("nobody has shown when the port of this configuration opens"),
    ..SERVER
};

const SERVER: Profile = Profile {
    engine: Engine::ZooKeeper,
    family: "ZooKeeper",
    images: &["zookeeper", "cp-zookeeper", "kubernetes-zookeeper"],
    servers: &[
        "zkServer.sh",
        "start-zookeeper",
        "zookeeper-server-start.sh",
        "zookeeper-server-start",
        "zookeeperStart.sh",
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    ],
    ruled_out_by: &["zkCli.sh", "zookeeper-shell.sh"],
    environment: &["ZOO_*", "ZOOKEEPER_*", "ZK_*"],
    data_paths: &["/bitnami/zookeeper", "/var/lib/zookeeper", "/datalog"],
    port: 2181,
    port_names: &["client", "zookeeper", "zk"],
    port_environment: &["ZOO_PORT_NUMBER", "ZOO_PORT", "ZOOKEEPER_CLIENT_PORT", "ZK_CLIENT_PORT"],
    client_port_options: &["-server"],
    other_ports: &[
        OtherPort {
            number: 2888,
            names: &["server", "quorum", "peer", "follower"],
            opens: Opens::Unknown,
            what: "its leader",
        },
        OtherPort { number: 3888, names: &["leader-election", "election"], opens: Opens::Unknown, what: "elections" },
        OtherPort {
            number: 8080,
            names: &["admin", "admin-server", "http-admin"],
            opens: Opens::Unknown,
            what: "the admin server",
        },
        OtherPort { number: 7000, names: &["metrics", "prometheus"], opens: Opens::Unknown, what: "metrics" },
    ],
    opens: Opens::Early,
    opens_source: Source {
        kind: Evidence::Measured,
        citation: "ZooKeeper 3.8: the port opened after 2.7 s alone and 0.7 s as a member, the data was loaded after 23.4 s; bound before loadDataBase (apache/zookeeper: QuorumPeerMain.java, QuorumPeer.java)",
    },
    in_recovery: "serves no requests until its data is loaded and a quorum is there",
    steady: SteadyLiveness::Socket,
    clients: CLIENTS,
    endpoints: &[
        Endpoint {
            path: "/commands/ruok",
            recovering: Http::Unknown,
            does: "is the admin server's answer that the process runs",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/commands/",
            recovering: Http::Unknown,
            alone: Http::Unknown,
            does: "is an answer of the admin server",
            ..Endpoint::ANY
        },
    ],
    shutdown: Some(Shutdown { seconds: 30, because: "closes its log" }),
    unreachable,
    ..Profile::BLANK
};

const QUORUM: &str = "a quorum of the ensemble";
const NOT_SERVING: &str = "This ZooKeeper instance is not currently serving requests";

/// A connection that sends a word, which [`super::profile::has_word`] finds in what is piped in.
const ASK: Client = Client { programs: CONNECTING, ..Client::ANY };
/// Measured alone: at once, before the data is loaded. Where nothing tells whether it is alone, it may be either.
const RUOK: Answers =
    Answers { serving: prints("imok"), recovering: UNKNOWN, login_refused: prints("imok"), alone: prints("imok") };
/// Measured with peers: no answer until its own data is loaded, then `imok` even without a quorum.
const RUOK_OF_A_MEMBER: Answers = Answers { recovering: FAILS, ..RUOK };
/// `srvr`, `stat` and `mntr` answer with the mode, or with [`NOT_SERVING`] where there is no quorum.
const MODE: Answers = Answers {
    serving: prints("Mode: "),
    recovering: Answer { outcome: Outcome::Unknown, output: Some(NOT_SERVING) },
    login_refused: prints("Mode: "),
    alone: prints(NOT_SERVING),
};
const ZK_SERVER: Client = Client {
    programs: &["zkServer.sh"],
    with: &["status"],
    answers: Answers { alone: FAILS, ..Answers::LOCAL },
    depends_on: QUORUM,
    runtime: Runtime::Jvm,
    ..Client::ANY
};
const CLI: Client = Client {
    programs: &["zkCli.sh", "zookeeper-shell", "zookeeper-shell.sh"],
    answers: Answers { login_refused: UNKNOWN, alone: FAILS, ..Answers::LOCAL },
    depends_on: QUORUM,
    runtime: Runtime::Jvm,
    ..Client::ANY
};

const CLIENTS: &[Client] = &[
    Client { with: &["ruok"], answers: RUOK, ..ASK },
    Client { with: &["srvr"], answers: MODE, depends_on: QUORUM, ..ASK },
    Client { with: &["stat"], answers: MODE, depends_on: QUORUM, ..ASK },
    ZK_SERVER,
    CLI,
];
const MEMBER_CLIENTS: &[Client] = &[
    Client { with: &["ruok"], answers: RUOK_OF_A_MEMBER, ..ASK },
    Client { with: &["srvr"], answers: MODE, depends_on: QUORUM, ..ASK },
    Client { with: &["stat"], answers: MODE, depends_on: QUORUM, ..ASK },
    ZK_SERVER,
    CLI,
];

pub(super) const SCRIPTS: &[KnownScript] = &[
    KnownScript {
        path: "/opt/bitnami/scripts/zookeeper/healthcheck.sh",
        does: "Bitnami's healthcheck.sh sends ruok and demands imok, which a server with peers leaves unanswered until its data is loaded",
        answers: Answers { serving: PASSES, recovering: UNKNOWN, login_refused: PASSES, alone: PASSES },
        source: "bitnami/containers: bitnami/zookeeper/3.9/debian-12/rootfs/opt/bitnami/scripts/libzookeeper.sh",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "zookeeperLive.sh",
        does: "the operator's zookeeperLive.sh sends ruok and demands imok, which a member leaves unanswered until its data is loaded",
        answers: Answers { serving: PASSES, recovering: FAILS, login_refused: PASSES, alone: PASSES },
        source: "pravega/zookeeper-operator: docker/bin/zookeeperLive.sh",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/config-scripts/ok",
        does: "the chart's ok runs zkServer.sh status, which fails while the data loads and without a quorum",
        answers: Answers { alone: FAILS, ..Answers::LOCAL },
        depends_on: QUORUM,
        runtime: Runtime::Jvm,
        source: "helm/charts: incubator/zookeeper/templates/config-script.yaml",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/config-scripts/ready",
        does: "the chart's ready sends ruok and takes any answer",
        answers: Answers { serving: PASSES, recovering: UNKNOWN, login_refused: PASSES, alone: PASSES },
        source: "helm/charts: incubator/zookeeper/templates/config-script.yaml",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "zkOk.sh",
        does: "zkOk.sh sends ruok and demands imok, which a member leaves unanswered until its data is loaded",
        answers: Answers { serving: PASSES, recovering: FAILS, login_refused: PASSES, alone: PASSES },
        source: "kubernetes-retired/contrib: statefulsets/zookeeper/zkOk.sh",
        ..KnownScript::ANY
    },
];

fn says(container: &Container<'_>, words: &[&str]) -> bool {
    let holds = |text: &str| words.iter().any(|word| text.contains(word));
    container.command_line().into_iter().any(holds)
        || container.environment().any(|(_, value)| value.is_some_and(holds))
}

/// Netty, TLS, a dynamic ensemble, or a start script that writes the configuration and is not in the manifest.
fn listens_in_another_way(container: &Container<'_>) -> bool {
    let is_set = |wanted: &str, expected: &str| {
        container.environment().any(|(name, value)| name == wanted && value == Some(expected))
    };
    says(container, &["standaloneEnabled=false", "NettyServerCnxnFactory", "secureClientPort", "zookeeperStart.sh"])
        || is_set("ZOO_STANDALONE_ENABLED", "false")
        || ["true", "yes"].into_iter().any(|yes| is_set("ZOO_TLS_CLIENT_ENABLE", yes))
}

/// Ports for peers, or a list of them.
fn is_quorum_member(container: &Container<'_>) -> bool {
    let is_peer_port = |number: i64| matches!(number, 2888 | 3888);
    container.tcp_ports().any(|(_, number)| is_peer_port(number))
        || container.environment().any(|(name, value)| {
            matches!(name, "ZOO_SERVERS" | "ZOOKEEPER_SERVERS")
                && value.is_some_and(|list| list.contains(char::is_whitespace) || list.matches(":3888").count() > 1)
        })
}

fn unreachable(container: &Container<'_>) -> Option<String> {
    ["clientPortAddress=127.", "clientPortAddress=localhost"]
        .into_iter()
        .find(|setting| says(container, &[setting]))
        .map(|setting| format!("{setting}: nothing answers on the pod's IP"))
}
