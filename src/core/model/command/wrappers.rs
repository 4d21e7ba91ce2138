//! Programs that only start another: `timeout 5 pg_isready`, `env A=b …`, `gosu postgres …`.

use super::expand::Field;
use super::limits;
use super::{InnerTimeout, OddityKind};

/// What wrappers leave of a command.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is said by another wrapper")]
pub(super) struct Unwrapped {
    /// The program and its arguments.
    pub fields: Vec<Field>,
    /// `exec`: it takes the shell's place.
    pub replaces_shell: bool,
    /// A program started it, so that it is no builtin or function of the shell.
    pub is_program: bool,
    /// `timeout 5`
    pub limit: Option<InnerTimeout>,
    /// What `env` sets.
    pub variables: Vec<(String, Field)>,
    /// `su -c TEXT`, `flock FILE -c TEXT`: a shell reads this text.
    pub shell_text: Option<Field>,
    /// What `xargs` appends is not known.
    pub more_words: bool,
    /// It may not start the program at all, or not with its status.
    pub is_doubtful: bool,
}

/// A program that starts the one behind its own options.
struct Wrapper {
    names: &'static [&'static str],
    /// Options that take the next word.
    with_value: &'static [&'static str],
    /// Words before the program.
    skips: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper { names: &["nohup", "setsid", "busybox", "eatmydata"], with_value: &[], skips: 0 },
    Wrapper { names: &["nice"], with_value: &["-n", "--adjustment"], skips: 0 },
    Wrapper { names: &["ionice"], with_value: &["-c", "-n", "--class", "--classdata"], skips: 0 },
    Wrapper { names: &["stdbuf"], with_value: &["-i", "-o", "-e"], skips: 0 },
    Wrapper { names: &["gosu", "su-exec", "setuser"], with_value: &[], skips: 1 },
    Wrapper { names: &["setpriv"], with_value: &["--reuid", "--regid", "--groups"], skips: 0 },
    Wrapper { names: &["sudo", "doas"], with_value: &["-u", "-g", "--user", "--group", "-h", "-p", "-C"], skips: 0 },
    Wrapper { names: &["chroot"], with_value: &[], skips: 1 },
    Wrapper { names: &["chpst"], with_value: &["-u", "-U", "-e", "-n"], skips: 0 },
    Wrapper { names: &["tini", "dumb-init", "catatonit"], with_value: &["-p", "-e"], skips: 0 },
    Wrapper { names: &["time"], with_value: &["-f", "-o"], skips: 0 },
];

/// Takes wrappers off, down to the program that decides.
pub(super) fn unwrap(fields: Vec<Field>) -> Unwrapped {
    let mut left = Unwrapped { fields, ..Unwrapped::default() };
    // Each round takes at least one word.
    loop {
        let Some(first) = left.fields.first() else { return left };
        if first.splits {
            return left;
        }
        let Some(path) = first.value.known() else { return left };
        let program = path.rsplit('/').next().unwrap_or(path).to_owned();
        match program.as_str() {
            "exec" if !left.is_program => {
                left.fields.remove(0);
                left.replaces_shell = true;
                left.is_program = true;
                skip_options(&mut left.fields, &["-a"]);
            }
            // `command -v` asks whether there is such a program.
            "command" if !left.is_program => {
                if left.fields.get(1).is_some_and(|next| next.text.starts_with('-') && next.text != "-p") {
                    return left;
                }
                left.fields.remove(0);
                skip_options(&mut left.fields, &[]);
                left.is_program = true;
            }
            "builtin" if !left.is_program => {
                left.fields.remove(0);
            }
            "env" => {
                left.fields.remove(0);
                left.is_program = true;
                skip_options(&mut left.fields, &["-u", "--unset", "-C", "-S"]);
                while let Some((name, value)) = left.fields.first().and_then(assignment) {
                    left.fields.remove(0);
                    left.variables.push((name, value));
                }
            }
            "timeout" | "gtimeout" => {
                left.fields.remove(0);
                left.is_program = true;
                skip_options(&mut left.fields, &["-s", "-k", "--signal", "--kill-after"]);
                // Busybox before 1.30: `timeout -t 5 program`.
                let duration = if left.fields.is_empty() { None } else { Some(left.fields.remove(0)) };
                let limit = duration.and_then(|duration| {
                    let milliseconds = limits::duration(duration.value.known()?, 1000)?;
                    Some(InnerTimeout { milliseconds, set_by: format!("timeout {}", duration.text) })
                });
                left.limit = least(left.limit.take(), limit);
            }
            "su" | "runuser" => return switch_user(left),
            "flock" => {
                left.is_doubtful = true;
                left.fields.remove(0);
                left.is_program = true;
                skip_options(&mut left.fields, &["-w", "--timeout", "-E"]);
                if !left.fields.is_empty() {
                    left.fields.remove(0);
                }
            }
            "xargs" => {
                left.fields.remove(0);
                left.is_program = true;
                skip_options(&mut left.fields, &["-n", "-I", "-P", "-L", "-d", "-s", "-E"]);
                left.more_words = true;
                left.is_doubtful = true;
            }
            name => {
                let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name)) else { return left };
                left.fields.remove(0);
                left.is_program = true;
                skip_options(&mut left.fields, wrapper.with_value);
                for _ in 0..wrapper.skips.min(left.fields.len()) {
                    left.fields.remove(0);
                }
            }
        }
    }
}

/// The shorter of two limits.
pub(super) fn least(first: Option<InnerTimeout>, second: Option<InnerTimeout>) -> Option<InnerTimeout> {
    match (first, second) {
        (Some(first), Some(second)) => Some(if second.milliseconds < first.milliseconds { second } else { first }),
        (first, second) => first.or(second),
    }
}

/// Drops options and the values of those that take one.
fn skip_options(fields: &mut Vec<Field>, with_value: &[&str]) {
    while fields.first().is_some_and(|field| field.text.starts_with('-') && !field.splits) {
        let option = fields.remove(0).text;
        if option == "--" {
            return;
        }
        if with_value.contains(&option.as_str()) && !fields.is_empty() {
            fields.remove(0);
        }
    }
}

fn assignment(field: &Field) -> Option<(String, Field)> {
    let (name, value) = field.text.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let known = field.value.known().map(|_| Field::known(value));
    let value = known.unwrap_or_else(|| Field { text: value.to_owned(), ..field.clone() });
    (is_name && !field.splits).then(|| (name.to_owned(), value))
}

/// `su postgres -c "pg_isready"`, `runuser -u postgres -- pg_isready`.
fn switch_user(mut left: Unwrapped) -> Unwrapped {
    let words: Vec<Field> = left.fields.drain(..).skip(1).collect();
    left.is_program = true;
    if let Some(index) = words.iter().position(|word| matches!(word.text.as_str(), "-c" | "--command")) {
        left.shell_text = words.get(index + 1).cloned();
        left.is_doubtful |= left.shell_text.is_none();
        return left;
    }
    if let Some(index) = words.iter().position(|word| word.text == "--") {
        left.fields = words.into_iter().skip(index + 1).collect();
        return unwrap_again(left);
    }
    left.is_doubtful = true;
    left
}

fn unwrap_again(left: Unwrapped) -> Unwrapped {
    let inner = unwrap(left.fields);
    Unwrapped {
        replaces_shell: left.replaces_shell,
        is_program: true,
        limit: least(left.limit, inner.limit.clone()),
        is_doubtful: left.is_doubtful || inner.is_doubtful,
        variables: [left.variables, inner.variables.clone()].concat(),
        ..inner
    }
}

/// The kind and sentence for words after `sh -c TEXT` that the text does not use.
pub(super) fn words_that_never_run(text: &str, words: &[Field]) -> Option<(OddityKind, String)> {
    let uses_parameters = text.match_indices('$').any(|(index, _)| {
        let rest = text.get(index + 1..).unwrap_or("").trim_start_matches(['{', '#', '!']);
        rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*' | '#'))
    }) || text.contains("$#")
        || text.split_whitespace().any(|word| matches!(word, "shift" | "getopts" | "for" | "set"));
    let is_placeholder = |word: &Field| {
        matches!(word.text.rsplit('/').next(), Some("" | "-" | "--" | "_" | "sh" | "bash" | "ash" | "dash" | "ksh"))
    };
    let is_only_a_name = matches!(words, [name] if is_placeholder(name));
    if words.is_empty() || is_only_a_name || uses_parameters {
        return None;
    }
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let sentence = format!(
        "`sh -c` takes one text, which is `{}`; `{}` only becomes its parameters and never runs",
        shortened(text),
        shortened(&words.join(" "))
    );
    Some((OddityKind::WordsThatNeverRun, sentence))
}

/// A text that fits into a sentence.
pub(super) fn shortened(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 60 { line } else { line.chars().take(57).chain("…".chars()).collect() }
}
