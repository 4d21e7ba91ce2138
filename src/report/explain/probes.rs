//! Each probe in words.

use super::Page;
use crate::core::model::command::Outcome;
use crate::core::model::engine::{Database, Meaning, Runtime};
use crate::core::model::patroni::LagLimit;
use crate::core::model::probe::{HandlerKind, Probe, ProbeKind, Timing};
use crate::core::model::workload::Container;
use crate::report::words;

/// Patroni's default for `loop_wait`, in seconds.
const LOOP_WAIT: u64 = 10;

pub(super) fn explain(page: &mut Page, container: &Container<'_>, database: &Database) {
    for kind in [ProbeKind::Startup, ProbeKind::Liveness, ProbeKind::Readiness] {
        let lines = match container.probe(kind) {
            None => vec![format!("none: {}", without(kind))],
            Some(probe) => {
                let mut lines = vec![handler(probe), timings(probe)];
                lines.extend(meaning(&database.meaning(container, probe)));
                lines
            }
        };
        page.entry(kind.word(), &lines);
    }
}

/// What follows from a probe that is not there.
fn without(kind: ProbeKind) -> &'static str {
    match kind {
        ProbeKind::Startup => "the others begin as soon as their delays are over",
        ProbeKind::Liveness => "nothing restarts a server that hangs, and nothing kills one that recovers",
        ProbeKind::Readiness => "it gets traffic as soon as its container runs",
    }
}

/// What the kubelet does.
fn handler(probe: Probe<'_>) -> String {
    let text = |json: &serde_json::Value, field: &str| match json.get(field) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    match probe.handler() {
        None => "it has no handler, or more than one: the API refuses it".to_owned(),
        Some((HandlerKind::Exec, _)) => {
            let command = probe.exec_command().unwrap_or_default();
            let words = command.iter().map(|word| {
                let is_plain =
                    !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "\"'$|&;<>".contains(c));
                if is_plain { (*word).to_owned() } else { format!("'{}'", word.trim().replace('\n', "; ")) }
            });
            format!("runs {}", words.collect::<Vec<_>>().join(" "))
        }
        Some((HandlerKind::TcpSocket, json)) => {
            format!("opens a connection to port {} of the pod's IP", text(json, "port"))
        }
        Some((HandlerKind::HttpGet, json)) => {
            let scheme = json.get("scheme").and_then(serde_json::Value::as_str).unwrap_or("HTTP");
            let path = json.get("path").and_then(serde_json::Value::as_str).unwrap_or("/");
            format!("GETs {path} from port {} of the pod's IP, by {scheme}; below 400 is good", text(json, "port"))
        }
        Some((HandlerKind::Grpc, json)) => format!("calls the gRPC health service on port {}", text(json, "port")),
    }
}

/// How often, how long, how many times; what was left out is marked.
fn timings(probe: Probe<'_>) -> String {
    let value = |timing: Timing, word: &str| {
        let mark = if probe.stated(timing).is_some() || timing == Timing::InitialDelay { "" } else { " (by default)" };
        format!("{}{word}{mark}", probe.timing(timing))
    };
    let successes = match probe.timing(Timing::SuccessThreshold) {
        1 => String::new(),
        number => format!(", back after {number} successes in a row"),
    };
    format!(
        "from {} on, every {}; {} to answer; {} in a row count{successes}",
        value(Timing::InitialDelay, " s"),
        value(Timing::Period, " s"),
        value(Timing::Timeout, " s"),
        value(Timing::FailureThreshold, " failures"),
    )
}

fn meaning(meaning: &Meaning) -> Vec<String> {
    let word = match meaning.outcome {
        Outcome::Passes => "passes",
        Outcome::Fails => "fails",
        Outcome::Unknown => "may pass or fail",
    };
    let mut lines = vec![format!("while the server recovers it {word}: {}", meaning.because)];
    lines.extend(
        meaning
            .depends_on
            .as_ref()
            .map(|other| format!("it also fails when {other} is away, though this server is well")),
    );
    lines.extend(meaning.needs_login.then(|| "it also fails when its login is no longer good".to_owned()));
    lines.extend(meaning.always.map(|always| match always {
        Outcome::Passes => "it passes whatever the server does, so that it checks nothing".to_owned(),
        Outcome::Fails => "it fails whatever the server does".to_owned(),
        Outcome::Unknown => "it does the same whatever the server does".to_owned(),
    }));
    let runtime = match meaning.runtime {
        Runtime::Light => None,
        Runtime::Node => Some("starts Node each time: half a second of CPU and more"),
        Runtime::Python => Some("starts Python each time: some tenths of a second of CPU"),
        Runtime::Erlang => Some("starts an Erlang VM each time: about a second of CPU"),
        Runtime::Jvm => Some("starts a Java VM each time: some tenths of a second of CPU, and up to seconds"),
    };
    lines.extend(runtime.map(|runtime| format!("it {runtime}")));
    lines
}

/// What a `lag=` of Patroni means at a rate of writing.
pub(super) fn explain_lag(page: &mut Page, container: &Container<'_>, write_rate: u64) {
    let mut probes = ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind));
    let Some(limit) = probes.find_map(LagLimit::read) else { return };
    let lines = match limit.bytes {
        None => vec![
            "is no size that Patroni can read, and so no limit at all: bytes, or kB, MB, GB, TB".to_owned(),
            "it cannot say seconds".to_owned(),
        ],
        Some(bytes) => {
            let rate = words::bytes(write_rate);
            let at_rate = limit.seconds(write_rate).map_or_else(
                || "while nothing is written it is never reached".to_owned(),
                |seconds| format!("at {rate} of WAL per second that is {seconds} s behind; at a tenth of the rate ten times as much"),
            );
            let stale = LOOP_WAIT.saturating_mul(write_rate);
            vec![
                format!(
                    "is {} of WAL that the replica has not replayed yet: a size, it cannot say seconds",
                    words::bytes(bytes)
                ),
                at_rate,
                format!(
                    "the leader's position is refreshed once per loop_wait (by default {LOOP_WAIT} s, {} at that rate): below that it tells little",
                    words::bytes(stale)
                ),
            ]
        }
    };
    page.entry(&format!("lag={}", limit.text), &lines);
}
