//! `if`, `case` and the loops.

use super::condition::matches_pattern;
use super::evaluate::{Evaluator, Flow, GaveUp, MAX_ROUNDS, Path, Paths, bounded, push_new};
use super::expand::Field;
use super::state::State;
use super::tree::{After, Arm, List, Word};
use super::value::{Status, Value, either};

impl Evaluator<'_> {
    pub(super) fn branches(
        &mut self,
        branches: &[(List, List)],
        otherwise: &List,
        state: State,
        guarded: bool,
    ) -> Paths {
        let mut paths = Vec::new();
        let mut open = vec![state];
        for (condition, body) in branches {
            let mut next = Vec::new();
            for state in open {
                for path in self.list(condition, state, true)? {
                    if path.flow != Flow::Next {
                        push_new(&mut paths, path);
                        continue;
                    }
                    let (passed, failed) = path.state.split();
                    if let Some(state) = passed {
                        for path in self.list(body, state, guarded)? {
                            push_new(&mut paths, path);
                        }
                    }
                    next.extend(failed.filter(|state| !next.contains(state)));
                }
            }
            open = bounded(next)?;
        }
        for state in open {
            if otherwise.0.is_empty() {
                push_new(&mut paths, Path::next(State { status: Status::Code(0), ..state }));
                continue;
            }
            for path in self.list(otherwise, state, guarded)? {
                push_new(&mut paths, path);
            }
        }
        bounded(paths)
    }

    pub(super) fn while_loop(
        &mut self,
        until: bool,
        condition: &List,
        body: &List,
        state: State,
        guarded: bool,
    ) -> Paths {
        let mut paths = Vec::new();
        // States at the head of the loop, with the status of the body before.
        let mut seen: Vec<(State, Status)> = Vec::new();
        let mut open = vec![(state, Status::Code(0))];
        while let Some((state, status)) = open.pop() {
            if seen.contains(&(state.clone(), status)) {
                // It may go on like this for ever.
                self.may_hang = true;
                continue;
            }
            if seen.len() >= MAX_ROUNDS {
                return Err(GaveUp);
            }
            seen.push((state.clone(), status));
            for path in self.list(condition, state, true)? {
                let Some(state) = out_of_loop(path, &mut paths, &mut open, status) else { continue };
                let (passed, failed) = state.split();
                let (goes_on, over) = if until { (failed, passed) } else { (passed, failed) };
                if let Some(state) = over {
                    push_new(&mut paths, Path::next(State { status, ..state }));
                }
                if let Some(state) = goes_on {
                    for path in self.list(body, state, guarded)? {
                        let after = path.state.status;
                        let next = out_of_loop(path, &mut paths, &mut open, after).map(|state| (state, after));
                        open.extend(next.filter(|next| !open.contains(next)));
                    }
                }
            }
        }
        bounded(paths)
    }

    pub(super) fn for_loop(
        &mut self,
        name: &str,
        words: Option<&[Word]>,
        body: &List,
        state: State,
        guarded: bool,
    ) -> Paths {
        let starts = if let Some(words) = words {
            self.fields(words, state)?.into_iter().map(|(state, fields)| (state, Some(fields))).collect()
        } else {
            let fields = state.positional.as_ref().map(|values| {
                let field = |value: &Value| Field { value: value.clone(), ..Field::known("") };
                values.iter().skip(1).map(field).collect::<Vec<_>>()
            });
            vec![(state, fields)]
        };
        let mut paths = Vec::new();
        for (state, fields) in starts {
            if state.is_broken {
                push_new(&mut paths, state.broken());
                continue;
            }
            let known = fields.filter(|fields| fields.iter().all(|field| !field.splits));
            let Some(fields) = known else {
                for path in self.rounds(name, body, state, guarded)? {
                    push_new(&mut paths, path);
                }
                continue;
            };
            if fields.len() > MAX_ROUNDS {
                return Err(GaveUp);
            }
            let status = if fields.is_empty() { Status::Code(0) } else { state.status };
            let mut open = vec![State { status, ..state }];
            for field in fields {
                let mut next: Vec<(State, Status)> = Vec::new();
                for mut state in open {
                    state.assign(name, field.value.clone());
                    for path in self.list(body, state, guarded)? {
                        let status = path.state.status;
                        if let Some(state) = out_of_loop(path, &mut paths, &mut next, status) {
                            next.push((state, status));
                        }
                    }
                }
                let mut different: Vec<State> = Vec::new();
                for (state, _) in next {
                    if !different.contains(&state) {
                        different.push(state);
                    }
                }
                open = bounded(different)?;
            }
            for state in open {
                push_new(&mut paths, Path::next(state));
            }
        }
        bounded(paths)
    }

    /// Any number of rounds with a value that is not known.
    fn rounds(&mut self, name: &str, body: &List, state: State, guarded: bool) -> Paths {
        let mut paths = Vec::new();
        let mut seen: Vec<State> = Vec::new();
        push_new(&mut paths, Path::next(State { status: Status::Code(0), ..state.clone() }));
        let mut open = vec![(state, Status::Code(0))];
        let mut is_first = true;
        while let Some((state, _)) = open.pop() {
            if !std::mem::take(&mut is_first) {
                push_new(&mut paths, Path::next(state.clone()));
            }
            if seen.contains(&state) {
                continue;
            }
            if seen.len() >= MAX_ROUNDS {
                return Err(GaveUp);
            }
            seen.push(state.clone());
            let mut state = state;
            let before = state.output.clone();
            state.assign(name, Value::Unknown);
            for path in self.list(body, state, guarded)? {
                let status = path.state.status;
                if let Some(mut state) = out_of_loop(path, &mut paths, &mut open, status) {
                    // How often it prints something is not known either.
                    if state.output != before {
                        state.output = Some(Value::Unknown);
                    }
                    open.push((state, status));
                }
            }
        }
        bounded(paths)
    }

    pub(super) fn case(&mut self, value: &Word, arms: &[Arm], state: State, guarded: bool) -> Paths {
        let mut paths = Vec::new();
        for (state, value) in self.single(value, state)? {
            if state.is_broken {
                push_new(&mut paths, state.broken());
                continue;
            }
            // States with whether they fall into the next arm, whatever its patterns.
            let mut open = vec![(state, false)];
            for arm in arms {
                let mut next: Vec<(State, bool)> = Vec::new();
                for (state, falls) in open {
                    let decisions = if falls { vec![(state, Some(true))] } else { self.arm(arm, &value, state)? };
                    for (state, matches) in decisions {
                        if matches != Some(true) && !next.contains(&(state.clone(), false)) {
                            next.push((state.clone(), false));
                        }
                        if matches == Some(false) {
                            continue;
                        }
                        let state =
                            if arm.body.0.is_empty() { State { status: Status::Code(0), ..state } } else { state };
                        for path in self.list(&arm.body, state, guarded)? {
                            if path.flow == Flow::Next && arm.after != After::Leave {
                                next.push((path.state, arm.after == After::Fall));
                            } else {
                                push_new(&mut paths, path);
                            }
                        }
                    }
                }
                open = bounded(next)?;
            }
            for (state, _) in open {
                push_new(&mut paths, Path::next(State { status: Status::Code(0), ..state }));
            }
        }
        bounded(paths)
    }

    /// Whether one of the patterns of an arm matches.
    fn arm(&mut self, arm: &Arm, value: &Value, state: State) -> Result<Vec<(State, Option<bool>)>, GaveUp> {
        let mut ways = vec![(state, Some(false))];
        for pattern in &arm.patterns {
            let mut next = Vec::new();
            for (state, before) in ways {
                for (state, pattern) in self.pattern(pattern, state)? {
                    let matches = matches_pattern(value, pattern.as_deref());
                    next.push((state, either(before, matches)));
                }
            }
            ways = bounded(next)?;
        }
        Ok(ways)
    }
}

/// What a path means to the loop around it: the state where it goes on in this round. `break` and `continue` of this
/// loop, and what leaves it, are sorted into `paths` and `open`.
fn out_of_loop(path: Path, paths: &mut Vec<Path>, open: &mut Vec<(State, Status)>, status: Status) -> Option<State> {
    match path.flow {
        Flow::Next => return Some(path.state),
        Flow::Break(levels) if levels <= 1 => push_new(paths, Path::next(path.state)),
        Flow::Break(levels) => push_new(paths, Path { flow: Flow::Break(levels - 1), ..path }),
        Flow::Continue(levels) if levels <= 1 => open.push((path.state, status)),
        Flow::Continue(levels) => push_new(paths, Path { flow: Flow::Continue(levels - 1), ..path }),
        Flow::Exit | Flow::Replaced | Flow::Return => push_new(paths, path),
    }
    None
}
