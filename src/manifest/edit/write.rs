//! Values as text, in the style of what stands around them.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::ScalarStyle;
use serde_json::{Map, Value};

use super::layout::{Content, Entry, Layout, Node};
use super::order::alike;
use super::style::{Style, between_braces, column, line_start};
use crate::manifest::scalar;

/// A list or mapping of the object that may be wanted again somewhere else.
pub(super) struct Source<'o> {
    pub(super) value: &'o Value,
    pub(super) node: &'o Node,
    /// The column of its key.
    pub(super) column: usize,
}

/// Writes values. Line breaks are `\n` until the very end.
pub(super) struct Writer<'o> {
    pub(super) text: &'o str,
    pub(super) layout: &'o Layout,
    pub(super) style: Style,
    pub(super) sources: Vec<Source<'o>>,
    /// Values that go, so that their comments may move with them.
    pub(super) gone: Vec<Range<usize>>,
}

/// What a value is written like, and where.
#[derive(Clone, Copy)]
pub(super) struct Model<'n> {
    /// A value of the same kind.
    pub(super) like: Option<&'n Node>,
    /// How many columns mappings are indented here.
    pub(super) indent: usize,
    /// Whether braces stand around it.
    pub(super) in_flow: bool,
    /// What stands around its keys.
    pub(super) key_quote: Option<char>,
}

impl Model<'_> {
    /// The model for something that is unlike everything around it.
    fn unlike(self) -> Self {
        Self { like: None, ..self }
    }
}

impl Writer<'_> {
    /// `key: value`, whose key is at this column.
    pub(super) fn entry(&self, name: &str, value: &Value, column: usize, model: Model<'_>) -> String {
        let key = self.key(name, model.key_quote);
        format!("{key}:{}", self.behind_colon(value, column, model))
    }

    /// What follows the colon of a key at this column, with the space or line break between them.
    pub(super) fn behind_colon(&self, value: &Value, column: usize, model: Model<'_>) -> String {
        let colon = if model.in_flow { self.style.colon.trim_start_matches(':') } else { " " };
        if let Some(copy) = self.copy(value, column, model.in_flow) {
            return if copy.starts_with('\n') { copy } else { format!("{colon}{copy}") };
        }
        let is_flow =
            model.in_flow || model.like.is_some_and(|like| like.is_flow() && like.children().next().is_some());
        match value {
            Value::Object(members) if !members.is_empty() && !is_flow => {
                let inner = column + model.indent;
                format!("\n{}{}", spaces(inner), self.block_mapping(members, inner, model))
            }
            Value::Array(elements) if !elements.is_empty() && !is_flow => {
                let inner = column + self.style.dash;
                format!("\n{}{}", spaces(inner), self.block_list(elements, inner, model))
            }
            Value::String(lines) if !is_flow && is_block_text(lines) => {
                let inner = format!("\n{}", spaces(column + model.indent));
                let (mark, body) = lines.strip_suffix('\n').map_or(("|-", lines.as_str()), |body| ("|", body));
                let body: String = body
                    .split('\n')
                    .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{inner}{line}") })
                    .collect();
                format!("{colon}{mark}{body}")
            }
            other => format!("{colon}{}", self.inline(other, column, Model { in_flow: true, ..model })),
        }
    }

    /// The members of a mapping, the first one where the text begins.
    pub(super) fn block_mapping(&self, members: &Map<String, Value>, column: usize, model: Model<'_>) -> String {
        let members: Vec<_> =
            members.iter().map(|(name, value)| self.entry(name, value, column, self.member(model, name))).collect();
        members.join(&format!("\n{}", spaces(column)))
    }

    fn block_list(&self, elements: &[Value], column: usize, model: Model<'_>) -> String {
        let elements: Vec<_> = elements
            .iter()
            .map(|element| match element {
                Value::Object(members) if !members.is_empty() => {
                    format!("- {}", self.block_mapping(members, column + 2, model.unlike()))
                }
                other => format!("- {}", self.inline(other, column, model.unlike())),
            })
            .collect();
        elements.join(&format!("\n{}", spaces(column)))
    }

    /// A value that begins where it stands, in braces if it has members.
    pub(super) fn inline(&self, value: &Value, column: usize, model: Model<'_>) -> String {
        let has_lines = match model.like {
            Some(like) if like.is_flow() => between_braces(self.text, like).is_some_and(|lead| lead.contains('\n')),
            _ => self.style.is_pretty,
        };
        let inner = if has_lines { column + model.indent } else { column };
        let (parts, open, close): (Vec<_>, _, _) = match value {
            Value::Object(members) if !members.is_empty() => {
                let write = |(name, value): (&String, &Value)| {
                    self.entry(name, value, inner, Model { in_flow: true, ..self.member(model, name) })
                };
                (members.iter().map(write).collect(), '{', '}')
            }
            Value::Array(elements) if !elements.is_empty() => {
                let write = |element| self.inline(element, inner, model.unlike());
                (elements.iter().map(write).collect(), '[', ']')
            }
            Value::Object(_) => return "{}".to_owned(),
            Value::Array(_) => return "[]".to_owned(),
            scalar => return self.scalar(scalar, model.like),
        };
        if has_lines {
            let separator = format!(",\n{}", spaces(inner));
            return format!("{open}\n{}{}\n{}{close}", spaces(inner), parts.join(&separator), spaces(column));
        }
        let padding = match model.like.and_then(|like| between_braces(self.text, like)) {
            _ if open == '[' => "",
            Some(" ") => " ",
            Some(_) => "",
            None => self.style.padding,
        };
        format!("{open}{padding}{}{padding}{close}", parts.join(self.style.comma))
    }

    /// A scalar, with the quotation marks of the one that it is like.
    pub(super) fn scalar(&self, value: &Value, like: Option<&Node>) -> String {
        let Value::String(text) = value else { return value.to_string() };
        let wanted = match like.map(|like| &like.content) {
            Some(Content::Scalar(ScalarStyle::SingleQuoted)) => Some('\''),
            Some(Content::Scalar(ScalarStyle::DoubleQuoted)) => Some('"'),
            _ => None,
        };
        let wanted = wanted.or_else(|| (self.style.is_json || !is_plain(text)).then_some(self.style.quote));
        self.quoted(text, wanted)
    }

    fn key(&self, name: &str, quote: Option<char>) -> String {
        self.quoted(name, quote.or_else(|| (self.style.is_json || !is_plain(name)).then_some(self.style.quote)))
    }

    fn quoted(&self, text: &str, quote: Option<char>) -> String {
        match quote {
            None => text.to_owned(),
            Some('\'') if !text.contains(char::is_control) && !self.style.is_json => {
                format!("'{}'", text.replace('\'', "''"))
            }
            // A text in JSON is one in YAML.
            Some(_) => Value::from(text).to_string(),
        }
    }

    /// The author's own text for a value, as it would stand behind a key at `column`.
    fn copy(&self, value: &Value, column: usize, in_flow: bool) -> Option<String> {
        if !matches!(value, Value::Object(members) if !members.is_empty())
            && !matches!(value, Value::Array(elements) if !elements.is_empty())
        {
            return None;
        }
        let fits = |source: &&Source<'_>| {
            source.value == value && (!in_flow || source.node.is_flow()) && self.is_plain_text(source.node)
        };
        // A text that would be lost goes before one that stays.
        let is_gone = |source: &&Source<'_>| self.is_gone(source.node);
        let source = self.sources.iter().filter(is_gone).find(fits).or_else(|| self.sources.iter().find(fits))?;
        let Node { start, end, .. } = *source.node;
        let shift = |columns: usize| (columns + column).checked_sub(source.column).unwrap_or(columns);
        let mut lines = self.text.get(start..end)?.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let mut copy = String::new();
        if source.node.is_block() {
            let first = self.text.get(line_start(self.text, start)..start)?;
            if !first.trim().is_empty() {
                return None;
            }
            copy = format!("\n{}", spaces(shift(first.len())));
        }
        copy.push_str(lines.next()?);
        for line in lines {
            let rest = line.trim_start_matches(' ');
            copy.push('\n');
            if !rest.is_empty() {
                copy.push_str(&spaces(shift(line.len() - rest.len())));
                copy.push_str(rest);
            }
        }
        Some(copy)
    }

    fn is_gone(&self, node: &Node) -> bool {
        self.gone.iter().any(|gone| gone.start <= node.start && node.end <= gone.end)
    }

    /// Whether a text means the same somewhere else, and may be said twice.
    fn is_plain_text(&self, node: &Node) -> bool {
        let mut is_plain = true;
        node.visit(&mut |inner| {
            let merges = inner.entries().iter().any(|entry| entry.merges);
            is_plain &= inner.anchor == 0 && !merges && !matches!(inner.content, Content::Alias(_));
        });
        is_plain && (self.is_gone(node) || !self.has_comment(node.start..node.end))
    }

    pub(super) fn has_comment(&self, range: Range<usize>) -> bool {
        let first = self.layout.comments.partition_point(|comment| comment.start < range.start);
        self.layout.comments.get(first).is_some_and(|comment| comment.start < range.end)
    }

    /// What a member is written like: the member of that name, or of that kind, in what the whole is like.
    fn member<'n>(&self, model: Model<'n>, name: &str) -> Model<'n> {
        let entries = model.like.map(Node::entries).unwrap_or_default();
        let named = entries.iter().find(|entry| entry.name == name);
        let like = named.or_else(|| entries.iter().find(|entry| alike(&entry.name, name)));
        let indent = like.and_then(|like| self.indent_of(like)).unwrap_or(model.indent);
        Model { like: like.map(|like| &like.value), indent, ..model }
    }

    /// How many columns a mapping is indented below its key.
    pub(super) fn indent_of(&self, entry: &Entry) -> Option<usize> {
        let is_mapping = matches!(entry.value.content, Content::Mapping { flow: false, .. });
        let inner = is_mapping.then(|| column(self.text, entry.value.start))?;
        inner.checked_sub(column(self.text, entry.key.start)).filter(|indent| *indent > 0)
    }

    /// The column that lines inside a value in braces are indented from.
    pub(super) fn flow_column(&self, at: usize) -> usize {
        let start = line_start(self.text, at);
        let line = self.text.get(start..at).unwrap_or_default();
        if line.trim().is_empty() { column(self.text, at) } else { line.len() - line.trim_start_matches(' ').len() }
    }
}

pub(super) fn spaces(columns: usize) -> Cow<'static, str> {
    const SPACES: &str = "                                                                ";
    SPACES.get(..columns).map_or_else(|| " ".repeat(columns).into(), Cow::Borrowed)
}

/// Whether a text can stand without quotation marks anywhere, and means itself.
fn is_plain(text: &str) -> bool {
    let is_usual = |character: char| character.is_ascii_alphanumeric() || "_./-".contains(character);
    text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '/' || first == '_')
        && text.chars().all(is_usual)
        && scalar::resolve(text.into(), ScalarStyle::Plain, None).0 == text
}

/// Whether a text reads better on lines of its own, and can be written so.
fn is_block_text(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.contains('\n')
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\n'])
        && !text.contains(|character: char| character.is_control() && character != '\n')
}
