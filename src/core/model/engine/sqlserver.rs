//! Microsoft SQL Server on Linux.

use super::listen::loopback_only;
use super::profile::{
    Answers, Client, Evidence, FAILS, Opens, OtherPort, PASSES, Profile, Source, SteadyLiveness, UNKNOWN,
};
use crate::api::Engine;

pub(super) static SQLSERVER: Profile = Profile {
    engine: Engine::SQLServer,
    family: "SQL Server",
    images: &["mssql-server-linux", "mssql/server", "mssql-server", "mssql/rhel/server", "azure-sql-edge"],
    servers: &["sqlservr"],
    ruled_out_by: &["mssql-tools"],
    environment: &["MSSQL_*", "ACCEPT_EULA", "SA_PASSWORD"],
    data_paths: &["/var/opt/mssql"],
    port: 1433,
    port_names: &["mssql", "sqlserver", "tds", "sql"],
    port_environment: &["MSSQL_TCP_PORT"],
    client_port_options: &[],
    other_ports: &[
        OtherPort { number: 1434, names: &["dac"], opens: Opens::Unknown, what: "the admin connection" },
        OtherPort { number: 5022, names: &["hadr", "dbm"], opens: Opens::Unknown, what: "its availability group" },
    ],
    opens: Opens::Early,
    opens_source: Source {
        kind: Evidence::Issue,
        citation: "it listens on 1433 after master and model are there, while other databases still recover (a maintainer in microsoft/mssql-docker#11)",
    },
    in_recovery: "refuses a database that still recovers, and all of them while it upgrades itself",
    // System databases and upgrades come first, so a startup probe stays before the socket.
    steady: SteadyLiveness::SocketAfterStart,
    clients: &[
        // Whether it passes in recovery depends on the database that it asks.
        Client {
            programs: &["sqlcmd"],
            answers: Answers { serving: PASSES, recovering: UNKNOWN, login_refused: FAILS, alone: PASSES },
            ..Client::ANY
        },
    ],
    unreachable: |container| loopback_only(container, &[], &["MSSQL_IP_ADDRESS"]),
    ..Profile::BLANK
};
