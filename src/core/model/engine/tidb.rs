//! TiDB and what it stands on: PD and TiKV.

use super::listen::loopback_only;
use super::profile::{
    Answers, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Source, SteadyLiveness,
    UNKNOWN, prints,
};
use crate::api::Engine;

pub(super) static PD: Profile = Profile {
    engine: Engine::PD,
    images: &["pingcap/pd", "pd-enterprise"],
    servers: &["pd-server"],
    ruled_out_by: &["pd-ctl", "pd-recover"],
    data_paths: &["/var/lib/pd"],
    port: 2379,
    port_names: &["client", "pd-client"],
    port_arguments: &["--client-urls", "-client-urls"],
    other_ports: &[OtherPort { number: 2380, names: &["peer", "server"], opens: Opens::Unknown, what: "its peers" }],
    opens_source: Source {
        kind: Evidence::Unverified,
        citation: "PD starts an etcd within itself; when that listens here nobody has read. PingCAP's operator gives it a readiness only (pingcap/tidb-operator: pkg/controllers/pd/tasks/pod.go)",
    },
    in_recovery: "waits for a quorum of its peers",
    steady: SteadyLiveness::SocketAfterStart,
    clients: &[Client {
        programs: &["pd-ctl"],
        answers: Answers { serving: PASSES, recovering: FAILS, login_refused: UNKNOWN, alone: FAILS },
        depends_on: "a quorum of PD",
        ..Client::ANY
    }],
    endpoints: &[Endpoint {
        path: "/pd/api/v1/",
        alone: Http::Unknown,
        login_refused: Http::Unknown,
        depends_on: "a quorum of PD",
        does: "is mostly answered by the leader of PD",
        ..Endpoint::ANY
    }],
    unreachable: |container| loopback_only(container, &["--client-urls", "-client-urls"], &[]),
    ..TIDB_LIKE
};

pub(super) static TIKV: Profile = Profile {
    engine: Engine::TiKV,
    images: &["tikv", "tikv-enterprise"],
    servers: &["tikv-server"],
    ruled_out_by: &["tikv-ctl"],
    data_paths: &["/var/lib/tikv"],
    port: 20160,
    port_names: &["server", "tikv"],
    port_arguments: &["--addr", "-A"],
    other_ports: &[OtherPort { number: 20180, names: &["status"], opens: Opens::Late, what: "its status" }],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "tikv/tikv: components/server/src/server.rs, run_impl: init_engines comes before run_server and run_status_server",
    },
    in_recovery: "opens its engines before it listens",
    steady: SteadyLiveness::SocketAfterStart,
    endpoints: &[Endpoint {
        path: "/status",
        recovering: Http::Closed,
        does: "tells that the process answers, on a port that opens after the engines",
        ..Endpoint::ANY
    }],
    unreachable: |container| loopback_only(container, &["--addr", "-A"], &[]),
    ..TIDB_LIKE
};

pub(super) static TIDB: Profile = Profile {
    engine: Engine::TiDB,
    images: &["tidb", "tidb-enterprise"],
    servers: &["tidb-server"],
    port: 4000,
    port_names: &["mysql-client", "mysql", "server"],
    port_arguments: &["-P"],
    client_port_options: &["--port", "-P"],
    other_ports: &[OtherPort { number: 10080, names: &["status"], opens: Opens::Unknown, what: "its status" }],
    opens_source: Source {
        kind: Evidence::Unverified,
        citation: "TiDB holds no data of its own and waits for PD and TiKV; when it listens nobody has read here",
    },
    in_recovery: "waits for PD and TiKV",
    steady: SteadyLiveness::SocketAfterStart,
    clients: &[
        Client {
            programs: &["mysqladmin", "mariadb-admin"],
            with: &["ping"],
            answers: Answers {
                serving: prints("mysqld is alive"),
                recovering: FAILS,
                login_refused: prints("mysqld is alive"),
                alone: UNKNOWN,
            },
            depends_on: "PD and TiKV",
            ..Client::ANY
        },
        Client {
            programs: &["mysqladmin", "mariadb-admin", "mysql", "mariadb"],
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: FAILS, alone: UNKNOWN },
            depends_on: "PD and TiKV",
            ..Client::ANY
        },
    ],
    endpoints: &[Endpoint {
        path: "/status",
        alone: Http::Unknown,
        depends_on: "PD and TiKV",
        does: "tells that the process answers",
        ..Endpoint::ANY
    }],
    unreachable: |container| loopback_only(container, &["--host"], &[]),
    ..TIDB_LIKE
};

const TIDB_LIKE: Profile = Profile { family: "TiDB", ..Profile::BLANK };
