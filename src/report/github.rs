//! The report as annotations: workflow commands that a GitHub runner reads from the output of a step.
//!
//! The escapes are those of the runner's toolkit (`packages/core/src/command.ts` in actions/toolkit): percent signs and
//! line breaks everywhere, colons and commas in properties too.

use std::fmt::Write as _;

use super::{Report, file_name};
use crate::core::detect::Severity;

/// One annotation for each finding and for each thing that could not be read, in the order of the report.
pub(super) fn print(report: &Report) -> String {
    let mut text = String::new();
    for unread in &report.unread {
        let (level, title) = if unread.lost { ("error", "not read") } else { ("warning", "read with a doubt") };
        annotate(&mut text, level, (&unread.file, unread.line, unread.column), title, &unread.reason);
    }
    for workload in &report.workloads {
        for finding in &workload.findings {
            let level = match finding.severity {
                Severity::Critical => "error",
                Severity::Warning => "warning",
                Severity::Info => "notice",
            };
            let title = format!("{} {}", finding.rule, finding.name);
            let message = format!("{}, container {}: {}", workload.title(), finding.container, finding.sentence());
            annotate(&mut text, level, (&workload.source.file, finding.line, finding.column), &title, &message);
        }
    }
    text
}

fn annotate(text: &mut String, level: &str, place: (&str, u32, u32), title: &str, message: &str) {
    let (file, line, column) = place;
    let place = if line == 0 || file == "-" {
        // Nothing in the repository: the annotation stands at the run, and says itself where it is from.
        String::new()
    } else {
        format!("file={},line={line},col={column},", property(file_name(file)))
    };
    let origin = match (line, file) {
        (0, file) => format!(" ({file})"),
        (line, "-") => format!(" ({}:{line}:{column})", file_name(file)),
        _ => String::new(),
    };
    let _ = writeln!(text, "::{level} {place}title={}::{}{}", property(title), data(message), data(&origin));
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_or_a_property_is_escaped() {
        assert_eq!(data("100% a:b,c\r\n::error::x"), "100%25 a:b,c%0D%0A::error::x");
        assert_eq!(property("100% a:b,c\n"), "100%25 a%3Ab%2Cc%0A");
    }
}
