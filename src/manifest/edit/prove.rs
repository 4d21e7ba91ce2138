//! Whether an edited text is what it should be: read again, as if somebody else had written it.

use std::collections::BTreeMap;

use serde::Deserialize as _;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::layout::{Layout, Node, layout};
use super::style::column;
use crate::manifest::{Document, Reading, read};

/// Compares a file before and after, and says what is not as wanted.
pub(super) fn prove(
    (old, old_layout, old_reading): (&str, &Layout, &Reading),
    new: &str,
    wanted: &[(usize, &Value)],
) -> Result<(), String> {
    let reading = read(new.as_bytes());
    let kinds = |reading: &Reading| -> Vec<_> {
        reading.problems.iter().map(|problem| std::mem::discriminant(&problem.reason)).collect()
    };
    if kinds(&reading) != kinds(old_reading) {
        let first = reading.problems.first().map_or_else(|| "a problem is gone".to_owned(), ToString::to_string);
        return Err(format!("it reads differently: {first}"));
    }
    let wanted: BTreeMap<usize, &Value> = wanted.iter().copied().collect();
    if reading.documents.len() != old_reading.documents.len() {
        return Err("the number of objects changes".to_owned());
    }
    for (index, (after, before)) in reading.documents.iter().zip(&old_reading.documents).enumerate() {
        let line = after.line;
        if (after.document, &after.origin) != (before.document, &before.origin) {
            return Err(format!("the object in line {line} moves"));
        }
        match wanted.get(&index) {
            Some(value) if **value != after.value => {
                return Err(format!("the object in line {line} is {}", first_difference(value, &after.value)));
            }
            None if before.value != after.value => return Err(format!("the object in line {line} changes too")),
            _ => {}
        }
    }
    let new_layout = layout(new).ok_or("it has no layout")?;
    let untouched = |(index, _): &(usize, &Document)| !wanted.contains_key(index);
    let texts = |text: &str, layout: &Layout, reading: &Reading| -> Vec<Option<String>> {
        let others = reading.documents.iter().enumerate().filter(untouched);
        others.map(|(_, document)| object(layout, document).map(|node| text[node.start..node.end].to_owned())).collect()
    };
    if texts(old, old_layout, old_reading) != texts(new, &new_layout, &reading) {
        return Err("the text of another object changes".to_owned());
    }
    // Comments in the objects that change may go with what they are about; all others stay.
    let comments = |text: &str, layout: &Layout, reading: &Reading| -> Vec<String> {
        let nodes: Vec<_> = reading.documents.iter().map(|document| object(layout, document)).collect();
        let is_inside = |at: usize| {
            // The last object that begins before it, even where it is indented into what is behind its end.
            let owner = nodes.iter().enumerate().rfind(|(_, node)| node.is_some_and(|node| node.start <= at));
            owner.is_some_and(|(index, node)| {
                let is_in = |node: &Node| at < node.end || column(text, at) > column(text, node.start);
                wanted.contains_key(&index) && node.is_some_and(is_in)
            })
        };
        let outside = layout.comments.iter().filter(|comment| !is_inside(comment.start));
        outside.map(|comment| text[comment.clone()].to_owned()).collect()
    };
    if comments(old, old_layout, old_reading) != comments(new, &new_layout, &reading) {
        return Err("a comment of something else changes".to_owned());
    }
    if serde_json::from_str::<IgnoredAny>(old).is_ok() && serde_json::from_str::<IgnoredAny>(new).is_err() {
        return Err("it is no JSON any more".to_owned());
    }
    if let (Ok(()), Err(error)) = (second_opinion(old), second_opinion(new)) {
        return Err(format!("another parser cannot read it: {error}"));
    }
    Ok(())
}

fn object<'l>(layout: &'l Layout, document: &Document) -> Option<&'l Node> {
    layout.documents.get(&document.document)?.find(document.origin.as_str())
}

fn second_opinion(text: &str) -> Result<(), serde_yaml::Error> {
    serde_yaml::Deserializer::from_str(text).try_for_each(|document| IgnoredAny::deserialize(document).map(drop))
}

/// The first place where two values differ, in words.
fn first_difference(wanted: &Value, found: &Value) -> String {
    fn find(wanted: &Value, found: &Value, path: &str) -> Option<String> {
        match (wanted, found) {
            (Value::Object(wanted), Value::Object(found)) => wanted
                .iter()
                .find_map(|(name, value)| {
                    find(value, found.get(name).unwrap_or(&Value::Null), &format!("{path}/{name}"))
                })
                .or_else(|| {
                    let more = found.keys().find(|name| !wanted.contains_key(*name))?;
                    Some(format!("not without {path}/{more}"))
                }),
            (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => wanted
                .iter()
                .zip(found)
                .enumerate()
                .find_map(|(index, (wanted, found))| find(wanted, found, &format!("{path}/{index}"))),
            _ if wanted == found => None,
            _ => Some(format!("other than wanted at {path}")),
        }
    }
    find(wanted, found, "").unwrap_or_else(|| "other than wanted".to_owned())
}
