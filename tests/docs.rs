//! What the documents say is what the code does.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use reprieve::core::detect::RULES;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn the_readme_lists_the_rules_as_they_are() {
    let rows: Vec<String> = RULES
        .iter()
        .map(|rule| format!("| {} | {} | {} | {:?} |", rule.id, rule.name, rule.summary, rule.applicability))
        .collect();
    let readme = read("README.md");
    let listed: Vec<&str> = readme.lines().filter(|line| line.starts_with("| RP")).collect();
    assert_eq!(listed, rows, "copy the right side into README.md, between the two comments");
}

/// Reasons are words in capitals that the code gives to an outcome. Each has its row, and no row is left over.
#[test]
fn every_reason_is_explained() {
    let mut given = BTreeSet::new();
    for file in rust_files(&root().join("src/core")).into_iter().chain(rust_files(&root().join("src/controller"))) {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default().replace('\n', " ");
        for opening in [
            "Refusal::new(",
            "self.refuse(work,",
            "self.refused(*work,",
            "self.defer(work,",
            "withhold_or_refuse(work,",
            "Wait { reason:",
            "bare_outcome(Decision::Refuse, \"Refused\",",
            "bare_outcome(Decision::Halt, \"Failed\",",
            "\"Deferred\",",
            "\"Applied\",",
            "\"Failed\",",
            "\"Contested\",",
            "Some((",
        ] {
            for (at, _) in code.match_indices(opening) {
                let rest = code[at + opening.len()..].trim_start();
                let Some(word) = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()) else { continue };
                if word.len() > 3 && word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphanumeric) {
                    given.insert(word.to_owned());
                }
            }
        }
    }
    let document = read("docs/decisions.md");
    let table = document.split("## The reasons").nth(1).unwrap().split("\n## ").next().unwrap();
    let explained: BTreeSet<String> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .filter_map(|line| line.split(" |").next())
        .flat_map(|names| names.split(", "))
        .map(str::to_owned)
        .collect();
    let missing: Vec<_> = given.difference(&explained).collect();
    assert!(missing.is_empty(), "docs/decisions.md does not explain {missing:?}");
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
