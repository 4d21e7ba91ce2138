//! Which database is in a container, and how sure that is.

use std::collections::HashSet;

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
    last_component(&image_path(image)).to_owned()
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

/// The ends of variables that tell a client where its server is. A server needs none.
const FOUND_BY_CLIENTS: [&str; 6] = ["_HOST", "_HOSTNAME", "_URL", "_URI", "_DSN", "_ADDR"];

const CERTAIN: u32 = 10;
const PROBABLE: u32 = 5;

/// What of a container is looked at, read once for all profiles.
struct Traits<'a> {
    image: &'a str,
    /// The image's path without its tag, in lower case.
    path: String,
    tag: &'a str,
    /// Whether the image's name says that it is something beside a database, which everything else together may
    /// outweigh.
    stands_beside: bool,
    /// The words of the command line, without folders, in their order.
    programs: Vec<&'a str>,
    /// The same to look one up: a start script in the manifest has hundreds.
    words: HashSet<&'a str>,
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
            let script = Script::in_container(container, &command);
            let here = script.calls().into_iter().filter(|call| asks_elsewhere(call).is_none());
            asks.extend(here.cloned());
        }
        let path = image_path(container.image());
        let name = last_component(&path);
        // `victoria-metrics` is a database's whole name.
        let is_whole_name = || PROFILES.iter().any(|profile| profile.images.contains(&name));
        let stands_beside = BESIDE.into_iter().any(|word| name.contains(word)) && !is_whole_name();
        let programs: Vec<&str> = container.command_line().iter().flat_map(|word| basenames(word)).collect();
        Self {
            image: container.image(),
            words: programs.iter().copied().collect(),
            stands_beside,
            path,
            tag: image_tag(container.image()),
            programs,
            environment: container.environment().map(|(name, _)| name).collect(),
            mounts: container.mount_paths().collect(),
            ports: container.tcp_ports().collect(),
            asks,
        }
    }

    fn name(&self) -> &str {
        last_component(&self.path)
    }

    fn has_image(&self, pattern: &str) -> bool {
        let (pattern, tag) = pattern.split_once(':').unwrap_or((pattern, "*"));
        // As many components of the path as the pattern has.
        let slashes = pattern.matches('/').count();
        let tail = self
            .path
            .rmatch_indices('/')
            .nth(slashes)
            .map_or(self.path.as_str(), |(at, _)| self.path.get(at + 1..).unwrap_or_default());
        matches_pattern(pattern, tail) && matches_pattern(tag, self.tag)
    }

    /// Whether words stand on the command line, in a row.
    fn runs(&self, words: &str) -> bool {
        let Some((first, _)) = words.split_once(' ') else { return self.words.contains(words) };
        if !self.words.contains(first) {
            return false;
        }
        let count = words.split(' ').count();
        self.programs.windows(count).any(|window| window.iter().copied().eq(words.split(' ')))
    }
}

fn last_component(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or("")
}

/// Recognises the database in a container, or not. A hint decides unless the container is plainly another database.
#[must_use]
pub fn recognise(container: &Container<'_>, hints: &[DatabaseHint]) -> Option<Database> {
    let hint = hints.iter().find(|hint| hint.container == container.name);
    let traits = Traits::of(container);
    let needed = if traits.stands_beside { CERTAIN } else { PROBABLE };
    let found = PROFILES
        .iter()
        .map(|profile| (*profile, Clues::of(profile, container, &traits)))
        // On a tie the first profile wins: the general one stands before its variants.
        .rev()
        .max_by_key(|(_, clues)| clues.points())
        .filter(|(_, clues)| clues.points() > 0)
        .map(|(profile, clues)| (profile, clues.points(), clues.evidence(&traits)));

    let (profile, mut confidence, mut evidence) = match (hint, found) {
        (Some(hint), Some((seen, points, evidence)))
            if points >= CERTAIN && seen.family != profile(hint.engine).family =>
        {
            let doubt = format!("the policy says {}, which contradicts that", hint.engine);
            (seen, Confidence::Unsure, [evidence, vec![doubt]].concat())
        }
        (Some(hint), _) => (profile(hint.engine), Confidence::Hint, vec![format!("the policy says {}", hint.engine)]),
        (None, Some((profile, points, evidence))) if points >= needed => {
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
        meanings: super::meaning::Known::default(),
    })
}

/// What of a container speaks for a profile. There are many profiles, so nothing is put into words before one has won.
#[derive(Clone, Copy, Default)]
struct Clues<'a> {
    /// The points that the image is worth.
    image: u32,
    server: Option<&'static str>,
    environment: [Option<&'a str>; 2],
    volume: Option<&'a str>,
    port: Option<i64>,
    client: Option<&'a Call>,
}

impl<'a> Clues<'a> {
    fn of(profile: &'static Profile, container: &Container<'_>, traits: &'a Traits<'_>) -> Self {
        if profile.ruled_out_by.iter().any(|words| traits.runs(words)) || (profile.ruled_out)(container) {
            return Self::default();
        }
        let image = profile.images.iter().filter(|pattern| !traits.stands_beside && traits.has_image(pattern));
        // The tag outweighs the name: influxdb:3-core is another server than influxdb:2.
        let image = image.map(|pattern| if pattern.contains(':') { CERTAIN + 1 } else { CERTAIN }).max();
        let is_known = |name: &&&str| {
            !FOUND_BY_CLIENTS.iter().any(|end| name.ends_with(end))
                && profile.environment.iter().any(|pattern| matches_pattern(pattern, name))
        };
        let mut known = traits.environment.iter().filter(is_known).copied();
        let is_data = |path: &&&str| profile.data_paths.iter().any(|data| is_within(path, data));
        let is_its_port = |(name, number): &&(Option<&str>, i64)| {
            let names_it = |name: &str| profile.port_names.contains(&name) && !ANYBODYS.contains(&name);
            *number == i64::from(profile.port) || name.is_some_and(names_it)
        };
        Self {
            image: image.unwrap_or(0),
            server: profile.servers.iter().find(|server| traits.runs(server)).copied(),
            environment: [known.next(), known.next()],
            volume: traits.mounts.iter().find(is_data).copied(),
            port: traits.ports.iter().find(is_its_port).map(|(_, number)| *number),
            client: traits.asks.iter().find(|call| profile.client(call).is_some()),
        }
    }

    fn points(&self) -> u32 {
        self.image
            // The program outweighs the image: redis-sentinel in a redis image is a sentinel.
            + self.server.map_or(0, |_| CERTAIN + 1)
            + match self.environment {
                [None, _] => 0,
                [Some(_), None] => 2,
                [Some(_), Some(_)] => 3,
            }
            + self.volume.map_or(0, |_| 3)
            + self.port.map_or(0, |_| 2)
            + self.client.map_or(0, |_| 3)
    }

    /// The same in words.
    fn evidence(&self, traits: &Traits<'_>) -> Vec<String> {
        let names: Vec<&str> = self.environment.into_iter().flatten().collect();
        [
            (self.image > 0).then(|| format!("image {}", traits.image)),
            self.server.map(|server| format!("it runs {server}")),
            (!names.is_empty()).then(|| format!("environment {}", names.join(", "))),
            self.volume.map(|path| format!("volume at {path}")),
            self.port.map(|number| format!("port {number}")),
            self.client.map(|call| format!("its probe runs {}", call.program())),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
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
