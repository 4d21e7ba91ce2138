//! Which database is in a container, and how sure that is.

use super::profile::Profile;
use super::{Confidence, Database, PROFILES, asks_elsewhere, client_port, postgresql, profile};
use crate::api::{DatabaseHint, Engine};
use crate::core::model::command::{Call, Script};
use crate::core::model::probe::ProbeKind;
use crate::core::model::workload::Container;

/// Words in an image name that mark what stands beside a database.
const BESIDE: [&str; 29] = [
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
    "fluent",
    "collector",
    "logrotate",
];

/// The last component of an image reference, without registry, tag and digest, in lower case.
#[must_use]
pub fn image_name(image: &str) -> String {
    let path = image_path(image);
    path.rsplit('/').next().unwrap_or("").to_owned()
}

/// An image reference without tag and digest, in lower case.
fn image_path(image: &str) -> String {
    let without_digest = image.split('@').next().unwrap_or("");
    let (folder, last) = without_digest.rsplit_once('/').unwrap_or(("", without_digest));
    let last = last.split(':').next().unwrap_or("");
    if folder.is_empty() { last.to_ascii_lowercase() } else { format!("{folder}/{last}").to_ascii_lowercase() }
}

/// The tag of an image reference, or nothing.
#[must_use]
pub(super) fn image_tag(image: &str) -> &str {
    let last = image.split('@').next().unwrap_or("").rsplit('/').next().unwrap_or("");
    last.split_once(':').map_or("", |(_, tag)| tag)
}

fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

/// Names of ports that tell nothing of who listens.
const ANYBODYS: [&str; 10] = ["http", "https", "web", "api", "rest", "client", "clients", "server", "service", "grpc"];

const CERTAIN: u32 = 10;
const PROBABLE: u32 = 5;

/// What of a container is looked at, read once for all profiles.
struct Traits<'a> {
    image: &'a str,
    image_path: String,
    programs: Vec<&'a str>,
    environment: Vec<&'a str>,
    mounts: Vec<&'a str>,
    ports: Vec<(Option<&'a str>, i64)>,
    /// What its probes call against this very container.
    asks: Vec<Call>,
}

impl<'a> Traits<'a> {
    fn of(container: &Container<'a>) -> Self {
        let mut asks = Vec::new();
        for command in ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)?.written_command()) {
            let script = Script::read(&command);
            let here = script.calls().into_iter().filter(|call| asks_elsewhere(call).is_none());
            asks.extend(here.cloned());
        }
        Self {
            image: container.image(),
            image_path: image_path(container.image()),
            programs: container.command_line().iter().flat_map(|word| basenames(word)).collect(),
            environment: container.environment().map(|(name, _)| name).collect(),
            mounts: container.mount_paths().collect(),
            ports: container.tcp_ports().collect(),
            asks,
        }
    }

    fn name(&self) -> &str {
        self.image_path.rsplit('/').next().unwrap_or("")
    }

    /// Whether the image's name says that it is something beside a database, which everything else together may
    /// outweigh. `victoria-metrics` is a database's whole name.
    fn stands_beside(&self) -> bool {
        BESIDE.into_iter().any(|word| self.name().contains(word))
            && !PROFILES.iter().any(|profile| profile.images.contains(&self.name()))
    }

    fn has_image(&self, pattern: &str) -> bool {
        let (pattern, tag) = pattern.split_once(':').unwrap_or((pattern, "*"));
        if !matches_pattern(tag, image_tag(self.image)) {
            return false;
        }
        if !pattern.contains('/') {
            return matches_pattern(pattern, self.name());
        }
        // As many components of the path as the pattern has.
        let count = pattern.matches('/').count() + 1;
        let components: Vec<&str> = self.image_path.rsplit('/').take(count).collect();
        let tail = components.into_iter().rev().collect::<Vec<_>>().join("/");
        matches_pattern(pattern, &tail)
    }

    /// Whether words stand on the command line, in a row.
    fn runs(&self, words: &str) -> bool {
        let words: Vec<&str> = words.split(' ').collect();
        self.programs.windows(words.len()).any(|window| window == words)
    }
}

/// Recognises the database in a container, or not. A hint decides unless the container is plainly another database.
#[must_use]
pub fn recognise(container: &Container<'_>, hints: &[DatabaseHint]) -> Option<Database> {
    let hint = hints.iter().find(|hint| hint.container == container.name);
    let traits = Traits::of(container);
    let needed = if traits.stands_beside() { CERTAIN } else { PROBABLE };
    let found = PROFILES
        .iter()
        .map(|profile| (*profile, weigh(profile, container, &traits)))
        // On a tie the first profile wins: the general one stands before its variants.
        .rev()
        .max_by_key(|(_, (points, _))| *points)
        .filter(|(_, (points, _))| *points > 0);

    let (profile, mut confidence, mut evidence) = match (hint, found) {
        (Some(hint), Some((seen, (points, evidence))))
            if points >= CERTAIN && seen.family != profile(hint.engine).family =>
        {
            let doubt = format!("the policy says {}, which contradicts that", hint.engine);
            (seen, Confidence::Unsure, [evidence, vec![doubt]].concat())
        }
        (Some(hint), _) => (profile(hint.engine), Confidence::Hint, vec![format!("the policy says {}", hint.engine)]),
        (None, Some((profile, (points, evidence)))) if points >= needed => {
            let confidence = if points >= CERTAIN { Confidence::Certain } else { Confidence::Probable };
            (profile, confidence, evidence)
        }
        _ => return None,
    };
    // What is hinted stays the engine that it is.
    let profile = Some(profile.variant_for(container))
        .filter(|variant| hint.is_none() || variant.engine == profile.engine)
        .unwrap_or(profile);
    if hint.is_none()
        && !is_in_service(profile, &traits)
        && let Some(doubt) = runs_something_else(profile, container)
    {
        evidence.push(doubt);
        confidence = Confidence::Unsure;
    }
    Some(Database {
        profile,
        confidence,
        evidence,
        port: client_port(profile, container, hint),
        unreachable: (profile.unreachable)(container),
        patroni: if profile.engine == Engine::PostgreSQL {
            postgresql::patroni(container, traits.name())
        } else {
            None
        },
    })
}

/// Points for a profile, and what they rest on.
fn weigh(profile: &Profile, container: &Container<'_>, traits: &Traits<'_>) -> (u32, Vec<String>) {
    let mut points = 0;
    let mut evidence = Vec::new();
    let mut add = |worth: u32, what: String| {
        points += worth;
        evidence.push(what);
    };
    if profile.ruled_out_by.iter().any(|words| traits.runs(words)) || (profile.ruled_out)(container) {
        return (0, Vec::new());
    }
    let stands_beside = traits.stands_beside();
    let image = profile.images.iter().filter(|pattern| !stands_beside && traits.has_image(pattern)).map(|pattern| {
        // The tag outweighs the name: influxdb:3-core is another server than influxdb:2.
        if pattern.contains(':') { CERTAIN + 1 } else { CERTAIN }
    });
    if let Some(worth) = image.max() {
        add(worth, format!("image {}", traits.image));
    }
    if let Some(server) = profile.servers.iter().find(|server| traits.runs(server)) {
        // The program outweighs the image: redis-sentinel in a redis image is a sentinel.
        add(CERTAIN + 1, format!("it runs {server}"));
    }
    let known: Vec<_> = traits
        .environment
        .iter()
        .filter(|name| profile.environment.iter().any(|pattern| matches_pattern(pattern, name)))
        .copied()
        .take(2)
        .collect();
    if !known.is_empty() {
        add(if known.len() > 1 { 3 } else { 2 }, format!("environment {}", known.join(", ")));
    }
    if let Some(path) = traits.mounts.iter().find(|path| profile.data_paths.iter().any(|data| is_within(path, data))) {
        add(3, format!("volume at {path}"));
    }
    let port = traits.ports.iter().find(|(name, number)| {
        let names_it = |name: &str| profile.port_names.contains(&name) && !ANYBODYS.contains(&name);
        *number == i64::from(profile.port) || name.is_some_and(names_it)
    });
    if let Some((_, number)) = port {
        add(2, format!("port {number}"));
    }
    if let Some(call) = traits.asks.iter().find(|call| profile.client(call).is_some()) {
        add(3, format!("its probe runs {}", call.program()));
    }
    (points, evidence)
}

/// Whether a path is a folder or in it: `/export/a` is in `/export`, `/exporters` is not.
fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A container that declares the server's port, and mounts its data or has a probe that asks it, starts that server,
/// however its command is called.
fn is_in_service(profile: &Profile, traits: &Traits<'_>) -> bool {
    let declares_port = traits.ports.iter().any(|(_, number)| *number == i64::from(profile.port));
    let mounts_data = traits.mounts.iter().any(|path| profile.data_paths.iter().any(|data| is_within(path, data)));
    declares_port && (mounts_data || traits.asks.iter().any(|call| profile.client(call).is_some()))
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
        profile.servers.iter().any(|server| server.split(' ').next() == Some(word))
            || profile.starts.contains(&word)
            || ["entrypoint", "start", "run.sh", "launch", "setup", "patroni", "supervisord", "tini", "dumb-init"]
                .iter()
                .any(|part| word.contains(part))
    };
    // `/etc/confluent/docker/run`
    let runs_script = command_line.iter().flat_map(|word| word.split_whitespace()).any(|word| word.ends_with("/run"));
    if runs_script || command_line.iter().flat_map(|word| basenames(word)).any(is_start) {
        return None;
    }
    let words = command_line.join(" ");
    let shown: String = words.chars().take(60).collect();
    Some(format!("but its command runs \"{shown}\", which starts no {} server", profile.engine))
}
