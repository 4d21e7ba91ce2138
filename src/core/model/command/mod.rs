//! What an exec probe's command does, read with a real shell grammar.
//!
//! The words become a tree, and the tree is *followed*: given what each client answers in a situation, does the whole
//! script then exit with zero? Texts that are known only at run time are unknown here, and where an unknown decides,
//! every way is followed. What cannot be followed makes the answer [`Outcome::Unknown`], never a guess: to know less
//! of a value never turns an answer into its opposite.
//!
//! | file          | what it does |
//! | ---           | --- |
//! | `read`        | shell text becomes a `tree` |
//! | `evaluate`    | lists, pipes, assignments, and the bounds on all |
//! | `branch`      | `if`, `case`, loops |
//! | `redirect`    | redirections, `/dev/tcp` |
//! | `expand`      | parameters, `$( … )`, arithmetic, splitting |
//! | `program`     | functions, inner shells, script files, clients |
//! | `builtin`     | builtins that change the shell |
//! | `wrappers`    | `timeout`, `env`, `gosu` and others that only start a program |
//! | `condition`   | `test`, `[ … ]`, `[[ … ]]` |
//! | `tools`       | `echo`, `grep`, `head`, `cut` and their like |
//! | `pattern`     | shell patterns and regular expressions |
//! | `environment` | what the manifest defines, and what the kubelet expands |
//! | `form`        | when two commands are the same check |
//! | `limits`      | limits of time within a command |

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::workload::Container;
use environment::Environment;
use evaluate::Evaluator;
use tree::List;

mod branch;
mod builtin;
mod condition;
mod environment;
mod evaluate;
mod expand;
mod form;
mod limits;
mod oddity;
mod pattern;
mod program;
mod read;
mod redirect;
mod state;
#[cfg(test)]
mod tests;
mod tools;
mod tree;
mod value;
mod wrappers;

pub use limits::InnerTimeout;
pub use oddity::{Oddity, OddityKind};

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

/// What a call does in the situation that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its exit code.
    pub outcome: Outcome,
    /// What it prints to standard output, where that is known.
    pub output: Option<&'static str>,
}

/// What is known of the container in the situation that is asked about.
pub trait World {
    /// What a program does; None where nothing is known of it. What shells and small tools do is known here.
    fn answer(&self, call: &Call) -> Option<Answer>;

    /// What a program prints where all is well. Its diagnostics do not contain that.
    fn success(&self, _call: &Call) -> Option<&'static str> {
        None
    }

    /// Whether there is a file at this path, where that is known.
    fn exists(&self, _path: &str) -> Option<bool> {
        None
    }
}

/// A world in which only what programs answer is known.
impl<Answers: Fn(&Call) -> Option<Answer>> World for Answers {
    fn answer(&self, call: &Call) -> Option<Answer> {
        self(call)
    }
}

/// One program with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The path as it was written.
    pub path: String,
    /// Its arguments; what is known only at run time stays as it was written, `$NAME`.
    pub arguments: Vec<String>,
    /// `exec`: nothing after it runs.
    pub replaces_shell: bool,
    /// What it reads, where that is known: `echo ruok | nc …`.
    pub input: Option<String>,
    /// The shortest limit of its time that the command sets.
    pub limit: Option<InnerTimeout>,
    /// Which arguments are known only at run time.
    open: Vec<bool>,
}

impl Call {
    /// The program's name without its folder. Connections of the shell's own are `/dev/tcp`.
    #[must_use]
    pub fn program(&self) -> &str {
        if self.path.starts_with("/dev/tcp/") {
            return "/dev/tcp";
        }
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The value of an option, given as `-p 5433`, `-p5433`, `--port 5433` or `--port=5433`.
    #[must_use]
    pub fn option(&self, names: &[&str]) -> Option<&str> {
        option_value(&self.arguments, names)
    }

    /// Whether it may be told at run time to do something else than its known arguments say: a subcommand or a
    /// statement is unknown, not only a host, a port or a password.
    #[must_use]
    pub fn may_do_more(&self) -> bool {
        const STATEMENTS: [&str; 10] =
            ["-c", "-e", "-x", "-Q", "-q", "--command", "--execute", "--eval", "--query", "--cmd"];
        let is_open = |index: usize| self.open.get(index).copied().unwrap_or(false);
        (0..self.arguments.len()).filter(|index| is_open(*index)).any(|index| {
            let argument = self.arguments.get(index).map_or("", String::as_str);
            let option = index.checked_sub(1).and_then(|before| self.arguments.get(before)).map_or("", String::as_str);
            if argument.starts_with('-') {
                // `--user=$USER`, `-p$PASSWORD`.
                return STATEMENTS.iter().any(|name| name.starts_with("--") && argument.starts_with(name));
            }
            let is_value = option.starts_with('-') && !option.contains('=') && !STATEMENTS.contains(&option);
            !is_value && !argument.contains("://")
        })
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

/// The command of an exec probe.
#[derive(Debug)]
pub struct Script<'a> {
    words: Vec<String>,
    container: Option<Container<'a>>,
    environment: Environment,
    library: Library,
    calls: Vec<Call>,
    oddities: Vec<Oddity>,
}

impl<'a> Script<'a> {
    /// Reads a command of which nothing else is known.
    #[must_use]
    pub fn read<S: AsRef<str>>(command: &[S]) -> Self {
        let words = command.iter().map(|word| word.as_ref().to_owned()).collect();
        Self::explored(words, None, Environment::default())
    }

    /// Reads the command of a probe of this container, with the environment that its manifest defines, and with the
    /// files that are mounted in it where their text is known.
    #[must_use]
    pub fn in_container<S: AsRef<str>>(container: &Container<'a>, command: &[S]) -> Self {
        let words = command.iter().map(|word| environment::expand(word.as_ref(), container)).collect();
        Self::explored(words, Some(container.clone()), Environment::of(container))
    }

    fn explored(words: Vec<String>, container: Option<Container<'a>>, environment: Environment) -> Self {
        let mut script = Self {
            words,
            container,
            environment,
            library: Library::default(),
            calls: Vec::new(),
            oddities: Vec::new(),
        };
        // With no answer known, every way is followed that some answer may open.
        let mut evaluator = script.evaluator(&|_: &Call| None);
        let _ = evaluator.outcome(&script.words);
        let Evaluator { mut calls, oddities, gave_up, .. } = evaluator;
        if gave_up {
            // What is not followed still counts as asked.
            let mut standing = Vec::new();
            form::calls_in_words(&script.words, 0, &mut standing);
            let is_new = |call: &Call| !calls.iter().any(|seen| seen.program() == call.program());
            let more: Vec<Call> = standing.into_iter().filter(is_new).collect();
            calls.extend(more);
        }
        (script.calls, script.oddities) = (calls, oddities);
        script
    }

    /// Every call that it may make, with what is known of its arguments.
    #[must_use]
    pub fn calls(&self) -> Vec<&Call> {
        self.calls.iter().collect()
    }

    /// Whether it exits with zero.
    pub fn evaluate(&self, world: &dyn World) -> Outcome {
        self.evaluator(world).outcome(&self.words)
    }

    /// The longest that one call in it may take by a limit of its own.
    #[must_use]
    pub fn inner_timeout(&self) -> Option<InnerTimeout> {
        self.calls.iter().filter_map(|call| call.limit.clone()).max_by_key(|limit| limit.milliseconds)
    }

    /// What in it does not do what it seems to do.
    #[must_use]
    pub fn oddities(&self) -> &[Oddity] {
        &self.oddities
    }

    /// A form in which two commands that check the same are equal: without the shell around it, without inner
    /// `timeout`s and environment values, without what follows an `exec`.
    #[must_use]
    pub fn normal_form(&self) -> String {
        form::of_words(&self.words, 0)
    }

    fn evaluator<'s>(&'s self, world: &'s dyn World) -> Evaluator<'s> {
        Evaluator::new(world, self.container.as_ref(), &self.environment, &self.library)
    }
}

/// As [`read::read_text`]. A fleet has the same probes over and over, and each is asked about many times, so the last
/// ones are kept. What is read depends on the text alone, so that nobody can tell.
fn read_again(text: &str) -> Option<Rc<List>> {
    const MOST: usize = 64;
    thread_local! {
        static KEPT: RefCell<BTreeMap<String, Option<Rc<List>>>> = const { RefCell::new(BTreeMap::new()) };
    }
    KEPT.with_borrow_mut(|kept| {
        if let Some(list) = kept.get(text) {
            return list.clone();
        }
        if kept.len() >= MOST {
            kept.clear();
        }
        let list = read::read_text(text).map(Rc::new);
        kept.insert(text.to_owned(), list.clone());
        list
    })
}

/// Scripts that were read, so that each is read once.
#[derive(Debug, Default)]
struct Library(RefCell<BTreeMap<String, Option<Rc<List>>>>);

impl Library {
    /// More different scripts are not read.
    const MAX: usize = 32;

    fn read(&self, text: &str) -> Option<Rc<List>> {
        let mut texts = self.0.borrow_mut();
        if let Some(known) = texts.get(text) {
            return known.clone();
        }
        if texts.len() >= Self::MAX {
            return None;
        }
        let list = read_again(text);
        texts.insert(text.to_owned(), list.clone());
        list
    }
}
