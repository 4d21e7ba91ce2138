//! # RP013 patroni-lag-in-bytes
//!
//! ## What it finds
//! A probe of Patroni's REST API with `lag=`.
//!
//! ## Why it is unsafe
//! The threshold is an amount of WAL, not a time: `lag=30` is thirty bytes. It is compared with a position of the leader
//! that is written once per `loop_wait`, ten seconds by default, so that a replica in perfect step looks behind by up to
//! what was written in that time. A threshold that Patroni cannot read is no threshold, and it says nothing.
//!
//! ## What Reprieve does
//! Shows the arithmetic. What lag a reader may see is for the owner to say.
//!
//! ## References
//! patroni/patroni: `docs/rest_api.rst` and `patroni/api.py`

use super::{Applicability, Case, Finding, Rule, Severity};
use crate::core::model::probe::{HandlerKind, Probe, ProbeKind};

pub(super) const RULE: Rule = Rule {
    id: "RP013",
    name: "patroni-lag-in-bytes",
    summary: "a replica is taken out by an amount of WAL, which says nothing about time",
    severity: Severity::Info,
    applicability: Applicability::ReportOnly,
    file: include_str!("patroni_lag_in_bytes.rs"),
    check,
};

/// Seconds after which the leader writes its position, unless the cluster is configured otherwise.
const LOOP_WAIT: i64 = 10;
/// A busy primary, for the arithmetic: one WAL segment per second.
const BYTES_PER_SECOND: i64 = 16 << 20;

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, _) in case.databases().filter(|(_, database)| database.patroni.is_some()) {
        for probe in ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)) {
            let Some(lag) = lag(probe) else { continue };
            let bytes = bytes(&lag);
            let (message, severity) = match bytes {
                None => (
                    format!(
                        "lag={lag} is no amount that Patroni reads (bytes, or kB, MB, GB, TB), so it sets no limit"
                    ),
                    Severity::Warning,
                ),
                Some(bytes) => (
                    format!(
                        "lag={lag} is {bytes} bytes of WAL, not a time: {} at 16 MB/s of writes, {} at 1 MB/s; the position that it is compared with is up to {LOOP_WAIT} s old, or {} MB at 16 MB/s",
                        seconds(bytes, BYTES_PER_SECOND),
                        seconds(bytes, 1 << 20),
                        LOOP_WAIT * (BYTES_PER_SECOND >> 20),
                    ),
                    // Nobody who knows that it is bytes asks for less than a sixteenth of a WAL segment.
                    if bytes < 1 << 20 { Severity::Warning } else { Severity::Info },
                ),
            };
            let fix = "choose the bytes from the write rate and the staleness that readers may see, above what is written in one loop_wait";
            findings.push(
                Finding::new(&RULE, container, probe.kind.field(), message, fix)
                    .severity(severity)
                    .with("lag", lag)
                    .with("bytes", bytes),
            );
        }
    }
    findings
}

/// The value of `lag=` in the query of an HTTP probe, or in a URL that an exec probe asks.
fn lag(probe: Probe<'_>) -> Option<String> {
    let (kind, json) = probe.handler()?;
    let texts: Vec<&str> = match kind {
        HandlerKind::HttpGet => json.get("path")?.as_str().into_iter().collect(),
        _ => probe.exec_command()?,
    };
    texts.into_iter().find_map(|text| {
        let (_, rest) = text.split_once("?lag=").or_else(|| text.split_once("&lag="))?;
        let value: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '.').collect();
        Some(value)
    })
}

/// What Patroni makes of it (`parse_int` with the base unit B): a whole number, alone or with one of five suffixes.
fn bytes(text: &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let shift = match suffix {
        "" | "B" => 0,
        "kB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(1 << shift)
}

/// A time in words, coarse on purpose.
fn seconds(bytes: i64, rate: i64) -> String {
    match bytes / rate {
        0 if bytes * 1000 < rate => "less than 1 ms".to_owned(),
        0 => format!("{} ms", bytes * 1000 / rate),
        whole => format!("{whole} s"),
    }
}
