//! MySQL, MariaDB and Galera clusters of either.

use super::catalogue::KnownScript;
use super::profile::{
    Answers, Client, Evidence, FAILS, Opens, OtherPort, Profile, Runtime, Shutdown, Source, SteadyLiveness, UNKNOWN,
    Variant, prints,
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
        "mysql-5*",
        "mysql-8*",
        "mysql-9*",
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
    variants: REPLICATING,
    ..MYSQL_LIKE
};

pub(super) static MARIADB: Profile = Profile {
    engine: Engine::MariaDB,
    images: &["mariadb", "mariadb-server", "mariadb-10*", "mariadb-11*"],
    servers: &["mariadbd", "mariadbd-safe"],
    environment: &["MARIADB_*"],
    data_paths: &["/var/lib/mysql", "/bitnami/mariadb"],
    port_environment: &["MYSQL_TCP_PORT", "MARIADB_PORT_NUMBER"],
    opens_source: Source {
        kind: Evidence::Measured,
        citation: "MariaDB 10.11, kill -9 with 1.9 GB of InnoDB redo: the port opened after 91.8 s, the first query passed after 91.9 s",
    },
    variants: REPLICATING,
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
    clients: GALERA_CLIENTS,
    present_while_recovering: &["/sst_in_progress", "/wsrep_recovery_verbose.log"],
    ..MYSQL_LIKE
};

/// Whatever the image is called: where Galera's ports are declared, Galera decides.
const REPLICATING: &[Variant] = &[Variant { when: declares_galera, profile: &GALERA }];

fn declares_galera(container: &Container<'_>) -> bool {
    container.tcp_ports().any(|(name, number)| {
        number == 4567 || name.is_some_and(|name| matches!(name, "galera" | "galera-repl" | "wsrep" | "write-set"))
    })
}

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

// `ping` forgives a refused login and too many connections, but not a refused connection.
const PING: Client = Client {
    programs: &["mysqladmin", "mariadb-admin"],
    with: &["ping"],
    answers: Answers { serving: prints("mysqld is alive"), login_refused: prints("mysqld is alive"), ..Answers::LOCAL },
    ..Client::ANY
};
const SHELL: Client = Client {
    programs: &["mysqladmin", "mariadb-admin", "mysql", "mariadb"],
    answers: Answers { recovering: FAILS, ..Answers::WITH_LOGIN },
    ..Client::ANY
};
const MYSQL_SHELL: Client = Client { programs: &["mysqlsh"], runtime: Runtime::Python, ..SHELL };

// An image of MariaDB may well run Galera, and what asks for it says so.
const CLIENTS: &[Client] = GALERA_CLIENTS;

/// What decides a question about the cluster.
const PRIMARY_COMPONENT: &str = "whether the cluster has a primary component";

const GALERA_CLIENTS: &[Client] = &[
    PING,
    // A table cannot be read outside of a primary component (error 1047), `SELECT 1` can.
    Client {
        with: &["wsrep_cluster_members"],
        answers: Answers { alone: FAILS, ..Answers::WITH_LOGIN },
        depends_on: PRIMARY_COMPONENT,
        ..SHELL
    },
    Client {
        with: &["wsrep_ready"],
        answers: Answers { serving: prints("wsrep_ready ON"), alone: prints("wsrep_ready OFF"), ..Answers::WITH_LOGIN },
        depends_on: PRIMARY_COMPONENT,
        ..SHELL
    },
    Client {
        with: &["wsrep_cluster_status"],
        answers: Answers {
            serving: prints("wsrep_cluster_status Primary"),
            alone: prints("wsrep_cluster_status non-Primary"),
            ..Answers::WITH_LOGIN
        },
        depends_on: PRIMARY_COMPONENT,
        ..SHELL
    },
    Client {
        with: &["wsrep_local_state_comment"],
        answers: Answers {
            serving: prints("wsrep_local_state_comment Synced"),
            alone: prints("wsrep_local_state_comment Initialized"),
            ..Answers::WITH_LOGIN
        },
        depends_on: "whether it is in step with the cluster",
        ..SHELL
    },
    SHELL,
    MYSQL_SHELL,
];

/// The MariaDB image's own script, by its flags. `--connect` forgives a refused login.
const HEALTHCHECK: KnownScript = KnownScript {
    path: "healthcheck.sh",
    image: "mariadb",
    source: "MariaDB/mariadb-docker: healthcheck.sh",
    ..KnownScript::ANY
};

pub(super) const SCRIPTS: &[KnownScript] = &[
    KnownScript {
        with: &["--galera_online"],
        does: "the image's healthcheck.sh --galera_online demands that the node is in step with its cluster",
        answers: Answers { alone: FAILS, ..Answers::WITH_LOGIN },
        depends_on: "whether it is in step with the cluster",
        ..HEALTHCHECK
    },
    KnownScript {
        with: &["--replication"],
        does: "the image's healthcheck.sh --replication demands running replication, which a refused connection ends too",
        answers: Answers { alone: FAILS, ..Answers::WITH_LOGIN },
        depends_on: "the primary that it replicates from",
        ..HEALTHCHECK
    },
    KnownScript {
        with: &["--innodb_initialized"],
        does: "the image's healthcheck.sh --innodb_initialized logs in and asks for InnoDB, and the server refuses connections until recovery is over",
        answers: Answers::WITH_LOGIN,
        ..HEALTHCHECK
    },
    KnownScript {
        with: &["--innodb_buffer_pool_loaded"],
        does: "the image's healthcheck.sh --innodb_buffer_pool_loaded demands a warm buffer pool, and the server refuses connections until recovery is over",
        answers: Answers::WITH_LOGIN,
        ..HEALTHCHECK
    },
    KnownScript {
        with: &["--connect"],
        does: "the image's healthcheck.sh --connect connects over TCP, which the server refuses until recovery is over",
        answers: Answers::LOCAL,
        ..HEALTHCHECK
    },
    KnownScript {
        does: "the image's healthcheck.sh asks the server, which refuses connections until recovery is over",
        answers: Answers { login_refused: UNKNOWN, alone: UNKNOWN, ..Answers::LOCAL },
        ..HEALTHCHECK
    },
    KnownScript {
        path: "/var/lib/mysql/liveness-check.sh",
        does: "the operator's liveness-check.sh excuses recovery, startup and a state transfer; newer ones demand a primary component after that",
        answers: Answers { login_refused: FAILS, alone: UNKNOWN, ..Answers::TOLERANT },
        depends_on: PRIMARY_COMPONENT,
        source: "percona/percona-xtradb-cluster-operator: build/liveness-check.sh",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/var/lib/mysql/readiness-check.sh",
        does: "the operator's readiness-check.sh demands a node that is in step with its cluster",
        answers: Answers { alone: FAILS, ..Answers::WITH_LOGIN },
        depends_on: PRIMARY_COMPONENT,
        source: "percona/percona-xtradb-cluster-operator: build/readiness-check.sh",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/tmp/health.sh",
        with: &["liveness"],
        does: "OpenStack-Helm's health.sh excuses a state transfer and an upgrade, but not InnoDB recovery, and demands wsrep_ready",
        answers: Answers { alone: FAILS, ..Answers::WITH_LOGIN },
        depends_on: PRIMARY_COMPONENT,
        source: "openstack/openstack-helm: mariadb/templates/bin/_health.sh.tpl",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/tmp/health.sh",
        with: &["readiness"],
        does: "OpenStack-Helm's health.sh demands a node that is in step with its cluster, and room on its disk",
        answers: Answers { alone: FAILS, ..Answers::WITH_LOGIN },
        depends_on: PRIMARY_COMPONENT,
        source: "openstack/openstack-helm: mariadb/templates/bin/_health.sh.tpl",
        ..KnownScript::ANY
    },
];

const SHUTDOWN: Shutdown =
    Shutdown { seconds: 120, because: "flushes the buffer pool, which takes as long as the disk needs" };

fn unreachable(container: &Container<'_>) -> Option<String> {
    let arguments = super::listen::words(container);
    if arguments.contains(&"--skip-networking") {
        return Some("--skip-networking: the server listens on a unix socket only".to_owned());
    }
    let address = option_value(&arguments, &["--bind-address", "--bind_address"])?;
    (address == "localhost" || address.starts_with("127.") || address == "::1")
        .then(|| format!("--bind-address is {address}: nothing answers on the pod's IP"))
}
