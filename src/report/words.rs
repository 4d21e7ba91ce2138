//! Times and sizes as people say them.
//!
//! One rule for all reports: where a number is a sum that somebody may check, seconds come first and the round form
//! stands in brackets; in pictures and headlines the round form stands alone.

use crate::core::detect::Severity;
use crate::core::detect::timeline::Span;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The round form: `45 s`, `5.5 min`, `1 h`, `2.5 days`. One decimal, none where it is a zero.
#[must_use]
pub fn round(seconds: i64) -> String {
    let (unit, word) = match seconds {
        ..MINUTE => return format!("{seconds} s"),
        MINUTE..HOUR => (MINUTE, "min"),
        HOUR..DAY => (HOUR, "h"),
        DAY.. => (DAY, "days"),
    };
    format!("{} {word}", tenths(seconds, unit))
}

/// Seconds, with the round form where that says more: `45 s`, `330 s (5.5 min)`.
#[must_use]
pub fn exact(seconds: i64) -> String {
    if seconds < MINUTE { round(seconds) } else { format!("{seconds} s ({})", round(seconds)) }
}

/// A span in seconds, with the round form: `20-31 s`, `320-331 s (5.3-5.5 min)`.
#[must_use]
pub fn exact_span(span: Span) -> String {
    let seconds = if span.earliest == span.latest {
        format!("{} s", span.latest)
    } else {
        format!("{}-{} s", span.earliest, span.latest)
    };
    if span.latest < MINUTE { seconds } else { format!("{seconds} ({})", round_span(span)) }
}

/// A span in the round form, in one unit where both ends have it: `5.3-5.5 min`, `50 s to 1.1 min`.
#[must_use]
pub fn round_span(span: Span) -> String {
    let (from, to) = (round(span.earliest), round(span.latest));
    if from == to {
        return from;
    }
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((number, one)), Some((_, other))) if one == other => format!("{number}-{to}"),
        _ => format!("{from} to {to}"),
    }
}

/// Bytes in the largest binary unit that leaves at least one: `64 MiB`, `1.5 GiB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, power)| bytes >> power > 0);
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    unit.map_or_else(|| format!("{bytes} bytes"), |(word, power)| format!("{} {word}", tenths(bytes, 1 << power)))
}

/// A word with its number: `1 file`, `2 files`.
#[must_use]
pub fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// How many findings of a severity: `1 warning`, `2 critical`.
#[must_use]
pub fn findings(severity: Severity, number: usize) -> String {
    match severity {
        Severity::Warning => count(number, "warning"),
        Severity::Critical | Severity::Info => format!("{number} {severity}"),
    }
}

/// Text from input, with what cannot be seen, or would reorder the line, written as an escape.
#[must_use]
pub fn visible(text: &str) -> String {
    let is_hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    if !text.contains(is_hidden) {
        return text.to_owned();
    }
    text.chars().map(|c| if is_hidden(c) { format!("\\u{{{:x}}}", u32::from(c)) } else { c.to_string() }).collect()
}

/// `number / unit`, rounded to one decimal, which is left out where it is a zero.
fn tenths(number: i64, unit: i64) -> String {
    let tenths = (i128::from(number) * 10 + i128::from(unit) / 2) / i128::from(unit);
    match (tenths / 10, tenths % 10) {
        (whole, 0) => whole.to_string(),
        (whole, tenth) => format!("{whole}.{tenth}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_time_always_reads_the_same() {
        let table = [
            (0, "0 s", "0 s"),
            (59, "59 s", "59 s"),
            (60, "1 min", "60 s (1 min)"),
            (330, "5.5 min", "330 s (5.5 min)"),
            (3600, "1 h", "3600 s (1 h)"),
            (5400, "1.5 h", "5400 s (1.5 h)"),
            (216_000, "2.5 days", "216000 s (2.5 days)"),
        ];
        for (seconds, short, long) in table {
            assert_eq!((round(seconds).as_str(), exact(seconds).as_str()), (short, long));
        }
        assert!(round(i64::MAX).ends_with(" days"), "absurd numbers have words too");
    }

    #[test]
    fn spans_share_their_unit() {
        let table = [
            ((20, 31), "20-31 s", "20-31 s"),
            ((320, 331), "5.3-5.5 min", "320-331 s (5.3-5.5 min)"),
            ((50, 66), "50 s to 1.1 min", "50-66 s (50 s to 1.1 min)"),
            ((3600, 3600), "1 h", "3600 s (1 h)"),
            ((3590, 3603), "59.8 min to 1 h", "3590-3603 s (59.8 min to 1 h)"),
        ];
        for ((earliest, latest), short, long) in table {
            let span = Span { earliest, latest };
            assert_eq!((round_span(span).as_str(), exact_span(span).as_str()), (short, long));
        }
    }

    #[test]
    fn sizes_and_counts() {
        assert_eq!([bytes(0), bytes(64 << 20), bytes(3 << 29)], ["0 bytes", "64 MiB", "1.5 GiB"]);
        assert_eq!(bytes(u64::MAX), "8388608 TiB");
        assert_eq!(findings(Severity::Warning, 2), "2 warnings");
        assert_eq!([count(1, "file"), count(0, "file")], ["1 file", "0 files"]);
    }

    #[test]
    fn what_hides_is_shown() {
        assert_eq!(visible("plain ünïcode\nline"), "plain ünïcode\nline");
        assert_eq!(visible("a\u{0}b\u{1b}[31m\u{202e}c"), "a\\u{0}b\\u{1b}[31m\\u{202e}c");
    }
}
