//! The `lag=` of Patroni's health endpoints: how far behind a replica may be before it stops being one for clients.

use super::probe::{HandlerKind, Probe};

/// The value of `lag=` in a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LagLimit {
    /// As it was written.
    pub text: String,
    /// In bytes of WAL. None where Patroni cannot read it, and then there is no limit: an unreadable value counts as
    /// the largest integer (`patroni/api.py`, `do_GET`).
    pub bytes: Option<u64>,
}

impl LagLimit {
    /// The `lag=` of an HTTP probe, or of a URL in an exec probe's command.
    #[must_use]
    pub fn read(probe: Probe<'_>) -> Option<Self> {
        let path = match probe.handler()? {
            (HandlerKind::HttpGet, json) => json.get("path")?.as_str()?.to_owned(),
            (HandlerKind::Exec, _) => probe.exec_command()?.join(" "),
            _ => return None,
        };
        let (before, value) = path.split_once("lag=")?;
        if !before.ends_with(['?', '&']) {
            return None;
        }
        let end = value.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(value.len());
        let text = value[..end].to_owned();
        Some(Self { bytes: bytes(&text), text })
    }

    /// Whole seconds of writing that it stands for at a rate in bytes per second; None without a limit or a rate.
    #[must_use]
    pub fn seconds(&self, bytes_per_second: u64) -> Option<u64> {
        self.bytes?.checked_div(bytes_per_second)
    }
}

/// Patroni reads sizes as PostgreSQL does: whole bytes, or a number with one of these units, and nothing else.
fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let power =
        ["", "kB", "MB", "GB", "TB"].iter().position(|known| *known == unit || (unit == "B" && known.is_empty()))?;
    number.parse::<u64>().ok()?.checked_mul(1024_u64.checked_pow(u32::try_from(power).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::probe::ProbeKind;
    use serde_json::{Value, json};

    fn limit(json: &Value) -> Option<LagLimit> {
        LagLimit::read(Probe { kind: ProbeKind::Readiness, json })
    }

    #[test]
    fn reads_what_patroni_reads() {
        let table = [
            ("/replica?lag=1048576", Some(1_048_576)),
            ("/replica?lag=16kB", Some(16 * 1024)),
            ("/readiness?mode=apply&lag=64MB", Some(64 << 20)),
            ("/replica?lag=1GB&x=y", Some(1 << 30)),
            ("/replica?lag=30s", None),
            ("/replica?lag=99999999999999TB", None),
        ];
        for (path, bytes) in table {
            let found = limit(&json!({"httpGet": {"port": 8008, "path": path}})).unwrap();
            assert_eq!(found.bytes, bytes, "{path}");
        }
        let exec = json!({"exec": {"command": ["sh", "-c", "curl -fs 'http://localhost:8008/replica?lag=10MB' -o /dev/null"]}});
        assert_eq!(limit(&exec).unwrap().bytes, Some(10 << 20));
        assert_eq!(limit(&json!({"httpGet": {"port": 8008, "path": "/replica"}})), None);
        assert_eq!(limit(&json!({"httpGet": {"port": 80, "path": "/x?flag=1"}})), None, "another word that ends alike");
    }

    #[test]
    fn bytes_are_seconds_only_at_a_rate() {
        let lag = LagLimit { text: "64MB".to_owned(), bytes: Some(64 << 20) };
        assert_eq!((lag.seconds(16 << 20), lag.seconds(0)), (Some(4), None));
    }
}
