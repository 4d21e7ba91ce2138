//! Redis and its forks, and Sentinel.

use super::{KnownScript, Opens, Profile, Source, SteadyLiveness};
use crate::api::Engine;
use crate::core::model::command::{Answer, Call, Outcome};

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
    opens_source: Source { kind: "unverified", citation: "a fork of Redis 7.2, whose port opens before it loads" },
    ..REDIS_LIKE
};

pub(super) static KEYDB: Profile = Profile {
    engine: Engine::KeyDB,
    images: &["keydb", "keydb_*"],
    servers: &["keydb-server"],
    environment: &["KEYDB_*"],
    data_paths: &["/bitnami/keydb"],
    opens_source: Source {
        kind: "source",
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
    opens_source: Source { kind: "unverified", citation: "a Sentinel loads no data" },
    in_recovery: "loads no data",
    ..REDIS_LIKE
};

/// What the four share.
const REDIS_LIKE: Profile = Profile {
    engine: Engine::Redis,
    images: &[],
    servers: &[],
    ruled_out_by: &["--sentinel", "redis-sentinel", "valkey-sentinel"],
    environment: &[],
    data_paths: &[],
    clients: &["redis-cli", "valkey-cli", "keydb-cli"],
    port: 6379,
    port_names: &["redis", "tcp-redis", "valkey", "tcp-valkey", "keydb", "client"],
    port_environment: &["REDIS_PORT", "REDIS_PORT_NUMBER", "VALKEY_PORT_NUMBER", "KEYDB_PORT_NUMBER"],
    port_arguments: &["--port", "--tls-port"],
    client_port_options: &["-p"],
    opens: Opens::Early,
    opens_source: Source {
        kind: "measured",
        citation: "Redis 7.0.15 loading a 302 MB RDB: the port opened after 0.10 s, the first PONG came after 30.8 s",
    },
    in_recovery: "answers LOADING while it loads its data",
    steady: SteadyLiveness::Socket,
    scripts: &[
        KnownScript {
            path: "/health/ping_liveness_local.sh",
            image: "",
            does: "Bitnami's ping_liveness_local.sh accepts LOADING and MASTERDOWN",
            during_recovery: Outcome::Passes,
            source: "bitnami/charts: bitnami/redis/templates/health-configmap.yaml",
        },
        KnownScript {
            path: "/health/ping_readiness_local.sh",
            image: "",
            does: "Bitnami's ping_readiness_local.sh accepts PONG only, and a loading server answers LOADING",
            during_recovery: Outcome::Fails,
            source: "bitnami/charts: bitnami/redis/templates/health-configmap.yaml",
        },
    ],
    during_recovery,
    unreachable,
};

/// `redis-cli` prints the error and exits with 0, unless it is told `-e`.
fn during_recovery(call: &Call) -> Option<Answer> {
    if !matches!(call.program(), "redis-cli" | "valkey-cli" | "keydb-cli") {
        return None;
    }
    let outcome = if call.arguments.iter().any(|argument| argument == "-e") { Outcome::Fails } else { Outcome::Passes };
    Some(Answer { outcome, output: Some("LOADING Redis is loading the dataset in memory") })
}

/// `--bind 127.0.0.1 ::1`: every address up to the next option.
fn unreachable(arguments: &[&str]) -> Option<String> {
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
