//! All edits for one workload as one strategic merge patch.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::grace::{self, GraceTarget, grace_target};
use super::target::{ProbeTarget, ResourceTarget, Target, target};
use super::verify::normalised;
use super::{Remedy, patch, record};
use crate::api::PolicySpec;
use crate::core::detect::rules::grace as grace_of;
use crate::core::detect::{Applicability, Case, Finding, FindingKey, Severity, detect};
use crate::core::model::probe::HandlerKind;
use crate::core::model::qos::qos_class;
use crate::core::model::workload::{Container, ContainerList, Workload};

/// Why nothing is written although something could be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// One word for machines.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: String,
}

impl Refusal {
    /// A refusal.
    #[must_use]
    pub fn new(reason: &'static str, message: String) -> Self {
        Self { reason, message }
    }
}

/// Where a value stands that a plan changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a section of a container.
    Container {
        /// The list of the container.
        list: ContainerList,
        /// Its name.
        name: String,
        /// `livenessProbe`, `startupProbe`, `readinessProbe` or `resources`.
        section: &'static str,
    },
    /// In the pod spec itself.
    Pod,
}

/// One value that a plan changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it stands.
    pub place: Place,
    /// The field there, for example `exec`, `requests.cpu` or `terminationGracePeriodSeconds`.
    pub field: String,
    /// Today's value, None where there is none.
    pub from: Option<Value>,
    /// The new value, None where it goes.
    pub to: Option<Value>,
}

impl Change {
    /// `CONTAINER/PROBE FIELD`, as in the record; `pod/spec FIELD` for the pod's own.
    #[must_use]
    pub fn subject(&self) -> String {
        match &self.place {
            Place::Container { name, section, .. } => {
                format!("{name}/{} {}", section.strip_suffix("Probe").unwrap_or(section), self.field)
            }
            Place::Pod => format!("{POD_PLACE} {}", self.field),
        }
    }

    /// The name of its container, if it is in one.
    #[must_use]
    pub fn container(&self) -> Option<&str> {
        match &self.place {
            Place::Container { name, .. } => Some(name),
            Place::Pod => None,
        }
    }

    /// Whether it is a request or a limit.
    #[must_use]
    pub fn is_amount(&self) -> bool {
        matches!(self.place, Place::Container { section: "resources", .. })
    }

    /// The value in force in a pod spec whose containers are these.
    pub(super) fn found<'v>(&self, pod_spec: Option<&'v Value>, containers: &[Container<'v>]) -> Option<&'v Value> {
        match &self.place {
            Place::Container { list, name, section } => {
                let container = containers.iter().find(|c| c.name == name && c.list == *list)?;
                value_of(container.json.get(*section), &self.field)
            }
            Place::Pod => value_of(pod_spec, &self.field),
        }
    }

    /// The value that was replaced, as in the record: `-` where there was none.
    #[must_use]
    pub fn original(&self) -> String {
        self.from.as_ref().map_or_else(|| "-".to_owned(), |value| value_text(&self.field, value))
    }

    /// The new value in the same words.
    #[must_use]
    pub fn becomes(&self) -> String {
        self.to.as_ref().map_or_else(|| "-".to_owned(), |value| value_text(&self.field, value))
    }
}

/// The place of the pod's own fields in the record. No container has a section `spec`.
pub(super) const POD_PLACE: &str = "pod/spec";

/// The value of a field such as `exec` or `requests.cpu` in a probe or in `resources`, if it is there.
pub(super) fn value_of<'v>(section: Option<&'v Value>, field: &str) -> Option<&'v Value> {
    field.split('.').try_fold(section?, |value, step| value.get(step)).filter(|value| !value.is_null())
}

/// A value on one line, for people and for CEL, which has no JSON parser.
pub(super) fn value_text(field: &str, value: &Value) -> String {
    let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let text = match field {
        "exec" => value["command"].as_array().map(|c| c.iter().map(words).collect::<Vec<_>>().join(" ")),
        "tcpSocket" => value.get("port").map(words),
        "httpGet" => value
            .get("port")
            .map(|port| format!("{}{}", words(port), value.get("path").and_then(Value::as_str).unwrap_or("/"))),
        _ => None,
    };
    text.unwrap_or_else(|| words(value)).replace('\n', " ")
}

/// All edits for one workload.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How far it goes.
    pub remedy: Remedy,
    /// The template part of the patch; [`Plan::body`] adds the base and the record.
    pub template_patch: Value,
    /// Every value that changes.
    pub changes: Vec<Change>,
    /// Stands for what the databases are to be, whatever the object's version and however much of it is there already:
    /// a plan of which somebody put back a part is the same plan.
    pub digest: String,
    /// Stands for what the policy asks of databases, its mode, selector and windows aside. What was taken back is not
    /// written again until this is another.
    pub policy: String,
    /// What is no longer found afterwards, or left for a person to decide.
    pub cured: Vec<FindingKey>,
    /// What is still found afterwards.
    pub remaining: Vec<Finding>,
    /// What could not be set, and why.
    pub notes: Vec<String>,
    /// Ports that new handlers dial, with their containers.
    pub dials: Vec<(String, u16)>,
}

/// What planning came to.
#[derive(Clone, Debug)]
pub enum Planned {
    /// There is nothing that may be changed; the notes say what was left.
    Nothing(Vec<String>),
    /// This.
    Plan(Box<Plan>),
    /// Something should be changed and must not.
    Refused(Refusal),
}

/// Rounds after which planning gives up on coming to rest.
const ROUNDS: usize = 4;

/// Plans the remedy for a workload. Pure: the same case gives the same plan.
///
/// `with_resources` is false where requests were tried and refused, and the probes go alone.
///
/// What one edit brings to light, a second one cures in the same patch: of two handlers the one that stays may need a
/// startup probe before it, and that must not cost a second restart.
#[must_use]
pub fn plan(case: &Case<'_>, findings: &[Finding], remedy: Remedy, with_resources: bool) -> Planned {
    let mut edits = match round(case, findings, remedy, with_resources) {
        Ok(edits) => edits,
        Err(why) => return Planned::Refused(why),
    };
    if edits.changes.is_empty() {
        return Planned::Nothing(edits.notes);
    }
    let unusable = |error: patch::PatchError| Planned::Refused(Refusal::new("PatchUnusable", error.to_string()));
    let mut after;
    let mut remaining;
    let mut rounds = 1;
    loop {
        after = match patch::apply(case.workload.json(), &edits.patch) {
            Ok(after) => case.workload.changed(after),
            Err(error) => return unusable(error),
        };
        let next = Case::new(&after, case.policy, None);
        remaining = detect(&next);
        let more = match round(&next, &remaining, remedy, with_resources) {
            Ok(more) => more,
            Err(why) => return Planned::Refused(why),
        };
        if more.changes.is_empty() || rounds == ROUNDS {
            break;
        }
        rounds += 1;
        if let Err(error) = edits.extend(more) {
            return unusable(error);
        }
    }
    // What is left for a person is a finding still, and no reason for another write.
    let is_safe = |finding: &&Finding| finding.applicability == Applicability::Safe;
    let still: BTreeSet<FindingKey> = remaining.iter().filter(is_safe).map(Finding::key).collect();
    let cured: Vec<FindingKey> = findings
        .iter()
        .filter(|finding| is_safe(finding) && !still.contains(&finding.key()))
        .map(Finding::key)
        .collect();
    // A restart that cures nothing is not worth having, nor is one for a timeout that the kernel keeps anyway.
    let matters = |key: &FindingKey| {
        let is_untidy = |finding: &&Finding| {
            matches!(finding.rule, "RP003" | "RP004") && finding.severity == Severity::Info && finding.key() == *key
        };
        !findings.iter().any(|finding| is_untidy(&finding))
    };
    if !cured.iter().any(matters) {
        return Planned::Nothing(edits.notes);
    }
    let Edits { patch: template_patch, changes, mut notes, dials } = edits;
    let class = |workload: &Workload| workload.pod_spec().map(qos_class);
    if let (Some(today), Some(then)) = (class(case.workload), class(&after))
        && then > today
    {
        notes.push(format!("with other limits the pod goes from QoS class {today} to {then}, as the policy asks"));
    }
    let digest = digest(case, &after);
    let policy = policy_digest(case.policy);
    Planned::Plan(Box::new(Plan { remedy, template_patch, changes, digest, policy, cured, remaining, notes, dials }))
}

/// What one look at a workload wants changed.
struct Edits {
    patch: Value,
    changes: Vec<Change>,
    notes: Vec<String>,
    dials: Vec<(String, u16)>,
}

impl Edits {
    /// Adds what a second look wants changed after the first.
    fn extend(&mut self, later: Self) -> Result<(), patch::PatchError> {
        self.patch = patch::compose(&self.patch, &later.patch)?;
        for change in later.changes {
            match self.changes.iter_mut().find(|earlier| earlier.subject() == change.subject()) {
                Some(earlier) => earlier.to = change.to,
                None => self.changes.push(change),
            }
        }
        self.changes.retain(|change| change.from != change.to);
        for note in later.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        for dial in later.dials {
            if !self.dials.contains(&dial) {
                self.dials.push(dial);
            }
        }
        Ok(())
    }
}

fn round(case: &Case<'_>, findings: &[Finding], remedy: Remedy, with_resources: bool) -> Result<Edits, Refusal> {
    let mut edits = Map::new();
    let mut changes = Vec::new();
    let mut notes = Vec::new();
    let mut dials = Vec::new();
    for (container, database) in case.databases() {
        let here: Vec<&Finding> = findings.iter().filter(|finding| finding.container == container.name).collect();
        if !here.iter().any(|finding| finding.applicability == Applicability::Safe) {
            continue;
        }
        if !database.is_sure() {
            return Err(Refusal::new(
                "EngineUnsure",
                format!(
                    "{} looks like {} ({}), which is not enough to restart it; say so in the policy: databases: [{{container: {}, engine: {}}}]",
                    container.name,
                    database.profile.engine,
                    database.evidence.join(", "),
                    container.name,
                    database.profile.engine
                ),
            ));
        }
        let Target { probes, resources, notes: mut said, dials: ports } =
            target(case, container, database, &here, remedy, with_resources)?;
        notes.append(&mut said);
        let edit = container_edit(container, &probes, &resources, &mut changes);
        if edit.len() > 1 {
            let list = edits.entry(container.list.field()).or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut() {
                list.push(Value::Object(edit));
            }
            dials.extend(ports.into_iter().map(|port| (container.name.to_owned(), port)));
        }
    }
    match grace_target(case, findings, remedy) {
        GraceTarget::Stays => {}
        GraceTarget::MustStay(why) => notes.push(why),
        GraceTarget::Becomes(seconds) => {
            let present = case.workload.pod_spec().and_then(|spec| value_of(Some(spec), grace::FIELD));
            edits.insert(grace::FIELD.to_owned(), Value::from(seconds));
            changes.push(Change {
                place: Place::Pod,
                field: grace::FIELD.to_owned(),
                from: present.cloned(),
                to: Some(Value::from(seconds)),
            });
            notes.push(grace::of_this_rollout(case.workload));
        }
    }
    // Where the pod spec stands differs between kinds.
    let place = case.workload.pod_spec_pointer();
    let steps = place.as_str().rsplit('/').filter(|step| !step.is_empty());
    let patch = steps.fold(Value::Object(edits), |inner, step| json!({ step: inner }));
    Ok(Edits { patch, changes, notes, dials })
}

/// Sixteen hexadecimal digits that stand for the probes and resources of all databases.
fn digest(case: &Case<'_>, after: &Workload) -> String {
    let containers = after.containers();
    let of_database = |name: &str| {
        let container = containers.iter().find(|container| container.name == name)?;
        let fields = ["livenessProbe", "readinessProbe", "startupProbe", "resources"];
        let present = fields.into_iter().filter_map(|field| Some((field, container.json.get(field)?.clone())));
        // As the server will show it: with its defaults, and amounts in one spelling.
        Some(normalised("", &present.collect::<Value>()))
    };
    let mut databases: Value =
        case.databases().filter_map(|(container, _)| Some((container.name, of_database(container.name)?))).collect();
    // Part of what they are to be only where the policy asks for that: else the pod's own is its owner's.
    if case.opts_in(grace::RULE) {
        databases[POD_PLACE] = json!({ grace::FIELD: grace_of(after) });
    }
    databases.sort_all_objects();
    sixteen_digits(&databases)
}

/// The same for what a policy asks of databases.
#[must_use]
pub fn policy_digest(policy: &PolicySpec) -> String {
    let PolicySpec { databases, liveness, readiness, startup, resources, rules, remedy, .. } = policy;
    sixteen_digits(&json!([databases, liveness, readiness, startup, resources, rules, remedy]))
}

fn sixteen_digits(value: &Value) -> String {
    let hash = Sha256::digest(value.to_string().as_bytes());
    let head: [u8; 8] = std::array::from_fn(|index| hash.get(index).copied().unwrap_or_default());
    format!("{:016x}", u64::from_be_bytes(head))
}

impl Plan {
    /// The bytes to send, first as a dry-run and then for good: the template part, the base as precondition (a
    /// mismatch is a 409), and the record.
    #[must_use]
    pub fn body(&self, workload: &Workload, writes: i32) -> Value {
        let mut body = json!({
            "metadata": {
                "uid": workload.uid(),
                "resourceVersion": workload.resource_version(),
                "annotations": record::annotations(workload, &self.changes, &self.digest, writes, &self.policy),
            },
        });
        body["spec"] = self.template_patch["spec"].clone();
        body
    }

    /// Whether requests or limits change, so that the pod may no longer fit where it is.
    #[must_use]
    pub fn changes_requests(&self) -> bool {
        self.changes.iter().any(|change| change.is_amount() && change.field.starts_with("requests."))
    }

    /// Whether probes or the grace period change, as well as or instead of resources.
    #[must_use]
    pub fn changes_probes(&self) -> bool {
        self.changes.iter().any(|change| !change.is_amount())
    }

    /// Whether resources change.
    #[must_use]
    pub fn changes_resources(&self) -> bool {
        self.changes.iter().any(Change::is_amount)
    }

    /// The pod template with this plan applied.
    ///
    /// # Errors
    /// As [`patch::apply`].
    pub fn patched(&self, workload: &Workload) -> Result<Workload, patch::PatchError> {
        patch::apply(workload.json(), &self.template_patch).map(|after| workload.changed(after))
    }
}

/// A handler that takes the place of one of its kind. The two would merge, so what only the old one has is nulled: its
/// headers, its scheme, its host.
fn in_place_of(today: Option<&Value>, mut handler: Value) -> Value {
    for name in today.and_then(Value::as_object).into_iter().flat_map(Map::keys) {
        if handler.get(name).is_none() {
            handler[name] = Value::Null;
        }
    }
    handler
}

/// The patch element of a container, and what changes with it.
fn container_edit(
    container: &Container<'_>,
    probes: &[ProbeTarget],
    resources: &[ResourceTarget],
    changes: &mut Vec<Change>,
) -> Map<String, Value> {
    let mut edit = Map::new();
    edit.insert("name".to_owned(), Value::from(container.name));
    let mut change = |section: &'static str, field: &str, from: Option<&Value>, to: Option<Value>| {
        let from = from.filter(|value| !value.is_null()).cloned();
        if from != to {
            let place = Place::Container { list: container.list, name: container.name.to_owned(), section };
            changes.push(Change { place, field: field.to_owned(), from, to });
        }
    };
    for target in probes {
        let section = target.kind.field();
        let today = container.json.get(section);
        let today = |field: &str| today.and_then(|probe| probe.get(field));
        let mut probe = Map::new();
        for kind in HandlerKind::ALL {
            let value = (kind == target.handler.0).then(|| target.handler.1.clone());
            change(section, kind.field(), today(kind.field()), value.clone());
            // A handler that is not nulled stays beside the new one, and the API takes only one.
            let sent = value.map_or(Value::Null, |value| in_place_of(today(kind.field()), value));
            probe.insert(kind.field().to_owned(), sent);
        }
        for (timing, value) in &target.timings {
            change(section, timing.field(), today(timing.field()), Some(Value::from(*value)));
            probe.insert(timing.field().to_owned(), Value::from(*value));
        }
        edit.insert(section.to_owned(), Value::Object(probe));
    }
    let mut amounts = Map::new();
    for target in resources {
        let today = container.json.get("resources").and_then(|r| r.get(target.section)?.get(target.resource));
        let value = target.amount.as_ref().map(|amount| Value::from(amount.as_str()));
        change("resources", &format!("{}.{}", target.section, target.resource), today, value.clone());
        let section = amounts.entry(target.section).or_insert_with(|| json!({}));
        section[target.resource] = value.unwrap_or(Value::Null);
    }
    if !amounts.is_empty() {
        edit.insert("resources".to_owned(), Value::Object(amounts));
    }
    edit
}
