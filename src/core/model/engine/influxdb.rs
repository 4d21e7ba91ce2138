//! InfluxDB 1 and 2, which open their port late, and 3, of which nobody has shown it.

use super::listen::loopback_only;
use super::profile::{
    Answers, Client, Endpoint, Evidence, Http, Opens, OtherPort, Profile, Source, SteadyLiveness, UNKNOWN,
};
use super::recognise::image_tag;
use crate::api::Engine;
use crate::core::model::workload::Container;

const HTTP_ADDRESS: &[&str] = &["INFLUXDB_HTTP_BIND_ADDRESS", "INFLUXD_HTTP_BIND_ADDRESS"];
const HTTP3_ADDRESS: &[&str] = &["INFLUXDB3_HTTP_BIND_ADDR"];

pub(super) static INFLUXDB: Profile = Profile {
    images: &["influxdb", "influxdb-enterprise", "influxdb2"],
    servers: &["influxd"],
    environment: &["INFLUXDB_*", "INFLUXD_*", "DOCKER_INFLUXDB_*"],
    data_paths: &["/var/lib/influxdb", "/var/lib/influxdb2", "/bitnami/influxdb"],
    port: 8086,
    port_names: &["api", "http", "influxdb"],
    port_environment: HTTP_ADDRESS,
    port_arguments: &["--http-bind-address"],
    other_ports: &[OtherPort { number: 8088, names: &["rpc"], opens: Opens::Unknown, what: "backups" }],
    opens: Opens::Late,
    opens_source: Source {
        kind: Evidence::Issue,
        citation: "1.x: /ping is refused while the WAL is read (helm/charts#10405, influxdata/tick-charts#75); 2.x: influxdata/influxdb: cmd/influxd/launcher/launcher.go, engine.Open comes before runHTTP (a newer branch listens first)",
    },
    in_recovery: "reads its write-ahead log before it listens",
    clients: &[
        Client { programs: &["influx"], with: &["ping"], ..Client::ANY },
        Client { programs: &["influx"], answers: Answers { alone: UNKNOWN, ..Answers::WITH_LOGIN }, ..Client::ANY },
    ],
    endpoints: &[
        Endpoint { path: "/ping", ..LATE },
        Endpoint { path: "/health", ..LATE },
        Endpoint { path: "/ready", ..LATE },
        Endpoint { path: "/", login_refused: Http::Unknown, ..LATE },
    ],
    // A meta node of the enterprise edition holds the cluster's state, not the data.
    ruled_out: |container| image_tag(container.image()).ends_with("-meta"),
    unreachable: |container| loopback_only(container, &["--http-bind-address"], HTTP_ADDRESS),
    ..INFLUXDB_LIKE
};

pub(super) static INFLUXDB3: Profile = Profile {
    images: &["influxdb3", "influxdb3-*", "influxdb:3*"],
    servers: &["influxdb3"],
    environment: &["INFLUXDB3_*"],
    data_paths: &["/var/lib/influxdb3"],
    port: 8181,
    port_names: &["http", "influxdb"],
    port_environment: HTTP3_ADDRESS,
    port_arguments: &["--http-bind"],
    opens: Opens::Unknown,
    opens_source: Source {
        kind: Evidence::Unverified,
        citation: "InfluxDB 3 replays a write-ahead log; when it listens nobody has read here",
    },
    in_recovery: "may not answer while it replays its write-ahead log",
    endpoints: &[
        // 3 asks for a token on them unless told otherwise.
        Endpoint { path: "/health", login_refused: Http::Unknown, does: "tells that it answers", ..Endpoint::ANY },
        Endpoint { path: "/ping", login_refused: Http::Unknown, does: "tells that it answers", ..Endpoint::ANY },
    ],
    ruled_out: is_explorer,
    unreachable: |container| loopback_only(container, &["--http-bind"], HTTP3_ADDRESS),
    ..INFLUXDB_LIKE
};

const INFLUXDB_LIKE: Profile = Profile {
    engine: Engine::InfluxDB,
    family: "InfluxDB",
    steady: SteadyLiveness::SocketAfterStart,
    ..Profile::BLANK
};
const LATE: Endpoint = Endpoint {
    recovering: Http::Closed,
    does: "is refused while the write-ahead log is read, since the port opens after it",
    ..Endpoint::ANY
};

/// The web console has a name that begins as the server's.
fn is_explorer(container: &Container<'_>) -> bool {
    super::image_name(container.image()).contains("explorer")
}
