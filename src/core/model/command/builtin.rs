//! Builtins of the shell that change the shell: `exit`, `set`, `export`, `read`, `.` and their like.

use super::evaluate::{Evaluator, Flow, GaveUp, Path, Paths};
use super::expand::Field;
use super::program::{parameters, set_option, unknown};
use super::state::{State, Variable};
use super::value::{Status, Value};

impl Evaluator<'_> {
    /// A builtin of the shell that changes the shell; None where it is none.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        arguments: &[Field],
        state: &State,
        guarded: bool,
    ) -> Result<Option<Vec<Path>>, GaveUp> {
        let done = |state: State, status: Status| Ok(Some(vec![Path::next(State { status, ..state })]));
        let first = arguments.first();
        let state = state.clone();
        match name {
            "exit" | "return" => {
                if name == "return" && state.frames.is_empty() && state.sourced == 0 {
                    // bash complains, dash ends.
                    return if state.options.bash { done(state, Status::NonZero) } else { Err(GaveUp) };
                }
                let status = match first {
                    None => state.status,
                    Some(field) if field.splits => Status::Unknown,
                    Some(field) => Status::from_value(&field.value),
                };
                let flow = if name == "exit" { Flow::Exit } else { Flow::Return };
                Ok(Some(vec![Path { state: State { status, ..state }, flow }]))
            }
            "break" | "continue" => {
                let levels = match first {
                    None => 1,
                    Some(field) => field.value.known().and_then(|text| text.parse().ok()).ok_or(GaveUp)?,
                };
                if state.loops == 0 {
                    // In dash it reaches the loop around the call of a function, in bash it does not.
                    if !state.options.bash && !state.frames.is_empty() {
                        return Err(GaveUp);
                    }
                    return done(state, Status::Code(0));
                }
                let levels = levels.min(state.loops);
                let flow = if name == "break" { Flow::Break(levels) } else { Flow::Continue(levels) };
                Ok(Some(vec![Path { state: State { status: Status::Code(0), ..state }, flow }]))
            }
            "set" => {
                let stopped = state.options.stop_on_failure;
                let path = set(arguments, state);
                // Shells do not agree on `! { set -e; … }`.
                if guarded && path.state.options.stop_on_failure && !stopped {
                    return Err(GaveUp);
                }
                Ok(Some(vec![path]))
            }
            "shift" => {
                let mut state = state;
                let count: usize = match first {
                    None => 1,
                    Some(field) => field.value.known().and_then(|text| text.parse().ok()).ok_or(GaveUp)?,
                };
                let status = match state.positional.as_mut() {
                    None => Status::Unknown,
                    Some(values) if count < values.len() => {
                        values.drain(1..=count);
                        Status::Code(0)
                    }
                    // dash ends here, bash goes on.
                    Some(_) => return Err(GaveUp),
                };
                done(state, status)
            }
            // bash complains, dash ends.
            "local" if state.frames.is_empty() => {
                if state.options.bash {
                    done(state, Status::Code(1))
                } else {
                    Err(GaveUp)
                }
            }
            "export" | "readonly" | "local" | "declare" | "typeset" => declare(name, arguments, state).map(Some),
            "unset" => {
                let mut state = state;
                for field in arguments.iter().filter(|field| !field.text.starts_with('-')) {
                    let name = field.value.known().filter(|_| !field.splits).ok_or(GaveUp)?;
                    state.functions.remove(name);
                    state.variables.insert(name.to_owned(), Variable { value: None, exported: false });
                }
                done(state, Status::Code(0))
            }
            "read" => Ok(Some(vec![read_line(arguments, state)])),
            "getopts" => {
                let mut state = state;
                for name in ["OPTARG", "OPTIND"].into_iter().chain(arguments.get(1).map(|field| field.text.as_str())) {
                    state.assign(name, Value::Unknown);
                }
                done(state, Status::Unknown)
            }
            "eval" => {
                let words: Option<Vec<&str>> =
                    arguments.iter().map(|field| field.value.known().filter(|_| !field.splits)).collect();
                let list = self.read(&words.ok_or(GaveUp)?.join(" ")).ok_or(GaveUp)?;
                self.list(&list, state, guarded).map(Some)
            }
            "." | "source" => {
                let path = first.and_then(|field| field.value.known()).ok_or(GaveUp)?;
                // What an unknown file defines or ends is not known.
                let text = self.text_of(path).ok_or(GaveUp)?;
                let list = self.read(text).ok_or(GaveUp)?;
                let mut state = state;
                state.sourced += 1;
                let positional = state.positional.clone();
                let rest = arguments.get(1..).unwrap_or(&[]);
                if !rest.is_empty() {
                    state.positional = parameters(Value::Known(path.to_owned()), rest);
                }
                let mut paths = self.deeper(|this| this.list(&list, state, guarded))?;
                for path in &mut paths {
                    path.state.sourced = path.state.sourced.saturating_sub(1);
                    if path.flow == Flow::Return {
                        path.flow = Flow::Next;
                    }
                    if !rest.is_empty() {
                        path.state.positional.clone_from(&positional);
                    }
                }
                Ok(Some(paths))
            }
            "trap" => {
                let handles_end =
                    arguments.iter().skip(1).any(|field| matches!(field.text.as_str(), "EXIT" | "0" | "ERR"));
                let changes_status = first.is_none_or(|field| {
                    field.value.known().is_none_or(|text| text.contains("exit") || text.contains("return"))
                        // A handler that is a function may do the same.
                        || state.functions.contains_key(&field.text)
                });
                if handles_end && changes_status { Err(GaveUp) } else { done(state, Status::Code(0)) }
            }
            ":" => done(state, Status::Code(0)),
            "umask" | "ulimit" => done(state, Status::Unknown),
            "cd" | "pushd" | "popd" | "wait" | "jobs" | "disown" | "hash" | "type" | "command" => {
                Ok(Some(vec![unknown(state)]))
            }
            "shopt" if arguments.iter().any(|field| matches!(field.text.as_str(), "extglob" | "nullglob")) => {
                done(state, Status::Code(0))
            }
            "alias" | "shopt" | "let" | "mapfile" | "readarray" | "enable" | "builtin" => Err(GaveUp),
            _ => Ok(None),
        }
    }
}

/// `set`: options of the shell, and its parameters.
fn set(arguments: &[Field], mut state: State) -> Path {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.value.known().filter(|_| !word.splits);
        let Some(flags) = text.and_then(|text| text.strip_prefix(['-', '+'])) else {
            state.positional = renumbered(state.positional, std::iter::once(word).chain(words).collect());
            break;
        };
        let sets = word.text.starts_with('-');
        if flags == "-" || flags.is_empty() {
            state.positional = renumbered(state.positional, words.collect());
            break;
        }
        for flag in flags.chars() {
            match flag {
                'e' => state.options.stop_on_failure = sets,
                'u' => state.options.no_unset = sets,
                'o' => {
                    let option = words.next().map(|word| word.text.clone()).unwrap_or_default();
                    set_option(&option, sets, &mut state.options);
                }
                _ => {}
            }
        }
    }
    state.status = Status::Code(0);
    Path::next(state)
}

fn renumbered(before: Option<Vec<Value>>, words: Vec<&Field>) -> Option<Vec<Value>> {
    let name = before.and_then(|values| values.into_iter().next()).unwrap_or(Value::Unknown);
    let words: Vec<Field> = words.into_iter().cloned().collect();
    parameters(name, &words)
}

/// `export`, `local` and their like.
fn declare(name: &str, arguments: &[Field], mut state: State) -> Paths {
    // Integers, arrays, references and the like change what an assignment means.
    let is_plain = !arguments
        .iter()
        .any(|field| field.text.starts_with(['-', '+']) && field.text.contains(['a', 'A', 'i', 'l', 'n', 'u', 'c']));
    for field in arguments.iter().filter(|field| !field.text.starts_with(['-', '+'])) {
        let (variable, value) = match field.text.split_once('=') {
            Some((variable, text)) => (
                variable.to_owned(),
                Some(field.value.known().map_or(Value::Unknown, |_| Value::Known(text.to_owned()))),
            ),
            None => (field.value.known().ok_or(GaveUp)?.to_owned(), None),
        };
        let variable = variable.trim_end_matches('+').to_owned();
        let value = if field.text.contains("+=") { value.map(|_| Value::Unknown) } else { value };
        let before = state.variables.get(&variable).cloned();
        if name != "export"
            && name != "readonly"
            && let Some(frame) = state.frames.last_mut()
        {
            frame.entry(variable.clone()).or_insert_with(|| before.clone());
            if value.is_none() {
                state.variables.insert(variable.clone(), Variable { value: None, exported: false });
            }
        }
        if let Some(value) = value {
            state.assign(&variable, if is_plain { value } else { Value::Unknown });
        }
        if (name == "export" || arguments.iter().any(|field| field.text == "-x"))
            && let Some(variable) = state.variables.get_mut(&variable)
        {
            variable.exported = true;
        }
    }
    state.status = Status::Code(0);
    Ok(vec![Path::next(state)])
}

/// `read`: one line into one variable is followed.
fn read_line(arguments: &[Field], mut state: State) -> Path {
    let names: Vec<&str> =
        arguments.iter().map(|field| field.text.as_str()).filter(|word| !word.starts_with('-')).collect();
    let is_plain = arguments.iter().all(|field| !field.text.starts_with('-') || field.text == "-r")
        && !state.variables.contains_key("IFS");
    let line = match state.input.known().and_then(|text| text.split_once('\n')) {
        Some((line, rest)) if is_plain && names.len() == 1 && !line.contains('\\') => {
            let line = line.trim_matches([' ', '\t']).to_owned();
            state.input = Value::Known(rest.to_owned());
            Some(line)
        }
        _ => None,
    };
    if let Some(line) = line {
        for name in &names {
            state.assign(name, Value::Known(line.clone()));
        }
        state.status = Status::Code(0);
        return Path::next(state);
    }
    let is_over = state.input.known() == Some("");
    for name in names.iter().chain(["REPLY"].iter()) {
        state.assign(name, Value::Unknown);
    }
    state.status = if is_over { Status::NonZero } else { Status::Unknown };
    if !is_over {
        state.input = Value::Unknown;
    }
    Path::next(state)
}
