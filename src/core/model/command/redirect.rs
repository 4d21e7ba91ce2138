//! Redirections, and the connections that bash opens by them.

use super::evaluate::{Evaluator, GaveUp, Path, Paths, bounded, checked, push_new};
use super::state::{Sink, State};
use super::tree::Redirect;
use super::value::{Status, Value, both};
use super::{Answer, Call, Outcome};

impl Evaluator<'_> {
    /// Runs something with its redirections, and puts them back.
    pub(super) fn redirected(
        &mut self,
        redirects: &[Redirect],
        state: State,
        guarded: bool,
        run: impl Fn(&mut Self, State) -> Paths,
    ) -> Paths {
        let (sink, input) = (state.sink, state.input.clone());
        let mut paths = Vec::new();
        for (state, opens) in self.redirect(redirects, state)? {
            if state.is_broken {
                push_new(&mut paths, state.broken());
                continue;
            }
            if opens != Some(true) {
                let failed = State { status: Status::NonZero, sink, input: input.clone(), ..state.clone() };
                paths.extend(checked(vec![Path::next(failed)], guarded));
            }
            if opens == Some(false) {
                continue;
            }
            let reads = state.input != input;
            for mut path in run(self, state)? {
                path.state.sink = sink;
                if reads {
                    path.state.input = input.clone();
                }
                push_new(&mut paths, path);
            }
        }
        bounded(paths)
    }

    /// The state with redirections in force, and whether they could be made.
    pub(super) fn redirect(
        &mut self,
        redirects: &[Redirect],
        state: State,
    ) -> Result<Vec<(State, Option<bool>)>, GaveUp> {
        let mut ways = vec![(state, Some(true))];
        for redirect in redirects {
            let mut next = Vec::new();
            for (mut state, opens) in ways {
                match redirect {
                    Redirect::ToFile(1) => state.sink = Sink { output: false, connection: None, ..state.sink },
                    Redirect::ToFile(2) | Redirect::Duplicate(2, 0 | 2..) => state.sink.errors = false,
                    Redirect::BothToFile => state.sink = Sink { output: false, errors: false, connection: None },
                    Redirect::Duplicate(2, 1) => state.sink.errors = state.sink.output,
                    Redirect::Duplicate(1, 2) => {
                        state.sink = Sink { output: state.sink.errors, connection: None, ..state.sink };
                    }
                    Redirect::Duplicate(1, number) => {
                        state.sink = Sink { output: false, connection: Some(*number), ..state.sink };
                    }
                    Redirect::ToFile(_) | Redirect::Duplicate(..) => {}
                    Redirect::FromDescriptor(number) => {
                        state.input = self.received(*number, &state);
                    }
                    Redirect::Connection(number, word) => {
                        for (mut state, path) in self.single(word, state)? {
                            let path = path.known().unwrap_or(&word.written).to_owned();
                            let connects = match self.dial(&path, None) {
                                Some(Answer { outcome: Outcome::Passes, .. }) => Some(true),
                                Some(Answer { outcome: Outcome::Fails, .. }) => Some(false),
                                _ => None,
                            };
                            state.connections.insert(*number, (path, Value::empty()));
                            match number {
                                0 => state.input = Value::Unknown,
                                1 => state.sink = Sink { output: false, connection: Some(1), ..state.sink },
                                _ => {}
                            }
                            next.push((state, both(opens, connects)));
                        }
                        continue;
                    }
                    Redirect::FromElsewhere => state.input = Value::Unknown,
                    Redirect::Other => {
                        next.push((state, both(opens, None)));
                        continue;
                    }
                    Redirect::FromText(word, ends) => {
                        let end = Value::Known(if *ends { "\n" } else { "" }.to_owned());
                        for (mut state, value) in self.single(word, state)? {
                            state.input = value.followed_by(&end);
                            next.push((state, opens));
                        }
                        continue;
                    }
                    Redirect::FromFile(word) => {
                        for (mut state, path) in self.single(word, state)? {
                            let text = match path.known() {
                                Some("/dev/null") => Some(""),
                                Some(path) => self.text_of(path),
                                None => None,
                            };
                            let exists = text.map(|_| true);
                            state.input = text.map_or(Value::Unknown, |text| Value::Known(text.to_owned()));
                            next.push((state, both(opens, exists)));
                        }
                        continue;
                    }
                }
                next.push((state, opens));
            }
            ways = bounded(next)?;
        }
        Ok(ways)
    }

    /// Asks what a connection of the shell's own answers.
    fn dial(&mut self, path: &str, input: Option<String>) -> Option<Answer> {
        let call = Call { path: path.to_owned(), input, limit: self.limit.clone(), ..Call::default() };
        if !self.calls.contains(&call) {
            self.calls.push(call.clone());
        }
        self.world().answer(&call)
    }

    /// What is read from a connection.
    fn received(&mut self, number: u32, state: &State) -> Value {
        let Some((path, sent)) = state.connections.get(&number) else { return Value::Unknown };
        let Some(sent) = sent.known().filter(|sent| !sent.is_empty()) else { return Value::Unknown };
        match self.dial(path, Some(sent.to_owned())).and_then(|answer| answer.output) {
            Some("") => Value::empty(),
            Some(text) => Value::Known(format!("{text}\n")),
            None => Value::Unknown,
        }
    }
}
