//! How the author of a document writes, so that what is added looks as if they had.

use granit_parser::ScalarStyle;

use super::layout::{Content, Node};

/// The habits of one object.
#[derive(Debug)]
pub(super) struct Style {
    /// `\n` or `\r\n`.
    pub(super) line_break: &'static str,
    /// How many columns a mapping is indented in another one.
    pub(super) indent: usize,
    /// How many columns the dashes of a list are indented below its key.
    pub(super) dash: usize,
    /// The quotation mark for texts that need one.
    pub(super) quote: char,
    /// Whether all of it is JSON, where everything needs one.
    pub(super) is_json: bool,
    /// Whether JSON has a line for each member.
    pub(super) is_pretty: bool,
    /// What stands between the members of a mapping in braces that share a line.
    pub(super) comma: &'static str,
    /// What stands between key and value of such a member.
    pub(super) colon: &'static str,
    /// What stands inside the braces.
    pub(super) padding: &'static str,
}

impl Style {
    pub(super) fn of(text: &str, root: &Node, object: &Node) -> Self {
        let is_json =
            root.is_flow() && root.entries().first().is_some_and(|entry| text[entry.key.clone()].starts_with('"'));
        let mut style = Self {
            line_break: if text.contains("\r\n") { "\r\n" } else { "\n" },
            indent: 2,
            dash: 0,
            quote: '"',
            is_json,
            is_pretty: is_json && between_braces(text, root).is_some_and(|lead| lead.contains('\n')),
            comma: ", ",
            colon: ": ",
            padding: "",
        };
        let (mut indent, mut dash, mut quote, mut flow) = (None, None, None, None);
        object.visit(&mut |node| {
            let quotes = |style| match style {
                ScalarStyle::SingleQuoted => Some('\''),
                ScalarStyle::DoubleQuoted => Some('"'),
                _ => None,
            };
            match &node.content {
                Content::Scalar(style) => quote = quote.or(quotes(*style)),
                Content::Mapping { flow: true, entries } if !entries.is_empty() => {
                    flow = flow.or(Some((node, entries.as_slice())));
                }
                _ => {}
            }
            for entry in node.entries() {
                let parent = column(text, entry.key.start);
                let child = column(text, entry.value.start);
                match &entry.value.content {
                    Content::Mapping { flow: false, .. } if !node.is_flow() => {
                        indent = indent.or(child.checked_sub(parent).filter(|columns| *columns > 0));
                    }
                    Content::Sequence { flow: false, .. } if !node.is_flow() => {
                        dash = dash.or(child.checked_sub(parent));
                    }
                    // As JSON is printed, where members have lines of their own.
                    Content::Mapping { flow: true, entries } if is_json => {
                        let inner = entries.first().map_or(0, |inner| column(text, inner.key.start));
                        indent = indent.or(inner.checked_sub(parent).filter(|columns| *columns > 0 && style.is_pretty));
                    }
                    _ => {}
                }
            }
        });
        style.indent = indent.unwrap_or(style.indent);
        style.dash = dash.unwrap_or(style.dash);
        style.quote = if is_json { '"' } else { quote.unwrap_or(style.quote) };
        if let Some((node, entries)) = flow {
            if between_braces(text, node) == Some(" ") {
                style.padding = " ";
            }
            if let [first, second, ..] = entries
                && text.get(first.end()..second.key.start) == Some(",")
            {
                style.comma = ",";
            }
            // Without a space only where a quotation mark ends the key.
            if is_json && entries.first().is_some_and(|entry| entry.colon == Some(entry.value.start)) {
                style.colon = ":";
            }
        }
        style
    }
}

/// What stands between the opening brace and the first key.
pub(super) fn between_braces<'t>(text: &'t str, node: &Node) -> Option<&'t str> {
    text.get(node.start + 1..node.entries().first()?.key.start)
}

/// The column of a byte, from 0, in characters.
pub(super) fn column(text: &str, at: usize) -> usize {
    text.get(line_start(text, at)..at).unwrap_or_default().chars().count()
}

/// The first byte of a line.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().rfind('\n').map_or(0, |line_break| line_break + 1)
}

/// The byte behind a line, before its line break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    at + line.strip_suffix('\r').unwrap_or(line).len()
}
