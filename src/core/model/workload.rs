//! A workload as the JSON it came in, with views on its containers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::files::{self, File, Files};
use super::pointer::Pointer;
use super::probe::{HandlerKind, Probe, ProbeKind, Timing};
use super::quantity::Quantity;

/// Which list of the pod spec a container stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContainerList {
    /// `containers`
    Containers,
    /// `initContainers`, native sidecars among them
    InitContainers,
}

impl ContainerList {
    /// The pod spec's field.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Containers => "containers",
            Self::InitContainers => "initContainers",
        }
    }
}

/// A container of the pod template. Borrowed: unknown fields stay in the JSON.
#[derive(Clone, Debug)]
pub struct Container<'a> {
    /// Its name, which strategic merge patches are keyed by.
    pub name: &'a str,
    /// The list it stands in.
    pub list: ContainerList,
    /// Where it stands, from the root of the workload.
    pub pointer: Pointer,
    /// All of it.
    pub json: &'a Value,
    /// The pod's volumes.
    volumes: &'a [Value],
    /// What is known of the `ConfigMap`s among them.
    files: Option<&'a Files>,
}

impl<'a> Container<'a> {
    /// The image reference, or nothing where the owner's controller fills it in later.
    #[must_use]
    pub fn image(&self) -> &'a str {
        self.json.get("image").and_then(Value::as_str).unwrap_or("")
    }

    /// The probe of this kind, if there is one. An empty object counts: the API would refuse it.
    #[must_use]
    pub fn probe(&self, kind: ProbeKind) -> Option<Probe<'a>> {
        let json = self.json.get(kind.field()).filter(|v| !v.is_null())?;
        Some(Probe { kind, json })
    }

    /// An init container that stays up beside the others (`restartPolicy: Always`); it may have probes.
    #[must_use]
    pub fn is_native_sidecar(&self) -> bool {
        self.list == ContainerList::InitContainers
            && self.json.get("restartPolicy").and_then(Value::as_str) == Some("Always")
    }

    /// `command` followed by `args`, as far as they are texts.
    #[must_use]
    pub fn command_line(&self) -> Vec<&'a str> {
        ["command", "args"]
            .into_iter()
            .filter_map(|field| self.json.get(field)?.as_array())
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// Names of environment variables, with the value where it is stated in the manifest.
    pub fn environment(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        self.json
            .get("env")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some((entry.get("name")?.as_str()?, entry.get("value").and_then(Value::as_str))))
    }

    /// Declared ports, as name and number. UDP and SCTP ports are left out: no probe can dial them.
    pub fn tcp_ports(&self) -> impl Iterator<Item = (Option<&'a str>, i64)> {
        self.json
            .get("ports")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter(|port| matches!(port.get("protocol").and_then(Value::as_str), None | Some("TCP")))
            .filter_map(|port| Some((port.get("name").and_then(Value::as_str), port.get("containerPort")?.as_i64()?)))
    }

    /// Paths at which volumes are mounted.
    pub fn mount_paths(&self) -> impl Iterator<Item = &'a str> {
        self.json
            .get("volumeMounts")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|mount| mount.get("mountPath")?.as_str())
    }

    /// The text of a file that a `ConfigMap` puts into it, where that is known.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&'a str> {
        match self.look_up(path) {
            File::Text(text) => Some(text),
            File::Hidden { .. } | File::Other => None,
        }
    }

    /// What a path in it comes to.
    #[must_use]
    pub fn look_up(&self, path: &str) -> File<'a> {
        files::file_at(self.json, self.volumes, self.files, path)
    }

    /// A request or limit (`"requests"`, `"cpu"`), where it is there and can be read.
    #[must_use]
    pub fn amount(&self, section: &str, resource: &str) -> Option<Quantity> {
        amount(self.json.get("resources"), section, resource)
    }
}

/// The amount of `resource` in `section` of a `resources` object, where it is there and can be read.
#[must_use]
pub fn amount(resources: Option<&Value>, section: &str, resource: &str) -> Option<Quantity> {
    Quantity::from_json(resources?.get(section)?.get(resource)?).ok()
}

/// Something in a workload that cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {what}")]
pub struct Problem {
    /// Where.
    pub pointer: Pointer,
    /// What was wrong, and what would be right.
    pub what: String,
}

/// A workload with a pod template.
#[derive(Clone, Debug)]
pub struct Workload {
    json: Value,
    template: Pointer,
    files: Files,
}

impl Workload {
    /// A view on a workload. A kind without a pod template simply has no containers.
    #[must_use]
    pub fn new(json: Value) -> Self {
        let template = match json.get("kind").and_then(Value::as_str) {
            Some("Pod") => "",
            Some("CronJob") => "/spec/jobTemplate/spec/template",
            _ => "/spec/template",
        };
        Self { json, template: Pointer::parse(template), files: Files::default() }
    }

    /// The same, with what is known of the `ConfigMap`s of its namespace.
    #[must_use]
    pub fn with_files(self, files: Files) -> Self {
        Self { files, ..self }
    }

    /// The same workload as it would be, with what is known of its `ConfigMap`s.
    #[must_use]
    pub fn changed(&self, json: Value) -> Self {
        Self::new(json).with_files(self.files.clone())
    }

    /// What is known of the `ConfigMap`s of its namespace.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The `ConfigMap`s that have to be known to read what its probes run. With those that are known already there may
    /// be more, since scripts run scripts.
    #[must_use]
    pub fn config_maps_of_probes(&self, known: &Files) -> BTreeSet<String> {
        self.pod_spec().map(|spec| files::of_probes(spec, known)).unwrap_or_default()
    }

    /// All of it, as it came, by value.
    #[must_use]
    pub fn into_json(self) -> Value {
        self.json
    }

    /// All of it, as it came.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// A text at a pointer, or nothing.
    #[must_use]
    pub fn text(&self, pointer: &str) -> &str {
        self.json.pointer(pointer).and_then(Value::as_str).unwrap_or("")
    }

    /// The kind, for example `StatefulSet`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// The namespace, empty where the manifest leaves it to the one who applies it.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// The uid, empty in a manifest.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// The resource version, empty in a manifest.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    /// An annotation of the workload itself.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.json.pointer("/metadata/annotations")?.get(name)?.as_str()
    }

    /// A label of the workload itself.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.json.pointer("/metadata/labels")?.get(name)?.as_str()
    }

    /// How many pods are asked for; the API's default is one.
    #[must_use]
    pub fn replicas(&self) -> i64 {
        self.json.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1)
    }

    /// The pod template.
    #[must_use]
    pub fn template(&self) -> Option<&Value> {
        self.json.pointer(self.template.as_str())
    }

    /// The pod spec.
    #[must_use]
    pub fn pod_spec(&self) -> Option<&Value> {
        self.template()?.get("spec")
    }

    /// Where the pod spec stands.
    #[must_use]
    pub fn pod_spec_pointer(&self) -> Pointer {
        self.template.field("spec")
    }

    /// The containers of both lists, init containers first, as the kubelet starts them. One without a name cannot
    /// be patched and is left out; [`Workload::problems`] names it.
    #[must_use]
    pub fn containers(&self) -> Vec<Container<'_>> {
        let pod_spec = self.pod_spec_pointer();
        self.pod_spec().map_or_else(Vec::new, |spec| containers_with(spec, &pod_spec, Some(&self.files)))
    }

    /// The container of this name, in either list.
    #[must_use]
    pub fn container(&self, name: &str) -> Option<Container<'_>> {
        self.containers().into_iter().find(|container| container.name == name)
    }

    /// What in the parts that we judge cannot be read. The API server lets none of this into a live object.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let pod_spec = self.pod_spec_pointer();
        let Some(spec) = self.pod_spec() else {
            problems.push(Problem { pointer: pod_spec, what: "there is no pod template here".to_owned() });
            return problems;
        };
        for list in [ContainerList::InitContainers, ContainerList::Containers] {
            let pointer = pod_spec.field(list.field());
            match spec.get(list.field()) {
                None | Some(Value::Null) => {}
                Some(Value::Array(elements)) => {
                    for (index, element) in elements.iter().enumerate() {
                        container_problems(element, &pointer.index(index), &mut problems);
                    }
                }
                Some(other) => problems.push(wrong_type(pointer, "a list of containers", other)),
            }
        }
        problems
    }
}

/// The containers of a pod spec that stands at `pointer`.
#[must_use]
pub fn containers_of<'a>(spec: &'a Value, pointer: &Pointer) -> Vec<Container<'a>> {
    containers_with(spec, pointer, None)
}

fn containers_with<'a>(spec: &'a Value, pointer: &Pointer, files: Option<&'a Files>) -> Vec<Container<'a>> {
    let volumes = spec.get("volumes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    [ContainerList::InitContainers, ContainerList::Containers]
        .into_iter()
        .flat_map(|list| {
            let pointer = pointer.field(list.field());
            spec.get(list.field()).and_then(Value::as_array).into_iter().flatten().enumerate().filter_map(
                move |(index, json)| {
                    let name = json.get("name")?.as_str()?;
                    Some(Container { name, list, pointer: pointer.index(index), json, volumes, files })
                },
            )
        })
        .collect()
}

fn wrong_type(pointer: Pointer, expected: &str, found: &Value) -> Problem {
    let found = match found {
        Value::Null => "nothing".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        simple => simple.to_string(),
    };
    Problem { pointer, what: format!("expected {expected}, found {found}") }
}

fn container_problems(json: &Value, pointer: &Pointer, problems: &mut Vec<Problem>) {
    if json.get("name").and_then(Value::as_str).is_none() {
        problems.push(Problem { pointer: pointer.clone(), what: "a container without a name".to_owned() });
        return;
    }
    for kind in ProbeKind::ALL {
        let pointer = pointer.field(kind.field());
        match json.get(kind.field()) {
            None | Some(Value::Null) => {}
            Some(probe @ Value::Object(_)) => probe_problems(probe, &pointer, problems),
            Some(other) => problems.push(wrong_type(pointer, "a probe", other)),
        }
    }
    let resources = pointer.field("resources");
    for section in ["requests", "limits"] {
        let Some(amounts) = json.get("resources").and_then(|r| r.get(section)).and_then(Value::as_object) else {
            continue;
        };
        for (name, value) in amounts {
            if let Err(error) = Quantity::from_json(value) {
                let pointer = resources.field(section).field(name);
                problems.push(Problem { pointer, what: error.to_string() });
            }
        }
    }
}

fn probe_problems(probe: &Value, pointer: &Pointer, problems: &mut Vec<Problem>) {
    for timing in Timing::ALL {
        match probe.get(timing.field()) {
            None | Some(Value::Null) => {}
            Some(value) if value.as_i64().is_some_and(|n| (0..=i64::from(i32::MAX)).contains(&n)) => {}
            Some(value) => {
                problems.push(wrong_type(pointer.field(timing.field()), "a whole number, zero or more", value));
            }
        }
    }
    for kind in HandlerKind::ALL {
        let Some(handler) = probe.get(kind.field()).filter(|v| !v.is_null()) else { continue };
        let pointer = pointer.field(kind.field());
        let Some(handler) = handler.as_object() else {
            problems.push(wrong_type(pointer, "an object", handler));
            continue;
        };
        if kind == HandlerKind::Exec {
            let command = handler.get("command").unwrap_or(&Value::Null);
            if !command.as_array().is_some_and(|words| !words.is_empty() && words.iter().all(Value::is_string)) {
                problems.push(wrong_type(pointer.field("command"), "a list of texts", command));
            }
        } else {
            let port = handler.get("port").unwrap_or(&Value::Null);
            if !(port.is_string() || port.as_i64().is_some_and(|n| (1..=65535).contains(&n))) {
                problems.push(wrong_type(pointer.field("port"), "a port number or name", port));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_what_it_cannot_read_and_goes_on() {
        let workload = Workload::new(json!({"kind": "StatefulSet", "spec": {"template": {"spec": {"containers": [
            {"image": "postgres"},
            {"name": "a", "livenessProbe": {"timeoutSeconds": "1", "exec": {"command": "true"}}},
            {"name": "b", "readinessProbe": [], "resources": {"requests": {"cpu": "1e3m", "memory": ".5Gi"}, "limits": {"memory": "-1"}}},
            {"name": "c", "startupProbe": {"tcpSocket": {"port": 0}}},
        ]}}}}));
        let problems: Vec<_> = workload.problems().iter().map(ToString::to_string).collect();
        let at = "/spec/template/spec/containers";
        assert_eq!(
            problems,
            [
                format!("{at}/0: a container without a name"),
                format!("{at}/1/livenessProbe/timeoutSeconds: expected a whole number, zero or more, found \"1\""),
                format!("{at}/1/livenessProbe/exec/command: expected a list of texts, found \"true\""),
                format!("{at}/2/readinessProbe: expected a probe, found a list"),
                format!(
                    "{at}/2/resources/requests/cpu: \"1e3m\" is not a quantity: \"e3m\" is no suffix; use one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent such as e3"
                ),
                format!(
                    "{at}/2/resources/limits/memory: \"-1\" is negative, which the API refuses for requests and limits"
                ),
                format!("{at}/3/startupProbe/tcpSocket/port: expected a port number or name, found 0"),
            ]
        );
        assert_eq!(workload.containers().len(), 3, "the readable ones are still judged");
    }

    #[test]
    fn sidecars_are_init_containers_that_stay() {
        let workload = Workload::new(json!({"kind": "StatefulSet", "spec": {"template": {"spec": {
            "initContainers": [{"name": "proxy", "restartPolicy": "Always"}, {"name": "setup"}],
            "containers": [{"name": "db", "restartPolicy": "Always"}],
        }}}}));
        let sidecars: Vec<_> =
            workload.containers().into_iter().filter(Container::is_native_sidecar).map(|c| c.name.to_owned()).collect();
        assert_eq!(sidecars, ["proxy"]);
    }
}
