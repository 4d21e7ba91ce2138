//! PostgreSQL, alone or under Patroni.

use super::catalogue::KnownScript;
use super::profile::{
    Answers, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Shutdown, Source,
    SteadyLiveness, UNKNOWN, fails_with, prints,
};
use super::{PatroniApi, resolve_port};
use crate::api::Engine;
use crate::core::model::command::option_value;
use crate::core::model::probe::{HandlerKind, ProbeKind};
use crate::core::model::workload::Container;

pub(super) static POSTGRESQL: Profile = Profile {
    engine: Engine::PostgreSQL,
    family: "PostgreSQL",
    images: &[
        "postgres",
        "postgresql",
        "postgresql-*",
        "postgis",
        "timescaledb",
        "timescaledb-*",
        "pgvector",
        "spilo*",
        "harbor-db",
        "crunchy-postgres*",
        "patroni*",
        "enterprisedb",
        "edb-postgres*",
        "cloudsql-postgres",
    ],
    servers: &["postgres", "postmaster", "patroni", "pg_ctl", "stolon-keeper"],
    ruled_out_by: &["stolon-sentinel", "stolon-proxy", "pgbouncer", "pgbackrest", "pg_dump", "pg_dumpall"],
    environment: &["POSTGRES_*", "POSTGRESQL_*", "PGDATA", "PATRONI_*", "SPILO_*", "PGUSER_SUPERUSER"],
    data_paths: &["/var/lib/postgresql", "/bitnami/postgresql", "/var/lib/pgsql", "/home/postgres/pgdata"],
    port: 5432,
    port_names: &["postgresql", "postgres", "tcp-postgresql", "pg", "sql", "db"],
    port_environment: &["PGPORT", "POSTGRESQL_PORT_NUMBER"],
    port_arguments: &["-p", "--port"],
    other_ports: &[OtherPort {
        number: 8008,
        names: &["patroni", "patroniapi", "rest"],
        opens: Opens::Early,
        what: "Patroni's REST API",
    }],
    opens: Opens::Early,
    opens_source: Source {
        kind: Evidence::Measured,
        citation: "PostgreSQL 15, kill -9 with 2 GB of WAL: the port opened after 0.2 s, the first query passed after 96.5 s",
    },
    in_recovery: "refuses queries with SQLSTATE 57P03 while it recovers",
    steady: SteadyLiveness::Socket,
    startup_practice: "CloudNativePG allows 3600 s (startDelay)",
    clients: &[
        // 1 while it is rejecting, whatever is asked; a wrong argument fails too. It does not log in.
        Client {
            programs: &["pg_isready"],
            answers: Answers {
                serving: prints("accepting connections"),
                recovering: fails_with("rejecting connections"),
                login_refused: prints("accepting connections"),
                alone: prints("accepting connections"),
            },
            ..Client::ANY
        },
        // True on a standby and false on a primary, and the exit code is 0 for both.
        Client {
            programs: &["psql"],
            with: &["pg_is_in_recovery"],
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: UNKNOWN, alone: prints("t") },
            depends_on: "the role of this server",
            ..Client::ANY
        },
        // Whether it needs a password is for pg_hba.conf to say, which no manifest shows.
        Client {
            programs: &["psql"],
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: UNKNOWN, alone: PASSES },
            ..Client::ANY
        },
    ],
    endpoints: PATRONI,
    shutdown: Some(Shutdown {
        seconds: 60,
        because: "writes a checkpoint, which takes as long as the disk needs; 120 to 300 s are common advice",
    }),
    unreachable,
    ..Profile::BLANK
};

/// What is answered with 200 whatever the server does.
const ABOUT_ITSELF: Endpoint = Endpoint {
    recovering: Http::Good,
    does: "is Patroni's report, with 200 whatever the server does",
    ..Endpoint::ANY
};

/// Patroni's REST API (`docs/rest_api.rst`). The server itself speaks no HTTP.
const PATRONI: &[Endpoint] = &[
    Endpoint {
        path: "/liveness",
        recovering: Http::Good,
        does: "is Patroni's answer for its own loop, not for the server",
        ..Endpoint::ANY
    },
    Endpoint {
        path: "/readiness",
        recovering: Http::Refusing,
        alone: Http::Good,
        does: "is Patroni's answer whether the server runs and follows",
        ..Endpoint::ANY
    },
    Endpoint {
        path: "/health",
        recovering: Http::Refusing,
        does: "is Patroni's answer whether the server runs, and 503 while it starts",
        ..Endpoint::ANY
    },
    Endpoint { path: "/patroni", ..ABOUT_ITSELF },
    Endpoint { path: "/metrics", ..ABOUT_ITSELF },
    Endpoint {
        path: "/",
        recovering: Http::Refusing,
        alone: Http::Refusing,
        depends_on: "the role that Patroni gave it",
        does: "is Patroni's answer for one role, and 503 in every other",
        ..Endpoint::ANY
    },
];

/// `listen_addresses` empty or loopback: `-c listen_addresses=localhost`, `-h 127.0.0.1`, `--listen_addresses=`.
fn unreachable(container: &Container<'_>) -> Option<String> {
    let arguments = super::listen::words(container);
    let setting = arguments.iter().find_map(|word| {
        let word = word.strip_prefix("--").unwrap_or(word);
        word.strip_prefix("listen_addresses=").or_else(|| word.strip_prefix("-clisten_addresses="))
    });
    let addresses = setting.or_else(|| option_value(&arguments, &["-h"]))?.trim_matches(['\'', '"']);
    if addresses.is_empty() {
        return Some("listen_addresses is empty: the server listens on a unix socket only".to_owned());
    }
    let loopback = |address: &str| matches!(address.trim(), "localhost" | "::1") || address.trim().starts_with("127.");
    addresses
        .split(',')
        .all(loopback)
        .then(|| format!("listen_addresses is {addresses}: nothing answers on the pod's IP"))
}

/// Patroni, where the image is one of its own or its environment is configured.
pub(super) fn patroni(container: &Container<'_>, image: &str) -> Option<PatroniApi> {
    let by_image = image.starts_with("spilo") || image.contains("patroni") || image.starts_with("crunchy-postgres");
    let by_command = container.command_line().iter().any(|word| word.contains("patroni"));
    let by_environment = container.environment().any(|(name, _)| name.starts_with("PATRONI_"));
    if !(by_image || by_command || by_environment) {
        return None;
    }
    // An existing probe of its API says where and how it listens; so does a declared port.
    let probed =
        ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)?.handler()).find_map(|(kind, json)| {
            (kind == HandlerKind::HttpGet).then_some(())?;
            let scheme = json.get("scheme").and_then(serde_json::Value::as_str).unwrap_or("HTTP");
            Some((resolve_port(container, json.get("port")?)?, scheme.to_owned()))
        });
    let declared = || {
        let port = container.tcp_ports().find(|(name, number)| {
            *number == 8008 || name.is_some_and(|name| matches!(name, "patroni" | "patroniapi" | "rest"))
        })?;
        Some((u16::try_from(port.1).ok()?, "HTTP".to_owned()))
    };
    let found = probed.or_else(declared);
    Some(PatroniApi {
        port: found.as_ref().map(|(port, _)| *port),
        scheme: found.map_or_else(|| "HTTP".to_owned(), |(_, scheme)| scheme),
    })
}

pub(super) const SCRIPTS: &[KnownScript] = &[
    KnownScript {
        path: "/docker-healthcheck.sh",
        image: "harbor-db",
        does: "Harbor's /docker-healthcheck.sh runs psql with SELECT 1, which PostgreSQL refuses while it recovers",
        answers: Answers { serving: PASSES, recovering: FAILS, login_refused: FAILS, alone: PASSES },
        source: "goharbor/harbor: make/photon/db/docker-healthcheck.sh",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/usr/libexec/check-container",
        with: &["--live"],
        does: "check-container --live accepts everything (since sclorg/postgresql-container#320)",
        answers: Answers::TOLERANT,
        source: "sclorg/postgresql-container: src/root/usr/libexec/check-container",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/usr/libexec/check-container",
        does: "check-container runs pg_isready, which PostgreSQL rejects while it recovers",
        answers: Answers::LOCAL,
        source: "sclorg/postgresql-container: src/root/usr/libexec/check-container",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/liveness-probe.sh",
        image: "postgresql-repmgr",
        does: "Bitnami's liveness-probe.sh runs pg_isready, which PostgreSQL rejects while it recovers, and then asks repmgr for a split brain",
        answers: Answers { alone: UNKNOWN, ..Answers::LOCAL },
        depends_on: "what repmgr says of the other nodes",
        source: "bitnami/charts: bitnami/postgresql-ha/templates/postgresql/scripts-configmap.yaml",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/readiness-probe.sh",
        image: "postgresql-repmgr",
        does: "Bitnami's readiness-probe.sh runs psql with SELECT 1, which PostgreSQL refuses while it recovers",
        answers: Answers { alone: UNKNOWN, ..Answers::WITH_LOGIN },
        depends_on: "what repmgr says of the other nodes",
        source: "bitnami/charts: bitnami/postgresql-ha/templates/postgresql/scripts-configmap.yaml",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/tmp/readiness.sh",
        image: "postgres",
        does: "OpenStack-Helm's readiness.sh runs pg_isready, which PostgreSQL rejects while it recovers",
        answers: Answers::LOCAL,
        source: "openstack/openstack-helm: postgresql/templates/bin/_readiness.sh.tpl",
        ..KnownScript::ANY
    },
];
