//! Probes with the API server's defaults, and what was stated of them.

use serde_json::Value;

use super::pointer::Pointer;

/// Which of the three probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeKind {
    /// Kills the container when it fails.
    Liveness,
    /// Takes the pod out of its Services when it fails.
    Readiness,
    /// Holds the other two back, and kills the container when its budget is used up.
    Startup,
}

impl ProbeKind {
    /// All three, in the order in which manifests write them.
    pub const ALL: [Self; 3] = [Self::Liveness, Self::Readiness, Self::Startup];

    /// The container's field, for example `livenessProbe`.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Liveness => "livenessProbe",
            Self::Readiness => "readinessProbe",
            Self::Startup => "startupProbe",
        }
    }

    /// The word for people and for the record, for example `liveness`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Liveness => "liveness",
            Self::Readiness => "readiness",
            Self::Startup => "startup",
        }
    }
}

/// The four ways in which the kubelet can ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HandlerKind {
    /// Runs a command in the container.
    Exec,
    /// GETs a URL on the pod's IP.
    HttpGet,
    /// Opens a connection to the pod's IP.
    TcpSocket,
    /// Calls the gRPC health service on the pod's IP.
    Grpc,
}

impl HandlerKind {
    /// All four; a patch that sets one nulls the others.
    pub const ALL: [Self; 4] = [Self::Exec, Self::HttpGet, Self::TcpSocket, Self::Grpc];

    /// The probe's field, for example `tcpSocket`.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::HttpGet => "httpGet",
            Self::TcpSocket => "tcpSocket",
            Self::Grpc => "grpc",
        }
    }
}

/// A timing of a probe, with the API's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timing {
    /// `initialDelaySeconds`, 0.
    InitialDelay,
    /// `periodSeconds`, 10.
    Period,
    /// `timeoutSeconds`, 1.
    Timeout,
    /// `failureThreshold`, 3.
    FailureThreshold,
    /// `successThreshold`, 1.
    SuccessThreshold,
}

impl Timing {
    /// All five, in the order in which manifests write them.
    pub const ALL: [Self; 5] =
        [Self::InitialDelay, Self::Period, Self::Timeout, Self::FailureThreshold, Self::SuccessThreshold];

    /// The probe's field.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::InitialDelay => "initialDelaySeconds",
            Self::Period => "periodSeconds",
            Self::Timeout => "timeoutSeconds",
            Self::FailureThreshold => "failureThreshold",
            Self::SuccessThreshold => "successThreshold",
        }
    }

    /// What the API server fills in (`SetDefaults_Probe` in `pkg/apis/core/v1/defaults.go`; a zero counts as unset).
    #[must_use]
    pub fn default_value(self) -> i64 {
        match self {
            Self::InitialDelay => 0,
            Self::Period => 10,
            Self::Timeout | Self::SuccessThreshold => 1,
            Self::FailureThreshold => 3,
        }
    }
}

/// A probe of a container. Borrowed: unknown fields stay in the JSON.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// Which of the three.
    pub kind: ProbeKind,
    /// The probe as it was written.
    pub json: &'a Value,
}

impl<'a> Probe<'a> {
    /// The handlers that it has; the API takes exactly one.
    pub fn handlers(self) -> impl Iterator<Item = (HandlerKind, &'a Value)> {
        HandlerKind::ALL
            .into_iter()
            .filter_map(move |kind| self.json.get(kind.field()).filter(|v| !v.is_null()).map(|v| (kind, v)))
    }

    /// The handler, if there is exactly one.
    #[must_use]
    pub fn handler(self) -> Option<(HandlerKind, &'a Value)> {
        let mut handlers = self.handlers();
        let first = handlers.next()?;
        handlers.next().is_none().then_some(first)
    }

    /// The command of an exec handler, if it is a list of texts.
    #[must_use]
    pub fn exec_command(self) -> Option<Vec<&'a str>> {
        let (kind, json) = self.handler()?;
        if kind != HandlerKind::Exec {
            return None;
        }
        json.get("command")?.as_array()?.iter().map(Value::as_str).collect()
    }

    /// The command that stands in it, also beside another handler that has to go.
    #[must_use]
    pub fn written_command(self) -> Option<Vec<&'a str>> {
        self.json.get(HandlerKind::Exec.field())?.get("command")?.as_array()?.iter().map(Value::as_str).collect()
    }

    /// The port of a network handler, by number or name.
    #[must_use]
    pub fn port(self) -> Option<&'a Value> {
        let (kind, json) = self.handler()?;
        if kind == HandlerKind::Exec { None } else { json.get("port") }
    }

    /// The value in force: what was written, or the API's default. A value that is no number counts as unwritten
    /// here; [`super::workload::Workload::problems`] names it.
    #[must_use]
    pub fn timing(self, timing: Timing) -> i64 {
        self.stated(timing).unwrap_or(timing.default_value())
    }

    /// The value as written. In a live object the server has filled in the defaults.
    #[must_use]
    pub fn stated(self, timing: Timing) -> Option<i64> {
        let value = self.json.get(timing.field())?.as_i64()?;
        // For all but the delay the API takes a zero for "not set" and fills in the default.
        (value != 0 || timing == Timing::InitialDelay).then_some(value)
    }

    /// The pointer of the probe inside the container at `container`.
    #[must_use]
    pub fn pointer(self, container: &Pointer) -> Pointer {
        container.field(self.kind.field())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn liveness(json: &Value) -> Probe<'_> {
        Probe { kind: ProbeKind::Liveness, json }
    }

    #[test]
    fn defaults_are_those_of_the_server() {
        let json = json!({"exec": {"command": ["true"]}, "timeoutSeconds": 0, "failureThreshold": 7});
        let probe = liveness(&json);
        assert_eq!(Timing::ALL.map(|t| probe.timing(t)), [0, 10, 1, 7, 1]);
        assert_eq!(probe.stated(Timing::Timeout), None, "the API reads a zero timeout as unset");
    }

    #[test]
    fn two_handlers_are_none() {
        let json = json!({"exec": {"command": ["true"]}, "tcpSocket": {"port": 1}, "httpGet": null});
        assert_eq!(liveness(&json).handlers().count(), 2);
        assert!(liveness(&json).handler().is_none());
        assert!(liveness(&json).exec_command().is_none());
    }
}
