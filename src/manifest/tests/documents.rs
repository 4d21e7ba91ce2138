use serde_json::json;

use super::*;

/// Number, line and origin of each document.
fn outline(text: &str) -> Vec<(usize, u32, String)> {
    let reading = read(text.as_bytes());
    assert_eq!(reading.problems, [], "{text}");
    let of = |document: &Document| (document.document, document.line, document.origin.as_str().to_owned());
    reading.documents.iter().map(of).collect()
}

#[test]
fn documents_are_numbered_with_the_empty_ones() {
    for (text, expected) in [
        ("", &[][..]),
        ("\n\n# nothing\n", &[]),
        ("---\n", &[]),
        ("a: 1", &[(1, 1)]),
        ("# c\n---\na: 1\n---\nb: 2\n", &[(1, 3), (2, 5)]),
        ("a: 1\n---\n---\n# c\n---\n\n\nb: 2\n", &[(1, 1), (4, 8)]),
        ("--- {a: 1}\n--- # c\n- 1\n", &[(1, 1), (2, 3)]),
        ("a: 1\n...\n---\nb: 2\n...\nc: 3\n", &[(1, 1), (2, 4), (3, 6)]),
        ("%YAML 1.2\n---\na: 1\n", &[(1, 3)]),
        ("a: 1\r\n---\r\nb: 2\r\n", &[(1, 1), (2, 3)]),
        ("\u{feff}---\na: 1\n", &[(1, 2)]),
    ] {
        let expected: Vec<_> = expected.iter().map(|&(number, line)| (number, line, String::new())).collect();
        assert_eq!(outline(text), expected, "{text:?}");
    }
}

#[test]
fn markers_within_texts_are_no_markers() {
    assert_eq!(values("a: |\n  ---\n  b\nc: ---\n"), [json!({"a": "---\nb\n", "c": "---"})]);
}

#[test]
fn json_documents_need_nothing_between_them() {
    let text = "{\"a\": \"\\ud83d\\ude00\"}{\"b\":\n2}\n\n[3]\n";
    assert_eq!(values(text), [json!({"a": "😀"}), json!({"b": 2}), json!([3])]);
    let lines: Vec<_> = outline(text).into_iter().map(|(number, line, _)| (number, line)).collect();
    assert_eq!(lines, [(1, 1), (2, 1), (3, 4)]);
    let second = &read(text.as_bytes()).documents[1];
    assert_eq!(second.position(&Pointer::root()), Some(Position { line: 1, column: 22 }));
    assert_eq!(second.key_position(&Pointer::parse("/b")), Some(Position { line: 1, column: 23 }));
    assert_eq!(second.position(&Pointer::parse("/b")), Some(Position { line: 2, column: 1 }));
}

#[test]
fn lists_give_their_items() {
    let text = "a: 1\n---\napiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  x: 1\n- kind: Service\n";
    assert_eq!(outline(text), [(1, 1, String::new()), (2, 6, "/items/0".to_owned()), (2, 8, "/items/1".to_owned()),]);
    let reading = read(text.as_bytes());
    let pod = &reading.documents[1];
    assert_eq!(pod.value, json!({"kind": "Pod", "x": 1}));
    assert_eq!(pod.position(&Pointer::parse("/x")), Some(Position { line: 7, column: 6 }));
    assert_eq!(pod.key_position(&Pointer::parse("/x")), Some(Position { line: 7, column: 3 }));
    assert_eq!(pod.key_position(&Pointer::root()), Some(Position { line: 6, column: 3 }));
}

#[test]
fn lists_of_lists_give_their_items_in_order() {
    let text = r#"{"kind": "List", "items": [
        {"kind": "List", "items": [{"a": 1}, {"b": 2}]},
        {"c": 3},
        {"kind": "PodList", "items": []},
        {"kind": "PodList", "items": [{"d": 4}]}
    ], "metadata": {}}"#;
    assert_eq!(values(text), [json!({"a": 1}), json!({"b": 2}), json!({"c": 3}), json!({"d": 4, "kind": "Pod"}),]);
    let origins: Vec<_> = outline(text).into_iter().map(|(_, line, origin)| (line, origin)).collect();
    assert_eq!(
        origins,
        [
            (2, "/items/0/items/0".to_owned()),
            (2, "/items/0/items/1".to_owned()),
            (3, "/items/1".to_owned()),
            (5, "/items/3/items/0".to_owned()),
        ]
    );
}

#[test]
fn items_without_a_kind_have_that_of_the_list() {
    let text = "kind: StatefulSetList\napiVersion: apps/v1\nitems:\n- metadata: {name: db}\n- kind: Other\n";
    let reading = read(text.as_bytes());
    let [first, second] = &reading.documents[..] else { panic!("{:?}", reading.documents) };
    assert_eq!(first.value, json!({"metadata": {"name": "db"}, "kind": "StatefulSet", "apiVersion": "apps/v1"}));
    assert!(is_workload(&first.value));
    assert_eq!(second.value, json!({"kind": "Other"}));
    for pointer in ["/kind", "/apiVersion"] {
        assert_eq!(first.position(&Pointer::parse(pointer)), Some(Position { line: 4, column: 3 }), "{pointer}");
    }
    assert_eq!(first.position(&Pointer::parse("/metadata/name")), Some(Position { line: 4, column: 20 }));
}

#[test]
fn not_all_that_is_called_a_list_is_one() {
    for text in ["kind: AllowList\nspec: {}\n", "kind: List\nitems: {a: 1}\n", "kind: Pod\nitems: [1]\n"] {
        assert_eq!(outline(text).len(), 1, "{text}");
    }
}

#[test]
fn keys_keep_their_order() {
    let document = read_one("z: 1\na: {x: 2, b: 3}\nm: 4\n");
    assert_eq!(document.value.to_string(), r#"{"z":1,"a":{"x":2,"b":3},"m":4}"#);
}

#[test]
fn what_kubectl_reads_and_stricter_parsers_refuse() {
    for (text, expected) in [
        ("a:\n  b: [\n  1\n]\n", json!({"a": {"b": [1]}})),
        ("a:\n  b: {\n  c: d\n}\n", json!({"a": {"b": {"c": "d"}}})),
        ("a:\n  b: \"one\ntwo\"\n", json!({"a": {"b": "one two"}})),
        ("a:\n  b: \"one\n\ttwo\"\n", json!({"a": {"b": "one two"}})),
        ("a:\tb\n", json!({"a": "b"})),
        ("a: |\n  x\n  y", json!({"a": "x\ny"})),
        ("a: |\n  x\n  y\n", json!({"a": "x\ny\n"})),
    ] {
        assert_eq!(read_one(text).value, expected, "{text}");
    }
}

#[test]
fn merging_follows_kubectl() {
    let anchors = "b: &b {x: 1, v: 2}\nd: &d {x: 7, z: 3}\n";
    for (text, expected) in [
        ("c: {<<: *b, x: 9}", json!({"x": 9, "v": 2})),
        ("c: {<<: [*b, *d]}", json!({"x": 1, "z": 3, "v": 2})),
        ("c: {<<: *b, <<: *d}", json!({"x": 7, "v": 2, "z": 3})),
        ("c: {<<: {<<: *b, q: 5}}", json!({"x": 1, "v": 2, "q": 5})),
        ("c: {'<<': 1}", json!({"<<": 1})),
        ("c: {<<: []}", json!({})),
        ("c: {!!merge <<: *b}", json!({"x": 1, "v": 2})),
    ] {
        assert_eq!(read_one(&format!("{anchors}{text}\n")).value["c"], expected, "{text}");
    }
}
