//! MongoDB, and Percona's build of it.

use super::catalogue::{KnownScript, in_range};
use super::profile::{
    Answers, Client, Evidence, FAILS, Opens, Profile, Runtime, Shutdown, Source, SteadyLiveness, prints,
};
use crate::api::Engine;
use crate::core::model::command::option_value;
use crate::core::model::workload::Container;

pub(super) static MONGODB: Profile = Profile {
    engine: Engine::MongoDB,
    family: "MongoDB",
    images: &[
        "mongo",
        "mongodb",
        "mongodb-sharded",
        "mongodb-community*",
        "mongodb-enterprise-server*",
        "mongodb-enterprise-database*",
        "percona-server-mongodb*",
    ],
    servers: &["mongod", "ps-entry.sh"],
    ruled_out_by: &["mongos", "mongodump", "mongorestore"],
    ruled_out: is_router,
    environment: &["MONGO_*", "MONGODB_*"],
    data_paths: &["/data/db", "/data/configdb", "/bitnami/mongodb", "/var/lib/mongo", "/var/lib/mongodb"],
    port: 27017,
    port_names: &["mongodb", "mongo", "mongod"],
    port_environment: &["MONGODB_PORT_NUMBER"],
    port_arguments: &["--port"],
    client_port_options: &["--port"],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "mongodb/mongo: src/mongo/db/mongod_main.cpp, repairAndRecoverDatabases and the start of replication precede the transport layer's",
    },
    in_recovery: "refuses connections until its storage is recovered, and is no member yet while it copies its data",
    steady: SteadyLiveness::SocketAfterStart,
    startup_practice: "recovery may take hours (SERVER-56222)",
    clients: CLIENTS,
    shutdown: Some(Shutdown { seconds: 60, because: "steps down, which takes 10 to 15 s, and writes a checkpoint" }),
    unreachable,
    ..Profile::BLANK
};

/// What decides a question for a role. No member has one during an election.
const ROLE: &str = "the role that the replica set gives it";

const SHELL: Client = Client {
    programs: &["mongosh", "mongoshell"],
    login_options: &["-u", "--username", "--authenticationDatabase", "mongodb://"],
    answers: Answers { login_refused: FAILS, ..Answers::LOCAL },
    runtime: Runtime::Node,
    ..Client::ANY
};
const OLD_SHELL: Client = Client { programs: &["mongo"], runtime: Runtime::Light, ..SHELL };

/// A role in the output says true or false; the exit code is 0 for both.
const IN_A_ROLE: Answers =
    Answers { serving: prints("true"), alone: prints("false"), login_refused: FAILS, ..Answers::LOCAL };
/// `ping` is answered by a member that copies its data, too. What fails then is the connection, before storage is there.
const PING: Answers = Answers { serving: prints("{ ok: 1 }"), login_refused: FAILS, ..Answers::LOCAL };

const CLIENTS: &[Client] = &[
    Client { with: &["ping"], answers: PING, ..SHELL },
    Client { with: &["isWritablePrimary"], answers: IN_A_ROLE, depends_on: ROLE, ..SHELL },
    Client { with: &["ismaster"], answers: IN_A_ROLE, depends_on: ROLE, ..SHELL },
    Client { with: &["secondary"], answers: IN_A_ROLE, depends_on: ROLE, ..SHELL },
    SHELL,
    Client { with: &["ping"], answers: PING, ..OLD_SHELL },
    Client { with: &["isWritablePrimary"], answers: IN_A_ROLE, depends_on: ROLE, ..OLD_SHELL },
    Client { with: &["ismaster"], answers: IN_A_ROLE, depends_on: ROLE, ..OLD_SHELL },
    Client { with: &["secondary"], answers: IN_A_ROLE, depends_on: ROLE, ..OLD_SHELL },
    OLD_SHELL,
    Client { programs: &["mongodb-healthcheck"], answers: Answers::WITH_LOGIN, ..Client::ANY },
];

pub(super) const SCRIPTS: &[KnownScript] = &[
    KnownScript {
        path: "/bitnami/scripts/ping-mongodb.sh",
        does: "Bitnami's ping-mongodb.sh runs mongosh with a ping, and MongoDB refuses connections until its storage is recovered",
        answers: Answers::LOCAL,
        runtime: Runtime::Node,
        source: "bitnami/charts: bitnami/mongodb/templates/common-scripts-cm.yaml",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/bitnami/scripts/startup-probe.sh",
        does: "Bitnami's startup-probe.sh demands that the member is primary or secondary, so a first copy of the data fails it too",
        answers: Answers { alone: FAILS, ..Answers::LOCAL },
        depends_on: ROLE,
        runtime: Runtime::Node,
        source: "bitnami/charts: bitnami/mongodb/templates/common-scripts-cm.yaml",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/bitnami/scripts/readiness-probe.sh",
        does: "Bitnami's readiness-probe.sh demands that the member is primary or secondary",
        answers: Answers { alone: FAILS, ..Answers::LOCAL },
        depends_on: ROLE,
        runtime: Runtime::Node,
        source: "bitnami/charts: bitnami/mongodb/templates/common-scripts-cm.yaml",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "mongodb-healthcheck",
        with: &["liveness"],
        does: "Percona's mongodb-healthcheck connects before it looks at the state, so --startupDelaySeconds excuses no closed port",
        answers: Answers::WITH_LOGIN,
        source: "percona/percona-server-mongodb-operator: cmd/mongodb-healthcheck/healthcheck/health.go",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "mongodb-healthcheck",
        with: &["readiness"],
        does: "Percona's mongodb-healthcheck connects to the server, which refuses connections until its storage is recovered",
        answers: Answers::WITH_LOGIN,
        source: "percona/percona-server-mongodb-operator: cmd/mongodb-healthcheck/healthcheck/health.go",
        ..KnownScript::ANY
    },
];

/// Bitnami's image of sharded clusters says in a variable what it runs.
fn is_router(container: &Container<'_>) -> bool {
    container.environment().any(|(name, value)| name == "MONGODB_SHARDING_MODE" && value == Some("mongos"))
}

fn is_loopback(address: &str) -> bool {
    matches!(address, "localhost" | "::1") || address.starts_with("127.") || address.starts_with('/')
}

/// `--bind_ip` with loopback only, and its default, which the image's entrypoint replaces but a command does not.
fn unreachable(container: &Container<'_>) -> Option<String> {
    let arguments = super::listen::words(container);
    if arguments.contains(&"--bind_ip_all") {
        return None;
    }
    if let Some(addresses) = option_value(&arguments, &["--bind_ip"]) {
        return addresses
            .split(',')
            .all(|address| is_loopback(address.trim()))
            .then(|| format!("--bind_ip is {addresses}: nothing answers on the pod's IP"));
    }
    let starts_itself = container.json.get("command").is_some_and(|command| !command.is_null())
        && arguments.first().is_some_and(|program| program.rsplit('/').next() == Some("mongod"));
    let has_file = option_value(&arguments, &["-f", "--config"]).is_some();
    (starts_itself && !has_file && !in_range(container.image(), ("0", "3.6")))
        .then(|| "its command starts mongod without --bind_ip: since 3.6 it then listens on localhost only".to_owned())
}
