//! Limits of time that a command sets itself: `timeout 5`, `-t 5`, `PGCONNECT_TIMEOUT=5`.

use super::Call;

/// The longest that one call in a command may take by a limit of its own, and what sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerTimeout {
    /// How long, in milliseconds.
    pub milliseconds: u64,
    /// As it is written, for example `timeout 5` or `PGCONNECT_TIMEOUT=5`.
    pub set_by: String,
}

impl InnerTimeout {
    /// In whole seconds, rounded up.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.milliseconds.div_ceil(1000)
    }
}

/// Options of clients that limit a call, with the milliseconds of their unit.
const OPTIONS: &[(&[&str], &[&str], u64)] = &[
    (&["pg_isready"], &["-t", "--timeout"], 1000),
    (&["redis-cli", "valkey-cli", "keydb-cli"], &["-t"], 1000),
    (&["curl"], &["--max-time", "-m"], 1000),
    (&["wget"], &["-T", "--timeout"], 1000),
    (&["nc", "ncat", "netcat"], &["-w"], 1000),
    (&["etcdctl"], &["--command-timeout"], 1000),
    (&["mysqladmin", "mariadb-admin", "mysql", "mariadb"], &["--connect-timeout", "--connect_timeout"], 1000),
    (&["rabbitmq-diagnostics", "rabbitmqctl"], &["--timeout", "-t"], 1000),
];

/// Limits that stand in an expression or an address, in milliseconds: `serverSelectionTimeoutMS=2000`.
const IN_TEXT: &[&str] = &["serverSelectionTimeoutMS"];

/// Environment variables that limit a client, in seconds.
const ENVIRONMENT: &[(&str, &[&str])] = &[("PGCONNECT_TIMEOUT", &["psql", "pg_isready"])];

/// What `timeout` takes: `5`, `0.5s`, `2m`. None where it is no duration, or for ever (`0`).
pub(super) fn duration(text: &str, unit: u64) -> Option<u64> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => match text.chars().last()? {
            's' => (text.strip_suffix('s')?, 1000),
            'm' => (text.strip_suffix('m')?, 60_000),
            'h' => (text.strip_suffix('h')?, 3_600_000),
            'd' => (text.strip_suffix('d')?, 86_400_000),
            _ => (text, unit),
        },
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || !whole.chars().chain(fraction.chars()).all(|c| c.is_ascii_digit()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let thousandths: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let milliseconds = whole.checked_mul(unit)?.checked_add(thousandths.checked_mul(unit)? / 1000)?;
    (milliseconds > 0).then_some(milliseconds)
}

/// The least limit among a call's own options and variables.
pub(super) fn of_call(call: &Call, variable: &dyn Fn(&str) -> Option<String>) -> Option<InnerTimeout> {
    let program = call.program();
    let mut limits = Vec::new();
    for (programs, options, unit) in OPTIONS {
        if programs.contains(&program)
            && let Some(value) = call.option(options)
            && let Some(milliseconds) = duration(value, *unit)
        {
            let written = options.iter().find(|name| call.option(&[name]).is_some()).unwrap_or(&"");
            limits.push(InnerTimeout { milliseconds, set_by: format!("{program} {written} {value}") });
        }
    }
    for name in IN_TEXT {
        let value = call.arguments.iter().find_map(|argument| {
            let (_, rest) = argument.split_once(name)?;
            let rest = rest.strip_prefix(['=', ' '])?;
            rest.split(|c: char| !c.is_ascii_digit()).next().filter(|digits| !digits.is_empty())
        });
        let value = value
            .or_else(|| call.option(&["--serverSelectionTimeoutMS"]).filter(|_| *name == "serverSelectionTimeoutMS"));
        if let Some(milliseconds) = value.and_then(|value| duration(value, 1)) {
            limits.push(InnerTimeout { milliseconds, set_by: format!("{name}={milliseconds}") });
        }
    }
    for (name, programs) in ENVIRONMENT {
        if programs.contains(&program)
            && let Some(value) = variable(name)
            && let Some(milliseconds) = duration(&value, 1000)
        {
            limits.push(InnerTimeout { milliseconds, set_by: format!("{name}={value}") });
        }
    }
    limits.into_iter().min_by_key(|limit| limit.milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_fractions() {
        for (text, expected) in [
            ("5", Some(5000)),
            ("0.5", Some(500)),
            ("2m", Some(120_000)),
            ("1.5s", Some(1500)),
            ("300ms", Some(300)),
            ("0", None),
            ("$1", None),
            ("", None),
            (".", None),
            ("99999999999999999999d", None),
        ] {
            assert_eq!(duration(text, 1000), expected, "{text}");
        }
    }
}
