//! What an exec probe's command does, read with a real shell grammar.
//!
//! The words become a small tree of calls, and a tree is *evaluated*: given what each client answers while its server
//! recovers, does the whole script then exit with zero? What cannot be followed (loops, values known at run time)
//! makes the answer [`Outcome::Unknown`], never a guess.

use brush_parser::ast::{
    AndOr, AndOrList, Command as ShellCommand, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList,
    Pipeline, SeparatorOperator, SimpleCommand,
};
use brush_parser::word::{self, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};

mod limits;
mod oddity;

pub use limits::InnerTimeout;
pub use oddity::{Oddity, OddityKind};

/// Longer scripts, or deeper ones, are not read: the parser is recursive.
const MAX_SCRIPT_BYTES: usize = 16 * 1024;
const MAX_NESTING: usize = 48;
const SHELLS: [&str; 5] = ["sh", "bash", "ash", "dash", "ksh"];

/// Whether something exits with zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It does.
    Passes,
    /// It does not.
    Fails,
    /// It cannot be told.
    Unknown,
}

impl Outcome {
    fn negated(self) -> Self {
        match self {
            Self::Passes => Self::Fails,
            Self::Fails => Self::Passes,
            Self::Unknown => Self::Unknown,
        }
    }
}

/// One program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The path as it was written.
    pub path: String,
    /// Its arguments; what is expanded at run time stays as it was written, `$NAME`.
    pub arguments: Vec<String>,
    /// `exec`: nothing after it runs.
    pub replaces_shell: bool,
    /// The text that `echo` or `printf` pipes into it.
    pub input: Option<String>,
}

impl Call {
    /// The program's name without its folder.
    #[must_use]
    pub fn program(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The value of an option, given as `-p 5433`, `-p5433`, `--port 5433` or `--port=5433`.
    #[must_use]
    pub fn option(&self, names: &[&str]) -> Option<&str> {
        option_value(&self.arguments, names)
    }
}

/// The value of an option among arguments; see [`Call::option`].
#[must_use]
pub fn option_value<'a, S: AsRef<str>>(arguments: &'a [S], names: &[&str]) -> Option<&'a str> {
    for (index, argument) in arguments.iter().enumerate() {
        let argument = argument.as_ref();
        for name in names {
            if argument == *name {
                return arguments.get(index + 1).map(AsRef::as_ref);
            }
            let Some(rest) = argument.strip_prefix(name) else { continue };
            if let Some(value) = rest.strip_prefix('=') {
                return Some(value);
            }
            let is_short = name.len() == 2 && !name.starts_with("--");
            if is_short && !rest.is_empty() {
                return Some(rest);
            }
        }
    }
    None
}

/// What a command does, as far as its exit code goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Script {
    /// One program.
    Call(Call),
    /// Programs joined by pipes; the last decides.
    Pipe(Vec<Script>),
    /// `a && b`
    And(Box<Script>, Box<Script>),
    /// `a || b`
    Or(Box<Script>, Box<Script>),
    /// `! a`
    Not(Box<Script>),
    /// One after the other; with `set -e` the first failure ends it.
    Sequence {
        /// The steps.
        steps: Vec<Script>,
        /// Whether a failing step ends the script.
        stop_on_failure: bool,
    },
    /// `if a; then b; else c; fi`
    If(Box<Script>, Box<Script>, Box<Script>),
    /// Something whose outcome is known only at run time, with the calls that were seen in it.
    Unread(Vec<Call>),
}

impl Script {
    /// Reads the command of an exec probe.
    #[must_use]
    pub fn read<S: AsRef<str>>(command: &[S]) -> Self {
        let words: Vec<String> = command.iter().map(|word| word.as_ref().to_owned()).collect();
        read_words(words, 0)
    }

    /// Every call in it.
    #[must_use]
    pub fn calls(&self) -> Vec<&Call> {
        match self {
            Self::Call(call) => vec![call],
            Self::Unread(calls) => calls.iter().collect(),
            Self::Not(inner) => inner.calls(),
            Self::And(first, second) | Self::Or(first, second) => [first.calls(), second.calls()].concat(),
            Self::If(condition, then, otherwise) => [condition.calls(), then.calls(), otherwise.calls()].concat(),
            Self::Pipe(steps) | Self::Sequence { steps, .. } => steps.iter().flat_map(Self::calls).collect(),
        }
    }

    /// The longest that one call in it may take by a limit of its own.
    #[must_use]
    pub fn inner_timeout(&self) -> Option<InnerTimeout> {
        let limits = self.calls().into_iter().filter_map(|call| limits::of_call(call, &|_| None));
        limits.max_by_key(|limit| limit.milliseconds)
    }

    /// What in it does not do what it seems to do.
    #[must_use]
    pub fn oddities(&self) -> Vec<Oddity> {
        let after_exec = match self {
            Self::And(first, _) => first.always_replaces_shell(),
            Self::Sequence { steps, .. } => {
                steps.split_last().is_some_and(|(_, before)| before.iter().any(Self::always_replaces_shell))
            }
            _ => false,
        };
        let sentence = "exec replaces the shell, so what stands after it never runs".to_owned();
        after_exec.then_some(Oddity { kind: OddityKind::AfterExec, sentence }).into_iter().collect()
    }

    /// Whether it exits with zero, given the outcome and the output of each call. The answers of `builtin` commands
    /// (`true`, `exit`, `grep` on a known output, …) are known here.
    pub fn evaluate(&self, answer: &dyn Fn(&Call) -> Option<Answer>) -> Outcome {
        match self.run(answer) {
            Flow::Goes(outcome) | Flow::Ends(outcome) => outcome,
        }
    }

    fn run(&self, answer: &dyn Fn(&Call) -> Option<Answer>) -> Flow {
        match self {
            Self::Call(call) => call_flow(call, answer),
            Self::Unread(_) => Flow::Goes(Outcome::Unknown),
            Self::Not(inner) => match inner.run(answer) {
                Flow::Goes(outcome) => Flow::Goes(outcome.negated()),
                ends @ Flow::Ends(_) => ends,
            },
            Self::And(first, second) => first.run(answer).then(Outcome::Passes, || second.run(answer)),
            Self::Or(first, second) => first.run(answer).then(Outcome::Fails, || second.run(answer)),
            Self::Pipe(steps) => pipe_flow(steps, answer),
            Self::If(condition, then, otherwise) => match condition.run(answer) {
                ends @ Flow::Ends(_) => ends,
                Flow::Goes(Outcome::Passes) => then.run(answer),
                Flow::Goes(Outcome::Fails) => otherwise.run(answer),
                Flow::Goes(Outcome::Unknown) => then.run(answer).or(otherwise.run(answer)),
            },
            Self::Sequence { steps, stop_on_failure } => {
                let mut last = Flow::Goes(Outcome::Passes);
                // Under `set -e` a step of which it cannot be told may have ended the script, with a failure.
                let mut may_have_failed = false;
                for step in steps {
                    last = step.run(answer);
                    match last {
                        Flow::Ends(outcome) if may_have_failed => {
                            return Flow::Ends(Outcome::Fails).or(Flow::Ends(outcome));
                        }
                        Flow::Ends(_) => return last,
                        Flow::Goes(Outcome::Unknown) if step.may_exit() => return Flow::Ends(Outcome::Unknown),
                        Flow::Goes(Outcome::Fails) if *stop_on_failure => {
                            // A failing `a && b` does not trip `set -e` in the shell unless b fails.
                            let exempt = matches!(step, Self::And(..) | Self::Or(..) | Self::Not(_) | Self::If(..));
                            if !exempt {
                                return Flow::Ends(Outcome::Fails);
                            }
                            may_have_failed = true;
                        }
                        Flow::Goes(Outcome::Unknown) => may_have_failed |= *stop_on_failure,
                        Flow::Goes(_) => {}
                    }
                }
                if may_have_failed { Flow::Goes(Outcome::Fails).or(last) } else { last }
            }
        }
    }

    fn may_exit(&self) -> bool {
        self.calls().iter().any(|call| matches!(call.program(), "exit" | "return") || call.replaces_shell)
    }

    /// A form in which two commands that check the same are equal: without the shell around it, without inner
    /// `timeout`s, without what follows an `exec`.
    #[must_use]
    pub fn normal_form(&self) -> String {
        match self {
            Self::Call(call) => {
                let words = std::iter::once(call.path.as_str()).chain(call.arguments.iter().map(String::as_str));
                words.map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" ")
            }
            Self::Unread(calls) => {
                let calls: Vec<_> = calls.iter().map(|call| Self::Call(call.clone()).normal_form()).collect();
                format!("?({})", calls.join("; "))
            }
            Self::Not(inner) => format!("!({})", inner.normal_form()),
            Self::And(first, _) if first.always_replaces_shell() => first.normal_form(),
            Self::And(first, second) => format!("({} && {})", first.normal_form(), second.normal_form()),
            Self::Or(first, second) => format!("({} || {})", first.normal_form(), second.normal_form()),
            Self::If(condition, then, otherwise) => {
                format!("if({}, {}, {})", condition.normal_form(), then.normal_form(), otherwise.normal_form())
            }
            Self::Pipe(steps) => steps.iter().map(Self::normal_form).collect::<Vec<_>>().join(" | "),
            Self::Sequence { steps, .. } => {
                let mut parts = Vec::new();
                for step in steps {
                    parts.push(step.normal_form());
                    if step.always_replaces_shell() {
                        break;
                    }
                }
                parts.join("; ")
            }
        }
    }

    fn always_replaces_shell(&self) -> bool {
        match self {
            Self::Call(call) => call.replaces_shell,
            Self::And(first, _) => first.always_replaces_shell(),
            _ => false,
        }
    }
}

/// What a call does in the situation that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its exit code.
    pub outcome: Outcome,
    /// What it prints, where that matters to what follows in a pipe.
    pub output: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Goes(Outcome),
    /// The script ends here.
    Ends(Outcome),
}

impl Flow {
    /// Goes on with `next` where this has the outcome `wanted`.
    fn then(self, wanted: Outcome, next: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Goes(outcome) if outcome == wanted => next(),
            Self::Goes(Outcome::Unknown) => Self::Goes(wanted.negated()).or(next()),
            Self::Goes(_) | Self::Ends(_) => self,
        }
    }

    /// What is left when either may happen.
    fn or(self, other: Self) -> Self {
        if self == other { self } else { Self::Goes(Outcome::Unknown) }
    }
}

fn call_flow(call: &Call, answer: &dyn Fn(&Call) -> Option<Answer>) -> Flow {
    let outcome = match call.program() {
        "true" | ":" | "echo" | "printf" | "sleep" | "set" | "export" | "cat" => Outcome::Passes,
        "false" => Outcome::Fails,
        "exit" | "return" => {
            return Flow::Ends(match call.arguments.first().map(String::as_str) {
                Some("0") => Outcome::Passes,
                Some(code) if code.parse::<u8>().is_ok() => Outcome::Fails,
                _ => Outcome::Unknown,
            });
        }
        _ => answer(call).map_or(Outcome::Unknown, |answer| answer.outcome),
    };
    if call.replaces_shell { Flow::Ends(outcome) } else { Flow::Goes(outcome) }
}

fn pipe_flow(steps: &[Script], answer: &dyn Fn(&Call) -> Option<Answer>) -> Flow {
    let Some((last, before)) = steps.split_last() else { return Flow::Goes(Outcome::Unknown) };
    let Script::Call(filter) = last else { return Flow::Goes(Outcome::Unknown) };
    let output = match before.last() {
        Some(Script::Call(source)) if before.iter().all(|step| matches!(step, Script::Call(_))) => {
            answer(source).and_then(|answer| answer.output)
        }
        _ => None,
    };
    Flow::Goes(match filter.program() {
        "cat" | "tee" | "head" | "tail" | "wc" | "true" => Outcome::Passes,
        "grep" | "egrep" | "fgrep" => output.map_or(Outcome::Unknown, |output| grep(filter, output)),
        _ => match last.run(answer) {
            Flow::Goes(outcome) | Flow::Ends(outcome) => outcome,
        },
    })
}

/// Whether `grep` finds its pattern in `output`, for patterns that are plain words or alternatives of such.
fn grep(call: &Call, output: &str) -> Outcome {
    let flags: String =
        call.arguments.iter().filter(|a| a.starts_with('-')).flat_map(|a| a.trim_start_matches('-').chars()).collect();
    let mut patterns = call.arguments.iter().filter(|argument| !argument.starts_with('-'));
    let (Some(pattern), None) = (patterns.next(), patterns.next()) else { return Outcome::Unknown };
    if flags.chars().any(|flag| !"qiEFwxs".contains(flag)) {
        return Outcome::Unknown;
    }
    let alternatives: Vec<&str> = pattern.split(if flags.contains('E') { "|" } else { "\\|" }).collect();
    let is_plain = |text: &str| {
        let text = text.trim_start_matches('^').trim_end_matches('$');
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || " _-:".contains(c))
    };
    if !alternatives.iter().all(|text| is_plain(text)) {
        return Outcome::Unknown;
    }
    let fold = |text: &str| if flags.contains('i') { text.to_lowercase() } else { text.to_owned() };
    let output = fold(output);
    let finds = alternatives.iter().any(|text| {
        let bare = fold(text.trim_start_matches('^').trim_end_matches('$'));
        let whole = flags.contains('x') || text.ends_with('$');
        if whole { output == bare } else { output.contains(&bare) }
    });
    if finds { Outcome::Passes } else { Outcome::Fails }
}

/// Reads words as the kernel would run them, through wrappers that only start another program.
fn read_words(mut words: Vec<String>, depth: usize) -> Script {
    let mut replaces_shell = false;
    loop {
        let Some(first) = words.first().cloned() else { return Script::Unread(Vec::new()) };
        let program = first.rsplit('/').next().unwrap_or(&first).to_owned();
        match program.as_str() {
            "exec" | "command" | "nohup" | "setsid" => {
                replaces_shell |= program == "exec";
                words.remove(0);
            }
            "env" => {
                words.remove(0);
                while words.first().is_some_and(|word| word.contains('=') || word == "-i" || word == "--") {
                    words.remove(0);
                }
            }
            "timeout" | "nice" | "ionice" | "gosu" | "su-exec" => {
                words.remove(0);
                skip_options(&mut words);
                // The duration of `timeout`, the user of `gosu`.
                if matches!(program.as_str(), "timeout" | "gosu" | "su-exec") && !words.is_empty() {
                    words.remove(0);
                }
            }
            shell if SHELLS.contains(&shell) => return read_shell(&words, depth),
            _ => {
                let arguments = words.split_off(1);
                return Script::Call(Call { path: first, arguments, replaces_shell, input: None });
            }
        }
    }
}

/// Drops options and the values of those that take one.
fn skip_options(words: &mut Vec<String>) {
    while words.first().is_some_and(|word| word.starts_with('-')) {
        let option = words.remove(0);
        let takes_value = matches!(option.as_str(), "-s" | "-k" | "--signal" | "--kill-after" | "-n" | "-c");
        if takes_value && !words.is_empty() {
            words.remove(0);
        }
    }
}

/// `sh -c SCRIPT`, or a script file.
fn read_shell(words: &[String], depth: usize) -> Script {
    let mut stop_on_failure = false;
    // `-c` takes no value: the script is the first word that is no option, so `sh -c -e SCRIPT` is one too.
    let mut is_text = false;
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.starts_with('-')) else {
            return if word.starts_with('-') {
                Script::Unread(Vec::new())
            } else if is_text {
                read_text(word, stop_on_failure, depth + 1)
            } else {
                let arguments = rest.cloned().collect();
                Script::Call(Call { path: word.clone(), arguments, replaces_shell: false, input: None })
            };
        };
        stop_on_failure |= flags.contains('e');
        is_text |= flags.contains('c');
        if flags.ends_with('o') {
            stop_on_failure |= rest.next().is_some_and(|option| option == "errexit");
        }
    }
    Script::Unread(Vec::new())
}

fn read_text(text: &str, stop_on_failure: bool, depth: usize) -> Script {
    let nesting = text.bytes().filter(|b| matches!(b, b'(' | b'{' | b'`')).count();
    let keywords = text.split_whitespace().filter(|w| matches!(*w, "if" | "while" | "until" | "for" | "case")).count();
    if text.len() > MAX_SCRIPT_BYTES || nesting + keywords > MAX_NESTING || depth > 4 {
        return Script::Unread(Vec::new());
    }
    let options = ParserOptions::default();
    let Ok(program) = Parser::new(text.as_bytes(), &options).parse_program() else {
        return Script::Unread(Vec::new());
    };
    let lists: Vec<&CompoundList> = program.complete_commands.iter().collect();
    sequence(&lists, stop_on_failure, depth)
}

fn sequence(lists: &[&CompoundList], mut stop_on_failure: bool, depth: usize) -> Script {
    let mut steps = Vec::new();
    for item in lists.iter().flat_map(|list| &list.0) {
        let step = and_or(&item.0, depth);
        if let Script::Call(call) = &step
            && call.program() == "set"
        {
            stop_on_failure |= call.arguments.iter().any(|a| a.starts_with('-') && a.contains('e') || a == "errexit");
            continue;
        }
        steps.push(match item.1 {
            SeparatorOperator::Sequence => step,
            SeparatorOperator::Async => Script::Unread(step.calls().into_iter().cloned().collect()),
        });
    }
    if steps.len() == 1 { steps.remove(0) } else { Script::Sequence { steps, stop_on_failure } }
}

fn and_or(list: &AndOrList, depth: usize) -> Script {
    let mut script = pipeline(&list.first, depth);
    for next in &list.additional {
        script = match next {
            AndOr::And(next) => Script::And(Box::new(script), Box::new(pipeline(next, depth))),
            AndOr::Or(next) => Script::Or(Box::new(script), Box::new(pipeline(next, depth))),
        };
    }
    script
}

fn pipeline(pipeline: &Pipeline, depth: usize) -> Script {
    let mut steps: Vec<_> = pipeline.seq.iter().map(|command| shell_command(command, depth)).collect();
    for index in 1..steps.len() {
        let said = match steps.get(index - 1) {
            Some(Script::Call(before)) if matches!(before.program(), "echo" | "printf") => before.arguments.join(" "),
            _ => continue,
        };
        if let Some(Script::Call(call)) = steps.get_mut(index) {
            call.input = Some(said);
        }
    }
    let script = if steps.len() == 1 { steps.remove(0) } else { Script::Pipe(steps) };
    if pipeline.bang { Script::Not(Box::new(script)) } else { script }
}

fn shell_command(command: &ShellCommand, depth: usize) -> Script {
    match command {
        ShellCommand::Simple(simple) => simple_command(simple, depth),
        ShellCommand::Compound(CompoundCommand::BraceGroup(group), _) => sequence(&[&group.list], false, depth),
        // What exits inside a subshell ends only that, so a subshell with an exit is left unread.
        ShellCommand::Compound(CompoundCommand::Subshell(shell), _) => {
            let script = sequence(&[&shell.list], false, depth);
            if script.may_exit() { unread(&script) } else { script }
        }
        ShellCommand::Compound(CompoundCommand::IfClause(clause), _) => {
            let mut otherwise = Script::Sequence { steps: Vec::new(), stop_on_failure: false };
            for branch in clause.elses.iter().flatten().rev() {
                let body = sequence(&[&branch.body], false, depth);
                otherwise = match &branch.condition {
                    None => body,
                    Some(condition) => {
                        Script::If(Box::new(sequence(&[condition], false, depth)), Box::new(body), Box::new(otherwise))
                    }
                };
            }
            let condition = sequence(&[&clause.condition], false, depth);
            Script::If(Box::new(condition), Box::new(sequence(&[&clause.then], false, depth)), Box::new(otherwise))
        }
        ShellCommand::Compound(compound, _) => {
            let lists: Vec<&CompoundList> = match compound {
                CompoundCommand::ForClause(clause) => vec![&clause.body.list],
                CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                    vec![&clause.0, &clause.1.list]
                }
                CompoundCommand::CaseClause(clause) => {
                    clause.cases.iter().filter_map(|case| case.cmd.as_ref()).collect()
                }
                _ => Vec::new(),
            };
            unread(&sequence(&lists, false, depth))
        }
        ShellCommand::Function(_) | ShellCommand::ExtendedTest(..) => Script::Unread(Vec::new()),
    }
}

fn unread(script: &Script) -> Script {
    Script::Unread(script.calls().into_iter().cloned().collect())
}

fn simple_command(command: &SimpleCommand, depth: usize) -> Script {
    let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
    let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
    let mut inner = Vec::new();
    let mut words = Vec::new();
    for item in prefix {
        if let Item::AssignmentWord(_, word) = item {
            text_of(&word.value, depth, &mut inner);
        }
    }
    if let Some(name) = &command.word_or_name {
        words.push(text_of(&name.value, depth, &mut inner));
    }
    for item in suffix {
        if let Item::Word(word) | Item::AssignmentWord(_, word) = item {
            words.push(text_of(&word.value, depth, &mut inner));
        }
    }
    if words.is_empty() || !inner.is_empty() {
        // `x=$(client)`, or a call whose words come from one: what follows depends on text known at run time.
        if !words.is_empty()
            && let Script::Call(call) = read_words(words, depth)
        {
            inner.push(call);
        }
        return Script::Unread(inner);
    }
    read_words(words, depth)
}

/// The text of a word without its quotes. Calls in command substitutions are put into `inner`.
fn text_of(source: &str, depth: usize, inner: &mut Vec<Call>) -> String {
    match word::parse(source, &ParserOptions::default()) {
        Ok(pieces) => pieces.iter().map(|piece| piece_text(piece, source, depth, inner)).collect(),
        Err(_) => source.to_owned(),
    }
}

fn piece_text(piece: &WordPieceWithSource, source: &str, depth: usize, inner: &mut Vec<Call>) -> String {
    let as_written = || source.get(piece.start_index..piece.end_index).unwrap_or("$?").to_owned();
    match &piece.piece {
        WordPiece::Text(text) | WordPiece::SingleQuotedText(text) | WordPiece::AnsiCQuotedText(text) => text.clone(),
        WordPiece::EscapeSequence(text) => text.strip_prefix('\\').unwrap_or(text).to_owned(),
        WordPiece::DoubleQuotedSequence(pieces) | WordPiece::GettextDoubleQuotedSequence(pieces) => {
            pieces.iter().map(|piece| piece_text(piece, source, depth, inner)).collect()
        }
        WordPiece::CommandSubstitution(text) | WordPiece::BackquotedCommandSubstitution(text) => {
            inner.extend(read_text(text, false, depth + 1).calls().into_iter().cloned());
            as_written()
        }
        WordPiece::TildeExpansion(_) | WordPiece::ParameterExpansion(_) | WordPiece::ArithmeticExpression(_) => {
            as_written()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that is refused, a tolerant one that prints LOADING, and nothing else known.
    fn recovering(call: &Call) -> Option<Answer> {
        match call.program() {
            "pg_isready" => Some(Answer { outcome: Outcome::Fails, output: Some("rejecting connections") }),
            "redis-cli" => Some(Answer { outcome: Outcome::Passes, output: Some("LOADING Redis is loading") }),
            _ => None,
        }
    }

    fn outcome(command: &[&str]) -> Outcome {
        Script::read(command).evaluate(&recovering)
    }

    #[test]
    fn follows_shells_wrappers_and_operators() {
        use Outcome::{Fails, Passes, Unknown};
        let table: [(&[&str], Outcome); 29] = [
            (&["pg_isready", "-U", "app"], Fails),
            (&["/usr/bin/env", "PGUSER=a", "timeout", "-k", "1", "5", "pg_isready"], Fails),
            (&["sh", "-c", "exec pg_isready -U \"$USER\""], Fails),
            (&["bash", "-ec", "pg_isready\ntrue"], Fails),
            (&["sh", "-c", "-e", "exec pg_isready -p 5432\n[ -f /x ] || [ -f /y ]\n"], Fails),
            (&["sh", "-c", "true", "pg_isready"], Passes),
            (&["bash", "-ec", "if [[ -f /p ]]; then p=$(cat /p); fi\npg_isready -U \"$p\""], Fails),
            (&["bash", "-ec", "if [[ -f /p ]]; then exit 0; fi\npg_isready"], Unknown),
            (&["bash", "-ec", "[ -f /p ] && touch /q\ntrue"], Unknown),
            (&["sh", "-c", "pg_isready; true"], Passes),
            (&["sh", "-c", "pg_isready || exit 0"], Passes),
            (&["sh", "-c", "pg_isready || exit 1"], Fails),
            (&["sh", "-c", "! pg_isready"], Passes),
            (&["sh", "-c", "pg_isready && [ -f /x ]"], Fails),
            (&["sh", "-c", "[ -f /x ] && pg_isready"], Fails),
            (&["sh", "-c", "[ -f /x ] || pg_isready"], Unknown),
            (&["sh", "-c", "if [ -f /restoring ]; then exit 0; fi; pg_isready"], Unknown),
            (&["sh", "-c", "if [ -f /x ]; then pg_isready; else pg_isready -h b; fi"], Fails),
            (&["sh", "-c", "redis-cli ping"], Passes),
            (&["sh", "-c", "redis-cli ping | grep PONG"], Fails),
            (&["sh", "-c", "redis-cli ping | grep -qE 'PONG|LOADING'"], Passes),
            (&["sh", "-c", "redis-cli ping | grep 'PONG\\|LOADING'"], Passes),
            (&["sh", "-c", "redis-cli ping | grep P.NG"], Unknown),
            (&["sh", "-c", "test \"$(redis-cli ping)\" = PONG"], Unknown),
            (&["sh", "-c", "r=$(redis-cli ping); if [ \"$r\" != PONG ]; then exit 1; fi"], Unknown),
            (&["sh", "-c", "pg_isready > /dev/null 2>&1"], Fails),
            (&["sh", "/scripts/check.sh"], Unknown),
            (&["sh", "-c", "while true; do pg_isready && break; done"], Unknown),
            (&["sh", "-c", "pg_isready | tee /tmp/log"], Passes),
        ];
        for (command, expected) in table {
            assert_eq!(outcome(command), expected, "{command:?}");
        }
    }

    #[test]
    fn finds_the_calls_in_what_it_cannot_follow() {
        let script = Script::read(&["bash", "-c", "for i in 1 2; do x=$(timeout 3 redis-cli -p 6380 ping); done"]);
        let calls = script.calls();
        assert_eq!(calls[0].program(), "redis-cli");
        assert_eq!(calls[0].option(&["-p"]), Some("6380"));
    }

    #[test]
    fn the_same_check_has_one_form() {
        let form = |command: &[&str]| Script::read(command).normal_form();
        let plain = form(&["pg_isready", "-U", "app"]);
        for same in [
            form(&["sh", "-c", "pg_isready -U app"]),
            form(&["/bin/bash", "-c", "timeout 3 pg_isready -U 'app'"]),
            form(&["sh", "-c", "exec pg_isready -U app && test -f /x"]),
        ] {
            assert_eq!(same, plain);
        }
        assert_ne!(form(&["pg_isready", "-U", "other"]), plain);
    }

    #[test]
    fn hostile_scripts_are_unread_not_fatal() {
        for text in ["(".repeat(100_000), "if ".repeat(50_000), "$(".repeat(30), "'".to_owned(), "\u{0}\\".to_owned()] {
            let _ = outcome(&["sh", "-c", &text]);
        }
        assert_eq!(Script::read::<&str>(&[]), Script::Unread(Vec::new()));
    }

    proptest::proptest! {
        #[test]
        fn never_panics(words in proptest::collection::vec("(sh|-c|-e|env|timeout|[ -~]{0,40}|\\PC{0,20})", 0..5)) {
            let script = Script::read(&words);
            let _ = (script.evaluate(&recovering), script.normal_form());
        }
    }
}
