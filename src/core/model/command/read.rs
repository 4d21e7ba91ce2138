//! Reads shell text into a tree, with a real shell grammar.

use std::rc::Rc;

use brush_parser::ast::{
    self, AndOr, AndOrList, AssignmentName, AssignmentValue, BinaryPredicate, CaseItemPostAction,
    Command as ShellCommand, CommandPrefixOrSuffixItem as Part, CompoundCommand, CompoundList, ExtendedTestExpr,
    IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline, SeparatorOperator, SimpleCommand, UnaryPredicate,
};
use brush_parser::word::{self, ParameterExpr, ParameterTestType, SpecialParameter, WordPiece, WordPieceWithSource};
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

use super::tree::{
    After, Arm, Assignment, Binary, Item, List, Node, Operation, Parameter, Piece, Redirect, Simple, Test, Unary, Word,
};

/// Longer scripts are not read.
const MAX_SCRIPT_BYTES: usize = 32 * 1024;
/// The grammar is recursive, and how deep a script is shows only when it is read: more than this that could open
/// something is not. For each the parser needs some 10 KB of stack in a debug build, so there is more than enough.
const MAX_OPENING: usize = 500;
/// See [`backtracking`].
const MAX_BACKTRACKING: usize = 10;
/// See [`subscripts`].
pub(super) const MAX_SUBSCRIPTS: usize = 2;
const STACK: usize = 16 * 1024 * 1024;
/// Deeper blocks are not followed.
const MAX_DEPTH: usize = 40;
/// Substitutions within substitutions.
const MAX_SUBSTITUTIONS: usize = 10;

/// Reads a script; None where it is too large or is none.
pub(super) fn read_text(text: &str) -> Option<List> {
    let mut reading = Reading::default();
    let list = reading.program(text)?;
    (!reading.is_too_deep).then_some(list)
}

/// Runs the grammar with as much stack as it may need.
fn with_stack<T>(parse: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK / 2, STACK, parse)
}

/// A bound on how deep the grammar can go: everything that may open something.
fn openings(text: &str) -> usize {
    let mut count = 0;
    let mut rest = text;
    while let Some(index) = rest.find(['(', '{', '`', '!', '[']) {
        let (before, from) = rest.split_at(index);
        rest = from.get(1..).unwrap_or("");
        // `${name}`, and what stands alone between spaces as in `[ -f x ]`, hold nothing.
        let is_plain = match from.chars().next() {
            Some('{') if before.ends_with('$') => {
                let name = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
                name.starts_with('}')
            }
            Some('[') => !rest.starts_with('['),
            Some('!') => !rest.trim_start().starts_with(['!', '(']),
            _ => false,
        };
        count += usize::from(!is_plain);
    }
    let keyword = |word: &&str| matches!(*word, "if" | "elif" | "while" | "until" | "for" | "case" | "function");
    count + text.split([' ', '\t', '\n', ';']).filter(keyword).count()
}

/// How deep parentheses and `case` stand in each other. Where such a script has an error in the end, the grammar tries
/// it in some two ways for each level.
fn backtracking(tokens: &[Token]) -> usize {
    let (mut parentheses, mut cases, mut deepest) = (0_usize, 0_usize, 0);
    // A word that ends something does so only where a command may begin; elsewhere it is an argument.
    let mut begins_command = true;
    for token in tokens {
        match token {
            Token::Operator(operator, _) => {
                match operator.as_str() {
                    "(" => parentheses += 1,
                    ")" => parentheses = parentheses.saturating_sub(1),
                    _ => {}
                }
                begins_command = true;
            }
            Token::Word(word, _) => {
                match word.as_str() {
                    "case" => cases += 1,
                    "esac" if begins_command => cases = cases.saturating_sub(1),
                    _ => {}
                }
                begins_command =
                    matches!(word.as_str(), "then" | "else" | "do" | "fi" | "done" | "esac" | "}" | "{" | "in");
            }
        }
        deepest = deepest.max(parentheses + cases);
    }
    deepest
}

/// How many array elements a word may name: each that stands in another is tried in several ways.
pub(super) fn subscripts(source: &str) -> usize {
    source.match_indices('[').filter(|(index, _)| source.get(..*index).is_some_and(ends_with_name)).count()
}

fn ends_with_name(before: &str) -> bool {
    before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

#[derive(Default)]
struct Reading {
    substitutions: usize,
    depth: usize,
    is_too_deep: bool,
}

impl Reading {
    fn program(&mut self, text: &str) -> Option<List> {
        if text.len() > MAX_SCRIPT_BYTES || openings(text) > MAX_OPENING || self.substitutions > MAX_SUBSTITUTIONS {
            return None;
        }
        let program = with_stack(|| {
            let options = ParserOptions::default();
            let tokens = uncached_tokenize_str(text, &options.tokenizer_options()).ok()?;
            if backtracking(&tokens) > MAX_BACKTRACKING {
                return None;
            }
            parse_tokens(&tokens, &options).ok()
        })?;
        self.substitutions += 1;
        let lists: Vec<&CompoundList> = program.complete_commands.iter().collect();
        let list = self.lists(&lists);
        self.substitutions -= 1;
        Some(list)
    }

    fn list(&mut self, list: &CompoundList) -> List {
        self.lists(&[list])
    }

    fn lists(&mut self, lists: &[&CompoundList]) -> List {
        let items = lists.iter().flat_map(|list| &list.0);
        List(
            items
                .map(|item| Item {
                    command: self.and_or(&item.0),
                    background: matches!(item.1, SeparatorOperator::Async),
                })
                .collect(),
        )
    }

    fn and_or(&mut self, list: &AndOrList) -> Node {
        let mut node = self.pipeline(&list.first);
        for next in &list.additional {
            node = match next {
                AndOr::And(next) => Node::And(Box::new(node), Box::new(self.pipeline(next))),
                AndOr::Or(next) => Node::Or(Box::new(node), Box::new(self.pipeline(next))),
            };
        }
        node
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Node {
        let mut stages: Vec<Node> = pipeline.seq.iter().map(|command| self.command(command)).collect();
        let node = if stages.len() == 1 { stages.remove(0) } else { Node::Pipe(stages) };
        if pipeline.bang { Node::Not(Box::new(node)) } else { node }
    }

    /// What lies too deep is nothing, and the whole is not read.
    fn deeper<T>(&mut self, too_deep: T, read: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MAX_DEPTH {
            self.is_too_deep = true;
            return too_deep;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn command(&mut self, command: &ShellCommand) -> Node {
        self.deeper(Node::Group(List::default()), |this| this.shallow_command(command))
    }

    fn shallow_command(&mut self, command: &ShellCommand) -> Node {
        match command {
            ShellCommand::Simple(simple) => Node::Simple(self.simple(simple)),
            ShellCommand::Compound(compound, redirects) => {
                let node = self.compound(compound);
                self.redirected(node, redirects.as_ref())
            }
            ShellCommand::Function(function) => {
                let body = self.compound(&function.body.0);
                let body = self.redirected(body, function.body.1.as_ref());
                Node::Function(function.fname.value.clone(), Rc::new(body))
            }
            ShellCommand::ExtendedTest(test, redirects) => {
                let node = Node::Test(self.test(&test.expr));
                self.redirected(node, redirects.as_ref())
            }
        }
    }

    fn redirected(&mut self, node: Node, redirects: Option<&ast::RedirectList>) -> Node {
        match redirects {
            None => node,
            Some(list) => {
                let redirects = list.0.iter().map(|redirect| self.redirect(redirect)).collect();
                Node::Redirected(Box::new(node), redirects)
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) -> Node {
        match compound {
            CompoundCommand::BraceGroup(group) => Node::Group(self.list(&group.list)),
            CompoundCommand::Subshell(shell) => Node::Subshell(self.list(&shell.list)),
            CompoundCommand::IfClause(clause) => {
                let mut branches = vec![(self.list(&clause.condition), self.list(&clause.then))];
                let mut otherwise = List::default();
                for branch in clause.elses.iter().flatten() {
                    let body = self.list(&branch.body);
                    match &branch.condition {
                        Some(condition) => branches.push((self.list(condition), body)),
                        None => otherwise = body,
                    }
                }
                Node::If(branches, otherwise)
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => Node::While {
                until: matches!(compound, CompoundCommand::UntilClause(_)),
                condition: self.list(&clause.0),
                body: self.list(&clause.1.list),
            },
            CompoundCommand::ForClause(clause) => Node::For {
                name: clause.variable_name.clone(),
                words: clause.values.as_ref().map(|words| words.iter().map(|word| self.word(&word.value)).collect()),
                body: self.list(&clause.body.list),
            },
            CompoundCommand::CaseClause(clause) => Node::Case {
                value: self.word(&clause.value.value),
                arms: clause
                    .cases
                    .iter()
                    .map(|case| Arm {
                        patterns: case.patterns.iter().map(|pattern| self.word(&pattern.value)).collect(),
                        body: case.cmd.as_ref().map(|body| self.list(body)).unwrap_or_default(),
                        after: match case.post_action {
                            CaseItemPostAction::ExitCase => After::Leave,
                            CaseItemPostAction::UnconditionallyExecuteNextCaseItem => After::Fall,
                            CaseItemPostAction::ContinueEvaluatingCases => After::Continue,
                        },
                    })
                    .collect(),
            },
            CompoundCommand::Arithmetic(command) => Node::Arithmetic(self.word(&command.expr.value)),
            CompoundCommand::ArithmeticForClause(clause) => Node::Opaque(self.list(&clause.body.list)),
            CompoundCommand::Coprocess(coprocess) => {
                let command = self.command(&coprocess.body);
                Node::Opaque(List(vec![Item { command, background: true }]))
            }
        }
    }

    fn simple(&mut self, command: &SimpleCommand) -> Simple {
        let mut simple = Simple::default();
        for part in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            match part {
                Part::AssignmentWord(assignment, _) => simple.assignments.push(self.assignment(assignment)),
                other => self.part(other, &mut simple),
            }
        }
        simple.words.extend(command.word_or_name.iter().map(|name| self.word(&name.value)));
        for part in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.part(part, &mut simple);
        }
        simple
    }

    fn part(&mut self, part: &Part, simple: &mut Simple) {
        match part {
            Part::IoRedirect(redirect) => simple.redirects.push(self.redirect(redirect)),
            Part::Word(word) | Part::AssignmentWord(_, word) => simple.words.push(self.word(&word.value)),
            Part::ProcessSubstitution(_, shell) => {
                let list = Rc::new(self.list(&shell.list));
                let pieces = vec![Piece::Opaque, Piece::Command(list)];
                simple.words.push(Word { written: "$(…)".to_owned(), pieces });
            }
        }
    }

    fn assignment(&mut self, assignment: &ast::Assignment) -> Assignment {
        let (name, is_scalar) = match &assignment.name {
            AssignmentName::VariableName(name) => (name.clone(), true),
            AssignmentName::ArrayElementName(name, _) => (name.clone(), false),
        };
        let value = match &assignment.value {
            AssignmentValue::Scalar(word) if is_scalar => Some(self.word(&word.value)),
            _ => None,
        };
        Assignment { name, value, append: assignment.append }
    }

    fn redirect(&mut self, redirect: &IoRedirect) -> Redirect {
        let number =
            |fd: Option<ast::IoFd>, default: u32| fd.map_or(default, |fd| u32::try_from(fd).unwrap_or(u32::MAX));
        match redirect {
            IoRedirect::OutputAndError(..) => Redirect::BothToFile,
            IoRedirect::HereString(_, word) => Redirect::FromText(self.word(&word.value), true),
            IoRedirect::HereDocument(_, document) => {
                let text = &document.doc.value;
                let word = if document.requires_expansion {
                    match with_stack(|| word::parse_heredoc(text, &ParserOptions::default())) {
                        Ok(pieces) => {
                            let pieces = self.pieces(&pieces, text).0;
                            Word { written: text.clone(), pieces: vec![Piece::DoubleQuoted(pieces)] }
                        }
                        Err(_) => Word { written: text.clone(), pieces: vec![Piece::Opaque] },
                    }
                } else {
                    Word::text(text)
                };
                Redirect::FromText(word, false)
            }
            IoRedirect::File(fd, kind, IoFileRedirectTarget::Filename(word)) if word.value.contains("/dev/tcp/") => {
                let reads = matches!(kind, IoFileRedirectKind::Read | IoFileRedirectKind::ReadAndWrite);
                Redirect::Connection(number(*fd, u32::from(!reads)), self.word(&word.value))
            }
            IoRedirect::File(fd, kind, target) => match (kind, target) {
                (IoFileRedirectKind::Read, IoFileRedirectTarget::Filename(word)) if number(*fd, 0) == 0 => {
                    Redirect::FromFile(self.word(&word.value))
                }
                (
                    IoFileRedirectKind::Write | IoFileRedirectKind::Append | IoFileRedirectKind::Clobber,
                    IoFileRedirectTarget::Filename(_),
                ) if number(*fd, 1) <= 2 => Redirect::ToFile(number(*fd, 1)),
                (IoFileRedirectKind::DuplicateOutput, IoFileRedirectTarget::Duplicate(word)) if number(*fd, 1) <= 2 => {
                    match word.value.parse() {
                        Ok(to) => Redirect::Duplicate(number(*fd, 1), to),
                        // `>&file`; `2>&-` closes.
                        Err(_) if fd.is_none() => Redirect::BothToFile,
                        Err(_) => Redirect::ToFile(number(*fd, 1)),
                    }
                }
                (IoFileRedirectKind::DuplicateOutput, IoFileRedirectTarget::Fd(to)) if number(*fd, 1) <= 2 => {
                    Redirect::Duplicate(number(*fd, 1), number(Some(*to), 1))
                }
                (IoFileRedirectKind::DuplicateInput, IoFileRedirectTarget::Duplicate(word))
                    if number(*fd, 0) == 0 && word.value.parse::<u32>().is_ok() =>
                {
                    Redirect::FromDescriptor(word.value.parse().unwrap_or(0))
                }
                (IoFileRedirectKind::DuplicateInput, IoFileRedirectTarget::Fd(from)) if number(*fd, 0) == 0 => {
                    Redirect::FromDescriptor(number(Some(*from), 0))
                }
                (IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::Read, _) if number(*fd, 0) == 0 => {
                    Redirect::FromElsewhere
                }
                (_, IoFileRedirectTarget::ProcessSubstitution(..)) if number(*fd, 1) <= 2 => {
                    Redirect::ToFile(number(*fd, 1))
                }
                _ => Redirect::Other,
            },
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) -> Test {
        self.deeper(Test::Unary(Unary::Opaque, Word::default()), |this| this.shallow_test(test))
    }

    fn shallow_test(&mut self, test: &ExtendedTestExpr) -> Test {
        match test {
            ExtendedTestExpr::And(first, second) => Test::And(Box::new(self.test(first)), Box::new(self.test(second))),
            ExtendedTestExpr::Or(first, second) => Test::Or(Box::new(self.test(first)), Box::new(self.test(second))),
            ExtendedTestExpr::Not(inner) => Test::Not(Box::new(self.test(inner))),
            ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(predicate, word) => Test::Unary(unary(predicate), self.word(&word.value)),
            ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                Test::Binary(binary(predicate), self.word(&left.value), self.word(&right.value))
            }
        }
    }

    /// Takes a word apart.
    fn word(&mut self, source: &str) -> Word {
        let opaque = || Word { written: source.to_owned(), pieces: vec![Piece::Opaque] };
        let is_too_much =
            openings(source) > MAX_OPENING || source.contains("${") && subscripts(source) > MAX_SUBSCRIPTS;
        if is_too_much || self.substitutions > MAX_SUBSTITUTIONS {
            return opaque();
        }
        // Most words are plain.
        if source.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:,%@+".contains(c)) {
            return Word { written: source.to_owned(), pieces: vec![Piece::Bare(source.to_owned())] };
        }
        let Ok(pieces) = with_stack(|| word::parse(source, &ParserOptions::default())) else { return opaque() };
        self.substitutions += 1;
        let (pieces, written) = self.pieces(&pieces, source);
        self.substitutions -= 1;
        // Where one part was not understood, the others may be read wrongly.
        let pieces = if has_opaque_command(&pieces) { vec![Piece::OpaqueCommand] } else { pieces };
        Word { written, pieces }
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource], source: &str) -> (Vec<Piece>, String) {
        let mut written = String::new();
        let mut read = Vec::new();
        for piece in pieces {
            let as_written = || source.get(piece.start_index..piece.end_index).unwrap_or("$?");
            read.push(match &piece.piece {
                WordPiece::Text(text) => {
                    written.push_str(text);
                    Piece::Bare(text.clone())
                }
                WordPiece::SingleQuotedText(text) => {
                    written.push_str(text);
                    Piece::Quoted(text.clone())
                }
                WordPiece::AnsiCQuotedText(text) => {
                    written.push_str(text);
                    if text.contains('\\') { Piece::Opaque } else { Piece::Quoted(text.clone()) }
                }
                WordPiece::EscapeSequence(text) => {
                    let text = text.strip_prefix('\\').unwrap_or(text);
                    let text = if text == "\n" { "" } else { text };
                    written.push_str(text);
                    Piece::Quoted(text.to_owned())
                }
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    let (inner, text) = self.pieces(inner, source);
                    written.push_str(&text);
                    Piece::DoubleQuoted(inner)
                }
                WordPiece::CommandSubstitution(text) | WordPiece::BackquotedCommandSubstitution(text) => {
                    written.push_str(as_written());
                    // The grammar of words ends `$( … )` at the first `)`, also in a comment or a `case`.
                    let has_comment =
                        text.starts_with('#') || [" #", "\t#", "\n#", ";#"].iter().any(|start| text.contains(start));
                    match self.program(text).filter(|_| !has_comment) {
                        Some(list) => Piece::Command(Rc::new(list)),
                        None => Piece::OpaqueCommand,
                    }
                }
                WordPiece::ParameterExpansion(expansion) => {
                    written.push_str(as_written());
                    self.parameter(expansion)
                }
                WordPiece::ArithmeticExpression(expression) => {
                    written.push_str(as_written());
                    Piece::Arithmetic(Rc::new(self.word(&expression.value)))
                }
                WordPiece::TildeExpansion(_) => {
                    written.push_str(as_written());
                    Piece::Opaque
                }
            });
        }
        (read, written)
    }

    fn parameter(&mut self, expansion: &ParameterExpr) -> Piece {
        let or_empty = |test: &ParameterTestType| matches!(test, ParameterTestType::UnsetOrNull);
        let mut word = |text: &Option<String>| self.word(text.as_deref().unwrap_or(""));
        let (parameter, indirect, operation) = match expansion {
            ParameterExpr::Parameter { parameter, indirect } => (parameter, indirect, Operation::Plain),
            ParameterExpr::UseDefaultValues { parameter, indirect, test_type, default_value } => {
                (parameter, indirect, Operation::Default(word(default_value), or_empty(test_type)))
            }
            ParameterExpr::AssignDefaultValues { parameter, indirect, test_type, default_value } => {
                (parameter, indirect, Operation::Assign(word(default_value), or_empty(test_type)))
            }
            ParameterExpr::IndicateErrorIfNullOrUnset { parameter, indirect, test_type, .. } => {
                (parameter, indirect, Operation::Demand(or_empty(test_type)))
            }
            ParameterExpr::UseAlternativeValue { parameter, indirect, test_type, alternative_value } => {
                (parameter, indirect, Operation::Alternative(word(alternative_value), or_empty(test_type)))
            }
            ParameterExpr::ParameterLength { parameter, indirect } => (parameter, indirect, Operation::Length),
            ParameterExpr::RemoveSmallestSuffixPattern { parameter, indirect, pattern } => {
                (parameter, indirect, Operation::RemoveSuffix { pattern: word(pattern), longest: false })
            }
            ParameterExpr::RemoveLargestSuffixPattern { parameter, indirect, pattern } => {
                (parameter, indirect, Operation::RemoveSuffix { pattern: word(pattern), longest: true })
            }
            ParameterExpr::RemoveSmallestPrefixPattern { parameter, indirect, pattern } => {
                (parameter, indirect, Operation::RemovePrefix { pattern: word(pattern), longest: false })
            }
            ParameterExpr::RemoveLargestPrefixPattern { parameter, indirect, pattern } => {
                (parameter, indirect, Operation::RemovePrefix { pattern: word(pattern), longest: true })
            }
            ParameterExpr::Substring { parameter, indirect, .. }
            | ParameterExpr::Transform { parameter, indirect, .. }
            | ParameterExpr::UppercaseFirstChar { parameter, indirect, .. }
            | ParameterExpr::UppercasePattern { parameter, indirect, .. }
            | ParameterExpr::LowercaseFirstChar { parameter, indirect, .. }
            | ParameterExpr::LowercasePattern { parameter, indirect, .. }
            | ParameterExpr::ReplaceSubstring { parameter, indirect, .. } => (parameter, indirect, Operation::Opaque),
            ParameterExpr::VariableNames { .. } | ParameterExpr::MemberKeys { .. } => return Piece::Opaque,
        };
        let parameter = match parameter {
            word::Parameter::Named(name) => Parameter::Named(name.clone()),
            word::Parameter::Positional(index) => Parameter::Positional(usize::try_from(*index).unwrap_or(usize::MAX)),
            word::Parameter::Special(SpecialParameter::ShellName) => Parameter::Positional(0),
            word::Parameter::Special(SpecialParameter::AllPositionalParameters { concatenate }) => {
                Parameter::All(*concatenate)
            }
            word::Parameter::Special(SpecialParameter::PositionalParameterCount) => Parameter::Count,
            word::Parameter::Special(SpecialParameter::LastExitStatus) => Parameter::Status,
            _ => Parameter::Opaque,
        };
        if *indirect { Piece::Opaque } else { Piece::Parameter(parameter, operation) }
    }
}

fn has_opaque_command(pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::OpaqueCommand => true,
        Piece::DoubleQuoted(inner) => has_opaque_command(inner),
        _ => false,
    })
}

fn unary(predicate: &UnaryPredicate) -> Unary {
    match predicate {
        UnaryPredicate::StringHasZeroLength => Unary::Empty,
        UnaryPredicate::StringHasNonZeroLength => Unary::NotEmpty,
        UnaryPredicate::FileExists => Unary::Exists,
        UnaryPredicate::FileExistsAndIsRegularFile => Unary::IsFile,
        UnaryPredicate::FileExistsAndIsNotZeroLength => Unary::IsNotEmptyFile,
        UnaryPredicate::FdIsOpenTerminal
        | UnaryPredicate::ShellOptionEnabled
        | UnaryPredicate::ShellVariableIsSetAndAssigned
        | UnaryPredicate::ShellVariableIsSetAndNameRef => Unary::Opaque,
        _ => Unary::OtherOfFile,
    }
}

fn binary(predicate: &BinaryPredicate) -> Binary {
    match predicate {
        BinaryPredicate::StringExactlyMatchesPattern => Binary::Matches,
        BinaryPredicate::StringDoesNotExactlyMatchPattern => Binary::MatchesNot,
        BinaryPredicate::StringMatchesRegex | BinaryPredicate::StringContainsSubstring => Binary::MatchesRegex,
        BinaryPredicate::StringExactlyMatchesString => Binary::Same,
        BinaryPredicate::StringDoesNotExactlyMatchString => Binary::Different,
        BinaryPredicate::ArithmeticEqualTo => Binary::Equal,
        BinaryPredicate::ArithmeticNotEqualTo => Binary::NotEqual,
        BinaryPredicate::ArithmeticLessThan => Binary::Less,
        BinaryPredicate::ArithmeticLessThanOrEqualTo => Binary::LessOrEqual,
        BinaryPredicate::ArithmeticGreaterThan => Binary::Greater,
        BinaryPredicate::ArithmeticGreaterThanOrEqualTo => Binary::GreaterOrEqual,
        _ => Binary::Opaque,
    }
}
