//! Manifests in files: YAML and JSON in, as values that know where each part of them stands.
//!
//! [`read`] takes a whole file. It holds any number of documents, and lists of objects in them; what cannot be read is
//! told in words with its place, and the rest of the file is read all the same. Values mean what they mean to kubectl.
//!
//! ```
//! use reprieve::core::model::pointer::Pointer;
//!
//! let reading = reprieve::manifest::read(b"kind: Pod\nspec:\n  containers:\n  - name: db\n");
//! let document = &reading.documents[0];
//! let name = document.position(&Pointer::parse("/spec/containers/0/name")).unwrap();
//! assert_eq!((name.line, name.column), (4, 11));
//! ```

mod edit;
mod kind;
mod list;
mod mapping;
mod position;
mod problem;
mod scalar;
mod stream;
mod template;
#[cfg(test)]
mod tests;
mod tree;

use serde_json::Value;

use crate::core::model::pointer::Pointer;

pub use edit::{Edited, Refused, edit};
pub use kind::is_workload;
pub use position::{Position, Positions};
pub use problem::{Reason, Unread};

/// How many lists and mappings may be open at one place. Kubernetes needs some twenty, deep schemas of custom
/// resources about a hundred.
pub const MAXIMUM_DEPTH: usize = 512;

/// How many bytes the anchors and aliases of one file may copy. A few hundred bytes of YAML can ask for terabytes.
pub const MAXIMUM_COPIED: usize = 64 << 20;

/// An object of a manifest.
#[derive(Clone, Debug)]
pub struct Document {
    /// The YAML document in the file, from 1. Empty ones count; the items of a list share the number.
    pub document: usize,
    /// The line in which the object begins, from 1.
    pub line: u32,
    /// Where in the YAML document: the root, or for example `/items/3` in a list.
    pub origin: Pointer,
    /// The object, its keys in the order of the file. Anything but null can stand in a file, so it may be no object.
    pub value: Value,
    /// Where its parts stand.
    pub positions: Positions,
}

impl Document {
    /// See [`Positions::position`].
    #[must_use]
    pub fn position(&self, pointer: &Pointer) -> Option<Position> {
        self.positions.position(&self.value, pointer)
    }

    /// See [`Positions::key_position`].
    #[must_use]
    pub fn key_position(&self, pointer: &Pointer) -> Option<Position> {
        self.positions.key_position(&self.value, pointer)
    }
}

/// What stands in a file.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The objects that were read, in their order.
    pub documents: Vec<Document>,
    /// What could not be read, or not without doubt, in the order of the file.
    pub problems: Vec<Unread>,
}

/// Reads a file. It never fails: what is wrong becomes a problem.
#[must_use]
pub fn read(bytes: &[u8]) -> Reading {
    stream::read(bytes)
}
