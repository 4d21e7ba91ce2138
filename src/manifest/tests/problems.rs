use serde_json::json;

use super::*;

/// Document, line, column and words of each problem.
fn told(text: &[u8]) -> Vec<(usize, u32, u32, String)> {
    let of = |problem: Unread| (problem.document, problem.line, problem.column, problem.reason.to_string());
    read(text).problems.into_iter().map(of).collect()
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, line, column, words) in [
        ("a: [1, 2\n", 1, 4, "this \"[\" is not closed"),
        ("a: {b: 1\n", 1, 4, "this \"{\" is not closed"),
        ("a: [1, 2 }\n", 1, 4, "\"[\" is closed by \"}\""),
        ("a: 'b\n", 1, 4, "quotation mark is not closed"),
        ("a: \"b\" c\n", 1, 8, "follows the closing quotation mark"),
        ("a: \"\\d\"\n", 1, 4, "no such escape"),
        ("a:\n\tb: c\n", 2, 2, "a tab indents this line"),
        ("a: b: c\n", 1, 5, "a key cannot stand here"),
        ("a: b\n c: d\n", 2, 3, "a key cannot stand here"),
        ("a:\n  b: c\n d: e\n", 3, 2, "a key with a \":\" should stand here"),
        ("a: 1\nb\nc: 2\n", 2, 1, "should be a key"),
        ("a:\n  - b\n  c: d\n", 3, 3, "a \"- \" should stand here"),
        ("a: - b\n", 1, 4, "cannot begin here"),
        ("a: @b\n", 1, 4, "cannot begin with \"@\""),
        ("a: *b\n", 1, 4, "no anchor"),
        ("a: [,]\n", 1, 5, "a value is missing"),
        ("a: &x [*x]\n", 1, 8, "contains it"),
        ("[a]: b\n", 1, 1, "a key must be a text"),
        ("? {a: b}\n: c\n", 1, 3, "a key must be a text"),
        ("a: &x [1]\n*x : b\n", 2, 1, "a key must be a text"),
        ("<<: a\n", 1, 5, "\"<<\" merges"),
        ("<<: [{a: b}, c]\n", 1, 14, "\"<<\" merges"),
        (" a: b\nc: d\n", 2, 1, "the document has ended above"),
        ("a: b\u{0}c\n", 1, 5, "control character U+0000"),
        ("a: b # \u{7}\n", 1, 8, "control character U+0007"),
        ("---\n\u{feff}a: b\n", 2, 1, "byte order mark"),
        ("a: b\n%c d\n---\n", 2, 1, ""),
    ] {
        let problems = told(text.as_bytes());
        let [(1, at_line, at_column, reason)] = &problems[..] else { panic!("{text:?}: {problems:?}") };
        assert_eq!((*at_line, *at_column), (line, column), "{text:?}: {reason}");
        assert!(reason.contains(words), "{text:?}: {reason}");
        assert!(values(text).is_empty(), "{text:?}");
        assert!(read(text.as_bytes()).problems[0].reason.loses_document(), "{text:?}");
    }
}

#[test]
fn the_rest_of_the_file_is_read() {
    for bad in [
        "a: [1",
        "a: 'b",
        "a: \"b",
        "a:\n\tb: c",
        "{{ x }}",
        "a: |\n - b\n  c: d\ne",
        "a: b\n...\nc: [",
        "*x",
        "? [a]",
        "\0",
    ] {
        let text = format!("x: 1\n---\n{bad}\n---\nw: 2\n--- # end\nz: 3\n");
        let found = values(&text);
        assert_eq!(found.last(), Some(&json!({"z": 3})), "{bad:?}: {found:?}");
        assert!(found.contains(&json!({"x": 1})) && found.contains(&json!({"w": 2})), "{bad:?}: {found:?}");
        let reading = read(text.as_bytes());
        assert_eq!(reading.problems.len(), 1, "{bad:?}: {:?}", reading.problems);
        let last = reading.documents.last().expect("z");
        let z = text.lines().position(|line| line == "z: 3").expect("z") + 1;
        assert_eq!(last.line as usize, z, "{bad:?}");
        assert_eq!(last.position(&Pointer::parse("/z")).map(|at| at.line), Some(last.line), "{bad:?}");
    }
}

#[test]
fn documents_behind_a_bad_one_keep_their_numbers() {
    let text = "a: 1\n---\nb: [\n---\nc: 3\n---\nd: '\n---\ne: 5\n";
    let reading = read(text.as_bytes());
    let numbers: Vec<_> = reading.documents.iter().map(|document| (document.document, document.line)).collect();
    assert_eq!(numbers, [(1, 1), (3, 5), (5, 9)]);
    let numbers: Vec<_> = reading.problems.iter().map(|problem| (problem.document, problem.line)).collect();
    assert_eq!(numbers, [(2, 3), (4, 7)]);
}

#[test]
fn bytes_that_are_no_text() {
    let text = b"x: 1\n---\na: b\nc: d\xff\xfee\n# \xff\n---\nw: \xc3\xa9\n---\nz: \xe9\n";
    let lost = "this is not UTF-8 text".to_owned();
    assert_eq!(told(text), [(2, 4, 5, lost.clone()), (4, 9, 4, lost)]);
    let reading = read(text);
    let found: Vec<_> = reading.documents.iter().map(|document| (document.document, document.line)).collect();
    assert_eq!(found, [(1, 1), (3, 7)]);
    for text in [&b"\xff\xfea\0:\0 \0b\0"[..], b"\xfe\xff\0a"] {
        assert_eq!(told(text), [(1, 1, 1, "this is UTF-16 text; store it as UTF-8".to_owned())]);
    }
}

#[test]
fn templates_are_named_as_such() {
    for (text, line, column) in [
        ("a: {{ .Values.a }}\n", 1, 4),
        ("kind: Pod\nname: {{ .b }}-c\n", 2, 7),
        ("{{- if .Values.a }}\na: b\n{{- end }}\n", 1, 1),
        ("a: b\n{{- with .c }}\nd: e\n{{- end }}\n", 2, 1),
        ("a:\n  {{- toYaml .b | nindent 2 }}\n", 2, 3),
        ("{{/* about\nthis: that\n*/}}\na: b\n", 1, 1),
        ("{{ include \"x\" . }}\n", 1, 1),
    ] {
        let problems = read(text.as_bytes()).problems;
        let [Unread { reason: reason @ Reason::Template { syntax: Some(_) }, line: at_line, column: at_column, .. }] =
            &problems[..]
        else {
            panic!("{text:?}: {problems:?}")
        };
        assert_eq!((*at_line, *at_column), (line, column), "{text:?}");
        assert!(reason.to_string().contains("helm template ... | reprieve scan -"), "{reason}");
        assert!(reason.loses_document());
    }
}

#[test]
fn braces_that_are_no_template() {
    // Alerts and workflows have templates of their own, and quoted ones may be for anybody.
    for text in [
        "kind: PrometheusRule\na: \"{{ $value }}\"\nb: |\n  {{ $labels.x }}\n",
        "kind: ApplicationSet\nspec:\n  path: apps-{{name}}\n",
        "kind: Pod\na: '{{ x }}'\n",
    ] {
        assert_eq!(told(text.as_bytes()).iter().filter(|problem| problem.3.contains("template")).count(), 0, "{text}");
    }
    let problems = told(b"a: '{{ x }}'\nb: [\n");
    assert_eq!(problems, [(1, 2, 4, "this \"[\" is not closed".to_owned())]);
}

#[test]
fn a_workload_that_reads_well_but_is_a_template() {
    let reading = read(b"kind: Deployment\nmetadata:\n  name: db-{{ .Release.Name }}\n");
    assert_eq!(reading.documents.len(), 1);
    let [problem] = &reading.problems[..] else { panic!("{:?}", reading.problems) };
    assert_eq!((problem.line, problem.column), (3, 9));
    assert_eq!(problem.reason, Reason::Template { syntax: None });
    assert!(!problem.reason.loses_document());
}

#[test]
fn keys_that_stand_twice() {
    let reading = read(b"a: 1\nb:\n  c: 2\n  d: 3\n  c: 4\na: 5\nx: {w: 1, \"w\": 2, w: 3}\n");
    assert_eq!(reading.documents[0].value, json!({"a": 5, "b": {"c": 4, "d": 3}, "x": {"w": 3}}));
    let duplicate = |key: &str, earlier| Reason::DuplicateKey { key: key.to_owned(), earlier };
    let found: Vec<_> =
        reading.problems.into_iter().map(|problem| (problem.line, problem.column, problem.reason)).collect();
    assert_eq!(
        found,
        [(5, 3, duplicate("c", 3)), (6, 1, duplicate("a", 1)), (7, 11, duplicate("w", 7)), (7, 19, duplicate("w", 7)),]
    );
    // Numbers and texts make the same key in JSON.
    assert_eq!(told(b"1: a\n'1': b\n").len(), 1);
    assert_eq!(told("a: 1\n".repeat(1000).as_bytes()).len(), 100);
}

#[test]
fn a_merge_that_replaces() {
    let reading = read(b"b: &b {x: 1}\nc:\n  x: 2\n  <<: *b\n  z: 3\n");
    assert_eq!(reading.documents[0].value["c"], json!({"x": 1, "z": 3}));
    let [problem] = &reading.problems[..] else { panic!("{:?}", reading.problems) };
    assert_eq!((problem.line, problem.column), (4, 3));
    assert_eq!(problem.reason, Reason::MergeReplaces { key: "x".to_owned(), earlier: 3 });
}

#[test]
fn values_that_json_does_not_have_are_told_and_kept() {
    let reading = read(b"a: .inf\nb: !!int x\n");
    assert_eq!(reading.documents[0].value, json!({"a": ".inf", "b": "x"}));
    let places: Vec<_> = reading.problems.iter().map(|problem| (problem.line, problem.column)).collect();
    assert_eq!(places, [(1, 4), (2, 10)]);
    assert!(reading.problems.iter().all(|problem| !problem.reason.loses_document()));
}

#[test]
fn depth_is_limited_everywhere() {
    let deepest = MAXIMUM_DEPTH;
    let flow = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let block = |depth: usize| (0..depth).map(|level| " ".repeat(level) + "a:\n").collect::<String>();
    for text in [flow(deepest), block(deepest)] {
        assert_eq!(read(text.as_bytes()).problems, []);
    }
    // Each alias doubles the depth, without any bracket inside another.
    let aliases = (1..20).map(|level| format!("a{level}: &a{level} {{x: {{y: *a{}}}}}\n", level - 1));
    let aliases: String = std::iter::once(format!("a0: &a0 {}\n", flow(500))).chain(aliases).collect();
    let mixed = format!("{}{}", block(300), " ".repeat(300)) + &flow(300);
    for text in [flow(deepest + 1), block(deepest + 1), "- ".repeat(100_000), "[".repeat(100_000), aliases, mixed] {
        let problems = read(format!("{text}\n---\nb: 2\n").as_bytes()).problems;
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!(problem.reason, Reason::TooDeep);
    }
}

#[test]
fn aliases_cannot_fill_the_memory() {
    let levels =
        (1..30).map(|level| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(",")));
    let lists: String = std::iter::once("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned()).chain(levels).collect();
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(1000));
    let merges = format!("a: &a {{b: {}}}\nc:\n{}", "x".repeat(1 << 20), "- <<: *a\n".repeat(1000));
    for bomb in [lists, long, merges] {
        let reading = read(format!("{bomb}---\nok: 1\n").as_bytes());
        let [problem] = &reading.problems[..] else { panic!("{:?}", reading.problems) };
        assert_eq!(problem.reason, Reason::TooMuchCopied);
        assert_eq!(reading.documents.len(), 1);
    }
}
