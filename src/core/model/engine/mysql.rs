//! MySQL, MariaDB and Galera clusters of either.

use super::{KnownScript, Opens, Profile, Source, SteadyLiveness};
use crate::api::Engine;
use crate::core::model::command::{Answer, Call, Outcome, option_value};

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
    clients: &["mysqladmin", "mysql", "mysqlsh"],
    port: 3306,
    port_names: &["mysql", "db", "sql"],
    port_environment: &["MYSQL_TCP_PORT", "MYSQL_PORT_NUMBER"],
    port_arguments: &["--port", "-P"],
    client_port_options: &["--port", "-P"],
    opens: Opens::Late,
    opens_source: Source {
        kind: "docs",
        citation: "the log says \"InnoDB initialization has ended\" before \"ready for connections\" (kubegems/kubegems#132); MariaDB, of the same descent, was measured",
    },
    in_recovery: "refuses connections until InnoDB recovery is over",
    steady: SteadyLiveness::KeepCheck(NO_BARE_SOCKET),
    scripts: SCRIPTS,
    during_recovery,
    unreachable,
};

pub(super) static MARIADB: Profile = Profile {
    engine: Engine::MariaDB,
    images: &["mariadb", "mariadb-server", "mariadb-[0-9]*"],
    servers: &["mariadbd", "mariadbd-safe"],
    environment: &["MARIADB_*"],
    data_paths: &["/var/lib/mysql", "/bitnami/mariadb"],
    clients: &["mariadb-admin", "mariadb", "mysqladmin", "mysql"],
    port_environment: &["MYSQL_TCP_PORT", "MARIADB_PORT_NUMBER"],
    opens_source: Source {
        kind: "measured",
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
    clients: &["mariadb-admin", "mariadb", "mysqladmin", "mysql"],
    opens_source: Source {
        kind: "issue",
        citation: "the port stays closed during recovery and during a whole state transfer, which may take hours (helm/charts#12912, helm/charts#5762)",
    },
    in_recovery: "refuses connections until recovery or the state transfer is over",
    ..MYSQL_LIKE
};

/// What the three share.
const MYSQL_LIKE: Profile = Profile {
    engine: Engine::MySQL,
    images: &[],
    servers: &[],
    ruled_out_by: &["mariabackup", "mariadb-dump", "mysqldump", "garbd"],
    environment: &[],
    data_paths: &[],
    clients: &[],
    port: 3306,
    port_names: &["mysql", "mariadb", "db", "sql"],
    port_environment: &["MYSQL_TCP_PORT", "MARIADB_PORT_NUMBER"],
    port_arguments: &["--port", "-P"],
    client_port_options: &["--port", "-P"],
    opens: Opens::Late,
    opens_source: Source { kind: "unverified", citation: "" },
    in_recovery: "refuses connections until InnoDB recovery is over",
    steady: SteadyLiveness::KeepCheck(NO_BARE_SOCKET),
    scripts: SCRIPTS,
    during_recovery,
    unreachable,
};

const SCRIPTS: &[KnownScript] = &[
    KnownScript {
        path: "healthcheck.sh",
        image: "mariadb",
        does: "the image's healthcheck.sh asks the server, which refuses connections until recovery is over",
        during_recovery: Outcome::Fails,
        source: "MariaDB/mariadb-docker: healthcheck.sh",
    },
    KnownScript {
        path: "/var/lib/mysql/liveness-check.sh",
        image: "",
        does: "the operator's liveness-check.sh excuses recovery, startup and a state transfer",
        during_recovery: Outcome::Passes,
        source: "percona/percona-xtradb-cluster-operator: build/liveness-check.sh",
    },
];

fn during_recovery(call: &Call) -> Option<Answer> {
    match call.program() {
        // `ping` forgives a refused login, but not a refused connection.
        "mysqladmin" | "mariadb-admin" | "mysql" | "mariadb" | "mysqlsh" => {
            Some(Answer { outcome: Outcome::Fails, output: Some("") })
        }
        _ => None,
    }
}

fn unreachable(arguments: &[&str]) -> Option<String> {
    if arguments.contains(&"--skip-networking") {
        return Some("--skip-networking: the server listens on a unix socket only".to_owned());
    }
    let address = option_value(arguments, &["--bind-address", "--bind_address"])?;
    (address == "localhost" || address.starts_with("127.") || address == "::1")
        .then(|| format!("--bind-address is {address}: nothing answers on the pod's IP"))
}
