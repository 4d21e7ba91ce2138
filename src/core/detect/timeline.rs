//! What happens in time to one database: when its probes first run, when they kill, and what a stall does.
//!
//! The kubelet has one worker for each probe, with a ticker of `periodSeconds` that starts with the pod and not with
//! the container, so that the first attempt falls anywhere in the period after the initial delay. A container that has
//! a startup probe is asked nothing else until that has passed; liveness and readiness then begin at their next tick,
//! or when their own delay, which counts from the container's start, is over (`pkg/kubelet/prober/worker.go`).
//!
//! Numbers are whole seconds. What the kubelet needs to notice a result, the runtime to carry out a kill, and the
//! cluster to spread an endpoint comes on top: a second or two.

use super::budget::{kill_budget, startup_budget};
use super::case::Case;
use crate::core::model::command::Outcome;
use crate::core::model::engine::{Check, Database, Meaning};
use crate::core::model::probe::{Probe, ProbeKind, Timing};
use crate::core::model::workload::Container;

/// The API's default for `terminationGracePeriodSeconds`.
const DEFAULT_GRACE: i64 = 30;

/// The earliest and the latest second at which something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Not before this.
    pub earliest: i64,
    /// Not after this.
    pub latest: i64,
}

/// One probe of a database, with what follows from its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeTimes {
    /// Which of the three.
    pub kind: ProbeKind,
    /// What it answers while the server recovers.
    pub answer: Meaning,
    /// `initialDelaySeconds`.
    pub delay: i64,
    /// `periodSeconds`.
    pub period: i64,
    /// `timeoutSeconds`.
    pub timeout: i64,
    /// `failureThreshold`.
    pub failures: i64,
    /// `successThreshold`.
    pub successes: i64,
    /// Its first attempt, from the container's start.
    pub first: Span,
    /// The end of its patience, from the container's start, when every attempt fails: a kill, or for readiness the time
    /// from which the pod would be taken out of its Services had it been ready.
    pub after_start: Span,
}

/// Whether a probe sees that the server has stopped answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notices {
    /// It asks the server and waits for the answer.
    Yes,
    /// It looks for a process, or connects: the kernel accepts connections for a server that hangs.
    No,
    /// Its text is not known.
    Unknown,
}

/// Which probe ends a recovery, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Killer {
    /// The probe.
    pub by: ProbeKind,
    /// When, from the container's start.
    pub span: Span,
    /// The recovery that it allows for: the earliest kill, and for a startup probe `failureThreshold × periodSeconds`,
    /// the number that the documentation gives.
    pub allowed: i64,
}

/// What the probes do to a database that recovers for as long as it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// None of them kills it.
    Survives,
    /// This one does.
    Killed(Killer),
    /// This one does if its check fails, which cannot be told from the manifest.
    MayBeKilled(Killer),
}

/// What a stall does to the pod through one probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// There is no such probe.
    NoProbe,
    /// The check does not see it.
    Unnoticed,
    /// It is over before the probe has run out of patience.
    Survives,
    /// It depends on how the attempts fall.
    May(Span),
    /// In any case, within this time from its beginning.
    Will(Span),
}

/// What a server that answers nothing for some seconds, after a good start, comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// How long it answers nothing.
    pub seconds: i64,
    /// What readiness does: the pod is taken out of its Services.
    pub readiness: Reaction,
    /// What liveness does: the container is killed.
    pub liveness: Reaction,
}

/// What happens in time to one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The startup probe, if there is one.
    pub startup: Option<ProbeTimes>,
    /// The liveness probe, if there is one.
    pub liveness: Option<ProbeTimes>,
    /// The readiness probe, if there is one.
    pub readiness: Option<ProbeTimes>,
    /// What a recovery that does not end comes to.
    pub recovery: Recovery,
    /// How long a recovery may take, by the policy.
    pub allowance: i64,
    /// Seconds from the kill's SIGTERM to its SIGKILL.
    pub grace: i64,
}

impl Timeline {
    /// The timeline of a database. A probe that the API would refuse has none.
    #[must_use]
    pub fn new(case: &Case<'_>, container: &Container<'_>, database: &Database) -> Self {
        let read = |kind| {
            let probe = container.probe(kind)?;
            probe.handler()?;
            Some((probe, database.meaning(container, probe)))
        };
        let [liveness, readiness, startup] = ProbeKind::ALL.map(read);
        let pod_grace = case.workload.pod_spec().and_then(|spec| spec.get("terminationGracePeriodSeconds")?.as_i64());
        let own_grace =
            liveness.as_ref().and_then(|(probe, _)| probe.json.get("terminationGracePeriodSeconds")?.as_i64());
        let grace = own_grace.or(pod_grace).unwrap_or(DEFAULT_GRACE);
        Self::of_probes(startup, liveness, readiness, case.recovery_allowance(), grace)
    }

    fn of_probes(
        startup: Option<(Probe<'_>, Meaning)>,
        liveness: Option<(Probe<'_>, Meaning)>,
        readiness: Option<(Probe<'_>, Meaning)>,
        allowance: i64,
        grace: i64,
    ) -> Self {
        let startup_allowed = startup.as_ref().map(|(probe, _)| startup_budget(*probe));
        let startup = startup.map(|(probe, answer)| ProbeTimes::new(probe, answer, None));
        let behind = |probe: Option<(Probe<'_>, Meaning)>| {
            probe.map(|(probe, answer)| ProbeTimes::new(probe, answer, startup.as_ref().map(ProbeTimes::passes)))
        };
        let (liveness, readiness) = (behind(liveness), behind(readiness));
        let recovery = recovery(startup.as_ref().zip(startup_allowed), liveness.as_ref());
        Self { startup, liveness, readiness, recovery, allowance, grace }
    }

    /// The probes that are there, in the order in which they begin.
    pub fn probes(&self) -> impl Iterator<Item = &ProbeTimes> {
        [&self.startup, &self.liveness, &self.readiness].into_iter().flatten()
    }

    /// Whether a recovery may take as long as the policy says.
    #[must_use]
    pub fn covers_recovery(&self) -> bool {
        match self.recovery {
            Recovery::Survives => true,
            Recovery::Killed(killer) | Recovery::MayBeKilled(killer) => killer.allowed >= self.allowance,
        }
    }

    /// What a stall of some seconds does.
    #[must_use]
    pub fn stall(&self, seconds: i64) -> Stall {
        let reaction = |probe: Option<&ProbeTimes>| probe.map_or(Reaction::NoProbe, |probe| probe.reaction(seconds));
        Stall { seconds, readiness: reaction(self.readiness.as_ref()), liveness: reaction(self.liveness.as_ref()) }
    }

    /// How long clients are still sent to a server that hangs: until readiness takes the pod out, or else until
    /// liveness kills it. None where nothing notices.
    #[must_use]
    pub fn detection(&self) -> Option<(ProbeKind, Span)> {
        let sees = |probe: &&ProbeTimes| probe.notices_stall() != Notices::No;
        let spans = [&self.readiness, &self.liveness].into_iter().flatten().filter(sees);
        spans.map(|probe| (probe.kind, probe.when_hung())).min_by_key(|(_, span)| span.latest)
    }
}

impl ProbeTimes {
    /// `startup` is when the startup probe before it may pass.
    fn new(probe: Probe<'_>, answer: Meaning, startup: Option<Span>) -> Self {
        let [delay, period, timeout, failures, successes] = Timing::ALL.map(|timing| probe.timing(timing).max(0));
        let budget = kill_budget(probe);
        let begins = startup.unwrap_or(Span { earliest: 0, latest: 0 });
        let after = |delayed: i64, begin: i64| delayed.saturating_sub(delay).saturating_add(delay.max(begin));
        Self {
            kind: probe.kind,
            answer,
            delay,
            period,
            timeout,
            failures,
            successes,
            first: Span {
                earliest: delay.max(begins.earliest),
                latest: delay.max(begins.latest).saturating_add(period),
            },
            after_start: Span {
                earliest: after(budget.earliest, begins.earliest),
                latest: after(budget.latest, begins.latest),
            },
        }
    }

    /// When a startup probe may pass: at its first attempt, or at the end of the last one that does not kill.
    fn passes(&self) -> Span {
        Span { earliest: self.first.earliest, latest: self.after_start.latest }
    }

    /// Seconds between two attempts that run into their timeout; see [`kill_budget`].
    fn interval(&self) -> i64 {
        self.period.max(self.timeout)
    }

    /// From the moment at which it begins to fail, after a good start, to the end of its patience.
    #[must_use]
    pub fn steady(&self) -> Span {
        let more = (self.failures - 1).max(0);
        Span { earliest: more.saturating_mul(self.period), latest: self.when_hung().latest }
    }

    /// The same where every attempt runs into its timeout, as with a server that hangs.
    #[must_use]
    pub fn when_hung(&self) -> Span {
        let more = (self.failures - 1).max(0);
        let earliest = more.saturating_mul(self.interval()).saturating_add(self.timeout);
        Span { earliest, latest: earliest.saturating_add(self.period) }
    }

    /// From the moment at which the server answers again to the pod's return to its Services.
    #[must_use]
    pub fn back(&self) -> Span {
        let more = (self.successes - 1).max(0);
        let latest = more.saturating_mul(self.interval()).saturating_add(self.period).saturating_add(self.timeout);
        Span { earliest: more.saturating_mul(self.period), latest }
    }

    /// Whether it sees that the server has stopped answering.
    #[must_use]
    pub fn notices_stall(&self) -> Notices {
        match self.answer.check {
            _ if self.answer.always == Some(Outcome::Passes) => Notices::No,
            Check::Client => Notices::Yes,
            Check::Process | Check::Socket => Notices::No,
            Check::Script | Check::Http | Check::Other => Notices::Unknown,
        }
    }

    fn reaction(&self, seconds: i64) -> Reaction {
        let span = self.when_hung();
        match self.notices_stall() {
            Notices::No => Reaction::Unnoticed,
            _ if seconds < span.earliest => Reaction::Survives,
            Notices::Yes if seconds >= span.latest => Reaction::Will(span),
            Notices::Yes | Notices::Unknown => Reaction::May(span),
        }
    }
}

/// Which probe ends a recovery that does not end by itself.
fn recovery(startup: Option<(&ProbeTimes, i64)>, liveness: Option<&ProbeTimes>) -> Recovery {
    let by_liveness = liveness.map(|liveness| {
        // Behind a startup probe that passes during recovery, it begins after the first attempt of that.
        let latest = startup.map_or(liveness.after_start.latest, |(startup, _)| {
            let passed = startup.first.latest.saturating_add(startup.timeout);
            liveness.delay.max(passed).saturating_add(liveness.steady().latest)
        });
        let span = Span { latest, ..liveness.after_start };
        (liveness.answer.outcome, Killer { by: ProbeKind::Liveness, span, allowed: span.earliest })
    });
    let by_liveness = match by_liveness {
        None | Some((Outcome::Passes, _)) => Recovery::Survives,
        Some((Outcome::Fails, killer)) => Recovery::Killed(killer),
        Some((Outcome::Unknown, killer)) => Recovery::MayBeKilled(killer),
    };
    let Some((startup, allowed)) = startup else { return by_liveness };
    let killer = Killer { by: ProbeKind::Startup, span: startup.after_start, allowed };
    match (startup.answer.outcome, by_liveness) {
        (Outcome::Passes, _) => by_liveness,
        (Outcome::Fails, _) => Recovery::Killed(killer),
        // One of the two, if any: it holds the liveness back until it passes, or it lets the liveness begin.
        (Outcome::Unknown, Recovery::Killed(other)) if other.allowed < killer.allowed => Recovery::MayBeKilled(other),
        (Outcome::Unknown, _) => Recovery::MayBeKilled(killer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::engine::Runtime;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const FAILS: (Outcome, Check) = (Outcome::Fails, Check::Client);
    const PASSES: (Outcome, Check) = (Outcome::Passes, Check::Socket);

    fn numbers(delay: i64, period: i64, timeout: i64, failures: i64) -> Value {
        json!({"initialDelaySeconds": delay, "periodSeconds": period, "timeoutSeconds": timeout, "failureThreshold": failures})
    }

    fn meaning(outcome: Outcome, check: Check) -> Meaning {
        let because = String::new();
        let (depends_on, needs_login, always, runtime) = (None, false, None, Runtime::Light);
        Meaning {
            outcome,
            because,
            check,
            depends_on,
            needs_login,
            always,
            runtime,
            inner_timeout: None,
            oddities: Vec::new(),
        }
    }

    fn timeline(
        startup: Option<(&Value, (Outcome, Check))>,
        liveness: Option<(&Value, (Outcome, Check))>,
        readiness: Option<(&Value, (Outcome, Check))>,
    ) -> Timeline {
        fn probe((json, (outcome, check)): (&Value, (Outcome, Check)), kind: ProbeKind) -> (Probe<'_>, Meaning) {
            (Probe { kind, json }, meaning(outcome, check))
        }
        Timeline::of_probes(
            startup.map(|given| probe(given, ProbeKind::Startup)),
            liveness.map(|given| probe(given, ProbeKind::Liveness)),
            readiness.map(|given| probe(given, ProbeKind::Readiness)),
            3600,
            30,
        )
    }

    fn span(earliest: i64, latest: i64) -> Span {
        Span { earliest, latest }
    }

    #[test]
    fn the_incident() {
        let json = numbers(300, 10, 1, 3);
        let timeline = timeline(None, Some((&json, FAILS)), None);
        let liveness = timeline.liveness.clone().unwrap();
        assert_eq!(liveness.first, span(300, 310));
        assert_eq!(liveness.after_start, span(320, 331));
        assert_eq!(liveness.steady(), span(20, 31));
        assert_eq!(liveness.when_hung(), span(21, 31));
        let killer = Killer { by: ProbeKind::Liveness, span: span(320, 331), allowed: 320 };
        assert_eq!(timeline.recovery, Recovery::Killed(killer));
        assert!(!timeline.covers_recovery());
        assert_eq!(timeline.stall(20).liveness, Reaction::Survives);
        assert_eq!(timeline.stall(21).liveness, Reaction::May(span(21, 31)));
        assert_eq!(timeline.stall(31).liveness, Reaction::Will(span(21, 31)));
        assert_eq!(timeline.stall(300).readiness, Reaction::NoProbe);
        assert_eq!(timeline.detection(), Some((ProbeKind::Liveness, span(21, 31))), "nothing else takes it out");
    }

    #[test]
    fn a_startup_probe_comes_before_the_liveness() {
        let (startup, liveness) = (numbers(0, 10, 3, 360), numbers(60, 10, 3, 6));
        let held = timeline(Some((&startup, FAILS)), Some((&liveness, FAILS)), None);
        let killer = Killer { by: ProbeKind::Startup, span: span(3590, 3603), allowed: 3600 };
        assert_eq!(held.recovery, Recovery::Killed(killer));
        assert!(held.covers_recovery());
        let behind = held.liveness.unwrap();
        assert_eq!(behind.first, span(60, 3613), "its own delay, or as late as the startup probe can pass");
        assert_eq!(behind.after_start, span(110, 3603 + 10 + 50 + 3));

        let open = timeline(Some((&startup, PASSES)), Some((&liveness, FAILS)), None);
        let killer = Killer { by: ProbeKind::Liveness, span: span(110, 60 + 50 + 10 + 3), allowed: 110 };
        assert_eq!(open.recovery, Recovery::Killed(killer), "a startup probe that passes at once holds nothing");
        let cured = timeline(Some((&startup, PASSES)), Some((&liveness, PASSES)), None);
        assert_eq!(cured.recovery, Recovery::Survives);
        let unknown = timeline(Some((&startup, (Outcome::Unknown, Check::Script))), Some((&liveness, FAILS)), None);
        assert_eq!(unknown.recovery, Recovery::MayBeKilled(killer), "the sooner of the two that are possible");
        assert!(!unknown.covers_recovery());
    }

    #[test]
    fn readiness_and_liveness_are_told_apart() {
        let (liveness, readiness) = (numbers(0, 10, 3, 6), numbers(0, 10, 5, 3));
        let timeline = timeline(None, Some((&liveness, PASSES)), Some((&readiness, FAILS)));
        let stall = timeline.stall(300);
        assert_eq!((stall.readiness, stall.liveness), (Reaction::Will(span(25, 35)), Reaction::Unnoticed));
        assert_eq!(timeline.detection(), Some((ProbeKind::Readiness, span(25, 35))));
        assert_eq!(timeline.readiness.unwrap().back(), span(0, 15));
        let opaque = super::tests::timeline(None, None, Some((&readiness, (Outcome::Unknown, Check::Script))));
        assert_eq!(opaque.stall(300).readiness, Reaction::May(span(25, 35)), "a text that is not known may not notice");
    }

    #[test]
    fn several_successes_are_needed_where_they_are_asked_for() {
        let json = json!({"periodSeconds": 10, "timeoutSeconds": 2, "successThreshold": 3});
        let readiness = timeline(None, None, Some((&json, FAILS))).readiness.unwrap();
        assert_eq!(readiness.back(), span(20, 32));
    }

    /// How bad, for comparisons.
    fn rank(reaction: Reaction) -> u8 {
        match reaction {
            Reaction::NoProbe | Reaction::Unnoticed => 0,
            Reaction::Survives => 1,
            Reaction::May(_) => 2,
            Reaction::Will(_) => 3,
        }
    }

    fn outcomes() -> impl Strategy<Value = (Outcome, Check)> {
        let outcome = prop::sample::select(vec![Outcome::Passes, Outcome::Fails, Outcome::Unknown]);
        let check = prop::sample::select(vec![Check::Client, Check::Socket, Check::Script]);
        (outcome, check)
    }

    fn any_numbers() -> impl Strategy<Value = [i64; 4]> {
        let number = || prop_oneof![4 => 0..5000_i64, 1 => Just(i64::MAX), 1 => Just(i64::from(i32::MAX))];
        [number(), number(), number(), number()]
    }

    proptest! {
        #[test]
        fn earliest_is_never_after_latest_and_nothing_overflows(
            startup in proptest::option::of((any_numbers(), outcomes())),
            liveness in (any_numbers(), outcomes()), readiness in (any_numbers(), outcomes()), seconds in any::<i64>(),
        ) {
            let json = |[delay, period, timeout, failures]: [i64; 4]| numbers(delay, period, timeout, failures);
            let (s, l, r) = (startup.map(|(n, o)| (json(n), o)), json(liveness.0), json(readiness.0));
            let timeline = timeline(s.as_ref().map(|(j, o)| (j, *o)), Some((&l, liveness.1)), Some((&r, readiness.1)));
            let mut spans: Vec<Span> = timeline.probes()
                .flat_map(|p| [p.first, p.after_start, p.steady(), p.when_hung(), p.back()]).collect();
            if let Recovery::Killed(killer) | Recovery::MayBeKilled(killer) = timeline.recovery { spans.push(killer.span); }
            for span in spans {
                prop_assert!(0 <= span.earliest && span.earliest <= span.latest, "{span:?}");
            }
            let _ = timeline.stall(seconds);
        }

        /// A larger number anywhere never makes anything happen sooner, and never makes a stall worse.
        #[test]
        fn patience_grows_with_every_number(
            startup in proptest::option::of(any_numbers()), liveness in any_numbers(),
            of_startup in any::<bool>(), which in 0..4_usize, more in 1..1000_i64, seconds in 0..10_000_i64,
        ) {
            // A zero counts as unset, and so as more than zero.
            let numbers_of = |n: [i64; 4]| numbers(n[0], n[1].max(1), n[2].max(1), n[3].max(1));
            let build = |startup: Option<[i64; 4]>, liveness: [i64; 4]| {
                let (s, l) = (startup.map(numbers_of), numbers_of(liveness));
                timeline(s.as_ref().map(|json| (json, FAILS)), Some((&l, FAILS)), None)
            };
            let raised = |mut n: [i64; 4]| { n[which] = n[which].max(1).saturating_add(more); n };
            let before = build(startup, liveness);
            let after = match startup {
                Some(startup) if of_startup => build(Some(raised(startup)), liveness),
                _ => build(startup, raised(liveness)),
            };
            let (one, two) = (before.liveness.clone().unwrap(), after.liveness.clone().unwrap());
            for (less, more) in [(one.first, two.first), (one.after_start, two.after_start),
                (one.steady(), two.steady()), (one.when_hung(), two.when_hung()), (one.back(), two.back())] {
                prop_assert!(less.earliest <= more.earliest && less.latest <= more.latest, "{less:?} {more:?}");
            }
            prop_assert!(rank(after.stall(seconds).liveness) <= rank(before.stall(seconds).liveness));
            prop_assert!(rank(before.stall(seconds).liveness) <= rank(before.stall(seconds + more).liveness));
        }
    }
}
