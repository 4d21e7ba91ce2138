//! # RP004 defaulted-probe-timeout
//!
//! ## What it finds
//! A probe of a database whose timeout is one second because nobody wrote another.
//!
//! ## Why it is unsafe
//! As RP003; the author never chose the number. In a live object the API server has filled it in, so that it can be
//! told from a stated one only where `managedFields` or the last-applied annotation prove it; the text says which.
//!
//! ## What Reprieve does
//! Raises it to the policy's number, or to five seconds.

use super::one_second_probe_timeout::{Origin, findings};
use super::{Applicability, Case, Finding, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    id: "RP004",
    name: "defaulted-probe-timeout",
    summary: "a probe must answer within one second because nobody said otherwise",
    severity: Severity::Warning,
    applicability: Applicability::Safe,
    file: include_str!("defaulted_probe_timeout.rs"),
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    findings(case, &RULE, |origin| origin != Origin::Stated)
}
