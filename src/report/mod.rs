//! Findings in words: the report of a scan, and the forms in which it is printed.

mod changes;
mod explain;
mod format;
mod github;
mod html;
mod json;
mod junit;
mod picture;
mod sarif;
pub mod subject;
mod table;
pub mod words;
mod yaml;

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::core::detect::{Applicability, Finding, Severity};
use crate::core::rollout::Judgement;

pub use explain::{Questions, explain};
pub use format::{Format, PrintError};
pub use json::schema;
pub use subject::Subject;

/// What a scan came to. Serialises to the published shape; fields are only ever added to it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The version of the shape.
    pub api_version: &'static str,
    /// The version of the program.
    pub reprieve: &'static str,
    /// Counts.
    pub summary: Summary,
    /// What could not be read, with its place.
    pub unread: Vec<UnreadDocument>,
    /// Every workload with a pod template, in the order of the input.
    pub workloads: Vec<WorkloadReport>,
}

/// Counts over everything that was scanned.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Summary {
    /// Files read.
    pub files: usize,
    /// Documents in them.
    pub documents: usize,
    /// Workloads among those.
    pub workloads: usize,
    /// Findings by severity.
    pub findings: FindingCounts,
}

/// Findings by severity.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct FindingCounts {
    /// Kill a database that would have come back.
    pub critical: usize,
    /// Will hurt under load.
    pub warning: usize,
    /// Worth knowing.
    pub info: usize,
}

/// Something that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadDocument {
    /// The file, `-` for standard input; `cluster:` and the context of the kubeconfig for what could not be listed.
    pub file: String,
    /// From 1; 0 in a cluster.
    pub line: u32,
    /// From 1; 0 in a cluster.
    pub column: u32,
    /// Why, and what to do.
    pub reason: String,
    /// Whether something is missing from the report because of it. What was read in spite of a doubt is in the report.
    pub lost: bool,
}

/// Where a workload stands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Source {
    /// The file, `-` for standard input; for a live object `cluster:` and the context of the kubeconfig.
    pub file: String,
    /// Which document of it, from 1; 0 for a live object.
    pub document: usize,
    /// Its first line, from 1; 0 for a live object.
    pub line: u32,
}

/// One workload.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkloadReport {
    /// Where it stands.
    pub source: Source,
    /// For example `StatefulSet`.
    pub kind: String,
    /// Empty where the manifest leaves it to whoever applies it.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The policy that was applied, `NAMESPACE/NAME`; null for the defaults.
    pub policy: Option<String>,
    /// Who re-applies it, as far as marks tell; null where none do.
    pub owner: Option<String>,
    /// Its containers.
    pub containers: Vec<ContainerReport>,
    /// The rules that its annotation or its policy leaves out, by id; `*` for all of them.
    pub ignored: Vec<String>,
    /// What was found.
    pub findings: Vec<FindingReport>,
    /// Patch, Advise, Defer, Refuse, Halt or Noop.
    pub decision: String,
    /// A sentence.
    pub reason: String,
    /// Swap or Additive; null where there is no patch.
    pub remedy: Option<String>,
    /// The strategic merge patch that the decision speaks of, also where it is not Patch; null where there is none.
    pub patch: Option<Value>,
    /// What the published shape does not hold, for reports that show more. Only kept where one is asked for.
    #[serde(skip)]
    pub subject: Option<Box<Subject>>,
}

/// One container.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContainerReport {
    /// Its name.
    pub name: String,
    /// The database in it; null where there is none.
    pub engine: Option<String>,
    /// Certain, Probable, Hint or Unsure; null where there is no database.
    pub confidence: Option<String>,
    /// What that rests on.
    pub evidence: Vec<String>,
}

/// One finding, with its place in the file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FindingReport {
    /// For example `RP001`.
    pub rule: &'static str,
    /// For example `exec-liveness-during-recovery`.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What may be done about it.
    pub applicability: Applicability,
    /// The container.
    pub container: String,
    /// The probe or field, as a JSON pointer into the object.
    pub path: String,
    /// From 1; 0 for a live object.
    pub line: u32,
    /// From 1; 0 for a live object.
    pub column: u32,
    /// What was found.
    pub message: String,
    /// The numbers that it rests on.
    pub evidence: Map<String, Value>,
    /// What to do.
    pub fix: String,
}

impl Report {
    /// An empty report.
    #[must_use]
    pub fn new() -> Self {
        Self {
            api_version: "reprieve.dev/report/v1",
            reprieve: env!("CARGO_PKG_VERSION"),
            summary: Summary::default(),
            unread: Vec::new(),
            workloads: Vec::new(),
        }
    }

    /// Adds a workload and counts its findings.
    pub fn add(&mut self, workload: WorkloadReport) {
        self.summary.workloads += 1;
        for finding in &workload.findings {
            let counts = &mut self.summary.findings;
            *match finding.severity {
                Severity::Critical => &mut counts.critical,
                Severity::Warning => &mut counts.warning,
                Severity::Info => &mut counts.info,
            } += 1;
        }
        self.workloads.push(workload);
    }

    /// The worst finding.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.workloads.iter().flat_map(|workload| &workload.findings).map(|finding| finding.severity).max()
    }

    /// How much is missing from the report because it could not be read.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.unread.iter().filter(|unread| unread.lost).count()
    }

    /// The report in one of its forms. Findings from `failing` on are failures in the forms that know such a thing.
    /// Colours are for the caller to strip where nobody sees them.
    ///
    /// # Errors
    /// Never, for what is in it; the type is that of the serialisers.
    pub fn print(&self, format: Format, failing: Option<Severity>) -> Result<String, PrintError> {
        format.print(self, failing)
    }

    /// The report as JSON, to a writer, piece by piece: the text of a fleet's report is as large as the report.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write(self, out)
    }
}

impl Default for Report {
    fn default() -> Self {
        Self::new()
    }
}

impl WorkloadReport {
    /// What it is, for people: `StatefulSet NAMESPACE/NAME`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.kind, self.full_name())
    }

    /// `NAMESPACE/NAME`, or the name alone where the namespace is left open.
    #[must_use]
    pub fn full_name(&self) -> String {
        if self.namespace.is_empty() { self.name.clone() } else { format!("{}/{}", self.namespace, self.name) }
    }

    /// Whether a database was recognised in it.
    #[must_use]
    pub fn has_database(&self) -> bool {
        self.containers.iter().any(|container| container.engine.is_some())
    }

    /// Whether it is the one that a person means by `NAME`, `NAMESPACE/NAME`, `KIND/NAME` or `KIND/NAMESPACE/NAME`.
    #[must_use]
    pub fn is_called(&self, wanted: &str) -> bool {
        let is_kind = |word: &str| self.kind.eq_ignore_ascii_case(word);
        match wanted.split('/').collect::<Vec<_>>().as_slice() {
            [name] => self.name == *name,
            [before, name] => self.name == *name && (is_kind(before) || self.namespace == *before),
            [kind, namespace, name] => is_kind(kind) && self.namespace == *namespace && self.name == *name,
            _ => false,
        }
    }

    /// The databases in it, for people; empty where there is none.
    #[must_use]
    pub fn databases(&self) -> String {
        let databases = self.containers.iter().filter_map(|container| {
            let (engine, confidence) = (container.engine.as_ref()?, container.confidence.as_ref()?);
            let doubt = if confidence == "Certain" { String::new() } else { format!(" ({confidence})") };
            Some(format!("{engine}{doubt} in {}", container.name))
        });
        databases.collect::<Vec<_>>().join(", ")
    }

    /// The report of a workload that was judged offline. `place` gives line and column of a pointer.
    #[must_use]
    pub fn new(
        source: Source,
        identity: (&str, &str, &str),
        policy: Option<String>,
        owner: Option<String>,
        judgement: Judgement,
        place: impl Fn(&crate::core::model::pointer::Pointer) -> (u32, u32),
    ) -> Self {
        let (kind, namespace, name) = identity;
        let findings = judgement.findings.iter().map(|finding| finding_report(finding, &place)).collect();
        Self {
            source,
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            policy,
            owner,
            containers: judgement
                .containers
                .into_iter()
                .map(|(name, database)| ContainerReport {
                    name,
                    engine: database.as_ref().map(|database| database.profile.engine.to_string()),
                    confidence: database.as_ref().map(|database| database.confidence.name().to_owned()),
                    evidence: database.map(|database| database.evidence).unwrap_or_default(),
                })
                .collect(),
            ignored: judgement.ignored,
            findings,
            decision: judgement.decision.to_string(),
            reason: judgement.message,
            remedy: judgement.plan.as_ref().map(|plan| plan.remedy.to_string()),
            patch: judgement.plan.map(|plan| plan.template_patch),
            subject: None,
        }
    }
}

impl FindingReport {
    /// What was found and what to do, for forms that have one text for both.
    fn sentence(&self) -> String {
        format!("{}. Fix: {}", self.message, self.fix)
    }
}

impl Source {
    /// `FILE:LINE`; a live object stands in no line.
    fn place(&self) -> String {
        if self.line == 0 { self.file.clone() } else { format!("{}:{}", self.file, self.line) }
    }
}

/// What a file is called where a dash would mean nothing.
fn file_name(file: &str) -> &str {
    if file == "-" { "stdin" } else { file.strip_prefix("./").unwrap_or(file) }
}

fn finding_report(
    finding: &Finding,
    place: impl Fn(&crate::core::model::pointer::Pointer) -> (u32, u32),
) -> FindingReport {
    let (line, column) = place(&finding.pointer);
    FindingReport {
        rule: finding.rule,
        name: finding.name,
        severity: finding.severity,
        applicability: finding.applicability,
        container: finding.container.clone(),
        path: finding.pointer.as_str().to_owned(),
        line,
        column,
        message: finding.message.clone(),
        evidence: finding.evidence.clone(),
        fix: finding.fix.clone(),
    }
}
