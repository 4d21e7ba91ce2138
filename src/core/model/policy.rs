//! Which policy carries a workload.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt as _};
use serde_json::Value;

use super::workload::Workload;
use crate::api::{ClusterProbePolicySpec, IGNORE_ANNOTATION, Mode, POLICY_ANNOTATION, PolicySpec};

/// Which policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyReference {
    /// Its namespace; a cluster policy has none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl fmt::Display for PolicyReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "ProbePolicy {namespace}/{}", self.name),
            None => write!(f, "ClusterProbePolicy {}", self.name),
        }
    }
}

/// A policy of either kind.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Which one.
    pub reference: PolicyReference,
    /// What it asks for.
    pub spec: PolicySpec,
    /// The namespaces that a cluster policy reaches; None for all.
    pub namespace_selector: Option<LabelSelector>,
}

/// What carries a workload.
#[derive(Clone, Debug)]
pub enum Selection<'a> {
    /// Nothing.
    Nothing,
    /// One policy.
    Policy(&'a Policy),
    /// Several on one level. None of them acts.
    Conflict(Vec<&'a Policy>),
    /// The annotation names a policy that is not there.
    Missing(String),
}

/// Finds the policy of a workload: the one that its annotation names, else the one of its namespace that selects it,
/// else the cluster policy that does. `namespace_labels` is None where they are not known; where a cluster policy that
/// selects the workload asks for them, no cluster policy carries it then.
#[must_use]
pub fn select<'a>(
    workload: &Workload,
    namespace_labels: Option<&BTreeMap<String, String>>,
    policies: &'a [Policy],
) -> Selection<'a> {
    if let Some(named) = workload.annotation(POLICY_ANNOTATION) {
        let reference = match named.strip_prefix("cluster/") {
            Some(name) => PolicyReference { namespace: None, name: name.to_owned() },
            None => PolicyReference { namespace: Some(workload.namespace().to_owned()), name: named.to_owned() },
        };
        return match policies.iter().find(|policy| policy.reference == reference) {
            Some(policy) => Selection::Policy(policy),
            None => Selection::Missing(reference.to_string()),
        };
    }
    let labels = labels_of(workload.json());
    let may_reach = |policy: &Policy| policy.namespace_selector.is_some() && policy.selects(&labels);
    let is_reach_unknown = namespace_labels.is_none() && policies.iter().any(may_reach);
    let selects = |policy: &&Policy| policy.selects(&labels) && policy.reaches(workload.namespace(), namespace_labels);
    let (namespaced, cluster): (Vec<_>, Vec<_>) =
        policies.iter().filter(selects).partition(|policy| policy.reference.namespace.is_some());
    // One that may reach the workload as well would be a conflict.
    let cluster = if is_reach_unknown { Vec::new() } else { cluster };
    for level in [namespaced, cluster] {
        match level.as_slice() {
            [] => {}
            [policy] => return Selection::Policy(policy),
            _ => return Selection::Conflict(level),
        }
    }
    Selection::Nothing
}

fn labels_of(json: &Value) -> BTreeMap<String, String> {
    let labels = json.pointer("/metadata/labels").and_then(Value::as_object);
    labels.into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

impl Policy {
    /// Reads a policy object, whose kind is told by `is_cluster_wide`: the items of a list come without theirs.
    ///
    /// # Errors
    /// A sentence about the spec.
    pub fn read(object: &Value, is_cluster_wide: bool) -> Result<Self, String> {
        let spec = object.get("spec").cloned().unwrap_or_default();
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = text("/metadata/name");
        let read = if is_cluster_wide {
            serde_json::from_value::<ClusterProbePolicySpec>(spec).map(|spec| Self {
                reference: PolicyReference { namespace: None, name },
                spec: spec.policy,
                namespace_selector: spec.namespace_selector,
            })
        } else {
            let namespace = Some(text("/metadata/namespace"));
            serde_json::from_value::<PolicySpec>(spec).map(|spec| Self {
                reference: PolicyReference { namespace, name },
                spec,
                namespace_selector: None,
            })
        };
        read.map_err(|error| format!("spec: {error}"))
    }

    /// Whether the policy may write.
    #[must_use]
    pub fn enforces(&self) -> bool {
        self.spec.mode == Mode::Enforce
    }

    fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        if self.spec.select_all {
            return true;
        }
        // An empty selector selects everything in Kubernetes; here that has to be asked for.
        let selector = self.spec.selector.as_ref().filter(|selector| !is_empty(selector));
        selector.is_some_and(|selector| matches(selector, labels))
    }

    fn reaches(&self, namespace: &str, namespace_labels: Option<&BTreeMap<String, String>>) -> bool {
        match (&self.reference.namespace, &self.namespace_selector) {
            (Some(own), _) => own == namespace,
            (None, None) => true,
            (None, Some(selector)) => namespace_labels.is_some_and(|labels| matches(selector, labels)),
        }
    }

    /// What makes this policy unusable although the API server let it through.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (field, selector) in
            [("selector", self.spec.selector.as_ref()), ("namespaceSelector", self.namespace_selector.as_ref())]
        {
            if let Some(Err(error)) = selector.map(|selector| Selector::try_from(selector.clone())) {
                problems.push(format!("spec.{field}: {error}"));
            }
        }
        let resources = &self.spec.resources;
        let requests = resources.requests.as_ref();
        let amounts = [
            ("requests.cpu", requests.and_then(|r| r.cpu.as_ref())),
            ("requests.memory", requests.and_then(|r| r.memory.as_ref())),
            ("limits.memory", resources.limits.as_ref().and_then(|l| l.memory.as_ref())),
        ];
        for (field, quantity) in amounts {
            if let Some(Err(error)) = quantity.map(|q| super::quantity::Quantity::parse(&q.0)) {
                problems.push(format!("spec.resources.{field}: {error}"));
            }
        }
        problems
    }
}

fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
}

/// A selector that cannot be read matches nothing here; [`Policy::problems`] says what is wrong with it.
fn matches(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    Selector::try_from(selector.clone()).is_ok_and(|selector| selector.matches(labels))
}

/// The rules that a workload's annotation opts it out of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// These.
    Rules(BTreeSet<String>),
    /// All of them.
    Everything,
}

impl Ignored {
    /// Reads the annotation `reprieve.dev/ignore`.
    #[must_use]
    pub fn read(workload: &Workload) -> Self {
        let text = workload.annotation(IGNORE_ANNOTATION).unwrap_or("");
        if text.split(',').any(|id| id.trim() == "*") {
            return Self::Everything;
        }
        Self::Rules(text.split(',').map(|id| id.trim().to_ascii_uppercase()).filter(|id| !id.is_empty()).collect())
    }

    /// Whether this rule is among them.
    #[must_use]
    pub fn covers(&self, rule: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Rules(rules) => rules.contains(rule),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn policy(namespace: Option<&str>, name: &str, app: Option<&str>) -> Policy {
        let selector = app.map(|app| LabelSelector {
            match_labels: Some([("app".to_owned(), app.to_owned())].into()),
            match_expressions: None,
        });
        Policy {
            reference: PolicyReference { namespace: namespace.map(str::to_owned), name: name.to_owned() },
            spec: PolicySpec { selector, ..PolicySpec::default() },
            namespace_selector: None,
        }
    }

    fn workload(annotation: Option<&str>) -> Workload {
        let annotations = annotation.map_or(json!({}), |text| json!({POLICY_ANNOTATION: text}));
        Workload::new(json!({"kind": "StatefulSet", "metadata": {
            "namespace": "db", "name": "pg", "labels": {"app": "pg"}, "annotations": annotations}}))
    }

    fn selected(workload: &Workload, policies: &[Policy]) -> String {
        match select(workload, None, policies) {
            Selection::Nothing => "nothing".to_owned(),
            Selection::Policy(policy) => policy.reference.to_string(),
            Selection::Conflict(policies) => format!("{} in conflict", policies.len()),
            Selection::Missing(name) => format!("{name} is missing"),
        }
    }

    #[test]
    fn annotation_before_namespace_before_cluster() {
        let cluster = policy(None, "all", Some("pg"));
        let near = policy(Some("db"), "near", Some("pg"));
        let other_namespace = policy(Some("web"), "near", Some("pg"));
        let unselective = policy(Some("db"), "by-name", None);
        let all = [cluster.clone(), near.clone(), other_namespace, unselective];
        assert_eq!(selected(&workload(Some("by-name")), &all), "ProbePolicy db/by-name");
        assert_eq!(selected(&workload(Some("cluster/all")), &all), "ClusterProbePolicy all");
        assert_eq!(selected(&workload(Some("gone")), &all), "ProbePolicy db/gone is missing");
        assert_eq!(selected(&workload(None), &all), "ProbePolicy db/near");
        assert_eq!(selected(&workload(None), std::slice::from_ref(&cluster)), "ClusterProbePolicy all");
        let mut twin = near.clone();
        twin.reference.name = "twin".to_owned();
        assert_eq!(selected(&workload(None), &[cluster, near, twin]), "2 in conflict");
    }

    #[test]
    fn an_empty_selector_selects_nothing_unless_all_is_asked_for() {
        let mut empty = policy(Some("db"), "empty", None);
        empty.spec.selector = Some(LabelSelector::default());
        assert_eq!(selected(&workload(None), std::slice::from_ref(&empty)), "nothing");
        empty.spec.select_all = true;
        assert_eq!(selected(&workload(None), &[empty]), "ProbePolicy db/empty");
    }

    #[test]
    fn a_namespace_selector_needs_known_labels() {
        let mut cluster = policy(None, "prod", Some("pg"));
        cluster.namespace_selector = Some(LabelSelector {
            match_labels: Some([("env".to_owned(), "prod".to_owned())].into()),
            ..LabelSelector::default()
        });
        let policies = [cluster];
        let prod_labels = BTreeMap::from([("env".to_owned(), "prod".to_owned())]);
        assert!(matches!(select(&workload(None), Some(&prod_labels), &policies), Selection::Policy(_)));
        assert!(matches!(select(&workload(None), Some(&BTreeMap::new()), &policies), Selection::Nothing));
        assert!(matches!(select(&workload(None), None, &policies), Selection::Nothing));
        // Where the one that asks for labels may reach it too, the other does not act as if it were alone.
        let [prod] = policies;
        let both = [prod, policy(None, "all", Some("pg"))];
        assert_eq!(selected(&workload(None), &both), "nothing");
        assert!(matches!(select(&workload(None), Some(&prod_labels), &both), Selection::Conflict(_)));
        assert!(matches!(select(&workload(None), Some(&BTreeMap::new()), &both), Selection::Policy(_)));
    }
}
