//! A timeline as a drawing, before it is drawn: what a recovery that takes its time meets, row by row on one axis of
//! time. The HTML report makes an SVG of it, `explain` lines of text.

use super::words::{round, round_span};
use crate::core::detect::timeline::{Killer, ProbeTimes, Recovery, Span, Timeline};
use crate::core::model::command::Outcome;
use crate::core::model::probe::ProbeKind;

/// Below this the axis is nearly linear, above it logarithmic: so 30 s and 3600 s have room on one line.
const BEND_SECONDS: f64 = 20.0;
/// What may be written on the axis.
const TICKS: [i64; 15] =
    [10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 4 * 3600, 8 * 3600, 86400, 7 * 86400, 30 * 86400];
/// Ticks are no closer than this part of the axis, so that their words do not meet on a phone.
const TICK_GAP: f64 = 0.14;
/// Numbers beyond this many allowances are mistakes, and would press everything else to the left.
const MOST_ALLOWANCES: i64 = 8;

/// A drawing.
#[derive(Debug)]
pub(super) struct Picture {
    /// Today, and with the patch.
    pub(super) groups: Vec<Group>,
    /// The recovery allowance in seconds.
    pub(super) allowance: i64,
    end: i64,
}

/// The rows of one state of the workload.
#[derive(Debug)]
pub(super) struct Group {
    /// Its headline.
    pub(super) title: &'static str,
    /// What becomes of a recovering database, in a sentence.
    pub(super) verdict: String,
    /// Whether it survives for as long as the policy allows.
    pub(super) is_good: bool,
    /// Its rows.
    pub(super) rows: Vec<Row>,
}

/// What one probe does.
#[derive(Debug)]
pub(super) struct Row {
    /// In a few words.
    pub(super) label: String,
    /// One after the other, without gaps.
    pub(super) stretches: Vec<Stretch>,
}

/// A part of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// What happens in it.
    pub(super) kind: StretchKind,
    /// Seconds from the container's start.
    pub(super) from: i64,
    /// Seconds from the container's start.
    pub(super) to: i64,
}

/// What happens in a part of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StretchKind {
    /// The probe is not asked yet.
    Waits,
    /// It passes.
    Passes,
    /// It fails, and nothing follows yet.
    Fails,
    /// It may fail; nobody can tell from the manifest.
    MayFail,
    /// It kills, at some moment in this stretch.
    Kills,
    /// It kills in this stretch, if it fails.
    MayKill,
    /// It fails, and clients go elsewhere.
    NoTraffic,
}

impl Picture {
    /// The drawing of a database as it is, and as the patch would make it.
    pub(super) fn new(today: &Timeline, patched: Option<&Timeline>) -> Self {
        let both = std::iter::once(today).chain(patched);
        let furthest = both.clone().filter_map(|timeline| Some(killer(timeline)?.span.latest)).max().unwrap_or(0);
        let allowance = today.allowance;
        let beyond = |seconds: i64| seconds.saturating_add(seconds / 4);
        let most = allowance.max(60).saturating_mul(MOST_ALLOWANCES);
        let end = beyond(allowance).max(beyond(furthest).min(most)).max(60);
        let titles = ["Today", "With the patch"];
        let groups = both.zip(titles).map(|(timeline, title)| group(timeline, title, end)).collect();
        Self { groups, allowance, end }
    }

    /// Where a time stands on the axis, from 0 to 1.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn place(&self, seconds: i64) -> f64 {
        let bent = |seconds: i64| (seconds as f64 / BEND_SECONDS).ln_1p();
        (bent(seconds.clamp(0, self.end)) / bent(self.end)).clamp(0.0, 1.0)
    }

    /// The times to write on the axis, with their places. The allowance is always among them.
    pub(super) fn ticks(&self) -> Vec<(i64, f64)> {
        let mut ticks = vec![(0, 0.0), (self.allowance, self.place(self.allowance))];
        // The round numbers first, then what still fits between them.
        for preferred in [&[60, 600, 10][..], &TICKS] {
            for seconds in preferred.iter().copied().filter(|seconds| *seconds < self.end) {
                let place = self.place(seconds);
                if ticks.iter().all(|(_, other)| (place - other).abs() >= TICK_GAP) && place < 1.0 - TICK_GAP / 2.0 {
                    ticks.push((seconds, place));
                }
            }
        }
        ticks.sort_by_key(|(seconds, _)| *seconds);
        ticks
    }
}

fn killer(timeline: &Timeline) -> Option<Killer> {
    match timeline.recovery {
        Recovery::Survives => None,
        Recovery::Killed(killer) | Recovery::MayBeKilled(killer) => Some(killer),
    }
}

fn group(timeline: &Timeline, title: &'static str, end: i64) -> Group {
    let mut rows: Vec<Row> = timeline.probes().map(|probe| row(timeline, probe, end)).collect();
    if timeline.startup.is_none() && timeline.liveness.is_none() {
        let stretches = vec![Stretch { kind: StretchKind::Passes, from: 0, to: end }];
        rows.insert(0, Row { label: "no startup probe and no liveness: nothing kills it".to_owned(), stretches });
    }
    Group { title, verdict: verdict(timeline), is_good: timeline.covers_recovery(), rows }
}

/// What becomes of a recovering database, in a sentence.
pub(super) fn verdict(timeline: &Timeline) -> String {
    let allowed = round(timeline.allowance);
    match timeline.recovery {
        Recovery::Survives => "No probe kills it while it recovers, however long that takes.".to_owned(),
        Recovery::Killed(killer) if timeline.covers_recovery() => {
            format!("The {} probe gives recovery {}; {allowed} is asked for.", killer.by.word(), round(killer.allowed))
        }
        Recovery::Killed(killer) => format!(
            "The {} probe kills it {} after each start while it recovers; recovery may take {allowed}.",
            killer.by.word(),
            round_span(killer.span)
        ),
        Recovery::MayBeKilled(killer) => format!(
            "If the check fails while it recovers, which the manifest does not tell, the {} probe kills it {} after each start; recovery may take {allowed}.",
            killer.by.word(),
            round_span(killer.span)
        ),
    }
}

fn row(timeline: &Timeline, probe: &ProbeTimes, end: i64) -> Row {
    let killer = killer(timeline);
    let over = killer.map_or(end, |killer| killer.span.latest);
    let mut draft = Draft { end, stretches: Vec::new() };
    let is_held = probe.kind != ProbeKind::Startup
        && timeline.startup.as_ref().is_some_and(|startup| startup.answer.outcome == Outcome::Fails);
    let label = if is_held {
        draft.until(StretchKind::Waits, over);
        "not asked until startup has passed".to_owned()
    } else {
        draft.until(StretchKind::Waits, probe.first.earliest);
        match probe.kind {
            ProbeKind::Readiness => of_readiness(&mut draft, probe, over),
            ProbeKind::Startup if probe.answer.outcome == Outcome::Passes => {
                draft.until(StretchKind::Passes, probe.first.latest.saturating_add(probe.timeout));
                "passes while it recovers".to_owned()
            }
            _ => {
                let span =
                    killer.filter(|killer| killer.by == probe.kind).map_or(probe.after_start, |found| found.span);
                let is_certain = matches!(timeline.recovery, Recovery::Killed(found) if found.by == probe.kind);
                let allowed = killer.filter(|_| timeline.covers_recovery()).map(|killer| killer.allowed);
                of_killer(&mut draft, probe, span, is_certain, allowed)
            }
        }
    };
    Row { label: format!("{}: {label}", probe.kind.word()), stretches: draft.stretches }
}

fn of_readiness(draft: &mut Draft, probe: &ProbeTimes, over: i64) -> String {
    let (kind, words) = match probe.answer.outcome {
        Outcome::Fails => (StretchKind::NoTraffic, "no traffic while it recovers"),
        Outcome::Passes => (StretchKind::Passes, "passes and gets traffic while it recovers"),
        Outcome::Unknown => (StretchKind::MayFail, "not known while it recovers"),
    };
    draft.until(kind, over);
    words.to_owned()
}

/// `allowed` is the recovery that it gives, where that is enough.
fn of_killer(draft: &mut Draft, probe: &ProbeTimes, span: Span, is_certain: bool, allowed: Option<i64>) -> String {
    if probe.answer.outcome == Outcome::Passes {
        draft.until(StretchKind::Passes, draft.end);
        return "passes while it recovers".to_owned();
    }
    let (fails, kills) = if is_certain {
        (StretchKind::Fails, StretchKind::Kills)
    } else {
        (StretchKind::MayFail, StretchKind::MayKill)
    };
    draft.until(fails, span.earliest);
    draft.until(kills, span.latest);
    match allowed {
        Some(allowed) => format!("gives it {}, and kills after that", round(allowed)),
        None if is_certain => format!("kills at {}", round_span(span)),
        None => format!("may kill at {}", round_span(span)),
    }
}

/// A row while it grows.
struct Draft {
    end: i64,
    stretches: Vec<Stretch>,
}

impl Draft {
    fn until(&mut self, kind: StretchKind, to: i64) {
        let from = self.stretches.last().map_or(0, |stretch| stretch.to);
        let to = to.min(self.end);
        if to > from {
            self.stretches.push(Stretch { kind, from, to });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::PolicySpec;
    use crate::core::model::workload::Workload;
    use crate::core::rollout::judge;
    use crate::report::subject::Subject;
    use serde_json::{Value, json};

    fn picture(container: &Value) -> Picture {
        let workload = Workload::new(json!({"kind": "StatefulSet", "metadata": {"name": "db"},
            "spec": {"template": {"spec": {"containers": [container]}}}}));
        let policy = PolicySpec::default();
        let judgement = judge(&workload, &policy);
        let subject = Subject { workload, policy, judgement };
        let (case, patched) = (subject.case(), subject.patched());
        let databases = subject.databases(&case, patched.as_ref());
        Picture::new(&databases[0].today, databases[0].patched.as_ref())
    }

    #[test]
    fn the_incident_before_and_after() {
        let picture = picture(&json!({"name": "db", "image": "postgres:16", "livenessProbe": {
            "exec": {"command": ["pg_isready"]}, "initialDelaySeconds": 300}}));
        let [today, patched] = picture.groups.as_slice() else { panic!("two groups") };
        assert!(!today.is_good && patched.is_good);
        assert!(today.verdict.contains("kills it 5.3-5.5 min after each start"), "{}", today.verdict);
        let stretches = |from, to, kind| Stretch { kind, from, to };
        assert_eq!(
            today.rows[0].stretches,
            [
                stretches(0, 300, StretchKind::Waits),
                stretches(300, 320, StretchKind::Fails),
                stretches(320, 331, StretchKind::Kills)
            ]
        );
        assert_eq!(today.rows[0].label, "liveness: kills at 5.3-5.5 min");
        let last = patched.rows.iter().find(|row| row.label.starts_with("liveness")).unwrap().stretches.last().unwrap();
        assert_eq!((last.kind, last.to), (StretchKind::Passes, picture.end));
    }

    #[test]
    fn nothing_leaves_the_axis_and_ticks_do_not_meet() {
        let containers = [
            json!({"name": "db", "image": "postgres", "livenessProbe": {"exec": {"command": ["pg_isready"]},
                "initialDelaySeconds": i32::MAX, "periodSeconds": i32::MAX, "failureThreshold": i32::MAX}}),
            json!({"name": "db", "image": "postgres"}),
            json!({"name": "db", "image": "mysql:8", "startupProbe": {"tcpSocket": {"port": 3306}},
                "livenessProbe": {"exec": {"command": ["mysqladmin", "ping"]}}, "readinessProbe": {"exec": {"command": ["/x.sh"]}}}),
        ];
        for container in containers {
            let picture = picture(&container);
            for stretch in picture.groups.iter().flat_map(|group| &group.rows).flat_map(|row| &row.stretches) {
                assert!(0 <= stretch.from && stretch.from < stretch.to && stretch.to <= picture.end, "{stretch:?}");
            }
            let ticks = picture.ticks();
            assert!(ticks.iter().any(|(seconds, _)| *seconds == picture.allowance));
            assert!(ticks.windows(2).all(|pair| pair[1].1 - pair[0].1 >= TICK_GAP), "{ticks:?}");
        }
    }
}
