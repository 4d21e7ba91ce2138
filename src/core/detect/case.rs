use serde_json::Value;

use super::RULES;
use super::budget::startup_budget;
use crate::api::PolicySpec;
use crate::core::model::command::{Outcome, Script};
use crate::core::model::engine::{Database, Meaning, recognise, resolve_port};
use crate::core::model::owner::Ownership;
use crate::core::model::policy::Ignored;
use crate::core::model::probe::{HandlerKind, Probe, ProbeKind};
use crate::core::model::workload::{Container, Workload};

/// What the rules look at: one workload under one policy.
#[derive(Debug)]
pub struct Case<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// What the policy asks for.
    pub policy: &'a PolicySpec,
    /// What the workload opts out of.
    pub ignored: Ignored,
    /// Who re-applies the workload.
    pub ownership: Ownership,
    /// The pod spec as admission makes it (limits from a `LimitRange` and the like), where it is known.
    pub effective: Option<&'a Value>,
    /// Its containers, with the database in each.
    pub containers: Vec<Examined<'a>>,
}

/// A container and the database in it, if there is one.
#[derive(Debug)]
pub struct Examined<'a> {
    /// The container.
    pub container: Container<'a>,
    /// What was recognised in it.
    pub database: Option<Database>,
}

/// Whether a startup probe keeps the liveness away from recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartupGuard {
    /// There is none.
    Missing,
    /// It passes at once, so the liveness starts during recovery.
    Open,
    /// It holds, but kills before the recovery allowance is over.
    Short,
    /// It holds for the whole recovery allowance.
    Covers,
}

impl<'a> Case<'a> {
    /// A case, with the databases recognised.
    #[must_use]
    pub fn new(workload: &'a Workload, policy: &'a PolicySpec, effective: Option<&'a Value>) -> Self {
        let containers = workload
            .containers()
            .into_iter()
            // What runs to completion before the others is no server.
            .map(|container| {
                let can_serve = container.is_native_sidecar()
                    || container.list == crate::core::model::workload::ContainerList::Containers;
                let database = can_serve.then(|| recognise(&container, &policy.databases)).flatten();
                Examined { container, database }
            })
            .collect();
        Self {
            workload,
            policy,
            ignored: Ignored::read(workload),
            ownership: Ownership::read(workload),
            effective,
            containers,
        }
    }

    /// Whether a rule counts: the policy and the workload may leave it out.
    #[must_use]
    pub fn is_on(&self, rule: &str) -> bool {
        !self.ignored.covers(rule) && !self.policy.rules.disable.iter().any(|id| id == rule)
    }

    /// The rules that do not count, by id; `*` where the workload opts out of all.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        if self.ignored == Ignored::Everything {
            return vec!["*".to_owned()];
        }
        RULES.iter().filter(|rule| !self.is_on(rule.id)).map(|rule| rule.id.to_owned()).collect()
    }

    /// Whether the policy lets this opt-in rule act.
    #[must_use]
    pub fn opts_in(&self, rule: &str) -> bool {
        self.policy.rules.opt_in.iter().any(|id| id == rule)
    }

    /// The timeout that the policy states for probes of this kind, in seconds.
    #[must_use]
    pub fn policy_timeout(&self, kind: ProbeKind) -> Option<i64> {
        let stated = match kind {
            ProbeKind::Liveness => self.policy.liveness.as_ref()?.timeout_seconds,
            ProbeKind::Readiness => self.policy.readiness.as_ref()?.timeout_seconds,
            ProbeKind::Startup => None,
        };
        stated.map(i64::from)
    }

    /// The containers in which a database was recognised.
    pub fn databases(&self) -> impl Iterator<Item = (&Container<'a>, &Database)> {
        self.containers.iter().filter_map(|examined| Some((&examined.container, examined.database.as_ref()?)))
    }

    /// How long recovery may take.
    #[must_use]
    pub fn recovery_allowance(&self) -> i64 {
        i64::from(self.policy.startup.recovery_allowance_seconds)
    }

    /// Whether a startup probe keeps the liveness of this database away from recovery.
    #[must_use]
    pub fn startup_guard(&self, container: &Container<'a>, database: &Database) -> StartupGuard {
        // One without a handler is refused by the API, so whatever comes in its place begins from nothing.
        let startup = container.probe(ProbeKind::Startup).filter(|probe| probe.handlers().next().is_some());
        let Some(startup) = startup else { return StartupGuard::Missing };
        match database.meaning(container, startup).outcome {
            Outcome::Passes => StartupGuard::Open,
            // What cannot be read is trusted to hold: it gates the liveness in any case until it passes.
            Outcome::Fails | Outcome::Unknown if startup_budget(startup) >= self.recovery_allowance() => {
                StartupGuard::Covers
            }
            Outcome::Fails | Outcome::Unknown => StartupGuard::Short,
        }
    }

    /// The liveness probe of a database, if it has a single handler, with what it does during recovery.
    #[must_use]
    pub fn liveness<'c>(
        &self,
        container: &'c Container<'a>,
        database: &Database,
    ) -> Option<(Probe<'a>, HandlerKind, Meaning)> {
        let probe = container.probe(ProbeKind::Liveness)?;
        let (kind, _) = probe.handler()?;
        Some((probe, kind, database.meaning(container, probe)))
    }
}

/// Whether two probes of a container check the same: the same handler, or commands of one meaning. Timings do not
/// count, nor whether a port is given by number or by name.
#[must_use]
pub fn same_check(container: &Container<'_>, one: Probe<'_>, other: Probe<'_>) -> bool {
    match (one.exec_command(), other.exec_command()) {
        (Some(one), Some(other)) => Script::read(&one).normal_form() == Script::read(&other).normal_form(),
        (None, None) => one.handler().is_some() && handler_text(container, one) == handler_text(container, other),
        _ => false,
    }
}

/// A handler with the API's defaults filled in, so that `scheme: HTTP` and nothing are one.
fn handler_text(container: &Container<'_>, probe: Probe<'_>) -> Option<String> {
    let (kind, json) = probe.handler()?;
    let mut json = json.clone();
    if let Some(number) = json.get("port").and_then(|port| resolve_port(container, port)) {
        json["port"] = Value::from(number);
    }
    if kind == HandlerKind::HttpGet
        && let Some(fields) = json.as_object_mut()
    {
        for (name, default) in [("scheme", "HTTP"), ("path", "/")] {
            fields.entry(name).or_insert_with(|| Value::from(default));
        }
        fields.sort_keys();
    }
    Some(format!("{}{json}", kind.field()))
}
