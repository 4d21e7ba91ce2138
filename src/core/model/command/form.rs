//! A form in which two commands that check the same are equal, and the calls that stand in a script.

use std::fmt::Write as _;

use super::Call;
use super::expand::Field;
use super::program::SHELLS;
use super::read_again;
use super::tree::{List, Node, Operation, Piece, Redirect, Simple, Word};
use super::value::Value;
use super::wrappers::{Unwrapped, unwrap};

/// Scripts within scripts that are looked into.
const MAX_DEPTH: usize = 4;

/// The form of a command, without the shell around it, without inner `timeout`s, without what follows an `exec`.
pub(super) fn of_words(words: &[String], depth: usize) -> String {
    of_fields(words.iter().map(|word| Field::known(word)).collect(), depth)
}

fn of_fields(fields: Vec<Field>, depth: usize) -> String {
    let command = unwrap(fields);
    if depth < MAX_DEPTH
        && let Some((text, rest)) = shell_text(&command)
        && let Some(list) = text.value.known().and_then(read_again)
    {
        let mut form = of_list(&list, depth + 1);
        for word in rest {
            let _ = write!(form, " {:?}", word.text);
        }
        return form;
    }
    let words = command.fields.iter().map(|field| format!("{:?}", field.text));
    words.collect::<Vec<_>>().join(" ")
}

/// The text that a shell is given, and the words after it.
fn shell_text(command: &Unwrapped) -> Option<(&Field, &[Field])> {
    if let Some(text) = &command.shell_text {
        return Some((text, &[]));
    }
    let (shell, words) = command.fields.split_first()?;
    SHELLS.contains(&shell.text.rsplit('/').next()?).then_some(())?;
    let mut is_text = false;
    let mut index = 0;
    while let Some(word) = words.get(index) {
        index += 1;
        match word.text.strip_prefix(['-', '+']) {
            Some(flags) if !flags.starts_with('-') => {
                is_text |= flags.contains('c');
                index += flags.matches('o').count();
            }
            Some(_) => {}
            None => return is_text.then(|| (word, words.get(index..).unwrap_or(&[]))),
        }
    }
    None
}

fn of_list(list: &List, depth: usize) -> String {
    let mut parts = Vec::new();
    for item in &list.0 {
        parts.push(of_node(&item.command, depth) + if item.background { " &" } else { "" });
        if replaces_shell(&item.command) {
            break;
        }
    }
    parts.join("; ")
}

fn of_node(node: &Node, depth: usize) -> String {
    match node {
        Node::Simple(simple) => of_simple(simple, depth),
        Node::And(first, _) if replaces_shell(first) => of_node(first, depth),
        Node::And(first, second) => format!("({} && {})", of_node(first, depth), of_node(second, depth)),
        Node::Or(first, second) => format!("({} || {})", of_node(first, depth), of_node(second, depth)),
        Node::Not(inner) => format!("!({})", of_node(inner, depth)),
        Node::Pipe(stages) => stages.iter().map(|stage| of_node(stage, depth)).collect::<Vec<_>>().join(" | "),
        Node::Group(list) => format!("{{{}}}", of_list(list, depth)),
        Node::Subshell(list) => format!("({})", of_list(list, depth)),
        Node::Redirected(inner, redirects) => of_node(inner, depth) + &of_input(redirects, depth),
        Node::If(branches, otherwise) => {
            let branches = branches
                .iter()
                .map(|(condition, body)| format!("{} then {}", of_list(condition, depth), of_list(body, depth)));
            format!("if({} else {})", branches.collect::<Vec<_>>().join(" elif "), of_list(otherwise, depth))
        }
        Node::While { until, condition, body } => {
            let word = if *until { "until" } else { "while" };
            format!("{word}({} do {})", of_list(condition, depth), of_list(body, depth))
        }
        Node::For { name, words, body } => {
            let words = words.iter().flatten().map(|word| of_word(word, depth)).collect::<Vec<_>>().join(" ");
            format!("for({name} in {words} do {})", of_list(body, depth))
        }
        Node::Case { value, arms } => {
            let arms = arms.iter().map(|arm| {
                let patterns: Vec<String> = arm.patterns.iter().map(|pattern| of_word(pattern, depth)).collect();
                format!("{}) {} {:?}", patterns.join("|"), of_list(&arm.body, depth), arm.after)
            });
            format!("case({} in {})", of_word(value, depth), arms.collect::<Vec<_>>().join(" "))
        }
        Node::Function(name, body) => format!("{name}()({})", of_node(body, depth)),
        Node::Test(test) => format!("[[{test:?}]]"),
        Node::Arithmetic(word) => format!("(({}))", of_word(word, depth)),
        Node::Opaque(list) => format!("?({})", of_list(list, depth)),
    }
}

fn of_simple(simple: &Simple, depth: usize) -> String {
    if simple.words.is_empty() {
        let assignments = simple.assignments.iter().map(|assignment| {
            let value = assignment.value.as_ref().map_or_else(|| "?".to_owned(), |word| of_word(word, depth));
            format!("{}={value}", assignment.name)
        });
        return assignments.collect::<Vec<_>>().join(" ");
    }
    let fields = simple.words.iter().map(|word| Field { text: of_word(word, depth), ..field(word) }).collect();
    of_fields(fields, depth) + &of_input(&simple.redirects, depth)
}

fn of_input(redirects: &[Redirect], depth: usize) -> String {
    let inputs = redirects.iter().filter_map(|redirect| match redirect {
        Redirect::FromText(word, _) | Redirect::FromFile(word) => Some(format!(" < {}", of_word(word, depth))),
        _ => None,
    });
    inputs.collect()
}

fn of_word(word: &Word, depth: usize) -> String {
    fn of_pieces(pieces: &[Piece], depth: usize) -> String {
        let parts = pieces.iter().map(|piece| match piece {
            Piece::Bare(text) | Piece::Quoted(text) => text.clone(),
            Piece::DoubleQuoted(inner) => of_pieces(inner, depth),
            Piece::Command(list) => format!("$({})", of_list(list, depth)),
            Piece::Arithmetic(word) => format!("$(({}))", of_pieces(&word.pieces, depth)),
            Piece::Parameter(parameter, Operation::Plain) => format!("${parameter:?}"),
            Piece::Parameter(parameter, operation) => format!("${parameter:?}{operation:?}"),
            Piece::OpaqueCommand | Piece::Opaque => "?".to_owned(),
        });
        parts.collect()
    }
    if word.pieces.iter().any(|piece| matches!(piece, Piece::OpaqueCommand | Piece::Opaque)) {
        return word.written.clone();
    }
    of_pieces(&word.pieces, depth)
}

fn replaces_shell(node: &Node) -> bool {
    match node {
        Node::Simple(simple) => {
            let command = unwrap(simple.words.iter().map(field).collect());
            command.replaces_shell && !command.fields.is_empty()
        }
        Node::And(first, _) => replaces_shell(first),
        Node::Redirected(inner, _) => replaces_shell(inner),
        _ => false,
    }
}

/// A word as a field, without looking at what it is expanded to.
fn field(word: &Word) -> Field {
    fn is_text(pieces: &[Piece]) -> bool {
        pieces.iter().all(|piece| match piece {
            Piece::Bare(_) | Piece::Quoted(_) => true,
            Piece::DoubleQuoted(inner) => is_text(inner),
            _ => false,
        })
    }
    let text = word.written.clone();
    let value = if is_text(&word.pieces) { Value::Known(text.clone()) } else { Value::Unknown };
    Field { value, text, splits: false, undefined: None }
}

/// Every call that stands in a command, whether it runs or not.
pub(super) fn calls_in_words(words: &[String], depth: usize, calls: &mut Vec<Call>) {
    calls_in_fields(words.iter().map(|word| Field::known(word)).collect(), depth, calls);
}

fn calls_in_fields(fields: Vec<Field>, depth: usize, calls: &mut Vec<Call>) {
    let command = unwrap(fields);
    if let Some((text, _)) = shell_text(&command) {
        if depth < MAX_DEPTH
            && let Some(list) = text.value.known().and_then(read_again)
        {
            calls_in_list(&list, depth + 1, calls);
        }
        return;
    }
    if let Some((path, arguments)) = command.fields.split_first() {
        calls.push(Call {
            path: path.text.clone(),
            arguments: arguments.iter().map(|field| field.text.clone()).collect(),
            replaces_shell: command.replaces_shell,
            input: None,
            limit: command.limit.clone(),
            open: arguments.iter().map(|field| field.value.known().is_none()).collect(),
        });
    }
}

fn calls_in_list(list: &List, depth: usize, calls: &mut Vec<Call>) {
    for item in &list.0 {
        calls_in_node(&item.command, depth, calls);
    }
}

fn calls_in_node(node: &Node, depth: usize, calls: &mut Vec<Call>) {
    match node {
        Node::Simple(simple) => {
            let assigned = simple.assignments.iter().filter_map(|assignment| assignment.value.as_ref());
            for word in assigned.chain(&simple.words) {
                calls_in_word(word, depth, calls);
            }
            calls_in_fields(simple.words.iter().map(field).collect(), depth, calls);
        }
        Node::And(first, second) | Node::Or(first, second) => {
            calls_in_node(first, depth, calls);
            calls_in_node(second, depth, calls);
        }
        Node::Not(inner) | Node::Redirected(inner, _) => calls_in_node(inner, depth, calls),
        Node::Pipe(stages) => stages.iter().for_each(|stage| calls_in_node(stage, depth, calls)),
        Node::Group(list) | Node::Subshell(list) | Node::Opaque(list) => calls_in_list(list, depth, calls),
        Node::If(branches, otherwise) => {
            for (condition, body) in branches {
                calls_in_list(condition, depth, calls);
                calls_in_list(body, depth, calls);
            }
            calls_in_list(otherwise, depth, calls);
        }
        Node::While { condition, body, .. } => {
            calls_in_list(condition, depth, calls);
            calls_in_list(body, depth, calls);
        }
        Node::For { words, body, .. } => {
            words.iter().flatten().for_each(|word| calls_in_word(word, depth, calls));
            calls_in_list(body, depth, calls);
        }
        Node::Case { value, arms } => {
            calls_in_word(value, depth, calls);
            for arm in arms {
                calls_in_list(&arm.body, depth, calls);
            }
        }
        Node::Function(_, body) => calls_in_node(body, depth, calls),
        Node::Test(test) => test.words(&mut |word| calls_in_word(word, depth, calls)),
        Node::Arithmetic(word) => calls_in_word(word, depth, calls),
    }
}

fn calls_in_word(word: &Word, depth: usize, calls: &mut Vec<Call>) {
    for list in word.commands() {
        calls_in_list(list, depth, calls);
    }
}
