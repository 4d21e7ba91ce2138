//! From the events of a parser to a value and its positions, in one go.

use std::collections::HashMap;

use granit_parser::{Event, Marker, ScalarStyle, Span, StructureStyle, Tag};
use serde_json::{Map, Value};

use super::MAXIMUM_DEPTH;
use super::mapping::{Collision, Mapping};
use super::position::{Key, Place, Position, children};
use super::problem::{Reason, Refusal};
use super::scalar;

/// How many problems of one document are told. After so many of them it is no manifest.
const MOST_PROBLEMS: usize = 100;

/// A document as it came from the file, with its problems besides.
pub(super) struct Root {
    pub(super) value: Value,
    pub(super) places: Vec<Place>,
    /// Whether it was written as JSON is, with braces or brackets around it.
    pub(super) is_flow: bool,
    /// Where `{{` stands in a text without quotes.
    pub(super) template: Option<Position>,
}

/// A collection that has begun and not ended.
struct Open {
    place: usize,
    anchor: usize,
    content: Content,
}

enum Content {
    Sequence(Vec<Value>),
    Mapping(Mapping),
}

/// What an alias stands for.
struct Anchor {
    value: Value,
    places: Box<[Place]>,
    depth: usize,
}

/// The document that is being built.
pub(super) struct Tree<'t> {
    text: &'t str,
    /// Where `text` begins in the file.
    start: Position,
    places: Vec<Place>,
    open: Vec<Open>,
    root: Option<Value>,
    is_flow: bool,
    template: Option<Position>,
    anchors: HashMap<usize, Anchor>,
    /// What was copied for anchors and aliases in this file, in bytes.
    copied: usize,
    problems: Vec<Refusal>,
}

impl<'t> Tree<'t> {
    pub(super) fn new(text: &'t str, start: Position, copied: usize) -> Self {
        Self {
            text,
            start,
            places: Vec::with_capacity((text.len() / 64).min(1024)),
            open: Vec::with_capacity(16),
            root: None,
            is_flow: false,
            template: None,
            anchors: HashMap::new(),
            copied,
            problems: Vec::new(),
        }
    }

    /// What was copied for anchors and aliases so far, in bytes.
    pub(super) fn copied(&self) -> usize {
        self.copied
    }

    /// Where a marker of the parser is in the file.
    pub(super) fn position(&self, marker: &Marker) -> Position {
        let short = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let line = short(marker.line()).saturating_sub(1);
        let column = short(marker.col());
        Position {
            line: self.start.line.saturating_add(line),
            // Only the first line of the text can begin within a line of the file.
            column: column.saturating_add(if line == 0 { self.start.column } else { 1 }),
        }
    }

    /// The document that has just ended, unless it was empty, and its problems.
    pub(super) fn finish(&mut self) -> (Option<Root>, Vec<Refusal>) {
        self.anchors.clear();
        let root = self.root.take().filter(|value| !value.is_null()).map(|value| Root {
            value,
            // A copy of just the right size; the buffer is kept for the next document.
            places: self.places.clone(),
            is_flow: self.is_flow,
            template: self.template,
        });
        self.places.clear();
        self.is_flow = false;
        self.template = None;
        (root, std::mem::take(&mut self.problems))
    }

    /// Takes the next event of a document.
    pub(super) fn accept(&mut self, event: Event<'_>, span: &Span) -> Result<(), Refusal> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if style == ScalarStyle::Plain && self.template.is_none() && text.contains('{') && text.contains("{{") {
                    self.template = Some(self.position(&span.start));
                }
                let tag = tag.as_deref();
                if self.is_key_next() {
                    let merges = is_merge(&text, style, tag);
                    if anchor != 0 {
                        let (value, _) = scalar::resolve(text.clone(), style, tag);
                        let place = self.position(&span.start);
                        self.remember(anchor, &value, &[Place { value: place, key: None, size: 1 }], place)?;
                    }
                    let (key, problem) = scalar::key(text, style, tag);
                    self.begin_member(key, merges, span);
                    self.tell(problem, &span.start);
                    return Ok(());
                }
                let (value, problem) = scalar::resolve(text, style, tag);
                self.tell(problem, &span.start);
                let place = self.place(self.position(&span.start));
                self.complete(value, place, anchor)
            }
            Event::SequenceStart(style, anchor, _) => {
                let start = self.first_dash(span).unwrap_or_else(|| self.position(&span.start));
                self.begin(style, start, anchor, Content::Sequence(Vec::new()))
            }
            Event::MappingStart(style, anchor, _) => {
                let start = self.position(&span.start);
                self.begin(style, start, anchor, Content::Mapping(Mapping::default()))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor, span),
            _ => Ok(()),
        }
    }

    fn is_key_next(&self) -> bool {
        matches!(self.open.last(), Some(Open { content: Content::Mapping(mapping), .. }) if mapping.key_is_next())
    }

    fn begin_member(&mut self, key: String, merges: bool, span: &Span) {
        let position = self.position(&span.start);
        if let Some(Open { content: Content::Mapping(mapping), .. }) = self.open.last_mut() {
            mapping.begin_member(key, merges, position, span.end.byte_offset().unwrap_or(0));
        }
    }

    fn begin(
        &mut self,
        style: StructureStyle,
        start: Position,
        anchor: usize,
        content: Content,
    ) -> Result<(), Refusal> {
        if self.is_key_next() {
            return Err(Refusal { position: start, reason: Reason::ComplexKey });
        }
        if self.open.len() >= MAXIMUM_DEPTH {
            return Err(Refusal { position: start, reason: Reason::TooDeep });
        }
        if self.open.is_empty() {
            self.is_flow = style == StructureStyle::Flow;
        }
        let place = self.place(start);
        self.open.push(Open { place, anchor, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Refusal> {
        let Some(Open { place, anchor, content }) = self.open.pop() else { return Ok(()) };
        let value = match content {
            Content::Sequence(values) => Value::Array(values),
            Content::Mapping(mapping) => Value::Object(mapping.finish(&mut self.places, place)),
        };
        let size = u32::try_from(self.places.len() - place).unwrap_or(u32::MAX);
        self.places[place].size = size;
        self.complete(value, place, anchor)
    }

    fn alias(&mut self, anchor: usize, span: &Span) -> Result<(), Refusal> {
        let position = self.position(&span.start);
        let refuse = |reason| Err(Refusal { position, reason });
        // The parser has seen the anchor, so what has no value yet is still open.
        let Some(Anchor { value, places, depth }) = self.anchors.get(&anchor) else {
            return refuse(Reason::ContainsItself);
        };
        if self.is_key_next() {
            let Some(key) = scalar::key_of_value(value) else { return refuse(Reason::ComplexKey) };
            self.begin_member(key, false, span);
            return Ok(());
        }
        if self.open.len() + depth > MAXIMUM_DEPTH {
            return refuse(Reason::TooDeep);
        }
        self.copied = self.copied.saturating_add(weight(value).0);
        if self.copied > super::MAXIMUM_COPIED {
            return refuse(Reason::TooMuchCopied);
        }
        let value = value.clone();
        let place = self.places.len();
        self.places.extend_from_slice(places);
        self.places[place] = Place { value: position, key: self.key(), ..self.places[place] };
        self.attach(value, place)
    }

    /// Notes where the next value stands.
    fn place(&mut self, value: Position) -> usize {
        let key = self.key();
        self.places.push(Place { value, key, size: 1 });
        self.places.len() - 1
    }

    fn key(&self) -> Option<Key> {
        match &self.open.last()?.content {
            Content::Sequence(_) => None,
            Content::Mapping(mapping) => mapping.key_position().and_then(Key::new),
        }
    }

    fn complete(&mut self, value: Value, place: usize, anchor: usize) -> Result<(), Refusal> {
        if anchor != 0 {
            let places = self.places.split_off(place);
            let remembered = self.remember(anchor, &value, &places, places[0].value);
            self.places.extend_from_slice(&places);
            remembered?;
        }
        self.attach(value, place)
    }

    fn remember(&mut self, anchor: usize, value: &Value, places: &[Place], position: Position) -> Result<(), Refusal> {
        let (bytes, depth) = weight(value);
        self.copied = self.copied.saturating_add(bytes);
        if self.copied > super::MAXIMUM_COPIED {
            return Err(Refusal { position, reason: Reason::TooMuchCopied });
        }
        self.anchors.insert(anchor, Anchor { value: value.clone(), places: places.into(), depth });
        Ok(())
    }

    fn attach(&mut self, value: Value, place: usize) -> Result<(), Refusal> {
        let Some(Open { place: parent, content, .. }) = self.open.last_mut() else {
            self.root = Some(value);
            return Ok(());
        };
        match content {
            Content::Sequence(values) => values.push(value),
            Content::Mapping(mapping) if mapping.merges() => return self.merge(value, place),
            Content::Mapping(mapping) => {
                if let Some(collision) = mapping.insert(value, place, *parent, &self.places) {
                    self.tell_collision(collision);
                }
            }
        }
        Ok(())
    }

    /// Takes over the members of a value that stands behind `<<`. Of a list of mappings the first one wins.
    fn merge(&mut self, value: Value, place: usize) -> Result<(), Refusal> {
        let places = self.places.split_off(place);
        let sources: Vec<(Map<String, Value>, &[Place])> = match value {
            Value::Object(members) => vec![(members, &places)],
            Value::Array(elements) => {
                let sources = elements.into_iter().zip(children(&places)).map(|(element, places)| match element {
                    Value::Object(members) => Ok((members, places)),
                    _ => Err(Refusal { position: places[0].value, reason: Reason::NothingToMerge }),
                });
                let mut sources = sources.collect::<Result<Vec<_>, _>>()?;
                sources.reverse();
                sources
            }
            _ => return Err(Refusal { position: places[0].value, reason: Reason::NothingToMerge }),
        };
        for (members, places) in sources {
            for ((key, value), places) in members.into_iter().zip(children(places)) {
                let place = self.places.len();
                self.places.extend_from_slice(places);
                let Some(Open { place: parent, content: Content::Mapping(mapping), .. }) = self.open.last_mut() else {
                    return Ok(());
                };
                if let Some(collision) = mapping.insert_merged(key, value, place, *parent, &self.places) {
                    self.tell_collision(collision);
                }
            }
        }
        if let Some(Open { content: Content::Mapping(mapping), .. }) = self.open.last_mut() {
            mapping.end_merge();
        }
        Ok(())
    }

    fn tell(&mut self, reason: Option<Reason>, marker: &Marker) {
        if let Some(reason) = reason {
            let position = self.position(marker);
            self.tell_at(reason, position);
        }
    }

    fn tell_collision(&mut self, Collision { reason, position }: Collision) {
        self.tell_at(reason, position);
    }

    fn tell_at(&mut self, reason: Reason, position: Position) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Refusal { position, reason });
        }
    }

    /// The first `-` of a list that is not indented below its key. The parser gives the first element there.
    fn first_dash(&self, span: &Span) -> Option<Position> {
        let Content::Mapping(mapping) = &self.open.last()?.content else { return None };
        let key = mapping.key_position()?;
        let between = self.text.get(mapping.key_end()..span.start.byte_offset()?)?;
        for (line, text) in (key.line..).zip(between.split('\n')).skip(1) {
            let rest = text.trim_start_matches(' ');
            let column = u32::try_from(text.len() - rest.len()).ok()?.saturating_add(1);
            let is_dash =
                rest.strip_prefix('-').is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace));
            if column == key.column && is_dash {
                return Some(Position { line, column });
            }
        }
        None
    }
}

pub(super) fn is_merge(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    text == "<<" && (style == ScalarStyle::Plain && tag.is_none() || scalar::yaml_type(tag).as_deref() == Some("merge"))
}

/// About how many bytes a value takes, and how many levels it has.
fn weight(value: &Value) -> (usize, usize) {
    let inner = |bytes: usize, (total, depth): (usize, usize), value| {
        let (weight, levels) = weight(value);
        (total.saturating_add(bytes).saturating_add(weight), depth.max(levels))
    };
    let (bytes, levels) = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => (0, 0),
        Value::String(text) => (text.len(), 0),
        Value::Array(elements) => {
            let (bytes, depth) = elements.iter().fold((0, 0), |total, element| inner(0, total, element));
            (bytes, depth + 1)
        }
        Value::Object(members) => {
            let (bytes, depth) =
                members.iter().fold((0, 0), |total, (key, value)| inner(key.len() + size_of::<String>(), total, value));
            (bytes, depth + 1)
        }
    };
    (bytes.saturating_add(size_of::<Value>() + size_of::<Place>()), levels)
}
