//! What one command does: a function, a builtin, a shell, a script whose text is known, a client, a tool.

use std::rc::Rc;

use super::evaluate::{Evaluator, Flow, Path, Paths, back_in, bounded, push_new};
use super::expand::Field;
use super::limits;
use super::state::{Slot, State, Variable};
use super::tree::List;
use super::value::{Status, Value};
use super::wrappers::{self, Unwrapped, least};
use super::{Call, OddityKind, Outcome, tools};

/// Shells whose language is read.
pub(super) const SHELLS: [&str; 5] = ["sh", "bash", "ash", "dash", "ksh"];

impl Evaluator<'_> {
    /// A command with all its words.
    pub(super) fn program(&mut self, fields: Vec<Field>, state: State, guarded: bool) -> Paths {
        self.step()?;
        self.deeper(|this| {
            let unwrapped = wrappers::unwrap(fields);
            let outer = this.limit.clone();
            this.limit = least(outer.clone(), unwrapped.limit.clone());
            let paths = this.unwrapped(unwrapped, state, guarded);
            this.limit = outer;
            paths
        })
    }

    fn unwrapped(&mut self, command: Unwrapped, state: State, guarded: bool) -> Paths {
        let before = state.variables.clone();
        let mut within = state.clone();
        for (name, field) in &command.variables {
            let variable = Variable { value: Some(field.value.clone()), exported: true };
            within.variables.insert(name.clone(), variable);
        }
        let mut fields = command.fields;
        let hung = std::mem::take(&mut self.may_hang);
        if command.more_words {
            match within.input.known().filter(|text| !text.contains(['"', '\'', '\\'])) {
                Some(text) => fields.extend(text.split_whitespace().map(Field::known)),
                None => fields.push(Field { value: Value::Unknown, splits: true, ..Field::known("…") }),
            }
        }
        let mut paths = match &command.shell_text {
            Some(text) => self.shell_text(text, &[], "sh", false, &within)?,
            None if fields.is_empty() || command.more_words && fields.len() == 1 && fields.iter().all(|f| f.splits) => {
                vec![unknown(within)]
            }
            None => self.named(&fields, command.is_program, command.replaces_shell, within, guarded)?,
        };
        if self.may_hang && command.limit.is_some() {
            let output = state.output.as_ref().map(|_| Value::Unknown);
            paths.push(Path::next(State { status: Status::NonZero, output, ..state }));
            self.may_hang = false;
        }
        self.may_hang |= hung;
        for path in &mut paths {
            if command.is_doubtful {
                path.state.status = Status::Unknown;
                path.state.output = path.state.output.as_ref().map(|_| Value::Unknown);
            }
            if command.is_program || !command.variables.is_empty() {
                for (name, _) in &command.variables {
                    match before.get(name) {
                        Some(variable) => path.state.variables.insert(name.clone(), variable.clone()),
                        None => path.state.variables.remove(name),
                    };
                }
            }
            if command.replaces_shell && path.flow == Flow::Next {
                path.flow = Flow::Replaced;
            }
        }
        bounded(paths)
    }

    fn named(
        &mut self,
        fields: &[Field],
        is_program: bool,
        replaces_shell: bool,
        state: State,
        guarded: bool,
    ) -> Paths {
        let Some((first, arguments)) = fields.split_first() else { return Ok(vec![unknown(state)]) };
        let Some(path) = first.value.known().filter(|_| !first.splits) else {
            // Some program, whose name is known at run time.
            self.call(fields, replaces_shell, &state);
            return Ok(vec![unknown(state)]);
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        if !is_program && name == path {
            if let Some(function) = state.functions.get(name).cloned() {
                return self.function(&function.0, arguments, state, guarded);
            }
            if let Some(paths) = self.builtin(name, arguments, &state, guarded)? {
                return Ok(paths);
            }
        }
        if SHELLS.contains(&name) {
            return self.shell(fields, replaces_shell, &state);
        }
        if path.contains('/')
            && let Some(text) = self.text_of(path)
        {
            return self.script(path, text, arguments, replaces_shell, &state);
        }
        Ok(vec![self.external(fields, replaces_shell, state)])
    }

    /// A program that is not followed into.
    fn external(&mut self, fields: &[Field], replaces_shell: bool, mut state: State) -> Path {
        let call = self.call(fields, replaces_shell, &state);
        let name = call.program().to_owned();
        let answer = self.world().answer(&call);
        let (status, output) = match answer {
            Some(answer) => {
                let status = match answer.outcome {
                    Outcome::Passes => Status::Code(0),
                    Outcome::Fails => Status::NonZero,
                    Outcome::Unknown => Status::Unknown,
                };
                let output = match answer.output {
                    Some("") => Value::empty(),
                    Some(text) => Value::Known(format!("{text}\n")),
                    None => Value::Unknown,
                };
                (status, output)
            }
            None => tools::run(&name, fields.get(1..).unwrap_or(&[]), &state, self),
        };
        state.status = status;
        state.print(&output);
        if answer.is_some() || !tools::is_quiet(&name) {
            let success = self.world().success(&call).map(str::to_owned);
            state.complain(success);
        }
        // It may have read some of it.
        if !matches!(name.as_str(), "true" | "false" | "echo" | "printf" | "sleep" | "test" | "[" | "date") {
            state.input = Value::Unknown;
        }
        Path::next(state)
    }

    /// Notes a call.
    fn call(&mut self, fields: &[Field], replaces_shell: bool, state: &State) -> Call {
        let (path, arguments) =
            fields.split_first().map_or((String::new(), fields), |(path, arguments)| (path.text.clone(), arguments));
        let mut call = Call {
            path,
            arguments: arguments.iter().map(|field| field.text.clone()).collect(),
            replaces_shell,
            input: state.input.known().map(str::to_owned),
            limit: None,
            open: arguments.iter().map(|field| field.value.known().is_none()).collect(),
        };
        let variable = |name: &str| match state.value(name) {
            Slot::Set(Value::Known(value)) => Some(value),
            _ => None,
        };
        call.limit = least(self.limit.clone(), limits::of_call(&call, &variable));
        if !self.calls.contains(&call) {
            self.calls.push(call.clone());
        }
        for pair in arguments.windows(2) {
            let [option, value] = pair else { continue };
            let takes_value = option.text.starts_with('-') && !option.text.contains('=');
            if takes_value && let Some(name) = &value.undefined {
                let sentence = format!(
                    "`{} ${name}` without quotes: the manifest does not define {name}, and unless the image does, {} takes the next word instead",
                    option.text, option.text
                );
                self.notice(OddityKind::UnsetVariable, sentence);
            }
        }
        call
    }

    fn function(&mut self, body: &Rc<super::tree::Node>, arguments: &[Field], state: State, guarded: bool) -> Paths {
        let positional = state.positional.clone();
        let mut inner = state;
        let name = positional.as_ref().and_then(|values| values.first().cloned());
        inner.positional = parameters(name.unwrap_or(Value::Unknown), arguments);
        inner.frames.push(std::collections::BTreeMap::new());
        let loops = std::mem::take(&mut inner.loops);
        let mut paths = Vec::new();
        for mut path in self.node(body, inner, guarded)? {
            if matches!(path.flow, Flow::Next | Flow::Return) {
                path.flow = Flow::Next;
            }
            path.state.positional.clone_from(&positional);
            path.state.loops = loops;
            for (name, before) in path.state.frames.pop().unwrap_or_default() {
                match before {
                    Some(variable) => path.state.variables.insert(name, variable),
                    None => path.state.variables.remove(&name),
                };
            }
            push_new(&mut paths, path);
        }
        bounded(paths)
    }

    /// `sh -c TEXT`, or a script file.
    fn shell(&mut self, fields: &[Field], replaces_shell: bool, state: &State) -> Paths {
        let Some((shell, words)) = fields.split_first() else { return Ok(vec![unknown(state.clone())]) };
        let shell = shell.text.rsplit('/').next().unwrap_or("sh");
        let mut options = super::state::Options { bash: shell == "bash", ..super::state::Options::default() };
        // `-c` takes no value: the script is the first word that is no option, so `sh -c -e SCRIPT` is one too.
        let mut is_text = false;
        let mut index = 0;
        while let Some(word) = words.get(index) {
            index += 1;
            if word.splits {
                return Ok(vec![unknown(state.clone())]);
            }
            match word.text.as_str() {
                "--login" | "--noprofile" | "--norc" | "--posix" => {
                    options.bash &= word.text != "--posix";
                    continue;
                }
                "--" | "-" => {
                    let Some(script) = words.get(index) else { break };
                    let rest = words.get(index + 1..).unwrap_or(&[]);
                    return self.start(script, rest, shell, is_text, options, replaces_shell, state);
                }
                _ => {}
            }
            let Some(flags) = word.text.strip_prefix(['-', '+']).filter(|_| !word.text.starts_with("--")) else {
                if word.text.starts_with("--") {
                    break;
                }
                let rest = words.get(index..).unwrap_or(&[]);
                return self.start(word, rest, shell, is_text, options, replaces_shell, state);
            };
            let sets = word.text.starts_with('-');
            for flag in flags.chars() {
                match flag {
                    'e' => options.stop_on_failure = sets,
                    'u' => options.no_unset = sets,
                    'c' => is_text = true,
                    'o' => {
                        let option = words.get(index).map(|word| word.text.as_str());
                        index += 1;
                        set_option(option.unwrap_or(""), sets, &mut options);
                    }
                    _ => {}
                }
            }
        }
        // Without a script it reads one from its input.
        Ok(vec![unknown(state.clone())])
    }

    #[allow(clippy::too_many_arguments, reason = "all of them are parts of one command line")]
    fn start(
        &mut self,
        script: &Field,
        rest: &[Field],
        shell: &str,
        is_text: bool,
        options: super::state::Options,
        replaces_shell: bool,
        state: &State,
    ) -> Paths {
        if is_text {
            let mut outer = state.clone();
            outer.options = options;
            let paths = self.shell_text(script, rest, shell, true, &outer)?;
            return back_in(state, paths);
        }
        let Some(path) = script.value.known() else { return Ok(vec![unknown(state.clone())]) };
        if let Some(text) = self.text_of(path) {
            let mut child = state.child();
            child.options = options;
            child.positional = parameters(Value::Known(path.to_owned()), rest);
            return self.run_text(text, child, state);
        }
        let fields: Vec<Field> = std::iter::once(script).chain(rest).cloned().collect();
        Ok(vec![self.external(&fields, replaces_shell, state.clone())])
    }

    /// `sh -c TEXT NAME WORD…`
    fn shell_text(&mut self, text: &Field, rest: &[Field], shell: &str, keeps_options: bool, state: &State) -> Paths {
        let Some(known) = text.value.known() else { return Ok(vec![unknown(state.clone())]) };
        if let Some((kind, sentence)) = wrappers::words_that_never_run(known, rest) {
            self.notice(kind, sentence);
        }
        let mut child = state.child();
        if keeps_options {
            child.options = state.options;
        }
        child.positional = match rest.split_first() {
            None => Some(vec![Value::Known(shell.to_owned())]),
            Some((name, arguments)) => parameters(name.value.clone(), arguments),
        };
        self.run_text(known, child, state)
    }

    /// A script file that is run itself.
    fn script(&mut self, path: &str, text: &str, arguments: &[Field], replaces_shell: bool, state: &State) -> Paths {
        let mut child = state.child();
        child.positional = parameters(Value::Known(path.to_owned()), arguments);
        let interpreter: Vec<&str> = match text.strip_prefix("#!") {
            None => vec!["sh"],
            Some(rest) => {
                let words = rest.lines().next().unwrap_or("").split_whitespace();
                words.skip_while(|word| word.ends_with("/env") || *word == "-S").collect()
            }
        };
        let (program, flags) = interpreter.split_first().unwrap_or((&"sh", &[]));
        let name = program.rsplit('/').next().unwrap_or(program);
        if !SHELLS.contains(&name) {
            let fields = [Field::known(program), Field::known(path)];
            let fields: Vec<Field> = fields.into_iter().chain(arguments.iter().cloned()).collect();
            return Ok(vec![self.external(&fields, replaces_shell, state.clone())]);
        }
        child.options.bash = name == "bash";
        for flag in flags {
            child.options.stop_on_failure |= flag.starts_with('-') && flag.contains('e');
            child.options.no_unset |= flag.starts_with('-') && flag.contains('u');
        }
        self.run_text(text, child, state)
    }

    /// Runs a text in a shell of its own, and comes back to `outer`.
    fn run_text(&mut self, text: &str, child: State, outer: &State) -> Paths {
        let Some(list) = self.read(text) else { return Ok(vec![unknown(outer.clone())]) };
        let paths = self.deeper(|this| this.list(&list, child, false))?;
        back_in(outer, paths)
    }

    /// Reads a script, once for all ways.
    pub(super) fn read(&self, text: &str) -> Option<Rc<List>> {
        self.library.read(text)
    }
}

/// `$0` and what follows; None where the number is not known.
pub(super) fn parameters(name: Value, arguments: &[Field]) -> Option<Vec<Value>> {
    let known = arguments.iter().map(|field| (!field.splits).then(|| field.value.clone()));
    std::iter::once(Some(name)).chain(known).collect()
}

pub(super) fn set_option(name: &str, sets: bool, options: &mut super::state::Options) {
    match name {
        "errexit" => options.stop_on_failure = sets,
        "nounset" => options.no_unset = sets,
        "pipefail" => options.pipefail = sets,
        _ => {}
    }
}

/// Nothing is known of what a command did, but that it left the shell alone.
pub(super) fn unknown(state: State) -> Path {
    let output = state.output.as_ref().map(|output| if state.sink.output { Value::Unknown } else { output.clone() });
    Path::next(State { status: Status::Unknown, output, input: Value::Unknown, ..state })
}
