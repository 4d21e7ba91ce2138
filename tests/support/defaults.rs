//! What the API server makes of an object before it stores it.

use serde_json::{Map, Value, json};

/// A StatefulSet as it comes back from the server.
pub fn stateful_set(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    set(spec, "replicas", json!(1));
    set(spec, "podManagementPolicy", json!("OrderedReady"));
    set(spec, "revisionHistoryLimit", json!(10));
    set(spec, "updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}));
    if let Some(pod) = spec.get_mut("template").and_then(|template| template.get_mut("spec")) {
        pod_spec(pod);
    }
}

/// A pod spec, in a template or not.
pub fn pod_spec(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    set(spec, "restartPolicy", json!("Always"));
    set(spec, "dnsPolicy", json!("ClusterFirst"));
    set(spec, "schedulerName", json!("default-scheduler"));
    set(spec, "securityContext", json!({}));
    set(spec, "terminationGracePeriodSeconds", json!(30));
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(container) = container.as_object_mut() {
                fill_container(container);
            }
        }
    }
}

/// What only a pod gets: requests from limits.
pub fn pod_requests(spec: &mut Value) {
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let limits = container.pointer("/resources/limits").and_then(Value::as_object).cloned().unwrap_or_default();
            for (name, limit) in limits {
                if container.pointer("/resources/requests").is_none() {
                    container["resources"]["requests"] = json!({});
                }
                if let Some(requests) = container["resources"]["requests"].as_object_mut() {
                    set(requests, &name, limit);
                }
            }
        }
    }
}

fn fill_container(container: &mut Map<String, Value>) {
    set(container, "imagePullPolicy", json!("IfNotPresent"));
    set(container, "terminationMessagePath", json!("/dev/termination-log"));
    set(container, "terminationMessagePolicy", json!("File"));
    set(container, "resources", json!({}));
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut() {
            set(port, "protocol", json!("TCP"));
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).and_then(Value::as_object_mut) {
            fill_probe(probe);
        }
    }
    if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) {
        for section in ["requests", "limits"] {
            if let Some(amounts) = resources.get_mut(section).and_then(Value::as_object_mut) {
                for amount in amounts.values_mut() {
                    *amount = json!(respelled(amount));
                }
            }
            // An empty map is not stored.
            if resources.get(section).is_some_and(|amounts| amounts == &json!({})) {
                resources.remove(section);
            }
        }
    }
}

fn fill_probe(probe: &mut Map<String, Value>) {
    for (name, default) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        if probe.get(name).is_none_or(|value| value.as_i64() == Some(0)) {
            probe.insert(name.to_owned(), json!(default));
        }
    }
    if probe.get("initialDelaySeconds").and_then(Value::as_i64) == Some(0) {
        probe.remove("initialDelaySeconds");
    }
    if let Some(http) = probe.get_mut("httpGet").and_then(Value::as_object_mut) {
        set(http, "path", json!("/"));
        set(http, "scheme", json!("HTTP"));
    }
    if let Some(grpc) = probe.get_mut("grpc").and_then(Value::as_object_mut) {
        set(grpc, "service", json!(""));
    }
}

fn set(map: &mut Map<String, Value>, name: &str, default: Value) {
    if map.get(name).is_none_or(Value::is_null) {
        map.insert(name.to_owned(), default);
    }
}

/// Thousandths of a quantity, for the spellings that the fixtures use.
pub fn thousandths(amount: &Value) -> Option<i128> {
    let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: i128 = whole.parse().unwrap_or(0);
    let fraction: i128 = format!("{fraction:0<3}").get(..3).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let milli = whole * 1000 + fraction;
    Some(match suffix {
        "" => milli,
        "m" => milli / 1000,
        "k" | "e3" => milli * 1000,
        "M" => milli * 1_000_000,
        "G" => milli * 1_000_000_000,
        "Ki" => milli << 10,
        "Mi" => milli << 20,
        "Gi" => milli << 30,
        _ => return None,
    })
}

/// The server's own spelling: `1000m` is stored as `1`, `1024Mi` as `1Gi`, `0.5` as `500m`.
fn respelled(amount: &Value) -> String {
    let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
    let Some(milli) = thousandths(amount) else { return text };
    if milli % 1000 != 0 {
        return format!("{milli}m");
    }
    let units = milli / 1000;
    // The suffix's kind is kept: what was binary stays binary.
    if text.ends_with('i') {
        for (suffix, shift) in [("Gi", 30), ("Mi", 20), ("Ki", 10)] {
            if units != 0 && units % (1 << shift) == 0 {
                return format!("{}{suffix}", units >> shift);
            }
        }
    }
    for (suffix, factor) in [("G", 1_000_000_000), ("M", 1_000_000), ("k", 1000)] {
        if units != 0 && units % factor == 0 {
            return format!("{}{suffix}", units / factor);
        }
    }
    units.to_string()
}
