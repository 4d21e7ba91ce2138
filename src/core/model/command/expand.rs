//! Words become texts: parameters, substitutions, arithmetic, and the splitting into fields.

use std::rc::Rc;

use brush_parser::{arithmetic, ast};

use super::evaluate::{Evaluator, Flow, GaveUp, bounded};
use super::pattern::{Glyph, glyphs, without};
use super::read::{MAX_SUBSCRIPTS, subscripts};
use super::state::{Sink, Slot, State};
use super::tree::{List, Node, Operation, Parameter, Piece, Redirect, Simple, Word};
use super::value::{Status, Value};

/// One word of a command after expansion.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub value: Value,
    /// Its text where that is known, else as it stands in the script.
    pub text: String,
    /// It may become any number of words, or none.
    pub splits: bool,
    /// The variable that it consists of, unquoted, and that neither script nor manifest defines.
    pub undefined: Option<String>,
}

impl Field {
    pub(super) fn known(text: &str) -> Self {
        Self { value: Value::Known(text.to_owned()), text: text.to_owned(), splits: false, undefined: None }
    }
}

/// What a piece of a word becomes.
#[derive(Clone, Debug)]
enum Atom {
    /// Text of the script outside of quotes.
    Bare(String),
    /// Something that stays in one field.
    Whole(Value),
    /// Something that is split at spaces.
    Split(Value),
    /// `"$@"` begins a new field here.
    Break,
    /// Any number of fields.
    Any,
}

/// What each way through an expansion leads to.
pub(super) type Ways<T> = Result<Vec<(State, T)>, GaveUp>;

impl Evaluator<'_> {
    /// The fields of several words.
    pub(super) fn fields(&mut self, words: &[Word], state: State) -> Ways<Vec<Field>> {
        let mut ways = vec![(state, Vec::new())];
        for word in words {
            let mut next = Vec::new();
            for (state, fields) in ways {
                let undefined = self.undefined(word, &state);
                for (state, atoms) in self.atoms(&word.pieces, false, state)? {
                    let mut more = into_fields(&atoms, word, &state);
                    if let [only] = more.as_mut_slice() {
                        only.undefined.clone_from(&undefined);
                    }
                    next.push((state, [fields.clone(), more].concat()));
                }
            }
            ways = bounded(next)?;
        }
        Ok(ways)
    }

    /// Several words, each of which stays one field.
    pub(super) fn whole_fields(&mut self, words: &[Word], state: State) -> Ways<Vec<Field>> {
        let mut ways = vec![(state, Vec::new())];
        for word in words {
            let mut next = Vec::new();
            for (state, fields) in ways {
                for (state, value) in self.single(word, state)? {
                    let text = value.known().unwrap_or(&word.written).to_owned();
                    let field = Field { value, text, splits: false, undefined: None };
                    next.push((state, [fields.clone(), vec![field]].concat()));
                }
            }
            ways = bounded(next)?;
        }
        Ok(ways)
    }

    /// A word as one text, as in an assignment.
    pub(super) fn single(&mut self, word: &Word, state: State) -> Ways<Value> {
        let ways = self.atoms(&word.pieces, false, state)?;
        Ok(ways.into_iter().map(|(state, atoms)| (state, joined(&atoms))).collect())
    }

    /// A word as a shell pattern; None where it is not known.
    pub(super) fn pattern(&mut self, word: &Word, state: State) -> Ways<Option<Vec<Glyph>>> {
        let read = |atoms: &[Atom]| -> Option<Vec<Glyph>> {
            let mut pattern = Vec::new();
            for atom in atoms {
                match atom {
                    Atom::Bare(text) | Atom::Split(Value::Known(text)) => pattern.extend(glyphs(text)?),
                    Atom::Whole(Value::Known(text)) => pattern.extend(text.chars().map(Glyph::Literal)),
                    _ => return None,
                }
            }
            Some(pattern)
        };
        let ways = self.atoms(&word.pieces, false, state)?;
        Ok(ways.into_iter().map(|(state, atoms)| (state, read(&atoms))).collect())
    }

    /// A word as an extended regular expression, in which quoted text stands for itself.
    pub(super) fn expression(&mut self, word: &Word, state: State) -> Ways<Option<String>> {
        let read = |atoms: &[Atom]| -> Option<String> {
            let parts = atoms.iter().map(|atom| match atom {
                Atom::Bare(text) | Atom::Split(Value::Known(text)) => Some(text.clone()),
                Atom::Whole(Value::Known(text)) => Some(regex_lite::escape(text)),
                _ => None,
            });
            parts.collect()
        };
        let ways = self.atoms(&word.pieces, false, state)?;
        Ok(ways.into_iter().map(|(state, atoms)| (state, read(&atoms))).collect())
    }

    fn undefined(&self, word: &Word, state: &State) -> Option<String> {
        let [Piece::Parameter(Parameter::Named(name), Operation::Plain)] = word.pieces.as_slice() else { return None };
        let is_undefined = state.value(name) == Slot::Unknown && self.environment().leaves_out(name);
        is_undefined.then(|| name.clone())
    }

    fn atoms(&mut self, pieces: &[Piece], quoted: bool, state: State) -> Ways<Vec<Atom>> {
        let mut ways = vec![(state, Vec::new())];
        for piece in pieces {
            let mut next = Vec::new();
            for (state, atoms) in ways {
                for (state, more) in self.piece(piece, quoted, state)? {
                    next.push((state, [atoms.clone(), more].concat()));
                }
            }
            ways = bounded(next)?;
        }
        Ok(ways)
    }

    fn piece(&mut self, piece: &Piece, quoted: bool, state: State) -> Ways<Vec<Atom>> {
        self.step()?;
        let wrap = |value: Value| vec![if quoted { Atom::Whole(value) } else { Atom::Split(value) }];
        Ok(match piece {
            Piece::Bare(text) if quoted => vec![(state, vec![Atom::Whole(Value::Known(text.clone()))])],
            Piece::Bare(text) => vec![(state, vec![Atom::Bare(text.clone())])],
            Piece::Quoted(text) => vec![(state, vec![Atom::Whole(Value::Known(text.clone()))])],
            Piece::DoubleQuoted(inner) => {
                let mut ways = self.atoms(inner, true, state)?;
                for (_, atoms) in &mut ways {
                    // `""` is a field, and so is `"$x"` where x is empty; `"$@"` without any is none.
                    let is_all =
                        matches!(inner.as_slice(), [Piece::Parameter(Parameter::All(false), Operation::Plain)]);
                    if !is_all {
                        atoms.push(Atom::Whole(Value::empty()));
                    }
                }
                ways
            }
            Piece::Parameter(Parameter::All(joins), Operation::Plain) => {
                let atoms = match &state.positional {
                    None => vec![Atom::Any],
                    Some(arguments) if quoted && *joins => {
                        let mut atoms = Vec::new();
                        for (index, value) in arguments.iter().skip(1).enumerate() {
                            if index > 0 {
                                atoms.push(Atom::Whole(Value::Known(" ".to_owned())));
                            }
                            atoms.push(Atom::Whole(value.clone()));
                        }
                        atoms
                    }
                    Some(arguments) => {
                        let mut atoms = Vec::new();
                        for (index, value) in arguments.iter().skip(1).enumerate() {
                            if index > 0 {
                                atoms.push(Atom::Break);
                            }
                            atoms.extend(wrap(value.clone()));
                        }
                        atoms
                    }
                };
                vec![(state, atoms)]
            }
            Piece::Parameter(parameter, operation) => {
                let ways = self.parameter(parameter, operation, state)?;
                ways.into_iter().map(|(state, value)| (state, wrap(value))).collect()
            }
            Piece::Command(list) => {
                let ways = self.substitute(list, &state)?;
                ways.into_iter().map(|(state, value)| (state, wrap(value))).collect()
            }
            Piece::Arithmetic(word) => {
                let ways = self.arithmetic(word, state)?;
                let value =
                    |number: Option<i64>| number.map_or(Value::Unknown, |number| Value::Known(number.to_string()));
                ways.into_iter().map(|(state, number)| (state, wrap(value(number)))).collect()
            }
            Piece::OpaqueCommand => {
                let state = State { substitution: Some(Status::Unknown), ..state };
                vec![(state, vec![Atom::Any])]
            }
            Piece::Opaque => vec![(state, vec![if quoted { Atom::Whole(Value::Unknown) } else { Atom::Any }])],
        })
    }

    fn parameter(&mut self, parameter: &Parameter, operation: &Operation, state: State) -> Ways<Value> {
        let slot = match parameter {
            Parameter::Named(name) => state.value(name),
            Parameter::Positional(index) => state.argument(*index),
            Parameter::Status => Slot::Set(state.status.value()),
            Parameter::Count => match &state.positional {
                Some(arguments) => Slot::Set(Value::Known(arguments.len().saturating_sub(1).to_string())),
                None => Slot::Unknown,
            },
            Parameter::All(_) | Parameter::Opaque => Slot::Unknown,
        };
        // Whether it counts as none, for `:-` and its like, or for `-`.
        let is_missing = |or_empty: bool| match &slot {
            Slot::Unset => Some(true),
            Slot::Set(value) if or_empty => value.is_empty(),
            Slot::Set(_) => Some(false),
            Slot::Unknown => None,
        };
        let value = match &slot {
            Slot::Set(value) => value.clone(),
            Slot::Unset => Value::empty(),
            Slot::Unknown => Value::Unknown,
        };
        let only = |state: State, value: Value| Ok(vec![(state, value)]);
        match operation {
            Operation::Plain => {
                let is_defined = match parameter {
                    Parameter::Named(name) => self.environment().defines(name),
                    _ => true,
                };
                match slot {
                    Slot::Unset if state.options.no_unset => only(State { is_broken: true, ..state }, value),
                    Slot::Unknown if state.options.no_unset && !is_defined => {
                        let broken = State { is_broken: true, ..state.clone() };
                        Ok(vec![(state, value), (broken, Value::Unknown)])
                    }
                    _ => only(state, value),
                }
            }
            Operation::Demand(or_empty) => match is_missing(*or_empty) {
                Some(false) => only(state, value),
                Some(true) => only(State { is_broken: true, ..state }, value),
                None => {
                    let broken = State { is_broken: true, ..state.clone() };
                    Ok(vec![(state, value), (broken, Value::Unknown)])
                }
            },
            Operation::Default(word, or_empty) | Operation::Assign(word, or_empty) => match is_missing(*or_empty) {
                Some(false) => only(state, value),
                Some(true) => {
                    let mut ways = self.single(word, state)?;
                    if let (Operation::Assign(..), Parameter::Named(name)) = (operation, parameter) {
                        for (state, value) in &mut ways {
                            state.assign(name, value.clone());
                        }
                    }
                    Ok(ways)
                }
                None => {
                    // For the calls in it.
                    self.single(word, state.clone())?;
                    let mut state = state;
                    if let (Operation::Assign(..), Parameter::Named(name)) = (operation, parameter) {
                        state.assign(name, Value::Unknown);
                    }
                    only(state, Value::Unknown)
                }
            },
            Operation::Alternative(word, or_empty) => match is_missing(*or_empty) {
                Some(true) => only(state, Value::empty()),
                Some(false) => self.single(word, state),
                None => {
                    self.single(word, state.clone())?;
                    only(state, Value::Unknown)
                }
            },
            Operation::Length => {
                let length = value.known().map(|text| text.chars().count().to_string());
                only(state, length.map_or(Value::Unknown, Value::Known))
            }
            Operation::RemovePrefix { pattern, longest } | Operation::RemoveSuffix { pattern, longest } => {
                let from_end = matches!(operation, Operation::RemoveSuffix { .. });
                let ways = self.pattern(pattern, state)?;
                let cut = |pattern: Option<Vec<Glyph>>| match (value.known(), pattern) {
                    (Some(text), Some(pattern)) if text.len() <= 1024 => {
                        Value::Known(without(text, &pattern, *longest, from_end).to_owned())
                    }
                    _ => Value::Unknown,
                };
                Ok(ways.into_iter().map(|(state, pattern)| (state, cut(pattern))).collect())
            }
            Operation::Opaque => only(state, Value::Unknown),
        }
    }

    /// What `$( … )` prints, with its status.
    fn substitute(&mut self, list: &Rc<List>, state: &State) -> Ways<Value> {
        let mut results: Vec<(Status, Value)> = Vec::new();
        if let Some(file) = read_by(list) {
            for (_, path) in self.single(file, state.clone())? {
                results.push(match path.known().and_then(|path| self.text_of(path)) {
                    Some(text) => (Status::Code(0), Value::Known(text.to_owned()).trimmed()),
                    None => (Status::Unknown, Value::Unknown),
                });
            }
        } else {
            let mut inner = state.clone();
            inner.output = Some(Value::empty());
            inner.sink = Sink::START;
            // bash does not hand `-e` down, unless it plays sh.
            inner.options.stop_on_failure &= !inner.options.bash;
            for path in self.list(list, inner, false)? {
                if matches!(path.flow, Flow::Break(_) | Flow::Continue(_)) {
                    return Err(GaveUp);
                }
                let value = path.state.output.unwrap_or(Value::Unknown).trimmed();
                if !results.contains(&(path.state.status, value.clone())) {
                    results.push((path.state.status, value));
                }
            }
        }
        let ways = results.into_iter().map(|(status, value)| {
            let mut state = state.clone();
            state.substitution = Some(status);
            state.complain(None);
            (state, value)
        });
        Ok(ways.collect())
    }

    /// The number that an arithmetic expression has.
    pub(super) fn arithmetic(&mut self, word: &Word, state: State) -> Ways<Option<i64>> {
        let mut ways = Vec::new();
        for (mut state, text) in self.single(word, state)? {
            let expression = text
                .known()
                .filter(|text| text.len() <= 200 && subscripts(text) <= MAX_SUBSCRIPTS)
                .and_then(|text| arithmetic::parse(text).ok());
            let number = match expression {
                Some(expression) => calculate(&expression, &mut state),
                // What it assigns is not known.
                None if word.written.contains(['=']) || word.written.contains("++") || word.written.contains("--") => {
                    return Err(GaveUp);
                }
                None => None,
            };
            ways.push((state, number));
        }
        Ok(ways)
    }
}

/// The file in `$(< file)`.
fn read_by(list: &List) -> Option<&Word> {
    let [item] = list.0.as_slice() else { return None };
    let Node::Simple(Simple { assignments, words, redirects }) = &item.command else { return None };
    match redirects.as_slice() {
        [Redirect::FromFile(word)] if assignments.is_empty() && words.is_empty() => Some(word),
        _ => None,
    }
}

fn joined(atoms: &[Atom]) -> Value {
    atoms.iter().fold(Value::empty(), |value, atom| match atom {
        Atom::Bare(text) => value.followed_by(&Value::Known(text.clone())),
        Atom::Whole(next) | Atom::Split(next) => value.followed_by(next),
        Atom::Break => value.followed_by(&Value::Known(" ".to_owned())),
        Atom::Any => Value::Unknown,
    })
}

/// Splits what a word became into fields.
fn into_fields(atoms: &[Atom], word: &Word, state: &State) -> Vec<Field> {
    // Brackets, `*` and `?` may be file names, and bash makes several words of braces.
    let is_glob = |text: &str| {
        text.contains(['*', '?'])
            || text.contains('[') && text.contains(']')
            || text.contains('{') && text.contains('}') && (text.contains(',') || text.contains(".."))
    };
    let bare: String =
        atoms.iter().filter_map(|atom| if let Atom::Bare(text) = atom { Some(text.as_str()) } else { None }).collect();
    let has_odd_separators = state.variables.contains_key("IFS");
    let mut fields: Vec<(Value, bool)> = Vec::new();
    let mut open: Option<(Value, bool)> = None;
    let append = |open: &mut Option<(Value, bool)>, value: &Value, splits: bool| {
        let (before, split) = open.take().unwrap_or((Value::empty(), false));
        *open = Some((before.followed_by(value), split || splits));
    };
    for atom in atoms {
        match atom {
            Atom::Bare(text) => append(&mut open, &Value::Known(text.clone()), false),
            Atom::Whole(value) => append(&mut open, value, false),
            Atom::Break => fields.extend(open.take()),
            Atom::Split(Value::Known(text)) if is_glob(text) => append(&mut open, &Value::Unknown, true),
            Atom::Split(Value::Known(text))
                if has_odd_separators && !text.chars().all(|c| c.is_ascii_alphanumeric()) =>
            {
                append(&mut open, &Value::Unknown, true);
            }
            Atom::Split(Value::Known(text)) => {
                let is_space = |c: char| matches!(c, ' ' | '\t' | '\n');
                if text.starts_with(is_space) {
                    fields.extend(open.take());
                }
                for (index, part) in text.split(is_space).filter(|part| !part.is_empty()).enumerate() {
                    if index > 0 {
                        fields.extend(open.take());
                    }
                    append(&mut open, &Value::Known(part.to_owned()), false);
                }
                if text.ends_with(is_space) {
                    fields.extend(open.take());
                }
            }
            Atom::Split(Value::NonZero) => append(&mut open, &Value::NonZero, false),
            Atom::Any | Atom::Split(Value::Noisy { .. } | Value::Unknown) => append(&mut open, &Value::Unknown, true),
        }
    }
    fields.extend(open);
    // A word that came out as one field is written as it stands in the script.
    let as_written = if is_glob(&bare) { Some(true) } else { None };
    fields
        .into_iter()
        .map(|(value, splits)| {
            let is_pattern = as_written.is_some();
            let text = match value.known() {
                Some(text) => text.to_owned(),
                None => word.written.clone(),
            };
            let value = if is_pattern { Value::Unknown } else { value };
            Field { value, text, splits: splits || is_pattern, undefined: None }
        })
        .collect()
}

/// Evaluates an expression; None where a value in it is not known, or the shell would complain.
fn calculate(expression: &ast::ArithmeticExpr, state: &mut State) -> Option<i64> {
    use ast::{ArithmeticExpr as Expression, ArithmeticTarget, BinaryOperator, UnaryAssignmentOperator, UnaryOperator};
    let read = |target: &ArithmeticTarget, state: &State| -> Option<i64> {
        let ArithmeticTarget::Variable(name) = target else { return None };
        match state.value(name) {
            Slot::Set(Value::Known(text)) if text.is_empty() => Some(0),
            // A leading zero is octal.
            Slot::Set(Value::Known(text)) if text.len() > 1 && text.starts_with('0') => None,
            Slot::Set(Value::Known(text)) => text.parse().ok(),
            Slot::Unset => Some(0),
            Slot::Set(_) | Slot::Unknown => None,
        }
    };
    let write = |target: &ArithmeticTarget, number: Option<i64>, state: &mut State| {
        let (ArithmeticTarget::Variable(name) | ArithmeticTarget::ArrayElement(name, _)) = target;
        let value = match (target, number) {
            (ArithmeticTarget::Variable(_), Some(number)) => Value::Known(number.to_string()),
            _ => Value::Unknown,
        };
        state.assign(name, value);
    };
    let apply = |operator: &BinaryOperator, left: i64, right: i64| -> Option<i64> {
        Some(match operator {
            BinaryOperator::Power => left.checked_pow(u32::try_from(right).ok()?)?,
            BinaryOperator::Multiply => left.checked_mul(right)?,
            BinaryOperator::Divide => left.checked_div(right)?,
            BinaryOperator::Modulo => left.checked_rem(right)?,
            BinaryOperator::Comma => right,
            BinaryOperator::Add => left.checked_add(right)?,
            BinaryOperator::Subtract => left.checked_sub(right)?,
            BinaryOperator::ShiftLeft => left.checked_shl(u32::try_from(right).ok()?)?,
            BinaryOperator::ShiftRight => left.checked_shr(u32::try_from(right).ok()?)?,
            BinaryOperator::LessThan => i64::from(left < right),
            BinaryOperator::LessThanOrEqualTo => i64::from(left <= right),
            BinaryOperator::GreaterThan => i64::from(left > right),
            BinaryOperator::GreaterThanOrEqualTo => i64::from(left >= right),
            BinaryOperator::Equals => i64::from(left == right),
            BinaryOperator::NotEquals => i64::from(left != right),
            BinaryOperator::BitwiseAnd => left & right,
            BinaryOperator::BitwiseXor => left ^ right,
            BinaryOperator::BitwiseOr => left | right,
            BinaryOperator::LogicalAnd => i64::from(left != 0 && right != 0),
            BinaryOperator::LogicalOr => i64::from(left != 0 || right != 0),
        })
    };
    match expression {
        Expression::Literal(number) => Some(*number),
        Expression::Reference(target) => read(target, state),
        Expression::UnaryOp(operator, inner) => {
            let number = calculate(inner, state)?;
            match operator {
                UnaryOperator::UnaryPlus => Some(number),
                UnaryOperator::UnaryMinus => number.checked_neg(),
                UnaryOperator::BitwiseNot => Some(!number),
                UnaryOperator::LogicalNot => Some(i64::from(number == 0)),
            }
        }
        Expression::BinaryOp(operator, left, right) => {
            // Both are read, so that what either assigns is not missed; what would not be read is then not known.
            let before = state.clone();
            let left = calculate(left, state);
            let skips = match (operator, left) {
                (BinaryOperator::LogicalAnd, Some(0)) => Some(0),
                (BinaryOperator::LogicalOr, Some(number)) if number != 0 => Some(1),
                (BinaryOperator::LogicalAnd | BinaryOperator::LogicalOr, None) => {
                    calculate(right, state);
                    forget_changes(&before, state);
                    return None;
                }
                _ => None,
            };
            if skips.is_some() {
                return skips;
            }
            let right = calculate(right, state);
            apply(operator, left?, right?)
        }
        Expression::Conditional(condition, then, otherwise) => match calculate(condition, state) {
            Some(0) => calculate(otherwise, state),
            Some(_) => calculate(then, state),
            None => {
                let before = state.clone();
                calculate(then, state);
                calculate(otherwise, state);
                forget_changes(&before, state);
                None
            }
        },
        Expression::Assignment(target, inner) => {
            let number = calculate(inner, state);
            write(target, number, state);
            number
        }
        Expression::BinaryAssignment(operator, target, inner) => {
            let right = calculate(inner, state);
            let number = read(target, state).zip(right).and_then(|(left, right)| apply(operator, left, right));
            write(target, number, state);
            number
        }
        Expression::UnaryAssignment(operator, target) => {
            let before = read(target, state);
            let by = match operator {
                UnaryAssignmentOperator::PrefixIncrement | UnaryAssignmentOperator::PostfixIncrement => 1,
                UnaryAssignmentOperator::PrefixDecrement | UnaryAssignmentOperator::PostfixDecrement => -1,
            };
            let after = before.and_then(|number| number.checked_add(by));
            write(target, after, state);
            match operator {
                UnaryAssignmentOperator::PrefixIncrement | UnaryAssignmentOperator::PrefixDecrement => after,
                UnaryAssignmentOperator::PostfixIncrement | UnaryAssignmentOperator::PostfixDecrement => before,
            }
        }
    }
}

/// Of what may have been assigned nothing is known.
fn forget_changes(before: &State, state: &mut State) {
    for (name, variable) in &mut state.variables {
        if before.variables.get(name) != Some(variable) {
            variable.value = Some(Value::Unknown);
        }
    }
}
