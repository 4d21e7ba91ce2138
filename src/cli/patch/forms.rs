//! The forms in which a patch is printed.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};
use similar::TextDiff;

use super::{Fix, FixedFile, subject};
use crate::cli::Error;
use crate::cli::input::STANDARD_INPUT;
use crate::core::model::pointer::Pointer;

/// The files themselves: one as it is, several as one stream of documents.
pub(super) fn manifests(files: &[FixedFile]) -> Vec<u8> {
    let mut stream: Vec<u8> = Vec::new();
    for file in files {
        if !stream.is_empty() {
            if !stream.ends_with(b"\n") {
                stream.push(b'\n');
            }
            if !file.after.starts_with(b"---") {
                stream.extend(b"---\n");
            }
        }
        stream.extend(&file.after);
    }
    stream
}

/// A unified diff with the names that `git apply` and `patch -p1` expect.
pub(super) fn diff(file: &FixedFile) -> String {
    if file.before == file.after {
        return String::new();
    }
    // What was changed is UTF-8.
    let [before, after] = [&file.before, &file.after].map(|bytes| String::from_utf8_lossy(bytes));
    // Only `\n` ends a line for those who apply it.
    let [old, new]: [Vec<&str>; 2] = [&before, &after].map(|text| text.split_inclusive('\n').collect());
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&old, &new);
    let name = name_in_diff(&file.path);
    format!("--- a/{name}\n+++ b/{name}\n{}", diff.unified_diff().missing_newline_hint(true))
}

fn name_in_diff(path: &Path) -> String {
    if path == Path::new(STANDARD_INPUT) {
        return "stdin.yaml".to_owned();
    }
    let parts = path.components().filter(|part| {
        !matches!(part, std::path::Component::CurDir | std::path::Component::RootDir | std::path::Component::Prefix(_))
    });
    let name = parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
    // A name ends at the first tab, so that it may have spaces.
    if name.contains(' ') { name + "\t" } else { name }
}

/// A strategic merge patch. Nulls in it remove what they stand for, so that a probe never has two handlers.
pub(super) fn strategic_merge(fix: &Fix) -> Result<String, Error> {
    let mut patch = json!({});
    for field in ["apiVersion", "kind"] {
        if let Some(value) = fix.before.json().get(field) {
            patch[field] = value.clone();
        }
    }
    patch["metadata"] = json!({"name": fix.before.name()});
    if !fix.before.namespace().is_empty() {
        patch["metadata"]["namespace"] = Value::from(fix.before.namespace());
    }
    patch["spec"] = fix.plan.template_patch["spec"].clone();
    Ok(format!("{}{}", heading(fix), yaml(&patch)?))
}

/// A JSON patch. It tests each value that it replaces, and that its containers are still where they were.
pub(super) fn json_patch(fix: &Fix) -> Result<String, Error> {
    Ok(format!("{}{}", heading(fix), yaml(&operations(fix))?))
}

/// What goes into a `kustomization.yaml`.
///
/// JSON patches, because they refuse where a base has moved on. A strategic merge patch would add a container that was
/// renamed, and what its nulls do differs between versions of kustomize (issues 2734, 4628 and 5031 there).
pub(super) fn kustomize<'f>(fixes: impl Iterator<Item = &'f Fix>) -> Result<String, Error> {
    let mut text = String::new();
    for fix in fixes {
        if text.is_empty() {
            text.push_str("patches:\n");
        }
        let api_version = fix.before.text("/apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        // Kustomize takes the names for regular expressions.
        let literal = |name: &str| name.replace('.', "\\.");
        let (name, namespace) = (literal(fix.before.name()), literal(fix.before.namespace()));
        let target = [
            ("group", group),
            ("version", version),
            ("kind", fix.before.kind()),
            ("name", &name),
            ("namespace", &namespace),
        ];
        let _ = writeln!(text, "  # {}: cures {}\n  - target:", comment(&subject(&fix.before)), fix.cured());
        for (field, value) in target.into_iter().filter(|(_, value)| !value.is_empty()) {
            let _ = write!(text, "      {field}: {}", yaml(value)?);
        }
        text.push_str("    patch: |-\n");
        for line in yaml(&operations(fix))?.lines() {
            let _ = writeln!(text, "      {line}");
        }
    }
    Ok(text)
}

/// The operations from one value to the other.
fn operations(fix: &Fix) -> Vec<Value> {
    let (before, after) = (fix.before.json(), fix.after.json());
    let mut operations = Vec::new();
    let changed = |pointer: &Pointer| before.pointer(pointer.as_str()) != after.pointer(pointer.as_str());
    for container in fix.before.containers().iter().filter(|container| changed(&container.pointer)) {
        operations.push(test(&container.pointer.field("name"), &Value::from(container.name)));
    }
    add_operations(before, after, &Pointer::root(), &mut operations);
    operations
}

fn test(pointer: &Pointer, value: &Value) -> Value {
    json!({"op": "test", "path": pointer, "value": value})
}

fn add_operations(before: &Value, after: &Value, pointer: &Pointer, operations: &mut Vec<Value>) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before.iter().filter(|(name, _)| !after.contains_key(*name)) {
                let pointer = pointer.field(name);
                operations.extend([test(&pointer, value), json!({"op": "remove", "path": pointer})]);
            }
            for (name, value) in after {
                let pointer = pointer.field(name);
                match before.get(name) {
                    Some(before) => add_operations(before, value, &pointer, operations),
                    None => operations.push(json!({"op": "add", "path": pointer, "value": value})),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                add_operations(before, after, &pointer.index(index), operations);
            }
        }
        _ => operations.extend([test(pointer, before), json!({"op": "replace", "path": pointer, "value": after})]),
    }
}

/// What a document is for.
fn heading(fix: &Fix) -> String {
    format!("---\n# {} ({}): cures {}\n", comment(&subject(&fix.before)), comment(&fix.place), fix.cured())
}

/// A text in a comment, where a line break would end it.
fn comment(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn yaml(value: &(impl Serialize + ?Sized)) -> Result<String, Error> {
    serde_yaml::to_string(value).map_err(|source| Error::Yaml { what: "a patch", source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_diffs_have_no_root_and_may_have_spaces() {
        for (path, expected) in [
            ("a/b.yaml", "a/b.yaml"),
            ("./a.yaml", "a.yaml"),
            ("/etc/a.yaml", "etc/a.yaml"),
            ("a b.yaml", "a b.yaml\t"),
            ("-", "stdin.yaml"),
        ] {
            assert_eq!(name_in_diff(Path::new(path)), expected);
        }
    }

    #[test]
    fn operations_lead_from_one_value_to_the_other_and_test_what_they_replace() {
        let before = json!({"a": {"b": 1, "c/d": 2}, "e": [{"f": null}, 3], "g": [1]});
        let after = json!({"a": {"b": 2, "h": {"i": 1}}, "e": [{"f": {}}, 3], "g": []});
        let mut operations = Vec::new();
        add_operations(&before, &after, &Pointer::root(), &mut operations);
        let patch: json_patch::Patch = serde_json::from_value(Value::from(operations.clone())).unwrap();
        let mut value = before.clone();
        json_patch::patch(&mut value, &patch).unwrap();
        assert_eq!(value, after);
        let writes =
            operations.iter().filter(|operation| operation["op"] != "test" && operation["op"] != "add").count();
        let tests = operations.iter().filter(|operation| operation["op"] == "test").count();
        assert_eq!((writes, tests), (4, 4), "{operations:?}");
        let mut drifted = before;
        drifted["a"]["b"] = json!(7);
        assert!(json_patch::patch(&mut drifted, &patch).is_err());
    }
}
