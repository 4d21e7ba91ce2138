//! # RP019 probe-without-check
//!
//! ## What it finds
//! A probe whose outcome does not depend on what it seems to check: it passes when the server is down, or fails when all
//! is well; or it dials a port by a name that its container does not declare, or an address on which the server does not
//! listen. Also parts of a command that do nothing: a second string after `sh -c`, what follows an `exec`, a variable that
//! is not set and so eats the next word.
//!
//! ## Why it is unsafe
//! A readiness that always passes sends traffic to a server that is gone, and a liveness that does so was meant to catch
//! something. One that always fails kills, or keeps out of rotation, whatever the server does. The API takes a port name
//! that nobody declares; the kubelet then cannot ask at all, and throws the result away: a liveness never fails, a
//! readiness never passes, and a startup probe holds the container back for ever.
//!
//! ## What Reprieve does
//! Nothing: what was meant only the author knows. It makes no startup probe and no readiness of such a check.
//!
//! ## Exceptions
//! `true`, `echo` and the like do not seem to check anything: somebody switched the probe off, and says so.
//!
//! ## References
//! sclorg/postgresql-container#320, `probe` and `doProbe` in `pkg/kubelet/prober`

use serde_json::Value;

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::command::{OddityKind, Outcome};
use crate::core::model::engine::{Check, ClientPort, Database, resolve_port};
use crate::core::model::probe::{Probe, ProbeKind};
use crate::core::model::workload::Container;

pub(super) const RULE: Rule = Rule {
    id: "RP019",
    name: "probe-without-check",
    summary: "the probe's outcome does not depend on what it seems to check",
    severity: Severity::Warning,
    applicability: Applicability::ReportOnly,
    file: include_str!("probe_without_check.rs"),
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, database) in case.databases() {
        for probe in ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)) {
            let Some((what, severity)) =
                fault(container, database, probe).or_else(|| oddity(container, database, probe))
            else {
                continue;
            };
            let message = format!("the {} probe {what}", probe.kind.word());
            let fix = "let it ask what it is to tell, and try it on a server that is down";
            findings.push(Finding::new(&RULE, container, probe.kind.field(), message, fix).severity(severity));
        }
    }
    findings
}

/// Why a probe tells nothing at all, as the end of "the probe …".
fn fault(container: &Container<'_>, database: &Database, probe: Probe<'_>) -> Option<(String, Severity)> {
    let kills = probe.kind != ProbeKind::Readiness;
    let fails_always = if kills { Severity::Critical } else { Severity::Warning };
    if let Some(name) = undeclared_port(container, probe) {
        let consequence = match probe.kind {
            ProbeKind::Liveness => "so that it never fails, whatever happens",
            ProbeKind::Readiness => "so that the pod is never ready",
            ProbeKind::Startup => "so that the container never counts as started, and the other probes never run",
        };
        let what = format!(
            "dials the port \"{name}\", which its container does not declare: the kubelet cannot ask, {consequence}"
        );
        let severity = if probe.kind == ProbeKind::Liveness { Severity::Info } else { Severity::Warning };
        return Some((what, severity));
    }
    if let Some(because) = dials_nobody(container, database, probe) {
        return Some((format!("fails always: {because}"), fails_always));
    }
    let meaning = database.meaning(container, probe);
    if meaning.check == Check::Other {
        return None;
    }
    Some(match meaning.always? {
        Outcome::Passes => {
            ("passes also when the server is down".to_owned(), if kills { Severity::Info } else { Severity::Warning })
        }
        Outcome::Fails => ("fails also when all is well".to_owned(), fails_always),
        Outcome::Unknown => return None,
    })
}

/// What in its command does not do what it seems to do, where something else in it does.
fn oddity(container: &Container<'_>, database: &Database, probe: Probe<'_>) -> Option<(String, Severity)> {
    let oddities = database.meaning(container, probe).oddities;
    let worst = oddities.iter().map(|oddity| severity(oddity.kind)).max()?;
    let sentences: Vec<_> = oddities.iter().map(|oddity| oddity.sentence.as_str()).collect();
    Some((format!("does not do all that is written in it: {}", sentences.join("; ")), worst))
}

/// What follows an `exec` was to narrow a check that is there; the others leave nothing of it.
fn severity(kind: OddityKind) -> Severity {
    match kind {
        OddityKind::AfterExec => Severity::Info,
        OddityKind::WordsThatNeverRun | OddityKind::UnsetVariable => Severity::Warning,
    }
}

/// Why its check must not become another probe's.
pub(super) fn emptiness(container: &Container<'_>, database: &Database, probe: Probe<'_>) -> Option<String> {
    let odd = || oddity(container, database, probe).filter(|(_, severity)| *severity > Severity::Info);
    fault(container, database, probe).or_else(odd).map(|(what, _)| format!("it {what}"))
}

/// A port name that stands for no number.
fn undeclared_port<'a>(container: &Container<'_>, probe: Probe<'a>) -> Option<&'a str> {
    let Some(Value::String(name)) = probe.port() else { return None };
    resolve_port(container, &probe.port()?.clone()).is_none().then_some(name.as_str())
}

/// Why nobody listens where it dials. A probe with a host of its own dials that.
fn dials_nobody(container: &Container<'_>, database: &Database, probe: Probe<'_>) -> Option<String> {
    let (_, handler) = probe.handler()?;
    let dialled = resolve_port(container, probe.port()?)?;
    let has_host = handler.get("host").is_some_and(|host| !host.is_null());
    let is_client_port = matches!(&database.port, ClientPort::Known { number, .. } if *number == dialled);
    let host = handler.get("host").and_then(Value::as_str).unwrap_or("");
    if host == "localhost" || host.starts_with("127.") || host == "::1" {
        return Some(format!("its host {host} is the node's own, since it is the kubelet that dials"));
    }
    database.unreachable.clone().filter(|_| is_client_port && !has_host)
}
