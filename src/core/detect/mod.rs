//! What is wrong: rules over a workload, what is known of its engines, and the policy.

pub mod budget;
pub(crate) mod case;
mod finding;
pub mod rules;
pub mod timeline;

use crate::core::model::engine::{Confidence, SteadyLiveness};
pub use case::{Case, Examined, same_check};
pub use finding::{Applicability, Finding, FindingKey, Severity};
pub use rules::{RULES, Rule};

/// Every finding of every rule that the policy and the workload leave on, in the order of the rules.
#[must_use]
pub fn detect(case: &Case<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        RULES.iter().filter(|rule| case.is_on(rule.id)).flat_map(|rule| (rule.check)(case)).collect();
    for (container, database) in case.databases() {
        if let SteadyLiveness::LeaveAlone(because) = database.profile.steady {
            for finding in findings.iter_mut().filter(|finding| finding.container == container.name) {
                finding.applicability = Applicability::ReportOnly;
                finding.fix = format!(
                    "for its owner to decide: Reprieve leaves {} untouched, since {because}",
                    database.profile.engine
                );
            }
        }
    }
    // A database's image that runs something else, a backup or a controller, is no reason to restart the pod, and none
    // to keep from the database beside it. A hint that contradicts what is seen stays one: the policy is to be corrected.
    for (container, database) in case.databases() {
        let is_hinted = case.policy.databases.iter().any(|hint| hint.container == container.name);
        if database.confidence == Confidence::Unsure && !is_hinted {
            let its = || |finding: &&mut Finding| finding.container == container.name;
            // What is most likely no server kills none.
            for finding in findings.iter_mut().filter(its()) {
                finding.severity = Severity::Info;
            }
            let is_safe = |finding: &&mut Finding| finding.applicability == Applicability::Safe;
            for finding in findings.iter_mut().filter(its()).filter(is_safe) {
                finding.applicability = Applicability::ReportOnly;
                finding.fix = format!(
                    "if it is {}, say so in the policy: databases: [{{container: {}, engine: {}}}]",
                    database.profile.engine, container.name, database.profile.engine
                );
            }
        }
    }
    findings
}
