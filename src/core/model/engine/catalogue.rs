//! Health scripts that are not in the pod spec but that everybody has: files of well-known images and charts, known by
//! image and path. With them "nobody can tell what it does" becomes rare.

use super::profile::{Answers, Runtime, has_word};
use super::{clickhouse, elasticsearch, etcd, kafka, mongodb, mysql, postgresql, rabbitmq, redis, zookeeper};
use crate::core::model::command::Call;

/// The scripts of every family; within one the special before the general.
const FAMILIES: &[&[KnownScript]] = &[
    postgresql::SCRIPTS,
    mysql::SCRIPTS,
    redis::SCRIPTS,
    mongodb::SCRIPTS,
    rabbitmq::SCRIPTS,
    kafka::SCRIPTS,
    etcd::SCRIPTS,
    zookeeper::SCRIPTS,
    elasticsearch::SCRIPTS,
    clickhouse::SCRIPTS,
];

/// A health script that is known by its path and image.
#[derive(Clone, Copy, Debug)]
pub struct KnownScript {
    /// The end of its path.
    pub path: &'static str,
    /// A part of the image reference, or empty where the path alone is enough.
    pub image: &'static str,
    /// The versions of the image for which this holds, from the first on and before the second, as in `("7.0", "8")`;
    /// None for all. A tag that is no version is in no range.
    pub versions: Option<(&'static str, &'static str)>,
    /// Words that have to be among its arguments, as in [`super::Client::with`].
    pub with: &'static [&'static str],
    /// What it does, for people, as a sentence without its end.
    pub does: &'static str,
    /// Its exit code in each situation.
    pub answers: Answers,
    /// What else decides where it fails alone.
    pub depends_on: &'static str,
    /// The heaviest program that it starts.
    pub runtime: Runtime,
    /// Where that can be read: `repository: path`.
    pub source: &'static str,
}

impl KnownScript {
    /// A script for every image and version, that asks its own server only.
    pub(super) const ANY: Self = Self {
        path: "",
        image: "",
        versions: None,
        with: &[],
        does: "",
        answers: Answers::UNKNOWN,
        depends_on: "",
        runtime: Runtime::Light,
        source: "",
    };

    fn matches(&self, image: &str, call: &Call) -> bool {
        call.path.ends_with(self.path)
            && image.contains(self.image)
            && self.with.iter().all(|word| has_word(call, word))
            && self.versions.is_none_or(|range| in_range(image, range))
    }
}

/// Every known script.
pub fn known_scripts() -> impl Iterator<Item = &'static KnownScript> {
    FAMILIES.iter().copied().flatten()
}

/// The script that a container of this image calls, if it is known.
#[must_use]
pub fn known_script(image: &str, call: &Call) -> Option<&'static KnownScript> {
    known_scripts().find(|script| script.matches(image, call))
}

/// Whether the tag of an image is a version from `first` on and before `end`.
pub(super) fn in_range(image: &str, (first, end): (&str, &str)) -> bool {
    let tag = image.split('@').next().unwrap_or("").rsplit('/').next().unwrap_or("");
    let Some((_, tag)) = tag.split_once(':') else { return false };
    let numbers = |text: &str| -> Option<Vec<u32>> {
        let text = text.trim_start_matches('v');
        let text = text.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        text.split('.').map(|part| part.parse().ok()).collect()
    };
    match (numbers(tag), numbers(first), numbers(end)) {
        (Some(version), Some(first), Some(end)) => version >= first && version < end,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (image, expected) in [
            ("a/b:7.0", true),
            ("a/b:7.10.1-debian-12", true),
            ("registry:5000/a/b:v7.2@sha256:0", true),
            ("a/b:8.0", false),
            ("a/b:6.9", false),
            ("a/b:latest", false),
            ("a/b", false),
        ] {
            assert_eq!(in_range(image, ("7.0", "8")), expected, "{image}");
        }
    }

    #[test]
    fn every_script_says_where_that_can_be_read() {
        for script in known_scripts() {
            assert!(!script.source.is_empty() && !script.does.is_empty() && !script.path.is_empty(), "{script:?}");
        }
    }
}
