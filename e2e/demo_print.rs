//! How the demo prints: headings, YAML, differences. Colours only on a terminal.

use similar::{ChangeTag, TextDiff};

const BOLD: &str = "\u{1b}[1m";
const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const PLAIN: &str = "\u{1b}[0m";

/// A heading.
pub fn heading(text: &str) {
    anstream::println!("\n{BOLD}{text}{PLAIN}\n");
}

/// A line of its own.
pub fn note(text: &str) {
    anstream::println!("{text}");
}

/// A value as YAML.
pub fn yaml(value: &serde_json::Value) -> String {
    serde_yaml::to_string(value).unwrap_or_else(|error| format!("{error}\n"))
}

/// What changed from one text to another.
pub fn diff(before: &str, after: &str) -> String {
    let lines = TextDiff::from_lines(before, after);
    let text: String = lines
        .iter_all_changes()
        .map(|change| match change.tag() {
            ChangeTag::Delete => format!("{RED}- {}{PLAIN}\n", change.value().trim_end()),
            ChangeTag::Insert => format!("{GREEN}+ {}{PLAIN}\n", change.value().trim_end()),
            ChangeTag::Equal => format!("  {}\n", change.value().trim_end()),
        })
        .collect();
    if anstream::AutoStream::choice(&std::io::stdout()) == anstream::ColorChoice::Never {
        anstream::adapter::strip_str(&text).to_string()
    } else {
        text
    }
}

/// Long lines cut to what a wide terminal shows.
pub fn shorten_lines(text: &str) -> String {
    const MOST: usize = 240;
    text.lines()
        .map(|line| {
            let cut: String = line.chars().take(MOST).collect();
            if cut.len() < line.len() { format!("{cut}…\n") } else { format!("{cut}\n") }
        })
        .collect()
}
