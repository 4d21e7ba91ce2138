//! A workload explained: what is known of its database and on what that rests, what its probes do in time, what its
//! resources mean on a node, and why each finding is one. A person who disagrees with a verdict finds its reason here.
//!
//! Colours are for the caller to strip where nobody sees them.

mod probes;
mod resources;
mod time;

use std::fmt::Write as _;

use super::changes::yaml;
use super::subject::DatabaseView;
use super::words::visible;
use super::{Subject, WorkloadReport};
use crate::core::detect::{Applicability, Finding, Severity};
use crate::core::model::engine::{ClientPort, Database, Opens, Source};

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const PLAIN: &str = "\u{1b}[0m";
/// Where the second column begins.
const COLUMN: usize = 16;

/// What to work out beside what the manifest says.
#[derive(Clone, Debug)]
pub struct Questions {
    /// Stalls in seconds.
    pub stalls: Vec<i64>,
    /// WAL that is written, in bytes per second.
    pub write_rate: u64,
}

impl Default for Questions {
    fn default() -> Self {
        Self { stalls: vec![1, 5, 15, 30, 60, 300], write_rate: 16 << 20 }
    }
}

/// The explanation of a workload; empty where its [`Subject`] was not kept.
#[must_use]
pub fn explain(report: &WorkloadReport, questions: &Questions) -> String {
    let Some(subject) = &report.subject else { return String::new() };
    let case = subject.case();
    let patched = subject.patched();
    let databases = subject.databases(&case, patched.as_ref());
    let mut page = Page::default();
    page.workload(report);
    if databases.is_empty() {
        let images = case
            .containers
            .iter()
            .map(|examined| format!("{} ({})", examined.container.name, examined.container.image()));
        let images = images.collect::<Vec<_>>().join(", ");
        page.line(&format!(
            "No database is recognised in it: {images}. Is there one? Name it in a policy: spec.databases."
        ));
    }
    for view in &databases {
        page.database(view, questions);
    }
    resources::explain(&mut page, subject, &databases);
    page.findings(report, subject);
    page.end(report);
    page.text
}

/// The text while it grows.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// A headline.
    fn section(&mut self, title: &str) {
        let _ = write!(self.text, "\n{BOLD}{}{PLAIN}\n", visible(title));
    }

    /// A line of prose.
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "  {}", visible(text));
    }

    /// A word and what is said about it; further lines stand below the first.
    fn entry(&mut self, word: &str, lines: &[String]) {
        for (index, line) in lines.iter().enumerate() {
            let word = if index == 0 { word } else { "" };
            let _ = writeln!(self.text, "  {DIM}{:<COLUMN$}{PLAIN}{}", visible(word), visible(line));
        }
    }

    fn workload(&mut self, report: &WorkloadReport) {
        let name = report.full_name();
        let (title, place) = (visible(&format!("{} {name}", report.kind)), visible(&report.source.place()));
        let _ = writeln!(self.text, "{BOLD}{title}{PLAIN}  {DIM}{place}{PLAIN}");
        let policy = report.policy.as_deref().unwrap_or("none given, so the defaults count");
        self.entry("policy", &[policy.to_owned()]);
        let owner = report.owner.as_deref().unwrap_or("nobody, as far as its marks tell");
        self.entry("re-applied by", &[owner.to_owned()]);
    }

    fn database(&mut self, view: &DatabaseView<'_>, questions: &Questions) {
        let (container, database) = (view.container, view.database);
        self.section(&format!("{} in container {}", database.profile.engine, container.name));
        let confidence = format!("{}: {}", database.confidence.name(), database.evidence.join("; "));
        self.entry("recognised", &[confidence]);
        let port = match &database.port {
            ClientPort::Known { number, source } => format!("{number}, from {source}"),
            ClientPort::Ambiguous(why) => format!("not known: {why}"),
        };
        let port = std::iter::once(port).chain(database.unreachable.clone()).collect::<Vec<_>>();
        self.entry("port", &port);
        self.entry("class", &class(database));
        self.entry("recovering", &[format!("{} {}", database.profile.engine, database.profile.in_recovery)]);
        if !database.profile.startup_practice.is_empty() {
            self.entry("practice", &[database.profile.startup_practice.to_owned()]);
        }
        self.section("Its probes");
        probes::explain(self, container, database);
        probes::explain_lag(self, container, questions.write_rate);
        self.section("A start that has to recover");
        time::explain_start(self, view);
        self.section("After a good start");
        time::explain_steady(self, &view.today, &questions.stalls);
    }

    fn findings(&mut self, report: &WorkloadReport, subject: &Subject) {
        self.section("Findings");
        if report.findings.is_empty() {
            self.line("none");
        }
        let cured = subject.judgement.plan.as_ref().map(|plan| plan.cured.as_slice()).unwrap_or_default();
        let mut findings: Vec<(&Finding, u32)> =
            subject.judgement.findings.iter().zip(report.findings.iter().map(|finding| finding.line)).collect();
        findings.sort_by_key(|(finding, _)| std::cmp::Reverse(finding.severity));
        for (finding, line) in findings {
            let (rule, name) = (finding.rule, finding.name);
            let line = if line == 0 { String::new() } else { format!(", line {line}") };
            let place = format!("{} {}{line}", finding.container, finding.field());
            let _ = writeln!(
                self.text,
                "  {BOLD}{} {rule} {name}{PLAIN}  {DIM}{}{PLAIN}",
                finding.severity,
                visible(&place)
            );
            self.entry("  found", std::slice::from_ref(&finding.message));
            let evidence = finding.evidence.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>();
            if !evidence.is_empty() {
                self.entry("  rests on", &[evidence.join(", ")]);
            }
            self.entry("  so it is", &[format!("{}: {}", finding.severity, meaning_of(finding.severity))]);
            let then = if cured.contains(&finding.key()) { "; the patch below cures it" } else { "" };
            let may = may_be_done(finding.applicability);
            self.entry("  to do", &[finding.fix.clone(), format!("{may}{then}")]);
        }
    }

    fn end(&mut self, report: &WorkloadReport) {
        self.section("What Reprieve would do");
        self.line(&format!("{}: {}", report.decision, report.reason));
        if let Some(patch) = &report.patch {
            self.line(&format!("{}, as a strategic merge patch:", report.remedy.as_deref().unwrap_or("The change")));
            self.text.push('\n');
            self.text.push_str(&visible(&yaml(patch)));
        }
    }
}

/// What the port tells of recovery, and where that is known from.
fn class(database: &Database) -> Vec<String> {
    let profile = database.profile;
    let class = match profile.opens {
        Opens::Early => "early: the port opens before recovery, so that a socket survives it",
        Opens::Late => "late: the port opens only after recovery, so that a socket fails as long as a query does",
        Opens::Unknown => "unknown, and treated as late: nobody has shown whether the port opens before recovery",
    };
    let Source { kind, citation } = profile.opens_source;
    vec![class.to_owned(), format!("{}: {citation}", kind.word())]
}

fn meaning_of(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "kills a database that would have come back",
        Severity::Warning => "will hurt under load",
        Severity::Info => "worth knowing",
    }
}

fn may_be_done(applicability: Applicability) -> &'static str {
    match applicability {
        Applicability::Safe => "Safe: in mode Enforce it is patched without asking",
        Applicability::OptIn => "OptIn: patched only where the policy names the rule (rules.optIn)",
        Applicability::ReportOnly => "ReportOnly: a person has to decide",
    }
}

#[cfg(test)]
mod tests;
