use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;

use super::{Error, Outcome, print};
use crate::core::detect::rules::page::{Section, table};
use crate::core::detect::{Applicability, RULES, Rule, Severity};
use crate::report::PrintError;

/// List the rules, or explain one.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Rules to explain, for example RP001. Without one all are listed.
    #[arg(value_name = "ID", value_parser = rule)]
    rules: Vec<&'static Rule>,
    /// How they are printed.
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
    /// Write a page for each rule, and an index, into this folder instead.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["rules", "output"])]
    output_dir: Option<PathBuf>,
}

/// How rules are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    #[default]
    Table,
    /// For machines: everything that is known of each rule.
    Json,
    /// For documents: a table, or the page of each rule that is named.
    Markdown,
}

/// A rule by its id or its name.
fn rule(text: &str) -> Result<&'static Rule, String> {
    let found = RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(text) || rule.name == text);
    found.ok_or_else(|| format!("there is no such rule; reprieve rules lists all {}", RULES.len()))
}

pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    if let Some(folder) = &args.output_dir {
        write(folder)?;
        return Ok(Outcome::Clean);
    }
    let named = &args.rules;
    print(match args.output {
        Output::Table if named.is_empty() => listed(),
        Output::Table => named.iter().map(|rule| explained(rule)).collect::<Vec<_>>().join("\n"),
        Output::Markdown if named.is_empty() => table(|rule| rule.id.to_owned()),
        Output::Markdown => named.iter().map(|rule| rule.markdown()).collect::<Vec<_>>().join("\n"),
        Output::Json => {
            let all = || RULES.iter().collect();
            let rules: Vec<&Rule> = if named.is_empty() { all() } else { named.clone() };
            let rules: Vec<Described> = rules.into_iter().map(Described::from).collect();
            serde_json::to_string_pretty(&rules).map_err(PrintError::from)? + "\n"
        }
    })?;
    Ok(Outcome::Clean)
}

/// A line for each rule.
fn listed() -> String {
    let width = RULES.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let line = |rule: &Rule| {
        let (severity, fix) = (rule.severity.to_string(), format!("{:?}", rule.applicability));
        format!("{}  {:width$}  {severity:8}  {fix:10}  {}\n", rule.id, rule.name, rule.summary)
    };
    RULES.iter().map(line).collect()
}

/// The page of a rule, as text.
fn explained(rule: &Rule) -> String {
    let head = format!("{} {} ({}, {:?})\n{}\n", rule.id, rule.name, rule.severity, rule.applicability, rule.summary);
    let section = |section: Section| {
        let text: Vec<_> = section.text.lines().map(|line| format!("  {line}").trim_end().to_owned()).collect();
        format!("\n{}\n{}\n", section.heading, text.join("\n"))
    };
    std::iter::once(head).chain(rule.page().into_iter().map(section)).collect()
}

/// A rule for machines.
#[derive(Serialize)]
struct Described {
    id: &'static str,
    name: &'static str,
    summary: &'static str,
    severity: Severity,
    applicability: Applicability,
    page: Vec<Section>,
}

impl From<&Rule> for Described {
    fn from(rule: &Rule) -> Self {
        let Rule { id, name, summary, severity, applicability, .. } = *rule;
        Self { id, name, summary, severity, applicability, page: rule.page() }
    }
}

const INDEX: &str = "\
# Rules

*Safe* is patched in Enforce, *OptIn* only when the policy names it, *ReportOnly* never. A finding may be more or less than
its rule says, where the rule's page says so. A policy leaves rules out (`rules: {disable: [RP008]}`) or opts in to them
(`rules: {optIn: [RP014]}`), and the annotation `reprieve.dev/ignore: \"RP008\"` leaves them out for one workload.

These pages are printed by `reprieve rules`; they are written in the files of `src/core/detect/rules`.

";

fn write(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|source| Error::Write { path: folder.to_owned(), source })?;
    let index = INDEX.to_owned() + &table(|rule| format!("[{0}]({0}.md)", rule.id));
    let pages = RULES.iter().map(|rule| (format!("{}.md", rule.id), rule.markdown()));
    for (name, text) in pages.chain([("README.md".to_owned(), index)]) {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|source| Error::Write { path, source })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_found_by_id_and_by_name() {
        assert_eq!(rule("rp014").unwrap().name, "short-termination-grace");
        assert_eq!(rule("short-termination-grace").unwrap().id, "RP014");
        assert!(rule("RP999").unwrap_err().contains("no such rule"));
    }

    #[test]
    fn a_page_is_text_without_marks() {
        let text = explained(rule("RP009").unwrap());
        assert!(text.starts_with("RP009 kill-budget-below-recovery (critical, Safe)\n"), "{text}");
        assert!(text.contains("\nWhat it finds\n  The first probe"), "{text}");
        assert!(!text.contains('#') && !text.contains("//!"), "{text}");
    }
}
