//! The part of a container that a patch may touch, before and after, line by line.

use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use super::words::visible;

/// What a patch may touch, in the order in which it takes effect.
const SECTIONS: [&str; 4] = ["startupProbe", "livenessProbe", "readinessProbe", "resources"];

/// One line of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Whether it goes, comes, or stays.
    pub(super) side: Side,
    /// Without its line break.
    pub(super) text: String,
}

/// On which side a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Only before.
    Before,
    /// Only after.
    After,
    /// On both.
    Both,
}

/// Compares the probes and resources of a container, each with its own: a check that moves from one probe to another
/// leaves the one and comes to the other. Without an `after` every line stays.
pub(super) fn compare(before: &Value, after: Option<&Value>) -> Vec<Line> {
    let after = after.unwrap_or(before);
    SECTIONS.iter().flat_map(|name| compare_section(&section(before, name), &section(after, name))).collect()
}

fn compare_section(before: &str, after: &str) -> Vec<Line> {
    TextDiff::from_lines(before, after)
        .iter_all_changes()
        .map(|change| Line {
            side: match change.tag() {
                ChangeTag::Delete => Side::Before,
                ChangeTag::Insert => Side::After,
                ChangeTag::Equal => Side::Both,
            },
            text: visible(change.value().trim_end_matches('\n')),
        })
        .collect()
}

fn section(container: &Value, name: &str) -> String {
    match container.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(value) => yaml(&Value::Object(Map::from_iter([(name.to_owned(), value.clone())]))),
    }
}

/// A value as YAML.
pub(super) fn yaml(value: &Value) -> String {
    // JSON always has a YAML form; should the writer fail, JSON is YAML too.
    serde_yaml::to_string(value).unwrap_or_else(|_| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shows_what_changes_among_what_stays() {
        let before =
            json!({"name": "a", "image": "x", "livenessProbe": {"exec": {"command": ["a"]}, "timeoutSeconds": 1}});
        let after =
            json!({"name": "a", "image": "x", "livenessProbe": {"timeoutSeconds": 3, "exec": {"command": ["a"]}}});
        let lines = compare(&before, Some(&after));
        let of = |side: Side| lines.iter().filter(|l| l.side == side).map(|l| l.text.trim()).collect::<Vec<_>>();
        assert!(of(Side::Before).contains(&"timeoutSeconds: 1"), "{lines:?}");
        assert!(of(Side::After).contains(&"timeoutSeconds: 3"));
        assert!(of(Side::Both).contains(&"livenessProbe:"));
        assert!(!lines.iter().any(|line| line.text.contains("image")), "nothing that is not touched");
        assert!(compare(&before, None).iter().all(|line| line.side == Side::Both));
        assert!(compare(&json!({"name": "a"}), None).is_empty());
        let moved =
            json!({"livenessProbe": {"tcpSocket": {"port": 1}}, "readinessProbe": {"exec": {"command": ["a"]}}});
        let lines = compare(&before, Some(&moved));
        assert_eq!(lines.iter().filter(|line| line.text.contains("exec:")).count(), 2, "it leaves, and it comes");
    }
}
