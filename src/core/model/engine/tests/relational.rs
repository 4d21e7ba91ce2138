//! PostgreSQL, MySQL and its kin, Redis and its kin: probes in every situation.

use super::*;

#[test]
fn postgresql_is_asked_in_many_ways() {
    verdicts(
        "postgres:17",
        &[
            (json!("pg_isready -U app"), "fails"),
            (json!("psql -c 'select 1'"), "fails"),
            (json!("psql -tAc 'select pg_is_in_recovery()' | grep -q f"), "fails others"),
            (json!("psql -tAc 'select pg_is_in_recovery()' | grep -q t"), "fails"),
            (json!("nc -z localhost 5432"), "passes"),
            (json!("kill -0 1"), "passes"),
        ],
    );
    verdicts(
        "sclorg/postgresql-15-c9s",
        &[(json!("/usr/libexec/check-container --live"), "passes"), (json!("/usr/libexec/check-container"), "fails")],
    );
    verdicts("bitnami/postgresql-repmgr:17", &[(json!("/liveness-probe.sh"), "fails")]);
    verdicts("goharbor/harbor-db:v2", &[(json!("/docker-healthcheck.sh"), "fails login")]);
}

#[test]
fn mysql_forgives_a_ping_what_it_does_not_forgive_a_query() {
    verdicts(
        "mysql:8.0",
        &[
            (json!("mysqladmin ping -uroot -p$PASSWORD"), "fails"),
            (json!("mysqladmin status -uroot -p$PASSWORD"), "fails login"),
            (json!("mysql -e 'select 1'"), "fails login"),
            (json!("mysqlsh --uri root@localhost -e 'print(1)'"), "fails login Python"),
            (json!("nc -z localhost 3306"), "fails"),
            (json!("mysqladmin ping || true"), "passes always passes"),
        ],
    );
    verdicts(
        "mariadb:11",
        &[
            (json!("healthcheck.sh --connect"), "fails"),
            (json!("healthcheck.sh --connect --innodb_initialized"), "fails login"),
            (json!("healthcheck.sh --su-mysql --connect --innodb_initialized"), "fails login"),
            (json!("healthcheck.sh --galera_online"), "fails login others"),
            (json!("healthcheck.sh --replication_io --replication"), "fails login others"),
        ],
    );
}

#[test]
fn galera_is_decided_by_its_cluster() {
    verdicts(
        "bitnami/mariadb-galera:12",
        &[
            (json!("mysql -e 'select 1'"), "fails login"),
            (json!("mysql -e 'select * from mysql.wsrep_cluster_members;'"), "fails login others"),
            (json!("mysql -e \"show status like 'wsrep_ready'\" | grep ON"), "fails login others"),
            (json!("mysql -e \"show status like 'wsrep_ready'\""), "fails login"),
            (
                json!("mysql -Ne \"show status like 'wsrep_local_state_comment'\" | grep -q Synced"),
                "fails login others",
            ),
            (json!("mysqladmin ping"), "fails"),
            (json!("/var/lib/mysql/liveness-check.sh"), "passes login"),
            (json!("/tmp/health.sh -t liveness"), "fails login others"),
        ],
    );
    // A MariaDB image that declares Galera's ports is a member of a cluster.
    let member =
        json!({"name": "a", "image": "mariadb:11", "ports": [{"containerPort": 3306}, {"containerPort": 4567}]});
    assert_eq!(seen(&member), "Certain Galera");
    let hint = [DatabaseHint { container: "a".to_owned(), engine: Engine::MariaDB, port: None }];
    with(&member, &hint, |_, database| assert_eq!(database.unwrap().profile.engine, Engine::MariaDB));
}

#[test]
fn redis_and_its_kin_answer_while_they_load() {
    for (image, cli) in [("redis:7", "redis-cli"), ("valkey/valkey:9", "valkey-cli"), ("eqalpha/keydb", "keydb-cli")] {
        verdicts(
            image,
            &[
                (json!(format!("{cli} ping")), "passes"),
                (json!(format!("{cli} -e ping")), "fails"),
                (json!(format!("{cli} -a $PASSWORD ping | grep PONG")), "fails login"),
                (json!(format!("{cli} ping | grep PONG")), "fails"),
                (json!(format!("{cli} ping | grep -E 'PONG|LOADING'")), "passes"),
                (json!(format!("{cli} info replication | grep master_link_status:up")), "fails others"),
                (json!("/health/ping_liveness_local.sh 5"), "passes login"),
                (json!("/scripts/ping_readiness_local.sh 1"), "fails login"),
                (json!("/health/ping_liveness_local_and_master.sh 5"), "passes login others"),
                (json!({"tcpSocket": {"port": 6379}}), "passes"),
            ],
        );
    }
    verdicts(
        "bitnami/redis-sentinel:8",
        &[
            (json!("redis-cli -p 26379 ping | grep -q PONG"), "passes"),
            (json!("/health/ping_sentinel.sh 5"), "passes login"),
        ],
    );
}

#[test]
fn dragonfly_is_reported_until_somebody_measures_it() {
    for image in ["docker.dragonflydb.io/dragonflydb/dragonfly:v1.20.0", "dragonflydb/dragonfly:v1.40.1"] {
        assert_eq!(seen(&json!({"name": "a", "image": image})), "Certain Dragonfly");
        verdicts(
            image,
            &[
                (json!("/usr/local/bin/healthcheck.sh"), "unknown"),
                (json!("redis-cli ping | grep PONG"), "unknown"),
                (json!({"tcpSocket": {"port": 6379}}), "unknown"),
            ],
        );
    }
}

#[test]
fn a_redis_image_that_is_asked_on_the_sentinels_port_runs_a_sentinel() {
    let asked = probed("redis:7", &json!("redis-cli -p 26379 ping | grep -q PONG"));
    assert_eq!((seen(&asked).as_str(), verdict(&asked).as_str()), ("Certain Sentinel", "passes"));
    let declared = json!({"name": "a", "image": "valkey/valkey:9", "ports": [{"containerPort": 26379}]});
    assert_eq!(seen(&declared), "Certain Sentinel");
    let both = json!({"name": "a", "image": "redis:7", "ports": [{"containerPort": 6379}, {"containerPort": 26379}]});
    assert_eq!(seen(&both), "Certain Redis");
}
