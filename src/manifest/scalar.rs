//! What a single value means to the tools of Kubernetes.
//!
//! They read YAML 1.1 as Go's `yaml.v2` does, and then make JSON of it: `yes` is true, `010` is eight and `1_000` a
//! number, but `1:30` is text. The rules here are its `resolve.go`.

use std::borrow::Cow;

use granit_parser::{ScalarStyle, Tag};
use serde_json::{Number, Value};

use super::problem::Reason;

/// Where the types of YAML itself have their names.
const YAML_TYPES: &str = "tag:yaml.org,2002:";

/// The meaning of a plain value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    Null,
    Bool(bool),
    Integer(i64),
    /// More than an `i64` can hold.
    Unsigned(u64),
    Float(f64),
    Text,
}

/// The name of a tag among YAML's own types, for example `str`. Others say nothing about JSON.
pub(super) fn yaml_type(tag: Option<&Tag>) -> Option<Cow<'_, str>> {
    tag?.suffix_in_namespace(YAML_TYPES)
}

/// The value that a scalar stands for, and what is wrong with it.
pub(super) fn resolve(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> (Value, Option<Reason>) {
    let meaning = match meaning(&text, style, tag) {
        Ok(meaning) => meaning,
        Err(reason) => return (Value::String(text.into_owned()), Some(reason)),
    };
    match meaning {
        Meaning::Null => (Value::Null, None),
        Meaning::Bool(value) => (Value::Bool(value), None),
        Meaning::Integer(value) => (Value::Number(value.into()), None),
        Meaning::Unsigned(value) => (Value::Number(value.into()), None),
        Meaning::Float(value) => match number(value) {
            Some(number) => (Value::Number(number), None),
            None => (Value::String(text.to_string()), Some(Reason::NotFinite(shown(&text)))),
        },
        Meaning::Text => (Value::String(text.into_owned()), None),
    }
}

/// The text of a scalar that is a key: JSON has no other keys, so `8080: http` has the key `"8080"`.
pub(super) fn key(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> (String, Option<Reason>) {
    match meaning(&text, style, tag) {
        Ok(Meaning::Text) => (text.into_owned(), None),
        Ok(Meaning::Null) => ("null".to_owned(), None),
        Ok(Meaning::Bool(value)) => (value.to_string(), None),
        Ok(Meaning::Integer(value)) => (value.to_string(), None),
        Ok(Meaning::Unsigned(value)) => (value.to_string(), None),
        // `.inf` and `.nan` are good keys.
        Ok(Meaning::Float(value)) if !value.is_finite() => (text.into_owned(), None),
        // The tools take the digits that a 32-bit float has.
        #[expect(clippy::cast_possible_truncation, reason = "as the tools do")]
        Ok(Meaning::Float(value)) => ((value as f32).to_string(), None),
        Err(reason) => (text.into_owned(), Some(reason)),
    }
}

/// As [`key`], for a value that an alias stands for.
pub(super) fn key_of_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn meaning(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Meaning, Reason> {
    let Some(tag) = tag else {
        return Ok(if style == ScalarStyle::Plain { of_plain(text) } else { Meaning::Text });
    };
    let name = yaml_type(Some(tag));
    match (name.as_deref(), of_plain(text)) {
        (Some("bool"), meaning @ Meaning::Bool(_))
        | (Some("float"), meaning @ (Meaning::Integer(_) | Meaning::Unsigned(_) | Meaning::Float(_)))
        | (Some("int"), meaning @ (Meaning::Integer(_) | Meaning::Unsigned(_)))
        | (Some("null"), meaning @ Meaning::Null) => Ok(meaning),
        (Some(name @ ("bool" | "float" | "int" | "null")), _) => {
            Err(Reason::WrongTag { text: shown(text), tag: name.to_owned() })
        }
        // `!!str`, and `!!binary` and all others, which are no business of JSON.
        _ => Ok(Meaning::Text),
    }
}

fn of_plain(text: &str) -> Meaning {
    match text.as_bytes().first() {
        None => Meaning::Null,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => of_word(text),
        Some(b'.') => of_word_or(text, float),
        Some(b'0'..=b'9' | b'+' | b'-') => of_word_or(text, of_digits),
        Some(_) => Meaning::Text,
    }
}

fn of_word_or(text: &str, otherwise: impl FnOnce(&str) -> Option<Meaning>) -> Meaning {
    match of_word(text) {
        Meaning::Text => otherwise(text).unwrap_or(Meaning::Text),
        meaning => meaning,
    }
}

fn of_word(text: &str) -> Meaning {
    match text {
        "~" | "null" | "Null" | "NULL" => Meaning::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Meaning::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Meaning::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Meaning::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Meaning::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Meaning::Float(f64::NEG_INFINITY),
        _ => Meaning::Text,
    }
}

fn of_digits(text: &str) -> Option<Meaning> {
    let plain = if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) };
    integer(&plain).or_else(|| float(&plain))
}

fn integer(text: &str) -> Option<Meaning> {
    let (sign, digits) = match text.as_bytes().first()? {
        sign @ (b'+' | b'-') => (Some(*sign), &text[1..]),
        _ => (None, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        // Mode bits: 0644.
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // Rust would take a second sign here.
    if !digits.as_bytes().first()?.is_ascii_alphanumeric() {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    match (i64::try_from(magnitude), sign) {
        (Ok(value), Some(b'-')) => Some(Meaning::Integer(-value)),
        (Ok(value), _) => Some(Meaning::Integer(value)),
        (Err(_), None) => Some(Meaning::Unsigned(magnitude)),
        (Err(_), Some(b'-')) if magnitude == i64::MIN.unsigned_abs() => Some(Meaning::Integer(i64::MIN)),
        // Beyond 64 bits, or beyond 63 with a sign, it is a float.
        (Err(_), Some(_)) => None,
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn float(text: &str) -> Option<Meaning> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (mantissa, ""),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_is_good = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if whole.is_empty() && fraction.is_empty() || !digits(whole) || !digits(fraction) || !exponent_is_good {
        return None;
    }
    // A number too large for a float stays text.
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(Meaning::Float)
}

/// The number in JSON as Go prints it: without a fraction it is an integer there, so `replicas: 3.0` is accepted.
fn number(value: f64) -> Option<Number> {
    /// Up to here every integer has its own float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT && !(value == 0.0 && value.is_sign_negative()) {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

/// A text as it can be shown in a message.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(text: &str) -> Value {
        let (value, reason) = resolve(text.into(), ScalarStyle::Plain, None);
        assert_eq!(reason, None, "{text}");
        value
    }

    #[test]
    fn plain_values() {
        for text in ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"] {
            assert_eq!(plain(text), json!(true), "{text}");
        }
        for text in ["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"] {
            assert_eq!(plain(text), json!(false), "{text}");
        }
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(plain(text), json!(null), "{text}");
        }
        for (text, expected) in [
            ("0", json!(0)),
            ("-0", json!(0)),
            ("+5", json!(5)),
            ("-17", json!(-17)),
            ("017", json!(15)),
            ("0644", json!(420)),
            ("0o17", json!(15)),
            ("0O17", json!(15)),
            ("0x1F", json!(31)),
            ("-0X1f", json!(-31)),
            ("0b11", json!(3)),
            ("-0b11", json!(-3)),
            ("1_000", json!(1000)),
            ("1__0", json!(10)),
            ("0_7", json!(7)),
            // No octal numbers after all.
            ("0888", json!(888)),
            ("09", json!(9)),
            ("9223372036854775807", json!(i64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("18446744073709551615", json!(u64::MAX)),
            ("0xFFFFFFFFFFFFFFFF", json!(u64::MAX)),
            ("123456789012345678901234567890", json!(1.234_567_890_123_456_8e29)),
            ("1e3", json!(1000)),
            ("3.0", json!(3)),
            ("5.", json!(5)),
            (".5", json!(0.5)),
            ("+.5", json!(0.5)),
            (".5e3", json!(500)),
            ("1.5e-7", json!(1.5e-7)),
            ("1E+2", json!(100)),
            ("1e21", json!(1e21)),
            ("-0.0", json!(-0.0)),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
        for text in [
            "yEs",
            "nULL",
            "Yes!",
            "tRue",
            "_1",
            "+",
            "-",
            ".",
            "+.",
            "0x",
            "0xg",
            "--1",
            "+-1",
            "0x-1",
            "1e",
            "1e+",
            "1.2.3",
            "1:30",
            "0x1p4",
            ".1_0",
            "1e400",
            "2001-01-01",
            "2001-12-14T21:59:43Z",
            "500m",
            "10%",
            "1 000",
            "<<",
            "inf",
            "nan",
            "infinity",
            "+inf",
            "é",
            "0o8z",
            "1f",
        ] {
            assert_eq!(plain(text), json!(text), "{text}");
        }
    }

    #[test]
    fn quotes_make_text_of_everything() {
        let styles = [ScalarStyle::SingleQuoted, ScalarStyle::DoubleQuoted, ScalarStyle::Literal, ScalarStyle::Folded];
        for style in styles {
            for text in ["", "yes", "1", "~", ".inf"] {
                assert_eq!(resolve(text.into(), style, None), (json!(text), None));
            }
        }
    }

    #[test]
    fn tags_ask_for_a_type() {
        let tagged = |name: &str, text: &str| {
            let tag = Tag::new("tag:yaml.org,2002:", name);
            resolve(text.to_owned().into(), ScalarStyle::DoubleQuoted, Some(&tag))
        };
        for (name, text, expected) in [
            ("str", "1", json!("1")),
            ("str", "", json!("")),
            ("int", "1", json!(1)),
            ("float", "1", json!(1)),
            ("bool", "yes", json!(true)),
            ("null", "", json!(null)),
            ("binary", "aGk=", json!("aGk=")),
            ("timestamp", "2001-01-01", json!("2001-01-01")),
        ] {
            assert_eq!(tagged(name, text), (expected, None), "!!{name} {text}");
        }
        for (name, text) in [("int", "x"), ("int", "1.5"), ("float", "x"), ("bool", "1"), ("null", "x")] {
            let reason = Reason::WrongTag { text: text.to_owned(), tag: name.to_owned() };
            assert_eq!(tagged(name, text), (json!(text), Some(reason)), "!!{name} {text}");
        }
        let own = Tag::new("!", "int");
        assert_eq!(resolve("1".into(), ScalarStyle::Plain, Some(&own)), (json!("1"), None));
    }

    #[test]
    fn what_json_cannot_say_stays_text_with_a_problem() {
        for text in [".inf", "+.Inf", "-.INF", ".nan", ".NaN"] {
            let reason = Reason::NotFinite(text.to_owned());
            assert_eq!(resolve(text.into(), ScalarStyle::Plain, None), (json!(text), Some(reason)));
        }
    }

    #[test]
    fn keys_become_text() {
        for (text, expected) in [
            ("a", "a"),
            ("8080", "8080"),
            ("0x10", "16"),
            ("1.5", "1.5"),
            ("1e3", "1000"),
            ("yes", "true"),
            ("~", "null"),
            (".inf", ".inf"),
            ("18446744073709551615", "18446744073709551615"),
        ] {
            assert_eq!(key(text.into(), ScalarStyle::Plain, None), (expected.to_owned(), None), "{text}");
        }
        assert_eq!(key("1".into(), ScalarStyle::SingleQuoted, None), ("1".to_owned(), None));
    }
}
