//! etcd.

use super::catalogue::KnownScript;
use super::profile::{
    Answers, Client, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Shutdown, Source,
    SteadyLiveness, UNKNOWN,
};
use crate::api::Engine;
use crate::core::model::command::option_value;
use crate::core::model::workload::Container;

const QUORUM: &str = "a quorum of the cluster";

pub(super) static ETCD: Profile = Profile {
    engine: Engine::Etcd,
    family: "etcd",
    images: &["etcd", "etcd-amd64", "etcd-arm64", "etcd-server", "etcd-wrapper"],
    servers: &["etcd"],
    ruled_out_by: &["gateway", "grpc-proxy", "etcdbrctl", "snapshot.sh"],
    environment: &["ETCD_*", "ETCDCTL_*"],
    data_paths: &["/bitnami/etcd", "/var/lib/etcd", "/var/run/etcd", "/var/etcd"],
    port: 2379,
    port_names: &["client", "etcd", "etcd-client"],
    port_environment: &["ETCD_LISTEN_CLIENT_URLS"],
    port_arguments: &["--listen-client-urls"],
    client_port_options: &["--endpoints"],
    other_ports: &[
        OtherPort { number: 2380, names: &["peer", "server"], opens: Opens::Unknown, what: "its peers" },
        OtherPort { number: 2381, names: &["metrics"], opens: Opens::Late, what: "metrics and health" },
    ],
    opens: Opens::Early,
    opens_source: Source {
        kind: Evidence::Measured,
        citation: "etcd 3.4 with a log of 202 MB: the port opened after 0.05 s, the first answer came after 2.1 s; the same in the source of 3.6 (etcd-io/etcd: server/embed/etcd.go)",
    },
    in_recovery: "takes connections but answers none of them until its log is replayed",
    steady: SteadyLiveness::Socket,
    startup_practice: "kubeadm allows 240 s (24 × 10 s); gardener/etcd-druid sets no liveness on purpose (#1361)",
    clients: &[
        // Permission denied counts as healthy.
        Client {
            with: &["health"],
            answers: Answers { alone: FAILS, ..Answers::LOCAL },
            depends_on: QUORUM,
            ..ETCDCTL
        },
        Client {
            with: &["cluster-health"],
            answers: Answers { alone: FAILS, ..Answers::LOCAL },
            depends_on: QUORUM,
            ..ETCDCTL
        },
        Client { with: &["endpoint", "status"], ..ETCDCTL },
        Client {
            with: &["member", "list"],
            answers: Answers { login_refused: UNKNOWN, alone: FAILS, ..Answers::LOCAL },
            depends_on: QUORUM,
            ..ETCDCTL
        },
        Client {
            with: &["get"],
            answers: Answers { login_refused: FAILS, alone: FAILS, ..Answers::LOCAL },
            depends_on: QUORUM,
            ..ETCDCTL
        },
        Client {
            answers: Answers { serving: PASSES, recovering: FAILS, login_refused: UNKNOWN, alone: UNKNOWN },
            ..ETCDCTL
        },
    ],
    endpoints: &[
        Endpoint {
            path: "/livez",
            recovering: Http::Closed,
            does: "is this member's own state, answered once its log is replayed",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/readyz",
            recovering: Http::Closed,
            alone: Http::Refusing,
            depends_on: QUORUM,
            does: "needs a leader",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/health",
            query: &["serializable=true"],
            recovering: Http::Closed,
            does: "asks this member only, once its log is replayed",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/health",
            recovering: Http::Closed,
            alone: Http::Refusing,
            depends_on: QUORUM,
            does: "needs a leader and no alarm, and reads through the quorum",
            ..Endpoint::ANY
        },
        Endpoint { path: "/", recovering: Http::Closed, does: "is answered once its log is replayed", ..Endpoint::ANY },
    ],
    shutdown: Some(Shutdown { seconds: 30, because: "hands over leadership" }),
    unreachable,
    ..Profile::BLANK
};

const ETCDCTL: Client = Client { programs: &["etcdctl"], login_options: &["--user"], ..Client::ANY };

pub(super) const SCRIPTS: &[KnownScript] = &[
    KnownScript {
        path: "/opt/bitnami/scripts/etcd/healthcheck.sh",
        does: "Bitnami's healthcheck.sh runs etcdctl endpoint health against the first advertised URL, so quorum and DNS decide it",
        answers: Answers { alone: FAILS, ..Answers::LOCAL },
        depends_on: "a quorum of the cluster, with the DNS name that it advertises,",
        source: "bitnami/containers: bitnami/etcd/3.6/debian-12/rootfs/opt/bitnami/scripts/etcd/healthcheck.sh",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/tmp/etcd-healthcheck.sh",
        does: "OpenStack-Helm's etcd-healthcheck.sh runs etcdctl endpoint health against the pod's DNS name, so quorum and DNS decide it",
        answers: Answers { alone: FAILS, ..Answers::LOCAL },
        depends_on: "a quorum of the cluster, with the pod's DNS name,",
        source: "openstack/openstack-helm: etcd/templates/bin/_etcd-healthcheck.sh.tpl",
        ..KnownScript::ANY
    },
];

/// Client URLs with loopback addresses or unix sockets only.
fn unreachable(container: &Container<'_>) -> Option<String> {
    let arguments = super::listen::words(container);
    let in_environment =
        || container.environment().find_map(|(name, value)| value.filter(|_| name == "ETCD_LISTEN_CLIENT_URLS"));
    // The option beats the variable.
    let urls = option_value(&arguments, &["--listen-client-urls"]).or_else(in_environment)?;
    let local = |url: &str| {
        let host = url.trim().split_once("://").map_or(url, |(_, rest)| rest);
        url.trim().starts_with("unix")
            || host.starts_with("localhost")
            || host.starts_with("127.")
            || host.starts_with("[::1]")
    };
    urls.split(',').all(local).then(|| format!("its client URLs are {urls}: nothing answers on the pod's IP"))
}
