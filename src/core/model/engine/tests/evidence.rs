//! What every profile and script has to hold.

use super::*;

#[test]
fn what_nobody_has_verified_decides_no_write() {
    let with_variants =
        PROFILES.iter().flat_map(|profile| std::iter::once(*profile).chain(profile.variants.iter().map(|v| v.profile)));
    for profile in with_variants {
        let engine = profile.engine;
        if profile.opens_source.kind == Evidence::Unverified {
            assert_eq!(profile.opens, Opens::Unknown, "{engine}: what is not verified is not known");
            assert!(!profile.steady.survives_recovery(), "{engine}");
        } else {
            assert_ne!(profile.opens, Opens::Unknown, "{engine}: what is known has a word for it");
        }
        // What takes the place of a check without a startup probe before it has to be open while the server recovers.
        if profile.steady.survives_recovery() {
            let is_early = match profile.steady {
                SteadyLiveness::OtherSocket(port) | SteadyLiveness::Http { port, .. } => port.opens.is_early(),
                _ => profile.opens.is_early(),
            };
            assert!(is_early, "{engine}");
        }
        // One port has one answer.
        for port in profile.other_ports {
            assert!(port.number != profile.port || profile.opens == port.opens, "{engine}: {}", port.what);
        }
    }
}

#[test]
fn every_variant_is_of_the_same_family() {
    for profile in PROFILES {
        for variant in profile.variants {
            assert_eq!(variant.profile.family, profile.family);
            assert!(variant.profile.variants.is_empty(), "{}: one step is enough", profile.engine);
            assert!(!variant.profile.opens_source.citation.is_empty(), "{}", profile.engine);
        }
    }
}

#[test]
fn what_decides_beside_the_server_has_a_name() {
    for profile in PROFILES {
        for client in profile.clients {
            let fails_alone = client.answers.alone.outcome == Outcome::Fails;
            assert!(!fails_alone || !client.depends_on.is_empty(), "{}: {:?}", profile.engine, client.programs);
        }
        for endpoint in profile.endpoints {
            assert!(endpoint.alone != Http::Refusing || !endpoint.depends_on.is_empty(), "{}", endpoint.path);
            assert!(!endpoint.does.is_empty(), "{}: {}", profile.engine, endpoint.path);
        }
    }
    for script in known_scripts() {
        let fails_alone = script.answers.alone.outcome == Outcome::Fails;
        assert!(!fails_alone || !script.depends_on.is_empty(), "{}", script.path);
    }
}

#[test]
fn what_only_looks_like_one_of_these_is_none() {
    for (image, port) in [
        ("bitnami/mongodb-exporter:0.47", 27017),
        ("kbudde/rabbitmq-exporter", 5672),
        ("rabbitmqoperator/cluster-operator:2", 5672),
        ("danielqsj/kafka-exporter:v1", 9092),
        ("zenko/kafka-manager:1.3", 9000),
        ("provectuslabs/kafka-ui", 8080),
        ("quay.io/strimzi/operator:0.45", 8080),
        ("quay.io/coreos/zetcd:v0.0.3", 2181),
        ("quay.io/coreos/etcd-operator:v0.9", 8080),
        ("thelastpickle/cassandra-reaper:1.3", 8080),
        ("k8ssandra/cass-operator:1", 8080),
        ("prometheuscommunity/elasticsearch-exporter:v1", 9108),
        ("docker.elastic.co/kibana/kibana:8", 5601),
        ("opensearchproject/opensearch-dashboards:2", 5601),
        ("altinity/clickhouse-operator:0.25", 9999),
        ("altinity/metrics-exporter:0.25", 8888),
        ("natsio/nats-box:0.19", 4222),
        ("natsio/prometheus-nats-exporter:0.1", 7777),
        ("quay.io/prometheus-operator/prometheus-operator:v0.80", 8080),
        ("prom/pushgateway", 9091),
        ("victoriametrics/vmagent:v1", 8429),
        ("ghcr.io/dragonflydb/operator:1", 8080),
    ] {
        let container = json!({"name": "a", "image": image, "ports": [{"containerPort": port, "name": "http"}],
            "env": [{"name": "KAFKA_BROKERS", "value": "k:9092"}, {"name": "ELASTICSEARCH_HOSTS", "value": "http://es:9200"}]});
        assert_eq!(seen(&container), "nothing", "{image}");
    }
}
