//! What is known of each database engine: how it is recognised, on which port it listens and when that port opens,
//! what its clients answer while it recovers, and which liveness survives that. One file for each family, as data.

mod mysql;
mod postgresql;
mod redis;

use super::command::{Answer, Call, Outcome, Script, option_value};
use super::probe::{HandlerKind, Probe, ProbeKind};
use super::workload::Container;
use crate::api::{DatabaseHint, Engine};

/// Every profile, in no order of importance.
pub const PROFILES: [&Profile; 8] = [
    &postgresql::POSTGRESQL,
    &mysql::MYSQL,
    &mysql::MARIADB,
    &mysql::GALERA,
    &redis::REDIS,
    &redis::VALKEY,
    &redis::KEYDB,
    &redis::SENTINEL,
];

/// The profile of an engine.
#[must_use]
pub fn profile(engine: Engine) -> &'static Profile {
    PROFILES.into_iter().find(|profile| profile.engine == engine).unwrap_or(&postgresql::POSTGRESQL)
}

/// When the client port opens, seen from crash recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// Before recovery: a socket liveness survives it.
    Early,
    /// After recovery: a bare socket liveness kills just as a query does.
    Late,
}

/// Where a fact comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// How it is known: `measured`, `source`, `docs`, `issue` or `unverified`.
    pub kind: &'static str,
    /// What was measured, or where it can be read.
    pub citation: &'static str,
}

/// What the liveness becomes once the startup probe has let the server come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyLiveness {
    /// A socket on the client port.
    Socket,
    /// The check that is there, with patient timings. For engines whose port opens late, and where connecting without
    /// logging in does harm.
    KeepCheck(&'static str),
}

/// A health script that is not in the pod spec but known by its path and image.
#[derive(Clone, Copy, Debug)]
pub struct KnownScript {
    /// The end of its path.
    pub path: &'static str,
    /// A part of the image name, or empty for every image of the family.
    pub image: &'static str,
    /// What it does, for people.
    pub does: &'static str,
    /// Its exit code while the server recovers.
    pub during_recovery: Outcome,
    /// Where that can be read.
    pub source: &'static str,
}

/// What is known of one engine.
#[derive(Debug)]
pub struct Profile {
    /// Which one.
    pub engine: Engine,
    /// Last components of image names: exact, or with a `*` at the end.
    pub images: &'static [&'static str],
    /// Programs that are the server.
    pub servers: &'static [&'static str],
    /// Words on the command line that mean it is not this engine, whatever the image.
    pub ruled_out_by: &'static [&'static str],
    /// Environment variables of its images; a `*` at the end stands for anything.
    pub environment: &'static [&'static str],
    /// Where its data is mounted.
    pub data_paths: &'static [&'static str],
    /// Programs that ask it something.
    pub clients: &'static [&'static str],
    /// The well-known client port.
    pub port: u16,
    /// Names under which charts declare the client port.
    pub port_names: &'static [&'static str],
    /// Environment variables that move the port.
    pub port_environment: &'static [&'static str],
    /// Server arguments that move the port.
    pub port_arguments: &'static [&'static str],
    /// Options of its clients that name the port.
    pub client_port_options: &'static [&'static str],
    /// When the client port opens.
    pub opens: Opens,
    /// How that is known.
    pub opens_source: Source,
    /// What clients are told during recovery, for people.
    pub in_recovery: &'static str,
    /// What the liveness becomes.
    pub steady: SteadyLiveness,
    /// Health scripts that everybody has.
    pub scripts: &'static [KnownScript],
    /// What a client answers while the server recovers; None where it is no client of this engine.
    pub during_recovery: fn(&Call) -> Option<Answer>,
    /// Whether its server listens where the kubelet's socket probe cannot reach it, as far as the arguments tell.
    pub unreachable: fn(&[&str]) -> Option<String>,
}

/// How sure a recognition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Something points at it, something else against it.
    Unsure,
    /// More points at it than not; a hint is asked for.
    Probable,
    /// The policy says so.
    Hint,
    /// The image or everything else together says so.
    Certain,
}

impl Confidence {
    /// The word for reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsure => "Unsure",
            Self::Probable => "Probable",
            Self::Hint => "Hint",
            Self::Certain => "Certain",
        }
    }
}

/// The client port of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientPort {
    /// This one, and what says so.
    Known {
        /// The number.
        number: u16,
        /// What says so.
        source: String,
    },
    /// Several are possible and nothing decides.
    Ambiguous(String),
}

/// A container in which a database was recognised.
#[derive(Clone, Debug)]
pub struct Database {
    /// What is known of its engine.
    pub profile: &'static Profile,
    /// How sure it is.
    pub confidence: Confidence,
    /// What it rests on.
    pub evidence: Vec<String>,
    /// Where it accepts clients.
    pub port: ClientPort,
    /// Why a socket probe could not reach it.
    pub unreachable: Option<String>,
    /// Patroni runs the server here and answers for it.
    pub patroni: Option<PatroniApi>,
}

/// Patroni's REST API, whose `/liveness` tells whether its own loop is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatroniApi {
    /// Where it listens, where the manifest says so.
    pub port: Option<u16>,
    /// `HTTP` or `HTTPS`.
    pub scheme: String,
}

/// What a probe does when it is asked during recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuringRecovery {
    /// Whether it passes.
    pub outcome: Outcome,
    /// Why, for people.
    pub because: String,
    /// What kind of check it is.
    pub check: Check,
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
    /// Something else.
    Other,
}

impl Database {
    /// Whether a write may rest on this recognition.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.confidence >= Confidence::Hint
    }

    /// What a probe of this container does while the server recovers.
    #[must_use]
    pub fn during_recovery(&self, container: &Container<'_>, probe: Probe<'_>) -> DuringRecovery {
        let engine = self.profile.engine;
        let unknown =
            |because: &str, check| DuringRecovery { outcome: Outcome::Unknown, because: because.to_owned(), check };
        match probe.handler() {
            None => unknown("it has no handler, or more than one", Check::Other),
            Some((HandlerKind::Exec, _)) => match probe.exec_command() {
                Some(command) => self.exec_during_recovery(container, &command),
                None => unknown("its command cannot be read", Check::Other),
            },
            Some((HandlerKind::TcpSocket, _)) if self.dials_client_port(container, probe) => {
                let (outcome, word) = match self.profile.opens {
                    Opens::Early => (Outcome::Passes, "before"),
                    Opens::Late => (Outcome::Fails, "only after"),
                };
                let because = format!("{engine} opens its port {word} recovery");
                DuringRecovery { outcome, because, check: Check::Socket }
            }
            Some((HandlerKind::HttpGet, json)) if self.patroni.is_some() => {
                let path = json.get("path").and_then(serde_json::Value::as_str).unwrap_or("/");
                if path.trim_end_matches('/') == "/liveness" {
                    DuringRecovery {
                        outcome: Outcome::Passes,
                        because: "Patroni's /liveness answers for its own loop, not for the server".to_owned(),
                        check: Check::Other,
                    }
                } else {
                    unknown("Patroni decides what this endpoint answers", Check::Other)
                }
            }
            Some(_) => unknown("what it dials is not the client port", Check::Other),
        }
    }

    fn dials_client_port(&self, container: &Container<'_>, probe: Probe<'_>) -> bool {
        let ClientPort::Known { number, .. } = &self.port else { return false };
        probe.port().and_then(|port| resolve_port(container, port)) == Some(*number)
    }

    fn exec_during_recovery(&self, container: &Container<'_>, command: &[&str]) -> DuringRecovery {
        let script = Script::read(command);
        let known = |call: &Call| self.known_script(container, call);
        let outcome = script.evaluate(&|call| {
            let elsewhere = asks_elsewhere(call).map(|_| Answer { outcome: Outcome::Unknown, output: None });
            let client = (self.profile.during_recovery)(call);
            client
                .map(|client| elsewhere.unwrap_or(client))
                .or_else(|| known(call).map(|script| Answer { outcome: script.during_recovery, output: None }))
                .or_else(|| process_check(call))
        });
        let calls = script.calls();
        if let Some(script) = calls.iter().find_map(|call| known(call)) {
            return DuringRecovery { outcome, because: script.does.to_owned(), check: Check::Client };
        }
        if let Some(client) = calls.iter().find(|call| (self.profile.during_recovery)(call).is_some()) {
            let because = match outcome {
                _ if let Some(host) = asks_elsewhere(client) => {
                    format!("it runs {} against {host}, so that another server decides over this one", client.program())
                }
                Outcome::Fails => {
                    format!("it runs {}, and {} {}", client.program(), self.profile.engine, self.profile.in_recovery)
                }
                Outcome::Passes => format!("it runs {}, and its exit code stays 0 meanwhile", client.program()),
                Outcome::Unknown => format!("it runs {}, in a way that depends on run-time values", client.program()),
            };
            return DuringRecovery { outcome, because, check: Check::Client };
        }
        if let Some(check) = calls.iter().find(|call| process_check(call).is_some()) {
            let because = format!("{} only looks for a process", check.program());
            return DuringRecovery { outcome, because, check: Check::Process };
        }
        if let Some(call) = calls.iter().find(|call| is_script_file(&call.path)) {
            let because = format!("the text of {} is not in the pod spec", call.path);
            DuringRecovery { outcome, because, check: Check::Script }
        } else {
            let because = "it asks nothing of the server that is known here".to_owned();
            DuringRecovery { outcome, because, check: Check::Other }
        }
    }

    fn known_script(&self, container: &Container<'_>, call: &Call) -> Option<&'static KnownScript> {
        let image = image_name(container.image());
        self.profile.scripts.iter().find(|script| call.path.ends_with(script.path) && image.contains(script.image))
    }
}

/// The host that a client is told to ask, where that is plainly not the container itself. What is expanded at run time
/// is mostly the pod's own address.
fn asks_elsewhere(call: &Call) -> Option<&str> {
    let in_url = || {
        let (_, rest) = call.arguments.iter().find_map(|argument| argument.split_once("://"))?;
        let authority = rest.split(['/', '?']).next()?;
        let host = authority.rsplit('@').next()?;
        host.strip_prefix('[').map_or_else(|| host.split(':').next(), |host| host.split(']').next())
    };
    let host = call.option(&["-h", "--host"]).or_else(in_url)?;
    let is_local = host.is_empty()
        || host.starts_with(['/', '@', '-'])
        || host.contains('$')
        || host.eq_ignore_ascii_case("localhost")
        || host.starts_with("127.")
        || matches!(host, "::1" | "::" | "0.0.0.0");
    (!is_local).then_some(host)
}

/// `pgrep`, `pidof`, `kill -0`: they see a process that recovers as well as one that serves.
fn process_check(call: &Call) -> Option<Answer> {
    let is_check = match call.program() {
        "pgrep" | "pidof" | "ps" | "jps" => true,
        "kill" => call.arguments.first().is_some_and(|signal| signal == "-0" || signal == "-s0"),
        _ => false,
    };
    is_check.then_some(Answer { outcome: Outcome::Passes, output: None })
}

fn is_script_file(path: &str) -> bool {
    path.starts_with('/') || path.starts_with("./") || path.to_ascii_lowercase().ends_with(".sh")
}

/// The number of a port given by number or by a name that the container declares.
#[must_use]
pub fn resolve_port(container: &Container<'_>, port: &serde_json::Value) -> Option<u16> {
    let number = match port {
        serde_json::Value::String(name) => match name.parse() {
            Ok(number) => number,
            Err(_) => container.tcp_ports().find(|(declared, _)| *declared == Some(name.as_str()))?.1,
        },
        number => number.as_i64()?,
    };
    u16::try_from(number).ok().filter(|number| *number != 0)
}

/// Words in an image name that mark what stands beside a database.
const BESIDE: [&str; 26] = [
    "exporter",
    "pgbouncer",
    "pgpool",
    "pooler",
    "proxy",
    "operator",
    "controller",
    "backup",
    "pgbackrest",
    "barman",
    "admin",
    "-ui",
    "web",
    "metrics",
    "agent",
    "sidecar",
    "reloader",
    "router",
    "orchestrator",
    "maxscale",
    "commander",
    "insight",
    "client",
    "postgrest",
    "meta",
    "init",
];

/// The last component of an image reference, without registry, tag and digest, in lower case.
#[must_use]
pub fn image_name(image: &str) -> String {
    let without_digest = image.split('@').next().unwrap_or("");
    let last = without_digest.rsplit('/').next().unwrap_or("");
    last.split(':').next().unwrap_or("").to_ascii_lowercase()
}

fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

const CERTAIN: u32 = 10;
const PROBABLE: u32 = 5;

/// Recognises the database in a container, or not. A hint decides unless the container is plainly another database.
#[must_use]
pub fn recognise(container: &Container<'_>, hints: &[DatabaseHint]) -> Option<Database> {
    let hint = hints.iter().find(|hint| hint.container == container.name);
    let name = image_name(container.image());
    let beside = BESIDE.into_iter().find(|word| name.contains(word));
    let found = PROFILES
        .into_iter()
        .map(|profile| (profile, weigh(profile, container, &name)))
        // On a tie the first profile wins: the general one stands before its variants.
        .rev()
        .max_by_key(|(_, (points, _))| *points)
        .filter(|(_, (points, _))| *points > 0);

    let (profile, mut confidence, mut evidence) = match (hint, found) {
        (Some(hint), Some((seen, (points, evidence))))
            if points >= CERTAIN && !same_family(seen.engine, hint.engine) =>
        {
            let doubt = format!("the policy says {}, which contradicts that", hint.engine);
            (seen, Confidence::Unsure, [evidence, vec![doubt]].concat())
        }
        (Some(hint), _) => (profile(hint.engine), Confidence::Hint, vec![format!("the policy says {}", hint.engine)]),
        (None, Some((profile, (points, evidence)))) if beside.is_none() && points >= PROBABLE => {
            let confidence = if points >= CERTAIN { Confidence::Certain } else { Confidence::Probable };
            (profile, confidence, evidence)
        }
        _ => return None,
    };
    if hint.is_none()
        && let Some(doubt) = runs_something_else(profile, container)
    {
        evidence.push(doubt);
        confidence = Confidence::Unsure;
    }
    let arguments = container.command_line();
    Some(Database {
        profile,
        confidence,
        evidence,
        port: client_port(profile, container, hint),
        unreachable: (profile.unreachable)(&arguments),
        patroni: if profile.engine == Engine::PostgreSQL { postgresql::patroni(container, &name) } else { None },
    })
}

fn same_family(one: Engine, other: Engine) -> bool {
    let family = |engine| match engine {
        Engine::PostgreSQL => 0,
        Engine::MySQL | Engine::MariaDB | Engine::Galera => 1,
        Engine::Redis | Engine::Valkey | Engine::KeyDB | Engine::Sentinel => 2,
    };
    family(one) == family(other)
}

/// Points for a profile, and what they rest on.
fn weigh(profile: &Profile, container: &Container<'_>, image: &str) -> (u32, Vec<String>) {
    let mut points = 0;
    let mut evidence = Vec::new();
    let mut add = |worth: u32, what: String| {
        points += worth;
        evidence.push(what);
    };
    if profile.images.iter().any(|pattern| matches_pattern(pattern, image)) {
        add(CERTAIN, format!("image {}", container.image()));
    }
    let command_line = container.command_line();
    let programs: Vec<&str> = command_line.iter().flat_map(|word| basenames(word)).collect();
    if profile.ruled_out_by.iter().any(|word| programs.contains(word)) {
        return (0, Vec::new());
    }
    if let Some(server) = profile.servers.iter().find(|server| programs.contains(server)) {
        // The program outweighs the image: redis-sentinel in a redis image is a sentinel.
        add(CERTAIN + 1, format!("it runs {server}"));
    }
    let names = container.environment().map(|(name, _)| name);
    let known: Vec<_> =
        names.filter(|name| profile.environment.iter().any(|p| matches_pattern(p, name))).take(2).collect();
    if !known.is_empty() {
        add(if known.len() > 1 { 3 } else { 2 }, format!("environment {}", known.join(", ")));
    }
    if let Some(path) =
        container.mount_paths().find(|path| profile.data_paths.iter().any(|data| path.starts_with(data)))
    {
        add(3, format!("volume at {path}"));
    }
    let port = container.tcp_ports().find(|(name, number)| {
        *number == i64::from(profile.port) || name.is_some_and(|name| profile.port_names.contains(&name))
    });
    if let Some((_, number)) = port {
        add(2, format!("port {number}"));
    }
    let asks =
        ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)?.written_command()).find_map(|command| {
            let script = Script::read(&command);
            let is_its = |call: &&Call| profile.clients.contains(&call.program()) && asks_elsewhere(call).is_none();
            let client = script.calls().into_iter().find(is_its)?;
            Some(client.program().to_owned())
        });
    if let Some(client) = asks {
        add(3, format!("its probe runs {client}"));
    }
    (points, evidence)
}

fn basenames(word: &str) -> impl Iterator<Item = &str> {
    word.split(|c: char| c.is_whitespace() || ";&|\"'()".contains(c))
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .filter(|word| !word.is_empty())
}

/// A container that has a database's image but is told to run something that is no server.
fn runs_something_else(profile: &Profile, container: &Container<'_>) -> Option<String> {
    let command_line = container.command_line();
    let states_command = container.json.get("command").is_some_and(|command| !command.is_null());
    let first = *command_line.first()?;
    // Arguments that start with an option go to the image's own entrypoint.
    if !states_command && first.starts_with('-') {
        return None;
    }
    let is_start = |word: &str| {
        profile.servers.contains(&word)
            || ["entrypoint", "start", "run.sh", "launch", "setup", "patroni", "supervisord", "tini", "dumb-init"]
                .iter()
                .any(|part| word.contains(part))
    };
    if command_line.iter().flat_map(|word| basenames(word)).any(is_start) {
        return None;
    }
    let words = command_line.join(" ");
    let shown: String = words.chars().take(60).collect();
    Some(format!("but its command runs \"{shown}\", which starts no {} server", profile.engine))
}

/// The client port: the existing probe's, else the hint's, else what environment and arguments say, else the declared
/// port that is the engine's, else the well-known one.
fn client_port(profile: &Profile, container: &Container<'_>, hint: Option<&DatabaseHint>) -> ClientPort {
    let known = |number: u16, source: String| ClientPort::Known { number, source };
    let mut probed: Vec<(u16, String)> = Vec::new();
    for probe in ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)) {
        let source = format!("the {} probe", probe.kind.word());
        if let Some((HandlerKind::TcpSocket, _)) = probe.handler() {
            probed.extend(probe.port().and_then(|port| resolve_port(container, port)).map(|n| (n, source.clone())));
        }
        let Some(command) = probe.exec_command() else { continue };
        for call in Script::read(&command).calls() {
            if profile.clients.contains(&call.program()) && asks_elsewhere(call).is_none() {
                let port = call.option(profile.client_port_options).and_then(|port| port.parse().ok());
                probed.extend(port.map(|number| (number, source.clone())));
            }
        }
    }
    if let Some((number, source)) = probed.first() {
        if let Some((other, from)) = probed.iter().find(|(other, _)| other != number)
            && hint.and_then(|hint| hint.port).is_none()
        {
            return ClientPort::Ambiguous(format!("{source} asks port {number}, {from} asks port {other}"));
        }
        if hint.and_then(|hint| hint.port).is_none() {
            return known(*number, source.clone());
        }
    }
    if let Some(number) = hint.and_then(|hint| hint.port).and_then(|port| u16::try_from(port).ok()) {
        return known(number, "the policy".to_owned());
    }
    let command_line = container.command_line();
    // `--port 0 --tls-port 6380`: a zero switches that one off.
    let by_argument =
        profile.port_arguments.iter().filter_map(|name| option_value(&command_line, &[name])?.parse().ok());
    if let Some(number) = by_argument.into_iter().find(|number| *number != 0) {
        return known(number, "the server's arguments".to_owned());
    }
    let stated = container.environment().find_map(|(name, value)| {
        profile.port_environment.contains(&name).then_some(())?;
        Some((value?.parse().ok()?, name))
    });
    if let Some((number, name)) = stated {
        return known(number, format!("the environment variable {name}"));
    }
    let declared = declared_port(profile, container);
    // A variable that takes its value from elsewhere moves the port, and nobody can say where to.
    let hidden = container.environment().find(|(name, _)| profile.port_environment.contains(name));
    match (hidden, &declared) {
        (Some((name, _)), ClientPort::Known { source, .. }) if source != DECLARED => ClientPort::Ambiguous(format!(
            "the environment variable {name} says the port, and its value is not in the manifest"
        )),
        _ => declared,
    }
}

const DECLARED: &str = "the declared port";

fn declared_port(profile: &Profile, container: &Container<'_>) -> ClientPort {
    let declared: Vec<_> =
        container.tcp_ports().filter_map(|(name, number)| Some((name, u16::try_from(number).ok()?))).collect();
    let known = |number: u16| ClientPort::Known { number, source: DECLARED.to_owned() };
    if let Some((_, number)) = declared.iter().find(|(_, number)| *number == profile.port) {
        return known(*number);
    }
    let named: Vec<_> =
        declared.iter().filter(|(name, _)| name.is_some_and(|name| profile.port_names.contains(&name))).collect();
    let unnamed: Vec<_> = declared.iter().filter(|(name, _)| name.is_none()).collect();
    match (named.as_slice(), unnamed.as_slice()) {
        ([(_, number)], _) | ([], [(_, number)]) => known(*number),
        ([], []) => ClientPort::Known { number: profile.port, source: format!("{}'s well-known port", profile.engine) },
        _ => {
            let numbers: Vec<_> = declared.iter().map(|(_, number)| number.to_string()).collect();
            ClientPort::Ambiguous(format!(
                "it declares the ports {} and none is known to be the one",
                numbers.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests;
