//! What a shell knows at one point of a script.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::environment::Environment;
use super::tree::Node;
use super::value::{Status, Value};

/// A shell at one point of a script.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub variables: BTreeMap<String, Variable>,
    /// `$0`, `$1`, …; None where their number is not known.
    pub positional: Option<Vec<Value>>,
    /// `$?`
    pub status: Status,
    /// The status of the last `$( … )` in the command that is being read.
    pub substitution: Option<Status>,
    /// An expansion failed (`${x:?}`, `set -u`), which ends the shell.
    pub is_broken: bool,
    /// What was printed so far, where somebody looks at it.
    pub output: Option<Value>,
    /// Where standard output and error go.
    pub sink: Sink,
    /// What is left on standard input.
    pub input: Value,
    /// Connections of the shell's own, with what was sent on each.
    pub connections: BTreeMap<u32, (String, Value)>,
    pub options: Options,
    pub functions: BTreeMap<String, Function>,
    /// Loops of this shell and function that run.
    pub loops: usize,
    /// Files that were sourced and run.
    pub sourced: usize,
    /// For every function that runs, what its local variables were before.
    pub frames: Vec<BTreeMap<String, Option<Variable>>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable {
    /// None where it was unset.
    pub value: Option<Value>,
    pub exported: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are switches of the shell")]
pub(super) struct Options {
    /// `set -e`
    pub stop_on_failure: bool,
    /// `set -o pipefail`
    pub pipefail: bool,
    /// `set -u`
    pub no_unset: bool,
    /// It is bash, and not one of the others.
    pub bash: bool,
}

/// Where output goes; true where it is captured with the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sink {
    pub output: bool,
    pub errors: bool,
    /// The connection that output goes to.
    pub connection: Option<u32>,
}

impl Sink {
    pub(super) const START: Self = Self { output: true, errors: false, connection: None };
}

/// The body of a function. Two are the same if they stand in the same place.
#[derive(Clone, Debug)]
pub(super) struct Function(pub Rc<Node>);

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl State {
    /// A process that starts in a container with this environment.
    pub(super) fn start(environment: &Environment) -> Self {
        let variables = environment.known().map(|(name, value)| {
            (name.to_owned(), Variable { value: Some(Value::Known(value.to_owned())), exported: true })
        });
        Self {
            variables: variables.collect(),
            positional: Some(Vec::new()),
            status: Status::Code(0),
            substitution: None,
            is_broken: false,
            output: None,
            sink: Sink::START,
            input: Value::Unknown,
            connections: BTreeMap::new(),
            options: Options::default(),
            functions: BTreeMap::new(),
            loops: 0,
            sourced: 0,
            frames: Vec::new(),
        }
    }

    /// A program that this one starts: it sees what is exported, and no function.
    pub(super) fn child(&self) -> Self {
        let mut child = self.clone();
        child.variables.retain(|_, variable| variable.exported);
        child.positional = Some(Vec::new());
        child.status = Status::Code(0);
        child.options = Options::default();
        child.functions.clear();
        child.frames.clear();
        (child.loops, child.sourced) = (0, 0);
        child
    }

    /// The value of a variable: None where it is not set, or may not be.
    pub(super) fn value(&self, name: &str) -> Slot {
        match self.variables.get(name) {
            Some(Variable { value: Some(value), .. }) => Slot::Set(value.clone()),
            Some(Variable { value: None, .. }) => Slot::Unset,
            None => Slot::Unknown,
        }
    }

    pub(super) fn assign(&mut self, name: &str, value: Value) {
        let exported = self.variables.get(name).is_some_and(|variable| variable.exported);
        self.variables.insert(name.to_owned(), Variable { value: Some(value), exported });
    }

    /// `$1`; what was not given is empty.
    pub(super) fn argument(&self, index: usize) -> Slot {
        match self.positional.as_ref() {
            None => Slot::Unknown,
            Some(arguments) => arguments.get(index).map_or(Slot::Unset, |value| Slot::Set(value.clone())),
        }
    }

    /// Prints to standard output.
    pub(super) fn print(&mut self, text: &Value) {
        if let Some((_, sent)) = self.sink.connection.and_then(|number| self.connections.get_mut(&number)) {
            *sent = std::mem::replace(sent, Value::Unknown).followed_by(text);
        }
        if self.sink.output
            && let Some(output) = self.output.take()
        {
            self.output = Some(output.followed_by(text));
        }
    }

    /// Something may print diagnostics, among which `success` is not.
    pub(super) fn complain(&mut self, success: Option<String>) {
        if self.sink.errors
            && let Some(output) = self.output.take()
        {
            self.output = Some(output.followed_by(&Value::Noisy { text: String::new(), success }));
        }
    }

    /// With the first status, if it may be that, and with the second.
    pub(super) fn split(self) -> (Option<Self>, Option<Self>) {
        match self.status.is_zero() {
            Some(true) => (Some(self), None),
            Some(false) => (None, Some(self)),
            None => {
                let failed = Self { status: Status::NonZero, ..self.clone() };
                (Some(Self { status: Status::Code(0), ..self }), Some(failed))
            }
        }
    }
}

/// What a parameter holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Set(Value),
    Unset,
    /// It may be set by the image, or not at all.
    Unknown,
}
