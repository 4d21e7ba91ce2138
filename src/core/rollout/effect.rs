//! What passes between the step function and the shell: the observation, the effects and their answers.

use serde_json::Value;

use crate::core::model::policy::Policy;
use crate::core::model::workload::Workload;

/// Everything that is known when a reconcile starts. It does not change while it runs: whatever moves on meanwhile
/// shows as a conflict.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The workload as the API server holds it, read for this reconcile.
    pub workload: Workload,
    /// The policy that carries it.
    pub policy: Policy,
    /// Its pods.
    pub pods: Vec<Value>,
    /// Other workloads of the policy that are rolling.
    pub rolling_elsewhere: usize,
    /// What the policy's status remembers of our writes, for objects whose annotations were lost.
    pub memory: Option<Memory>,
    /// The time.
    pub now: jiff::Timestamp,
}

/// A write that is remembered outside the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The digest of the plan that was written last.
    pub plan: String,
    /// Writes so far.
    pub writes: i32,
    /// Digest of what the policy asked for then, empty where that is not known.
    pub policy: String,
}

impl Memory {
    /// What the status of a policy remembers of our writes to the object with this uid.
    #[must_use]
    pub fn in_status(policy: &Value, uid: &str) -> Option<Self> {
        let entries = policy.pointer("/status/workloads")?.as_array()?;
        let text = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
        let entry = entries.iter().find(|entry| text(entry, "uid").as_deref() == Some(uid))?;
        let writes = entry.get("writes").and_then(Value::as_i64).and_then(|writes| i32::try_from(writes).ok())?;
        let policy = text(entry, "writtenPolicy").unwrap_or_default();
        Some(Self { plan: text(entry, "writtenPlan")?, writes, policy })
    }
}

/// Which pod is dry-run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodOf {
    /// Rendered from today's template.
    CurrentTemplate,
    /// Rendered from the dry-run's result.
    PatchedTemplate,
}

/// Something for the shell to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Create this pod with `dryRun=All`.
    DryRunPod(PodOf, Value),
    /// Patch the workload with `dryRun=All`.
    DryRunWorkload(Value),
    /// Patch the workload with `dryRun=All` and what its owner will come back with on top.
    ReplayOwner(Value),
    /// Ask whether the pods still fit their nodes.
    CheckFit(FitQuestion),
    /// Dial these; all must answer.
    CheckPort(Vec<DialTarget>),
    /// Patch the workload. The bytes are those of the dry-run.
    Apply(Value),
    /// Read the workload again.
    ReadBack,
}

/// A question to the nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct FitQuestion {
    /// The spec that each pod would have.
    pub pod_spec: Value,
    /// The pods that are replaced, with the node of each.
    pub replaced: Vec<(String, String)>,
}

/// An address that the kubelet's probe will dial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialTarget {
    /// The pod.
    pub pod: String,
    /// Its IP.
    pub ip: String,
    /// The port of the new handler.
    pub port: u16,
}

/// What came of an effect.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The server accepted it; this is the object as it is or would be.
    Object(Value),
    /// The server says no, with its words.
    Rejected {
        /// The HTTP status.
        code: u16,
        /// The server's sentence.
        message: String,
    },
    /// An admission webhook that cannot be asked without side effects stands in the way.
    DryRunUnsupported(String),
    /// The object changed since it was read.
    Conflict,
    /// The object is gone.
    Gone,
    /// The operator may not do that.
    Forbidden {
        /// `VERB RESOURCE in NAMESPACE`
        what: String,
        /// The server's sentence.
        message: String,
    },
    /// The server asks for patience, or did not answer.
    Unavailable {
        /// What happened.
        message: String,
        /// Seconds that the server asks to wait.
        retry_after: Option<u32>,
    },
    /// The pods fit, or what is missing.
    Fit(Result<(), String>),
    /// Everything answered, or what did not.
    Port(Result<(), String>),
}
