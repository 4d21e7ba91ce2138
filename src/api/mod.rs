//! The custom resources, as users write and read them. Types only: what they mean is decided in `core`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

mod engine;
mod policy;
mod schema;
mod status;
#[cfg(test)]
mod tests;
mod validation;

pub use engine::Engine;
pub use policy::{
    ClusterProbePolicy, ClusterProbePolicySpec, CpuLimit, DatabaseHint, KillLoop, LivenessTimings, MemoryLimit, Mode,
    OnDelete, OnFailure, PolicySpec, ProbePolicy, ReadinessTimings, RemedyChoice, RequestAmounts, Resources, Rollout,
    Rules, Startup, Window,
};
pub use schema::unknown_fields;
pub use status::{MAX_FINDINGS, MAX_WORKLOADS, PolicyStatus, Summary, WorkloadStatus, condition};

/// The API group of both kinds.
pub const GROUP: &str = "reprieve.dev";
/// The only version so far.
pub const VERSION: &str = "v1alpha1";

/// Names a policy on a StatefulSet: `NAME` of a ProbePolicy in its namespace, or `cluster/NAME`.
pub const POLICY_ANNOTATION: &str = "reprieve.dev/policy";
/// Opts a StatefulSet out of rules (`"RP004,RP008"`) or of everything (`"*"`).
pub const IGNORE_ANNOTATION: &str = "reprieve.dev/ignore";
/// What our write replaced, a line for each value: `CONTAINER/PROBE FIELD VALUE`.
pub const ORIGINAL_ANNOTATION: &str = "reprieve.dev/original";
/// The operator's own versioned record of its writes to this object.
pub const STATE_ANNOTATION: &str = "reprieve.dev/state";
/// The field manager of every write.
pub const FIELD_MANAGER: &str = "reprieve";

/// Both custom resource definitions as they are installed, in that order.
///
/// What `CustomResourceExt::crd` returns lacks the last touches; nothing else should publish a definition.
pub fn definitions() -> [CustomResourceDefinition; 2] {
    [ProbePolicy::crd(), ClusterProbePolicy::crd()].map(schema::finish)
}
