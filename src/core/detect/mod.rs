//! What is wrong: rules over a workload, what is known of its engines, and the policy.

pub mod budget;
pub(crate) mod case;
mod finding;
pub mod rules;

pub use case::{Case, Examined, same_check};
pub use finding::{Applicability, Finding, FindingKey, Severity};
pub use rules::{RULES, Rule};

/// Every finding of every rule that the policy and the workload leave on, in the order of the rules.
#[must_use]
pub fn detect(case: &Case<'_>) -> Vec<Finding> {
    RULES.iter().filter(|rule| case.is_on(rule.id)).flat_map(|rule| (rule.check)(case)).collect()
}
