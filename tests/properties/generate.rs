//! Workloads and policies as people write them, the odd ones included.

use proptest::prelude::*;
use proptest::sample::select;
use reprieve::core::model::policy::Policy;
use serde_json::{Map, Value, json};

use crate::support::defaults;
use crate::support::world::policy as policy_from;

const POSTGRES: &[&[&str]] = &[
    &["pg_isready"],
    &["sh", "-c", "exec pg_isready -U app -h 127.0.0.1"],
    &["bash", "-ec", "timeout 3 psql -c 'select 1'"],
    &["sh", "-c", "pg_isready || exit 0"],
    &["pgrep", "postgres"],
    &["/scripts/alive.sh"],
    &["pg_isready", "-p", "5433"],
    &["pg_isready", "-h", "db-primary.other"],
    &["/docker-healthcheck.sh"],
    &["sh", "-c", "pg_isready; exit 1"],
    &["sh", "-c", "pg_isready || true"],
    &["curl", "-f", "http://localhost:8008/primary"],
];
const MYSQL: &[&[&str]] = &[
    &["mysqladmin", "ping"],
    &["sh", "-c", "mysqladmin status -p\"$MYSQL_ROOT_PASSWORD\""],
    &["mysql", "-e", "select 1"],
    &["healthcheck.sh", "--connect"],
    &["pidof", "mysqld"],
];
const REDIS: &[&[&str]] = &[
    &["redis-cli", "ping"],
    &["sh", "-c", "redis-cli -p 6380 ping | grep PONG"],
    &["sh", "-c", "/health/ping_liveness_local.sh 5"],
    &["sh", "-c", "test \"$(redis-cli ping)\" = PONG"],
    &["valkey-cli", "-e", "ping"],
];

fn engines() -> impl Strategy<Value = (&'static str, &'static [&'static [&'static str]], i64)> {
    select(vec![
        ("postgres:16", POSTGRES, 5432),
        ("goharbor/harbor-db:v2", POSTGRES, 5432),
        ("ghcr.io/zalando/spilo-16:3", POSTGRES, 5432),
        ("mysql:8.4", MYSQL, 3306),
        ("mariadb:11", MYSQL, 3306),
        ("bitnami/mariadb-galera:12", MYSQL, 3306),
        ("redis:7", REDIS, 6379),
        ("valkey/valkey:8", REDIS, 6379),
        ("example/app:1", POSTGRES, 8080),
    ])
}

fn handlers(commands: &'static [&'static [&'static str]], port: i64) -> BoxedStrategy<Value> {
    let exec = select(commands.to_vec()).prop_map(|command| json!({"exec": {"command": command}}));
    let socket = prop_oneof![
        Just(json!({"tcpSocket": {"port": port}})),
        Just(json!({"tcpSocket": {"port": "client"}})),
        Just(json!({"tcpSocket": {"port": port.to_string()}})),
        Just(json!({"tcpSocket": {"port": 9999}})),
    ];
    let http = prop_oneof![
        Just(json!({"httpGet": {"port": 8008, "path": "/liveness"}})),
        Just(
            json!({"httpGet": {"port": 8008, "path": "/primary", "scheme": "HTTPS", "httpHeaders": [{"name": "a", "value": "b"}]}})
        ),
        Just(json!({"httpGet": {"port": 8080}})),
        Just(json!({"tcpSocket": {"port": "nobodys"}})),
        Just(json!({"grpc": {"port": 8081}})),
    ];
    let both = (exec.clone(), socket.clone()).prop_map(|(mut one, other)| {
        one["tcpSocket"] = other["tcpSocket"].clone();
        one
    });
    let wrong = exec.clone().prop_map(|mut one| {
        one["httpGet"] = json!({"port": 8080});
        one
    });
    prop_oneof![12 => exec, 4 => socket, 2 => http, 1 => both, 1 => wrong, 1 => Just(json!({}))].boxed()
}

fn timings() -> impl Strategy<Value = Map<String, Value>> {
    let field = |values: Vec<i64>| proptest::option::of(select(values));
    (
        field(vec![0, 5, 30, 300, 4000]),
        field(vec![0, 1, 2, 5, 10, 60, 3600]),
        field(vec![1, 1, 1, 2, 5, 30]),
        field(vec![0, 1, 3, 6, 10, 360, 5000]),
        proptest::option::weighted(0.1, select(vec![1, 2])),
        proptest::option::weighted(0.1, select(vec![0, 30])),
    )
        .prop_map(|(delay, period, timeout, failures, successes, grace)| {
            let mut map = Map::new();
            for (name, value) in [
                ("initialDelaySeconds", delay),
                ("periodSeconds", period),
                ("timeoutSeconds", timeout),
                ("failureThreshold", failures),
                ("successThreshold", successes),
                ("terminationGracePeriodSeconds", grace),
            ] {
                if let Some(value) = value {
                    map.insert(name.to_owned(), json!(value));
                }
            }
            map
        })
}

fn probe(commands: &'static [&'static [&'static str]], port: i64) -> BoxedStrategy<Option<Value>> {
    let probe = (handlers(commands, port), timings()).prop_map(|(mut probe, timings)| {
        if let Some(map) = probe.as_object_mut() {
            map.extend(timings);
        }
        probe
    });
    proptest::option::weighted(0.7, probe.boxed()).boxed()
}

fn resources() -> BoxedStrategy<Option<Value>> {
    let cpu = || proptest::option::of(select(vec!["1", "1000m", "0.5", "0", "250m", "2e3m"]).prop_map(spelled));
    let memory = || proptest::option::of(select(vec!["1Gi", "1024Mi", "1073741824", "512Mi", "0", "1.5Gi", "2G"]));
    let section = |cpu: Option<Value>, memory: Option<&str>| {
        let mut map = Map::new();
        if let Some(cpu) = cpu {
            map.insert("cpu".to_owned(), cpu);
        }
        if let Some(memory) = memory {
            map.insert("memory".to_owned(), json!(memory));
        }
        Value::Object(map)
    };
    let both = (cpu(), memory(), cpu(), memory()).prop_map(move |(cpu, memory, cpu_limit, memory_limit)| {
        json!({"requests": section(cpu, memory), "limits": section(cpu_limit, memory_limit)})
    });
    prop_oneof![
        Just(None),
        Just(Some(json!({}))),
        Just(Some(json!({"limits": {"cpu": "1", "memory": "1Gi"}}))),
        Just(Some(json!({"requests": {"ephemeral-storage": "1Gi"}}))),
        both.prop_map(Some),
    ]
    .boxed()
}

/// `2e3m` is no quantity; the API refuses it, so a plain number stands in for it.
fn spelled(text: &str) -> Value {
    if text == "2e3m" { json!(2) } else { json!(text) }
}

fn container(name: &'static str) -> BoxedStrategy<Value> {
    engines()
        .prop_flat_map(move |(image, commands, port)| {
            (
                [probe(commands, port), probe(commands, port), probe(commands, port)],
                resources(),
                select(vec![
                    json!([]),
                    json!([{"name": "client", "containerPort": port}]),
                    json!([{"containerPort": port, "protocol": "UDP"}, {"containerPort": port}]),
                    json!([{"containerPort": 1}, {"containerPort": 2}]),
                    json!([{"name": "metrics", "containerPort": 9187}]),
                ]),
                select(vec![
                    json!([]),
                    json!([{"name": "PGDATA", "value": "/data"}, {"name": "POSTGRES_DB", "value": "a"}]),
                    json!([{"name": "PGPORT", "value": "5433"}]),
                    json!([{"name": "PGPORT", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}]),
                    json!([{"name": "L", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]),
                ]),
                select(vec![
                    json!(null),
                    json!(null),
                    json!(["-c", "listen_addresses=localhost"]),
                    json!(["redis-server", "--bind", "127.0.0.1"]),
                    json!(["--port", "0"]),
                ]),
            )
                .prop_map(move |([liveness, readiness, startup], resources, ports, env, args)| {
                    let mut container =
                        json!({"name": name, "image": image, "ports": ports, "env": env, "futureField": {"a": [1]}});
                    for (field, probe) in
                        [("livenessProbe", liveness), ("readinessProbe", readiness), ("startupProbe", startup)]
                    {
                        if let Some(probe) = probe {
                            container[field] = probe;
                        }
                    }
                    if let Some(resources) = resources {
                        container["resources"] = resources;
                    }
                    if !args.is_null() {
                        container["args"] = args;
                    }
                    container
                })
        })
        .boxed()
}

/// A manifest as it was first applied: no defaults, no metadata of the server's.
pub(crate) fn manifests() -> BoxedStrategy<Value> {
    (
        container("db"),
        proptest::option::weighted(0.3, container("second")),
        proptest::option::weighted(0.2, container("native")),
        select(vec!["none", "init", "proxy"]),
        select(vec!["none", "none", "helm", "last-applied", "ssa", "unrecognised", "operator", "argo"]),
        proptest::option::weighted(0.1, select(vec!["RP001", "RP009,RP004", "RP005", "*", "rp018"])),
        (proptest::option::of(select(vec![0, 30, 60, 600])), select(vec!["OrderedReady", "Parallel"]), 1..4),
    )
        .prop_map(|(db, second, native, beside, owner, ignored, (grace, management, replicas))| {
            let mut object = json!({
                "apiVersion": "apps/v1", "kind": "StatefulSet",
                "metadata": {"name": "db", "namespace": "shop"},
                "spec": {"serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
                    "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [db]}}},
            });
            object["spec"]["podManagementPolicy"] = json!(management);
            object["spec"]["replicas"] = json!(replicas);
            let spec = &mut object["spec"]["template"]["spec"];
            if let Some(grace) = grace {
                spec["terminationGracePeriodSeconds"] = json!(grace);
            }
            if let (Some(second), Some(all)) = (second, spec["containers"].as_array_mut()) {
                all.push(second);
            }
            let mut init = Vec::new();
            if let Some(mut native) = native {
                native["restartPolicy"] = json!("Always");
                init.push(native);
            }
            if beside != "none" {
                let mut other = json!({"name": beside, "image": "example/proxy"});
                if beside == "proxy" {
                    other["restartPolicy"] = json!("Always");
                }
                init.push(other);
            }
            if !init.is_empty() {
                spec["initContainers"] = Value::Array(init);
            }
            if let Some(ignored) = ignored {
                object["metadata"]["annotations"] = json!({"reprieve.dev/ignore": ignored});
            }
            owned(object, owner)
        })
        .boxed()
}

fn owned(mut object: Value, owner: &str) -> Value {
    let fields = |object: &Value| fields_of(&object["spec"]["template"]["spec"]);
    let manager = |name: &str, operation: &str, object: &Value| {
        json!([{"manager": name, "operation": operation,
            "fieldsV1": {"f:spec": {"f:template": {"f:spec": fields(object)}}}}])
    };
    let metadata = |object: &mut Value, field: &str, value: Value| object["metadata"][field] = value;
    match owner {
        "helm" => {
            let managers = manager("helm", "Update", &object);
            metadata(&mut object, "managedFields", managers);
            object["metadata"]["annotations"]["meta.helm.sh/release-name"] = json!("db");
        }
        "last-applied" => {
            let text = object.to_string();
            object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!(text);
        }
        "ssa" => {
            let managers = manager("kustomize-controller", "Apply", &object);
            metadata(&mut object, "managedFields", managers);
        }
        "argo" => {
            let managers = manager("argocd-controller", "Apply", &object);
            metadata(&mut object, "managedFields", managers);
            object["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"] = json!("db:apps/StatefulSet:shop/db");
        }
        "unrecognised" => {
            let managers = manager("node-fetch", "Update", &object);
            metadata(&mut object, "managedFields", managers);
        }
        "operator" => {
            metadata(&mut object, "ownerReferences", json!([{"kind": "Db", "name": "x", "controller": true}]));
        }
        _ => {}
    }
    object
}

/// `fieldsV1` of everything that is stated; lists are keyed by name or atomic.
fn fields_of(value: &Value) -> Value {
    let Some(map) = value.as_object() else { return json!({}) };
    let mut fields = Map::new();
    for (name, value) in map {
        let inner = match value {
            Value::Array(all) if matches!(name.as_str(), "containers" | "initContainers") => {
                Value::Object(all.iter().map(|c| (format!("k:{}", json!({"name": c["name"]})), fields_of(c))).collect())
            }
            other => fields_of(other),
        };
        fields.insert(format!("f:{name}"), inner);
    }
    Value::Object(fields)
}

pub(crate) fn policies() -> BoxedStrategy<Policy> {
    let number = |values: Vec<i64>| proptest::option::of(select(values));
    let liveness = (number(vec![0, 60, 500]), number(vec![1, 10, 120]), number(vec![1, 3, 30]), number(vec![3, 6, 20]));
    let readiness = (number(vec![0, 10]), number(vec![5, 10]), number(vec![1, 5]), number(vec![1, 3]));
    (
        proptest::option::of(liveness),
        proptest::option::of(readiness),
        select(vec![60, 3600, 7201]),
        (number(vec![1, 2]), number(vec![1, 2]), number(vec![2, 3]), any::<bool>()),
        select(vec!["Auto", "Auto", "Auto", "Swap", "Additive", "Suggest"]),
        select(vec!["Enforce", "Enforce", "Enforce", "Audit"]),
        proptest::sample::subsequence(vec!["RP001", "RP004", "RP005", "RP009", "RP018"], 0..=1),
        proptest::option::weighted(0.1, select(vec!["PostgreSQL", "MySQL", "Redis"])),
        proptest::sample::subsequence(vec!["RP006", "RP007", "RP014"], 0..=3),
    )
        .prop_map(|(liveness, readiness, allowance, (cpu, memory, limit, remove), remedy, mode, disable, hint, opt_in)| {
            let mut spec = json!({"mode": mode, "remedy": remedy, "startup": {"recoveryAllowanceSeconds": allowance},
                "rules": {"disable": disable, "optIn": opt_in}, "resources": {"cpuLimit": if remove { "Remove" } else { "Keep" }}});
            for (section, timings) in [("liveness", liveness), ("readiness", readiness)] {
                let Some((delay, period, timeout, failures)) = timings else { continue };
                // The schema refuses a timeout above the period.
                let timeout = timeout.filter(|timeout| period.is_none_or(|period| *timeout <= period));
                let names = ["initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold"];
                for (name, value) in names.into_iter().zip([delay, period, timeout, failures]) {
                    if let Some(value) = value {
                        spec[section][name] = json!(value);
                    }
                }
            }
            if let Some(cpu) = cpu {
                spec["resources"]["requests"]["cpu"] = json!(cpu.to_string());
            }
            if let Some(memory) = memory {
                spec["resources"]["requests"]["memory"] = json!(format!("{memory}Gi"));
            }
            if let (Some(limit), true) = (limit, memory.is_some()) {
                spec["resources"]["limits"]["memory"] = json!(format!("{limit}Gi"));
            }
            if let Some(engine) = hint {
                spec["databases"] = json!([{"container": "db", "engine": engine}]);
            }
            policy_from(&spec.to_string())
        })
        .boxed()
}

/// A manifest as an object of the server's.
pub(crate) fn stored(manifest: &Value) -> Value {
    let mut object = manifest.clone();
    defaults::stateful_set(&mut object);
    object["metadata"]["uid"] = json!("6f1c");
    object
}

/// Anything that JSON can say.
pub(crate) fn anything() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|n| serde_json::Number::from_f64(n).map_or(Value::Null, Value::Number)),
        "[ -~]{0,12}".prop_map(Value::from),
        select(vec!["", "postgres:16", "Always", "9223372036854775807", "StatefulSet", "5432", "-1", "1e400"])
            .prop_map(Value::from),
    ];
    let keys = select(vec![
        "",
        "name",
        "image",
        "exec",
        "command",
        "port",
        "tcpSocket",
        "livenessProbe",
        "resources",
        "requests",
        "cpu",
        "containers",
        "initContainers",
        "spec",
        "template",
        "metadata",
        "annotations",
        "labels",
        "status",
        "a/b~c",
        "$patch",
    ]);
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((keys.clone(), inner), 0..5)
                .prop_map(|all| Value::Object(all.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
    .boxed()
}

/// Every pointer of a document.
pub(crate) fn places(value: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, found: &mut Vec<String>) {
        found.push(at.to_owned());
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    walk(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
                }
            }
            Value::Array(all) => {
                for (index, value) in all.iter().enumerate() {
                    walk(value, &format!("{at}/{index}"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}
