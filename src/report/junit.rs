//! The report as JUnit's XML, as the test reporters of CI systems read it: a file is a suite, a workload with a database
//! a test, and what could not be read an error.

use std::collections::HashMap;
use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::{FindingReport, PrintError, Report, UnreadDocument, WorkloadReport, file_name};
use crate::core::detect::Severity;

type Xml = Writer<Vec<u8>>;

/// What stands in one file.
struct Suite<'r> {
    file: &'r str,
    unread: Vec<&'r UnreadDocument>,
    workloads: Vec<&'r WorkloadReport>,
}

/// What the elements count.
#[derive(Clone, Copy, Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
}

/// The report. Findings from `failing` on are failures, the others are told in the output of their test.
pub(super) fn print(report: &Report, failing: Option<Severity>) -> Result<String, PrintError> {
    let suites = suites(report);
    let total = suites.iter().map(|suite| suite.counts(failing)).fold(Counts::default(), |sum, one| Counts {
        tests: sum.tests + one.tests,
        failures: sum.failures + one.failures,
        errors: sum.errors + one.errors,
    });
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    counted(&mut xml, "testsuites", "reprieve", total, |xml| {
        for suite in &suites {
            counted(xml, "testsuite", file_name(suite.file), suite.counts(failing), |xml| suite.tests(xml, failing))?;
        }
        Ok(())
    })?;
    Ok(String::from_utf8_lossy(&xml.into_inner()).into_owned() + "\n")
}

/// The files that have something to tell, in the order of the report.
fn suites(report: &Report) -> Vec<Suite<'_>> {
    let mut suites = Suites::default();
    for unread in &report.unread {
        suites.of(&unread.file).unread.push(unread);
    }
    for workload in &report.workloads {
        let has_database = workload.containers.iter().any(|container| container.engine.is_some());
        if has_database || !workload.findings.is_empty() {
            suites.of(&workload.source.file).workloads.push(workload);
        }
    }
    suites.in_order
}

/// Suites by file, in the order in which they were asked for.
#[derive(Default)]
struct Suites<'r> {
    in_order: Vec<Suite<'r>>,
    by_file: HashMap<&'r str, usize>,
}

impl<'r> Suites<'r> {
    fn of(&mut self, file: &'r str) -> &mut Suite<'r> {
        let index = *self.by_file.entry(file).or_insert(self.in_order.len());
        if index == self.in_order.len() {
            self.in_order.push(Suite { file, unread: Vec::new(), workloads: Vec::new() });
        }
        &mut self.in_order[index]
    }
}

impl Suite<'_> {
    fn counts(&self, failing: Option<Severity>) -> Counts {
        let findings = self.workloads.iter().flat_map(|workload| &workload.findings);
        Counts {
            tests: self.unread.len() + self.workloads.len(),
            failures: findings.filter(|finding| fails(finding, failing)).count(),
            errors: self.unread.iter().filter(|unread| unread.lost).count(),
        }
    }

    fn tests(&self, xml: &mut Xml, failing: Option<Severity>) -> io::Result<()> {
        for unread in &self.unread {
            let name = match unread.line {
                0 => "what could not be listed".to_owned(),
                line => format!("line {line}, column {}", unread.column),
            };
            self.test(xml, &name, |xml| {
                if unread.lost {
                    told(xml, "error", "not read", &unread.reason, &unread.reason)
                } else {
                    output(xml, &unread.reason)
                }
            })?;
        }
        for workload in &self.workloads {
            self.test(xml, &workload.title(), |xml| write_workload(xml, workload, failing))?;
        }
        Ok(())
    }

    fn test(&self, xml: &mut Xml, name: &str, content: impl FnOnce(&mut Xml) -> io::Result<()>) -> io::Result<()> {
        let (file, name) = (legal(file_name(self.file)), legal(name));
        let attributes = [("classname", file.as_str()), ("name", name.as_str())];
        xml.create_element("testcase").with_attributes(attributes).write_inner_content(content)?;
        Ok(())
    }
}

fn write_workload(xml: &mut Xml, workload: &WorkloadReport, failing: Option<Severity>) -> io::Result<()> {
    let place = |finding: &FindingReport| match finding.line {
        0 => format!("{}{}", workload.source.file, finding.path),
        line => format!("{}:{line}:{}", file_name(&workload.source.file), finding.column),
    };
    let mut lines = vec![workload.databases(), format!("{}: {}", workload.decision, workload.reason)];
    for finding in &workload.findings {
        let text = format!("{}: {}\n{}", place(finding), finding.message, finding.fix);
        if fails(finding, failing) {
            let kind = format!("{} {}", finding.rule, finding.name);
            told(xml, "failure", &kind, &finding.message, &text)?;
        } else {
            lines.push(format!("{} {} {text}", finding.severity, finding.rule));
        }
    }
    lines.retain(|line| !line.is_empty());
    output(xml, &lines.join("\n"))
}

fn fails(finding: &FindingReport, failing: Option<Severity>) -> bool {
    failing.is_some_and(|least| finding.severity >= least)
}

/// An element with its name and its counts.
fn counted(
    xml: &mut Xml,
    element: &str,
    name: &str,
    counts: Counts,
    content: impl FnOnce(&mut Xml) -> io::Result<()>,
) -> io::Result<()> {
    let name = legal(name);
    let [tests, failures, errors] = [counts.tests, counts.failures, counts.errors].map(|count| count.to_string());
    let attributes = [("name", name.as_str()), ("tests", &tests), ("failures", &failures), ("errors", &errors)];
    xml.create_element(element).with_attributes(attributes).write_inner_content(content)?;
    Ok(())
}

/// A failure or an error.
fn told(xml: &mut Xml, element: &str, kind: &str, message: &str, text: &str) -> io::Result<()> {
    let (message, text) = (legal(message), legal(text));
    let attributes = [("type", kind), ("message", message.as_str())];
    xml.create_element(element).with_attributes(attributes).write_text_content(BytesText::new(&text))?;
    Ok(())
}

fn output(xml: &mut Xml, text: &str) -> io::Result<()> {
    xml.create_element("system-out").write_text_content(BytesText::new(&legal(text)))?;
    Ok(())
}

/// A text with a replacement for what XML 1.0 cannot hold, not even escaped: most control characters.
fn legal(text: &str) -> String {
    let is_legal = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|c| if is_legal(c) { c } else { '\u{fffd}' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(legal("a\u{0}\u{1b}[31m\t\n\u{fffe}\u{ffff}ü🦀"), "a\u{fffd}\u{fffd}[31m\t\n\u{fffd}\u{fffd}ü🦀");
    }
}
