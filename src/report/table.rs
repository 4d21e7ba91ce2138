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

/// The report, with colours. Workloads without findings are counted and not shown.
pub(super) fn print(report: &Report) -> String {
    let mut text = String::new();
    for unread in &report.unread {
        let _ = writeln!(
            text,
            "{YELLOW}{}:{}:{}: not read: {}{PLAIN}\n",
            unread.file, unread.line, unread.column, unread.reason
        );
    }
    for workload in report.workloads.iter().filter(|workload| !workload.findings.is_empty()) {
        print_workload(&mut text, workload);
    }
    let counts = &report.summary.findings;
    let total = counts.critical + counts.warning + counts.info;
    let findings = if total == 0 {
        "nothing found".to_owned()
    } else {
        format!("{} critical, {} warnings, {} for information", counts.critical, counts.warning, counts.info)
    };
    let databases = report.workloads.iter().filter(|workload| workload.containers.iter().any(|c| c.engine.is_some()));
    let _ = writeln!(
        text,
        "{} workloads in {} files, {} with a database: {findings}",
        report.summary.workloads,
        report.summary.files,
        databases.count()
    );
    text
}

fn print_workload(text: &mut String, workload: &WorkloadReport) {
    let name = if workload.namespace.is_empty() {
        workload.name.clone()
    } else {
        format!("{}/{}", workload.namespace, workload.name)
    };
    let engines: Vec<_> = workload
        .containers
        .iter()
        .filter_map(|container| {
            let (engine, confidence) = (container.engine.as_ref()?, container.confidence.as_ref()?);
            let doubt = if confidence == "Certain" { String::new() } else { format!(" ({confidence})") };
            Some(format!("{engine}{doubt} in {}", container.name))
        })
        .collect();
    let _ = writeln!(
        text,
        "{BOLD}{} {name}{PLAIN}  {}  {DIM}{}:{}{PLAIN}",
        workload.kind,
        engines.join(", "),
        workload.source.file,
        workload.source.line
    );
    let mut findings: Vec<&FindingReport> = workload.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in findings {
        let colour = match finding.severity {
            Severity::Critical => RED,
            Severity::Warning => YELLOW,
            Severity::Info => BLUE,
        };
        let _ = writeln!(
            text,
            "  {colour}{:<8}{PLAIN} {} {}:{}  {}",
            finding.severity.to_string(),
            finding.rule,
            finding.line,
            finding.column,
            finding.message
        );
        let _ = writeln!(text, "           {DIM}{}{PLAIN}", finding.fix);
    }
    let _ = writeln!(text, "  → {}: {}\n", workload.decision, workload.reason);
}
