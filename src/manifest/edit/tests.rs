use serde_json::{Value, json};

use super::*;
use crate::core::remedy::patch;

/// The text with its first object patched.
fn patched(text: &str, change: &Value) -> Result<String, Refused> {
    let reading = read(text.as_bytes());
    let after = patch::apply(&reading.documents[0].value, change).expect("a patch");
    let edited = edit(text.as_bytes(), &reading, &[(0, &after)]);
    match edited.refused.into_iter().next() {
        Some((_, why)) => {
            assert_eq!(edited.bytes, text.as_bytes(), "what is refused stays as it was");
            Err(why)
        }
        None => Ok(String::from_utf8(edited.bytes).expect("UTF-8")),
    }
}

fn check(text: &str, change: &Value, expected: &str) {
    let found = patched(text, change).unwrap_or_else(|why| panic!("{why}\n{text}"));
    assert_eq!(found, expected, "\n--- found\n{found}\n--- expected\n{expected}");
}

/// A probe in a pod, as a patch.
fn liveness(probe: &Value) -> Value {
    json!({"spec": {"containers": [{"name": "db", "livenessProbe": probe}]}})
}

fn socket() -> Value {
    liveness(&json!({"exec": null, "tcpSocket": {"port": 5432}, "timeoutSeconds": 5}))
}

#[test]
fn a_handler_stands_where_the_old_one_stood() {
    check(
        "\
# head
kind: Pod
spec:
  containers:
    - name: 'db'   # the one
      livenessProbe:
        # is it there?
        exec:   # by asking
          command: [pg_isready]
          # not psql
        # at once
        timeoutSeconds: 1 # too short
      image: postgres
",
        &socket(),
        "\
# head
kind: Pod
spec:
  containers:
    - name: 'db'   # the one
      livenessProbe:
        # is it there?
        tcpSocket:
          port: 5432
        # at once
        timeoutSeconds: 5 # too short
      image: postgres
",
    );
}

#[test]
fn braces_stay_braces() {
    check(
        "kind: Pod\nspec: {containers: [{name: db, livenessProbe: { exec: { command: [a] } }}]} # c\n",
        &socket(),
        "kind: Pod\nspec: {containers: [{name: db, livenessProbe: { tcpSocket: { port: 5432 }, timeoutSeconds: 5 }}]} # c\n",
    );
    check(
        "kind: Pod\nspec:\n  containers:\n  - name: db\n    livenessProbe: {exec: {command: [a]}, timeoutSeconds: 1}\n",
        &json!({"spec": {"containers": [{"name": "db", "startupProbe": {"exec": {"command": ["a"]}, "periodSeconds": 9}}]}}),
        "kind: Pod\nspec:\n  containers:\n  - name: db\n    livenessProbe: {exec: {command: [a]}, timeoutSeconds: 1}\n    startupProbe: {exec: {command: [a]}, periodSeconds: 9}\n",
    );
}

#[test]
fn members_in_braces_go_with_their_comma() {
    for (text, change, expected) in [
        ("{a: 1, b: 2, c: 3}\n", json!({"a": null}), "{b: 2, c: 3}\n"),
        ("{a: 1, b: 2, c: 3}\n", json!({"b": null}), "{a: 1, c: 3}\n"),
        ("{a: 1, b: 2, c: 3}\n", json!({"c": null}), "{a: 1, b: 2}\n"),
        ("{a: 1, b: 2, c: 3}\n", json!({"a": null, "b": null}), "{c: 3}\n"),
        ("{a: 1, b: 2, c: 3,}\n", json!({"b": null, "c": null}), "{a: 1,}\n"),
        ("{a: 1,\n b: 2, # c\n}\n", json!({"d": 3}), "{a: 1,\n b: 2, # c\n d: 3,\n}\n"),
        ("{a: 1,\n b: 2 # c\n}\n", json!({"d": 3}), "{a: 1,\n b: 2, # c\n d: 3\n}\n"),
        ("{\"a\":1,\"b\":2}", json!({"d": {"e": "f"}}), "{\"a\":1,\"b\":2,\"d\":{\"e\":\"f\"}}"),
        (
            "{\n    \"a\": {\n        \"b\": 1\n    }\n}\n",
            json!({"a": {"c": {"d": "e"}}}),
            "{\n    \"a\": {\n        \"b\": 1,\n        \"c\": {\n            \"d\": \"e\"\n        }\n    }\n}\n",
        ),
        ("{\"a\": {}}", json!({"a": {"c": [1, "2"]}}), "{\"a\": {\"c\": [1, \"2\"]}}"),
    ] {
        check(text, &change, expected);
    }
    assert_eq!(patched("{a: 1, # c\n b: 2}\n", &json!({"b": null})), Err(Refused::Form { line: 2 }));
}

#[test]
fn members_on_lines_go_with_their_lines() {
    for (text, change, expected) in [
        ("k:\n  a: 1\n  b: 2\n", json!({"k": {"a": null}}), "k:\n  b: 2\n"),
        ("k:\n  a: 1\n  b: 2", json!({"k": {"b": null}}), "k:\n  a: 1"),
        ("k:\n  a: 1 # a\n  # b\n  b: 2 # c\n  # d\n", json!({"k": {"b": null}}), "k:\n  a: 1 # a\n  # b\n  # d\n"),
        ("k: # c\n  a: 1\nl: 2\n", json!({"k": {"a": null}}), "k: {} # c\nl: 2\n"),
        ("k: {} # c\nl: 2\n", json!({"k": {"a": {"b": "1"}}}), "k: # c\n  a:\n    b: \"1\"\nl: 2\n"),
        ("k:\nl: '2'\n", json!({"k": {"a": "yes"}}), "k:\n  a: 'yes'\nl: '2'\n"),
        ("k: |\n  a\n  b\n\nl: 2\n", json!({"k": 3}), "k: 3\n\nl: 2\n"),
        ("k: &x !!str 'it''s' # c\n", json!({"k": "so"}), "k: 'so' # c\n"),
        ("k:\t1\r\nl:\t2\r\n", json!({"k": 3, "m": {"o": 4}}), "k:\t3\r\nl:\t2\r\nm:\r\n  o: 4\r\n"),
        ("\u{feff}\"k\": \"1\"", json!({"k": "2", "m": 4}), "\u{feff}\"k\": \"2\"\n\"m\": 4"),
        ("k: 1\n...\n---\nl: 2\n", json!({"m": "a\nb\n"}), "k: 1\nm: |\n  a\n  b\n...\n---\nl: 2\n"),
    ] {
        check(text, &change, expected);
    }
}

#[test]
fn what_moves_takes_its_text_along() {
    let text = "\
kind: Pod
spec:
  containers:
  - name: db
    livenessProbe:
        exec:
            command:
            # the shell
            - sh
            - -c
            - |
              psql \\
                -c 'select 1'
";
    let command = json!({"command": ["sh", "-c", "psql \\\n  -c 'select 1'\n"]});
    let mut change = socket();
    change["spec"]["containers"][0]["readinessProbe"] = json!({"exec": command, "periodSeconds": 10});
    check(
        text,
        &change,
        "\
kind: Pod
spec:
  containers:
  - name: db
    livenessProbe:
        tcpSocket:
            port: 5432
        timeoutSeconds: 5
    readinessProbe:
        exec:
            command:
            # the shell
            - sh
            - -c
            - |
              psql \\
                -c 'select 1'
        periodSeconds: 10
",
    );
}

const SHARED: &str = "\
kind: Pod
spec:
  containers:
    - name: db
      livenessProbe: &probe
        exec: {command: [pg_isready]} # ask
        timeoutSeconds: 1
      readinessProbe: *probe
";

#[test]
fn an_alias_of_what_changes_becomes_a_copy() {
    check(
        SHARED,
        &socket(),
        "\
kind: Pod
spec:
  containers:
    - name: db
      livenessProbe: &probe
        tcpSocket: {port: 5432}
        timeoutSeconds: 5
      readinessProbe:
        exec: {command: [pg_isready]}
        timeoutSeconds: 1
",
    );
}

#[test]
fn an_alias_that_changes_in_the_same_way_stays_one() {
    let mut change = socket();
    change["spec"]["containers"][0]["readinessProbe"] = change["spec"]["containers"][0]["livenessProbe"].clone();
    let found = patched(SHARED, &change).unwrap();
    assert!(
        found.ends_with("tcpSocket: {port: 5432}\n        timeoutSeconds: 5\n      readinessProbe: *probe\n"),
        "{found}"
    );
}

#[test]
fn merged_members_are_overridden_or_written_out() {
    let text = "\
kind: Pod
spec:
  containers:
    - name: db
      readinessProbe: &probe
        exec: {command: [a]}
        timeoutSeconds: 1
      livenessProbe:
        <<: *probe
        periodSeconds: 3
";
    let head = text.split_once("        <<").unwrap().0;
    check(
        text,
        &liveness(&json!({"timeoutSeconds": 5})),
        &format!("{head}        <<: *probe\n        periodSeconds: 3\n        timeoutSeconds: 5\n"),
    );
    let found = patched(text, &socket()).unwrap();
    assert!(found.starts_with(head) && !found.contains("<<"), "{found}");
    assert!(found.contains("tcpSocket:") && found.contains("periodSeconds: 3"), "{found}");
}

#[test]
fn an_alias_in_another_object_is_not_touched() {
    let text = "kind: List\nitems:\n- kind: A\n  p: &p {a: 1}\n- kind: B\n  p: *p\n";
    assert_eq!(patched(text, &json!({"p": {"a": 2}})), Err(Refused::Shared { line: 6 }));
    let reading = read(text.as_bytes());
    let both = [json!({"kind": "A", "p": {"a": 2}}), json!({"kind": "B", "p": {"a": 2}})];
    // Both at once are one by one here, and the first is refused.
    let edited = edit(text.as_bytes(), &reading, &[(0, &both[0]), (1, &both[1])]);
    assert_eq!(edited.refused, [(0, Refused::Shared { line: 6 })]);
    assert!(String::from_utf8(edited.bytes).unwrap().ends_with("- kind: B\n  p: {a: 2}\n"));
}

#[test]
fn several_objects_change_in_one_go() {
    let text = "kind: A\na: 1 # one\n---\nkind: List\nitems:\n# two\n- kind: B\n  a: 1\n- kind: C\n  a: 1\n";
    let reading = read(text.as_bytes());
    let [a, c] = ["A", "C"].map(|kind| json!({"kind": kind, "a": 2, "b": {"c": 3}}));
    let edited = edit(text.as_bytes(), &reading, &[(0, &a), (2, &c)]);
    assert_eq!(edited.refused, []);
    assert_eq!(
        String::from_utf8(edited.bytes).unwrap(),
        "kind: A\na: 2 # one\nb:\n  c: 3\n---\nkind: List\nitems:\n# two\n- kind: B\n  a: 1\n- kind: C\n  a: 2\n  b:\n    c: 3\n"
    );
}

#[test]
fn what_cannot_be_changed_is_said_with_its_line() {
    for (text, change, expected) in [
        ("? a\n: 1\n", json!({"a": 2}), Refused::Form { line: 1 }),
        ("b: 1\na: 1\na: 2\n", json!({"a": 3}), Refused::Form { line: 3 }),
        ("a: 1\rb: 2\n", json!({"a": 3}), Refused::Form { line: 1 }),
    ] {
        assert_eq!(patched(text, &change), Err(expected), "{text:?}");
    }
    let why = patched("kind: Pod\na: 1\n---\nb: {{ x }}\n", &json!({"a": 3})).unwrap_err().to_string();
    assert!(why.contains("line 4 of the file cannot be read") && why.contains("helm template"), "{why}");
}

#[test]
fn a_wrong_edit_is_not_believed() {
    let text = "kind: Pod # a\na: 1\n---\nb: 1 # b\n";
    let reading = read(text.as_bytes());
    let layout = layout(text).unwrap();
    let value = json!({"kind": "Pod", "a": 2});
    let prove = |new: &str| prove((text, &layout, &reading), new, &[(0, &value)]);
    assert_eq!(prove("kind: Pod # a\na: 2\n---\nb: 1 # b\n"), Ok(()));
    for wrong in [
        text,
        "kind: Pod # a\na: 2\n---\nb: 2 # b\n",
        "kind: Pod # a\na: 2\n---\nb: 1\n",
        "kind: Pod # a\na: 2\n---\nb:  1 # b\n",
        "kind: Pod # a\na: 2\na: 2\n---\nb: 1 # b\n",
        "kind: Pod # a\na: 2\nc: 3\n---\nb: 1 # b\n",
        "kind: Pod # a\na: 2\n",
        "kind: Pod # a\na: 2\n---\nb: 1 # b\n---\nc: 1\n",
        "kind: Pod # a\na: [\n---\nb: 1 # b\n",
    ] {
        assert!(prove(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn an_edit_that_reaches_another_object_through_its_alias_is_not_believed() {
    let text = "kind: List\nitems:\n- kind: A\n  p: &p {a: 1}\n- kind: B\n  p: *p\n";
    let reading = read(text.as_bytes());
    let layout = layout(text).unwrap();
    let value = json!({"kind": "A", "p": {"a": 2}});
    let why = prove((text, &layout, &reading), &text.replace('1', "2"), &[(0, &value)]).unwrap_err();
    assert_eq!(why, "the object in line 5 changes too");
}
