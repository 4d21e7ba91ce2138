mod brokers;
mod coordination;
mod evidence;
mod relational;
mod searched;
mod stores;

use super::*;
use crate::api::DatabaseHint;
use crate::core::model::command::Outcome;
use crate::core::model::pointer::Pointer;
use crate::core::model::probe::ProbeKind;
use crate::core::model::workload::Container;
use crate::core::model::workload::{Workload, containers_of};
use serde_json::{Value, json};

fn with<T>(container: &Value, hints: &[DatabaseHint], look: impl FnOnce(&Container<'_>, Option<Database>) -> T) -> T {
    let spec = json!({ "containers": [container] });
    let containers = containers_of(&spec, &Pointer::root());
    look(&containers[0], recognise(&containers[0], hints))
}

fn seen(container: &Value) -> String {
    with(container, &[], |_, database| match database {
        None => "nothing".to_owned(),
        Some(database) => format!("{} {}", database.confidence.name(), database.profile.engine),
    })
}

/// A container of an image with this liveness, as `sh -c TEXT` for a text and as a handler for an object.
fn probed(image: &str, probe: &Value) -> Value {
    let probe = match probe {
        Value::String(text) => json!({"exec": {"command": ["sh", "-c", text]}}),
        handler => handler.clone(),
    };
    json!({"name": "a", "image": image, "livenessProbe": probe})
}

/// What the liveness of a container does in every situation, in words: whether it passes during recovery, and then
/// what else would fail it.
fn verdict(container: &Value) -> String {
    with(container, &[], |container, database| {
        let probe = container.probe(ProbeKind::Liveness).unwrap();
        let meaning = database.expect("a database").meaning(container, probe);
        let mut words = vec![format!("{:?}", meaning.outcome).to_lowercase()];
        words.extend(meaning.needs_login.then(|| "login".to_owned()));
        words.extend(meaning.depends_on.map(|_| "others".to_owned()));
        words.extend(meaning.always.map(|outcome| format!("always {}", format!("{outcome:?}").to_lowercase())));
        words.extend((meaning.runtime != Runtime::Light).then(|| format!("{:?}", meaning.runtime)));
        words.join(" ")
    })
}

/// Checks verdicts for one image; see [`verdict`].
fn verdicts(image: &str, table: &[(Value, &str)]) {
    for (probe, expected) in table {
        assert_eq!(verdict(&probed(image, probe)), *expected, "{image}: {probe}");
    }
}

fn client_port(container: &Value) -> String {
    with(container, &[], |_, database| match database.expect("a database").port {
        ClientPort::Known { number, .. } => number.to_string(),
        ClientPort::Ambiguous(why) => why,
    })
}

fn is_unreachable(container: &Value) -> bool {
    with(container, &[], |_, database| database.expect("a database").unreachable.is_some())
}

#[test]
fn databases_are_recognised_by_what_runs() {
    let table = [
        (json!({"name": "a", "image": "postgres:16"}), "Certain PostgreSQL"),
        (json!({"name": "a", "image": "docker.io/bitnami/postgresql:17@sha256:00"}), "Certain PostgreSQL"),
        (json!({"name": "a", "image": "goharbor/harbor-db:v2.10"}), "Certain PostgreSQL"),
        (json!({"name": "a", "image": "localhost:5000/mariadb"}), "Certain MariaDB"),
        (json!({"name": "a", "image": "bitnami/mariadb-galera:12"}), "Certain Galera"),
        (json!({"name": "a", "image": "percona/percona-xtradb-cluster-operator:1"}), "nothing"),
        (json!({"name": "a", "image": "redis:7", "args": ["--appendonly", "yes"]}), "Certain Redis"),
        (json!({"name": "a", "image": "redis:7", "command": ["redis-sentinel", "/x.conf"]}), "Certain Sentinel"),
        (
            json!({"name": "a", "image": "redis:7", "args": ["redis-server", "/x.conf", "--sentinel"]}),
            "Certain Sentinel",
        ),
        (json!({"name": "a", "image": "valkey/valkey:9"}), "Certain Valkey"),
        (
            json!({"name": "a", "image": "registry.example:5000/platform/pg:17", "env": [{"name": "POSTGRES_DB"}, {"name": "PGDATA"}],
            "volumeMounts": [{"mountPath": "/var/lib/postgresql/data"}], "ports": [{"containerPort": 5432}],
            "livenessProbe": {"exec": {"command": ["pg_isready"]}}}),
            "Certain PostgreSQL",
        ),
        (
            json!({"name": "a", "image": "example/pg", "env": [{"name": "PGDATA"}], "volumeMounts": [{"mountPath": "/var/lib/postgresql/data"}]}),
            "Probable PostgreSQL",
        ),
        (json!({"name": "a", "image": "example/app", "env": [{"name": "POSTGRES_HOST"}]}), "nothing"),
        (json!({"name": "a", "image": "sorintlab/stolon:v0.16", "command": ["stolon-keeper"]}), "Certain PostgreSQL"),
    ];
    for (container, expected) in table {
        assert_eq!(seen(&container), expected, "{container}");
    }
}

#[test]
fn what_stands_beside_a_database_is_none() {
    for image in [
        "wrouesnel/postgres_exporter:v0.8.0",
        "prom/mysqld-exporter",
        "oliver006/redis_exporter",
        "bitnami/pgbouncer",
        "bitnami/pgpool:4",
        "ghcr.io/zalando/postgres-operator:v2",
        "phpmyadmin",
        "sorintlab/stolon:v0.16.0",
        "haproxy:3",
        "proxysql/proxysql",
        "postgrest/postgrest",
        "supabase/postgres-meta",
        "zabbix/zabbix-server-pgsql",
    ] {
        let container = json!({"name": "a", "image": image, "ports": [{"containerPort": 5432, "name": "postgresql"}],
            "env": [{"name": "POSTGRES_PASSWORD"}]});
        assert_eq!(seen(&container), "nothing", "{image}");
    }
    let running = |command: Value| seen(&json!({"name": "a", "image": "postgres:16", "command": command}));
    assert_eq!(running(json!(["sh", "-c", "while true; do pg_dump -h pg > /x; sleep 3600; done"])), "nothing");
    assert_eq!(running(json!(["sleep", "infinity"])), "Unsure PostgreSQL");
    for process in ["stolon-sentinel", "stolon-proxy"] {
        assert_eq!(seen(&json!({"name": "a", "image": "sorintlab/stolon:1", "command": [process]})), "nothing");
    }
}

#[test]
fn a_hint_decides_unless_the_manifest_contradicts_it() {
    let hint = |engine| [DatabaseHint { container: "a".to_owned(), engine, port: Some(5433) }];
    let unknown = json!({"name": "a", "image": "example/store:1"});
    with(&unknown, &hint(Engine::PostgreSQL), |_, database| {
        let database = database.unwrap();
        assert_eq!(database.confidence, Confidence::Hint);
        assert_eq!(database.port, ClientPort::Known { number: 5433, source: "the policy".to_owned() });
    });
    let redis = json!({"name": "a", "image": "redis:7"});
    with(&redis, &hint(Engine::PostgreSQL), |_, database| {
        let database = database.unwrap();
        assert_eq!((database.confidence, database.is_sure()), (Confidence::Unsure, false));
    });
}

#[test]
fn the_port_is_the_one_that_is_asked_already() {
    let port = |container: &Value| with(container, &[], |_, database| database.unwrap().port);
    let known = |container: &Value| match port(container) {
        ClientPort::Known { number, .. } => number,
        ClientPort::Ambiguous(why) => panic!("{why}"),
    };
    let exec = |text: &str| json!({"exec": {"command": ["sh", "-c", text]}});
    assert_eq!(known(&json!({"name": "a", "image": "postgres", "livenessProbe": exec("pg_isready -p 5433")})), 5433);
    assert_eq!(
        known(
            &json!({"name": "a", "image": "postgres", "readinessProbe": {"tcpSocket": {"port": "x"}}, "ports": [{"name": "x", "containerPort": 5434}]})
        ),
        5434
    );
    assert_eq!(known(&json!({"name": "a", "image": "postgres", "env": [{"name": "PGPORT", "value": "5435"}]})), 5435);
    assert_eq!(known(&json!({"name": "a", "image": "postgres", "args": ["-p", "5436"]})), 5436);
    assert_eq!(
        known(&json!({"name": "a", "image": "postgres", "ports": [{"name": "metrics", "containerPort": 9187}]})),
        5432
    );
    assert_eq!(known(&json!({"name": "a", "image": "redis", "args": ["--port", "0", "--tls-port", "6380"]})), 6380);
    let elsewhere = json!({"name": "a", "image": "postgres", "livenessProbe": exec("pg_isready -h primary -p 5433")});
    assert_eq!(known(&elsewhere), 5432, "the other server's port is not this one's");
    let hidden = json!([{"name": "PGPORT", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]);
    let undeclared = json!({"name": "a", "image": "postgres", "env": hidden});
    assert!(matches!(port(&undeclared), ClientPort::Ambiguous(why) if why.contains("PGPORT")));
    let declared = json!({"name": "a", "image": "postgres", "env": hidden, "ports": [{"containerPort": 5432}]});
    assert_eq!(known(&declared), 5432);
    let two = json!({"name": "a", "image": "postgres", "ports": [{"containerPort": 1}, {"containerPort": 2}]});
    assert!(matches!(port(&two), ClientPort::Ambiguous(_)));
}

#[test]
fn a_server_that_the_kubelet_cannot_dial_is_seen() {
    let unreachable = |container: &Value| with(container, &[], |_, database| database.unwrap().unreachable.is_some());
    assert!(unreachable(
        &json!({"name": "a", "image": "redis:7", "args": ["redis-server", "--bind", "127.0.0.1", "::1", "--port", "6379"]})
    ));
    assert!(!unreachable(&json!({"name": "a", "image": "redis:7", "args": ["redis-server", "--bind", "0.0.0.0"]})));
    assert!(unreachable(&json!({"name": "a", "image": "postgres", "args": ["-c", "listen_addresses=localhost"]})));
    assert!(unreachable(&json!({"name": "a", "image": "postgres", "args": ["-c", "listen_addresses="]})));
    assert!(!unreachable(&json!({"name": "a", "image": "postgres", "args": ["-c", "listen_addresses=*"]})));
    assert!(unreachable(&json!({"name": "a", "image": "mysql", "args": ["--skip-networking"]})));
}

#[test]
fn what_a_probe_does_during_recovery() {
    let ask = |image: &str, probe: Value| {
        let container = json!({"name": "a", "image": image, "livenessProbe": probe});
        with(&container, &[], |container, database| {
            let probe = container.probe(ProbeKind::Liveness).unwrap();
            let answer = database.unwrap().meaning(container, probe);
            (answer.outcome, answer.check)
        })
    };
    let exec = |words: &[&str]| json!({"exec": {"command": words}});
    assert_eq!(ask("postgres", exec(&["pg_isready"])), (Outcome::Fails, Check::Client));
    assert_eq!(ask("postgres", exec(&["pgrep", "postgres"])), (Outcome::Passes, Check::Process));
    assert_eq!(ask("kafka", exec(&["sh", "-ec", "jps | grep -q Kafka"])), (Outcome::Passes, Check::Process));
    assert_eq!(ask("postgres", exec(&["sh", "-c", "kill -0 $(cat /x.pid)"])), (Outcome::Passes, Check::Process));
    let also_a_file = exec(&["sh", "-c", "ps | grep postgres && [ -f /ready ]"]);
    assert_eq!(ask("postgres", also_a_file), (Outcome::Unknown, Check::Process));
    // What may be asked is known at run time only, and `ping` is forgiven where other subcommands are not.
    let some_subcommand = exec(&["sh", "-c", "redis-cli $ARGUMENTS"]);
    assert_eq!(ask("redis", some_subcommand), (Outcome::Unknown, Check::Client));
    let some_host = exec(&["sh", "-c", "mysqladmin -h $HOST -p\"$PASSWORD\" ping"]);
    assert_eq!(ask("mysql", some_host), (Outcome::Fails, Check::Client));
    let in_a_transfer = exec(&["sh", "-c", "mysqladmin ping || test -e /var/lib/mysql/sst_in_progress"]);
    assert_eq!(ask("percona-xtradb-cluster", in_a_transfer.clone()), (Outcome::Passes, Check::Client));
    assert_eq!(ask("mysql", in_a_transfer), (Outcome::Unknown, Check::Client));
    assert_eq!(ask("postgres", exec(&["/scripts/alive.sh"])), (Outcome::Unknown, Check::Script));
    assert_eq!(ask("harbor-db", exec(&["/docker-healthcheck.sh"])), (Outcome::Fails, Check::Client));
    assert_eq!(ask("postgres", json!({"tcpSocket": {"port": 5432}})), (Outcome::Passes, Check::Socket));
    assert_eq!(ask("mariadb", json!({"tcpSocket": {"port": 3306}})), (Outcome::Fails, Check::Socket));
    assert_eq!(ask("mysql", exec(&["mysqladmin", "ping"])), (Outcome::Fails, Check::Client));
    let alive = exec(&["bash", "-ec", "mysqladmin ping -p\"$x\" | grep \"mysqld is alive\""]);
    assert_eq!(ask("mysql", alive), (Outcome::Fails, Check::Client));
    // Another server's recovery is not this one's.
    for elsewhere in [
        exec(&["pg_isready", "-h", "primary.db"]),
        exec(&["sh", "-c", "exec psql --host=primary.db -c 'select 1'"]),
        exec(&["psql", "postgresql://app@primary.db:5433/app", "-c", "select 1"]),
    ] {
        assert_eq!(ask("postgres", elsewhere), (Outcome::Unknown, Check::Client));
    }
    for here in [
        exec(&["pg_isready", "-h", "127.0.0.1"]),
        exec(&["pg_isready", "-h/var/run/postgresql"]),
        exec(&["sh", "-c", "pg_isready --host $POD_IP"]),
        exec(&["psql", "postgresql://app@[::1]:5432/app", "-c", "select 1"]),
    ] {
        assert_eq!(ask("postgres", here), (Outcome::Fails, Check::Client));
    }
    assert_eq!(ask("redis", exec(&["redis-cli", "ping"])), (Outcome::Passes, Check::Client));
    assert_eq!(ask("redis", exec(&["sh", "-c", "redis-cli ping | grep PONG"])), (Outcome::Fails, Check::Client));
    assert_eq!(ask("redis", exec(&["sh", "-c", "/health/ping_liveness_local.sh 5"])), (Outcome::Passes, Check::Client));
    assert_eq!(ask("spilo-16", json!({"httpGet": {"path": "/liveness", "port": 8008}})).0, Outcome::Passes);
    assert_eq!(ask("spilo-16", json!({"httpGet": {"path": "/primary", "port": 8008}})).0, Outcome::Fails);
}

#[test]
fn every_profile_says_how_it_knows() {
    for profile in PROFILES {
        assert!(!profile.opens_source.citation.is_empty(), "{}", profile.engine);
        assert!(!profile.family.is_empty() && profile.port != 0, "{}", profile.engine);
        assert_eq!(super::profile(profile.engine).engine, profile.engine);
    }
}

#[test]
fn a_workload_view_feeds_recognition() {
    let workload = Workload::new(
        json!({"kind": "StatefulSet", "spec": {"template": {"spec": {"containers": [{"name": "db", "image": "postgres"}]}}}}),
    );
    assert!(recognise(&workload.containers()[0], &[]).is_some());
}
