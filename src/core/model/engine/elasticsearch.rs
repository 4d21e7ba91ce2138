//! Elasticsearch and OpenSearch.

use super::catalogue::KnownScript;
use super::profile::{
    Answers, Endpoint, Evidence, FAILS, Http, Opens, OtherPort, PASSES, Profile, Shutdown, Source, SteadyLiveness,
    UNKNOWN,
};
use crate::api::Engine;
use crate::core::model::command::option_value;
use crate::core::model::workload::Container;

pub(super) static ELASTICSEARCH: Profile = Profile {
    engine: Engine::Elasticsearch,
    images: &["elasticsearch", "elasticsearch-oss", "elasticsearch-wolfi", "docker-elasticsearch-kubernetes"],
    servers: &["elasticsearch"],
    environment: &["ELASTICSEARCH_*", "ES_JAVA_OPTS", "discovery.*", "cluster.name", "node.name", "ES_SETTING_*"],
    data_paths: &["/usr/share/elasticsearch/data", "/bitnami/elasticsearch", "/var/lib/elasticsearch"],
    port_environment: &["http.port", "ELASTICSEARCH_HTTP_PORT_NUMBER"],
    startup_practice: "its own operator sets no liveness (elastic/cloud-on-k8s: pkg/controller/elasticsearch/nodespec)",
    ..SEARCH
};

pub(super) static OPENSEARCH: Profile = Profile {
    engine: Engine::OpenSearch,
    images: &["opensearch"],
    servers: &["opensearch", "opensearch-docker-entrypoint.sh"],
    environment: &["OPENSEARCH_*", "discovery.*", "cluster.name", "node.name"],
    data_paths: &["/usr/share/opensearch/data", "/bitnami/opensearch"],
    port_environment: &["http.port", "OPENSEARCH_HTTP_PORT_NUMBER"],
    startup_practice: "its own chart allows 305 s (5 s + 30 × 10 s) and sets no liveness (opensearch-project/helm-charts)",
    ..SEARCH
};

const CLUSTER: &str = "the state of the whole cluster";

const SEARCH: Profile = Profile {
    family: "Elasticsearch",
    ruled_out_by: &["elasticsearch-plugin", "elasticsearch-certutil", "opensearch-plugin", "kibana", "dashboards"],
    port: 9200,
    port_names: &["rest-api", "es-http", "elasticsearch"],
    port_arguments: &["-Ehttp.port"],
    client_port_options: &[],
    other_ports: &[
        OtherPort { number: 9300, names: &["transport", "tcp-transport"], opens: Opens::Early, what: "other nodes" },
        OtherPort { number: 9600, names: &["metrics"], opens: Opens::Unknown, what: "metrics" },
        OtherPort { number: 8080, names: &["readiness"], opens: Opens::Unknown, what: "the readiness port" },
    ],
    opens: Opens::Early,
    opens_source: Source {
        kind: Evidence::Source,
        citation: "elastic/elasticsearch and opensearch-project/OpenSearch: server, node/Node.java, start(): HTTP starts once the node's own metadata is loaded and after at most 30 s of waiting for a master; shards recover behind it",
    },
    in_recovery: "may refuse while its shards recover",
    // A start that waits for a master, or loads much metadata, still wants a startup probe before the socket.
    steady: SteadyLiveness::SocketAfterStart,
    endpoints: &[
        Endpoint {
            path: "/_cluster/health",
            query: &["wait_for_"],
            alone: Http::Refusing,
            depends_on: CLUSTER,
            does: "waits for a state of the whole cluster",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/_cluster/health",
            query: &["local"],
            login_refused: Http::Unknown,
            does: "is this node's own view of the cluster",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/_cluster/",
            alone: Http::Refusing,
            login_refused: Http::Unknown,
            depends_on: CLUSTER,
            does: "needs a master, so that all nodes fail together without one",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/_cat/",
            alone: Http::Refusing,
            login_refused: Http::Unknown,
            depends_on: CLUSTER,
            does: "needs a master, so that all nodes fail together without one",
            ..Endpoint::ANY
        },
        Endpoint {
            path: "/",
            alone: Http::Unknown,
            login_refused: Http::Unknown,
            does: "is this node's own answer",
            ..Endpoint::ANY
        },
    ],
    shutdown: Some(Shutdown { seconds: 120, because: "flushes its shards; the charts allow 120 s" }),
    unreachable,
    ..Profile::BLANK
};

/// `_cluster/health?local=true` with the password, against the node itself.
const LOCAL_HEALTH: Answers = Answers { serving: PASSES, recovering: UNKNOWN, login_refused: FAILS, alone: UNKNOWN };

pub(super) const SCRIPTS: &[KnownScript] = &[
    KnownScript {
        path: "/opt/bitnami/scripts/elasticsearch/healthcheck.sh",
        does: "Bitnami's healthcheck.sh asks this node for _cluster/health?local=true",
        answers: LOCAL_HEALTH,
        source: "bitnami/containers: bitnami/elasticsearch, rootfs/opt/bitnami/scripts/libelasticsearch.sh",
        ..KnownScript::ANY
    },
    KnownScript {
        path: "/opt/bitnami/scripts/opensearch/healthcheck.sh",
        does: "Bitnami's healthcheck.sh asks this node for _cluster/health?local=true, and takes a security plugin that is not set up yet",
        answers: LOCAL_HEALTH,
        source: "bitnami/containers: bitnami/opensearch, rootfs/opt/bitnami/scripts/libopensearch.sh",
        ..KnownScript::ANY
    },
];

/// `http.host` or `network.host` with loopback only, from the environment or `-E`.
fn unreachable(container: &Container<'_>) -> Option<String> {
    let arguments = super::listen::words(container);
    ["http.host", "network.host"].into_iter().find_map(|setting| {
        let argument = format!("-E{setting}");
        let in_environment = || container.environment().find_map(|(name, value)| value.filter(|_| name == setting));
        let hosts = option_value(&arguments, &[&argument]).or_else(in_environment)?;
        let loopback = |host: &str| {
            let host = host.trim().trim_matches(['[', ']', '"']);
            matches!(host, "localhost" | "_local_" | "::1") || host.starts_with("127.")
        };
        hosts.split(',').all(loopback).then(|| format!("{setting} is {hosts}: nothing answers on the pod's IP"))
    })
}
