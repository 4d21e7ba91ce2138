//! The path of one workload, from observation to read-back, as a pure step function.
//!
//! ```text
//! Start ─► DryRunPod(current) ─► DryRunWorkload ─► DryRunPod(patched) ─► ReplayOwner ─► CheckFit ─► CheckPort
//!                                                                                                      │
//!                                 Done ◄─ ReadBack ◄─ Apply (same bytes, same base) ◄─ gates ◄─────────┘
//! ```
//!
//! The shell runs the effect that [`step`] names and puts the answer into the state. Every way off the path is an
//! [`Outcome`]; nothing on it is skipped because a call failed.

mod foresee;

use serde_json::Value;

use super::effect::{Answer, DialTarget, Effect, FitQuestion, Memory, Observation, PodOf};
use super::gate::{self, Wait};
use super::kill_loop::{KillLoop, kill_loop};
use super::pod_template::render_pod;
use super::usable::policy_problems;
use super::{Decision, Outcome};
use crate::core::detect::{Applicability, Case, Finding, FindingKey, RULES, Severity, detect};
use crate::core::model::owner::{Ownership, last_changed_by};
use crate::core::model::pod::Pod;
use crate::core::model::policy::Ignored;
use crate::core::model::workload::Workload;
use crate::core::remedy::record::State as Record;
use crate::core::remedy::verify::{still_applied, verify, verify_pod};
use crate::core::remedy::{Choice, Plan, Planned, Refusal, Remedy, Violation, choose, patch, plan};

pub use foresee::foresee;

/// How far a reconcile is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    stage: Stage,
    /// The answer to the effect that was named last.
    pub answer: Option<Answer>,
    work: Option<Box<Work>>,
    /// Set when the path is at its end.
    pub outcome: Option<Box<Outcome>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Start,
    CurrentPod,
    DryRun,
    PatchedPod,
    Owner,
    Fit,
    Port,
    Apply,
    ReadBack,
    Done,
}

/// What is carried from step to step.
#[derive(Clone, Debug)]
struct Work {
    findings: Vec<Finding>,
    plan: Plan,
    body: Value,
    writes: i32,
    /// The pod that admission makes of today's template; None where it refuses it.
    current_pod: Option<Value>,
    /// The workload as the dry-run made it.
    patched: Value,
    /// The pod of the patched template: as it was sent, then as admission made it.
    patched_pod: Value,
    /// Set when requests were tried and refused: why, and that the probes go alone.
    withheld: Option<String>,
    /// Why nothing is written although the plan is proved: Audit, Suggest.
    report_only: Option<(&'static str, String)>,
    looping: Option<KillLoop>,
    notes: Vec<String>,
}

/// Takes one step: reads the last answer, and names the next effect or sets the outcome.
#[must_use]
pub fn step(observation: &Observation, mut progress: Progress) -> (Progress, Option<Effect>) {
    if progress.stage == Stage::Done {
        return (progress, None);
    }
    // An effect whose answer was lost may have been carried out. The object itself will tell, at the next look.
    let lost = || Answer::Unavailable { message: "the answer was lost".to_owned(), retry_after: None };
    let answer = progress.answer.take().unwrap_or_else(lost);
    let path = Path { observation };
    let (stage, result) = match (progress.stage, progress.work.take()) {
        (Stage::CurrentPod, Some(work)) => (Stage::DryRun, path.current_pod(work, answer)),
        (Stage::DryRun, Some(work)) => (Stage::PatchedPod, path.dry_run(work, answer)),
        (Stage::PatchedPod, Some(work)) => (Stage::Owner, path.patched_pod(work, answer)),
        (Stage::Owner, Some(work)) => (Stage::Fit, path.owner(work, answer)),
        (Stage::Fit, Some(work)) => (Stage::Port, path.fit(work, answer)),
        (Stage::Port, Some(work)) => (Stage::Apply, path.port(work, answer)),
        (Stage::Apply, Some(work)) => (Stage::ReadBack, path.applied(work, answer)),
        (Stage::ReadBack, Some(work)) => (Stage::Done, path.read_back(work, answer)),
        (Stage::Start | Stage::Done, _) | (_, None) => (Stage::CurrentPod, path.start()),
    };
    match result {
        Next::Effect(work, effect) => {
            let stage = stage_of(&effect, stage);
            (Progress { stage, answer: None, work: Some(work), outcome: None }, Some(effect))
        }
        Next::Done(outcome) => {
            (Progress { stage: Stage::Done, answer: None, work: None, outcome: Some(outcome) }, None)
        }
    }
}

/// The stage in which the answer to an effect is read. Stages without a question are passed over.
fn stage_of(effect: &Effect, proposed: Stage) -> Stage {
    match effect {
        Effect::DryRunPod(PodOf::CurrentTemplate, _) => Stage::CurrentPod,
        Effect::DryRunWorkload(_) => Stage::DryRun,
        Effect::DryRunPod(PodOf::PatchedTemplate, _) => Stage::PatchedPod,
        Effect::ReplayOwner(_) => Stage::Owner,
        Effect::CheckFit(_) => Stage::Fit,
        Effect::CheckPort(_) => Stage::Port,
        Effect::Apply(_) => Stage::Apply,
        Effect::ReadBack => {
            debug_assert_eq!(proposed, Stage::ReadBack, "a read-back follows a write");
            Stage::ReadBack
        }
    }
}

enum Next {
    Effect(Box<Work>, Effect),
    Done(Box<Outcome>),
}

struct Path<'o> {
    observation: &'o Observation,
}

impl Path<'_> {
    fn case<'c>(&'c self, effective: Option<&'c Value>) -> Case<'c> {
        Case::new(&self.observation.workload, &self.observation.policy.spec, effective)
    }

    /// Our last write, by the object's own record or by what the policy's status remembers: the later of the two.
    fn written(&self) -> Option<Memory> {
        let record = Record::read(&self.observation.workload).ok().flatten();
        let record = record.map(|record| Memory { plan: record.plan, writes: record.writes, policy: record.policy });
        [self.observation.memory.clone(), record].into_iter().flatten().max_by_key(|memory| memory.writes)
    }

    fn writes_so_far(&self) -> i32 {
        self.written().map_or(0, |memory| memory.writes)
    }

    /// An outcome without a plan.
    fn outcome(&self, findings: Vec<Finding>, decision: Decision, status: &'static str, why: &Refusal) -> Outcome {
        Outcome {
            decision,
            status,
            reason: why.reason,
            message: why.message.clone(),
            findings,
            plan: None,
            written: self.written(),
            owner: self.ownership().to_string(),
            look_again: None,
            missing_verb: None,
            wrote: false,
        }
    }

    fn end(&self, work: Work, decision: Decision, status: &'static str, why: &Refusal) -> Box<Outcome> {
        let mut outcome = self.outcome(work.findings, decision, status, why);
        let notes = work.notes.into_iter().chain(work.plan.notes.clone());
        for note in notes {
            outcome.message = format!("{}. {note}", outcome.message.trim_end_matches('.'));
        }
        outcome.plan = Some(Box::new(work.plan));
        Box::new(outcome)
    }

    fn refused(&self, work: Work, reason: &'static str, message: String) -> Box<Outcome> {
        let mut outcome = self.end(work, Decision::Refuse, "Refused", &Refusal::new(reason, message));
        // What stands in the way may be taken away without an event that reaches us.
        outcome.look_again = Some(300);
        outcome
    }

    fn refuse(&self, work: Box<Work>, reason: &'static str, message: String) -> Next {
        Next::Done(self.refused(*work, reason, message))
    }

    fn defer(&self, work: Box<Work>, reason: &'static str, message: String, look_again: Option<u32>) -> Next {
        let mut outcome = self.end(*work, Decision::Defer, "Deferred", &Refusal::new(reason, message));
        outcome.look_again = look_again;
        Next::Done(outcome)
    }

    fn start(&self) -> Next {
        let workload = &self.observation.workload;
        let done = |outcome| Next::Done(Box::new(outcome));
        let policy_problems = policy_problems(&self.observation.policy);
        if !policy_problems.is_empty() {
            let why = Refusal::new("InvalidPolicy", policy_problems.join("; "));
            return done(self.outcome(Vec::new(), Decision::Refuse, "Refused", &why));
        }
        let case = self.case(self.spec_of_a_pod());
        if case.ignored == Ignored::Everything {
            let why = Refusal::new("OptedOut", "the annotation reprieve.dev/ignore: \"*\" opts it out".to_owned());
            return done(self.outcome(Vec::new(), Decision::Noop, "Clean", &why));
        }
        if workload.json().pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
            let why = Refusal::new("BeingDeleted", "it is being deleted".to_owned());
            return done(self.outcome(Vec::new(), Decision::Noop, "Clean", &why));
        }
        if let Some(unknown) = unknown_opt_out(&case.ignored) {
            let why = Refusal::new("IgnoreUnreadable", unknown);
            return done(self.outcome(detect(&case), Decision::Refuse, "Refused", &why));
        }
        let findings = detect(&case);
        if let Some(problem) = workload.problems().first() {
            let why = Refusal::new("Unreadable", format!("{problem}; correct the manifest"));
            return done(self.outcome(findings, Decision::Refuse, "Refused", &why));
        }
        if workload.uid().is_empty() || workload.resource_version().is_empty() {
            let why = "it has no uid or resourceVersion, so a write could not be bound to what was looked at";
            let why = Refusal::new("NoBase", why.to_owned());
            return done(self.outcome(findings, Decision::Refuse, "Refused", &why));
        }
        let record = match Record::read(workload) {
            Ok(record) => record,
            Err(error) => {
                let why = Refusal::new(
                    "RecordUnreadable",
                    format!("{error}; nothing is written until it is removed or repaired"),
                );
                return done(self.outcome(findings, Decision::Halt, "Failed", &why));
            }
        };
        let (remedy, report_only, refused) = self.remedy(&case);
        match plan(&case, &findings, remedy, true) {
            Planned::Refused(why) => {
                done(self.outcome(findings, Decision::Refuse, "Refused", refused.as_ref().unwrap_or(&why)))
            }
            Planned::Nothing(notes) => {
                let is_in_force = record.is_some_and(|record| record.is_in_force(workload));
                done(self.nothing_to_write(&case, findings, is_in_force, refused, &notes))
            }
            Planned::Plan(plan) => {
                let writes = self.writes_so_far();
                let looping = kill_loop(&case, &self.pods(), self.observation.now);
                let work = Box::new(Work {
                    body: plan.body(workload, writes.saturating_add(1)),
                    plan: *plan,
                    findings,
                    writes,
                    current_pod: None,
                    patched: Value::Null,
                    patched_pod: Value::Null,
                    withheld: None,
                    report_only,
                    looping,
                    notes: Vec::new(),
                });
                if let Some(why) = refused {
                    return self.refuse(work, why.reason, why.message);
                }
                if let Some(contested) = self.contested(&work, record.as_ref()) {
                    return Next::Done(self.end(*work, Decision::Halt, "Contested", &contested));
                }
                Next::Effect(work, Effect::DryRunPod(PodOf::CurrentTemplate, render_pod(workload)))
            }
        }
    }

    /// The remedy to plan with, why it is not written if it is not, and what stands against any.
    fn remedy(&self, case: &Case<'_>) -> (Remedy, Option<(&'static str, String)>, Option<Refusal>) {
        let audit = (!self.observation.policy.enforces())
            .then(|| ("Audit", "mode is Audit: this is the patch that Enforce would send".to_owned()));
        match choose(self.observation.policy.spec.remedy, &case.ownership) {
            Choice::Remedy(remedy) => (remedy, audit, None),
            Choice::Suggest { remedy, because } => (remedy, Some(("Suggested", because)), None),
            Choice::Refused(why) => (Remedy::Swap, None, Some(why)),
        }
    }

    fn nothing_to_write(
        &self,
        case: &Case<'_>,
        findings: Vec<Finding>,
        was_written: bool,
        refused: Option<Refusal>,
        notes: &[String],
    ) -> Outcome {
        let left = if notes.is_empty() { String::new() } else { format!(". {}", notes.join(". ")) };
        if was_written {
            let rules: std::collections::BTreeSet<_> =
                findings.iter().filter(|finding| finding.severity > Severity::Info).map(|f| f.rule).collect();
            let rules = rules.into_iter().collect::<Vec<_>>().join(", ");
            let remaining =
                if rules.is_empty() { String::new() } else { format!("; still found, and not changed here: {rules}") };
            let message = format!("patched; {}{remaining}{left}", self.rollout_words());
            return self.outcome(findings, Decision::Noop, "Applied", &Refusal::new("Applied", message));
        }
        if findings.is_empty() {
            let message = match case.databases().next() {
                None => {
                    "no database is recognised in it; name the container in the policy if there is one: databases: [{container: …, engine: …}]"
                }
                Some(_) => "nothing is wrong with its probes and requests",
            };
            let reason = if case.databases().next().is_none() { "NoDatabase" } else { "Clean" };
            return self.outcome(findings, Decision::Noop, "Clean", &Refusal::new(reason, message.to_owned()));
        }
        if let Some(why) = refused {
            return self.outcome(findings, Decision::Refuse, "Refused", &why);
        }
        let safe = findings.iter().any(|finding| finding.applicability == Applicability::Safe);
        let message = if safe {
            format!("nothing that may be changed here would cure its {} findings{left}", findings.len())
        } else {
            format!("{} findings for a person to decide{left}", findings.len())
        };
        self.outcome(findings, Decision::Advise, "Reported", &Refusal::new("ReportOnly", message))
    }

    /// Where the rollout of a written patch stands, in words. Nothing here claims that it is verified.
    fn rollout_words(&self) -> String {
        let workload = &self.observation.workload;
        let stuck: Vec<_> = self
            .pods()
            .iter()
            .filter(|pod| !pod.is_ready() && self.has_old_revision(**pod))
            .map(|pod| pod.name().to_owned())
            .collect();
        if !stuck.is_empty() {
            return self.deletion_words(&stuck);
        }
        let pods = self.pods();
        if gate::is_rolling(workload) || pods.iter().any(|pod| self.has_old_revision(*pod)) {
            return self.strategy_words().unwrap_or_else(|| "its pods are being replaced".to_owned());
        }
        let wanted = workload.replicas();
        if i64::try_from(pods.len()).is_ok_and(|count| count < wanted) {
            return format!("{} of its {wanted} pods are there", pods.len());
        }
        match pods.iter().filter(|pod| !pod.is_ready()).count() {
            0 => "every pod has it and is ready".to_owned(),
            count => format!("every pod has it, and {count} of {} are not ready yet", pods.len()),
        }
    }

    /// What keeps the controller from replacing pods by itself, if the update strategy says so.
    fn strategy_words(&self) -> Option<String> {
        let workload = &self.observation.workload;
        if workload.text("/spec/updateStrategy/type") == "OnDelete" {
            return Some("its update strategy is OnDelete, so each pod takes it on when it is deleted".to_owned());
        }
        let partition = workload.json().pointer("/spec/updateStrategy/rollingUpdate/partition")?.as_i64()?;
        (partition > 0).then(|| {
            format!("updateStrategy.rollingUpdate.partition keeps its pods below ordinal {partition} as they are")
        })
    }

    /// Which pods somebody has to delete, and how (kubernetes/kubernetes#67250).
    fn deletion_words(&self, pods: &[String]) -> String {
        format!(
            "the StatefulSet controller does not replace a pod that is not ready: delete {} to let the new probes in (kubectl -n {} delete pod {})",
            pods.join(" and "),
            self.observation.workload.namespace(),
            pods.join(" ")
        )
    }

    fn ownership(&self) -> Ownership {
        Ownership::read(&self.observation.workload)
    }

    /// What admission made of today's template, by a pod of it that is there.
    fn spec_of_a_pod(&self) -> Option<&Value> {
        if gate::is_unobserved(&self.observation.workload) {
            return None;
        }
        let update = self.observation.workload.text("/status/updateRevision");
        let revision =
            |pod: &Value| pod.pointer("/metadata/labels/controller-revision-hash")?.as_str().map(str::to_owned);
        let pod = self.observation.pods.iter().find(|pod| revision(pod).is_some_and(|revision| revision == update))?;
        pod.get("spec")
    }

    fn has_old_revision(&self, pod: Pod<'_>) -> bool {
        let update = self.observation.workload.text("/status/updateRevision");
        let of_pod = pod.0.pointer("/metadata/labels/controller-revision-hash").and_then(Value::as_str);
        !update.is_empty() && of_pod.is_some_and(|revision| revision != update)
    }

    fn pods(&self) -> Vec<Pod<'_>> {
        self.observation.pods.iter().map(Pod).collect()
    }

    /// One write for a plan, ever. Whoever took it back is named, not fought.
    fn contested(&self, work: &Work, record: Option<&Record>) -> Option<Refusal> {
        let plan = &work.plan;
        // The very plan, or another one only because somebody took a part of the last one back: an undo changes who
        // owns what, and with that the remedy.
        let by_record = record.is_some_and(|record| {
            record.wrote(&plan.digest)
                || (record.policy == plan.policy && !record.is_in_force(&self.observation.workload))
        });
        let by_memory = self.observation.memory.as_ref().is_some_and(|memory| {
            memory.plan == plan.digest || (record.is_none() && memory.writes > 0 && memory.policy == plan.policy)
        });
        (by_record || by_memory).then(|| {
            let by = match last_changed_by(&self.observation.workload) {
                Some(change) => format!("{change} changed its template last"),
                None => "nothing tells who did it".to_owned(),
            };
            Refusal::new(
                "Reverted",
                format!(
                    "it was patched before, and somebody took that back: {by}. It is not patched again until the policy asks for something else"
                ),
            )
        })
    }

    fn current_pod(&self, mut work: Box<Work>, answer: Answer) -> Next {
        match answer {
            Answer::Object(pod) => {
                // Admission has filled in what the template leaves to the namespace: look again with that.
                let spec = pod.get("spec").cloned();
                work.findings = detect(&self.case(spec.as_ref()));
                work.current_pod = Some(pod);
            }
            Answer::Rejected { message, .. } => {
                if message.contains("exceeded quota") {
                    let message = format!(
                        "the namespace's quota has no room for one more pod, which a dry-run counts as, so nothing can be proved; raise it a little, also for restarts, where old and new pods count for a moment: {message}"
                    );
                    return self.refuse(work, "QuotaExhausted", message);
                }
                let left = work.plan.remaining.iter().any(|finding| finding.rule == "RP018");
                let cures = work.plan.cured.iter().any(|(rule, _)| *rule == "RP018") && !left;
                if !cures {
                    let message = format!(
                        "the server refuses a pod of today's template, so a restart would leave none: {message}"
                    );
                    return self.refuse(work, "TemplateRefused", message);
                }
                work.notes.push(format!("today's template makes no pod: {message}"));
            }
            other => return self.off_path(work, other, "the pod's dry-run"),
        }
        self.dry_run_workload(work)
    }

    fn dry_run_workload(&self, work: Box<Work>) -> Next {
        // The local merge is judged first: a patch that is wrong by our own measure is not even asked about.
        let local = match patch::apply(self.observation.workload.json(), &work.body) {
            Ok(local) => local,
            Err(error) => return self.refuse(work, "PatchUnusable", error.to_string()),
        };
        if let Some(message) = self.judge(&work, &local) {
            return self.refuse(work, "VerificationFailed", format!("the patch is not what was planned: {message}"));
        }
        let body = work.body.clone();
        Next::Effect(work, Effect::DryRunWorkload(body))
    }

    fn judge(&self, work: &Work, after: &Value) -> Option<String> {
        let policy = &self.observation.policy.spec;
        say(&verify(&self.observation.workload, after, &work.plan, &work.body, policy))
    }

    fn dry_run(&self, mut work: Box<Work>, answer: Answer) -> Next {
        match answer {
            Answer::Object(object) => {
                if let Some(message) = self.judge(&work, &object) {
                    let message = format!("the dry-run's result is not what was planned: {message}");
                    return self.refuse(work, "VerificationFailed", message);
                }
                work.patched = object.clone();
                let pod = render_pod(&Workload::new(object));
                work.patched_pod = pod.clone();
                Next::Effect(work, Effect::DryRunPod(PodOf::PatchedTemplate, pod))
            }
            Answer::Rejected { message, .. } => {
                self.withhold_or_refuse(work, "DryRunRefused", format!("the server refuses the patch: {message}"))
            }
            other => self.off_path(work, other, "the patch's dry-run"),
        }
    }

    fn patched_pod(&self, mut work: Box<Work>, answer: Answer) -> Next {
        match answer {
            Answer::Object(pod) => {
                if let Some(message) = say(&verify_pod(work.current_pod.as_ref(), &work.patched_pod, &pod, &work.plan))
                {
                    let message = format!("the pod would not be what was planned: {message}");
                    return self.withhold_or_refuse(work, "PodNotAsPlanned", message);
                }
                work.patched_pod = pod;
                self.replay_owner(work)
            }
            Answer::Rejected { message, .. } => {
                let message = format!("the server refuses a pod of the patched template: {message}");
                self.withhold_or_refuse(work, "PodDryRunFailed", message)
            }
            other => self.off_path(work, other, "the patched pod's dry-run"),
        }
    }

    /// Where requests and probes were planned together, the probes may still go alone.
    fn withhold_or_refuse(&self, mut work: Box<Work>, reason: &'static str, message: String) -> Next {
        if work.writes > 0 && work.withheld.is_none() && !work.plan.changes_probes() {
            // The probes went alone before. That still stands, and so does what kept the rest from going along.
            let message =
                format!("patched; {}; its requests and limits are left as they are: {message}", self.rollout_words());
            let mut outcome = self.end(*work, Decision::Noop, "Applied", &Refusal::new("ResourcesWithheld", message));
            outcome.look_again = Some(300);
            return Next::Done(outcome);
        }
        if work.withheld.is_some() || !work.plan.changes_resources() || !work.plan.changes_probes() {
            return self.refuse(work, reason, message);
        }
        let spec = work.current_pod.as_ref().and_then(|pod| pod.get("spec"));
        let Planned::Plan(alone) = plan(&self.case(spec), &work.findings, work.plan.remedy, false) else {
            return self.refuse(work, reason, message);
        };
        work.plan = *alone;
        work.body = work.plan.body(&self.observation.workload, work.writes.saturating_add(1));
        work.notes.push(format!("its requests and limits are left as they are: {message}"));
        work.withheld = Some(message);
        let record = Record::read(&self.observation.workload).ok().flatten();
        if let Some(contested) = self.contested(&work, record.as_ref()) {
            return Next::Done(self.end(*work, Decision::Halt, "Contested", &contested));
        }
        self.dry_run_workload(work)
    }

    fn replay_owner(&self, work: Box<Work>) -> Next {
        let ownership = self.ownership();
        // Only what the apply would change is sent: a client-side apply leaves out what is as it should be, and a list
        // that is sent back whole may merge wrongly (a port number on two protocols, kubernetes/kubernetes#105610).
        let manifest = ownership.manifests().next();
        match manifest.and_then(|(_, manifest)| patch::difference(&work.patched, &owners_patch(manifest))) {
            Some(change) => match patch::compose(&work.body, &change) {
                Ok(body) => Next::Effect(work, Effect::ReplayOwner(body)),
                Err(error) => self.refuse(work, "OwnerReplayUnusable", error.to_string()),
            },
            None => self.check_fit(work),
        }
    }

    fn owner(&self, work: Box<Work>, answer: Answer) -> Next {
        let owner = self.ownership().to_string();
        match answer {
            Answer::Object(object) => match say(&still_applied(&Workload::new(object), &work.plan)) {
                None => self.check_fit(work),
                Some(message) => {
                    let message =
                        format!("the next apply of {owner} would put it back, with a second restart: {message}");
                    self.refuse(work, "OwnerPutsBack", message)
                }
            },
            Answer::Rejected { message, .. } => {
                let message = format!("the next apply of {owner} would be refused: {message}");
                self.refuse(work, "OwnerReplayRefused", message)
            }
            other => self.off_path(work, other, "the replay of its owner's apply"),
        }
    }

    fn check_fit(&self, work: Box<Work>) -> Next {
        let replaced: Vec<_> =
            self.pods().iter().filter_map(|pod| Some((pod.name().to_owned(), pod.node()?.to_owned()))).collect();
        if !work.plan.changes_requests() || replaced.is_empty() {
            return self.check_port(work);
        }
        let pod_spec = work.patched_pod.get("spec").cloned().unwrap_or_default();
        Next::Effect(work, Effect::CheckFit(FitQuestion { pod_spec, replaced }))
    }

    fn fit(&self, work: Box<Work>, answer: Answer) -> Next {
        match answer {
            Answer::Fit(Ok(())) => self.check_port(work),
            Answer::Fit(Err(message)) => {
                self.withhold_or_refuse(work, "DoesNotFit", format!("the pod would no longer fit: {message}"))
            }
            other => self.off_path(work, other, "the look at its nodes"),
        }
    }

    fn check_port(&self, work: Box<Work>) -> Next {
        if work.plan.dials.is_empty() {
            return self.gates(work);
        }
        let pods = self.pods();
        let mut targets = Vec::new();
        for (container, port) in &work.plan.dials {
            let running = pods.iter().filter(|pod| {
                pod.container(container).is_some_and(super::super::model::pod::ContainerStatus::is_running)
            });
            targets.extend(running.filter_map(|pod| {
                Some(DialTarget { pod: pod.name().to_owned(), ip: pod.ip()?.to_owned(), port: *port })
            }));
        }
        if !targets.is_empty() {
            return Next::Effect(work, Effect::CheckPort(targets));
        }
        if work.current_pod.is_none() {
            // No pod can be created as things are; the patch cannot take away what is not there.
            return self.gates(work);
        }
        let message = "waiting for a running pod, to see that the port of the new probe answers".to_owned();
        self.defer(work, "NoRunningPod", message, None)
    }

    fn port(&self, work: Box<Work>, answer: Answer) -> Next {
        match answer {
            Answer::Port(Ok(())) => self.gates(work),
            Answer::Port(Err(message)) => {
                let message = format!("the kubelet would dial a port that does not answer: {message}");
                self.refuse(work, "PortUnproved", message)
            }
            other => self.off_path(work, other, "the look at its port"),
        }
    }

    fn gates(&self, work: Box<Work>) -> Next {
        if let Some((reason, message)) = work.report_only.clone() {
            return Next::Done(self.end(*work, Decision::Advise, "Planned", &Refusal::new(reason, message)));
        }
        let wait = gate::wait(
            &self.observation.workload,
            &self.pods(),
            &self.observation.policy.spec.rollout,
            work.looping.as_ref(),
            self.observation.rolling_elsewhere,
            self.observation.now,
        );
        if let Some(Wait { reason, message, look_again }) = wait {
            return self.defer(work, reason, message, look_again);
        }
        let body = work.body.clone();
        Next::Effect(work, Effect::Apply(body))
    }

    fn applied(&self, mut work: Box<Work>, answer: Answer) -> Next {
        match answer {
            Answer::Object(object) => {
                work.writes = work.writes.saturating_add(1);
                if let Some(message) = self.judge(&work, &object) {
                    let message = format!("it was written, and the result is not what the dry-run promised: {message}");
                    return self.wrote(work, Decision::Halt, "Failed", "WrittenNotAsPlanned", message);
                }
                Next::Effect(work, Effect::ReadBack)
            }
            Answer::Rejected { message, .. } => {
                let message = format!("the dry-run passed and the write was refused: {message}");
                self.refuse(work, "WriteRefused", message)
            }
            // Whether it arrived is not known. The next look at the object tells: our record is in it or not.
            other => self.off_path(work, other, "the write"),
        }
    }

    fn read_back(&self, work: Box<Work>, answer: Answer) -> Next {
        let mut read_back = " and read back".to_owned();
        let not_there = match answer {
            Answer::Object(object) => say(&still_applied(&Workload::new(object), &work.plan)),
            Answer::Gone => Some("the object is gone".to_owned()),
            // The write's own answer was judged; the next event brings the object again.
            Answer::Unavailable { message, .. } | Answer::Forbidden { message, .. } => {
                read_back = format!(", and could not be read back ({message})");
                None
            }
            _ => {
                ", and could not be read back".clone_into(&mut read_back);
                None
            }
        };
        if let Some(message) = not_there {
            let message = format!("it was written, and read back it is not there: {message}");
            return self.wrote(work, Decision::Halt, "Contested", "RevertedAtOnce", message);
        }
        let looping = work.looping.as_ref().map(|looping| format!(" ({})", looping.because)).unwrap_or_default();
        let words = self.after_write_words(&work);
        let message = format!("written{read_back}{looping}; {words}");
        self.wrote(work, Decision::Patch, "Applied", "Applied", message)
    }

    fn after_write_words(&self, work: &Work) -> String {
        let eased = |key: &FindingKey| work.plan.remaining.iter().any(|finding| finding.key() == *key);
        let rules = |wanted: bool, word: &str| {
            let keys = work.plan.cured.iter().filter(|key| eased(key) == wanted);
            let rules: std::collections::BTreeSet<_> = keys.map(|(rule, _)| *rule).collect();
            let rules: Vec<_> = rules.into_iter().collect();
            (!rules.is_empty()).then(|| format!("{} {word}", rules.join(", ")))
        };
        let done = [rules(false, "cured"), rules(true, "eased")].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let unready: Vec<_> =
            self.pods().iter().filter(|pod| !pod.is_ready()).map(|pod| pod.name().to_owned()).collect();
        let pods = match self.strategy_words() {
            Some(words) => words,
            None if unready.is_empty() => "its pods are replaced one by one".to_owned(),
            None => self.deletion_words(&unready),
        };
        format!("{done}; {pods}")
    }

    fn wrote(
        &self,
        work: Box<Work>,
        decision: Decision,
        status: &'static str,
        reason: &'static str,
        message: String,
    ) -> Next {
        let written = Memory { plan: work.plan.digest.clone(), writes: work.writes, policy: work.plan.policy.clone() };
        let mut outcome = self.end(*work, decision, status, &Refusal::new(reason, message));
        outcome.written = Some(written);
        outcome.wrote = true;
        Next::Done(outcome)
    }

    /// Answers that end the path whatever was asked.
    fn off_path(&self, work: Box<Work>, answer: Answer, asked: &str) -> Next {
        match answer {
            Answer::DryRunUnsupported(message) => {
                let message = format!(
                    "{asked} cannot be made, so nothing can be proved: {message}; whoever runs that webhook can declare sideEffects: NoneOnDryRun if it has none then"
                );
                self.refuse(work, "DryRunUnsupported", message)
            }
            Answer::Forbidden { what, message } => {
                let said = format!("the operator may not {what}, which config/rbac grants: {message}");
                let mut outcome = self.refused(*work, "MissingPermission", said);
                outcome.missing_verb = Some(what);
                // No event tells when a role is bound; the person who binds it watches.
                outcome.look_again = Some(20);
                Next::Done(outcome)
            }
            Answer::Conflict => {
                let message = "it changed while it was looked at; it is looked at again".to_owned();
                self.defer(work, "Changed", message, Some(1))
            }
            Answer::Gone => {
                let message = "it was deleted, or replaced by another of its name, while it was looked at".to_owned();
                self.defer(work, "Changed", message, Some(1))
            }
            Answer::Unavailable { message, retry_after } => self.defer(
                work,
                "ServerUnavailable",
                format!("no answer to {asked}: {message}"),
                retry_after.or(Some(15)),
            ),
            Answer::Object(_) | Answer::Rejected { .. } | Answer::Fit(_) | Answer::Port(_) => {
                self.refuse(work, "UnexpectedAnswer", format!("{asked} was answered by something else"))
            }
        }
    }
}

/// An opt-out with a mistake in it, in words: somebody wanted something left alone, and it is not clear what.
fn unknown_opt_out(ignored: &Ignored) -> Option<String> {
    let Ignored::Rules(ids) = ignored else { return None };
    let unknown: Vec<_> = ids.iter().filter(|id| !RULES.iter().any(|rule| rule.id == id.as_str())).cloned().collect();
    (!unknown.is_empty()).then(|| {
        format!(
            "the annotation {} names {}, which is no rule: write rule ids such as \"RP004,RP008\", or \"*\" for everything",
            crate::api::IGNORE_ANNOTATION,
            unknown.join(", ")
        )
    })
}

/// Violations as one sentence, or nothing where there are none.
fn say(violations: &[Violation]) -> Option<String> {
    let shown: Vec<_> = violations.iter().take(5).map(ToString::to_string).collect();
    let more = if violations.len() > 5 { format!("; and {} more", violations.len() - 5) } else { String::new() };
    (!violations.is_empty()).then(|| format!("{}{more}", shown.join("; ")))
}

/// What an owner's manifest sets, without what belongs to the server.
fn owners_patch(manifest: &Value) -> Value {
    let mut patch = serde_json::json!({});
    for field in ["labels", "annotations"] {
        if let Some(value) = manifest.pointer(&format!("/metadata/{field}")).filter(|value| value.is_object()) {
            patch["metadata"][field] = value.clone();
        }
    }
    if let Some(spec) = manifest.get("spec") {
        patch["spec"] = spec.clone();
    }
    patch
}
