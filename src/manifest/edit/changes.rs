//! From two values to the edits that make the text of one the text of the other.
//!
//! Aliases are why this takes several passes. Where a value with an anchor changes, all its aliases would change with
//! it: those that should not become copies, in the text, of what they stood for. Such a copy may hold aliases itself.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use granit_parser::ScalarStyle;
use serde_json::{Map, Value};

use super::Refused;
use super::layout::{Content, Entry, Layout, Node};
use super::order::{alike, replaces};
use super::style::{Style, between_braces, column, line_end, line_start};
use super::write::{Model, Source, Writer, spaces};

/// Passes after which the aliases must have come to rest.
const PASSES: usize = 16;

/// A part of the text, and what comes in its place. No two of them overlap.
pub(super) type Edit = (Range<usize>, String);

/// The edits that turn the object at `pointer` of a document from `before` into `after`.
pub(super) fn changes(
    text: &str,
    layout: &Layout,
    document: usize,
    pointer: &str,
    before: &Value,
    after: &Value,
) -> Result<Vec<Edit>, Refused> {
    let nowhere = Refused::Form { line: 1 };
    let root = layout.documents.get(&document).ok_or(nowhere)?;
    let object = root.find(pointer).ok_or(Refused::Form { line: line(text, root.start) })?;
    let aliases = layout.aliases.get(&document).map(Vec::as_slice).unwrap_or_default();
    let mut anchors = BTreeMap::new();
    if !aliases.is_empty() {
        root.visit(&mut |node| {
            anchors.insert(node.anchor, node);
        });
    }
    let mut writer =
        Writer { text, layout, style: Style::of(text, root, object), sources: Vec::new(), gone: Vec::new() };
    add_sources(text, before, object, &mut writer.sources);
    let mut changes = Changes {
        text,
        anchors,
        aliases: aliases.iter().map(|(anchor, _)| *anchor).collect(),
        broken: BTreeSet::new(),
        followed: BTreeMap::new(),
        gone: Vec::new(),
        edits: Vec::new(),
        writer,
    };
    for _ in 0..PASSES {
        let broken = changes.broken.clone();
        changes.edits.clear();
        changes.gone.clear();
        changes.followed.clear();
        changes.value(object, before, after, Place::Root)?;
        if changes.broken == broken && changes.gone == changes.writer.gone {
            let outside =
                aliases.iter().find(|(anchor, at)| broken.contains(anchor) && !(object.start..object.end).contains(at));
            return match outside {
                Some((_, at)) => Err(Refused::Shared { line: line(text, *at) }),
                None => Ok(changes.with_line_breaks()),
            };
        }
        changes.writer.gone.clone_from(&changes.gone);
    }
    Err(Refused::Form { line: line(text, object.start) })
}

/// The line of a byte, from 1.
pub(super) fn line(text: &str, at: usize) -> u32 {
    let breaks = text.get(..at).unwrap_or_default().matches('\n').count();
    u32::try_from(breaks).unwrap_or(u32::MAX).saturating_add(1)
}

fn add_sources<'o>(text: &str, value: &'o Value, node: &'o Node, sources: &mut Vec<Source<'o>>) {
    match (value, &node.content) {
        (Value::Object(members), Content::Mapping { entries, .. }) => {
            for entry in entries {
                let Some(value) = members.get(&entry.name) else { continue };
                sources.push(Source { value, node: &entry.value, column: column(text, entry.key.start) });
                add_sources(text, value, &entry.value, sources);
            }
        }
        (Value::Array(values), Content::Sequence { items, .. }) => {
            for (value, node) in values.iter().zip(items) {
                add_sources(text, value, node, sources);
            }
        }
        _ => {}
    }
}

/// Where a value stands.
#[derive(Clone, Copy)]
enum Place<'n> {
    Root,
    /// Behind a key, in braces or on a line.
    Member(&'n Entry, InFlow),
    /// In a list.
    Element(InFlow),
}

type InFlow = bool;

struct Changes<'o> {
    text: &'o str,
    writer: Writer<'o>,
    /// Where the anchors are.
    anchors: BTreeMap<usize, &'o Node>,
    /// The anchors that have aliases.
    aliases: BTreeSet<usize>,
    /// Those whose value changes, or goes.
    broken: BTreeSet<usize>,
    /// What those become that change where they stand.
    followed: BTreeMap<usize, Value>,
    gone: Vec<Range<usize>>,
    edits: Vec<Edit>,
}

impl<'o> Changes<'o> {
    fn with_line_breaks(mut self) -> Vec<Edit> {
        for (_, text) in &mut self.edits {
            *text = text.replace('\n', self.writer.style.line_break);
        }
        self.edits
    }

    fn value(&mut self, node: &'o Node, before: &Value, after: &Value, place: Place<'o>) -> Result<(), Refused> {
        if before == after && self.broken.is_empty() {
            return Ok(());
        }
        if let Content::Alias(anchor) = node.content {
            let stays = match self.followed.get(&anchor) {
                Some(followed) => followed == after,
                None => before == after && !self.broken.contains(&anchor),
            };
            return if stays { Ok(()) } else { self.replace(node, after, place) };
        }
        if before != after && self.aliases.contains(&node.anchor) {
            self.broken.insert(node.anchor);
            self.followed.insert(node.anchor, after.clone());
        }
        match (&node.content, before, after) {
            (Content::Mapping { flow, entries }, Value::Object(before), Value::Object(after)) => {
                self.mapping(node, *flow, entries, before, after, place)
            }
            (Content::Sequence { flow, items }, Value::Array(before), Value::Array(after))
                if before.len() == after.len() && before.len() == items.len() =>
            {
                for (item, (before, after)) in items.iter().zip(before.iter().zip(after)) {
                    self.value(item, before, after, Place::Element(*flow))?;
                }
                Ok(())
            }
            _ if before == after => Ok(()),
            _ => self.replace(node, after, place),
        }
    }

    fn mapping(
        &mut self,
        node: &'o Node,
        flow: bool,
        entries: &'o [Entry],
        before: &Map<String, Value>,
        after: &Map<String, Value>,
        place: Place<'o>,
    ) -> Result<(), Refused> {
        let own = |name: &str| entries.iter().any(|entry| !entry.merges && entry.name == name);
        let is_lost = before.keys().any(|name| !after.contains_key(name) && !own(name));
        // What `<<` brings cannot be taken away; then all of it is written out.
        let writes_out = |entry: &Entry| entry.merges && (is_lost || self.refers_to_broken(&entry.value));
        let is_written_out = entries.iter().any(writes_out);
        let stays = |entry: &&Entry| {
            if entry.merges { !is_written_out } else { after.contains_key(&entry.name) }
        };
        let mut added: Vec<(&String, &Value)> = after
            .iter()
            .filter(|(name, value)| !own(name) && (is_written_out || before.get(*name) != Some(value)))
            .collect();
        let kept: Vec<usize> = (0..entries.len()).filter(|index| stays(&&entries[*index])).collect();
        if before != after
            && let Some(twin) = entries.iter().enumerate().find_map(|(index, entry)| {
                entries[..index].iter().any(|earlier| earlier.name == entry.name).then_some(entry)
            })
        {
            return Err(Refused::Form { line: line(self.text, twin.key.start) });
        }
        let last_merge = kept.iter().rev().find(|index| entries[**index].merges).copied();
        // A new member takes the place of the one that it replaces.
        let mut successors: BTreeMap<usize, (&String, &Value)> = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let may = !kept.contains(&index) && !entry.merges && last_merge.is_none_or(|merge| merge < index);
            if let Some(found) = added.iter().position(|(name, _)| may && replaces(name, &entry.name)) {
                successors.insert(index, added.remove(found));
            }
        }
        if kept.is_empty() && successors.is_empty() {
            return if before == after && !is_written_out {
                Ok(())
            } else {
                self.replace(node, &Value::Object(after.clone()), place)
            };
        }
        // The others stand behind the last of their like, or at the end.
        let held: Vec<usize> = (0..entries.len()).filter(|i| kept.contains(i) || successors.contains_key(i)).collect();
        let name_at = |index: usize| successors.get(&index).map_or(&entries[index].name, |(name, _)| *name);
        let mut followers: BTreeMap<usize, Vec<(&String, &Value)>> = BTreeMap::new();
        for (name, value) in added {
            let behind_merge = |index: &&usize| last_merge.is_none_or(|merge| merge <= **index);
            let like = held.iter().rev().filter(behind_merge).find(|index| alike(name_at(**index), name));
            if let Some(index) = like.or(held.last()) {
                followers.entry(*index).or_default().push((name, value));
            }
        }
        for (index, entry) in entries.iter().enumerate() {
            if kept.contains(&index) {
                if let (false, Some(before), Some(after)) =
                    (entry.merges, before.get(&entry.name), after.get(&entry.name))
                {
                    self.value(&entry.value, before, after, Place::Member(entry, flow))?;
                }
            } else {
                self.lose(&entry.value);
                self.gone.push(entry.value.start..entry.value.end);
            }
        }
        let mapping = Mapping { node, entries, kept: &kept, successors: &successors, followers: &followers };
        if flow { self.flow_members(&mapping) } else { self.block_members(&mapping) }
    }

    fn refers_to_broken(&self, node: &Node) -> bool {
        let mut refers = false;
        node.visit(&mut |inner| {
            refers |= matches!(inner.content, Content::Alias(anchor) if self.broken.contains(&anchor));
        });
        refers
    }

    /// Notes that the anchors in a value go.
    fn lose(&mut self, node: &Node) {
        node.visit(&mut |inner| {
            if self.aliases.contains(&inner.anchor) {
                self.broken.insert(inner.anchor);
                self.followed.remove(&inner.anchor);
            }
        });
    }

    // === members ===

    fn model(&self, mapping: &Mapping<'_, 'o>, name: &str, old: Option<&'o Entry>, in_flow: bool) -> Model<'o> {
        let sibling = mapping.entries.iter().rev().find(|entry| alike(&entry.name, name) && !entry.value.is_empty());
        let like = old.or(sibling);
        let indents = |entries: &[Entry]| entries.iter().find_map(|entry| self.writer.indent_of(entry));
        let indent = like.and_then(|entry| self.writer.indent_of(entry)).or_else(|| indents(mapping.entries));
        Model {
            like: like.map(|entry| self.target(&entry.value)),
            indent: indent.unwrap_or(self.writer.style.indent),
            in_flow,
            key_quote: self.key_quote(mapping.entries),
        }
    }

    /// What an alias stands for, or the value itself.
    fn target(&self, node: &'o Node) -> &'o Node {
        match node.content {
            Content::Alias(anchor) => self.anchors.get(&anchor).copied().unwrap_or(node),
            _ => node,
        }
    }

    /// The quotation mark that all keys have.
    fn key_quote(&self, entries: &[Entry]) -> Option<char> {
        let of =
            |entry: &Entry| self.text.get(entry.key.clone())?.chars().next().filter(|first| "\"'".contains(*first));
        let mut keys = entries.iter().filter(|entry| !entry.merges);
        let first = keys.next().and_then(of)?;
        keys.all(|entry| of(entry) == Some(first)).then_some(first)
    }

    fn block_members(&mut self, mapping: &Mapping<'_, 'o>) -> Result<(), Refused> {
        let Mapping { entries, kept, successors, followers, .. } = *mapping;
        for (index, entry) in entries.iter().enumerate() {
            let at = column(self.text, entry.key.start);
            let touched = !kept.contains(&index) || followers.contains_key(&index);
            if !touched {
                continue;
            }
            let form = || Refused::Form { line: line(self.text, entry.key.start) };
            let before_key = self.text.get(line_start(self.text, entry.key.start)..entry.key.start).unwrap_or_default();
            if !before_key.chars().all(|character| character == ' ' || character == '-') || entry.colon.is_none() {
                return Err(form());
            }
            let end = self.entry_end(entry);
            let mut text = String::new();
            let mut range = end..end;
            if let Some((name, value)) = successors.get(&index) {
                range = entry.key.start..end;
                text = self.writer.entry(name, value, at, self.model(mapping, name, Some(entry), false));
            } else if !kept.contains(&index) {
                range = self.lines_of(mapping, index, end).ok_or_else(form)?;
            }
            for (name, value) in followers.get(&index).into_iter().flatten() {
                text.push('\n');
                text.push_str(&spaces(at));
                text.push_str(&self.writer.entry(name, value, at, self.model(mapping, name, None, false)));
            }
            self.edits.push((range, text));
        }
        Ok(())
    }

    /// What goes with a member that goes: its lines, with the line break before them.
    fn lines_of(&self, mapping: &Mapping<'_, '_>, index: usize, end: usize) -> Option<Range<usize>> {
        let key = mapping.entries.get(index)?.key.start;
        let start = line_start(self.text, key);
        if self.text.get(start..key)?.trim().is_empty() {
            let before = self.text.get(..start)?;
            let before = before.strip_suffix('\n')?;
            return Some(before.strip_suffix('\r').unwrap_or(before).len()..end);
        }
        // It shares its line with the dash of its list. The next one moves up.
        let next = mapping.entries.get(index + 1).filter(|_| mapping.kept.contains(&(index + 1)))?;
        self.text.get(end..next.key.start)?.trim().is_empty().then_some(key..next.key.start)
    }

    /// The end of the last line of a member, with the comments that are indented into it.
    fn entry_end(&self, entry: &Entry) -> usize {
        let inside = column(self.text, entry.key.start);
        let mut end = line_end(self.text, entry.end());
        loop {
            let next = end + usize::from(self.text[end..].starts_with('\r')) + 1;
            let Some(rest) = self.text.get(next..) else { return end };
            let comment = next + rest.len() - rest.trim_start_matches(' ').len();
            let is_comment = self.writer.layout.comments.binary_search_by_key(&comment, |range| range.start).is_ok();
            if !is_comment || column(self.text, comment) <= inside {
                return end;
            }
            end = line_end(self.text, comment);
        }
    }

    fn flow_members(&mut self, mapping: &Mapping<'_, 'o>) -> Result<(), Refused> {
        let Mapping { node, entries, kept, successors, followers } = *mapping;
        let form = |at: usize| Refused::Form { line: line(self.text, at) };
        if entries.iter().enumerate().all(|(i, _)| kept.contains(&i) && !followers.contains_key(&i)) {
            return Ok(());
        }
        // A pair in a list may come without braces: `[a: b]`.
        if !self.text[node.start..].starts_with('{') {
            return Err(form(node.start));
        }
        let mut edits = Vec::new();
        let mut has_earlier = false;
        for (index, entry) in entries.iter().enumerate() {
            let at = self.writer.flow_column(entry.key.start);
            let is_held = kept.contains(&index) || successors.contains_key(&index);
            if let Some((name, value)) = successors.get(&index) {
                let text = self.writer.entry(name, value, at, self.model(mapping, name, Some(entry), true));
                edits.push((entry.key.start..entry.end(), text));
            } else if !is_held {
                let neighbour = if has_earlier { index.checked_sub(1) } else { Some(index + 1) };
                let range = match neighbour.and_then(|neighbour| entries.get(neighbour)) {
                    Some(earlier) if has_earlier => earlier.end()..entry.end(),
                    Some(later) => entry.key.start..later.key.start,
                    None => return Err(form(entry.key.start)),
                };
                if self.writer.has_comment(range.clone()) {
                    return Err(form(entry.key.start));
                }
                edits.push((range, String::new()));
            }
            has_earlier |= is_held;
            if let Some(new) = followers.get(&index) {
                self.flow_followers(mapping, index, new, &mut edits);
            }
        }
        self.edits.extend(edits);
        Ok(())
    }

    /// Puts members behind another one, each on a line of its own if they are so.
    fn flow_followers(
        &self,
        mapping: &Mapping<'_, 'o>,
        index: usize,
        new: &[(&String, &Value)],
        edits: &mut Vec<Edit>,
    ) {
        let entries = mapping.entries;
        let entry = &entries[index];
        let at = self.writer.flow_column(entry.key.start);
        let lead = between_braces(self.text, mapping.node).unwrap_or_default();
        let is_first = |index: usize| index == 0;
        let gap = |index: usize| self.text.get(entries[index - 1].end()..entries[index].key.start).unwrap_or_default();
        let has_lines = if is_first(index) { lead.contains('\n') } else { gap(index).contains('\n') };
        let separator = if has_lines { format!(",\n{}", spaces(at)) } else { self.writer.style.comma.to_owned() };
        let members: Vec<_> = new
            .iter()
            .map(|(name, value)| self.writer.entry(name, value, at, self.model(mapping, name, None, true)))
            .collect();
        let members = members.join(&separator);
        let end = entry.end();
        // A comment behind the last one stays with it.
        let line_end = line_end(self.text, end).min(mapping.node.end);
        if !self.writer.has_comment(end..line_end) {
            edits.push((end..end, separator + &members));
            return;
        }
        let comment = self.writer.layout.comments.iter().find(|comment| comment.start >= end);
        let has_comma = comment.is_some_and(|comment| self.text[end..comment.start].contains(','));
        if !has_comma {
            edits.push((end..end, ",".to_owned()));
        }
        let comma = if has_comma { "," } else { "" };
        edits.push((line_end..line_end, format!("\n{}{members}{comma}", spaces(at))));
    }

    // === whole values ===

    fn replace(&mut self, node: &'o Node, after: &Value, place: Place<'o>) -> Result<(), Refused> {
        self.lose(node);
        let at = match place {
            Place::Member(entry, _) => entry.key.start,
            Place::Root | Place::Element(_) => node.start,
        };
        let form = Refused::Form { line: line(self.text, at) };
        let indent = self.writer.style.indent;
        let model = Model { like: Some(self.target(node)), indent, in_flow: true, key_quote: None };
        match place {
            Place::Root => Err(form),
            Place::Element(in_flow) => {
                if node.start == node.end || node.is_block() || (!in_flow && after.is_object()) {
                    return Err(form);
                }
                let at = self.writer.flow_column(node.start);
                self.edits.push((node.start..node.end, self.writer.inline(after, at, model)));
                Ok(())
            }
            Place::Member(entry, true) => {
                let colon = entry.colon.ok_or(form)?;
                let start = self.value_start(colon, node.start);
                let at = self.writer.flow_column(entry.key.start);
                let space = if start == colon { self.writer.style.colon.trim_start_matches(':') } else { "" };
                self.edits.push((start..node.end, format!("{space}{}", self.writer.inline(after, at, model))));
                Ok(())
            }
            Place::Member(entry, false) => {
                self.replace_on_lines(entry, after, entry.colon.ok_or(form)?);
                Ok(())
            }
        }
    }

    /// Replaces the value of a member that has its own lines. A comment behind its colon stays.
    fn replace_on_lines(&mut self, entry: &'o Entry, after: &Value, colon: usize) {
        let node = &entry.value;
        let at = column(self.text, entry.key.start);
        let is_scalar = matches!(node.content, Content::Scalar(_));
        let like = Some(self.target(node)).filter(|like| is_scalar || !like.is_empty());
        let indent = self.writer.indent_of(entry).unwrap_or(self.writer.style.indent);
        let model = Model { like, indent, in_flow: false, key_quote: None };
        let text = self.writer.behind_colon(after, at, model);
        let start = self.value_start(colon, node.start);
        let first_line = line_end(self.text, colon);
        let end = self.entry_end(entry);
        let is_block_text = matches!(node.content, Content::Scalar(ScalarStyle::Literal | ScalarStyle::Folded))
            && node.start != node.end;
        if node.is_block() || is_block_text {
            // With its anchor, or the mark of the block text, goes what stands before the comment.
            let properties_end = self.text.get(colon..first_line).map_or(colon, |rest| {
                colon + if start < first_line { rest.find(" #").unwrap_or(rest.len()) } else { 0 }
            });
            if text.starts_with('\n') {
                self.edits.push((colon..properties_end, String::new()));
                self.edits.push((first_line..end, text));
            } else {
                self.edits.push((colon..properties_end, text));
                self.edits.push((first_line..end, String::new()));
            }
        } else if text.starts_with('\n') {
            self.edits.push((colon..node.end.max(colon), String::new()));
            let behind = line_end(self.text, node.end);
            self.edits.push((behind..behind, text));
        } else {
            let new = text.trim_start_matches(' ');
            let old = start..node.end.max(start);
            let space = if start == colon { " " } else { "" };
            self.edits.push((old, format!("{space}{new}")));
        }
    }

    /// Where a value begins, with its anchor and tag.
    fn value_start(&self, colon: usize, value: usize) -> usize {
        let mut at = colon;
        while at < value {
            match self.text.as_bytes().get(at) {
                Some(b'#') => at = line_end(self.text, at),
                Some(b' ' | b'\t' | b'\n' | b'\r') => at += 1,
                _ => return at,
            }
        }
        value
    }
}

/// What becomes of the members of a mapping.
struct Mapping<'m, 'o> {
    node: &'o Node,
    entries: &'o [Entry],
    /// Those that stay.
    kept: &'m [usize],
    /// What takes the place of those that go.
    successors: &'m BTreeMap<usize, (&'m String, &'m Value)>,
    /// What comes behind a member.
    followers: &'m BTreeMap<usize, Vec<(&'m String, &'m Value)>>,
}
