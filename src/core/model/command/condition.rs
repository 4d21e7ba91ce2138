//! `test`, `[ … ]` and `[[ … ]]`.

use super::evaluate::{Evaluator, GaveUp, bounded};
use super::expand::Field;
use super::pattern::{self, Glyph, Syntax};
use super::state::State;
use super::tree::{Binary, Test, Unary};
use super::value::{Value, both, either};

type Decisions = Result<Vec<(State, Option<bool>)>, GaveUp>;

impl Evaluator<'_> {
    /// `[[ … ]]`
    pub(super) fn condition(&mut self, test: &Test, state: State) -> Decisions {
        self.step()?;
        match test {
            Test::Not(inner) => {
                let ways = self.deeper(|this| this.condition(inner, state))?;
                Ok(ways.into_iter().map(|(state, holds)| (state, holds.map(|holds| !holds))).collect())
            }
            Test::And(first, second) => self.joined(first, second, false, state),
            Test::Or(first, second) => self.joined(first, second, true, state),
            Test::Unary(Unary::Opaque, _) => Ok(vec![(state, None)]),
            Test::Unary(unary, word) => {
                let ways = self.single(word, state)?;
                Ok(ways.into_iter().map(|(state, value)| (state, self.unary(*unary, &value))).collect())
            }
            Test::Binary(binary, left, right) => {
                let mut decisions = Vec::new();
                for (state, left) in self.single(left, state)? {
                    match binary {
                        Binary::Matches | Binary::MatchesNot => {
                            for (state, pattern) in self.pattern(right, state)? {
                                let holds = matches_pattern(&left, pattern.as_deref());
                                let negated = *binary == Binary::MatchesNot;
                                decisions.push((state, holds.map(|holds| holds != negated)));
                            }
                        }
                        Binary::MatchesRegex => {
                            for (state, expression) in self.expression(right, state)? {
                                decisions.push((state, matches_regex(&left, expression.as_deref())));
                            }
                        }
                        _ => {
                            for (state, right) in self.single(right, state)? {
                                // Names in `[[ x -eq 1 ]]` are variables; only numbers are read here.
                                decisions.push((state, compare(*binary, &left, &right)));
                            }
                        }
                    }
                }
                bounded(decisions)
            }
        }
    }

    fn joined(&mut self, first: &Test, second: &Test, is_or: bool, state: State) -> Decisions {
        self.deeper(|this| {
            let mut decisions = Vec::new();
            for (state, holds) in this.condition(first, state)? {
                if holds == Some(is_or) {
                    decisions.push((state, holds));
                    continue;
                }
                for (state, second) in this.condition(second, state)? {
                    decisions.push((state, if is_or { either(holds, second) } else { both(holds, second) }));
                }
            }
            bounded(decisions)
        })
    }

    /// `test` and `[`, with the words between.
    pub(super) fn test_command(&mut self, words: &[Field]) -> Option<bool> {
        // Without quotes nobody knows how many words it sees.
        if words.iter().any(|word| word.splits) || words.len() > 64 {
            return None;
        }
        self.test_words(words, 0)
    }

    fn test_words(&mut self, words: &[Field], depth: usize) -> Option<bool> {
        if depth > 70 {
            return None;
        }
        match words {
            [] => Some(false),
            [word] => word.value.is_empty().map(|empty| !empty),
            [not, rest @ ..] if is(not, "!") && words.len() <= 4 => {
                self.test_words(rest, depth + 1).map(|holds| !holds)
            }
            [operator, word] => self.unary(unary(operator.value.known()?)?, &word.value),
            [left, operator, right] if binary(&operator.text).is_some() => {
                compare(binary(operator.value.known()?)?, &left.value, &right.value)
            }
            [open, inner @ .., close] if is(open, "(") && is(close, ")") && !inner.iter().any(|word| is(word, ")")) => {
                self.test_words(inner, depth + 1)
            }
            _ => {
                // `-o` binds less than `-a`.
                for (operator, is_or) in [("-o", true), ("-a", false)] {
                    let Some(index) = words.iter().position(|word| is(word, operator)) else { continue };
                    let (first, rest) = words.split_at(index);
                    let (first, second) =
                        (self.test_words(first, depth + 1), self.test_words(rest.get(1..)?, depth + 1));
                    return if is_or { either(first, second) } else { both(first, second) };
                }
                match words {
                    [not, rest @ ..] if is(not, "!") => self.test_words(rest, depth + 1).map(|holds| !holds),
                    _ => None,
                }
            }
        }
    }

    fn unary(&self, unary: Unary, value: &Value) -> Option<bool> {
        let exists = || {
            let path = value.known()?;
            match self.text_of(path) {
                _ if path.is_empty() => Some(false),
                Some(_) => Some(true),
                None => self.world().exists(path),
            }
        };
        match unary {
            Unary::Empty => value.is_empty(),
            Unary::NotEmpty => value.is_empty().map(|empty| !empty),
            Unary::Exists | Unary::IsFile => exists(),
            Unary::IsNotEmptyFile => match value.known().and_then(|path| self.text_of(path)) {
                Some(text) => Some(!text.is_empty()),
                None => exists().filter(|exists| !exists),
            },
            Unary::OtherOfFile => exists().filter(|exists| !exists),
            Unary::Opaque => None,
        }
    }
}

fn is(word: &Field, text: &str) -> bool {
    word.value.known() == Some(text)
}

fn unary(operator: &str) -> Option<Unary> {
    Some(match operator {
        "-z" => Unary::Empty,
        "-n" => Unary::NotEmpty,
        "-e" | "-a" => Unary::Exists,
        "-f" => Unary::IsFile,
        "-s" => Unary::IsNotEmptyFile,
        "-d" | "-r" | "-w" | "-x" | "-L" | "-h" | "-p" | "-S" | "-b" | "-c" | "-u" | "-g" | "-k" | "-O" | "-G" => {
            Unary::OtherOfFile
        }
        _ => return None,
    })
}

fn binary(operator: &str) -> Option<Binary> {
    Some(match operator {
        "=" | "==" => Binary::Same,
        "!=" => Binary::Different,
        "-eq" => Binary::Equal,
        "-ne" => Binary::NotEqual,
        "-lt" => Binary::Less,
        "-le" => Binary::LessOrEqual,
        "-gt" => Binary::Greater,
        "-ge" => Binary::GreaterOrEqual,
        _ => return None,
    })
}

fn compare(binary: Binary, left: &Value, right: &Value) -> Option<bool> {
    // A failure's status is a number from 1 to 255.
    let range = |value: &Value| match value {
        Value::Known(text) => {
            let number: i64 = text.trim().parse().ok()?;
            Some((number, number))
        }
        Value::NonZero => Some((1, 255)),
        Value::Noisy { .. } | Value::Unknown => None,
    };
    let less = |(least, most): (i64, i64), (other_least, other_most): (i64, i64)| {
        if most < other_least {
            Some(true)
        } else if least >= other_most {
            Some(false)
        } else {
            None
        }
    };
    let equal = |first: (i64, i64), second: (i64, i64)| {
        if first.1 < second.0 || second.1 < first.0 {
            Some(false)
        } else if first.0 == first.1 && first == second {
            Some(true)
        } else {
            None
        }
    };
    let not = |holds: Option<bool>| holds.map(|holds| !holds);
    match binary {
        Binary::Same => return left.same_as(right),
        Binary::Different => return not(left.same_as(right)),
        Binary::Matches | Binary::MatchesNot | Binary::MatchesRegex | Binary::Opaque => return None,
        _ => {}
    }
    let (left, right) = (range(left)?, range(right)?);
    match binary {
        Binary::Equal => equal(left, right),
        Binary::NotEqual => not(equal(left, right)),
        Binary::Less => less(left, right),
        Binary::GreaterOrEqual => not(less(left, right)),
        Binary::Greater => less(right, left),
        Binary::LessOrEqual => not(less(right, left)),
        _ => None,
    }
}

/// Whether a text matches a shell pattern.
pub(super) fn matches_pattern(value: &Value, pattern: Option<&[Glyph]>) -> Option<bool> {
    let pattern = pattern?;
    if pattern.iter().all(|glyph| *glyph == Glyph::Many) && !pattern.is_empty() {
        return Some(true);
    }
    let literal: Option<String> =
        pattern.iter().map(|glyph| if let Glyph::Literal(c) = glyph { Some(*c) } else { None }).collect();
    match (value, literal) {
        (Value::Known(text), _) => Some(pattern::matches(pattern, text)),
        (value, Some(text)) => value.is(&text),
        // `*PONG*`: diagnostics around it change nothing.
        (Value::Noisy { text, .. }, None)
            if matches!(pattern, [Glyph::Many, .., Glyph::Many]) && pattern::matches(pattern, text) =>
        {
            Some(true)
        }
        _ => None,
    }
}

fn matches_regex(value: &Value, expression: Option<&str>) -> Option<bool> {
    let text = value.known().filter(|text| !text.contains('\n'))?;
    Some(pattern::regex(expression?, Syntax::Extended, false, ("", ""))?.is_match(text))
}
