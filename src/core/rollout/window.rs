//! Rollout windows.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::api::Window;

/// Whether a write may start now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Windows {
    /// There are none, or one is open.
    Open,
    /// All are closed; the next opens then, if any does within the next years.
    Closed(Option<Timestamp>),
    /// One cannot be read. Nothing is written until it can.
    Unreadable(String),
}

/// Looks at the windows at a time. A window that opened before a change of clocks stays open for its duration, counted
/// in real time.
#[must_use]
pub fn windows(windows: &[Window], now: Timestamp) -> Windows {
    let mut next: Option<Timestamp> = None;
    for (index, window) in windows.iter().enumerate() {
        let Readable { cron, duration, zone } = match read(window) {
            Ok(readable) => readable,
            Err(what) => return Windows::Unreadable(format!("spec.rollout.windows[{index}]: {what}")),
        };
        let local = now.to_zoned(zone);
        if let Ok(opened) = cron.find_previous_occurrence(&local, true)
            && opened.timestamp() + duration > now
        {
            return Windows::Open;
        }
        if let Ok(opens) = cron.find_next_occurrence(&local, false) {
            let opens = opens.timestamp();
            next = Some(next.map_or(opens, |next| next.min(opens)));
        }
    }
    if windows.is_empty() { Windows::Open } else { Windows::Closed(next) }
}

/// What is wrong with windows that the API server let through, with the field of each.
pub(super) fn window_problems(windows: &[Window]) -> Vec<String> {
    let problem = |(index, window)| Some(format!("spec.rollout.windows[{index}]: {}", read(window).err()?));
    windows.iter().enumerate().filter_map(problem).collect()
}

struct Readable {
    cron: Cron,
    duration: SignedDuration,
    zone: TimeZone,
}

fn read(window: &Window) -> Result<Readable, String> {
    let schedule = window.schedule.as_deref().unwrap_or("");
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let cron = parser.parse(schedule).map_err(|error| {
        format!(
            "schedule \"{schedule}\": {}; a range that runs backwards has to be written as two, 5-6,0-1 for Friday to Monday",
            error.to_string().trim_end_matches('.')
        )
    })?;
    let duration = window
        .duration
        .as_deref()
        .and_then(read_duration)
        .ok_or_else(|| "duration must be hours and minutes above zero, for example 3h or 1h30m".to_owned())?;
    let name = window.time_zone.as_deref().unwrap_or("UTC");
    let zone = TimeZone::get(name)
        .map_err(|_| format!("timeZone \"{name}\" is not known; use an IANA name such as Europe/Berlin"))?;
    // From the epoch on every date comes that ever will.
    if cron.find_next_occurrence(&Timestamp::UNIX_EPOCH.to_zoned(zone.clone()), true).is_err() {
        return Err(format!("schedule \"{schedule}\" names a day that never comes"));
    }
    Ok(Readable { cron, duration, zone })
}

/// `3h`, `90m`, `1h30m`.
fn read_duration(text: &str) -> Option<SignedDuration> {
    let (hours, rest) = match text.split_once('h') {
        Some((hours, rest)) => (hours.parse::<i64>().ok()?, rest),
        None => (0, text),
    };
    let minutes = if rest.is_empty() { 0 } else { rest.strip_suffix('m')?.parse::<i64>().ok()? };
    let total = hours.checked_mul(60)?.checked_add(minutes)?;
    // A window of more than a year is a mistake, and would overflow the calendar.
    (1..=527_040).contains(&total).then(|| SignedDuration::from_mins(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(schedule: &str, duration: &str, zone: &str) -> Window {
        Window {
            schedule: Some(schedule.to_owned()),
            duration: Some(duration.to_owned()),
            time_zone: Some(zone.to_owned()),
        }
    }

    fn at(window: &Window, now: &str) -> Windows {
        windows(std::slice::from_ref(window), now.parse().unwrap())
    }

    #[test]
    fn a_saturday_night_in_berlin() {
        let saturday = window("0 2 * * 6", "3h", "Europe/Berlin");
        assert_eq!(
            at(&saturday, "2026-12-05T00:59:59Z"),
            Windows::Closed(Some("2026-12-05T01:00:00Z".parse().unwrap()))
        );
        assert_eq!(at(&saturday, "2026-12-05T01:00:00Z"), Windows::Open);
        assert_eq!(at(&saturday, "2026-12-05T03:59:59Z"), Windows::Open);
        assert_eq!(
            at(&saturday, "2026-12-05T04:00:00Z"),
            Windows::Closed(Some("2026-12-12T01:00:00Z".parse().unwrap()))
        );
        // In summer the same local hour is an hour earlier.
        assert_eq!(at(&saturday, "2026-07-04T00:30:00Z"), Windows::Open);
    }

    #[test]
    fn none_is_always_open_and_the_earliest_of_several_is_next() {
        let now = "2026-12-02T12:00:00Z".parse().unwrap();
        assert_eq!(windows(&[], now), Windows::Open);
        let both = [window("0 2 * * 6", "1h", "UTC"), window("0 3 * * *", "1h", "UTC")];
        assert_eq!(windows(&both, now), Windows::Closed(Some("2026-12-03T03:00:00Z".parse().unwrap())));
    }

    #[test]
    fn what_cannot_be_read_keeps_everything_shut() {
        for bad in [
            window("61 2 * * 6", "3h", "UTC"),
            window("0 2 * * FRI-MON", "3h", "UTC"),
            window("0 2 30 2 *", "3h", "UTC"),
            window("0 2 * * 6", "0h", "UTC"),
            window("0 2 * * 6", "3 hours", "UTC"),
            window("0 2 * * 6", "99999999999999999999h", "UTC"),
            window("0 2 * * 6", "3h", "Europe/Atlantis"),
            Window::default(),
        ] {
            assert!(matches!(at(&bad, "2026-12-05T01:00:00Z"), Windows::Unreadable(_)), "{bad:?}");
            assert_eq!(window_problems(&[window("* * * * *", "1h", "UTC"), bad]).len(), 1, "behind one that is open");
        }
        assert!(window_problems(&[window("0 2 29 2 *", "3h", "UTC")]).is_empty(), "every four years");
    }
}
