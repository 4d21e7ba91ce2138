//! A shell script as a tree, with its words taken apart: what the grammar gave, as the evaluator needs it.

use std::rc::Rc;

/// Commands one after the other.
#[derive(Debug, Default)]
pub(super) struct List(pub Vec<Item>);

/// A command of a list.
#[derive(Debug)]
pub(super) struct Item {
    pub command: Node,
    /// `&`: nobody waits for it.
    pub background: bool,
}

#[derive(Debug)]
pub(super) enum Node {
    Simple(Simple),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Pipe(Vec<Node>),
    Group(List),
    Subshell(List),
    Redirected(Box<Node>, Vec<Redirect>),
    /// Conditions with their bodies, and what else.
    If(Vec<(List, List)>, List),
    /// `while`, or `until` where the first is true.
    While {
        until: bool,
        condition: List,
        body: List,
    },
    /// Without words it walks through the positional parameters.
    For {
        name: String,
        words: Option<Vec<Word>>,
        body: List,
    },
    Case {
        value: Word,
        arms: Vec<Arm>,
    },
    Function(String, Rc<Node>),
    Test(Test),
    /// `(( … ))`
    Arithmetic(Word),
    /// Something that is not followed, with the commands in it.
    Opaque(List),
}

/// One arm of a `case`.
#[derive(Debug)]
pub(super) struct Arm {
    pub patterns: Vec<Word>,
    pub body: List,
    pub after: After,
}

/// What follows an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// `;;`
    Leave,
    /// `;&`: the next body, whatever its patterns.
    Fall,
    /// `;;&`: the next arm that matches.
    Continue,
}

/// A program or builtin with its words.
#[derive(Debug, Default)]
pub(super) struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub(super) struct Assignment {
    pub name: String,
    /// None for arrays, whose elements are not followed.
    pub value: Option<Word>,
    pub append: bool,
}

/// A redirection, as far as it matters to standard input, output and error.
#[derive(Debug)]
pub(super) enum Redirect {
    /// Output of a file descriptor goes into a file.
    ToFile(u32),
    /// `&>file`
    BothToFile,
    /// `2>&1`: the first goes where the second goes.
    Duplicate(u32, u32),
    /// Standard input is this text; a here-string ends with a line break.
    FromText(Word, bool),
    /// Standard input is this file.
    FromFile(Word),
    /// Standard input is what this file descriptor reads.
    FromDescriptor(u32),
    /// Standard input is something that is not followed.
    FromElsewhere,
    /// `/dev/tcp/HOST/PORT`, which bash connects to, under this file descriptor.
    Connection(u32, Word),
    /// Another file descriptor, which matters where it cannot be opened (`3<>/dev/tcp/…`).
    Other,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Word {
    /// As it stands in the script, without quotes.
    pub written: String,
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Text outside of quotes: it may be a pattern.
    Bare(String),
    /// Text in quotes or behind a backslash.
    Quoted(String),
    /// What stands in double quotes.
    DoubleQuoted(Vec<Piece>),
    Parameter(Parameter, Operation),
    /// `$( … )`
    Command(Rc<List>),
    /// `$(( … ))`
    Arithmetic(Rc<Word>),
    /// `$( … )` that is not followed; its status is not known either.
    OpaqueCommand,
    /// What is not followed.
    Opaque,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    Named(String),
    /// `$1`
    Positional(usize),
    /// `$@`, and `$*` where the first is true.
    All(bool),
    /// `$#`
    Count,
    /// `$?`
    Status,
    /// Array elements, `$$` and the like.
    Opaque,
}

#[derive(Clone, Debug)]
pub(super) enum Operation {
    Plain,
    /// `${x:-word}`; the flag says whether an empty value counts as none.
    Default(Word, bool),
    /// `${x:=word}`
    Assign(Word, bool),
    /// `${x:?message}`
    Demand(bool),
    /// `${x:+word}`
    Alternative(Word, bool),
    /// `${#x}`
    Length,
    /// `${x#pattern}`, `${x##pattern}`
    RemovePrefix {
        pattern: Word,
        longest: bool,
    },
    /// `${x%pattern}`, `${x%%pattern}`
    RemoveSuffix {
        pattern: Word,
        longest: bool,
    },
    Opaque,
}

/// What stands in `[[ … ]]`.
#[derive(Debug)]
pub(super) enum Test {
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
    Not(Box<Test>),
    Unary(Unary, Word),
    Binary(Binary, Word, Word),
}

/// Tests of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Empty,
    NotEmpty,
    Exists,
    IsFile,
    IsNotEmptyFile,
    /// Another property of a file, which none has that does not exist.
    OtherOfFile,
    Opaque,
}

/// Tests of two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Same,
    Different,
    Matches,
    MatchesNot,
    MatchesRegex,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Opaque,
}

impl Simple {
    /// The words as they stand in the script.
    pub(super) fn written(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.written.as_str()).collect()
    }
}

impl Word {
    /// A word that is only text.
    pub(super) fn text(text: &str) -> Self {
        Self { written: text.to_owned(), pieces: vec![Piece::Quoted(text.to_owned())] }
    }

    /// Every command list that stands in `$( … )` in it.
    pub(super) fn commands(&self) -> Vec<&List> {
        fn collect<'a>(pieces: &'a [Piece], into: &mut Vec<&'a List>) {
            for piece in pieces {
                match piece {
                    Piece::DoubleQuoted(inner) => collect(inner, into),
                    Piece::Command(list) => into.push(list),
                    Piece::Arithmetic(word) => collect(&word.pieces, into),
                    Piece::Parameter(
                        _,
                        Operation::Default(word, _) | Operation::Assign(word, _) | Operation::Alternative(word, _),
                    ) => collect(&word.pieces, into),
                    _ => {}
                }
            }
        }
        let mut lists = Vec::new();
        collect(&self.pieces, &mut lists);
        lists
    }
}

impl Test {
    /// Shows every word in it.
    pub(super) fn words(&self, show: &mut dyn FnMut(&Word)) {
        match self {
            Self::And(first, second) | Self::Or(first, second) => {
                first.words(show);
                second.words(show);
            }
            Self::Not(inner) => inner.words(show),
            Self::Unary(_, word) => show(word),
            Self::Binary(_, left, right) => {
                show(left);
                show(right);
            }
        }
    }
}
