//! Recognises files that must be rendered before they are manifests.

/// The last `{{` outside quotes and comments in the lines of `text` up to and with the one that `error` is in, as a
/// byte offset. Templates break YAML where they stand or a little later.
pub(super) fn before(text: &str, error: usize) -> Option<usize> {
    let mut found = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if start > error {
            break;
        }
        if let Some(offset) = in_line(line) {
            found = Some(start + offset);
        }
        start += line.len();
    }
    found
}

/// Quotes that span lines are not followed: the answer only chooses between two explanations of an error.
fn in_line(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut quote = None;
    for (index, &byte) in bytes.iter().enumerate() {
        let before = index.checked_sub(1).map_or(b' ', |previous| bytes[previous]);
        match (quote, byte) {
            (Some(open), _) if byte == open && (open == b'\'' || before != b'\\') => quote = None,
            // In the middle of a word an apostrophe is only that.
            (None, b'"' | b'\'') if !before.is_ascii_alphanumeric() => quote = Some(byte),
            (None, b'#') if before.is_ascii_whitespace() => return None,
            (None, b'{') if bytes.get(index + 1) == Some(&b'{') => return Some(index),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_outside_quotes_and_comments() {
        for (line, expected) in [
            ("a: {{ .b }}", Some(3)),
            ("{{- if .b }}", Some(0)),
            ("a: b{{ .c }}", Some(4)),
            ("it's {{ .b }}", Some(5)),
            ("a: 'x' {{ .b }}", Some(7)),
            ("a: \"\\\"\" {{", Some(8)),
            ("a: '{{ .b }}'", None),
            ("a: \"{{ .b }}\"", None),
            ("a: b # {{", None),
            ("# {{", None),
            ("a#{{", Some(2)),
            ("a: {b: {c: d}}", None),
        ] {
            assert_eq!(in_line(line), expected, "{line}");
        }
    }

    #[test]
    fn the_last_one_up_to_the_line_of_the_error() {
        let text = "a: {{ b }}\nc: {{ d }}\ne: f {{ g }}\n";
        assert_eq!(before(text, 11), Some(14));
        assert_eq!(before(text, 10), Some(3));
        assert_eq!(before(text, 100), Some(27));
        assert_eq!(before("a: b\n{{", 2), None);
    }
}
