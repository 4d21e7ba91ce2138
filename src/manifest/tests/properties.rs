use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

/// Texts that YAML has reasons to quote, and others.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        "[ -~]{0,12}",
        "[a-c \n#:'\"-]{0,10}",
        "\\PC{0,6}",
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("12".to_owned()),
    ]
    .prop_filter("serde_yaml does not quote all that is no text to kubectl", |text| {
        let is_quoted = printed(text).starts_with(['"', '\'']);
        is_quoted || scalar::resolve(text.into(), granit_parser::ScalarStyle::Plain, None).0.is_string()
    })
}

fn printed(value: impl serde::Serialize) -> String {
    serde_yaml::to_string(&value).expect("YAML")
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // Others print as integers to Go.
        (-1e6..1e6).prop_map(|number: f64| json!(number.trunc() + 0.5)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..6)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn visit(value: &Value, pointer: &Pointer, visitor: &mut impl FnMut(&Value, &Pointer)) {
    visitor(value, pointer);
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| visit(value, &pointer.field(key), visitor)),
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(index, value)| visit(value, &pointer.index(index), visitor));
        }
        _ => {}
    }
}

/// The text of the file from a position on.
fn from(file: &str, Position { line, column }: Position) -> String {
    let line = file.split('\n').skip(line as usize - 1).collect::<Vec<_>>().join("\n");
    line.chars().skip(column as usize - 1).collect()
}

fn begins(rest: &str, value: &Value) -> bool {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    match value {
        Value::Array(elements) if !elements.is_empty() => rest.starts_with('-'),
        Value::Object(members) if !members.is_empty() => {
            let key = members.keys().next().expect("it is not empty");
            rest.starts_with("? ") || rest.starts_with(first_line(&printed(key)).as_str())
        }
        // A block text begins with its first line that is not empty.
        Value::String(text) if printed(text).starts_with('|') => {
            rest.trim_start().starts_with(text.trim_start().lines().next().unwrap_or_default())
        }
        other => rest.starts_with(first_line(&printed(other)).as_str()),
    }
}

proptest! {
    #[test]
    fn what_was_printed_is_read_and_found(value in value()) {
        let file = printed(&value);
        let reading = read(file.as_bytes());
        prop_assert_eq!(&reading.problems, &[]);
        if value.is_null() {
            prop_assert!(reading.documents.is_empty());
            return Ok(());
        }
        let document = &reading.documents[0];
        prop_assert_eq!(&document.value, &value, "{}", file);
        visit(&value, &Pointer::root(), &mut |value, pointer| {
            let position = document.position(pointer).expect("a position");
            let rest = from(&file, position);
            assert!(begins(&rest, value), "{pointer} at {position:?} is {rest:?}, not {value}, in\n{file}");
            if let Some((_, key)) = pointer.as_str().rsplit_once('/').filter(|_| !value.is_null()) {
                let key = document.key_position(pointer).map(|position| (from(&file, position), key));
                assert!(key.is_some_and(|(rest, _)| !rest.is_empty()), "{pointer} in\n{file}");
            }
        });
    }

    #[test]
    fn json_is_read_as_it_is(value in value()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("JSON")] {
            let reading = read(text.as_bytes());
            prop_assert_eq!(&reading.problems, &[], "{}", text);
            prop_assert_eq!(reading.documents.iter().map(|document| &document.value).next().unwrap_or(&Value::Null), &value);
        }
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_yaml_is_too_strange(text in "[ab \n\t\r:,&*!|>'\"{}\\[\\]#%@?<0-9~.-]{0,80}") {
        whatever_was_read_is_consistent(&text);
    }

    #[test]
    fn no_order_of_pieces_is_too_strange(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..30)) {
        whatever_was_read_is_consistent(&pieces.concat());
    }
}

const PIECES: &[&str] = &[
    "a: ",
    "b: ",
    "<<: ",
    "- ",
    "? ",
    ": ",
    "\n",
    "\n  ",
    "\n    ",
    "&x ",
    "*x",
    "*x ",
    "&y ",
    "*y",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "'",
    "\"",
    "|\n",
    ">-\n",
    "# c",
    "!!str ",
    "!!int ",
    "---\n",
    "\n---\n",
    "\n...\n",
    "1",
    "c",
    "kind: List\nitems:\n",
    "{{",
    "\r\n",
    "\t",
    "\u{feff}",
    "é",
    "%TAG ! x\n",
];

fn whatever_was_read_is_consistent(text: &str) {
    let reading = read(text.as_bytes());
    let lines = u32::try_from(text.split(['\n', '\r']).count()).expect("few lines");
    for document in &reading.documents {
        visit(&document.value, &Pointer::root(), &mut |_, pointer| {
            for position in [document.position(pointer), document.key_position(pointer)] {
                let position = position.expect("a position");
                assert!((1..=lines).contains(&position.line) && position.column >= 1, "{position:?} in {text:?}");
            }
        });
        // Each value has exactly one place.
        let mut values = 0;
        visit(&document.value, &Pointer::root(), &mut |_, _| values += 1);
        assert_eq!(document.positions.len(), values, "{text:?}");
    }
    for problem in &reading.problems {
        assert!((1..=lines).contains(&problem.line) && problem.column >= 1, "{problem:?} in {text:?}");
        assert!(problem.document >= 1, "{problem:?} in {text:?}");
    }
}
