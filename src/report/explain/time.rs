//! What happens in time, in words and as bars of characters.

use super::Page;
use crate::core::detect::timeline::{Notices, ProbeTimes, Reaction, Recovery, Timeline};
use crate::core::model::probe::ProbeKind;
use crate::report::picture::{Picture, Stretch, StretchKind};
use crate::report::subject::DatabaseView;
use crate::report::words::{exact, exact_span, round};

/// Characters across.
const WIDTH: usize = 60;
/// Before the bars: the probe's name.
const NAME: usize = 11;

pub(super) fn explain_start(page: &mut Page, view: &DatabaseView<'_>) {
    let today = &view.today;
    for line in draw(&Picture::new(today, view.patched.as_ref())) {
        page.line(&line);
    }
    page.text.push('\n');
    for probe in today.probes() {
        page.entry(probe.kind.word(), &after_start(today, probe));
    }
    page.entry("allowance", &[allowance(today)]);
    if let Some(patched) = &view.patched {
        page.entry("with the patch", &[allowance(patched)]);
    }
}

fn after_start(timeline: &Timeline, probe: &ProbeTimes) -> Vec<String> {
    let held = timeline.startup.as_ref().filter(|startup| startup.kind != probe.kind);
    let held = if held.is_some() { ", since startup has to pass before" } else { "" };
    let first = format!("first asked {} after the container's start{held}", exact_span(probe.first));
    let then = match probe.kind {
        ProbeKind::Readiness => return vec![first],
        ProbeKind::Liveness if !held.is_empty() => {
            format!(
                "if startup passes and it then always fails: killed {} after the start",
                exact_span(probe.after_start)
            )
        }
        ProbeKind::Liveness | ProbeKind::Startup => {
            format!("if it always fails: killed {} after the start", exact_span(probe.after_start))
        }
    };
    vec![first, then]
}

/// The recovery that is allowed against the recovery that the policy asks for.
fn allowance(timeline: &Timeline) -> String {
    let asked = exact(timeline.allowance);
    let (killer, condition) = match timeline.recovery {
        Recovery::Survives => return format!("no probe ends a recovery; {asked} is asked for"),
        Recovery::Killed(killer) => (killer, ""),
        Recovery::MayBeKilled(killer) => (killer, ", if it fails meanwhile, which cannot be told"),
    };
    let (word, allowed) = (killer.by.word(), exact(killer.allowed));
    let short = timeline.allowance.saturating_sub(killer.allowed);
    let short = if short > 0 { format!(", {} too little", exact(short)) } else { String::new() };
    format!("{asked} is asked for; {word} allows {allowed}{short}{condition}")
}

pub(super) fn explain_steady(page: &mut Page, timeline: &Timeline, stalls: &[i64]) {
    if let Some(liveness) = &timeline.liveness {
        let steady = format!("killed {} after it begins to fail", exact_span(liveness.steady()));
        let hung = format!(
            "{} if every attempt runs into its timeout; then SIGTERM, and SIGKILL {} later",
            exact_span(liveness.when_hung()),
            exact(timeline.grace)
        );
        page.entry("liveness", &[steady, hung]);
    }
    if let Some(readiness) = &timeline.readiness {
        page.entry(
            "readiness",
            &[format!("out of its Services {} after it begins to fail", exact_span(readiness.steady()))],
        );
    }
    page.entry("traffic", &traffic(timeline));
    page.text.push('\n');
    page.line("A server that answers nothing, and comes back by itself:");
    page.line(&format!("{:<16}{:<42}{}", "for", "its traffic (readiness)", "its life (liveness)"));
    for seconds in stalls {
        let stall = timeline.stall(*seconds);
        let traffic = reaction(stall.readiness, "stays", "gone from", ["gets it all the time", "does not notice"]);
        let life =
            reaction(stall.liveness, "lives", "killed at", ["lives: nothing kills it", "lives: it does not notice"]);
        page.line(&format!("{:<16}{traffic:<42}{life}", exact(*seconds)));
    }
    let is_unknown = |probe: &ProbeTimes| probe.notices_stall() == Notices::Unknown;
    if [&timeline.liveness, &timeline.readiness].into_iter().flatten().any(is_unknown) {
        page.line("Where it says \"may\", the check's text is not known, or it depends on how the attempts fall.");
    }
}

fn reaction(reaction: Reaction, stays: &str, goes: &str, [without, blind]: [&str; 2]) -> String {
    match reaction {
        Reaction::NoProbe => without.to_owned(),
        Reaction::Unnoticed => blind.to_owned(),
        Reaction::Survives => stays.to_owned(),
        Reaction::May(span) => format!("may be {goes} {}", exact_span(span)),
        Reaction::Will(span) => format!("{goes} {}", exact_span(span)),
    }
}

/// How long clients are sent to a server that hangs, as one asks of a load balancer.
fn traffic(timeline: &Timeline) -> Vec<String> {
    let Some((kind, span)) = timeline.detection() else {
        return vec!["a server that hangs gets traffic for ever: nothing notices".to_owned()];
    };
    let mut lines = vec![format!(
        "a server that hangs gets traffic for another {} ({} decides), and a second or two until every node knows",
        exact_span(span),
        kind.word()
    )];
    if let Some(readiness) = &timeline.readiness {
        lines.push(format!(
            "in the worst case {} × {} s + {} s; back {} after it answers again ({} needed)",
            readiness.failures,
            readiness.period.max(readiness.timeout),
            readiness.timeout,
            exact_span(readiness.back()),
            if readiness.successes == 1 {
                "1 success".to_owned()
            } else {
                format!("{} successes", readiness.successes)
            }
        ));
    }
    lines
}

/// The picture as lines of text.
fn draw(picture: &Picture) -> Vec<String> {
    let column = |place: f64| scaled(place).min(WIDTH - 1);
    let limit = column(picture.place(picture.allowance));
    let mut lines = Vec::new();
    for group in &picture.groups {
        let mark = if group.is_good { "✓" } else { "✕" };
        lines.push(format!("{mark} {}: {}", group.title, group.verdict));
        for row in &group.rows {
            let mut cells = [' '; WIDTH];
            cells[limit] = '┊';
            for stretch in &row.stretches {
                let from = column(picture.place(stretch.from));
                let to = scaled(picture.place(stretch.to)).clamp(from + 1, WIDTH);
                cells[from..to].fill(character(*stretch));
            }
            let name = row.label.split(':').next().filter(|name| name.len() < NAME).unwrap_or("");
            let cells: String = cells.iter().collect();
            lines.push(format!("{name:<NAME$}{}", cells.trim_end()));
        }
    }
    lines.extend(axis(picture));
    lines.push(
        "· not asked yet  █ passes  ▒ fails, tolerated  ░ may fail  ✕ kills  ○ no traffic  ┊ allowance".to_owned(),
    );
    lines
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn scaled(place: f64) -> usize {
    (place * WIDTH as f64).floor() as usize
}

fn character(stretch: Stretch) -> char {
    match stretch.kind {
        StretchKind::Waits => '·',
        StretchKind::Passes => '█',
        StretchKind::Fails => '▒',
        StretchKind::MayFail => '░',
        StretchKind::Kills | StretchKind::MayKill => '✕',
        StretchKind::NoTraffic => '○',
    }
}

fn axis(picture: &Picture) -> [String; 2] {
    let mut line = ['─'; WIDTH];
    let mut words = String::new();
    for (seconds, place) in picture.ticks() {
        let at = scaled(place).min(WIDTH - 1);
        line[at] = '┴';
        let word = if seconds == 0 { "start".to_owned() } else { round(seconds) };
        // Below its tick, or as near to it as the words before it leave room.
        let start = at.max(words.chars().count() + usize::from(!words.is_empty()));
        words = format!("{words:<start$}{word}");
    }
    let line: String = line.iter().collect();
    [format!("{:NAME$}{line}", ""), format!("{:NAME$}{words}", "")]
}
