//! Who re-applies an object, and which of its values they state.
//!
//! A write that an owner's next apply would undo costs a second restart, and one that makes that apply fail freezes
//! every later deploy. So this is read before anything is written. What an owner states is known exactly in two
//! cases: a server-side applier's fields stand in `managedFields`, and a client-side `kubectl apply` leaves its
//! manifest in an annotation. After any other update the defaults belong to the updater too, so that nothing tells
//! a stated value from a default (kubernetes-sigs/structured-merge-diff has no notion of "left out").

use std::fmt;

use serde_json::Value;

use super::workload::{ContainerList, Workload};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Field managers of one-time commands and of Kubernetes itself: nobody who comes back with a manifest.
const ONE_TIME: [&str; 15] = [
    "reprieve",
    // As an update, not as an apply: `kubectl rollout undo`, and kubectl before it named its commands.
    "kubectl",
    "kube-controller-manager",
    "kube-apiserver",
    "before-first-apply",
    "kubectl-create",
    "kubectl-edit",
    "kubectl-patch",
    "kubectl-replace",
    "kubectl-set",
    "kubectl-scale",
    "kubectl-rollout",
    "kubectl-annotate",
    "kubectl-label",
    "kubectl-run",
];

/// A label, and its value where only that one counts.
type LabelOf = (&'static str, Option<&'static str>);

/// Labels that an operator leaves on its StatefulSets, some of them instead of an owner reference.
const OPERATOR_LABELS: &[(&str, &[LabelOf])] = &[
    ("Zalando's Postgres operator", &[("application", Some("spilo")), ("cluster-name", None)]),
    ("Crunchy's Postgres operator", &[("postgres-operator.crunchydata.com/cluster", None)]),
    ("StackGres", &[("app", Some("StackGresCluster"))]),
    ("Strimzi", &[("strimzi.io/cluster", None), ("strimzi.io/kind", None)]),
    ("ECK", &[("elasticsearch.k8s.elastic.co/statefulset-name", None)]),
    ("Altinity's ClickHouse operator", &[("clickhouse.altinity.com/chi", None)]),
];

/// What re-applies manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// A Helm release.
    Helm,
    /// An Argo CD application.
    ArgoCd,
    /// A Flux Kustomization or `HelmRelease`.
    Flux,
    /// Somebody's `kubectl apply`.
    KubectlApply,
    /// A server-side applier that is none of these.
    ServerSideApply,
    /// A field manager that updated the pod template and is not known to be a one-time command.
    Unrecognised,
}

impl Tool {
    /// The name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Helm => "Helm",
            Self::ArgoCd => "Argo CD",
            Self::Flux => "Flux",
            Self::KubectlApply => "kubectl apply",
            Self::ServerSideApply => "server-side apply",
            Self::Unrecognised => "an unrecognised client",
        }
    }
}

/// Somebody who comes back with a manifest.
#[derive(Clone, Debug)]
pub struct Applier {
    /// What it is.
    pub tool: Tool,
    /// What showed it, for example `field manager helm`.
    pub evidence: String,
    statement: Statement,
}

#[derive(Clone, Debug)]
enum Statement {
    /// The `fieldsV1` of an Apply.
    Fields(Value),
    /// The manifest itself.
    Manifest(Value),
    /// Not to be known from the object.
    Unknown,
}

/// Whether an owner states a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stated {
    /// Nobody does.
    No,
    /// It cannot be told.
    Unknown,
    /// Somebody does.
    Yes,
}

/// Everything recognised about an object's owners.
#[derive(Clone, Debug, Default)]
pub struct Ownership {
    /// The controller that would undo any write, for example `PostgresCluster hippo`.
    pub controller: Option<String>,
    /// Those who come back with a manifest.
    pub appliers: Vec<Applier>,
}

impl Ownership {
    /// Reads the owners of a live object.
    #[must_use]
    pub fn read(workload: &Workload) -> Self {
        let mut ownership = Self { controller: controller(workload), appliers: Vec::new() };
        ownership.read_managers(workload);
        ownership.read_last_applied(workload);
        ownership.read_marks(workload);
        ownership
    }

    /// Whether anybody comes back with a manifest.
    #[must_use]
    pub fn is_reapplied(&self) -> bool {
        !self.appliers.is_empty()
    }

    /// Those of whom we know for certain that they come back.
    pub fn recognised(&self) -> impl Iterator<Item = &Applier> {
        self.appliers.iter().filter(|applier| applier.tool != Tool::Unrecognised)
    }

    /// Whether an owner states the value at `path` of a container, for example `["livenessProbe", "timeoutSeconds"]`.
    #[must_use]
    pub fn states(&self, list: ContainerList, container: &str, path: &[&str]) -> Stated {
        self.appliers.iter().map(|applier| applier.states(list, container, path)).max().unwrap_or(Stated::No)
    }

    /// Whether an owner states the value at `path` of the pod spec itself.
    #[must_use]
    pub fn states_of_pod(&self, path: &[&str]) -> Stated {
        self.appliers.iter().map(|applier| applier.states_of_pod(path)).max().unwrap_or(Stated::No)
    }

    /// The manifests that their owners will come back with, where they are known.
    pub fn manifests(&self) -> impl Iterator<Item = (&Applier, &Value)> {
        self.appliers.iter().filter_map(|applier| match &applier.statement {
            Statement::Manifest(manifest) => Some((applier, manifest)),
            Statement::Fields(_) | Statement::Unknown => None,
        })
    }

    fn read_managers(&mut self, workload: &Workload) {
        let entries = workload.json().pointer("/metadata/managedFields").and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            let manager = entry.get("manager").and_then(Value::as_str).unwrap_or("");
            let is_apply = entry.get("operation").and_then(Value::as_str) == Some("Apply");
            let fields = entry.get("fieldsV1").unwrap_or(&Value::Null);
            let of_template = fields.pointer("/f:spec/f:template").is_some();
            let of_subresource = entry.get("subresource").is_some_and(|s| s.as_str() != Some(""));
            if !of_template || of_subresource || manager == crate::api::FIELD_MANAGER {
                continue;
            }
            let tool = match manager {
                _ if !is_apply && ONE_TIME.contains(&manager) => continue,
                // Its statement is the last-applied annotation, read below.
                "kubectl-client-side-apply" => continue,
                "helm" => Tool::Helm,
                "argocd-controller" | "argocd-application-controller" => Tool::ArgoCd,
                "kustomize-controller" | "helm-controller" => Tool::Flux,
                "kubectl" if is_apply => Tool::KubectlApply,
                _ if is_apply => Tool::ServerSideApply,
                _ => Tool::Unrecognised,
            };
            if tool == Tool::Unrecognised && is_operator(manager) {
                self.controller.get_or_insert_with(|| format!("an operator (field manager {manager})"));
            }
            self.appliers.push(Applier {
                tool,
                evidence: format!("field manager {manager}"),
                statement: if is_apply { Statement::Fields(fields.clone()) } else { Statement::Unknown },
            });
        }
    }

    fn read_last_applied(&mut self, workload: &Workload) {
        let Some(text) = workload.annotation(LAST_APPLIED) else { return };
        let statement = serde_json::from_str(text).map_or(Statement::Unknown, Statement::Manifest);
        // Argo CD's client-side apply leaves the same annotation: it is the manifest of whoever was seen already.
        if let Some(applier) = self.appliers.iter_mut().find(|a| matches!(a.statement, Statement::Unknown)) {
            applier.statement = statement;
        } else {
            self.appliers.push(Applier {
                tool: Tool::KubectlApply,
                evidence: "the last-applied annotation".to_owned(),
                statement,
            });
        }
    }

    /// Marks that tools leave on what they install, for objects whose field managers do not show them.
    fn read_marks(&mut self, workload: &Workload) {
        let helm = workload
            .annotation("meta.helm.sh/release-name")
            .map(|release| format!("Helm release {release}"))
            .or_else(|| {
                (workload.label("app.kubernetes.io/managed-by") == Some("Helm"))
                    .then(|| "the label app.kubernetes.io/managed-by: Helm".to_owned())
            });
        let argo = workload.annotation("argocd.argoproj.io/tracking-id").map(|id| format!("Argo CD tracking id {id}"));
        let flux = ["kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"]
            .into_iter()
            .find_map(|label| workload.label(label).map(|name| format!("the label {label}: {name}")));
        for (tool, evidence) in [(Tool::Helm, helm), (Tool::ArgoCd, argo), (Tool::Flux, flux)] {
            let Some(evidence) = evidence else { continue };
            if let Some(applier) = self.appliers.iter_mut().find(|applier| applier.tool == tool) {
                applier.evidence = format!("{evidence}, {}", applier.evidence);
                continue;
            }
            // The mark says whose the manifest is that we found without a name.
            let anonymous =
                self.appliers.iter_mut().find(|a| matches!(a.tool, Tool::Unrecognised | Tool::KubectlApply));
            if let Some(applier) = anonymous.filter(|_| tool == Tool::ArgoCd) {
                applier.tool = tool;
                applier.evidence = format!("{evidence}, {}", applier.evidence);
            } else {
                self.appliers.push(Applier { tool, evidence, statement: Statement::Unknown });
            }
        }
    }
}

/// Who changed the pod template last, other than this operator, as far as the field managers tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastChange {
    /// Its name, for example `kubectl-patch`.
    pub manager: String,
    /// When, to the second.
    pub time: Option<String>,
}

impl fmt::Display for LastChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the field manager {}", self.manager)?;
        self.time.iter().try_for_each(|time| write!(f, " ({time})"))
    }
}

/// Reads that from the managed fields.
#[must_use]
pub fn last_changed_by(workload: &Workload) -> Option<LastChange> {
    let entries = workload.json().pointer("/metadata/managedFields")?.as_array()?;
    let text = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
    let changes: Vec<LastChange> = entries
        .iter()
        .filter(|entry| entry.pointer("/fieldsV1/f:spec/f:template").is_some())
        .filter_map(|entry| Some(LastChange { manager: text(entry, "manager")?, time: text(entry, "time") }))
        .filter(|change| change.manager != crate::api::FIELD_MANAGER)
        .collect();
    // RFC 3339 in UTC sorts as text. Times are whole seconds: of several in one second any may be the last.
    let time = changes.iter().map(|change| change.time.clone()).max()?;
    let latest = changes.into_iter().filter(|change| change.time == time).map(|change| change.manager);
    Some(LastChange { manager: latest.collect::<Vec<_>>().join(" or "), time })
}

impl Applier {
    fn states_of_pod(&self, path: &[&str]) -> Stated {
        let found = match &self.statement {
            Statement::Unknown => return Stated::Unknown,
            Statement::Fields(fields) => ["spec", "template", "spec"]
                .iter()
                .chain(path)
                .try_fold(fields, |node, step| node.get(format!("f:{step}")))
                .is_some(),
            Statement::Manifest(manifest) => ["spec", "template", "spec"]
                .iter()
                .chain(path)
                .try_fold(manifest, |node, step| node.get(*step))
                .is_some_and(|value| !value.is_null()),
        };
        if found { Stated::Yes } else { Stated::No }
    }

    fn states(&self, list: ContainerList, container: &str, path: &[&str]) -> Stated {
        let found = match &self.statement {
            Statement::Unknown => return Stated::Unknown,
            Statement::Fields(fields) => {
                let key = format!("k:{}", serde_json::json!({ "name": container }));
                let list = format!("f:{}", list.field());
                let start = ["f:spec", "f:template", "f:spec", list.as_str(), key.as_str()]
                    .iter()
                    .try_fold(fields, |node, step| node.get(*step));
                start.and_then(|node| path.iter().try_fold(node, |node, step| node.get(format!("f:{step}")))).is_some()
            }
            Statement::Manifest(manifest) => {
                let containers = manifest.pointer(&format!("/spec/template/spec/{}", list.field()));
                let found = containers
                    .and_then(Value::as_array)
                    .and_then(|all| all.iter().find(|c| c.get("name").and_then(Value::as_str) == Some(container)));
                found
                    .and_then(|node| path.iter().try_fold(node, |node, step| node.get(*step)))
                    .is_some_and(|value| !value.is_null())
            }
        };
        if found { Stated::Yes } else { Stated::No }
    }
}

impl fmt::Display for Ownership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(controller) = &self.controller {
            return f.write_str(controller);
        }
        if self.appliers.is_empty() {
            return f.write_str("nobody re-applies it");
        }
        for (index, applier) in self.appliers.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{} ({})", applier.tool.name(), applier.evidence)?;
        }
        Ok(())
    }
}

fn is_operator(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("operator") || name.contains("-operator-")
}

fn controller(workload: &Workload) -> Option<String> {
    let references = workload.json().pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let by_reference = references.into_iter().flatten().find_map(|reference| {
        (reference.get("controller")?.as_bool()?).then(|| {
            let text = |field| reference.get(field).and_then(Value::as_str).unwrap_or("?");
            format!("{} {}", text("kind"), text("name"))
        })
    });
    let by_name = || {
        let label = workload.label("app.kubernetes.io/managed-by").filter(|value| is_operator(value))?;
        Some(format!("an operator (label app.kubernetes.io/managed-by: {label})"))
    };
    let by_labels = || {
        let carries = |(label, value): &(&str, Option<&str>)| {
            workload.label(label).is_some_and(|found| value.is_none_or(|value| value == found))
        };
        let (operator, labels) = OPERATOR_LABELS.iter().find(|(_, labels)| labels.iter().all(carries))?;
        let seen: Vec<_> =
            labels.iter().map(|(label, _)| format!("{label}: {}", workload.label(label).unwrap_or_default())).collect();
        Some(format!("{operator} (labels {})", seen.join(", ")))
    };
    by_reference.or_else(by_name).or_else(by_labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workload(metadata: &Value) -> Workload {
        Workload::new(json!({"kind": "StatefulSet", "metadata": metadata}))
    }

    fn manager(name: &str, operation: &str, container: &Value) -> Value {
        json!({"manager": name, "operation": operation, "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"pg\"}": container}}}}}})
    }

    fn states(ownership: &Ownership, path: &[&str]) -> Stated {
        ownership.states(ContainerList::Containers, "pg", path)
    }

    #[test]
    fn a_server_side_apply_shows_what_it_left_out() {
        let fields = json!({"f:livenessProbe": {".": {}, "f:exec": {"f:command": {}}}});
        let ownership = Ownership::read(&workload(&json!({"managedFields": [
            manager("kustomize-controller", "Apply", &fields),
            {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
        ]})));
        assert_eq!(ownership.to_string(), "Flux (field manager kustomize-controller)");
        assert_eq!(states(&ownership, &["livenessProbe", "exec"]), Stated::Yes);
        assert_eq!(states(&ownership, &["livenessProbe", "timeoutSeconds"]), Stated::No);
        assert_eq!(states(&ownership, &["startupProbe"]), Stated::No);
    }

    #[test]
    fn a_client_side_apply_is_known_by_its_annotation_only() {
        let manifest = json!({"spec": {"template": {"spec": {"containers": [{"name": "pg", "livenessProbe": {"timeoutSeconds": 1}}]}}}});
        let everything = json!({"f:livenessProbe": {"f:timeoutSeconds": {}, "f:periodSeconds": {}}});
        let ownership = Ownership::read(&workload(&json!({
            "annotations": {LAST_APPLIED: manifest.to_string()},
            "managedFields": [manager("kubectl-client-side-apply", "Update", &everything)],
        })));
        assert_eq!(ownership.appliers.len(), 1);
        assert_eq!(states(&ownership, &["livenessProbe", "timeoutSeconds"]), Stated::Yes);
        assert_eq!(states(&ownership, &["livenessProbe", "periodSeconds"]), Stated::No, "filled in by the server");
    }

    #[test]
    fn a_client_side_helm_release_keeps_its_manifest_to_itself() {
        let everything = json!({"f:livenessProbe": {"f:timeoutSeconds": {}}});
        let ownership = Ownership::read(&workload(&json!({
            "annotations": {"meta.helm.sh/release-name": "registry"},
            "managedFields": [manager("helm", "Update", &everything)],
        })));
        assert_eq!(ownership.to_string(), "Helm (Helm release registry, field manager helm)");
        assert_eq!(states(&ownership, &["livenessProbe", "timeoutSeconds"]), Stated::Unknown);
    }

    #[test]
    fn the_last_change_is_somebody_elses() {
        let entry = |name: &str, time: &str| {
            let mut entry = manager(name, "Update", &json!({"f:livenessProbe": {}}));
            entry["time"] = json!(time);
            entry
        };
        let last = last_changed_by(&workload(&json!({"managedFields": [
            entry("kubectl-patch", "2026-12-05T02:00:00Z"),
            entry("kubectl-create", "2026-12-05T01:00:00Z"),
            entry("reprieve", "2026-12-05T03:00:00Z"),
            {"manager": "kube-controller-manager", "operation": "Update", "time": "2026-12-05T04:00:00Z", "fieldsV1": {"f:status": {}}},
        ]})));
        assert_eq!(last.unwrap().to_string(), "the field manager kubectl-patch (2026-12-05T02:00:00Z)");
        let tie = last_changed_by(&workload(&json!({"managedFields": [
            entry("kubectl", "2026-12-05T02:00:00Z"), entry("kubectl-create", "2026-12-05T02:00:00Z")]})));
        assert_eq!(tie.unwrap().manager, "kubectl or kubectl-create", "times are whole seconds");
        assert_eq!(last_changed_by(&workload(&json!({}))), None);
    }

    #[test]
    fn one_time_commands_do_not_come_back() {
        let everything = json!({"f:livenessProbe": {}});
        for name in ["kubectl-create", "kubectl-edit", "kubectl-patch", "reprieve"] {
            let ownership =
                Ownership::read(&workload(&json!({"managedFields": [manager(name, "Update", &everything)]})));
            assert!(!ownership.is_reapplied(), "{name}");
        }
        let unknown =
            Ownership::read(&workload(&json!({"managedFields": [manager("node-fetch", "Update", &everything)]})));
        assert!(unknown.is_reapplied());
        assert_eq!(unknown.recognised().count(), 0);
    }

    #[test]
    fn controllers_are_seen_by_reference_label_and_manager() {
        let reference = json!({"ownerReferences": [{"kind": "Postgres", "name": "hippo", "controller": true}]});
        let label = json!({"labels": {"app.kubernetes.io/managed-by": "percona-server-mysql-operator"}});
        let by_manager = json!({"managedFields": [manager("postgres-operator", "Update", &json!({}))]});
        assert_eq!(Ownership::read(&workload(&reference)).controller.as_deref(), Some("Postgres hippo"));
        assert!(Ownership::read(&workload(&label)).controller.is_some());
        assert!(Ownership::read(&workload(&by_manager)).controller.is_some());
        let labelled = json!({"labels": {"application": "spilo", "cluster-name": "acid"}});
        assert_eq!(
            Ownership::read(&workload(&labelled)).controller.as_deref(),
            Some("Zalando's Postgres operator (labels application: spilo, cluster-name: acid)")
        );
        let other = json!({"labels": {"application": "shop", "cluster-name": "acid"}});
        assert_eq!(Ownership::read(&workload(&other)).controller, None);
        let plain_owner = json!({"ownerReferences": [{"kind": "App", "name": "a"}]});
        assert_eq!(
            Ownership::read(&workload(&plain_owner)).controller,
            None,
            "an owner that is no controller only deletes"
        );
    }
}
