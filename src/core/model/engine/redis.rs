//! Redis and its forks, and Sentinel.

use super::profile::{
    Answers, Client, Evidence, Opens, OtherPort, PASSES, Profile, Shutdown, Source, SteadyLiveness, fails_with, prints,
};
use crate::api::Engine;
use crate::core::model::workload::Container;

pub(super) static REDIS: Profile = Profile {
    engine: Engine::Redis,
    images: &["redis", "redis-stack*", "redis-cluster", "redis-server", "redis-photon"],
    servers: &["redis-server", "redis-stack-server"],
    environment: &["REDIS_*"],
    data_paths: &["/bitnami/redis", "/redis-data"],
    ..REDIS_LIKE
};

pub(super) static VALKEY: Profile = Profile {
    engine: Engine::Valkey,
    images: &["valkey", "valkey-*"],
    servers: &["valkey-server"],
    environment: &["VALKEY_*"],
    data_paths: &["/bitnami/valkey"],
    opens_source: Source {
        kind: Evidence::Unverified,
        citation: "a fork of Redis 7.2, whose port opens before it loads",
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
    opens_source: Source { kind: Evidence::Unverified, citation: "a Sentinel loads no data" },
    in_recovery: "loads no data",
    shutdown: None,
    ..REDIS_LIKE
};

/// What the four share.
const REDIS_LIKE: Profile = Profile {
    family: "Redis",
    ruled_out_by: &["--sentinel", "redis-sentinel", "valkey-sentinel"],
    port: 6379,
    port_names: &["redis", "tcp-redis", "valkey", "tcp-valkey", "keydb", "client"],
    port_environment: &["REDIS_PORT", "REDIS_PORT_NUMBER", "VALKEY_PORT_NUMBER", "KEYDB_PORT_NUMBER"],
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
    clients: &[
        // `-e` turns an error reply into an exit code.
        Client {
            with: &["-e", "ping"],
            answers: Answers { serving: prints("PONG"), alone: prints("PONG"), ..STRICT },
            ..CLI
        },
        Client { with: &["-e"], answers: STRICT, ..CLI },
        // Without it the error is printed, and the exit code is 0.
        Client { with: &["ping"], answers: Answers { serving: prints("PONG"), alone: prints("PONG"), ..LAX }, ..CLI },
        Client { with: &["PING"], answers: Answers { serving: prints("PONG"), alone: prints("PONG"), ..LAX }, ..CLI },
        Client { answers: LAX, ..CLI },
    ],
    shutdown: Some(Shutdown { seconds: 60, because: "saves its data if `save` is set, at some 100 MB/s" }),
    unreachable,
    ..Profile::BLANK
};

const CLI: Client = Client { programs: &["redis-cli", "valkey-cli", "keydb-cli"], ..Client::ANY };
const LOADING: &str = "LOADING Redis is loading the dataset in memory";
const NOAUTH: &str = "NOAUTH Authentication required.";
const LAX: Answers =
    Answers { serving: PASSES, recovering: prints(LOADING), login_refused: prints(NOAUTH), alone: PASSES };
const STRICT: Answers = Answers { recovering: fails_with(LOADING), login_refused: fails_with(NOAUTH), ..LAX };

/// `--bind 127.0.0.1 ::1`: every address up to the next option.
fn unreachable(container: &Container<'_>) -> Option<String> {
    let arguments = container.command_line();
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
