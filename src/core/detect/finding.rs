use std::fmt;

use serde_json::{Map, Value};

use super::Rule;
use crate::core::model::pointer::Pointer;
use crate::core::model::workload::Container;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Will hurt under load.
    Warning,
    /// Kills a database that would have come back.
    Critical,
}

impl Severity {
    /// All three, worst first.
    pub const ALL: [Self; 3] = [Self::Critical, Self::Warning, Self::Info];
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        })
    }
}

/// What may be done about it without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
pub enum Applicability {
    /// Nothing: a person has to decide.
    ReportOnly,
    /// Only what the policy names.
    OptIn,
    /// Patched in Enforce.
    Safe,
}

/// A rule's statement about one probe or one container.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule's id, for example `RP001`.
    pub rule: &'static str,
    /// The rule's name.
    pub name: &'static str,
    /// How bad it is here.
    pub severity: Severity,
    /// What may be done here.
    pub applicability: Applicability,
    /// The container.
    pub container: String,
    /// The probe or field.
    pub pointer: Pointer,
    /// What was found, in a sentence with its numbers.
    pub message: String,
    /// The numbers alone.
    pub evidence: Map<String, Value>,
    /// What to do about it, in a sentence.
    pub fix: String,
}

/// What makes two findings the same one, before and after a change.
pub type FindingKey = (&'static str, String);

impl Finding {
    /// A finding of a rule, with the rule's own severity and applicability.
    #[must_use]
    pub fn new(rule: &Rule, container: &Container<'_>, field: &str, message: String, fix: &str) -> Self {
        Self {
            rule: rule.id,
            name: rule.name,
            severity: rule.severity,
            applicability: rule.applicability,
            container: container.name.to_owned(),
            pointer: container.pointer.field(field),
            message,
            evidence: Map::new(),
            fix: fix.to_owned(),
        }
    }

    /// The same with a number or text that it rests on.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(name.to_owned(), value.into());
        self
    }

    /// The same at another place than its container, for what belongs to the pod.
    #[must_use]
    pub fn at(mut self, pointer: Pointer) -> Self {
        self.pointer = pointer;
        self
    }

    /// The same with another severity.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The same with another applicability.
    #[must_use]
    pub fn applicability(mut self, applicability: Applicability) -> Self {
        self.applicability = applicability;
        self
    }

    /// Which finding this is.
    #[must_use]
    pub fn key(&self) -> FindingKey {
        (self.rule, self.pointer.as_str().to_owned())
    }

    /// The probe or section it speaks of, for example `livenessProbe`.
    #[must_use]
    pub fn field(&self) -> &str {
        self.pointer.as_str().rsplit('/').next().unwrap_or("")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}: {}", self.rule, self.container, self.field(), self.message)
    }
}
