//! A timeline as an SVG. Across, it is measured in percent and down in pixels, without a view box, so that its words keep
//! their size on a phone and on paper.

use maud::{Markup, PreEscaped, html};

use crate::report::picture::{Group, Picture, Row, StretchKind};
use crate::report::words;

const TITLE_HEIGHT: usize = 30;
const ROW_HEIGHT: usize = 40;
const AXIS_HEIGHT: usize = 26;
/// From the top of a row to the middle of its bar.
const BAR_MIDDLE: usize = 27;
const BAR_HEIGHT: usize = 12;
/// A kill is a moment; a stretch of seconds would not be seen on an axis of hours.
const LEAST_WIDTH: f64 = 0.9;

/// The drawing, with a title and a description for those who do not see it. `id` makes its references unique.
pub(super) fn draw(picture: &Picture, name: &str, id: &str) -> Markup {
    let (pieces, height) = layout(picture);
    let bottom = height + 6;
    let allowance = percent(picture.place(picture.allowance));
    html! {
        svg.timeline role="img" aria-labelledby={ (id) "-title " (id) "-text" } width="100%" height=(bottom + AXIS_HEIGHT) {
            title id={ (id) "-title" } { "Timeline of a start of " (name) " that has to recover" }
            desc id={ (id) "-text" } { (description(picture)) }
            defs {
                pattern.hatch id={ (id) "-hatch" } width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect.ground width="6" height="6" {}
                    rect.stripe width="2.5" height="6" {}
                }
            }
            rect.allowed x="0" y="0" width=(allowance) height=(bottom) {}
            line.limit x1=(allowance) x2=(allowance) y1="0" y2=(bottom) {}
            @for (y, piece) in pieces {
                @match piece {
                    Piece::Headline(group) => (headline(group, y)),
                    Piece::Row(row) => (draw_row(picture, row, y, id)),
                }
            }
            (axis(picture, bottom))
        }
    }
}

/// What stands below each other.
enum Piece<'a> {
    Headline(&'a Group),
    Row(&'a Row),
}

/// Every piece with its top, and the height of all.
fn layout(picture: &Picture) -> (Vec<(usize, Piece<'_>)>, usize) {
    let mut y = 0;
    let mut pieces = Vec::new();
    for group in &picture.groups {
        pieces.push((y, Piece::Headline(group)));
        y += TITLE_HEIGHT;
        for row in &group.rows {
            pieces.push((y, Piece::Row(row)));
            y += ROW_HEIGHT;
        }
    }
    (pieces, y)
}

fn headline(group: &Group, y: usize) -> Markup {
    let (class, mark) = if group.is_good { ("good", "✓") } else { ("bad", "✕") };
    html! { text.group.(class) x="0" y=(y + 20) { (mark) " " (group.title) } }
}

fn draw_row(picture: &Picture, row: &Row, y: usize, id: &str) -> Markup {
    let middle = y + BAR_MIDDLE;
    html! {
        text.label x="0" y=(y + 14) { (row.label) }
        @for stretch in &row.stretches {
            @let from = picture.place(stretch.from) * 100.0;
            @let width = picture.place(stretch.to) * 100.0 - from;
            @let (class, is_hatched, is_kill) = look(stretch.kind);
            @if stretch.kind == StretchKind::Waits {
                line.waits x1=(percent(from / 100.0)) x2=(percent((from + width) / 100.0)) y1=(middle) y2=(middle) {}
            } @else {
                @let width = if is_kill { width.max(LEAST_WIDTH) } else { width };
                @let fill = is_hatched.then(|| format!("fill: url(#{id}-hatch)"));
                rect.(class) x={ (format!("{from:.2}")) "%" } y=(middle - BAR_HEIGHT / 2) width={ (format!("{width:.2}")) "%" }
                    height=(BAR_HEIGHT) rx="2" style=[fill] {}
                @if is_kill {
                    // A nested drawing: inside it lengths are pixels again, measured from the kill.
                    svg.mark x={ (format!("{:.2}", from + width / 2.0)) "%" } y=(middle) overflow="visible" {
                        path d="M-6,-6 L6,6 M-6,6 L6,-6" {}
                    }
                }
            }
        }
    }
}

/// The class of a stretch, whether it is hatched, and whether it is a kill.
fn look(kind: StretchKind) -> (&'static str, bool, bool) {
    match kind {
        StretchKind::Waits => ("waits", false, false),
        StretchKind::Passes => ("passes", false, false),
        StretchKind::Fails => ("fails", false, false),
        StretchKind::MayFail => ("may-fail", true, false),
        StretchKind::Kills => ("kills", false, true),
        StretchKind::MayKill => ("may-kill", true, true),
        StretchKind::NoTraffic => ("no-traffic", false, false),
    }
}

fn axis(picture: &Picture, y: usize) -> Markup {
    html! {
        line.axis x1="0" x2="100%" y1=(y) y2=(y) {}
        @for (seconds, place) in picture.ticks() {
            @let anchor = if place < 0.05 { "start" } else if place > 0.95 { "end" } else { "middle" };
            line.axis x1=(percent(place)) x2=(percent(place)) y1=(y) y2=(y + 5) {}
            text.tick.limit[seconds == picture.allowance] x=(percent(place)) y=(y + 19) text-anchor=(anchor) {
                (if seconds == 0 { "start".to_owned() } else { words::round(seconds) })
            }
        }
    }
}

fn percent(part: f64) -> String {
    format!("{:.2}%", part * 100.0)
}

/// The same as sentences.
fn description(picture: &Picture) -> String {
    let groups = picture.groups.iter().map(|group| {
        let rows: Vec<_> = group.rows.iter().map(|row| row.label.as_str()).collect();
        format!("{}: {} {}.", group.title, group.verdict, rows.join("; "))
    });
    groups.collect::<Vec<_>>().join(" ")
}

/// What the marks mean, once for the page.
pub(super) fn legend() -> Markup {
    let entries = [
        (StretchKind::Waits, "not asked yet"),
        (StretchKind::Passes, "passes"),
        (StretchKind::Fails, "fails, and is tolerated so far"),
        (StretchKind::MayFail, "may fail: the manifest does not tell"),
        (StretchKind::Kills, "kills at some moment in it"),
        (StretchKind::NoTraffic, "fails, and clients go elsewhere"),
    ];
    html! {
        ul.legend aria-label="What the bars mean" {
            @for (kind, words) in entries {
                @let (class, is_hatched, is_kill) = look(kind);
                li {
                    svg.timeline aria-hidden="true" width="34" height="16" {
                        @if is_hatched {
                            defs { (PreEscaped(r#"<pattern class="hatch" id="legend-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="ground" width="6" height="6"/><rect class="stripe" width="2.5" height="6"/></pattern>"#)) }
                        }
                        @if kind == StretchKind::Waits {
                            line.waits x1="0" x2="34" y1="8" y2="8" {}
                        } @else {
                            rect.(class) y="2" width="34" height="12" rx="2" style=[is_hatched.then_some("fill: url(#legend-hatch)")] {}
                        }
                        @if is_kill { svg.mark x="17" y="8" overflow="visible" { path d="M-6,-6 L6,6 M-6,6 L6,-6" {} } }
                    }
                    " " (words)
                }
            }
            li { span.swatch-allowed aria-hidden="true" {} " the recovery allowance" }
        }
    }
}
