//! What probes and resources of a database container should be.

use serde_json::{Value, json};

use super::{Refusal, Remedy};
use crate::core::detect::budget::{kill_budget, startup_budget};
use crate::core::detect::case::{StartupGuard, same_check};
use crate::core::detect::rules::{higher_memory_limit, missing_requests, unfit_to_repeat};
use crate::core::detect::{Applicability, Case, Finding};
use crate::core::model::command::Outcome;
use crate::core::model::engine::{ClientPort, Database, SteadyLiveness, asked_over_http, resolve_port};
use crate::core::model::owner::Stated;
use crate::core::model::probe::{HandlerKind, Probe, ProbeKind, Timing};
use crate::core::model::quantity::Quantity;
use crate::core::model::workload::Container;

/// Seconds and counts that suit every engine; see the budget rule in each profile's sources.
const PERIOD: i64 = 10;
const TIMEOUT: i64 = 5;
const LIVENESS_FAILURES: i64 = 6;
const READINESS_FAILURES: i64 = 3;

/// The rules whose findings put another handler in the place of the liveness's.
const REPLACING: &[&str] = &["RP001", "RP002", "RP012"];

/// What one container should become.
#[derive(Debug, Default)]
pub(super) struct Target {
    pub probes: Vec<ProbeTarget>,
    pub resources: Vec<ResourceTarget>,
    /// What the remedy could not set, and why.
    pub notes: Vec<String>,
    /// Ports that a new handler dials.
    pub dials: Vec<u16>,
}

/// What one probe should become.
#[derive(Debug)]
pub(super) struct ProbeTarget {
    pub kind: ProbeKind,
    pub handler: (HandlerKind, Value),
    /// In the order of [`Timing::ALL`]; only those that change, or all of a new handler.
    pub timings: Vec<(Timing, i64)>,
}

/// One amount; None removes it.
#[derive(Debug)]
pub(super) struct ResourceTarget {
    pub section: &'static str,
    pub resource: &'static str,
    pub amount: Option<String>,
}

/// The target of a container, given what may be fixed in it.
///
/// # Errors
/// When a fix is needed and cannot be worked out for certain.
pub(super) fn target(
    case: &Case<'_>,
    container: &Container<'_>,
    database: &Database,
    findings: &[&Finding],
    remedy: Remedy,
    with_resources: bool,
) -> Result<Target, Refusal> {
    let safe = findings.iter().filter(|finding| finding.applicability == Applicability::Safe).copied().collect();
    let mut builder =
        Builder { case, container, database, safe, remedy, new_liveness: None, target: Target::default() };
    builder.new_liveness = builder.replacement()?;
    builder.liveness();
    builder.startup();
    builder.keep_time_to_recover();
    builder.readiness();
    if with_resources {
        builder.resources();
    }
    Ok(builder.target)
}

/// A GET of a path, asked as today's probe of that port asks: with its scheme and its headers.
fn http_handler(path: &str, port: u16, asked: Option<&Value>) -> Value {
    let mut handler = json!({ "path": path, "port": port });
    for field in ["scheme", "httpHeaders"] {
        if let Some(value) = asked.and_then(|asked| asked.get(field)) {
            handler[field] = value.clone();
        }
    }
    handler
}

struct Builder<'b, 'a> {
    case: &'b Case<'a>,
    container: &'b Container<'a>,
    database: &'b Database,
    safe: Vec<&'b Finding>,
    remedy: Remedy,
    /// The handler that replaces the liveness's, if it is replaced.
    new_liveness: Option<(HandlerKind, Value)>,
    target: Target,
}

impl<'a> Builder<'_, 'a> {
    fn found(&self, rules: &[&str]) -> bool {
        self.safe.iter().any(|finding| rules.contains(&finding.rule))
    }

    /// Whether the check of this probe has to go.
    fn replaces(&self, kind: ProbeKind) -> bool {
        self.safe.iter().any(|finding| finding.field() == kind.field() && REPLACING.contains(&finding.rule))
    }

    fn found_at(&self, kind: ProbeKind) -> bool {
        self.safe.iter().any(|finding| finding.field() == kind.field())
    }

    /// The handler that the liveness gets instead of its exec, where the remedy and the engine want one.
    fn replacement(&mut self) -> Result<Option<(HandlerKind, Value)>, Refusal> {
        let steady = self.database.profile.steady;
        let wants = self.remedy == Remedy::Swap && self.replaces(ProbeKind::Liveness) && steady.replaces();
        if !wants {
            if let SteadyLiveness::KeepCheck(because) = steady
                && self.found(&["RP001", "RP009"])
            {
                self.target.notes.push(format!("{}: the liveness check stays: {because}", self.container.name));
            }
            return Ok(None);
        }
        if let Some(api) = &self.database.patroni {
            let port = api.port.ok_or_else(|| {
                Refusal::new(
                    "PatroniPortUnknown",
                    format!(
                        "{}: Patroni runs this server, and nothing in the pod says where its REST API listens; declare its port (8008, named patroni)",
                        self.container.name
                    ),
                )
            })?;
            self.target.dials.push(port);
            // Of a request that is there only the path changes: its headers may be what lets it in.
            let asked = self.container.probe(ProbeKind::Liveness).and_then(Probe::handler);
            let mut handler = match asked {
                Some((HandlerKind::HttpGet, asked)) => asked.clone(),
                _ => json!({"path": "", "port": port, "scheme": api.scheme}),
            };
            handler["path"] = json!("/liveness");
            return Ok(Some((HandlerKind::HttpGet, handler)));
        }
        let other = match steady {
            SteadyLiveness::OtherSocket(port)
            | SteadyLiveness::Http { port, .. }
            | SteadyLiveness::HttpAfterStart { port, .. } => Some(port),
            _ => None,
        };
        if let Some(port) = other {
            let Some(number) = port.declared_by(self.container) else {
                let note = format!(
                    "{}: the check stays as it is, since nothing in the manifest says that {} listens ({}, port {})",
                    self.container.name,
                    port.what,
                    port.names.first().unwrap_or(&"unnamed"),
                    port.number
                );
                self.target.notes.push(note);
                return Ok(None);
            };
            let asked = asked_over_http(self.container, number);
            if matches!(steady, SteadyLiveness::HttpAfterStart { .. }) && asked.is_none() {
                let note = format!(
                    "{}: the check stays as it is, since nothing in the manifest says whether port {number} ({}) speaks HTTP or HTTPS",
                    self.container.name, port.what
                );
                self.target.notes.push(note);
                return Ok(None);
            }
            self.target.dials.push(number);
            return Ok(Some(match steady {
                SteadyLiveness::Http { path, .. } | SteadyLiveness::HttpAfterStart { path, .. } => {
                    (HandlerKind::HttpGet, http_handler(path, number, asked))
                }
                _ => (HandlerKind::TcpSocket, json!({ "port": number })),
            }));
        }
        if let Some(because) = &self.database.unreachable {
            let note = format!(
                "{}: the check stays as it is, since a socket probe dials the pod's IP: {because}",
                self.container.name
            );
            self.target.notes.push(note);
            return Ok(None);
        }
        match &self.database.port {
            ClientPort::Known { number, .. } => {
                self.target.dials.push(*number);
                Ok(Some((HandlerKind::TcpSocket, json!({ "port": number }))))
            }
            ClientPort::Ambiguous(because) => Err(Refusal::new(
                "AmbiguousPorts",
                format!(
                    "{}: {because}; name the client port in the policy: databases: [{{container: {}, engine: {}, port: …}}]",
                    self.container.name, self.container.name, self.database.profile.engine
                ),
            )),
        }
    }

    fn liveness(&mut self) {
        let Some(probe) = self.container.probe(ProbeKind::Liveness) else { return };
        if !self.found_at(ProbeKind::Liveness) && self.new_liveness.is_none() {
            return;
        }
        let Some(handler) = self.new_liveness.clone().or_else(|| self.kept_handler(probe)) else { return };
        let stated = self.case.policy.liveness.as_ref();
        let patience = self.patience(&handler);
        let timing = |timing| match timing {
            Timing::InitialDelay => (stated.and_then(|s| s.initial_delay_seconds), 0),
            Timing::Period => (stated.and_then(|s| s.period_seconds), PERIOD),
            Timing::Timeout => (stated.and_then(|s| s.timeout_seconds), patience),
            Timing::FailureThreshold => (stated.and_then(|s| s.failure_threshold), LIVENESS_FAILURES),
            Timing::SuccessThreshold => (None, 1),
        };
        let timings = self.timings(Some(probe), &handler, timing);
        self.push(ProbeKind::Liveness, handler, timings);
    }

    fn startup(&mut self) {
        let allowance = self.case.recovery_allowance();
        let guard = self.case.startup_guard(self.container, self.database);
        let needs_guard = (self.found(REPLACING) || self.found(&["RP009"])) && guard != StartupGuard::Covers;
        let existing = self.container.probe(ProbeKind::Startup);
        if !needs_guard && !self.found_at(ProbeKind::Startup) {
            return;
        }
        // It matches the liveness behind it: the same socket with a replaced one, the same check with a kept one. A
        // socket before a check that recovery fails would pass at once and guard nothing.
        let liveness = self.container.probe(ProbeKind::Liveness);
        let like_liveness =
            || self.new_liveness.clone().or_else(|| liveness.and_then(|probe| self.kept_handler(probe)));
        let keeps = match guard {
            _ if self.replaces(ProbeKind::Startup) => false,
            StartupGuard::Missing => false,
            // It passes at once, and so does the liveness now.
            StartupGuard::Open => {
                !needs_guard || (self.new_liveness.is_some() && self.database.profile.steady.survives_recovery())
            }
            StartupGuard::Short => self.new_liveness.is_none(),
            StartupGuard::Covers => true,
        };
        let handler = match existing.filter(|_| keeps) {
            Some(probe) => self.kept_handler(probe),
            None => like_liveness(),
        };
        let Some(handler) = handler else { return };
        if !keeps
            && self.new_liveness.is_none()
            && let Some(why) = self.unfit(&handler)
        {
            let note =
                format!("{}: no startup probe is made of the liveness's check, since {why}", self.container.name);
            self.target.notes.push(note);
            return;
        }
        let patience = self.patience(&handler);
        let period = existing.map_or(PERIOD, |probe| probe.timing(Timing::Period)).max(1);
        // A new startup probe must not kill earlier than the liveness did that had the start to itself.
        let today = liveness.filter(|_| existing.is_none()).map_or(0, |probe| kill_budget(probe).earliest);
        let least = allowance.max(today.saturating_add(period));
        let threshold = if needs_guard { least.div_euclid(period) + i64::from(least % period != 0) } else { 1 };
        let timing = |timing| match timing {
            Timing::InitialDelay => (None, 0),
            Timing::Period => (None, period),
            Timing::Timeout => (None, patience),
            Timing::FailureThreshold => (None, threshold),
            Timing::SuccessThreshold => (None, 1),
        };
        let timings = self.timings(existing, &handler, timing);
        self.push(ProbeKind::Startup, handler, timings);
    }

    /// A policy may state less patience than the liveness has today. Where nothing holds the liveness back, that is the
    /// time that a recovery gets, and a remedy does not shorten it.
    fn keep_time_to_recover(&mut self) {
        let Some(existing) = self.container.probe(ProbeKind::Liveness) else { return };
        let Some(at) = self.target.probes.iter().position(|target| target.kind == ProbeKind::Liveness) else { return };
        let outcome = |kind, json: &Value| self.database.meaning(self.container, Probe { kind, json }).outcome;
        let survives =
            self.becomes(existing).is_some_and(|json| outcome(ProbeKind::Liveness, &json) == Outcome::Passes);
        let startup = self.container.probe(ProbeKind::Startup);
        let none = json!({});
        let startup = self.becomes(startup.unwrap_or(Probe { kind: ProbeKind::Startup, json: &none }));
        let is_guarded = startup.is_some_and(|json| {
            outcome(ProbeKind::Startup, &json) != Outcome::Passes
                && startup_budget(Probe { kind: ProbeKind::Startup, json: &json }) >= self.case.recovery_allowance()
        });
        if survives || is_guarded {
            return;
        }
        let Some(target) = self.target.probes.get_mut(at) else { return };
        for (timing, value) in &mut target.timings {
            let today = existing.timing(*timing);
            let is_patience = [Timing::InitialDelay, Timing::Period, Timing::FailureThreshold].contains(timing);
            if is_patience && *value < today {
                self.target.notes.push(format!(
                    "{}: livenessProbe.{} stays {today}, since no startup probe holds the liveness back until a recovery is over; the policy states {value}",
                    self.container.name,
                    timing.field(),
                ));
                *value = today;
            }
        }
        let is_kept =
            existing.handler().is_some_and(|(kind, json)| kind == target.handler.0 && *json == target.handler.1);
        if is_kept {
            target.timings.retain(|(timing, value)| existing.timing(*timing) != *value);
            if target.timings.is_empty() {
                self.target.probes.remove(at);
            }
        }
    }

    /// A probe as the target makes it; None where it has no handler then.
    fn becomes(&self, today: Probe<'_>) -> Option<Value> {
        let mut json = today.json.clone();
        if let Some(target) = self.target.probes.iter().find(|target| target.kind == today.kind) {
            let probe = json.as_object_mut()?;
            probe.retain(|field, _| HandlerKind::ALL.iter().all(|kind| kind.field() != field));
            probe.insert(target.handler.0.field().to_owned(), target.handler.1.clone());
            probe.extend(target.timings.iter().map(|(timing, value)| (timing.field().to_owned(), Value::from(*value))));
        }
        Probe { kind: today.kind, json: &json }.handler().is_some().then_some(json)
    }

    fn readiness(&mut self) {
        let stated = self.case.policy.readiness.as_ref();
        let policy = |timing| {
            let stated = stated?;
            match timing {
                Timing::InitialDelay => stated.initial_delay_seconds,
                Timing::Period => stated.period_seconds,
                Timing::Timeout => stated.timeout_seconds,
                Timing::FailureThreshold => stated.failure_threshold,
                Timing::SuccessThreshold => None,
            }
        };
        let Some(probe) = self.container.probe(ProbeKind::Readiness) else {
            // The check that leaves the liveness, or a second use of the one that stays.
            let moved = self.container.probe(ProbeKind::Liveness).filter(|_| self.found(&["RP011"]));
            let Some(handler) = moved.and_then(|probe| self.kept_handler(probe)) else { return };
            let patience = self.patience(&handler);
            let profile = |timing| match timing {
                Timing::InitialDelay => 0,
                Timing::Period => PERIOD,
                Timing::Timeout => patience,
                Timing::FailureThreshold => READINESS_FAILURES,
                Timing::SuccessThreshold => 1,
            };
            let timings = self.timings(None, &handler, |timing| (policy(timing), profile(timing)));
            self.push(ProbeKind::Readiness, handler, timings);
            return;
        };
        let Some(handler) = self.kept_handler(probe) else { return };
        let liveness = self.container.probe(ProbeKind::Liveness);
        let repeats_liveness = liveness.is_some_and(|liveness| same_check(self.container, liveness, probe))
            && self.replaces(ProbeKind::Liveness);
        if !repeats_liveness && !self.found_at(ProbeKind::Readiness) {
            return;
        }
        let patience = self.patience(&handler);
        let is_one_second = probe.timing(Timing::Timeout) == 1;
        let timing = |timing| match timing {
            Timing::Timeout if is_one_second => {
                // Only ever raised: a different readiness is its owner's business.
                (None, policy(timing).map_or(patience, i64::from))
            }
            _ if repeats_liveness => (policy(timing), probe.timing(timing)),
            _ => (None, probe.timing(timing)),
        };
        let timings = self.timings(Some(probe), &handler, timing);
        self.push(ProbeKind::Readiness, handler, timings);
    }

    /// A timeout that suits a handler, in seconds: one above the limit that its command sets itself, so that this ends
    /// it, and not the kubelet.
    fn patience(&self, (kind, handler): &(HandlerKind, Value)) -> i64 {
        let json = json!({ kind.field(): handler });
        let meaning = self.database.meaning(self.container, Probe { kind: ProbeKind::Liveness, json: &json });
        let inner = meaning.inner_timeout.and_then(|inner| i64::try_from(inner.seconds()).ok());
        inner.map(|inner| inner + 1).filter(|above| *above <= PERIOD).map_or(TIMEOUT, |above| above.max(TIMEOUT))
    }

    /// Why a check must not decide anything that it does not decide today.
    fn unfit(&self, (kind, handler): &(HandlerKind, Value)) -> Option<String> {
        let json = json!({ kind.field(): handler });
        unfit_to_repeat(self.container, self.database, Probe { kind: ProbeKind::Liveness, json: &json })
    }

    /// The handler that a probe keeps. Of two it keeps the one that suits the engine, unless that dials nothing.
    fn kept_handler(&self, probe: Probe<'a>) -> Option<(HandlerKind, Value)> {
        let wanted = match (probe.kind, self.database.profile.steady) {
            (ProbeKind::Liveness, SteadyLiveness::Http { .. } | SteadyLiveness::HttpAfterStart { .. }) => {
                HandlerKind::HttpGet
            }
            (ProbeKind::Liveness, steady) if steady.replaces() => HandlerKind::TcpSocket,
            _ => HandlerKind::Exec,
        };
        let handlers: Vec<_> = probe.handlers().collect();
        let is_answered =
            |json: &Value| json.get("port").is_some_and(|port| resolve_port(self.container, port).is_some());
        let works = |(kind, json): &&(HandlerKind, &Value)| match kind {
            HandlerKind::Exec => true,
            HandlerKind::TcpSocket => is_answered(json) && self.database.unreachable.is_none(),
            HandlerKind::HttpGet | HandlerKind::Grpc => is_answered(json),
        };
        let working = || handlers.iter().filter(works);
        let kept =
            working().find(|(kind, _)| *kind == wanted).or_else(|| working().next()).or_else(|| handlers.first())?;
        Some((kept.0, kept.1.clone()))
    }

    /// The timings to set: the policy's where it states one, else the more lenient of today's and the profile's. All
    /// of them with a new handler; with a kept one those that change, as far as the remedy allows.
    fn timings(
        &mut self,
        existing: Option<Probe<'a>>,
        handler: &(HandlerKind, Value),
        wanted: impl Fn(Timing) -> (Option<i32>, i64),
    ) -> Vec<(Timing, i64)> {
        let kept = existing
            .filter(|probe| probe.handler().is_some_and(|(kind, json)| kind == handler.0 && *json == handler.1));
        let mut timings = Vec::new();
        for timing in Timing::ALL {
            let (stated, profile) = wanted(timing);
            let today = existing.map(|probe| probe.timing(timing));
            // A threshold over 1 is refused on liveness and startup, so the more lenient number does not exist.
            let lenient =
                if timing == Timing::SuccessThreshold { profile } else { today.unwrap_or(profile).max(profile) };
            let value = stated.map_or(lenient, i64::from);
            match kept {
                Some(_) if today == Some(value) => {}
                Some(probe) if timing == Timing::SuccessThreshold && probe.kind == ProbeKind::Readiness => {}
                Some(probe) => {
                    if self.may_set(&[probe.kind.field(), timing.field()], probe.json.get(timing.field())) {
                        timings.push((timing, value));
                    } else {
                        let note = format!(
                            "{}: {}.{} stays {}, because its owner states it{}; {value} would be right",
                            self.container.name,
                            probe.kind.field(),
                            timing.field(),
                            today.unwrap_or_default(),
                            self.unsure_suffix(&[probe.kind.field(), timing.field()]),
                        );
                        self.target.notes.push(note);
                    }
                }
                None if timing == Timing::SuccessThreshold && today.is_none_or(|today| today == 1) => {}
                None if timing == Timing::InitialDelay && value == 0 && today.unwrap_or(0) == 0 => {}
                None => timings.push((timing, value)),
            }
        }
        timings
    }

    fn unsure_suffix(&self, path: &[&str]) -> &'static str {
        match self.case.ownership.states(self.container.list, self.container.name, path) {
            Stated::Unknown => " or may state it",
            Stated::No | Stated::Yes => "",
        }
    }

    /// Whether the remedy may set a value. An owner puts back what they state, with a second restart.
    fn may_set(&self, path: &[&str], present: Option<&Value>) -> bool {
        if self.remedy == Remedy::Swap {
            return true;
        }
        match self.case.ownership.states(self.container.list, self.container.name, path) {
            Stated::No => true,
            Stated::Yes => false,
            // Had the owner stated it, it would be there.
            Stated::Unknown => present.is_none_or(Value::is_null),
        }
    }

    fn push(&mut self, kind: ProbeKind, handler: (HandlerKind, Value), timings: Vec<(Timing, i64)>) {
        let existing = self.container.json.get(kind.field()).filter(|probe| !probe.is_null());
        let is_kept = existing.is_some_and(|json| {
            let handlers: Vec<_> = Probe { kind, json }.handlers().collect();
            matches!(handlers.as_slice(), [(kept, json)] if *kept == handler.0 && **json == handler.1)
        });
        if is_kept && timings.is_empty() {
            return;
        }
        if !is_kept && !self.may_set(&[kind.field()], existing) {
            let note = format!(
                "{}: {} cannot be changed without breaking its owner's next apply; change it in the manifest",
                self.container.name,
                kind.field()
            );
            self.target.notes.push(note);
            return;
        }
        self.target.probes.push(ProbeTarget { kind, handler, timings });
    }

    /// The memory limit that takes the place of today's, and today's.
    fn higher_memory_limit(&self) -> Option<(String, Quantity)> {
        let higher = higher_memory_limit(self.case, self.container).filter(|_| self.found(&["RP007"]))?;
        Some((higher.to_owned(), self.container.amount("limits", "memory")?))
    }

    fn resources(&mut self) {
        let policy = &self.case.policy.resources;
        let mut wanted: Vec<ResourceTarget> = Vec::new();
        let mut set =
            |section, resource, amount: Option<String>| wanted.push(ResourceTarget { section, resource, amount });
        let mut notes = Vec::new();
        let missing = if self.found(&["RP005"]) { missing_requests(self.container) } else { Vec::new() };
        let requests = policy.requests.as_ref();
        let cpu_limit = self.container.amount("limits", "cpu");
        let wants_no_limit = self.found(&["RP006"]) && cpu_limit.is_some();
        let present = self.container.json.pointer("/resources/limits/cpu");
        let removes_limit = wants_no_limit && self.may_set(&["resources", "limits", "cpu"], present);
        if wants_no_limit && !removes_limit {
            notes.push(format!("{}: resources.limits.cpu stays, because its owner states it", self.container.name));
        }
        for (resource, stated, limit_today) in [
            ("cpu", requests.and_then(|requests| requests.cpu.as_ref()), cpu_limit.filter(|_| !removes_limit)),
            (
                "memory",
                requests.and_then(|requests| requests.memory.as_ref()),
                self.container.amount("limits", "memory"),
            ),
        ] {
            let Some(stated) = stated.filter(|_| missing.contains(&resource)) else { continue };
            let request = Quantity::parse(&stated.0).ok();
            if limit_today.is_some() && limit_today < request {
                // A zero request with a limit below the policy's: the API refuses requests above limits.
                notes.push(format!(
                    "{}: its {resource} limit is below the policy's request of {}, so the request is left alone",
                    self.container.name, stated.0
                ));
                continue;
            }
            set("requests", resource, Some(stated.0.clone()));
            let limit = policy.limits.as_ref().and_then(|limits| limits.memory.as_ref());
            if resource == "memory"
                && let (None, Some(limit)) = (limit_today, limit)
            {
                set("limits", "memory", Some(limit.0.clone()));
            }
        }
        if let Some(limit) = cpu_limit.filter(|_| removes_limit) {
            set("limits", "cpu", None);
            // With the limit goes the request that it stood in for.
            if self.container.amount("requests", "cpu").is_none() && !limit.is_zero() {
                set("requests", "cpu", Some(limit.to_string()));
            }
        }
        if let Some((higher, limit)) = self.higher_memory_limit() {
            let present = self.container.json.pointer("/resources/limits/memory");
            if self.may_set(&["resources", "limits", "memory"], present) {
                set("limits", "memory", Some(higher));
                // Without one the request would rise with the limit that it takes its value from.
                if self.container.amount("requests", "memory").is_none() {
                    set("requests", "memory", Some(limit.to_string()));
                }
            } else {
                notes.push(format!(
                    "{}: resources.limits.memory stays, because its owner states it",
                    self.container.name
                ));
            }
        }
        for target in wanted {
            let present =
                self.container.json.get("resources").and_then(|r| r.get(target.section)?.get(target.resource));
            if self.may_set(&["resources", target.section, target.resource], present) {
                self.target.resources.push(target);
            } else {
                notes.push(format!(
                    "{}: resources.{}.{} stays, because its owner states it",
                    self.container.name, target.section, target.resource
                ));
            }
        }
        self.target.notes.append(&mut notes);
    }
}
