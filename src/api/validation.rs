//! Rules in the Common Expression Language that the API server checks, each with the sentence that a user gets.
//!
//! A message says what to write instead. `self` is what the rule stands on: the whole spec, one timing block, one
//! window. A field with a default is always there, all others need `has()`.

/// An empty selector would carry every StatefulSet, which nobody should get by leaving a line out.
pub(super) const SELECTOR: &str = "!has(self.selector) || (has(self.selectAll) && self.selectAll) || \
    (has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0) || \
    (has(self.selector.matchExpressions) && size(self.selector.matchExpressions) > 0)";
pub(super) const SELECTOR_MESSAGE: &str = "an empty selector would match every StatefulSet: \
    write matchLabels or matchExpressions, or say selectAll: true if you mean all of them";

pub(super) const SELECT_ALL: &str = "!has(self.selectAll) || !self.selectAll || !has(self.selector) || \
    ((!has(self.selector.matchLabels) || size(self.selector.matchLabels) == 0) && \
    (!has(self.selector.matchExpressions) || size(self.selector.matchExpressions) == 0))";
pub(super) const SELECT_ALL_MESSAGE: &str =
    "selectAll: true and a selector contradict each other: remove selectAll, or empty the selector";

/// On one entry of `matchExpressions`; the schema lists the operators.
pub(super) const OPERATOR: &str = "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : \
    !has(self.values) || size(self.values) == 0";
pub(super) const OPERATOR_MESSAGE: &str =
    "operators In and NotIn need values, Exists and DoesNotExist must have none: add or remove values";

/// The server finds duplicates by itself, but does not say what to do.
pub(super) const DATABASES: &str =
    "!has(self.databases) || self.databases.all(a, self.databases.exists_one(b, b.container == a.container))";
pub(super) const DATABASES_MESSAGE: &str =
    "databases names the same container twice: keep one entry for each container";

/// Removing the limit is what RP006 does.
pub(super) const CPU_LIMIT: &str =
    "self.resources.cpuLimit != 'Remove' || !has(self.rules.disable) || !('RP006' in self.rules.disable)";
pub(super) const CPU_LIMIT_MESSAGE: &str = "resources.cpuLimit: Remove asks for rule RP006, which rules.disable leaves \
    out: take RP006 from rules.disable, or keep the limit";

pub(super) const RULES: &str =
    "!has(self.disable) || !has(self.optIn) || self.disable.all(rule, !(rule in self.optIn))";
pub(super) const RULES_MESSAGE: &str = "a rule stands in both rules.disable and rules.optIn: keep it in one of them";

pub(super) const TIMEOUT: &str =
    "!has(self.timeoutSeconds) || !has(self.periodSeconds) || self.timeoutSeconds <= self.periodSeconds";
pub(super) const LIVENESS_TIMEOUT_MESSAGE: &str = "liveness.timeoutSeconds is above periodSeconds, so a probe would \
    still be waiting when the next one is due: lower the timeout or raise the period";
pub(super) const READINESS_TIMEOUT_MESSAGE: &str = "readiness.timeoutSeconds is above periodSeconds, so a probe would \
    still be waiting when the next one is due: lower the timeout or raise the period";

pub(super) const LIMIT_BELOW_REQUEST: &str = "!has(self.limits) || !has(self.limits.memory) || \
    !has(self.requests) || !has(self.requests.memory) || \
    !isQuantity(string(self.limits.memory)) || !isQuantity(string(self.requests.memory)) || \
    quantity(string(self.limits.memory)).compareTo(quantity(string(self.requests.memory))) >= 0";
pub(super) const LIMIT_BELOW_REQUEST_MESSAGE: &str = "resources.limits.memory is below resources.requests.memory: \
    raise the limit, one notch above the request is usual";

pub(super) const CPU: &str = "!has(self.cpu) || \
    (isQuantity(string(self.cpu)) && quantity(string(self.cpu)).isGreaterThan(quantity('0')))";
pub(super) const MEMORY: &str = "!has(self.memory) || \
    (isQuantity(string(self.memory)) && quantity(string(self.memory)).isGreaterThan(quantity('0')))";
pub(super) const CPU_REQUEST_MESSAGE: &str =
    "resources.requests.cpu must be a quantity above zero, for example \"1\" or 500m";
pub(super) const MEMORY_REQUEST_MESSAGE: &str =
    "resources.requests.memory must be a quantity above zero, for example 2Gi";
pub(super) const MEMORY_LIMIT_MESSAGE: &str = "resources.limits.memory must be a quantity above zero, for example 3Gi";

pub(super) const SOAK: &str = "self.soakSeconds < self.progressDeadlineSeconds";
pub(super) const SOAK_MESSAGE: &str =
    "rollout.soakSeconds must be below progressDeadlineSeconds, or no rollout could ever be verified in time";

pub(super) const HAS_SCHEDULE: &str = "has(self.schedule)";
pub(super) const HAS_SCHEDULE_MESSAGE: &str =
    "a window needs a schedule: five cron fields, for example \"0 2 * * 6\" for Saturdays at two";
pub(super) const SCHEDULE_MESSAGE: &str = "schedule must be five cron fields within their ranges \
    (minute hour day-of-month month day-of-week), for example \"0 2 * * 6\"";

pub(super) const HAS_DURATION: &str = "has(self.duration)";
pub(super) const HAS_DURATION_MESSAGE: &str = "a window needs a duration, for example duration: 3h";
pub(super) const DURATION: &str = "!has(self.duration) || \
    (self.duration.matches('^([0-9]{1,3}h)?([0-9]{1,4}m)?$') && self.duration.matches('[1-9]'))";
pub(super) const DURATION_MESSAGE: &str = "duration must be hours and minutes above zero, for example 3h, 90m or 1h30m";

/// Only the form: which names exist is known to the operator's own time zone database, and a name that it does not
/// know stalls the policy. Offsets such as UTC+1 are the usual mistake.
pub(super) const TIME_ZONE: &str = "!has(self.timeZone) || self.timeZone.matches(\
    '^([A-Za-z]+(-[A-Za-z]+)?|GMT[+-]?0|EST5EDT|CST6CDT|MST7MDT|PST8PDT|[A-Za-z]+(/[A-Za-z0-9_+-]+)+)$')";
pub(super) const TIME_ZONE_MESSAGE: &str = "timeZone must be an IANA name, for example Europe/Berlin or UTC";

/// A schedule that is accepted here can be read by the operator, but for ranges that run backwards, which no regular
/// expression sees.
pub(super) fn schedule() -> String {
    format!("!has(self.schedule) || self.schedule.matches('^{}$')", schedule_pattern())
}

/// Five cron fields, each within its range.
pub(super) fn schedule_pattern() -> String {
    // Spelled out, since `(?i)` folds as Unicode does: a long s would pass for an s.
    let in_any_case = |names: &str| -> String {
        let either = |letter: char| match letter {
            'A'..='Z' => format!("[{letter}{}]", letter.to_ascii_lowercase()),
            other => other.to_string(),
        };
        names.chars().map(either).collect()
    };
    let months = in_any_case("JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC");
    let days = in_any_case("SUN|MON|TUE|WED|THU|FRI|SAT");
    // `*`, or values and ranges. A step after a lone value means different things to different cron programs.
    let field = |value: &str| {
        let range = format!("{value}(-{value}(/[1-9][0-9]?)?)?");
        format!("[*](/[1-9][0-9]?)?|{range}(,{range})*")
    };
    let day = format!("([0-7]|{days})");
    let minute = format!("({})", field("[0-5]?[0-9]"));
    let hour = format!("({})", field("([01]?[0-9]|2[0-3])"));
    let day_of_month = format!("({}|[?L])", field("(0?[1-9]|[12][0-9]|3[01])"));
    let month = format!("({})", field(&format!("(0?[1-9]|1[0-2]|{months})")));
    let day_of_week = format!("({}|[?]|{day}(#[1-5]|L))", field(&day));
    let fields = [minute, hour, day_of_month, month, day_of_week].join(" +");
    format!(" *{fields} *")
}
