//! The shape of what is known of an engine. Each family fills it in as data.

use crate::api::Engine;
use crate::core::model::command::{Answer, Call, Outcome};
use crate::core::model::workload::Container;

/// When the client port opens, seen from crash recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// Before recovery: a socket liveness survives it.
    Early,
    /// After recovery: a bare socket liveness kills just as a query does.
    Late,
    /// Nobody has measured or read it. Treated as late, and said so.
    Unknown,
}

impl Opens {
    /// Whether a socket on the client port is known to survive recovery.
    #[must_use]
    pub fn is_early(self) -> bool {
        self == Self::Early
    }
}

/// How a fact is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Measured, on a machine of ours.
    Measured,
    /// Read in the engine's source.
    Source,
    /// Its own project's documentation, chart or operator says so.
    Docs,
    /// Reported in a public issue.
    Issue,
    /// General knowledge that nobody has verified.
    Unverified,
}

impl Evidence {
    /// The word for reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Source => "source",
            Self::Docs => "docs",
            Self::Issue => "issue",
            Self::Unverified => "unverified",
        }
    }
}

/// Where a fact comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// How it is known.
    pub kind: Evidence,
    /// What was measured, or where it can be read.
    pub citation: &'static str,
}

/// What the liveness becomes where the check that is there must go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyLiveness {
    /// A socket on the client port, which is open during recovery.
    Socket,
    /// A socket on the client port behind a startup probe with the same socket, since the port opens late.
    SocketAfterStart,
    /// A socket on another port, which is open during recovery or can be reached where the client port cannot.
    OtherSocket(OtherPort),
    /// A GET that is answered during recovery.
    Http {
        /// Where it is answered.
        port: OtherPort,
        /// The path, with its query.
        path: &'static str,
    },
    /// A GET that asks this server alone, behind a startup probe with the same GET, since the port opens late. Only
    /// where another probe shows whether that port speaks HTTP or HTTPS.
    HttpAfterStart {
        /// Where it is answered.
        port: OtherPort,
        /// The path, with its query.
        path: &'static str,
    },
    /// The check that is there, with patient timings and a startup probe before it, and why nothing else will do.
    KeepCheck(&'static str),
    /// Nothing is changed, and why.
    LeaveAlone(&'static str),
}

impl SteadyLiveness {
    /// Whether another handler takes the place of the liveness's.
    #[must_use]
    pub fn replaces(self) -> bool {
        !matches!(self, Self::KeepCheck(_) | Self::LeaveAlone(_))
    }

    /// Whether what takes its place passes during recovery, whatever the old check did.
    #[must_use]
    pub fn survives_recovery(self) -> bool {
        match self {
            Self::Socket | Self::Http { .. } => true,
            Self::OtherSocket(port) => port.opens.is_early(),
            Self::SocketAfterStart | Self::HttpAfterStart { .. } | Self::KeepCheck(_) | Self::LeaveAlone(_) => false,
        }
    }
}

/// A port beside the client port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherPort {
    /// The well-known number.
    pub number: u16,
    /// Names under which charts declare it.
    pub names: &'static [&'static str],
    /// When it opens, seen from recovery.
    pub opens: Opens,
    /// What listens there, for people.
    pub what: &'static str,
}

impl OtherPort {
    /// Its number in a container that declares it, by number or by name.
    #[must_use]
    pub fn declared_by(&self, container: &Container<'_>) -> Option<u16> {
        let is_it = |(name, number): &(Option<&str>, i64)| {
            *number == i64::from(self.number) || name.is_some_and(|name| self.names.contains(&name))
        };
        container.tcp_ports().find(is_it).and_then(|(_, number)| u16::try_from(number).ok())
    }
}

/// A situation in which a probe may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Situation {
    /// All is well.
    Serving,
    /// The server recovers from a crash, loads its data, or waits for a first copy of it.
    Recovering,
    /// All is well, but the login that the probe uses is no longer good.
    LoginRefused,
    /// This server is well, but what it depends on is away: a quorum, a leader, a primary.
    Alone,
    /// The server is not there, or hangs.
    Down,
}

impl Situation {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Serving, Self::Recovering, Self::LoginRefused, Self::Alone, Self::Down];
}

/// What a client or script does in each situation. In [`Situation::Down`] all of them fail and print nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    /// All is well.
    pub serving: Answer,
    /// See [`Situation::Recovering`].
    pub recovering: Answer,
    /// See [`Situation::LoginRefused`].
    pub login_refused: Answer,
    /// See [`Situation::Alone`].
    pub alone: Answer,
}

impl Answers {
    /// It asks the server something that needs no login and no other server.
    pub const LOCAL: Self = Self { serving: PASSES, recovering: FAILS, login_refused: PASSES, alone: PASSES };
    /// It asks the server something that needs a login, and no other server.
    pub const WITH_LOGIN: Self = Self { login_refused: FAILS, ..Self::LOCAL };
    /// It passes whenever the process is there.
    pub const TOLERANT: Self = Self { recovering: PASSES, ..Self::LOCAL };
    /// Nothing is known of it but that it asks this server.
    pub const UNKNOWN: Self = Self { serving: UNKNOWN, recovering: UNKNOWN, login_refused: UNKNOWN, alone: UNKNOWN };

    /// The answer in a situation.
    #[must_use]
    pub fn in_situation(&self, situation: Situation) -> Answer {
        match situation {
            Situation::Serving => self.serving,
            Situation::Recovering => self.recovering,
            Situation::LoginRefused => self.login_refused,
            Situation::Alone => self.alone,
            Situation::Down => FAILS,
        }
    }
}

/// It exits with zero; what it prints is not known.
pub(super) const PASSES: Answer = Answer { outcome: Outcome::Passes, output: None };
/// It does not, and prints nothing to standard output.
pub(super) const FAILS: Answer = Answer { outcome: Outcome::Fails, output: Some("") };
/// Nothing can be said.
pub(super) const UNKNOWN: Answer = Answer { outcome: Outcome::Unknown, output: None };

/// It exits with zero and prints this.
#[must_use]
pub(super) const fn prints(text: &'static str) -> Answer {
    Answer { outcome: Outcome::Passes, output: Some(text) }
}

/// It does not exit with zero, and prints this.
#[must_use]
pub(super) const fn fails_with(text: &'static str) -> Answer {
    Answer { outcome: Outcome::Fails, output: Some(text) }
}

/// Programs that only open a connection; what they are answered is the engine's matter. `/dev/tcp` is the shell's own.
pub(super) const CONNECTING: &[&str] =
    &["nc", "ncat", "netcat", "nc.openbsd", "nc.traditional", "telnet", "socat", "/dev/tcp"];

/// What starting the client costs, beside what it asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runtime {
    /// A small program: some 10 to 30 ms of CPU.
    #[default]
    Light,
    /// Node: a `mongosh` needs half a second of CPU and more.
    Node,
    /// Python: some tenths of a second.
    Python,
    /// An Erlang VM: measured, 0.9 to 1.2 s of CPU for `rabbitmq-diagnostics ping`.
    Erlang,
    /// A Java VM: some tenths of a second of CPU for the smallest, seconds for Kafka's and Cassandra's tools.
    Jvm,
}

/// A client of an engine: what one way to call it does. The first that matches a call counts, so the special stand
/// before the general.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Names of the program.
    pub programs: &'static [&'static str],
    /// Words that all have to be among its arguments, for example a subcommand. As a whole argument, or as a word in one.
    pub with: &'static [&'static str],
    /// Words of which one has to be there for it to log in; empty where it always does, or never.
    pub login_options: &'static [&'static str],
    /// What it does.
    pub answers: Answers,
    /// What else decides where [`Answers::alone`] fails, for example `a quorum of the cluster`.
    pub depends_on: &'static str,
    /// What starting it costs.
    pub runtime: Runtime,
}

impl Client {
    /// A client without special words, that needs no other server and costs little.
    pub const ANY: Self = Self {
        programs: &[],
        with: &[],
        login_options: &[],
        answers: Answers::LOCAL,
        depends_on: "",
        runtime: Runtime::Light,
    };

    /// Whether it is this one that is called.
    #[must_use]
    pub fn matches(&self, call: &Call) -> bool {
        self.programs.contains(&call.program()) && self.with.iter().all(|word| has_word(call, word))
    }

    /// What a call of it does in a situation.
    #[must_use]
    pub fn answer(&self, call: &Call, situation: Situation) -> Answer {
        let never_logs_in =
            !self.login_options.is_empty() && !self.login_options.iter().any(|word| has_word(call, word));
        if never_logs_in && situation == Situation::LoginRefused {
            return self.answers.serving;
        }
        self.answers.in_situation(situation)
    }

    /// Whether it may be this one, with words that are known only at run time.
    #[must_use]
    pub fn may_match(&self, call: &Call) -> bool {
        self.programs.contains(&call.program()) && call.may_do_more()
    }
}

/// Whether a word is among the arguments of a call or in what is piped into it: as a whole argument, or in an expression
/// such as `db.adminCommand('ping')`. A word with other characters than letters, digits and `_` is looked for anywhere.
#[must_use]
pub(super) fn has_word(call: &Call, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_plain = word.chars().all(is_word);
    call.arguments.iter().chain(&call.input).any(|argument| {
        argument == word
            || if is_plain { argument.split(|c| !is_word(c)).any(|part| part == word) } else { argument.contains(word) }
    })
}

/// What an HTTP endpoint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// A status below 400.
    Good,
    /// A status from 400 on: the kubelet calls that a failure, `curl` only with `--fail`.
    Refusing,
    /// Nothing listens, or nothing answers.
    Closed,
    /// Not known.
    Unknown,
}

/// An HTTP endpoint of an engine or of the agent that runs it. The first that matches counts.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// The start of the path, without its query.
    pub path: &'static str,
    /// Parts of the query that all have to be there.
    pub query: &'static [&'static str],
    /// What it answers during recovery.
    pub recovering: Http,
    /// What it answers where what this server depends on is away.
    pub alone: Http,
    /// What it answers a request without a login where one is asked for.
    pub login_refused: Http,
    /// What else decides where `alone` is not good.
    pub depends_on: &'static str,
    /// What it tells, for people, as the end of "it …".
    pub does: &'static str,
}

impl Endpoint {
    /// An endpoint that answers for the process alone.
    pub const ANY: Self = Self {
        path: "/",
        query: &[],
        recovering: Http::Unknown,
        alone: Http::Good,
        login_refused: Http::Good,
        depends_on: "",
        does: "",
    };

    /// What it answers in a situation.
    #[must_use]
    pub fn in_situation(&self, situation: Situation) -> Http {
        match situation {
            Situation::Serving => Http::Good,
            Situation::Recovering => self.recovering,
            Situation::LoginRefused => self.login_refused,
            Situation::Alone => self.alone,
            Situation::Down => Http::Closed,
        }
    }

    /// Whether a request is for it.
    #[must_use]
    pub fn matches(&self, path_and_query: &str) -> bool {
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        path.starts_with(self.path)
            && self.query.iter().all(|wanted| query.split('&').any(|part| part.starts_with(wanted)))
    }
}

/// How long a clean shutdown may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shutdown {
    /// The least grace period that is reasonable, in seconds.
    pub seconds: i64,
    /// What it does in that time.
    pub because: &'static str,
}

/// What holds for some containers of an engine instead of its general profile.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Whether a container is one of them.
    pub when: fn(&Container<'_>) -> bool,
    /// What holds for it, of the same family.
    pub profile: &'static Profile,
}

/// What is known of one engine.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Which one.
    pub engine: Engine,
    /// The family's name; a hint for one of a family may correct another of it.
    pub family: &'static str,
    /// Last components of image names: exact, or with a `*` at the end. With a `/`, as much of the path. With a `:`,
    /// the tag as well, exact or with a `*` at the end, which counts more.
    pub images: &'static [&'static str],
    /// Programs that are the server, with a subcommand where the program alone is not: `vault server`.
    pub servers: &'static [&'static str],
    /// Words with which its image starts the server and which say nothing elsewhere: a first argument, a script.
    pub starts: &'static [&'static str],
    /// Words on the command line, in a row, that mean it is not this engine, whatever the image.
    pub ruled_out_by: &'static [&'static str],
    /// The same where words do not tell.
    pub ruled_out: fn(&Container<'_>) -> bool,
    /// Environment variables of its images; a `*` at the end stands for anything.
    pub environment: &'static [&'static str],
    /// Where its data is mounted.
    pub data_paths: &'static [&'static str],
    /// The well-known client port.
    pub port: u16,
    /// Names under which charts declare the client port.
    pub port_names: &'static [&'static str],
    /// Environment variables that move the port: a number, or addresses that end in one.
    pub port_environment: &'static [&'static str],
    /// Server arguments that move the port.
    pub port_arguments: &'static [&'static str],
    /// Options of its clients that name the port.
    pub client_port_options: &'static [&'static str],
    /// What else it listens on, so that a probe of that is not taken for one of the client port.
    pub other_ports: &'static [OtherPort],
    /// When the client port opens.
    pub opens: Opens,
    /// How that is known.
    pub opens_source: Source,
    /// What clients are told during recovery, as the end of "the engine …".
    pub in_recovery: &'static str,
    /// What the liveness becomes.
    pub steady: SteadyLiveness,
    /// What its own projects allow a start, for people; empty where nobody says.
    pub startup_practice: &'static str,
    /// Programs that ask it something.
    pub clients: &'static [Client],
    /// HTTP endpoints that it or its agent has.
    pub endpoints: &'static [Endpoint],
    /// How long a clean shutdown may take; None where it holds no data or nobody knows.
    pub shutdown: Option<Shutdown>,
    /// Ends of paths of files that are there while it recovers: scripts look for them to be patient.
    pub present_while_recovering: &'static [&'static str],
    /// Why its server listens where the kubelet cannot reach it, as far as the manifest tells.
    pub unreachable: fn(&Container<'_>) -> Option<String>,
    /// Containers for which something else holds, by version or settings. The first that applies counts.
    pub variants: &'static [Variant],
}

impl Profile {
    /// A profile with nothing in it, to be filled in with `..Profile::BLANK`.
    pub const BLANK: Self = Self {
        engine: Engine::PostgreSQL,
        family: "",
        images: &[],
        servers: &[],
        starts: &[],
        ruled_out_by: &[],
        ruled_out: |_| false,
        environment: &[],
        data_paths: &[],
        port: 0,
        port_names: &[],
        port_environment: &[],
        port_arguments: &[],
        client_port_options: &["-p", "--port"],
        other_ports: &[],
        opens: Opens::Unknown,
        opens_source: Source { kind: Evidence::Unverified, citation: "" },
        in_recovery: "may not answer while it recovers",
        steady: SteadyLiveness::KeepCheck("nothing better is known for this engine"),
        startup_practice: "",
        clients: &[],
        endpoints: &[],
        shutdown: None,
        present_while_recovering: &[],
        unreachable: |_| None,
        variants: &[],
    };

    /// The profile that holds for a container of this engine.
    #[must_use]
    pub fn variant_for(&'static self, container: &Container<'_>) -> &'static Self {
        self.variants.iter().find(|variant| (variant.when)(container)).map_or(self, |variant| variant.profile)
    }

    /// The other port that a container's port of this number or name is.
    #[must_use]
    pub fn other_port(&self, container: &Container<'_>, number: u16) -> Option<&'static OtherPort> {
        let name =
            container.tcp_ports().find(|(_, declared)| *declared == i64::from(number)).and_then(|(name, _)| name);
        let is_client_port = number == self.port || name.is_some_and(|name| self.port_names.contains(&name));
        let is_it = |port: &&OtherPort| port.number == number || name.is_some_and(|name| port.names.contains(&name));
        self.other_ports.iter().find(is_it).filter(|_| !is_client_port)
    }

    /// The client that is called, if it is one of this engine's.
    #[must_use]
    pub fn client(&self, call: &Call) -> Option<&'static Client> {
        self.clients.iter().find(|client| client.matches(call))
    }

    /// The endpoint of a request, if it is known.
    #[must_use]
    pub fn endpoint(&self, path_and_query: &str) -> Option<&'static Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.matches(path_and_query))
    }
}
