use super::{Report, github, html, json, junit, sarif, table, yaml};
use crate::core::detect::Severity;

/// The forms in which a report is printed, one file each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "controller", derive(clap::ValueEnum))]
pub enum Format {
    /// For people: grouped by workload, a sentence for each finding.
    #[default]
    Table,
    /// For machines; see --print-schema.
    Json,
    /// The same as YAML.
    Yaml,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit's XML, for test reports: a workload is a test, and a finding as bad as --fail-on its failure.
    Junit,
    /// Annotations of a pull request, as commands of a GitHub workflow.
    Github,
    /// One page for a browser, with the timeline of each database before and after.
    Html,
}

/// A report that has no form of the kind that was asked for.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    /// Not as JSON, or as SARIF, which is JSON.
    #[error("cannot print the report as JSON")]
    Json(#[from] serde_json::Error),
    /// Not as YAML.
    #[error("cannot print the report as YAML")]
    Yaml(#[from] serde_yaml::Error),
    /// Not as XML.
    #[error("cannot print the report as XML")]
    Xml(#[from] std::io::Error),
}

impl Format {
    /// Whether it shows what the published shape does not hold; see [`super::WorkloadReport::subject`].
    #[must_use]
    pub fn needs_subjects(self) -> bool {
        self == Self::Html
    }

    pub(super) fn print(self, report: &Report, failing: Option<Severity>) -> Result<String, PrintError> {
        match self {
            Self::Table => Ok(table::print(report)),
            Self::Json => json::print(report),
            Self::Yaml => yaml::print(report),
            Self::Sarif => sarif::print(report),
            Self::Junit => junit::print(report, failing),
            Self::Github => Ok(github::print(report)),
            Self::Html => Ok(html::print(report)),
        }
    }
}
