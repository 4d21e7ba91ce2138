//! The same brain without a server: what would be done with a manifest.

use super::Decision;
use crate::api::PolicySpec;
use crate::core::detect::{Applicability, Case, Finding, detect};
use crate::core::model::engine::Database;
use crate::core::model::policy::Ignored;
use crate::core::model::workload::Workload;
use crate::core::remedy::verify::verify;
use crate::core::remedy::{Plan, Planned, Refusal, Remedy, patch, plan};

/// What a manifest comes to.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Its containers by name, with the database in each.
    pub containers: Vec<(String, Option<Database>)>,
    /// The rules that the policy or the workload leaves out; see [`Case::left_out`].
    pub ignored: Vec<String>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What would be done.
    pub decision: Decision,
    /// One word for machines.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: String,
    /// The change, where there is one.
    pub plan: Option<Box<Plan>>,
}

/// Judges a manifest. Whoever changes the manifest is its owner, so handlers may be replaced; whether the server would
/// take the result is for a server to say.
#[must_use]
pub fn judge(workload: &Workload, policy: &PolicySpec) -> Judgement {
    let case = Case::new(workload, policy, None);
    let containers = case
        .containers
        .iter()
        .map(|examined| (examined.container.name.to_owned(), examined.database.clone()))
        .collect();
    let mut findings = if case.ignored == Ignored::Everything { Vec::new() } else { detect(&case) };
    let (decision, why, plan) = decide(&case, workload, policy, &findings);
    // "Safe" is a promise to patch. Where the whole came to something else, nobody patches it.
    let cured = plan.as_ref().map(|plan| plan.cured.as_slice()).unwrap_or_default();
    let is_left =
        |finding: &&mut Finding| finding.applicability == Applicability::Safe && !cured.contains(&finding.key());
    if matches!(decision, Decision::Patch | Decision::Advise) {
        for finding in findings.iter_mut().filter(is_left) {
            finding.applicability = Applicability::ReportOnly;
        }
    }
    Judgement {
        containers,
        ignored: case.left_out(),
        findings,
        decision,
        reason: why.reason,
        message: why.message,
        plan,
    }
}

fn decide(
    case: &Case<'_>,
    workload: &Workload,
    policy: &PolicySpec,
    findings: &[Finding],
) -> (Decision, Refusal, Option<Box<Plan>>) {
    let without_plan = |decision, reason, message: &str| (decision, Refusal::new(reason, message.to_owned()), None);
    if case.ignored == Ignored::Everything {
        return without_plan(Decision::Noop, "OptedOut", "the annotation reprieve.dev/ignore: \"*\" opts it out");
    }
    if let Some(problem) = workload.problems().first() {
        return without_plan(Decision::Refuse, "Unreadable", &format!("{problem}; correct the manifest"));
    }
    if case.databases().next().is_none() {
        return without_plan(Decision::Noop, "NoDatabase", "no database is recognised in it");
    }
    if findings.is_empty() {
        return without_plan(Decision::Noop, "Clean", "nothing is wrong with its probes and requests");
    }
    if let Some(controller) = &case.ownership.controller {
        let message = format!("{controller} controls it: change the probes in that object instead");
        return without_plan(Decision::Refuse, "OwnerManaged", &message);
    }
    match plan(case, findings, Remedy::Swap, true) {
        Planned::Refused(why) => (Decision::Refuse, why, None),
        Planned::Nothing(notes) => {
            let is_safe = findings.iter().any(|finding| finding.applicability == Applicability::Safe);
            let head = if is_safe { "nothing that may be changed would cure it" } else { "for a person to decide" };
            let parts: Vec<_> = std::iter::once(head.to_owned()).chain(notes).collect();
            without_plan(Decision::Advise, "ReportOnly", &parts.join(". "))
        }
        Planned::Plan(plan) => {
            let body = plan.template_patch.clone();
            let violations = match patch::apply(workload.json(), &body) {
                Ok(after) => verify(workload, &after, &plan, &body, policy),
                Err(error) => return without_plan(Decision::Refuse, "PatchUnusable", &error.to_string()),
            };
            if let Some(violation) = violations.first() {
                let message = format!("the patch is not what was planned: {violation}");
                return without_plan(Decision::Refuse, "VerificationFailed", &message);
            }
            let rules: std::collections::BTreeSet<_> = plan.cured.iter().map(|(rule, _)| *rule).collect();
            let rules = rules.into_iter().collect::<Vec<_>>().join(", ");
            let message = [vec![format!("a patch would cure {rules}")], plan.notes.clone()].concat().join(". ");
            (Decision::Patch, Refusal::new("Fixable", message), Some(plan))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn judged(container: &serde_json::Value) -> Judgement {
        let workload = Workload::new(json!({"kind": "StatefulSet", "metadata": {"name": "db"},
            "spec": {"template": {"spec": {"containers": [container]}}}}));
        judge(&workload, &PolicySpec::default())
    }

    #[test]
    fn a_manifest_is_fixed_by_its_owner() {
        let judgement = judged(
            &json!({"name": "db", "image": "postgres:16", "livenessProbe": {"exec": {"command": ["pg_isready"]}}}),
        );
        assert_eq!((judgement.decision, judgement.reason), (Decision::Patch, "Fixable"));
        let plan = judgement.plan.unwrap();
        assert!(plan.template_patch.pointer("/spec/template/spec/containers/0/livenessProbe/exec").unwrap().is_null());
    }

    /// A GET without a scheme is one with HTTP, for the local merge as for the server.
    #[test]
    fn a_startup_probe_may_repeat_a_get_without_a_scheme() {
        let judgement = judged(&json!({
            "name": "db", "image": "qdrant/qdrant:v1.19",
            "livenessProbe": {"httpGet": {"path": "/livez", "port": 6333}, "timeoutSeconds": 5},
        }));
        assert_eq!((judgement.decision, judgement.reason), (Decision::Patch, "Fixable"), "{}", judgement.message);
    }

    #[test]
    fn what_is_no_database_is_left_in_peace() {
        let judgement =
            judged(&json!({"name": "web", "image": "nginx", "livenessProbe": {"exec": {"command": ["true"]}}}));
        assert_eq!((judgement.decision, judgement.reason), (Decision::Noop, "NoDatabase"));
        assert!(judgement.findings.is_empty());
    }
}
