//! A mapping while it is read, where keys may repeat and others may be merged in.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::map::{Entry, Map};

use super::position::{Key, Place, Position};
use super::problem::Reason;
use super::scalar;

/// A member that replaced another one of the same name, where tools disagree or refuse.
pub(super) struct Collision {
    pub(super) reason: Reason,
    pub(super) position: Position,
}

/// A key whose value has not come yet.
struct Pending {
    name: String,
    /// Whether it is `<<`.
    merges: bool,
    position: Position,
    /// The byte behind it.
    end: usize,
}

/// The members so far.
#[derive(Default)]
pub(super) struct Mapping {
    members: Map<String, Value>,
    pending: Option<Pending>,
    sources: Option<Box<Sources>>,
}

/// Where the members come from, kept only once their places are not simply one behind the other.
struct Sources {
    /// Which member has this name.
    numbers: HashMap<String, usize>,
    members: Vec<Source>,
}

struct Source {
    place: usize,
    merged: bool,
}

impl Mapping {
    pub(super) fn key_is_next(&self) -> bool {
        self.pending.is_none()
    }

    pub(super) fn merges(&self) -> bool {
        self.pending.as_ref().is_some_and(|key| key.merges)
    }

    pub(super) fn key_position(&self) -> Option<Position> {
        self.pending.as_ref().map(|key| key.position)
    }

    /// The byte behind the key.
    pub(super) fn key_end(&self) -> usize {
        self.pending.as_ref().map_or(0, |key| key.end)
    }

    pub(super) fn begin_member(&mut self, name: String, merges: bool, position: Position, end: usize) {
        self.pending = Some(Pending { name, merges, position, end });
    }

    pub(super) fn end_merge(&mut self) {
        self.pending = None;
    }

    /// Adds the value of the pending key. The places of this mapping begin at `parent`, those of the value at `place`.
    pub(super) fn insert(&mut self, value: Value, place: usize, parent: usize, places: &[Place]) -> Option<Collision> {
        let Pending { name, position, .. } = self.pending.take()?;
        if self.sources.is_some() {
            return self.insert_from(name, value, Source { place, merged: false }, position, places);
        }
        match self.members.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(value);
                None
            }
            Entry::Occupied(entry) => {
                let name = entry.key().clone();
                self.watch_sources(parent, places);
                self.insert_from(name, value, Source { place, merged: false }, position, places)
            }
        }
    }

    /// Adds a member that comes through the pending `<<`.
    pub(super) fn insert_merged(
        &mut self,
        name: String,
        value: Value,
        place: usize,
        parent: usize,
        places: &[Place],
    ) -> Option<Collision> {
        let position = self.key_position()?;
        self.watch_sources(parent, places);
        self.insert_from(name, value, Source { place, merged: true }, position, places)
    }

    fn watch_sources(&mut self, parent: usize, places: &[Place]) {
        let members = &self.members;
        self.sources.get_or_insert_with(|| {
            let mut place = parent + 1;
            let sources = members.iter().map(|_| {
                let source = Source { place, merged: false };
                place += places.get(place).map_or(1, |place| place.size as usize);
                source
            });
            Box::new(Sources {
                members: sources.collect(),
                numbers: members.keys().enumerate().map(|(number, name)| (name.clone(), number)).collect(),
            })
        });
    }

    fn insert_from(
        &mut self,
        name: String,
        value: Value,
        source: Source,
        position: Position,
        places: &[Place],
    ) -> Option<Collision> {
        let sources = self.sources.as_mut()?;
        let Some(number) = sources.numbers.get(&name) else {
            sources.numbers.insert(name.clone(), sources.members.len());
            sources.members.push(source);
            self.members.insert(name, value);
            return None;
        };
        let earlier = std::mem::replace(sources.members.get_mut(*number)?, source);
        let merged = sources.members.get(*number)?.merged;
        let key = scalar::shown(&name);
        self.members.insert(name, value);
        // A merged member that the mapping itself replaces is what `<<` is for.
        if earlier.merged {
            return None;
        }
        let earlier = places.get(earlier.place)?.key.map_or(0, |key| Key::position(key).line);
        let reason =
            if merged { Reason::MergeReplaces { key, earlier } } else { Reason::DuplicateKey { key, earlier } };
        Some(Collision { reason, position })
    }

    /// The members, with their places behind `parent` in the same order and no others.
    pub(super) fn finish(self, places: &mut Vec<Place>, parent: usize) -> Map<String, Value> {
        if let Some(sources) = self.sources {
            let in_order: Vec<Place> = sources
                .members
                .iter()
                .filter_map(|source| places.get(source.place..)?.get(..places.get(source.place)?.size as usize))
                .flatten()
                .copied()
                .collect();
            places.truncate(parent + 1);
            places.extend(in_order);
        }
        self.members
    }
}
