//! Where the values of a document stand in the file.

use serde_json::Value;

use crate::core::model::pointer::Pointer;

/// A place in a file, as editors count: lines and columns from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character within the line.
    pub column: u32,
}

impl Position {
    /// The first character of a file.
    pub(super) const START: Self = Self { line: 1, column: 1 };

    /// The position behind `text`, which begins here.
    pub(super) fn after(mut self, text: &str) -> Self {
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            // The parser counts a lone carriage return as a line break too.
            if character == '\n' || character == '\r' && characters.peek() != Some(&'\n') {
                self = Self { line: self.line.saturating_add(1), column: 1 };
            } else {
                self.column = self.column.saturating_add(1);
            }
        }
        self
    }
}

/// What is known of one value. A value is followed by the values in it, so that `size` skips to its next sibling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The first character of the value.
    pub(super) value: Position,
    /// The first character of its key, if it is the member of an object.
    pub(super) key: Option<Key>,
    /// How many values it is, with itself and all in it.
    pub(super) size: u32,
}

// There is one for each value of each manifest in memory.
const _: () = assert!(size_of::<Place>() == 20);

/// The position of a key in the bytes that a [`Position`] takes, with an unused zero for "none".
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    line: std::num::NonZeroU32,
    column: std::num::NonZeroU32,
}

impl Key {
    pub(super) fn new(position: Position) -> Option<Self> {
        Some(Self { line: position.line.try_into().ok()?, column: position.column.try_into().ok()? })
    }

    pub(super) fn position(self) -> Position {
        Position { line: self.line.get(), column: self.column.get() }
    }
}

/// The positions of a value and all in it: 20 bytes for each, in the order of the value, without its keys.
///
/// * A value stands where its own text begins: behind its key, anchor and tag, at the first line of a block text, at
///   the first key of a mapping, at the first `-` of a list. A value left out stands where it could be written.
/// * A value that is an alias stands where the alias is used, since that is what a person would replace. All inside
///   it, and all that came through a merge key, stands where its text is: at the anchor.
#[derive(Clone, Debug)]
pub struct Positions(Box<[Place]>);

impl Positions {
    pub(super) fn new(places: Vec<Place>) -> Self {
        Self(places.into_boxed_slice())
    }

    /// Where the value at `pointer` stands, or its nearest ancestor that exists. `value` is the value these positions
    /// came with. Nothing for a text that is no pointer, such as `spec`.
    #[must_use]
    pub fn position(&self, value: &Value, pointer: &Pointer) -> Option<Position> {
        self.find(value, pointer).map(|place| place.value)
    }

    /// As [`Positions::position`], but where the key of that value stands. An element of a list has none: then where
    /// the element stands.
    #[must_use]
    pub fn key_position(&self, value: &Value, pointer: &Pointer) -> Option<Position> {
        self.find(value, pointer).map(|place| place.key.map_or(place.value, Key::position))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn find(&self, value: &Value, pointer: &Pointer) -> Option<Place> {
        let mut names = pointer.as_str().split('/');
        // The text before the first slash: a pointer has none.
        names.next().filter(|text| text.is_empty())?;
        let mut value = value;
        let mut index = 0;
        for name in names {
            let Some((nth, child)) = child(value, name) else { break };
            let Some(next) = self.nth_child(index, nth) else { break };
            (value, index) = (child, next);
        }
        self.0.get(index).copied()
    }

    fn nth_child(&self, parent: usize, nth: usize) -> Option<usize> {
        let mut index = parent + 1;
        for _ in 0..nth {
            index += self.0.get(index)?.size as usize;
        }
        Some(index)
    }
}

/// The member or element of this name, and the how manieth it is.
fn child<'a>(value: &'a Value, name: &str) -> Option<(usize, &'a Value)> {
    match value {
        Value::Object(members) => {
            let name = name.replace("~1", "/").replace("~0", "~");
            members.iter().enumerate().find_map(|(nth, (key, value))| (*key == name).then_some((nth, value)))
        }
        Value::Array(elements) => {
            let nth = name.parse().ok()?;
            Some((nth, elements.get(nth)?))
        }
        _ => None,
    }
}

/// The places of the values directly in the value whose places these are.
pub(super) fn children(places: &[Place]) -> impl Iterator<Item = &[Place]> {
    let mut rest = places.get(1..).unwrap_or_default();
    std::iter::from_fn(move || {
        let size = rest.first()?.size as usize;
        let (child, behind) = rest.split_at_checked(size.max(1))?;
        rest = behind;
        Some(child)
    })
}
