//! The report for people: grouped by workload, a sentence for each finding.

use std::fmt::Write as _;

use super::{FindingReport, Report, WorkloadReport};
use crate::core::detect::Severity;

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const RED: &str = "\u{1b}[31m";
const YELLOW: &str = "\u{1b}[33m";
const BLUE: &str = "\u{1b}[34m";
const PLAIN: &str = "\u{1b}[0m";

/// The report, with colours. Workloads without findings are counted and not shown, but for databases that opt out.
pub(super) fn print(report: &Report) -> String {
    let mut text = String::new();
    for unread in &report.unread {
        let what = if unread.lost { "not read: " } else { "" };
        let _ = writeln!(
            text,
            "{YELLOW}{}: {what}{}{PLAIN}\n",
            place(&unread.file, unread.line, unread.column),
            visible(&unread.reason)
        );
    }
    let is_database = |workload: &WorkloadReport| workload.containers.iter().any(|c| c.engine.is_some());
    let is_shown = |workload: &&WorkloadReport| {
        !workload.findings.is_empty() || (!workload.ignored.is_empty() && is_database(workload))
    };
    for workload in report.workloads.iter().filter(is_shown) {
        print_workload(&mut text, workload);
    }
    let counts = &report.summary.findings;
    let total = counts.critical + counts.warning + counts.info;
    let findings = if total == 0 {
        "nothing found".to_owned()
    } else {
        format!("{} critical, {}, {} for information", counts.critical, counted(counts.warning, "warning"), counts.info)
    };
    let databases = report.workloads.iter().filter(|workload| is_database(workload));
    let files = match report.summary.files {
        // Live objects.
        0 => String::new(),
        files => format!(" in {}", counted(files, "file")),
    };
    let workloads = counted(report.summary.workloads, "workload");
    let _ = writeln!(text, "{workloads}{files}, {} with a database: {findings}", databases.count());
    text
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Where something stands. A live object stands in no line.
fn place(file: &str, line: u32, column: u32) -> String {
    if line == 0 { visible(file) } else { format!("{}:{line}:{column}", visible(file)) }
}

/// A text of the input without what a terminal would obey.
fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn print_workload(text: &mut String, workload: &WorkloadReport) {
    let source = match workload.source.line {
        0 => visible(&workload.source.file),
        line => format!("{}:{line}", visible(&workload.source.file)),
    };
    let (title, databases) = (visible(&workload.title()), visible(&workload.databases()));
    let _ = writeln!(text, "{BOLD}{title}{PLAIN}  {databases}  {DIM}{source}{PLAIN}");
    let mut findings: Vec<&FindingReport> = workload.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in findings {
        let colour = match finding.severity {
            Severity::Critical => RED,
            Severity::Warning => YELLOW,
            Severity::Info => BLUE,
        };
        let place = match finding.line {
            0 => format!("{}/{}", finding.container, finding.path.rsplit('/').next().unwrap_or_default()),
            line => format!("{line}:{}", finding.column),
        };
        let (severity, rule) = (finding.severity.to_string(), finding.rule);
        let (place, message) = (visible(&place), visible(&finding.message));
        let _ = writeln!(text, "  {colour}{severity:<8}{PLAIN} {rule} {place}  {message}");
        let _ = writeln!(text, "           {DIM}{}{PLAIN}", visible(&finding.fix));
    }
    if !workload.ignored.is_empty() {
        let _ = writeln!(text, "  {DIM}left out: {}{PLAIN}", workload.ignored.join(", "));
    }
    let _ = writeln!(text, "  → {}: {}\n", workload.decision, visible(&workload.reason));
}
