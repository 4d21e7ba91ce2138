//! What a probe of a database means: whether it passes during recovery, who else decides it, and what it costs.

use std::sync::OnceLock;

use serde_json::Value;

use super::connection::dialled;
use super::profile::{Endpoint, FAILS, Http, Opens, PASSES, Runtime, Situation, UNKNOWN};
use super::{ClientPort, Database, KnownScript, asks_elsewhere, known_script, resolve_port};
use crate::api::Engine;
use crate::core::model::command::{Answer, Call, InnerTimeout, Oddity, Outcome, Script, World};
use crate::core::model::files::File;
use crate::core::model::probe::{HandlerKind, Probe, ProbeKind};
use crate::core::model::workload::Container;

/// What a probe means for the database behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// Whether it passes while the server recovers.
    pub outcome: Outcome,
    /// Why, for people.
    pub because: String,
    /// What kind of check it is.
    pub check: Check,
    /// What else decides it: it fails although this server is well, because that is away.
    pub depends_on: Option<String>,
    /// It fails although this server is well, because its login is no longer good.
    pub needs_login: bool,
    /// It does the same whatever the server does: passes when it is down, or fails when it is well.
    pub always: Option<Outcome>,
    /// The heaviest program that it starts.
    pub runtime: Runtime,
    /// The longest that one call in its command may take by a limit of its own.
    pub inner_timeout: Option<InnerTimeout>,
    /// What in its command does not do what it seems to do.
    pub oddities: Vec<Oddity>,
}

/// What kind of check an exec or network probe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// It asks the server.
    Client,
    /// It looks for a process.
    Process,
    /// A file that is not in the pod spec.
    Script,
    /// It connects, and asks nothing.
    Socket,
    /// It sends an HTTP request.
    Http,
    /// Something else.
    Other,
}

impl Meaning {
    fn new(outcome: Outcome, because: impl Into<String>, check: Check) -> Self {
        Self {
            outcome,
            because: because.into(),
            check,
            depends_on: None,
            needs_login: false,
            always: None,
            runtime: Runtime::Light,
            inner_timeout: None,
            oddities: Vec::new(),
        }
    }

    fn unknown(because: &str, check: Check) -> Self {
        Self::new(Outcome::Unknown, because, check)
    }
}

/// Meanings that were worked out, with their probes, by kind. Every rule asks, and a script is not quick to follow.
#[derive(Clone, Debug, Default)]
pub(super) struct Known([OnceLock<(Value, Meaning)>; 3]);

impl Database {
    /// What a probe of this container means.
    #[must_use]
    pub fn meaning(&self, container: &Container<'_>, probe: Probe<'_>) -> Meaning {
        let work_out = || self.work_out(container, probe);
        let Some(slot) =
            ProbeKind::ALL.iter().position(|kind| *kind == probe.kind).and_then(|at| self.meanings.0.get(at))
        else {
            return work_out();
        };
        let (known, meaning) = slot.get_or_init(|| (probe.json.clone(), work_out()));
        // A plan asks what a probe would mean that is not there yet.
        if known == probe.json { meaning.clone() } else { work_out() }
    }

    fn work_out(&self, container: &Container<'_>, probe: Probe<'_>) -> Meaning {
        match probe.handler() {
            None => Meaning::unknown("it has no handler, or more than one", Check::Other),
            Some((HandlerKind::Exec, _)) => match probe.exec_command() {
                Some(command) => self.exec_meaning(container, &command),
                None => Meaning::unknown("its command cannot be read", Check::Other),
            },
            Some((HandlerKind::TcpSocket, _)) => self.socket_meaning(container, probe),
            Some((HandlerKind::HttpGet, json)) => self.http_meaning(json),
            Some((HandlerKind::Grpc, _)) => {
                Meaning::unknown("what its gRPC health service tells is not known here", Check::Other)
            }
        }
    }

    fn socket_meaning(&self, container: &Container<'_>, probe: Probe<'_>) -> Meaning {
        let engine = self.profile.engine;
        let Some(number) = probe.port().and_then(|port| resolve_port(container, port)) else {
            return Meaning::unknown("its port has no number in the manifest", Check::Socket);
        };
        let Some((opens, port)) = self.opens(container, number) else {
            return Meaning::unknown("what it dials is not the client port", Check::Socket);
        };
        match opens {
            Opens::Early => {
                Meaning::new(Outcome::Passes, format!("{engine} opens {port} before recovery"), Check::Socket)
            }
            Opens::Late => {
                Meaning::new(Outcome::Fails, format!("{engine} opens {port} only after recovery"), Check::Socket)
            }
            Opens::Unknown => {
                let because = format!("nobody has shown whether {engine} opens {port} before or after recovery");
                Meaning::new(Outcome::Unknown, because, Check::Socket)
            }
        }
    }

    /// When a port opens, and what it is; None where nobody knows it.
    fn opens(&self, container: &Container<'_>, number: u16) -> Option<(Opens, String)> {
        if matches!(&self.port, ClientPort::Known { number: client, .. } if *client == number) {
            return Some((self.profile.opens, "its port".to_owned()));
        }
        let other = self.profile.other_port(container, number)?;
        Some((other.opens, format!("port {number} ({})", other.what)))
    }

    fn http_meaning(&self, json: &Value) -> Meaning {
        let path = json.get("path").and_then(Value::as_str).unwrap_or("/");
        let Some(endpoint) = self.endpoint(path) else {
            return Meaning::unknown("what this endpoint tells is not known here", Check::Http);
        };
        let outcome = |situation| match endpoint.in_situation(situation) {
            Http::Good => Outcome::Passes,
            Http::Refusing | Http::Closed => Outcome::Fails,
            Http::Unknown => Outcome::Unknown,
        };
        let because = format!("{path} {}", endpoint.does);
        let mut meaning = Meaning::new(outcome(Situation::Recovering), because, Check::Http);
        meaning.depends_on = (outcome(Situation::Alone) == Outcome::Fails).then(|| endpoint.depends_on.to_owned());
        meaning.needs_login = outcome(Situation::LoginRefused) == Outcome::Fails;
        meaning
    }

    fn exec_meaning(&self, container: &Container<'_>, command: &[&str]) -> Meaning {
        let script = Script::in_container(container, command);
        let known = |call: &Call| known_script(container.image(), call);
        let outcome = |situation| script.evaluate(&Asked { database: self, container, situation });
        let during_recovery = outcome(Situation::Recovering);
        let calls = script.calls();
        let engine = self.profile.engine;

        let mut meaning = if let Some(script) = calls.iter().find_map(|call| known(call)) {
            Meaning::new(during_recovery, script.does, Check::Client)
        } else if let Some(client) = calls.iter().find(|call| self.is_client(call)) {
            let because = match during_recovery {
                _ if let Some(host) = asks_elsewhere(client) => {
                    format!("it runs {} against {host}, so that another server decides over this one", client.program())
                }
                Outcome::Fails if client.program() == "/dev/tcp" => {
                    format!("it asks {}, and {engine} {}", client.path, self.profile.in_recovery)
                }
                Outcome::Fails => {
                    format!("it runs {}, and {engine} {}", client.program(), self.profile.in_recovery)
                }
                Outcome::Passes => format!("it runs {}, and its exit code stays 0 meanwhile", client.program()),
                Outcome::Unknown
                    if self
                        .answer(container, client, Situation::Recovering)
                        .is_some_and(|answer| answer.outcome == Outcome::Unknown) =>
                {
                    format!(
                        "it runs {}, and what that does meanwhile is not known here: {engine} {}",
                        client.program(),
                        self.profile.in_recovery
                    )
                }
                Outcome::Unknown => format!("it runs {}, in a way that depends on run-time values", client.program()),
            };
            Meaning::new(during_recovery, because, Check::Client)
        } else if let Some(check) = calls.iter().find(|call| is_process_check(call)) {
            // What it sees is the same as when all is well, and then it passes.
            let sees_only_processes = calls.iter().all(|call| is_process_check(call) || is_filter(call));
            let outcome = if sees_only_processes && during_recovery == Outcome::Unknown {
                Outcome::Passes
            } else {
                during_recovery
            };
            Meaning::new(outcome, format!("{} only looks for a process", check.program()), Check::Process)
        } else if let Some(file) = calls.iter().find_map(|call| script_file(call)) {
            let because = match container.look_up(file) {
                File::Hidden { config_map, because } => {
                    let why = because.unwrap_or("which is not given");
                    format!("the text of {file} is in the ConfigMap {config_map}, {why}")
                }
                File::Text(_) | File::Other => format!("the text of {file} is not in the pod spec"),
            };
            Meaning::new(during_recovery, because, Check::Script)
        } else {
            Meaning::new(during_recovery, "it asks nothing of the server that is known here", Check::Other)
        };
        // What fails also when all is well tells of nothing else.
        let serves = outcome(Situation::Serving) != Outcome::Fails;
        if serves && outcome(Situation::Alone) == Outcome::Fails {
            let named = calls.iter().find_map(|call| self.depends_on(container, call));
            meaning.depends_on = Some(named.unwrap_or("other servers").to_owned());
        } else if let Some(host) =
            calls.iter().filter(|call| self.is_client(call)).find_map(|call| asks_elsewhere(call))
        {
            meaning.depends_on = Some(format!("the server at {host}"));
        }
        meaning.needs_login = serves && outcome(Situation::LoginRefused) == Outcome::Fails;
        meaning.always = match outcome(Situation::Down) {
            _ if !serves => Some(Outcome::Fails),
            Outcome::Passes => Some(Outcome::Passes),
            _ => None,
        };
        meaning.runtime = calls.iter().map(|call| self.runtime(container, call)).max().unwrap_or_default();
        meaning.inner_timeout = script.inner_timeout();
        meaning.oddities = script.oddities().to_vec();
        meaning
    }

    /// What a call does in a situation; None where it is nobody's that is known here.
    fn answer(&self, container: &Container<'_>, call: &Call, situation: Situation) -> Option<Answer> {
        if self.is_client(call) && asks_elsewhere(call).is_some() {
            return Some(UNKNOWN);
        }
        if let Some(answer) = self.client_answer(container, call, situation) {
            return Some(answer);
        }
        if let Some(answer) = self.request(call, situation) {
            return Some(answer);
        }
        if let Some(answer) = self.connection(container, call, situation) {
            return Some(answer);
        }
        if let Some(script) = known_script(container.image(), call) {
            return Some(script.answers.in_situation(situation));
        }
        is_process_check(call).then_some(if situation == Situation::Down { FAILS } else { PASSES })
    }

    /// The endpoint of a request. PostgreSQL has none of its own: they are Patroni's, where that runs it.
    fn endpoint(&self, path_and_query: &str) -> Option<&'static Endpoint> {
        let has_endpoints = self.profile.engine != Engine::PostgreSQL || self.patroni.is_some();
        self.profile.endpoint(path_and_query).filter(|_| has_endpoints)
    }

    /// What one of the engine's clients does. Where the call may ask something that is known only at run time, it is
    /// what all of them do that it may be.
    fn client_answer(&self, container: &Container<'_>, call: &Call, situation: Situation) -> Option<Answer> {
        let uses_login_of_environment = container.environment().any(|(name, _)| LOGIN_ENVIRONMENT.contains(&name));
        let mut answer: Option<Answer> = None;
        for client in self.profile.clients.iter().filter(|client| client.matches(call) || client.may_match(call)) {
            let this = if uses_login_of_environment {
                client.answers.in_situation(situation)
            } else {
                client.answer(call, situation)
            };
            answer = Some(match answer {
                None => this,
                Some(before) => Answer {
                    outcome: if before.outcome == this.outcome { this.outcome } else { Outcome::Unknown },
                    output: before.output.filter(|output| this.output == Some(*output)),
                },
            });
            if client.matches(call) {
                break;
            }
        }
        answer
    }

    /// What `curl` or `wget` on one of the engine's endpoints does.
    fn request(&self, call: &Call, situation: Situation) -> Option<Answer> {
        let endpoint = self.endpoint(requested_path(call)?)?;
        let fails_on_status = call.program() == "wget"
            || call
                .arguments
                .iter()
                .any(|a| a == "--fail" || a.starts_with('-') && !a.starts_with("--") && a.contains('f'));
        Some(match endpoint.in_situation(situation) {
            Http::Good => PASSES,
            Http::Refusing if !fails_on_status => PASSES,
            Http::Refusing | Http::Closed => FAILS,
            Http::Unknown => UNKNOWN,
        })
    }

    /// What `nc` and its like do with a port of the server. A port that is known at run time only is taken for the
    /// client port: what else would a probe dial?
    fn connection(&self, container: &Container<'_>, call: &Call, situation: Situation) -> Option<Answer> {
        let opens = match dialled(call)?.port {
            Some(number) => self.opens(container, number)?.0,
            None => self.profile.opens,
        };
        Some(match (situation, opens) {
            (Situation::Down, _) | (Situation::Recovering, Opens::Late) => FAILS,
            (Situation::Recovering, Opens::Unknown) => UNKNOWN,
            _ => PASSES,
        })
    }

    fn is_client(&self, call: &Call) -> bool {
        self.profile.client(call).is_some()
            || dialled(call).is_some()
            || requested_path(call).is_some_and(|path| self.endpoint(path).is_some())
    }

    fn depends_on(&self, container: &Container<'_>, call: &Call) -> Option<&'static str> {
        let client = self.profile.client(call).map(|client| client.depends_on);
        let endpoint = || Some(self.endpoint(requested_path(call)?)?.depends_on);
        let script = || known_script(container.image(), call).map(|script| script.depends_on);
        client.or_else(endpoint).or_else(script).filter(|what| !what.is_empty())
    }

    fn runtime(&self, container: &Container<'_>, call: &Call) -> Runtime {
        let client = self.profile.client(call).map(|client| client.runtime);
        let script = || known_script(container.image(), call).map(|script: &KnownScript| script.runtime);
        client.or_else(script).unwrap_or_else(|| interpreter(call.program()))
    }
}

/// A database in a situation, as a probe's command finds it.
struct Asked<'a> {
    database: &'a Database,
    container: &'a Container<'a>,
    situation: Situation,
}

impl World for Asked<'_> {
    fn answer(&self, call: &Call) -> Option<Answer> {
        self.database.answer(self.container, call, self.situation)
    }

    fn success(&self, call: &Call) -> Option<&'static str> {
        self.database.answer(self.container, call, Situation::Serving)?.output.filter(|output| !output.is_empty())
    }

    fn exists(&self, path: &str) -> Option<bool> {
        let present = self.database.profile.present_while_recovering;
        (self.situation == Situation::Recovering && present.iter().any(|end| path.ends_with(end))).then_some(true)
    }
}

/// Variables from which clients take a password without being told.
const LOGIN_ENVIRONMENT: [&str; 3] = ["REDISCLI_AUTH", "MYSQL_PWD", "PGPASSWORD"];

/// Path and query of what `curl` or `wget` asks.
fn requested_path(call: &Call) -> Option<&str> {
    if !matches!(call.program(), "curl" | "wget") {
        return None;
    }
    let is_local = |text: &str| {
        let host = text.split(['/', ':']).next().unwrap_or("");
        host == "localhost" || host.starts_with("127.") || host == "0.0.0.0" || text.starts_with("[::1]")
    };
    // `--url X`, `-o /dev/null`: what is asked has a scheme or begins with a local address.
    let url = call.arguments.iter().find(|argument| argument.contains("://") || is_local(argument))?;
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    Some(rest.find('/').and_then(|start| rest.get(start..)).unwrap_or("/"))
}

/// What an interpreter costs, whatever the program in it asks.
fn interpreter(program: &str) -> Runtime {
    match program {
        "node" => Runtime::Node,
        "java" | "jshell" => Runtime::Jvm,
        "erl" | "escript" => Runtime::Erlang,
        program if program.starts_with("python") => Runtime::Python,
        _ => Runtime::Light,
    }
}

/// `pgrep`, `pidof`, `kill -0`: they see a process that recovers as well as one that serves.
fn is_process_check(call: &Call) -> bool {
    match call.program() {
        "pgrep" | "pidof" | "ps" | "jps" => true,
        "kill" => call.arguments.first().is_some_and(|signal| signal == "-0" || signal == "-s0"),
        _ => false,
    }
}

/// Tools that pass on what another program printed.
fn is_filter(call: &Call) -> bool {
    const FILTERS: [&str; 11] = ["grep", "egrep", "fgrep", "awk", "sed", "cut", "head", "tail", "tr", "wc", "sort"];
    FILTERS.contains(&call.program())
}

/// The file that a call runs: itself, or what it gives to an interpreter.
fn script_file(call: &Call) -> Option<&str> {
    let is_file = |path: &str| {
        path.starts_with('/')
            || path.starts_with("./")
            || [".sh", ".py", ".pl", ".rb", ".js"].iter().any(|end| path.to_ascii_lowercase().ends_with(end))
    };
    let interpreter = call.program().trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if matches!(interpreter, "python" | "perl" | "ruby" | "node") {
        return call.arguments.iter().map(String::as_str).find(|argument| is_file(argument));
    }
    is_file(&call.path).then_some(call.path.as_str())
}
