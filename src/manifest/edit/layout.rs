//! Where each part of a file begins and ends, down to its comments: what an edit must know and a reader need not.

use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StructureStyle};

use super::super::stream::begins_json;
use super::super::tree::is_merge;
use super::super::{MAXIMUM_DEPTH, scalar};
use super::style::{column, line_start};

/// The documents of a file by their number, as [`Document::document`](crate::manifest::Document::document) counts.
#[derive(Default)]
pub(super) struct Layout {
    pub(super) documents: BTreeMap<usize, Node>,
    /// The anchor and the place of each alias, by the number of its document.
    pub(super) aliases: BTreeMap<usize, Vec<(usize, usize)>>,
    /// In the order of the file.
    pub(super) comments: Vec<Range<usize>>,
}

/// A value as it is written.
#[derive(Debug)]
pub(super) struct Node {
    /// The first byte of the value itself, behind its anchor and tag.
    pub(super) start: usize,
    /// The byte behind it. No comment and no line break belongs to it, except those that a `|+` keeps.
    pub(super) end: usize,
    /// Its anchor, or zero.
    pub(super) anchor: usize,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Scalar(ScalarStyle),
    Alias(usize),
    Sequence { flow: bool, items: Vec<Node> },
    Mapping { flow: bool, entries: Vec<Entry> },
}

/// A member of a mapping as it is written.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Range<usize>,
    pub(super) name: String,
    /// Whether it is `<<`.
    pub(super) merges: bool,
    /// The byte behind the colon, where one follows the key.
    pub(super) colon: Option<usize>,
    pub(super) value: Node,
}

impl Entry {
    /// The byte behind all of it, comments aside.
    pub(super) fn end(&self) -> usize {
        self.value.end.max(self.colon.unwrap_or(self.key.end))
    }
}

impl Node {
    /// Whether it is written with braces or brackets.
    pub(super) fn is_flow(&self) -> bool {
        matches!(self.content, Content::Mapping { flow: true, .. } | Content::Sequence { flow: true, .. })
    }

    /// Whether it is written with its members on lines of their own.
    pub(super) fn is_block(&self) -> bool {
        matches!(self.content, Content::Mapping { flow: false, .. } | Content::Sequence { flow: false, .. })
    }

    /// Whether nothing is in it, so that it says nothing of how its author writes.
    pub(super) fn is_empty(&self) -> bool {
        self.children().next().is_none()
    }

    pub(super) fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Mapping { entries, .. } => entries,
            _ => &[],
        }
    }

    /// The values directly in it.
    pub(super) fn children(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        match &self.content {
            Content::Mapping { entries, .. } => Box::new(entries.iter().map(|entry| &entry.value)),
            Content::Sequence { items, .. } => Box::new(items.iter()),
            Content::Scalar(_) | Content::Alias(_) => Box::new(std::iter::empty()),
        }
    }

    /// It and all values in it, in the order of the file.
    pub(super) fn visit<'n>(&'n self, visitor: &mut dyn FnMut(&'n Self)) {
        visitor(self);
        for child in self.children() {
            child.visit(visitor);
        }
    }

    /// The value at a pointer, unless an alias or `<<` brings it.
    pub(super) fn find(&self, pointer: &str) -> Option<&Self> {
        pointer.split('/').skip(1).try_fold(self, |node, step| match &node.content {
            Content::Mapping { entries, .. } => {
                entries.iter().rfind(|entry| entry.name == step).map(|entry| &entry.value)
            }
            Content::Sequence { items, .. } => items.get(step.parse::<usize>().ok()?),
            Content::Scalar(_) | Content::Alias(_) => None,
        })
    }
}

/// The layout of a file that can be read as a whole. Nothing where it cannot.
pub(super) fn layout(text: &str) -> Option<Layout> {
    let mut layout = Layout::default();
    let mut number = 0;
    let mut start = 0;
    loop {
        match parse(text, start, &mut number, &mut layout)? {
            Parsed::All => return Some(layout),
            Parsed::Until(next) => start = next,
        }
    }
}

struct Open {
    node: Node,
    key: Option<(Range<usize>, String, bool)>,
}

enum Parsed {
    All,
    /// JSON follows JSON here, with nothing between them.
    Until(usize),
}

/// Takes documents from the byte `start` on.
fn parse(text: &str, start: usize, number: &mut usize, layout: &mut Layout) -> Option<Parsed> {
    let rest = text.get(start..)?;
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str_with_options(rest, options()) {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                let at = error.marker().byte_offset()?;
                return (open.is_empty() && begins_json(&error, rest, at)).then_some(Parsed::Until(start + at));
            }
        };
        let range = range(&span, start)?;
        let scalar = |start, end, anchor, style| Node { start, end, anchor, content: Content::Scalar(style) };
        let node = match event {
            Event::DocumentStart(..) => {
                *number += 1;
                continue;
            }
            Event::Comment(..) => {
                layout.comments.push(range);
                continue;
            }
            Event::Scalar(value, style, anchor, tag) => {
                if let Some(Open { key: key @ None, node: Node { content: Content::Mapping { .. }, .. } }) =
                    open.last_mut()
                {
                    let merges = is_merge(&value, style, tag.as_deref());
                    *key = Some((range, scalar::key(value, style, tag.as_deref()).0, merges));
                    continue;
                }
                let end = match style {
                    ScalarStyle::Literal | ScalarStyle::Folded => block_text_end(text, &range),
                    _ => range.end,
                };
                scalar(range.start, end, anchor, style)
            }
            Event::Alias(anchor) => {
                if let Some(Open { key: key @ None, node: Node { content: Content::Mapping { .. }, .. } }) =
                    open.last_mut()
                {
                    // Its name is somewhere else; no such key is ever changed.
                    *key = Some((range.clone(), text.get(range)?.to_owned(), false));
                    continue;
                }
                layout.aliases.entry(*number).or_default().push((anchor, range.start));
                Node { start: range.start, end: range.end, anchor: 0, content: Content::Alias(anchor) }
            }
            Event::SequenceStart(style, anchor, _) => {
                let content = Content::Sequence { flow: style == StructureStyle::Flow, items: Vec::new() };
                let node = Node { start: range.start, end: range.end, anchor, content };
                open.push(Open { node, key: None });
                continue;
            }
            Event::MappingStart(style, anchor, _) => {
                let content = Content::Mapping { flow: style == StructureStyle::Flow, entries: Vec::new() };
                let node = Node { start: range.start, end: range.end, anchor, content };
                open.push(Open { node, key: None });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let mut node = open.pop()?.node;
                node.end = match &node.content {
                    Content::Mapping { flow: false, entries } => entries.last().map_or(node.start, Entry::end),
                    Content::Sequence { flow: false, items } => items.last().map_or(node.start, |item| item.end),
                    _ => range.end,
                };
                node
            }
            _ => continue,
        };
        attach(text, node, &mut open, *number, layout);
    }
    Some(Parsed::All)
}

fn attach(text: &str, mut node: Node, open: &mut [Open], number: usize, layout: &mut Layout) {
    let Some(Open { node: parent, key }) = open.last_mut() else {
        layout.documents.insert(number, node);
        return;
    };
    match &mut parent.content {
        Content::Sequence { items, .. } => items.push(node),
        Content::Mapping { entries, .. } => {
            let Some((key, name, merges)) = key.take() else { return };
            let behind = text.get(key.end..).unwrap_or_default();
            let gap = behind.len() - behind.trim_start_matches([' ', '\t']).len();
            let colon = behind.get(gap..).is_some_and(|rest| rest.starts_with(':')).then_some(key.end + gap + 1);
            if node.start == node.end {
                // A value that is left out has no place of its own.
                node.start = colon.unwrap_or(key.end);
                node.end = node.start;
            }
            if let Content::Sequence { flow: false, .. } = node.content {
                node.start = first_dash(text, key.start, colon.unwrap_or(key.end)..node.start).unwrap_or(node.start);
            }
            entries.push(Entry { key, name, merges, colon, value: node });
        }
        Content::Scalar(_) | Content::Alias(_) => {}
    }
}

/// The first `-` of a list that is not indented below its key. The parser gives the first element there.
fn first_dash(text: &str, key: usize, between: Range<usize>) -> Option<usize> {
    let mut at = between.start;
    for line in text.get(between)?.split_inclusive('\n') {
        let rest = line.trim_start_matches(' ');
        let dash = at + line.len() - rest.len();
        let is_dash = rest.strip_prefix('-').is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace));
        if is_dash && dash == line_start(text, dash) + column(text, key) {
            return Some(dash);
        }
        at += line.len();
    }
    None
}

fn range(span: &Span, start: usize) -> Option<Range<usize>> {
    let range = span.byte_range()?;
    Some(range.start + start..range.end + start)
}

/// The parser ends a block text where the next token begins. Empty lines behind it belong to it only if it keeps them.
fn block_text_end(text: &str, range: &Range<usize>) -> usize {
    let header = text.get(..range.start).unwrap_or_default();
    let header = header.get(header.rfind(['|', '>']).unwrap_or(0)..).unwrap_or_default();
    let keeps = header.lines().next().is_some_and(|line| line.split('#').next().unwrap_or_default().contains('+'));
    let body = text.get(range.clone()).unwrap_or_default();
    let body = if keeps {
        let body = body.trim_end_matches([' ', '\t']);
        let body = body.strip_suffix('\n').unwrap_or(body);
        body.strip_suffix('\r').unwrap_or(body)
    } else {
        body.trim_end()
    };
    range.start + body.len()
}

fn options() -> Options {
    granit_parser::options! {
        emit_comments: true,
        // As the reader does.
        block_scalar_eof_without_line_feed: true,
        flow_nesting_limit: MAXIMUM_DEPTH,
        block_nesting_limit: MAXIMUM_DEPTH,
    }
}
