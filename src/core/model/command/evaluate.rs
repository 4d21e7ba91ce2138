//! Follows a script on every way that it may take.
//!
//! Where a condition is not known, both ways are followed; ways that lead to the same are one again. The script's
//! outcome is known where all ways end alike. Time, ways and depth are bounded; beyond a bound nothing is known.

use super::environment::Environment;
use super::expand::Field;
use super::state::{Function, Sink, Slot, State};
use super::tree::{List, Node, Simple, Test};
use super::value::{Status, Value};
use super::{Call, InnerTimeout, Library, Oddity, OddityKind, Outcome, World};
use crate::core::model::workload::Container;

const MAX_STEPS: usize = 5_000;
const MAX_WAYS: usize = 64;
/// How deep scripts, functions and blocks may stand in each other.
const MAX_DEPTH: usize = 60;
/// How often a loop is followed.
pub(super) const MAX_ROUNDS: usize = 64;

/// The script is not followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GaveUp;

/// A way that the script may take, and what follows it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    pub state: State,
    pub flow: Flow,
}

/// What follows a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// The shell ends.
    Exit,
    /// `exec` put a program in the shell's place.
    Replaced,
    Return,
    /// Out of this many loops.
    Break(usize),
    /// On with the loop that is this many levels out.
    Continue(usize),
}

pub(super) type Paths = Result<Vec<Path>, GaveUp>;

/// Follows one script in one world.
pub(super) struct Evaluator<'w> {
    world: &'w dyn World,
    container: Option<&'w Container<'w>>,
    environment: &'w Environment,
    pub library: &'w Library,
    /// Not all of the script was followed.
    pub gave_up: bool,
    /// On some way a loop may never end.
    pub may_hang: bool,
    steps: usize,
    depth: usize,
    /// The limit that `timeout` sets around what runs now.
    pub limit: Option<InnerTimeout>,
    /// Every call on the way.
    pub calls: Vec<Call>,
    /// What was found odd on the way.
    pub oddities: Vec<Oddity>,
}

impl<'w> Evaluator<'w> {
    pub(super) fn new(
        world: &'w dyn World,
        container: Option<&'w Container<'w>>,
        environment: &'w Environment,
        library: &'w Library,
    ) -> Self {
        Self {
            world,
            container,
            environment,
            library,
            gave_up: false,
            may_hang: false,
            steps: 0,
            depth: 0,
            limit: None,
            calls: Vec::new(),
            oddities: Vec::new(),
        }
    }

    /// Whether the command exits with zero.
    pub(super) fn outcome(&mut self, words: &[String]) -> Outcome {
        let fields = words.iter().map(|word| Field::known(word)).collect();
        let Ok(paths) = self.program(fields, State::start(self.environment), true) else {
            self.gave_up = true;
            return Outcome::Unknown;
        };
        // What never ends is ended by the kubelet, which counts that as a failure.
        let hangs = self.may_hang.then_some(Outcome::Fails);
        let ends = paths.iter().map(|path| match path.state.status.is_zero() {
            Some(true) => Outcome::Passes,
            Some(false) => Outcome::Fails,
            None => Outcome::Unknown,
        });
        let mut outcomes = ends.chain(hangs);
        let Some(first) = outcomes.next() else { return Outcome::Fails };
        if outcomes.all(|outcome| outcome == first) { first } else { Outcome::Unknown }
    }

    pub(super) fn world(&self) -> &'w dyn World {
        self.world
    }

    pub(super) fn environment(&self) -> &'w Environment {
        self.environment
    }

    /// The text of a file in the container, where it is known.
    pub(super) fn text_of(&self, path: &str) -> Option<&'w str> {
        self.container?.file(path)
    }

    /// Counts a step.
    pub(super) fn step(&mut self) -> Result<(), GaveUp> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err(GaveUp) } else { Ok(()) }
    }

    /// Runs something that may contain itself.
    pub(super) fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, GaveUp>) -> Result<T, GaveUp> {
        if self.depth >= MAX_DEPTH {
            return Err(GaveUp);
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    pub(super) fn list(&mut self, list: &List, start: State, guarded: bool) -> Paths {
        let mut open = vec![start];
        let mut paths = Vec::new();
        for (index, item) in list.0.iter().enumerate() {
            let mut next: Vec<State> = Vec::new();
            let mut replaced = !open.is_empty();
            for state in open {
                for path in self.item(&item.command, item.background, state, guarded)? {
                    replaced &= path.flow == Flow::Replaced;
                    match path.flow {
                        Flow::Next if !next.contains(&path.state) => next.push(path.state),
                        Flow::Next => {}
                        _ => push_new(&mut paths, path),
                    }
                }
            }
            if replaced && let Some(rest) = list.0.get(index + 1) {
                self.after_exec(&rest.command);
            }
            open = bounded(next)?;
        }
        paths.extend(open.into_iter().map(Path::next));
        bounded(paths)
    }

    fn item(&mut self, command: &Node, background: bool, state: State, guarded: bool) -> Paths {
        if !background {
            return self.node(command, state, guarded);
        }
        // Nobody waits for it; for the calls in it.
        let hangs = self.may_hang;
        self.node(command, state.clone(), true)?;
        self.may_hang = hangs;
        let output = state.output.as_ref().map(|_| Value::Unknown);
        Ok(vec![Path::next(State { status: Status::Code(0), output, ..state })])
    }

    /// Runs a node. `guarded`: `set -e` does not apply to it.
    pub(super) fn node(&mut self, node: &Node, state: State, guarded: bool) -> Paths {
        self.step()?;
        self.deeper(|this| match node {
            Node::Simple(simple) => this.simple(simple, state, guarded),
            Node::And(first, second) => this.then(first, second, true, state, guarded),
            Node::Or(first, second) => this.then(first, second, false, state, guarded),
            Node::Not(inner) => {
                let mut paths = this.node(inner, state, true)?;
                for path in &mut paths {
                    path.state.status = match path.flow {
                        Flow::Next => path.state.status.negated(),
                        // Shells do not agree on `! { break; }`.
                        Flow::Break(_) | Flow::Continue(_) => Status::Unknown,
                        Flow::Exit | Flow::Replaced | Flow::Return => path.state.status,
                    };
                }
                Ok(paths)
            }
            Node::Pipe(stages) => this.pipe(stages, &state, guarded),
            Node::Group(list) => this.list(list, state, guarded),
            Node::Subshell(list) => {
                let paths = this.list(list, state.clone(), guarded)?;
                let paths = back_in(&state, paths)?;
                Ok(checked(paths, guarded))
            }
            Node::Redirected(inner, redirects) => {
                this.redirected(redirects, state, guarded, |this, state| this.node(inner, state, guarded))
            }
            Node::If(branches, otherwise) => this.branches(branches, otherwise, state, guarded),
            Node::While { until, condition, body } => {
                let state = State { loops: state.loops + 1, ..state };
                Ok(left_loop(this.while_loop(*until, condition, body, state, guarded)?))
            }
            Node::For { name, words, body } => {
                let state = State { loops: state.loops + 1, ..state };
                Ok(left_loop(this.for_loop(name, words.as_deref(), body, state, guarded)?))
            }
            Node::Case { value, arms } => this.case(value, arms, state, guarded),
            Node::Function(name, body) => {
                let mut state = state;
                state.functions.insert(name.clone(), Function(body.clone()));
                state.status = Status::Code(0);
                Ok(vec![Path::next(state)])
            }
            Node::Test(test) => {
                let mut paths = Vec::new();
                for (state, holds) in this.test(test, state)? {
                    push_new(&mut paths, Path::next(State { status: Status::of(holds), ..state }));
                }
                Ok(checked(paths, guarded))
            }
            Node::Arithmetic(word) => {
                let ways = this.arithmetic(word, state)?;
                let paths = ways.into_iter().map(|(state, number)| {
                    Path::next(State { status: Status::of(number.map(|number| number != 0)), ..state })
                });
                let paths = paths.collect();
                Ok(checked(paths, guarded))
            }
            Node::Opaque(_) => Err(GaveUp),
        })
    }

    /// `a && b`, or `a || b` where `wanted` is false.
    fn then(&mut self, first: &Node, second: &Node, wanted: bool, state: State, guarded: bool) -> Paths {
        let mut paths = Vec::new();
        let firsts = self.node(first, state, true)?;
        if !firsts.is_empty() && firsts.iter().all(|path| path.flow == Flow::Replaced) {
            self.after_exec(second);
        }
        for path in firsts {
            if path.flow != Flow::Next {
                push_new(&mut paths, path);
                continue;
            }
            let (passed, failed) = path.state.split();
            let (goes_on, stays) = if wanted { (passed, failed) } else { (failed, passed) };
            if let Some(state) = stays {
                push_new(&mut paths, Path::next(state));
            }
            if let Some(state) = goes_on {
                for path in self.node(second, state, guarded)? {
                    push_new(&mut paths, path);
                }
            }
        }
        bounded(paths)
    }

    fn after_exec(&mut self, rest: &Node) {
        let what = match first_program(rest) {
            Some(program) => format!("`{program}` after it never runs"),
            None => "what stands after it never runs".to_owned(),
        };
        self.notice(OddityKind::AfterExec, format!("`exec` replaces the shell, so {what}"));
    }

    pub(super) fn notice(&mut self, kind: OddityKind, sentence: String) {
        let oddity = Oddity { kind, sentence };
        if !self.oddities.contains(&oddity) {
            self.oddities.push(oddity);
        }
    }

    /// Each stage is a shell of its own that reads what the one before it printed. What clients print fits into a pipe,
    /// so that a reader which ends early (`grep -q`) does not break them.
    fn pipe(&mut self, stages: &[Node], state: &State, guarded: bool) -> Paths {
        // Input and statuses so far.
        let mut ways: Vec<(State, Vec<Status>)> = vec![(state.clone(), Vec::new())];
        for (index, stage) in stages.iter().enumerate() {
            let is_last = index + 1 == stages.len();
            let mut next: Vec<(State, Vec<Status>)> = Vec::new();
            for (before, statuses) in ways {
                let mut shell = before.clone();
                if !is_last {
                    shell.output = Some(Value::empty());
                    shell.sink = Sink::START;
                }
                for path in self.node(stage, shell, guarded)? {
                    if matches!(path.flow, Flow::Break(_) | Flow::Continue(_)) {
                        return Err(GaveUp);
                    }
                    let mut after = before.clone();
                    if is_last {
                        after.output = path.state.output;
                    } else {
                        after.input = path.state.output.unwrap_or(Value::Unknown);
                    }
                    if state.sink.errors {
                        after.complain(None);
                    }
                    let way = (after, [statuses.clone(), vec![path.state.status]].concat());
                    if !next.contains(&way) {
                        next.push(way);
                    }
                }
            }
            ways = bounded(next)?;
        }
        let mut paths = Vec::new();
        for (mut after, statuses) in ways {
            after.status = statuses.last().copied().unwrap_or(Status::Code(0));
            if state.options.pipefail {
                // The last that failed decides.
                let decided = statuses.iter().rev().find(|status| status.is_zero() != Some(true));
                after.status = match decided {
                    None => Status::Code(0),
                    Some(Status::Unknown) if statuses.iter().any(|status| status.is_zero() == Some(false)) => {
                        Status::NonZero
                    }
                    Some(status) => *status,
                };
            }
            after.input = state.input.clone();
            push_new(&mut paths, Path::next(after));
        }
        Ok(checked(paths, guarded))
    }

    /// `[[ … ]]`; see [`super::condition`].
    fn test(&mut self, test: &Test, state: State) -> Result<Vec<(State, Option<bool>)>, GaveUp> {
        self.deeper(|this| this.condition(test, state))
    }

    fn simple(&mut self, simple: &Simple, state: State, guarded: bool) -> Paths {
        let mut paths = Vec::new();
        let state = State { substitution: None, ..state };
        // What `export` and its like are given is assigned, and so is not split.
        let is_declaration = matches!(
            simple.words.first().map(|word| word.written.as_str()),
            Some("export" | "local" | "readonly" | "declare" | "typeset")
        );
        let ways =
            if is_declaration { self.whole_fields(&simple.words, state)? } else { self.fields(&simple.words, state)? };
        for (state, fields) in ways {
            if state.is_broken {
                push_new(&mut paths, state.broken());
                continue;
            }
            let found = if fields.is_empty() {
                self.assign(simple, &state)?
            } else {
                self.with_words(simple, &fields, state, guarded)?
            };
            for path in checked(found, guarded) {
                push_new(&mut paths, path);
            }
        }
        bounded(paths)
    }

    /// Only assignments, and maybe redirections.
    fn assign(&mut self, simple: &Simple, state: &State) -> Paths {
        let mut paths = Vec::new();
        for (state, opens) in self.redirect(&simple.redirects, state.clone())? {
            for mut state in self.assigned(simple, state)? {
                if state.is_broken {
                    push_new(&mut paths, state.broken());
                    continue;
                }
                state.status = state.substitution.take().unwrap_or(Status::Code(0));
                if opens != Some(true) {
                    state.status = Status::Unknown;
                }
                push_new(&mut paths, Path::next(state));
            }
        }
        for path in &mut paths {
            (path.state.sink, path.state.input) = (state.sink, state.input.clone());
        }
        Ok(paths)
    }

    fn assigned(&mut self, simple: &Simple, state: State) -> Result<Vec<State>, GaveUp> {
        let mut states = vec![state];
        for assignment in &simple.assignments {
            let mut next = Vec::new();
            for state in states {
                let Some(word) = &assignment.value else {
                    let mut state = state;
                    state.assign(&assignment.name, Value::Unknown);
                    next.push(state);
                    continue;
                };
                for (mut state, value) in self.single(word, state)? {
                    let value = match (assignment.append, state.value(&assignment.name)) {
                        (false, _) | (true, Slot::Unset) => value,
                        (true, Slot::Set(before)) => before.followed_by(&value),
                        (true, Slot::Unknown) => Value::Unknown,
                    };
                    state.assign(&assignment.name, value);
                    next.push(state);
                }
            }
            states = bounded(next)?;
        }
        Ok(states)
    }

    /// A command with words. What is assigned before it holds only for it.
    fn with_words(&mut self, simple: &Simple, fields: &[Field], state: State, guarded: bool) -> Paths {
        let before = state.variables.clone();
        let mut paths = Vec::new();
        for mut state in self.assigned(simple, state)? {
            for assignment in &simple.assignments {
                if let Some(variable) = state.variables.get_mut(&assignment.name) {
                    variable.exported = true;
                }
            }
            state.substitution = None;
            let is_exec_alone = fields.len() == 1 && fields.iter().all(|field| field.text == "exec");
            let found = if is_exec_alone {
                // Redirections of the shell itself, which stay.
                let ways = self.redirect(&simple.redirects, state)?.into_iter();
                let status = |opens: Option<bool>| if opens == Some(true) { Status::Code(0) } else { Status::Unknown };
                ways.map(|(state, opens)| Path::next(State { status: status(opens), ..state })).collect()
            } else {
                self.redirected(&simple.redirects, state, true, |this, state| {
                    this.program(fields.to_vec(), state, guarded)
                })?
            };
            for mut path in found {
                for assignment in &simple.assignments {
                    match before.get(&assignment.name) {
                        Some(variable) => path.state.variables.insert(assignment.name.clone(), variable.clone()),
                        None => path.state.variables.remove(&assignment.name),
                    };
                }
                push_new(&mut paths, path);
            }
        }
        bounded(paths)
    }
}

/// Refuses more ways than can be followed.
pub(super) fn bounded<T>(ways: Vec<T>) -> Result<Vec<T>, GaveUp> {
    if ways.len() > MAX_WAYS { Err(GaveUp) } else { Ok(ways) }
}

/// A shell within this one is over: what it printed and its status are left.
pub(super) fn back_in(outer: &State, paths: Vec<Path>) -> Paths {
    let mut back = Vec::new();
    for path in paths {
        // Shells do not agree on what a `break` in it does to the loop around it.
        if matches!(path.flow, Flow::Break(_) | Flow::Continue(_)) {
            return Err(GaveUp);
        }
        let state =
            State { status: path.state.status, output: path.state.output, input: path.state.input, ..outer.clone() };
        push_new(&mut back, Path::next(state));
    }
    bounded(back)
}

/// `set -e` ends the shell where a command failed.
pub(super) fn checked(paths: Vec<Path>, guarded: bool) -> Vec<Path> {
    let mut checked = Vec::new();
    for path in paths {
        if guarded || !path.state.options.stop_on_failure || path.flow != Flow::Next {
            push_new(&mut checked, path);
            continue;
        }
        let (passed, failed) = path.state.split();
        checked.extend(passed.map(Path::next));
        checked.extend(failed.map(|state| Path { state, flow: Flow::Exit }));
    }
    checked
}

fn left_loop(mut paths: Vec<Path>) -> Vec<Path> {
    for path in &mut paths {
        path.state.loops = path.state.loops.saturating_sub(1);
    }
    paths
}

impl Path {
    pub(super) fn next(state: State) -> Self {
        Self { state, flow: Flow::Next }
    }
}

impl State {
    /// The shell ends, since a word in it could not be expanded.
    pub(super) fn broken(mut self) -> Path {
        self.is_broken = false;
        self.status = Status::NonZero;
        Path { state: self, flow: Flow::Exit }
    }
}

pub(super) fn push_new(paths: &mut Vec<Path>, path: Path) {
    if !paths.contains(&path) {
        paths.push(path);
    }
}

/// The program that a node starts with, for people.
fn first_program(node: &Node) -> Option<&str> {
    match node {
        Node::Simple(simple) => simple.written().first().copied(),
        Node::And(first, _) | Node::Or(first, _) | Node::Not(first) | Node::Redirected(first, _) => {
            first_program(first)
        }
        Node::Pipe(stages) => first_program(stages.first()?),
        Node::Test(_) => Some("[["),
        _ => None,
    }
}
