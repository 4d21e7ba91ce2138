//! What the small tools of every image print, where that is plain: `echo`, `grep`, `head`, `cut` and their like.

use super::evaluate::Evaluator;
use super::expand::Field;
use super::pattern::{Syntax, regex};
use super::state::State;
use super::value::{Status, Value};

/// Status and output of a tool. Nothing is known of one that is not among them.
pub(super) fn run(name: &str, arguments: &[Field], state: &State, evaluator: &mut Evaluator<'_>) -> (Status, Value) {
    let passes = Status::Code(0);
    let unknown = (Status::Unknown, Value::Unknown);
    let words: Option<Vec<&str>> =
        arguments.iter().map(|field| field.value.known().filter(|_| !field.splits)).collect();
    match name {
        "true" | "sleep" => (passes, Value::empty()),
        "false" => (Status::Code(1), Value::empty()),
        "[" => match arguments.split_last() {
            Some((last, words)) if last.text == "]" => (Status::of(evaluator.test_command(words)), Value::empty()),
            _ => (Status::NonZero, Value::empty()),
        },
        "test" => (Status::of(evaluator.test_command(arguments)), Value::empty()),
        "echo" => (passes, echo(words.as_deref(), state.options.bash)),
        "printf" => (passes, words.as_deref().and_then(printf).map_or(Value::Unknown, Value::Known)),
        "date" | "hostname" | "id" | "uname" | "whoami" | "pwd" | "nproc" | "basename" | "dirname" => {
            (passes, Value::Unknown)
        }
        "cat" => match words.as_deref() {
            Some([] | ["-"]) => (passes, state.input.clone()),
            Some(files) => {
                let texts: Option<Vec<&str>> = files.iter().map(|file| evaluator.text_of(file)).collect();
                texts.map_or(unknown, |texts| (passes, Value::Known(texts.concat())))
            }
            None => unknown,
        },
        "tee" => (passes, state.input.clone()),
        "grep" | "egrep" | "fgrep" => grep(name, arguments, &state.input).unwrap_or(unknown),
        "head" | "tail" | "awk" | "gawk" | "mawk" | "cut" | "tr" | "wc" | "sort" | "uniq" => {
            let text = state.input.known().filter(|text| text.len() <= 64 * 1024);
            let output = text.zip(words).and_then(|(text, words)| filter(name, &words, text));
            output.map_or(unknown, |output| (passes, Value::Known(output)))
        }
        _ => unknown,
    }
}

/// Whether a tool prints no diagnostics in what it is used for here.
pub(super) fn is_quiet(name: &str) -> bool {
    matches!(
        name,
        "true" | "false" | "sleep" | "echo" | "printf" | "date" | "tee" | "grep" | "egrep" | "fgrep" | "head" | "tail"
    ) || matches!(name, "awk" | "gawk" | "mawk" | "cut" | "tr" | "wc" | "sort" | "uniq")
}

fn echo(words: Option<&[&str]>, bash: bool) -> Value {
    let Some(mut words) = words else { return Value::Unknown };
    let mut ends = true;
    while let Some((first, rest)) = words.split_first() {
        match *first {
            "-n" => ends = false,
            // dash prints it.
            "-e" | "-ne" | "-en" if bash => ends &= *first == "-e",
            option if option.len() > 1 && option.starts_with('-') => return Value::Unknown,
            _ => break,
        }
        words = rest;
    }
    let text = words.join(" ");
    // Some shells expand backslashes, some do not.
    if text.contains('\\') {
        return Value::Unknown;
    }
    Value::Known(if ends { text + "\n" } else { text })
}

/// `%s`, `%d` and line breaks, with as many values as there are places.
fn printf(words: &[&str]) -> Option<String> {
    let (format, values) = words.split_first()?;
    let mut values = values.iter();
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => match chars.next()? {
                '%' => out.push('%'),
                's' | 'd' => out.push_str(values.next()?),
                _ => return None,
            },
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                _ => return None,
            },
            c => out.push(c),
        }
    }
    values.next().is_none().then_some(out)
}

/// `grep` on its input. None where nothing can be said.
fn grep(name: &str, arguments: &[Field], input: &Value) -> Option<(Status, Value)> {
    let mut syntax = match name {
        "egrep" => Syntax::Extended,
        "fgrep" => Syntax::Fixed,
        _ => Syntax::Basic,
    };
    let (mut quiet, mut inverts, mut counts, mut only, mut words, mut lines, mut folds) =
        (false, false, false, false, false, false, false);
    let mut patterns: Vec<&str> = Vec::new();
    let mut operands: Vec<&str> = Vec::new();
    let mut fields = arguments.iter();
    let mut options_over = false;
    while let Some(field) = fields.next() {
        let text = field.value.known().filter(|_| !field.splits)?;
        if options_over || !text.starts_with('-') || text == "-" {
            operands.push(text);
            continue;
        }
        let long = match text {
            "--" => {
                options_over = true;
                continue;
            }
            "--quiet" | "--silent" => "q",
            "--invert-match" => "v",
            "--count" => "c",
            "--only-matching" => "o",
            "--word-regexp" => "w",
            "--line-regexp" => "x",
            "--ignore-case" => "i",
            "--extended-regexp" => "E",
            "--fixed-strings" => "F",
            "--no-messages" => "s",
            _ if text.starts_with("--") => match text.strip_prefix("--regexp=") {
                Some(pattern) => {
                    patterns.push(pattern);
                    continue;
                }
                None => return None,
            },
            _ => text.get(1..)?,
        };
        for (index, flag) in long.char_indices() {
            match flag {
                'q' => quiet = true,
                'v' => inverts = true,
                'c' => counts = true,
                'o' => only = true,
                'w' => words = true,
                'x' => lines = true,
                'i' | 'y' => folds = true,
                'E' => syntax = Syntax::Extended,
                'F' => syntax = Syntax::Fixed,
                'G' => syntax = Syntax::Basic,
                's' | 'a' | 'h' => {}
                'e' => {
                    let rest = long.get(index + 1..).filter(|rest| !rest.is_empty());
                    let next = match rest {
                        Some(rest) => rest,
                        None => fields.next()?.value.known()?,
                    };
                    patterns.push(next);
                    break;
                }
                _ => return None,
            }
        }
    }
    if patterns.is_empty() {
        if operands.is_empty() {
            return None;
        }
        patterns.push(operands.remove(0));
    }
    // Files are not its input.
    if operands.iter().any(|operand| *operand != "-") {
        return None;
    }
    let around = match (lines, words) {
        (true, _) => ("^", "$"),
        (_, true) => ("(?:^|\\W)", "(?:\\W|$)"),
        _ => ("", ""),
    };
    let expressions: Option<Vec<_>> = patterns
        .iter()
        .flat_map(|pattern| pattern.split('\n'))
        .map(|pattern| regex(pattern, syntax, folds, around))
        .collect();
    let expressions = expressions?;
    let found = |line: &str| expressions.iter().any(|expression| expression.is_match(line));
    let decided = |holds: bool| Status::Code(u8::from(!holds));
    match input {
        Value::Known(text) => {
            let matching: Vec<&str> = text.lines().filter(|line| found(line) != inverts).collect();
            let output = if quiet {
                Value::empty()
            } else if counts {
                Value::Known(format!("{}\n", matching.len()))
            } else if only && !matching.is_empty() {
                Value::Unknown
            } else {
                Value::Known(matching.iter().flat_map(|line| [*line, "\n"]).collect())
            };
            Some((decided(!matching.is_empty()), output))
        }
        Value::Noisy { text, success } if !inverts => {
            if text.lines().any(found) {
                return Some((decided(true), if quiet { Value::empty() } else { Value::Unknown }));
            }
            // Diagnostics are not what it prints when all is well.
            let is_success = success.as_deref().is_some_and(|success| success.lines().any(found));
            let nothing = if counts && !quiet { Value::Known("0\n".to_owned()) } else { Value::empty() };
            is_success.then_some((decided(false), nothing))
        }
        _ => None,
    }
}

/// What a filter makes of a text.
fn filter(name: &str, words: &[&str], text: &str) -> Option<String> {
    let each = |make: &dyn Fn(&str) -> Option<String>| -> Option<String> {
        text.lines().map(|line| make(line).map(|line| line + "\n")).collect()
    };
    match name {
        "head" | "tail" => {
            let count = match words {
                [] => 10,
                ["-n", count] => count.parse().ok()?,
                [flag] => flag.strip_prefix("-n").or_else(|| flag.strip_prefix('-'))?.parse::<usize>().ok()?,
                _ => return None,
            };
            let lines: Vec<&str> = text.lines().collect();
            let skipped = if name == "head" { 0 } else { lines.len().saturating_sub(count) };
            Some(lines.iter().skip(skipped).take(count).flat_map(|line| [*line, "\n"]).collect())
        }
        "awk" | "gawk" | "mawk" => {
            let (separator, program) = match words {
                [program] => (None, *program),
                ["-F", separator, program] => (Some(*separator), *program),
                [separator, program] => (Some(separator.strip_prefix("-F")?), *program),
                _ => return None,
            };
            let column = program.trim().strip_prefix('{')?.strip_suffix('}')?.trim().trim_end_matches(';').trim();
            let column: usize = column.strip_prefix("print")?.trim_start().strip_prefix('$')?.parse().ok()?;
            let is_plain = |separator: &str| {
                separator.chars().count() == 1
                    && !separator.contains(['|', '.', '*', '+', '?', '[', '^', '$', '\\', ' '])
            };
            each(&|line| {
                if column == 0 {
                    return Some(line.to_owned());
                }
                let part = match separator {
                    None => line.split_whitespace().nth(column - 1),
                    Some(separator) if is_plain(separator) => line.split(separator).nth(column - 1),
                    Some(_) => return None,
                };
                Some(part.unwrap_or("").to_owned())
            })
        }
        "cut" => {
            let joined = words.join("\u{0}");
            // `-d ' ' -f 1`, `-d' ' -f1`, in either order.
            let mut parts = joined.split('\u{0}');
            let (mut delimiter, mut column) = ('\t', None);
            while let Some(part) = parts.next() {
                if let Some(rest) = part.strip_prefix("-d") {
                    let mut chars = if rest.is_empty() { parts.next()?.chars() } else { rest.chars() };
                    delimiter = chars.next()?;
                    chars.next().is_none().then_some(())?;
                } else {
                    let rest = part.strip_prefix("-f")?;
                    column = Some(if rest.is_empty() { parts.next()? } else { rest }.parse::<usize>().ok()?);
                }
            }
            let column = column.filter(|column| *column > 0)?;
            each(&|line| {
                if !line.contains(delimiter) {
                    return Some(line.to_owned());
                }
                Some(line.split(delimiter).nth(column - 1).unwrap_or("").to_owned())
            })
        }
        "tr" => match words {
            ["-d", set] => {
                let set = set.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t");
                let set = if set == "[:space:]" { " \t\n\r\u{b}\u{c}".to_owned() } else { set };
                let is_plain = !set.contains(['[', ']', '\\', '-']);
                is_plain.then(|| text.chars().filter(|c| !set.contains(*c)).collect())
            }
            ["a-z" | "[a-z]" | "[:lower:]", "A-Z" | "[A-Z]" | "[:upper:]"] => Some(text.to_ascii_uppercase()),
            ["A-Z" | "[A-Z]" | "[:upper:]", "a-z" | "[a-z]" | "[:lower:]"] => Some(text.to_ascii_lowercase()),
            _ => None,
        },
        "wc" => (words == ["-l"]).then(|| format!("{}\n", text.matches('\n').count())),
        // One line stays as it is.
        "sort" | "uniq" => (words.is_empty() && text.lines().count() <= 1).then(|| text.to_owned()),
        _ => None,
    }
}
