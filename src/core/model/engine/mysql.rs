//! MySQL, MariaDB and Galera clusters of either.

use super::profile::{
    Answers, Client, Evidence, FAILS, Opens, OtherPort, Profile, Shutdown, Source, SteadyLiveness, prints,
};
use crate::api::Engine;
use crate::core::model::command::option_value;
use crate::core::model::workload::Container;

/// A connection without a login counts as a connect error of the client's host, and that host is the node.
const NO_BARE_SOCKET: &str = "a socket probe counts as a connect error from the node's address, which max_connect_errors can then block for real clients";

pub(super) static MYSQL: Profile = Profile {
    engine: Engine::MySQL,
    images: &[
        "mysql",
        "mysql-server",
        "mysql-[0-9]*",
        "percona",
        "percona-server",
        "community-server",
        "enterprise-server",
    ],
    servers: &["mysqld", "mysqld_safe"],
    ruled_out_by: &["xtrabackup", "mysqldump", "mysqlrouter"],
    environment: &["MYSQL_*"],
    data_paths: &["/var/lib/mysql", "/bitnami/mysql"],
    port_environment: &["MYSQL_TCP_PORT", "MYSQL_PORT_NUMBER"],
    opens_source: Source {
        kind: Evidence::Issue,
        citation: "the log says \"InnoDB initialization has ended\" before \"ready for connections\" (kubegems/kubegems#132); MariaDB, of the same descent, was measured",
    },
    ..MYSQL_LIKE
};

pub(super) static MARIADB: Profile = Profile {
    engine: Engine::MariaDB,
    images: &["mariadb", "mariadb-server", "mariadb-[0-9]*"],
    servers: &["mariadbd", "mariadbd-safe"],
    environment: &["MARIADB_*"],
    data_paths: &["/var/lib/mysql", "/bitnami/mariadb"],
    port_environment: &["MYSQL_TCP_PORT", "MARIADB_PORT_NUMBER"],
    opens_source: Source {
        kind: Evidence::Measured,
        citation: "MariaDB 10.11, kill -9 with 1.9 GB of InnoDB redo: the port opened after 91.8 s, the first query passed after 91.9 s",
    },
    ..MYSQL_LIKE
};

pub(super) static GALERA: Profile = Profile {
    engine: Engine::Galera,
    images: &["mariadb-galera", "percona-xtradb-cluster*", "pxc", "galera"],
    servers: &["galera"],
    environment: &["MARIADB_GALERA_*", "PXC_SERVICE", "CLUSTER_JOIN", "WSREP_*"],
    data_paths: &["/var/lib/mysql", "/bitnami/mariadb"],
    opens_source: Source {
        kind: Evidence::Issue,
        citation: "the port stays closed during recovery and during a whole state transfer, which may take hours (helm/charts#12912, helm/charts#5762)",
    },
    in_recovery: "refuses connections until recovery or the state transfer is over",
    ..MYSQL_LIKE
};

/// What the three share.
const MYSQL_LIKE: Profile = Profile {
    family: "MySQL",
    ruled_out_by: &["mariabackup", "mariadb-dump", "mysqldump", "garbd"],
    port: 3306,
    port_names: &["mysql", "mariadb", "db", "sql"],
    port_environment: &["MYSQL_TCP_PORT", "MARIADB_PORT_NUMBER"],
    port_arguments: &["--port", "-P"],
    client_port_options: &["--port", "-P"],
    other_ports: &[
        OtherPort { number: 33060, names: &["mysqlx"], opens: Opens::Late, what: "the X protocol" },
        OtherPort { number: 33062, names: &["mysql-admin"], opens: Opens::Late, what: "the admin interface" },
        OtherPort {
            number: 4567,
            names: &["galera", "write-set"],
            opens: Opens::Unknown,
            what: "Galera's replication",
        },
        OtherPort { number: 4444, names: &["sst"], opens: Opens::Unknown, what: "state transfers" },
        OtherPort { number: 4568, names: &["ist"], opens: Opens::Unknown, what: "incremental state transfers" },
    ],
    opens: Opens::Late,
    in_recovery: "refuses connections until InnoDB recovery is over",
    steady: SteadyLiveness::KeepCheck(NO_BARE_SOCKET),
    startup_practice: "MySQL's operator allows 30 000 s (3 s × 10 000)",
    clients: CLIENTS,
    shutdown: Some(SHUTDOWN),
    unreachable,
    ..Profile::BLANK
};

const CLIENTS: &[Client] = &[
    // `ping` forgives a refused login and too many connections, but not a refused connection.
    Client {
        programs: &["mysqladmin", "mariadb-admin"],
        with: &["ping"],
        answers: Answers {
            serving: prints("mysqld is alive"),
            login_refused: prints("mysqld is alive"),
            ..Answers::LOCAL
        },
        ..Client::ANY
    },
    Client {
        programs: &["mysqladmin", "mariadb-admin", "mysql", "mariadb", "mysqlsh"],
        answers: Answers { recovering: FAILS, ..Answers::WITH_LOGIN },
        ..Client::ANY
    },
];

const SHUTDOWN: Shutdown =
    Shutdown { seconds: 120, because: "flushes the buffer pool, which takes as long as the disk needs" };

fn unreachable(container: &Container<'_>) -> Option<String> {
    let arguments = container.command_line();
    if arguments.contains(&"--skip-networking") {
        return Some("--skip-networking: the server listens on a unix socket only".to_owned());
    }
    let address = option_value(&arguments, &["--bind-address", "--bind_address"])?;
    (address == "localhost" || address.starts_with("127.") || address == "::1")
        .then(|| format!("--bind-address is {address}: nothing answers on the pod's IP"))
}
