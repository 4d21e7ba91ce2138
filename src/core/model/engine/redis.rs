//! Redis and its forks, and Sentinel.

use super::catalogue::KnownScript;
use super::profile::{
    Answers, Client, Evidence, FAILS, Opens, OtherPort, PASSES, Profile, Shutdown, Source, SteadyLiveness, UNKNOWN,
    Variant, fails_with, prints,
};
use crate::api::Engine;
use crate::core::model::command::{Script, option_value};
use crate::core::model::probe::{Probe, ProbeKind};
use crate::core::model::workload::Container;

pub(super) static REDIS: Profile = Profile {
    engine: Engine::Redis,
    images: &["redis", "redis-stack*", "redis-cluster", "redis-server", "redis-photon"],
    servers: &["redis-server", "redis-stack-server"],
    environment: &["REDIS_*"],
    data_paths: &["/bitnami/redis", "/redis-data"],
    variants: SENTINEL_BY_PORT,
    ..REDIS_LIKE
};

pub(super) static VALKEY: Profile = Profile {
    engine: Engine::Valkey,
    images: &["valkey", "valkey-*"],
    servers: &["valkey-server"],
    environment: &["VALKEY_*"],
    data_paths: &["/bitnami/valkey"],
    variants: SENTINEL_BY_PORT,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "valkey-io/valkey: src/server.c, main() calls initListeners() before loadDataFromDisk()",
    },
    ..REDIS_LIKE
};

pub(super) static KEYDB: Profile = Profile {
    engine: Engine::KeyDB,
    images: &["keydb", "keydb_*"],
    servers: &["keydb-server"],
    environment: &["KEYDB_*"],
    data_paths: &["/bitnami/keydb"],
    opens_source: Source {
        kind: Evidence::Source,
        citation: "Snapchat/KeyDB: src/server.cpp, listening before loadDataFromDisk",
    },
    ..REDIS_LIKE
};

pub(super) static SENTINEL: Profile = Profile {
    engine: Engine::Sentinel,
    images: &["redis-sentinel", "valkey-sentinel"],
    servers: &["redis-sentinel", "valkey-sentinel", "--sentinel"],
    ruled_out_by: &[],
    environment: &["REDIS_SENTINEL_*", "VALKEY_SENTINEL_*"],
    data_paths: &["/bitnami/redis-sentinel"],
    port: 26379,
    port_names: &["redis-sentinel", "sentinel", "tcp-sentinel"],
    port_environment: &["REDIS_SENTINEL_PORT_NUMBER", "VALKEY_SENTINEL_PORT_NUMBER"],
    opens_source: Source {
        kind: Evidence::Source,
        citation: "valkey-io/valkey: src/server.c, as in Redis: main() calls initListeners(), and in sentinel mode it loads no data",
    },
    in_recovery: "loads no data",
    clients: SENTINEL_CLIENTS,
    shutdown: None,
    ..REDIS_LIKE
};

pub(super) static DRAGONFLY: Profile = Profile {
    engine: Engine::Dragonfly,
    images: &["dragonfly", "dragonfly-weekly"],
    servers: &["dragonfly"],
    ruled_out_by: &["dragonfly-operator"],
    environment: &["DFLY_*", "HEALTHCHECK_PORT"],
    data_paths: &["/dragonfly"],
    port_environment: &["HEALTHCHECK_PORT"],
    port_arguments: &["--port"],
    other_ports: &[OtherPort { number: 9999, names: &["admin"], opens: Opens::Unknown, what: "the admin port" }],
    opens: Opens::Unknown,
    opens_source: Source {
        kind: Evidence::Unverified,
        citation: "it has a LOADING answer (dragonflydb/dragonfly: src/facade/error.h), so its port is probably open while it loads; nobody has measured it",
    },
    steady: SteadyLiveness::SocketAfterStart,
    clients: DRAGONFLY_CLIENTS,
    shutdown: Some(Shutdown { seconds: 120, because: "writes a snapshot" }),
    ..REDIS_LIKE
};

/// A Redis image in which the sentinel's port is the one that is declared or asked.
const SENTINEL_BY_PORT: &[Variant] = &[Variant { when: is_asked_as_sentinel, profile: &SENTINEL }];

fn is_asked_as_sentinel(container: &Container<'_>) -> bool {
    let declares = |port: i64| container.tcp_ports().any(|(_, number)| number == port);
    let asks_it = |kind: ProbeKind| {
        let command = container.probe(kind).and_then(Probe::exec_command).unwrap_or_default();
        let script = Script::read(&command);
        script
            .calls()
            .iter()
            .any(|call| CLI.programs.contains(&call.program()) && call.option(&["-p"]) == Some("26379"))
    };
    !declares(6379) && (declares(26379) || ProbeKind::ALL.into_iter().any(asks_it))
}

/// What they share.
const REDIS_LIKE: Profile = Profile {
    family: "Redis",
    ruled_out_by: &["--sentinel", "redis-sentinel", "valkey-sentinel"],
    port: 6379,
    port_names: &["redis", "tcp-redis", "valkey", "tcp-valkey", "keydb", "client"],
    port_environment: &[
        "REDIS_PORT",
        "REDIS_PORT_NUMBER",
        "REDIS_TLS_PORT_NUMBER",
        "VALKEY_PORT_NUMBER",
        "VALKEY_TLS_PORT_NUMBER",
        "KEYDB_PORT_NUMBER",
    ],
    port_arguments: &["--port", "--tls-port"],
    client_port_options: &["-p"],
    other_ports: &[OtherPort {
        number: 16379,
        names: &["cluster-bus", "tcp-redis-bus", "redis-bus", "gossip"],
        opens: Opens::Unknown,
        what: "the cluster bus",
    }],
    opens: Opens::Early,
    opens_source: Source {
        kind: Evidence::Measured,
        citation: "Redis 7.0.15 loading a 302 MB RDB: the port opened after 0.10 s, the first PONG came after 30.8 s",
    },
    in_recovery: "answers LOADING while it loads its data",
    steady: SteadyLiveness::Socket,
    clients: CLIENTS,
    shutdown: Some(Shutdown { seconds: 60, because: "saves its data if `save` is set, at some 100 MB/s" }),
    unreachable,
    ..Profile::BLANK
};

const CLI: Client = Client {
    programs: &["redis-cli", "valkey-cli", "keydb-cli"],
    login_options: &["-a", "--pass", "--user"],
    ..Client::ANY
};
const LOADING: &str = "LOADING Redis is loading the dataset in memory";
const NOAUTH: &str = "NOAUTH Authentication required.";
/// An error reply is printed, and the exit code is 0.
const LAX: Answers =
    Answers { serving: PASSES, recovering: prints(LOADING), login_refused: prints(NOAUTH), alone: PASSES };
/// `-e` turns an error reply into an exit code.
const STRICT: Answers = Answers { recovering: fails_with(LOADING), login_refused: fails_with(NOAUTH), ..LAX };
const LAX_PING: Answers = Answers { serving: prints("PONG"), alone: prints("PONG"), ..LAX };
const STRICT_PING: Answers = Answers { serving: prints("PONG"), alone: prints("PONG"), ..STRICT };
/// `INFO replication` of a replica whose primary is away.
const REPLICATION: Answers =
    Answers { serving: prints("master_link_status:up"), alone: prints("master_link_status:down"), ..LAX };

const CLIENTS: &[Client] = &[
    Client { with: &["-e", "ping"], answers: STRICT_PING, ..CLI },
    Client { with: &["-e", "PING"], answers: STRICT_PING, ..CLI },
    Client { with: &["-e"], answers: STRICT, ..CLI },
    Client { with: &["ping"], answers: LAX_PING, ..CLI },
    Client { with: &["PING"], answers: LAX_PING, ..CLI },
    Client { with: &["replication"], answers: REPLICATION, depends_on: PRIMARY, ..CLI },
    Client {
        with: &["cluster", "info"],
        answers: Answers { serving: prints("cluster_state:ok"), alone: prints("cluster_state:fail"), ..LAX },
        depends_on: "the state of the whole cluster",
        ..CLI
    },
    Client { answers: LAX, ..CLI },
];

const PRIMARY: &str = "the primary that it replicates from";

/// It has nothing to load.
const SENTINEL_CLIENTS: &[Client] = &[
    Client { with: &["ping"], answers: SENTINEL_PING, ..CLI },
    Client { with: &["PING"], answers: SENTINEL_PING, ..CLI },
    Client {
        answers: Answers { serving: PASSES, recovering: PASSES, login_refused: prints(NOAUTH), alone: PASSES },
        ..CLI
    },
];
const SENTINEL_PING: Answers = Answers {
    serving: prints("PONG"),
    recovering: prints("PONG"),
    login_refused: prints(NOAUTH),
    alone: prints("PONG"),
};

/// It has a LOADING answer, of which nobody has shown that clients get it.
const DRAGONFLY_CLIENTS: &[Client] = &[
    Client { with: &["ping"], answers: Answers { recovering: UNKNOWN, ..LAX_PING }, ..CLI },
    Client { with: &["PING"], answers: Answers { recovering: UNKNOWN, ..LAX_PING }, ..CLI },
    Client { answers: Answers { recovering: UNKNOWN, ..LAX }, ..CLI },
];

/// Scripts of the Bitnami charts, which lie in `/health`, `/scripts` or `/opt/bitnami/scripts/health`.
const CHART: KnownScript =
    KnownScript { source: "bitnami/charts: bitnami/redis/templates/health-configmap.yaml", ..KnownScript::ANY };

pub(super) const SCRIPTS: &[KnownScript] = &[
    KnownScript {
        path: "/ping_liveness_local_and_master.sh",
        does: "Bitnami's ping_liveness_local_and_master.sh accepts LOADING, but fails when the primary does not answer",
        answers: Answers { login_refused: FAILS, alone: FAILS, ..Answers::TOLERANT },
        depends_on: PRIMARY,
        ..CHART
    },
    KnownScript {
        path: "/ping_readiness_local_and_master.sh",
        does: "Bitnami's ping_readiness_local_and_master.sh accepts PONG only, from this server and from the primary",
        answers: Answers { alone: FAILS, ..Answers::WITH_LOGIN },
        depends_on: PRIMARY,
        ..CHART
    },
    KnownScript {
        path: "/ping_liveness_local.sh",
        does: "Bitnami's ping_liveness_local.sh accepts LOADING and MASTERDOWN",
        answers: Answers { login_refused: FAILS, ..Answers::TOLERANT },
        ..CHART
    },
    KnownScript {
        path: "/ping_readiness_local.sh",
        does: "Bitnami's ping_readiness_local.sh accepts PONG only, and a loading server answers LOADING",
        answers: Answers { serving: prints("PONG"), recovering: FAILS, login_refused: FAILS, alone: PASSES },
        ..CHART
    },
    KnownScript {
        path: "/ping_sentinel.sh",
        does: "Bitnami's ping_sentinel.sh demands PONG of a sentinel, which loads no data",
        answers: Answers { login_refused: FAILS, ..Answers::TOLERANT },
        ..CHART
    },
    KnownScript {
        path: "/health/redis_liveness.sh",
        does: "the chart's redis_liveness.sh accepts LOADING",
        answers: Answers { login_refused: UNKNOWN, ..Answers::TOLERANT },
        source: "DandyDeveloper/charts: charts/redis-ha/templates/_configs.tpl",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/health/redis_readiness.sh",
        does: "the chart's redis_readiness.sh accepts PONG only, and a loading server answers LOADING",
        answers: Answers::WITH_LOGIN,
        source: "DandyDeveloper/charts: charts/redis-ha/templates/_configs.tpl",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/health/sentinel_liveness.sh",
        does: "the chart's sentinel_liveness.sh demands PONG of a sentinel, which loads no data",
        answers: Answers { login_refused: UNKNOWN, ..Answers::TOLERANT },
        source: "DandyDeveloper/charts: charts/redis-ha/templates/_configs.tpl",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "docker-healthcheck",
        image: "redis-photon",
        does: "Harbor's docker-healthcheck demands PONG, and a loading server answers LOADING",
        answers: Answers::WITH_LOGIN,
        source: "goharbor/harbor: make/photon/redis/docker-healthcheck",
        ..KnownScript::ANY
    },
    // Up to 1.33 it sends PING with nc and takes any answer; the change to it was discussed in #5878.
    KnownScript {
        path: "/usr/local/bin/healthcheck.sh",
        image: "dragonfly",
        versions: Some(("0", "1.34")),
        does: "Dragonfly's healthcheck.sh sends PING with nc and takes any answer, LOADING too",
        answers: Answers { recovering: UNKNOWN, ..Answers::TOLERANT },
        source: "dragonflydb/dragonfly: tools/docker/healthcheck.sh",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/usr/local/bin/healthcheck.sh",
        image: "dragonfly",
        does: "Dragonfly's healthcheck.sh sends PING; some versions take LOADING for an answer and some do not (dragonflydb/dragonfly#5878)",
        answers: Answers { login_refused: UNKNOWN, recovering: UNKNOWN, ..Answers::TOLERANT },
        source: "dragonflydb/dragonfly: tools/docker/healthcheck.sh",
        ..KnownScript::ANY
    },
];

/// `--bind 127.0.0.1 ::1`: every address up to the next option.
fn unreachable(container: &Container<'_>) -> Option<String> {
    let arguments = super::listen::words(container);
    let port = |name: &str| option_value(&arguments, &[name]);
    if port("--port") == Some("0") && port("--tls-port").is_none_or(|port| port == "0") {
        return Some("--port is 0: the server listens on a unix socket only".to_owned());
    }
    let start = arguments.iter().position(|argument| *argument == "--bind")?;
    let addresses: Vec<&str> = arguments
        .iter()
        .skip(start + 1)
        .take_while(|argument| !argument.starts_with("--"))
        .flat_map(|argument| argument.split_whitespace())
        .map(|address| address.trim_start_matches('-'))
        .collect();
    let loopback = |address: &&str| matches!(*address, "localhost" | "::1") || address.starts_with("127.");
    (!addresses.is_empty() && addresses.iter().all(loopback))
        .then(|| format!("--bind is {}: nothing answers on the pod's IP", addresses.join(" ")))
}
