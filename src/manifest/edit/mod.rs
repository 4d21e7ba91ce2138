//! Changes objects in the text of their file, and leaves every other byte of it alone.
//!
//! Nothing here is trusted to be right. The edited text is read again, and counts only if the objects have become what
//! was wanted, all others are what they were to the byte, no comment outside got lost, and a second parser (libyaml,
//! which kubectl's is a port of) still reads it. Otherwise the object is refused.

mod changes;
mod layout;
mod order;
mod prove;
mod style;
#[cfg(test)]
mod tests;
mod write;

use serde_json::Value;

use super::stream::BYTE_ORDER_MARK;
use super::{Reading, read};

use changes::{Edit, changes};
use layout::{Layout, layout};
use prove::prove;

/// A file in which objects were changed.
#[derive(Clone, Debug)]
pub struct Edited {
    /// All of it.
    pub bytes: Vec<u8>,
    /// The objects that are as they were, by their number in [`Reading::documents`], and why.
    pub refused: Vec<(usize, Refused)>,
}

/// Why an object was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// A part of the file cannot be read, so that nobody knows what an edit does to it.
    #[error("line {line} of the file cannot be read, so nothing in the file is changed: {reason}")]
    Unread {
        /// The line, from 1.
        line: u32,
        /// What is wrong there.
        reason: String,
    },
    /// A form of YAML that is not edited, such as an explicit key or a comment between braces.
    #[error("line {line} is written in a form that is not changed in place; change it by hand, as the patch says")]
    Form {
        /// The line, from 1.
        line: u32,
    },
    /// Another object of the same document takes its value from here.
    #[error("line {line} is an alias of what would change, and belongs to another object; write it out there first")]
    Shared {
        /// The line of the alias, from 1.
        line: u32,
    },
    /// The edit was made, and is not what was wanted.
    #[error("the edit did not come out as planned and was dropped ({0}); change it by hand, as the patch says")]
    Unproved(String),
}

/// Gives objects of a file new values, by their number in `reading`, which must be of the same bytes.
///
/// Each object either becomes exactly what is wanted or is left alone.
#[must_use]
pub fn edit(file: &[u8], reading: &Reading, wanted: &[(usize, &Value)]) -> Edited {
    let refuse_all = |why: &Refused| Edited {
        bytes: file.to_vec(),
        refused: wanted.iter().map(|(index, _)| (*index, why.clone())).collect(),
    };
    if wanted.is_empty() {
        return Edited { bytes: file.to_vec(), refused: Vec::new() };
    }
    if let Some(problem) = reading.problems.iter().find(|problem| problem.reason.forbids_edits()) {
        return refuse_all(&Refused::Unread { line: problem.line, reason: problem.reason.to_string() });
    }
    let (mark, body) = match file.strip_prefix(BYTE_ORDER_MARK) {
        Some(body) => (BYTE_ORDER_MARK, body),
        None => (&[][..], file),
    };
    let unread = Refused::Unread { line: 1, reason: "its layout is not understood".to_owned() };
    let Some((text, layout)) = std::str::from_utf8(body).ok().and_then(|text| Some((text, layout(text)?))) else {
        return refuse_all(&unread);
    };
    if let Some(at) = text.match_indices('\r').map(|(at, _)| at).find(|at| !text[*at..].starts_with("\r\n")) {
        return refuse_all(&Refused::Form { line: changes::line(text, at) });
    }
    let (text, refused) = match all_at_once(text, &layout, reading, wanted) {
        Ok(edited) => (edited, Vec::new()),
        Err(_) => one_by_one(text.to_owned(), wanted),
    };
    Edited { bytes: [mark, text.as_bytes()].concat(), refused }
}

fn all_at_once(text: &str, layout: &Layout, reading: &Reading, wanted: &[(usize, &Value)]) -> Result<String, Refused> {
    let mut edits = Vec::new();
    for (index, value) in wanted {
        let gone = || Refused::Unproved("the object is not in the file any more".to_owned());
        let document = reading.documents.get(*index).ok_or_else(gone)?;
        let origin = document.origin.as_str();
        edits.extend(changes(text, layout, document.document, origin, &document.value, value)?);
    }
    let edited = apply(text, edits).ok_or_else(|| Refused::Unproved("two changes overlap".to_owned()))?;
    prove((text, layout, reading), &edited, wanted).map_err(Refused::Unproved)?;
    Ok(edited)
}

/// Slower, and one that is refused does not stop the others.
fn one_by_one(mut text: String, wanted: &[(usize, &Value)]) -> (String, Vec<(usize, Refused)>) {
    let mut refused = Vec::new();
    for (index, value) in wanted {
        let reading = read(text.as_bytes());
        let edited = layout(&text)
            .ok_or_else(|| Refused::Unproved("the text cannot be read any more".to_owned()))
            .and_then(|layout| all_at_once(&text, &layout, &reading, &[(*index, value)]));
        match edited {
            Ok(edited) => text = edited,
            Err(why) => refused.push((*index, why)),
        }
    }
    (text, refused)
}

/// The text with its edits. Nothing where two of them want the same bytes.
fn apply(text: &str, mut edits: Vec<Edit>) -> Option<String> {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut edited = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (range, new) in edits {
        edited.push_str(text.get(at..range.start)?);
        edited.push_str(&new);
        at = range.end;
    }
    edited.push_str(text.get(at..)?);
    Some(edited)
}
