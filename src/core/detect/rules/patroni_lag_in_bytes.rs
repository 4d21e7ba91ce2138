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
use crate::core::model::patroni::LagLimit;
use crate::core::model::probe::ProbeKind;

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
const LOOP_WAIT: u64 = 10;
/// A busy primary, for the arithmetic: one WAL segment per second.
const BYTES_PER_SECOND: u64 = 16 << 20;

fn check(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (container, _) in case.databases().filter(|(_, database)| database.patroni.is_some()) {
        for probe in ProbeKind::ALL.into_iter().filter_map(|kind| container.probe(kind)) {
            let Some(LagLimit { text: lag, bytes }) = LagLimit::read(probe) else { continue };
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
                        words(bytes, BYTES_PER_SECOND),
                        words(bytes, 1 << 20),
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

/// A time in words, coarse on purpose.
fn words(bytes: u64, rate: u64) -> String {
    match bytes / rate {
        0 if bytes * 1000 < rate => "less than 1 ms".to_owned(),
        0 => format!("{} ms", bytes * 1000 / rate),
        whole => format!("{whole} s"),
    }
}
