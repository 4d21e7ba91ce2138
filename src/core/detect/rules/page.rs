//! What a rule's file says about it: the comment at its top, which is the one place where it is written down.

use super::{RULES, Rule};

/// The parts of a page, in their order. The last two may be missing.
pub const HEADINGS: [&str; 5] = ["What it finds", "Why it is unsafe", "What Reprieve does", "Exceptions", "References"];

/// One part of a rule's page.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Section {
    /// One of [`HEADINGS`].
    pub heading: String,
    /// Markdown, a line for each line.
    pub text: String,
}

impl Rule {
    /// The parts of its page.
    #[must_use]
    pub fn page(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        for line in self.file.lines().map_while(|line| line.strip_prefix("//!")) {
            let line = line.strip_prefix(' ').unwrap_or(line);
            if let Some(heading) = line.strip_prefix("## ") {
                sections.push(Section { heading: heading.to_owned(), text: String::new() });
            } else if let Some(section) = sections.last_mut() {
                section.text.push_str(line);
                section.text.push('\n');
            }
        }
        for section in &mut sections {
            section.text = section.text.trim().to_owned();
        }
        sections
    }

    /// Its page as a Markdown document.
    #[must_use]
    pub fn markdown(&self) -> String {
        let head = format!(
            "# {} {}\n\n{}. Severity: {}. Fix: {:?}.\n",
            self.id,
            self.name,
            capitalised(self.summary),
            self.severity,
            self.applicability
        );
        let sections = self.page().into_iter().map(|section| format!("\n## {}\n\n{}\n", section.heading, section.text));
        std::iter::once(head).chain(sections).collect()
    }
}

/// A Markdown table of all rules, with `name` as the first cell of each row.
#[must_use]
pub fn table(name: impl Fn(&Rule) -> String) -> String {
    let rows = RULES
        .iter()
        .map(|rule| format!("| {} | {} | {} | {:?} |\n", name(rule), rule.name, rule.summary, rule.applicability));
    std::iter::once("| id | name | what it finds | fix |\n|---|---|---|---|\n".to_owned()).chain(rows).collect()
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_its_page_under_the_fixed_headings() {
        for rule in &RULES {
            assert!(
                rule.file.starts_with(&format!("//! # {} {}\n//!\n//! ## ", rule.id, rule.name)),
                "{}: its file starts with id and name",
                rule.id
            );
            let page = rule.page();
            let headings: Vec<&str> = page.iter().map(|section| section.heading.as_str()).collect();
            let mut order = HEADINGS.iter();
            assert!(headings.iter().all(|heading| order.any(|known| known == heading)), "{}: {headings:?}", rule.id);
            assert_eq!(headings.get(..3), HEADINGS.get(..3), "{}", rule.id);
            assert!(page.iter().all(|section| !section.text.is_empty()), "{}: an empty part", rule.id);
            assert!(rule.markdown().lines().all(|line| !line.contains("//!") && !line.starts_with("use ")));
        }
    }

    #[test]
    fn the_page_ends_where_the_code_begins() {
        let mut rule = RULES[0];
        rule.file =
            "//! # RP001 a\n//!\n//! ## What it finds\n//! One,\n//! two.\n//!\n//! three\n\nuse x;\n//! ## not this\n";
        let section = |text: &str| Section { heading: "What it finds".to_owned(), text: text.to_owned() };
        assert_eq!(rule.page(), [section("One,\ntwo.\n\nthree")]);
    }
}
