//! Shell patterns and the regular expressions of `grep`, where they are plain enough to be sure of.

use regex_lite::{Regex, RegexBuilder};

/// A character of a shell pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Glyph {
    Literal(char),
    /// `?`
    Any,
    /// `*`
    Many,
}

/// Reads unquoted text as a pattern; None where it has brackets or an extended pattern.
pub(super) fn glyphs(text: &str) -> Option<Vec<Glyph>> {
    text.chars()
        .map(|c| match c {
            '*' => Some(Glyph::Many),
            '?' => Some(Glyph::Any),
            '[' | ']' | '(' | ')' | '|' | '\\' => None,
            literal => Some(Glyph::Literal(literal)),
        })
        .collect()
}

/// Whether the whole text matches.
pub(super) fn matches(pattern: &[Glyph], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    // Where the last `*` stood, and how much of the text it has taken.
    let (mut at, mut position, mut retry) = (0, 0, None);
    while position < text.len() {
        match pattern.get(at) {
            Some(Glyph::Many) => {
                retry = Some((at + 1, position));
                at += 1;
            }
            Some(Glyph::Any) => (at, position) = (at + 1, position + 1),
            Some(Glyph::Literal(c)) if text.get(position) == Some(c) => (at, position) = (at + 1, position + 1),
            _ => match retry {
                Some((after, taken)) => {
                    retry = Some((after, taken + 1));
                    (at, position) = (after, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|glyph| *glyph == Glyph::Many)
}

/// What `${x#pattern}` leaves, or `${x%pattern}` from the end.
pub(super) fn without<'a>(text: &'a str, pattern: &[Glyph], longest: bool, from_end: bool) -> &'a str {
    let mut cuts: Vec<usize> = text.char_indices().map(|(index, _)| index).chain([text.len()]).collect();
    // The shortest match is tried first.
    if from_end != longest {
        cuts.reverse();
    }
    for cut in cuts {
        let (before, after) = text.split_at(cut);
        if from_end && matches(pattern, after) {
            return before;
        }
        if !from_end && matches(pattern, before) {
            return after;
        }
    }
    text
}

/// How `grep` and `=~` read a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// `grep`
    Basic,
    /// `grep -E`, `=~`
    Extended,
    /// `grep -F`
    Fixed,
}

/// A regular expression that means the same here as in every `grep`; None where that is not sure.
pub(super) fn regex(pattern: &str, syntax: Syntax, ignore_case: bool, around: (&str, &str)) -> Option<Regex> {
    if pattern.len() > 512 {
        return None;
    }
    let translated = match syntax {
        Syntax::Fixed => regex_lite::escape(pattern),
        Syntax::Basic | Syntax::Extended => translate(pattern, syntax)?,
    };
    let (before, after) = around;
    RegexBuilder::new(&format!("{before}(?:{translated}){after}"))
        .case_insensitive(ignore_case)
        .size_limit(1 << 16)
        .nest_limit(16)
        .build()
        .ok()
}

fn translate(pattern: &str, syntax: Syntax) -> Option<String> {
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let escaped = chars.next()?;
                match escaped {
                    '|' | '(' | ')' | '{' | '}' | '+' | '?' if syntax == Syntax::Basic => out.push(escaped),
                    's' | 'S' | 'w' | 'W' | 'b' => out.extend(['\\', escaped]),
                    '<' | '>' => out.push_str("\\b"),
                    c if c.is_ascii_punctuation() => out.push_str(&regex_lite::escape(&c.to_string())),
                    _ => return None,
                }
            }
            '|' | '(' | ')' | '{' | '}' | '+' | '?' if syntax == Syntax::Basic => {
                out.push_str(&regex_lite::escape(&c.to_string()));
            }
            '[' => out.push_str(&bracket(&mut chars)?),
            '*' | '+' | '?' | '{' if out.is_empty() || out.ends_with(['(', '|', '^']) => return None,
            // A brace that is no repetition is read in as many ways as there are programs.
            '{' if !chars.peek().is_some_and(char::is_ascii_digit) => return None,
            '^' if !(out.is_empty() || out.ends_with(['(', '|'])) => return None,
            '$' if !matches!(chars.peek(), None | Some(')' | '|' | '\\')) => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

/// A bracket expression without what the two read differently.
fn bracket(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut out = String::from("[");
    if chars.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    loop {
        match chars.next()? {
            ']' if out.ends_with(['[', '^']) => return None,
            ']' => {
                out.push(']');
                return Some(out);
            }
            '[' => {
                chars.next_if_eq(&':')?;
                let name: String = std::iter::from_fn(|| chars.next_if(char::is_ascii_lowercase)).collect();
                chars.next_if_eq(&':')?;
                chars.next_if_eq(&']')?;
                out.extend(["[:", &name, ":]"]);
            }
            '\\' | '&' | '~' => return None,
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_patterns() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("LOADING*", "LOADING Redis is loading", true),
            ("*in recovery*", "is in recovery mode", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("?", "é", true),
            ("PONG", "PONG ", false),
        ] {
            assert_eq!(matches(&glyphs(pattern).unwrap(), text), expected, "{pattern} {text}");
        }
        assert_eq!(glyphs("[ab]"), None);
        let star = glyphs("*:").unwrap();
        assert_eq!(without("a:b:c", &star, false, false), "b:c");
        assert_eq!(without("a:b:c", &star, true, false), "c");
        let tail = glyphs(":*").unwrap();
        assert_eq!(without("a:b:c", &tail, false, true), "a:b");
        assert_eq!(without("a:b:c", &tail, true, true), "a");
    }

    #[test]
    fn regular_expressions_that_every_grep_reads_alike() {
        let found =
            |pattern: &str, syntax, text: &str| regex(pattern, syntax, false, ("", "")).map(|r| r.is_match(text));
        for (pattern, syntax, text, expected) in [
            ("PONG\\|LOADING", Syntax::Basic, "LOADING x", Some(true)),
            ("PONG|LOADING", Syntax::Basic, "LOADING x", Some(false)),
            ("PONG|LOADING", Syntax::Extended, "LOADING x", Some(true)),
            ("P.NG", Syntax::Basic, "PONG", Some(true)),
            ("P.NG", Syntax::Fixed, "PONG", Some(false)),
            ("^UN\\s+10", Syntax::Extended, "UN  10.0.0.1", Some(true)),
            ("[[:space:]]ok$", Syntax::Basic, "is ok", Some(true)),
            ("\\d", Syntax::Extended, "1", None),
            ("*x", Syntax::Basic, "*x", None),
            ("[\\s]", Syntax::Basic, "s", None),
            ("a(", Syntax::Extended, "a(", None),
        ] {
            assert_eq!(found(pattern, syntax, text), expected, "{pattern} {text}");
        }
    }
}
