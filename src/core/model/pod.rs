//! Pods as the kubelet reports them.

use jiff::Timestamp;
use serde_json::Value;

/// A pod of a workload. Borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a>(pub &'a Value);

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Termination {
    /// The exit code; 128 plus the signal where a signal ended it.
    pub exit_code: i64,
    /// The kubelet's word for it, for example `OOMKilled`.
    pub reason: String,
    /// Seconds from its start to its end, where both are known.
    pub lifetime_seconds: Option<i64>,
}

/// One container of a pod.
#[derive(Clone, Copy, Debug)]
pub struct ContainerStatus<'a>(&'a Value);

impl<'a> Pod<'a> {
    /// The pod's name.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.text("/metadata/name")
    }

    /// The IP that the kubelet dials.
    #[must_use]
    pub fn ip(self) -> Option<&'a str> {
        Some(self.text("/status/podIP")).filter(|ip| !ip.is_empty())
    }

    /// The node that it is bound to.
    #[must_use]
    pub fn node(self) -> Option<&'a str> {
        Some(self.text("/spec/nodeName")).filter(|node| !node.is_empty())
    }

    /// Whether it is being deleted.
    #[must_use]
    pub fn is_terminating(self) -> bool {
        self.0.pointer("/metadata/deletionTimestamp").is_some()
    }

    /// Whether the kubelet reports it ready.
    #[must_use]
    pub fn is_ready(self) -> bool {
        let conditions = self.0.pointer("/status/conditions").and_then(Value::as_array);
        conditions.into_iter().flatten().any(|condition| {
            condition.get("type").and_then(Value::as_str) == Some("Ready")
                && condition.get("status").and_then(Value::as_str) == Some("True")
        })
    }

    /// The status of the container of this name, native sidecars included.
    #[must_use]
    pub fn container(self, name: &str) -> Option<ContainerStatus<'a>> {
        ["/status/containerStatuses", "/status/initContainerStatuses"]
            .into_iter()
            .filter_map(|pointer| self.0.pointer(pointer)?.as_array())
            .flatten()
            .find(|status| status.get("name").and_then(Value::as_str) == Some(name))
            .map(ContainerStatus)
    }

    fn text(self, pointer: &str) -> &'a str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or("")
    }
}

impl ContainerStatus<'_> {
    /// How often it was restarted in this pod.
    #[must_use]
    pub fn restarts(self) -> i64 {
        self.0.get("restartCount").and_then(Value::as_i64).unwrap_or(0)
    }

    /// Whether its process runs now.
    #[must_use]
    pub fn is_running(self) -> bool {
        self.0.pointer("/state/running").is_some()
    }

    /// Since when its process runs, where it does.
    #[must_use]
    pub fn running_since(self) -> Option<Timestamp> {
        self.0.pointer("/state/running/startedAt")?.as_str()?.parse().ok()
    }

    /// How its last life ended.
    #[must_use]
    pub fn last_termination(self) -> Option<Termination> {
        // While it waits in CrashLoopBackOff the last end may stand in either place.
        let ended = self.0.pointer("/lastState/terminated").or_else(|| self.0.pointer("/state/terminated"))?;
        let time = |field: &str| ended.get(field)?.as_str()?.parse::<Timestamp>().ok();
        let lifetime_seconds = time("startedAt")
            .zip(time("finishedAt"))
            .map(|(started, finished)| finished.as_second() - started.as_second());
        Some(Termination {
            exit_code: ended.get("exitCode").and_then(Value::as_i64).unwrap_or(0),
            reason: ended.get("reason").and_then(Value::as_str).unwrap_or("").to_owned(),
            lifetime_seconds,
        })
    }
}
