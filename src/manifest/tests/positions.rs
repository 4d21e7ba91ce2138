use super::*;

/// Pointer, line and column of the value, line and column of the key.
type Expected<'a> = (&'a str, (u32, u32), (u32, u32));

fn check(text: &str, expected: &[Expected<'_>]) {
    let document = read_one(text);
    for &(pointer, value, key) in expected {
        let pointer = Pointer::parse(pointer);
        let of = |position: Option<Position>| position.map(|Position { line, column }| (line, column));
        assert_eq!(of(document.position(&pointer)), Some(value), "the value at {pointer} in {text}");
        assert_eq!(of(document.key_position(&pointer)), Some(key), "the key at {pointer} in {text}");
    }
}

#[test]
fn block_style() {
    check(
        "kind: Pod\nspec:\n  containers:\n    - name: db\n      ports:\n        - containerPort: 5432\n",
        &[
            ("", (1, 1), (1, 1)),
            ("/kind", (1, 7), (1, 1)),
            ("/spec", (3, 3), (2, 1)),
            ("/spec/containers", (4, 5), (3, 3)),
            ("/spec/containers/0", (4, 7), (4, 7)),
            ("/spec/containers/0/name", (4, 13), (4, 7)),
            ("/spec/containers/0/ports/0/containerPort", (6, 26), (6, 11)),
        ],
    );
}

#[test]
fn lists_of_lists() {
    check(
        "a:\n- - 1\n  - 2\n-\n  - 3\n",
        &[
            ("/a", (2, 1), (1, 1)),
            ("/a/0", (2, 3), (2, 3)),
            ("/a/0/1", (3, 5), (3, 5)),
            ("/a/1", (5, 3), (5, 3)),
            ("/a/1/0", (5, 5), (5, 5)),
        ],
    );
}

#[test]
fn lists_that_are_not_indented_begin_at_their_first_dash() {
    for (text, line, column) in [
        ("a:\n- b\n", 2, 1),
        ("a:\n- - b\n", 2, 1),
        ("a:\n# - c\n\n- b\n", 4, 1),
        ("a: &x\n-\n  b: c\n", 2, 1),
        ("a: # c\n- # d\n  b\n", 2, 1),
        ("a:\r\n-\r\n  b: c\r\n", 2, 1),
        ("- - b\n", 1, 3),
        ("a:\n-\n- b\n", 2, 1),
    ] {
        let document = read_one(text);
        let pointer = Pointer::parse(if text.starts_with('-') { "/0" } else { "/a" });
        assert_eq!(document.position(&pointer), Some(Position { line, column }), "{text}");
    }
    check("x:\n  a:\n  - b: c\n    d:\n    - e\n", &[("/x/a", (3, 3), (2, 3)), ("/x/a/0/d", (5, 5), (4, 5))]);
}

#[test]
fn flow_style_and_json() {
    check(
        "a: {b: [1, {c: d}], e}\n",
        &[
            ("/a", (1, 4), (1, 1)),
            ("/a/b", (1, 8), (1, 5)),
            ("/a/b/0", (1, 9), (1, 9)),
            ("/a/b/1/c", (1, 16), (1, 13)),
            ("/a/e", (1, 22), (1, 21)),
        ],
    );
    check(
        "{\n\t\"a\": [\n\t\t1,\n\t\t{\"b\":null}\n\t]\n}\n",
        &[("", (1, 1), (1, 1)), ("/a", (2, 7), (2, 2)), ("/a/0", (3, 3), (3, 3)), ("/a/1/b", (4, 8), (4, 4))],
    );
}

#[test]
fn texts_of_several_lines_and_comments() {
    check(
        "# first\na: |  # block\n\n  one\n  two\nb: >-\n  three\nc: 'four\n  five' # end\nd: e\n",
        &[
            ("", (2, 1), (2, 1)),
            // The first line that has text.
            ("/a", (4, 3), (2, 1)),
            ("/b", (7, 3), (6, 1)),
            ("/c", (8, 4), (8, 1)),
            ("/d", (10, 4), (10, 1)),
        ],
    );
}

#[test]
fn keys_with_quotes_slashes_and_tildes() {
    check(
        "\"a/b\": {'c~d': 1, e f: 2}\n? g\n: h\n8080: i\n\"\": j\n",
        &[
            ("/a~1b", (1, 8), (1, 1)),
            ("/a~1b/c~0d", (1, 16), (1, 9)),
            ("/a~1b/e f", (1, 24), (1, 19)),
            ("/g", (3, 3), (2, 3)),
            ("/8080", (4, 7), (4, 1)),
            ("/", (5, 5), (5, 1)),
        ],
    );
}

#[test]
fn columns_count_characters_and_no_byte_order_mark() {
    check("\u{feff}é: 日本\nb: {ü: ö, c: d}\n", &[("/é", (1, 4), (1, 1)), ("/b/c", (2, 14), (2, 11))]);
}

#[test]
fn what_is_missing_stands_where_its_ancestor_does() {
    check(
        "a:\n  b: 1\n  c: [2]\n",
        &[
            ("/a/x/y", (2, 3), (1, 1)),
            ("/a/b/x", (2, 6), (2, 3)),
            ("/a/c/7", (3, 6), (3, 3)),
            ("/a/c/-1", (3, 6), (3, 3)),
            ("/a/c/x", (3, 6), (3, 3)),
            ("/x", (1, 1), (1, 1)),
        ],
    );
    let document = read_one("a: 1\n");
    assert_eq!(document.position(&Pointer::parse("a")), None);
    assert_eq!(document.key_position(&Pointer::parse("a/b")), None);
}

#[test]
fn values_that_are_left_out() {
    check(
        "a:\nb: [{c: , d}]\ne:\n-\n- f\n",
        &[
            ("/a", (1, 2), (1, 1)),
            ("/b/0/c", (2, 7), (2, 6)),
            ("/b/0/d", (2, 12), (2, 11)),
            ("/e", (4, 1), (3, 1)),
            ("/e/0", (4, 2), (4, 2)),
        ],
    );
}

#[test]
fn an_alias_stands_where_it_is_used_and_its_parts_where_they_are_written() {
    check(
        "a: &x\n  b: {c: 1}\n  d: [2]\ne: *x\nf: [*x]\ng: &y 3\nh: *y\n*y : i\n",
        &[
            ("/a", (2, 3), (1, 1)),
            ("/a/b/c", (2, 10), (2, 7)),
            ("/e", (4, 4), (4, 1)),
            ("/e/b", (2, 6), (2, 3)),
            ("/e/b/c", (2, 10), (2, 7)),
            ("/e/d/0", (3, 7), (3, 7)),
            ("/f/0", (5, 5), (5, 5)),
            ("/f/0/d", (3, 6), (3, 3)),
            ("/g", (6, 7), (6, 1)),
            ("/h", (7, 4), (7, 1)),
            ("/3", (8, 6), (8, 1)),
        ],
    );
}

#[test]
fn merged_members_stand_where_they_are_written() {
    check(
        "a: &a {x: 1, w: {z: 2}}\nb: &b\n  x: 3\n  t: 4\nc:\n  <<: [*a, *b]\n  w: 5\n  v: 6\nd: {<<: {u: 7}, t: 8}\n",
        &[
            ("/c", (6, 3), (5, 1)),
            ("/c/x", (1, 11), (1, 8)),
            ("/c/t", (4, 6), (4, 3)),
            ("/c/w", (7, 6), (7, 3)),
            ("/c/v", (8, 6), (8, 3)),
            ("/d/u", (9, 13), (9, 10)),
            ("/d/t", (9, 20), (9, 17)),
        ],
    );
}

#[test]
fn the_member_that_counts_gives_the_position_and_its_neighbours_keep_theirs() {
    let reading = read(b"a:\n  b: {c: 1, d: 2}\n  e: 3\n  b: {f: 4}\n  g: [5, {h: 6, h: 7}]\ni: 8\n");
    let document = &reading.documents[0];
    assert_eq!(document.value.to_string(), r#"{"a":{"b":{"f":4},"e":3,"g":[5,{"h":7}]},"i":8}"#);
    for (pointer, line, column) in [
        ("/a/b", 4, 6),
        ("/a/b/f", 4, 10),
        ("/a/e", 3, 6),
        ("/a/g", 5, 6),
        ("/a/g/0", 5, 7),
        ("/a/g/1/h", 5, 20),
        ("/i", 6, 4),
    ] {
        assert_eq!(document.position(&Pointer::parse(pointer)), Some(Position { line, column }), "{pointer}");
    }
}

#[test]
fn anchors_and_tags_are_not_the_value() {
    check(
        "a: !!str 1\nb: &x !!map\n  c: d\n&k e: &v f\n",
        &[("/a", (1, 10), (1, 1)), ("/b", (3, 3), (2, 1)), ("/e", (4, 10), (4, 4))],
    );
}
