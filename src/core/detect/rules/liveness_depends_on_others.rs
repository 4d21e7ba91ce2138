//! # RP012 liveness-depends-on-others
//!
//! ## What it finds
//! A liveness or startup probe that something else decides: the role that this server has just now, a quorum, a
//! leader, an alarm of the cluster, or a server on another host. Also a readiness of that kind on a StatefulSet that
//! starts its pods one after the other.
//!
//! ## Why it is unsafe
//! The server is well, and is killed because another is not. When a quorum is lost every member is restarted at once,
//! each from the beginning, which is what keeps the quorum away. A role check kills every member that has another role.
//! As readiness it kills nothing, but with `podManagementPolicy: OrderedReady` a cluster that was stopped as a whole
//! cannot start: the first pod waits for others that are created only when it is ready.
//!
//! ## What Reprieve does
//! Puts the liveness in its place that the engine is known to answer alone. Of a Patroni probe only the path changes, to
//! `/liveness`; scheme, headers and port stay as written. It never makes such a check the startup probe or the
//! readiness of anything. `podManagementPolicy` cannot be changed in place, so the readiness is only reported.
//!
//! ## Exceptions
//! Where no better liveness is known for the engine, or somebody re-applies the manifest, it is only reported.
//! `/liveness` is in Patroni since version 2.0.
//!
//! ## References
//! patroni/patroni#1159, patroni/patroni#2395, etcd-io/etcd#13340, portworx/helm#950, elastic/helm-charts#374

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::detect::budget::{kill_budget, startup_budget};
use crate::core::model::engine::{ClientPort, Database, SteadyLiveness, asked_over_http};
use crate::core::model::probe::{Probe, ProbeKind};
use crate::core::model::workload::{Container, Workload};

pub(super) const RULE: Rule = Rule {
    id: "RP012",
    name: "liveness-depends-on-others",
    summary: "another server, or a role, decides whether this one is killed",
    severity: Severity::Critical,
    applicability: Applicability::Safe,
    file: include_str!("liveness_depends_on_others.rs"),
    check,
};

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, database) in case.databases() {
        for kind in ProbeKind::ALL {
            let Some(probe) = container.probe(kind) else { continue };
            let meaning = database.meaning(container, probe);
            let Some(what) = meaning.depends_on else { continue };
            if kind == ProbeKind::Readiness {
                findings.extend(deadlock(case.workload, container, &what));
            } else {
                findings.push(killer(container, database, probe, &what, &meaning.because));
            }
        }
    }
    findings
}

/// A probe that kills for others.
fn killer(container: &Container<'_>, database: &Database, probe: Probe<'_>, what: &str, because: &str) -> Finding {
    let seconds = match probe.kind {
        ProbeKind::Startup => startup_budget(probe),
        _ => kill_budget(probe).earliest,
    };
    let message = format!(
        "the {} probe rests on {what} ({because}): this server may be well and is killed after {seconds} s",
        probe.kind.word()
    );
    let can_replace = can_replace(container, database, probe);
    let fix = match (&database.patroni, can_replace) {
        (Some(_), true) if probe.kind == ProbeKind::Liveness => {
            "ask Patroni's /liveness, which is about this server's agent alone"
        }
        (_, true) => "ask this server alone whether it is there, and let this check decide nothing that kills",
        (_, false) => "ask this server alone whether it is there; a check of the cluster belongs into monitoring",
    };
    Finding::new(&RULE, container, probe.kind.field(), message, fix)
        .applicability(if can_replace { Applicability::Safe } else { Applicability::ReportOnly })
        .with("dependsOn", what)
}

/// Whether what would take its place is known and within reach; who owns the manifest is for the remedy to see.
fn can_replace(container: &Container<'_>, database: &Database, probe: Probe<'_>) -> bool {
    // A startup probe becomes what the liveness behind it is, or is going to be.
    if probe.kind == ProbeKind::Startup {
        let liveness = container.probe(ProbeKind::Liveness).filter(|liveness| liveness.handler().is_some());
        let Some(liveness) = liveness else { return false };
        return database.is_sure()
            && (super::unfit_to_repeat(container, database, liveness).is_none()
                || database.meaning(container, liveness).depends_on.is_some()
                    && can_replace(container, database, liveness));
    }
    let is_reachable = match database.profile.steady {
        _ if let Some(patroni) = &database.patroni => patroni.port.is_some(),
        SteadyLiveness::Socket | SteadyLiveness::SocketAfterStart => {
            database.unreachable.is_none() && matches!(database.port, ClientPort::Known { .. })
        }
        SteadyLiveness::OtherSocket(port) | SteadyLiveness::Http { port, .. } => port.declared_by(container).is_some(),
        // Only a probe that is there tells HTTP from HTTPS.
        SteadyLiveness::HttpAfterStart { port, .. } => {
            port.declared_by(container).is_some_and(|number| asked_over_http(container, number).is_some())
        }
        SteadyLiveness::KeepCheck(_) | SteadyLiveness::LeaveAlone(_) => false,
    };
    is_reachable && database.is_sure()
}

/// A readiness that waits for pods which wait for it.
fn deadlock(workload: &Workload, container: &Container<'_>, what: &str) -> Option<Finding> {
    let management = workload.text("/spec/podManagementPolicy");
    let is_ordered = workload.kind() == "StatefulSet" && matches!(management, "" | "OrderedReady");
    if !is_ordered || workload.replicas() < 2 {
        return None;
    }
    let message = format!(
        "readiness rests on {what}, and the {} pods are started one after the other (OrderedReady): after a full stop the first waits for others that are created only when it is ready",
        workload.replicas()
    );
    let fix = "podManagementPolicy: Parallel (recreate the StatefulSet with kubectl delete --cascade=orphan), or a readiness about this server alone";
    let finding = Finding::new(&RULE, container, ProbeKind::Readiness.field(), message, fix);
    Some(
        finding
            .severity(Severity::Warning)
            .applicability(Applicability::ReportOnly)
            .with("dependsOn", what)
            .with("replicas", workload.replicas()),
    )
}
