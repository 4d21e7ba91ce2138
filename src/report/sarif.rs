//! The report as SARIF 2.1.0 (<https://docs.oasis-open.org/sarif/sarif/v2.1.0/>), for code scanning.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{FindingReport, PrintError, Report, UnreadDocument, WorkloadReport, file_name};
use crate::core::detect::{RULES, Severity};

pub(super) fn print(report: &Report) -> Result<String, PrintError> {
    let results: Vec<Value> = report
        .workloads
        .iter()
        .flat_map(|workload| workload.findings.iter().map(move |finding| result(workload, finding)))
        .collect();
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "reprieve",
                "semanticVersion": report.reprieve,
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": report.lost() == 0,
                "toolExecutionNotifications": report.unread.iter().map(notification).collect::<Vec<_>>(),
            }],
            "results": results,
        }],
    });
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

fn rules() -> Vec<Value> {
    let rule = |rule: &crate::core::detect::Rule| {
        json!({
            "id": rule.id,
            "name": rule.name,
            "shortDescription": message(rule.summary),
            "defaultConfiguration": {"level": level(rule.severity)},
            "properties": {"applicability": rule.applicability},
        })
    };
    RULES.iter().map(rule).collect()
}

fn result(workload: &WorkloadReport, finding: &FindingReport) -> Value {
    let identity = [&workload.namespace, &workload.kind, &workload.name, &finding.container].map(String::as_str);
    let mut location = json!({
        "logicalLocations": [{
            "name": finding.container,
            "fullyQualifiedName": identity.join("/"),
            "kind": "resource",
        }],
    });
    if let Some(place) = physical_location(&workload.source.file, finding.line, finding.column) {
        location["physicalLocation"] = place;
    }
    json!({
        "ruleId": finding.rule,
        "ruleIndex": RULES.iter().position(|rule| rule.id == finding.rule),
        "level": level(finding.severity),
        "message": message(&finding.sentence()),
        "locations": [location],
        "partialFingerprints": {"finding/v1": fingerprint(workload, finding)},
        "properties": {
            "applicability": finding.applicability,
            "path": finding.path,
            "evidence": finding.evidence,
            "fix": finding.fix,
        },
    })
}

fn notification(unread: &UnreadDocument) -> Value {
    let mut notification = json!({
        "level": if unread.lost { "error" } else { "warning" },
        "message": message(&unread.reason),
    });
    if let Some(place) = physical_location(&unread.file, unread.line, unread.column) {
        notification["locations"] = json!([{ "physicalLocation": place }]);
    }
    notification
}

/// What stays the same when lines move: the rule, the workload and the place in it.
fn fingerprint(workload: &WorkloadReport, finding: &FindingReport) -> String {
    let parts = [finding.rule, &workload.kind, &workload.namespace, &workload.name, &finding.path];
    Sha256::digest(parts.join("\n")).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// A live object stands in no file.
fn physical_location(file: &str, line: u32, column: u32) -> Option<Value> {
    (line > 0).then(|| {
        json!({
            "artifactLocation": {"uri": uri(file)},
            "region": {"startLine": line, "startColumn": column},
        })
    })
}

/// A path as a URI: relative ones stay so, for whoever knows where the sources are.
fn uri(file: &str) -> String {
    let scheme = if file.starts_with('/') { "file://" } else { "" };
    let mut uri = scheme.to_owned();
    for byte in file_name(file).bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}

/// A text without placeholders: braces would begin one (SARIF 3.11.5).
fn message(text: &str) -> Value {
    json!({"text": text.replace('{', "{{").replace('}', "}}")})
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        for (path, expected) in [
            ("./db/a.yaml", "db/a.yaml"),
            ("a b:ü.yaml", "a%20b%3A%C3%BC.yaml"),
            ("/tmp/100%.yaml", "file:///tmp/100%25.yaml"),
            ("../a.yaml", "../a.yaml"),
            ("-", "stdin"),
        ] {
            assert_eq!(uri(path), expected);
        }
    }

    #[test]
    fn braces_are_no_placeholders() {
        assert_eq!(message("databases: [{container: a}]")["text"], "databases: [{{container: a}}]");
    }
}
