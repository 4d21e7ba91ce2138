//! ClickHouse and ClickHouse Keeper.

use super::catalogue::{KnownScript, in_range};
use super::profile::{
    Answers, CONNECTING, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Shutdown, Source,
    SteadyLiveness, Variant, prints,
};
use crate::api::Engine;
use crate::core::model::workload::Container;

pub(super) static CLICKHOUSE: Profile = Profile {
    other_ports: &ports(Opens::Late),
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Docs,
        citation: "before 25.2, and with async_load_databases=0, no connection is accepted until all tables are loaded (ClickHouse/ClickHouse#57695, #74772); Altinity/clickhouse-operator#1068",
    },
    in_recovery: "refuses connections until all tables are loaded",
    clients: &[CLIENT],
    endpoints: &[Endpoint { recovering: Http::Closed, ..PING }, Endpoint { recovering: Http::Closed, ..REPLICAS }],
    variants: &[Variant { when: loads_later, profile: &LOADING_LATER }],
    ..SERVER
};

/// From 25.2 on tables are loaded while connections are accepted, whatever the configuration file's age.
static LOADING_LATER: Profile = Profile {
    other_ports: &ports(Opens::Early),
    opens: Opens::Early,
    opens_source: Source {
        kind: Evidence::Docs,
        citation: "from 25.2 on connections are accepted before all tables are loaded (ClickHouse/ClickHouse#74772); the tables of the system database still come first",
    },
    in_recovery: "lets queries wait for the tables that they need",
    clients: &[Client { answers: Answers { login_refused: FAILS, ..Answers::TOLERANT }, ..CLIENT }],
    endpoints: &[Endpoint { recovering: Http::Good, ..PING }, Endpoint { recovering: Http::Refusing, ..REPLICAS }],
    variants: &[],
    ..SERVER
};

const SERVER: Profile = Profile {
    engine: Engine::ClickHouse,
    family: "ClickHouse",
    images: &["clickhouse", "clickhouse-server"],
    servers: &["clickhouse-server"],
    ruled_out_by: &["clickhouse-backup", "clickhouse-keeper"],
    environment: &["CLICKHOUSE_*"],
    data_paths: &["/var/lib/clickhouse", "/bitnami/clickhouse"],
    port: 9000,
    port_names: &["tcp-port", "native", "clickhouse"],
    port_environment: &["CLICKHOUSE_TCP_PORT"],
    client_port_options: &["--port"],
    steady: SteadyLiveness::SocketAfterStart,
    shutdown: Some(Shutdown { seconds: 60, because: "waits for running queries and merges" }),
    ..Profile::BLANK
};

/// All its ports open at the same time.
const fn ports(opens: Opens) -> [OtherPort; 5] {
    [
        OtherPort { number: 8123, names: &["http", "http-port"], opens, what: "HTTP" },
        OtherPort {
            number: 9009,
            names: &["http-intersrv", "inter-http-port", "interserver"],
            opens,
            what: "other replicas",
        },
        OtherPort { number: 9440, names: &["tcp-secure"], opens, what: "the client port with TLS" },
        OtherPort { number: 9004, names: &["tcp-mysql"], opens, what: "the MySQL protocol" },
        OtherPort { number: 9005, names: &["tcp-postgresql"], opens, what: "the PostgreSQL protocol" },
    ]
}

const CLIENT: Client = Client {
    programs: &["clickhouse-client", "clickhouse"],
    login_options: &["-u", "--user", "--password"],
    answers: Answers { serving: prints("1"), alone: prints("1"), ..Answers::WITH_LOGIN },
    ..Client::ANY
};

const PING: Endpoint = Endpoint { path: "/ping", does: "is answered as soon as the port is open", ..Endpoint::ANY };
const REPLICAS: Endpoint = Endpoint {
    path: "/replicas_status",
    alone: Http::Refusing,
    depends_on: "replication that keeps up with the other replicas",
    does: "is refused while a replica lags",
    ..Endpoint::ANY
};

pub(super) static KEEPER: Profile = Profile {
    engine: Engine::ClickHouseKeeper,
    family: "ClickHouseKeeper",
    images: &["clickhouse-keeper"],
    servers: &["clickhouse-keeper", "keeperStart.sh"],
    ruled_out_by: &["clickhouse-keeper-client", "clickhouse-keeper-converter"],
    environment: &["CLICKHOUSE_KEEPER_*", "KEEPER_*"],
    data_paths: &["/var/lib/clickhouse-keeper", "/bitnami/clickhouse-keeper", "/bitnami/keeper"],
    port: 9181,
    port_names: &["client", "keeper", "tcp"],
    port_environment: &["CLICKHOUSE_KEEPER_TCP_PORT"],
    client_port_options: &["-p", "--port"],
    other_ports: &[
        OtherPort { number: 9234, names: &["raft", "quorum"], opens: Opens::Unknown, what: "its peers" },
        OtherPort { number: 9182, names: &["http-control"], opens: Opens::Unknown, what: "health over HTTP" },
        OtherPort { number: 7000, names: &["metrics", "prometheus"], opens: Opens::Unknown, what: "metrics" },
    ],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "ClickHouse/ClickHouse: programs/keeper/Keeper.cpp, Raft is initialised, not asynchronously, before the servers are created; ZooKeeper does the reverse",
    },
    in_recovery: "opens its port only after snapshot, log and quorum",
    steady: SteadyLiveness::SocketAfterStart,
    clients: &[
        Client { with: &["ruok"], answers: RUOK, ..ASK },
        Client { with: &["mntr"], ..ASK },
        Client { with: &["srvr"], ..ASK },
        Client {
            programs: &["clickhouse-keeper-client"],
            answers: Answers { alone: FAILS, ..Answers::LOCAL },
            depends_on: QUORUM,
            ..Client::ANY
        },
    ],
    endpoints: &[Endpoint {
        path: "/ready",
        recovering: Http::Refusing,
        alone: Http::Refusing,
        depends_on: QUORUM,
        does: "is refused without a leader",
        ..Endpoint::ANY
    }],
    shutdown: Some(Shutdown { seconds: 30, because: "hands over leadership and writes a snapshot" }),
    ..Profile::BLANK
};

const QUORUM: &str = "a quorum of the keepers";
const ASK: Client = Client { programs: CONNECTING, ..Client::ANY };
const RUOK: Answers =
    Answers { serving: prints("imok"), recovering: FAILS, login_refused: prints("imok"), alone: prints("imok") };

pub(super) const SCRIPTS: &[KnownScript] = &[
    KnownScript {
        path: "/conf/keeperLive.sh",
        does: "Altinity's keeperLive.sh sends ruok and demands imok, and the port opens only after snapshot, log and quorum",
        answers: Answers { serving: PASSES, ..RUOK },
        source: "Altinity/clickhouse-operator: deploy/clickhouse-keeper/clickhouse-keeper-manually/clickhouse-keeper-1-node.yaml",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/conf/keeperReady.sh",
        does: "Altinity's keeperReady.sh asks whether the member takes part, and adds it where it does not",
        answers: Answers { serving: PASSES, recovering: FAILS, login_refused: PASSES, alone: FAILS },
        depends_on: QUORUM,
        source: "Altinity/clickhouse-operator: deploy/clickhouse-keeper/clickhouse-keeper-manually/clickhouse-keeper-1-node.yaml",
        ..KnownScript::ANY
    },
];

fn loads_later(container: &Container<'_>) -> bool {
    in_range(container.image(), ("25.2", "1000"))
}
