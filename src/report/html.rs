//! The report as one page that needs nothing else: no script, no font, no picture from elsewhere. It reads in light and
//! dark, on a phone and on paper.
//!
//! Everything that comes from input passes through the template, which escapes it, and [`visible`], which shows what
//! hides; identifiers and classes are ours alone.

mod drawing;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::changes::{Line, Side, compare};
use super::picture::{Picture, verdict};
use super::subject::DatabaseView;
use super::words::{self, visible};
use super::{FindingReport, Report, WorkloadReport};
use crate::core::detect::Severity;
use crate::core::detect::timeline::Recovery;

const STYLE: &str = include_str!("html/style.css");
/// In a larger fleet the manifests are folded away.
const MOST_UNFOLDED: usize = 12;

/// The page.
pub(super) fn print(report: &Report) -> String {
    let entries = entries(report);
    let is_unfolded = entries.len() <= MOST_UNFOLDED;
    let others = report.workloads.iter().filter(|workload| !workload.has_database()).count();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Should an escape ever be forgotten, the browser still runs and loads nothing.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { "Reprieve: " (headline(report)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "Reprieve" }
                    p.lead { (headline(report)) }
                    (totals(report, &entries))
                }
                main {
                    (unread(report))
                    @if !entries.is_empty() { (fleet(&entries)) (drawing::legend()) }
                    @for entry in &entries { (workload(entry, is_unfolded)) }
                    @if others > 0 {
                        p.rest { (words::count(others, "more workload")) " without a database that is known here." }
                    }
                }
                footer { p { "Made by reprieve " (report.reprieve) ". Times count from the start of the container." } }
            }
        }
    };
    page.into_string() + "\n"
}

/// A workload with a database, and its number on the page.
struct Entry<'a> {
    id: usize,
    report: &'a WorkloadReport,
    /// How a recovery ends today, for each database: a class, and the words.
    recovery: Vec<(&'static str, String)>,
}

/// The workloads with a database, worst first, and in the order of the input where they are alike.
fn entries(report: &Report) -> Vec<Entry<'_>> {
    let mut workloads: Vec<&WorkloadReport> =
        report.workloads.iter().filter(|workload| workload.has_database()).collect();
    workloads.sort_by_cached_key(|workload| Reverse(Severity::ALL.map(|severity| count(workload, severity))));
    let entry = |(index, workload)| Entry { id: index + 1, report: workload, recovery: recovery(workload) };
    workloads.into_iter().enumerate().map(entry).collect()
}

fn count(workload: &WorkloadReport, severity: Severity) -> usize {
    workload.findings.iter().filter(|finding| finding.severity == severity).count()
}

fn recovery(workload: &WorkloadReport) -> Vec<(&'static str, String)> {
    let Some(subject) = &workload.subject else { return Vec::new() };
    let case = subject.case();
    let databases = subject.databases(&case, None);
    let words = databases.iter().map(|view| match view.today.recovery {
        Recovery::Survives => ("good", "✓ survives".to_owned()),
        Recovery::Killed(killer) if view.today.covers_recovery() => {
            ("good", format!("✓ has {}", words::round(killer.allowed)))
        }
        Recovery::Killed(killer) => ("bad", format!("✕ killed at {}", words::round_span(killer.span))),
        Recovery::MayBeKilled(_) if view.today.covers_recovery() => ("good", "✓ has time enough".to_owned()),
        Recovery::MayBeKilled(killer) => ("warning", format!("? may be killed at {}", words::round_span(killer.span))),
    });
    words.collect()
}

fn headline(report: &Report) -> String {
    let databases = report.workloads.iter().filter(|workload| workload.has_database()).count();
    let critical = report.workloads.iter().filter(|workload| count(workload, Severity::Critical) > 0).count();
    let files = match report.summary.files {
        // Live objects.
        0 => String::new(),
        files => format!(" in {}", words::count(files, "file")),
    };
    let all = format!("{}{files}, {databases} with a database", words::count(report.summary.workloads, "workload"));
    match critical {
        0 => format!("{all}; none would be killed while it recovers"),
        1 => format!("{all}; 1 has a critical finding"),
        _ => format!("{all}; {critical} have critical findings"),
    }
}

fn totals(report: &Report, entries: &[Entry<'_>]) -> Markup {
    let counts = &report.summary.findings;
    let tiles = [
        (Severity::Critical, counts.critical, "critical"),
        (Severity::Warning, counts.warning, "warnings"),
        (Severity::Info, counts.info, "info"),
    ];
    let mut engines: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for entry in entries {
        let is_critical = usize::from(count(entry.report, Severity::Critical) > 0);
        let mut found: Vec<&str> = entry.report.containers.iter().filter_map(|c| c.engine.as_deref()).collect();
        found.sort_unstable();
        found.dedup();
        for engine in found {
            let counts = engines.entry(engine).or_default();
            *counts = (counts.0 + 1, counts.1 + is_critical);
        }
    }
    let mut engines: Vec<_> = engines.into_iter().collect();
    engines.sort_by_key(|(_, counts)| Reverse(*counts));
    html! {
        ul.tiles aria-label="Findings" {
            @for (severity, number, word) in tiles {
                li.tile.(severity) { span.number { (number) } " " span.word { (mark(severity)) " " (word) } }
            }
        }
        @if !engines.is_empty() {
            ul.engines aria-label="Engines" {
                @for (engine, (all, critical)) in engines {
                    li { b { (visible(engine)) } " " (all) @if critical > 0 { span.critical { " (" (critical) " critical)" } } }
                }
            }
        }
    }
}

fn unread(report: &Report) -> Markup {
    html! {
        @if !report.unread.is_empty() {
            section.unread {
                h2 { (if report.lost() > 0 { "Not read" } else { "Read with a doubt" }) }
                ul {
                    @for unread in &report.unread {
                        li {
                            // A live object stands in no line.
                            code { (visible(&unread.file)) @if unread.line > 0 { ":" (unread.line) ":" (unread.column) } }
                            " " (visible(&unread.reason)) @if !unread.lost { " (read in spite of that)" }
                        }
                    }
                }
            }
        }
    }
}

fn fleet(entries: &[Entry<'_>]) -> Markup {
    html! {
        section {
            h2 { "Worst first" }
            div.scroll {
                table.fleet {
                    thead { tr {
                        th scope="col" { "Workload" }
                        th scope="col" { "Engine" }
                        th scope="col" { "Findings" }
                        th scope="col" { "A recovery today" }
                        th scope="col" { "Reprieve would" }
                    } }
                    tbody {
                        @for entry in entries {
                            tr {
                                th scope="row" { a href={ "#w" (entry.id) } { (full_name(entry.report)) } }
                                td { (engines(entry.report)) }
                                td { (counts(entry.report)) }
                                td { @for (class, text) in &entry.recovery { div.(class) { (text) } } }
                                td { (entry.report.decision) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn full_name(workload: &WorkloadReport) -> String {
    if workload.name.is_empty() { "(no name)".to_owned() } else { visible(&workload.full_name()) }
}

fn engines(workload: &WorkloadReport) -> String {
    let mut engines: Vec<String> =
        workload.containers.iter().filter_map(|c| c.engine.as_deref()).map(visible).collect();
    engines.dedup();
    engines.join(", ")
}

fn counts(workload: &WorkloadReport) -> Markup {
    html! {
        @if workload.findings.is_empty() { span.good { "✓ none" } }
        @for severity in Severity::ALL {
            @let number = count(workload, severity);
            @if number > 0 { span.count.(severity) { (mark(severity)) " " (words::findings(severity, number)) } " " }
        }
    }
}

/// A sign for those who see no colours.
fn mark(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "▲",
        Severity::Warning => "◆",
        Severity::Info => "○",
    }
}

fn workload(entry: &Entry<'_>, is_unfolded: bool) -> Markup {
    let report = entry.report;
    html! {
        section.workload id={ "w" (entry.id) } {
            h2 { small { (visible(&report.kind)) } " " (full_name(report)) }
            p.facts {
                code { (visible(&report.source.place())) }
                @if let Some(owner) = &report.owner { " · re-applied by " (visible(owner)) }
                @if let Some(policy) = &report.policy { " · " (visible(policy)) }
            }
            (findings(report))
            p.decision { b { (report.decision) } ": " (visible(&report.reason)) }
            @if let Some(subject) = &report.subject {
                @let case = subject.case();
                @let patched = subject.patched();
                @for (index, view) in subject.databases(&case, patched.as_ref()).iter().enumerate() {
                    @let after = patched.as_ref().and_then(|workload| workload.container(view.container.name));
                    (database(view, &format!("t{}-{index}", entry.id)))
                    (manifest(&compare(view.container.json, after.as_ref().map(|c| c.json)), after.is_some(), is_unfolded))
                }
            }
        }
    }
}

fn findings(report: &WorkloadReport) -> Markup {
    let mut findings: Vec<&FindingReport> = report.findings.iter().collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    html! {
        @if findings.is_empty() { p.good { "✓ Nothing is wrong with its probes and requests." } } @else {
            ul.findings {
                @for finding in findings {
                    li.(finding.severity) {
                        p {
                            span.badge { (mark(finding.severity)) " " (finding.severity) }
                            " " b { (finding.rule) " " (finding.name) } " "
                            span.where { (visible(&finding.container)) @if finding.line > 0 { ", line " (finding.line) } }
                        }
                        p { (sentence(&finding.message)) }
                        p.fix { (sentence(&finding.fix)) }
                    }
                }
            }
        }
    }
}

/// With a capital and a full stop, as prose wants it.
fn sentence(text: &str) -> String {
    let text = visible(text);
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return text };
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), characters.as_str())
}

fn database(view: &DatabaseView<'_>, id: &str) -> Markup {
    let picture = Picture::new(&view.today, view.patched.as_ref());
    let name = visible(view.container.name);
    html! {
        div.recovery {
            h3 { "A recovery of " (view.database.profile.engine.to_string()) " in " code { (name) } }
            p { (verdict(&view.today)) @if let Some(patched) = &view.patched { " With the patch: " (verdict(patched)) } }
            figure { (drawing::draw(&picture, &name, id)) }
        }
    }
}

fn manifest(lines: &[Line], is_changed: bool, is_unfolded: bool) -> Markup {
    let title = if is_changed { "Its manifest, before and after" } else { "Its manifest" };
    html! {
        @if lines.is_empty() {
            p { "It has no probes, and states no resources." }
        } @else {
            details open[is_unfolded] {
                summary { (title) }
                pre {
                    @for line in lines {
                        @match line.side {
                            Side::Before => del { "- " (line.text) "\n" },
                            Side::After => ins { "+ " (line.text) "\n" },
                            Side::Both => span { "  " (line.text) "\n" },
                        }
                    }
                }
            }
        }
    }
}
