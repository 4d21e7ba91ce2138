//! Stores of metrics and logs: Prometheus, Thanos, Mimir, Loki and VictoriaMetrics.

use super::profile::{
    Client, Endpoint, Evidence, Http, Opens, OtherPort, Profile, Shutdown, Source, SteadyLiveness, Variant,
};
use crate::api::Engine;
use crate::core::model::command::option_value;
use crate::core::model::workload::Container;

const NO_CLIENTS: &[Client] = &[];

pub(super) static PROMETHEUS: Profile = Profile {
    engine: Engine::Prometheus,
    family: "Prometheus",
    images: &["prometheus"],
    servers: &["prometheus"],
    ruled_out_by: &["promtool"],
    data_paths: &["/prometheus", "/opt/bitnami/prometheus/data"],
    port: 9090,
    port_names: &["prometheus", "http-web"],
    port_arguments: &["--web.listen-address"],
    opens: Opens::Early,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "prometheus/prometheus: cmd/prometheus/main.go, the listener is there before the TSDB is opened",
    },
    in_recovery: "answers /-/ready with 503 while it replays its log, and /-/healthy with 200",
    steady: SteadyLiveness::Socket,
    startup_practice: "GitLab allowed an hour (gitlab-com/gl-infra#14359)",
    endpoints: &[
        Endpoint {
            path: "/-/healthy",
            recovering: Http::Good,
            does: "is 200 as long as the process runs",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/-/ready",
            recovering: Http::Refusing,
            does: "is 503 while the log is replayed",
            ..Endpoint::ANY
        },
    ],
    shutdown: Some(Shutdown { seconds: 300, because: "writes its head block" }),
    unreachable: listens_on_loopback,
    ..UNMEASURED
};

pub(super) static THANOS: Profile = Profile {
    engine: Engine::Thanos,
    family: "Thanos",
    images: &["thanos"],
    servers: &["thanos"],
    starts: &["receive", "store", "rule"],
    ruled_out_by: &["query", "query-frontend", "compact", "sidecar", "tools", "bucket"],
    data_paths: &["/var/thanos", "/bitnami/thanos"],
    port: 10902,
    port_arguments: &["--http-address"],
    other_ports: &[OtherPort { number: 10901, names: &["grpc"], opens: Opens::Unknown, what: "gRPC" }],
    endpoints: &[
        Endpoint { path: "/-/healthy", does: "is said to be 200 as long as the process runs", ..Endpoint::ANY },
        Endpoint { path: "/-/ready", does: "is said to be 503 while the log is replayed", ..Endpoint::ANY },
    ],
    shutdown: Some(Shutdown { seconds: 300, because: "uploads or closes its blocks" }),
    ..UNMEASURED
};

pub(super) static MIMIR: Profile = Profile {
    engine: Engine::Mimir,
    family: "Mimir",
    images: &["mimir"],
    servers: &["mimir"],
    port: 8080,
    port_names: &["http-metrics"],
    port_arguments: &["-server.http-listen-port", "--server.http-listen-port"],
    other_ports: GRPC,
    endpoints: READY,
    shutdown: Some(Shutdown { seconds: 300, because: "flushes what an ingester holds in memory" }),
    ..UNMEASURED
};

pub(super) static LOKI: Profile = Profile {
    engine: Engine::Loki,
    family: "Loki",
    images: &["loki", "grafana-loki"],
    servers: &["loki"],
    data_paths: &["/var/loki", "/bitnami/grafana-loki"],
    port: 3100,
    port_names: &["http-metrics"],
    port_arguments: &["-server.http-listen-port", "--server.http-listen-port"],
    other_ports: GRPC,
    endpoints: READY,
    shutdown: Some(Shutdown { seconds: 300, because: "flushes what an ingester holds in memory" }),
    ..UNMEASURED
};

pub(super) static VICTORIAMETRICS: Profile =
    Profile { variants: &[Variant { when: is_storage, profile: &VMSTORAGE }], ..VICTORIA };

/// The store of the cluster version.
static VMSTORAGE: Profile = Profile { port: 8482, ..VICTORIA };

const VICTORIA: Profile = Profile {
    engine: Engine::VictoriaMetrics,
    family: "VictoriaMetrics",
    images: &["victoria-metrics", "victoriametrics", "vmstorage", "victoriametrics-vmstorage", "vmsingle"],
    servers: &["victoria-metrics-prod", "vmstorage-prod", "vmstorage"],
    ruled_out_by: &["vmagent", "vminsert", "vmselect", "vmalert", "vmauth", "vmbackup"],
    data_paths: &["/victoria-metrics-data", "/vm-data", "/bitnami/victoriametrics"],
    port: 8428,
    port_arguments: &["-httpListenAddr", "--httpListenAddr"],
    other_ports: &[
        OtherPort { number: 8400, names: &["tcp-vminsert", "vminsert"], opens: Opens::Unknown, what: "vminsert" },
        OtherPort { number: 8401, names: &["tcp-vmselect", "vmselect"], opens: Opens::Unknown, what: "vmselect" },
    ],
    endpoints: &[Endpoint { path: "/health", does: "is answered once the store is open", ..Endpoint::ANY }],
    shutdown: Some(Shutdown { seconds: 60, because: "flushes what it holds in memory" }),
    ..UNMEASURED
};

const GRPC: &[OtherPort] = &[
    OtherPort { number: 9095, names: &["grpc"], opens: Opens::Unknown, what: "gRPC" },
    OtherPort { number: 7946, names: &["memberlist", "http-memberlist"], opens: Opens::Unknown, what: "its peers" },
];
const READY: &[Endpoint] =
    &[Endpoint { path: "/ready", does: "is said to be 503 while the log is replayed", ..Endpoint::ANY }];

/// What is known of those that nobody has measured.
const UNMEASURED: Profile = Profile {
    clients: NO_CLIENTS,
    client_port_options: &[],
    opens: Opens::Unknown,
    opens_source: Source { kind: Evidence::Unverified, citation: "nobody has measured when its port opens" },
    in_recovery: "may not answer while it replays its log",
    steady: SteadyLiveness::KeepCheck("nobody has shown which of its ports is open while it replays its log"),
    ..Profile::BLANK
};

fn is_storage(container: &Container<'_>) -> bool {
    container.image().contains("vmstorage") || container.command_line().iter().any(|word| word.contains("vmstorage"))
}

fn listens_on_loopback(container: &Container<'_>) -> Option<String> {
    let arguments = super::listen::words(container);
    let address = option_value(&arguments, &["--web.listen-address"])?;
    (address.starts_with("localhost") || address.starts_with("127.") || address.starts_with("[::1]"))
        .then(|| format!("--web.listen-address is {address}: nothing answers on the pod's IP"))
}
