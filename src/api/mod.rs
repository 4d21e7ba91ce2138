//! The custom resources, as users write and read them. Types only: what they mean is decided in `core`.

mod engine;
mod policy;
mod status;

pub use engine::Engine;
pub use policy::{
    ClusterProbePolicy, ClusterProbePolicySpec, CpuLimit, DatabaseHint, KillLoop, LivenessTimings, MemoryLimit, Mode,
    OnDelete, OnFailure, PolicySpec, ProbePolicy, ReadinessTimings, RemedyChoice, RequestAmounts, Resources, Rollout,
    Rules, Startup, Window,
};
pub use status::{PolicyStatus, Summary, WorkloadStatus, condition};

/// The API group of both kinds.
pub const GROUP: &str = "reprieve.dev";
/// The only version so far.
pub const VERSION: &str = "v1alpha1";

/// Names a policy on a StatefulSet: `NAME` of a ProbePolicy in its namespace, or `cluster/NAME`.
pub const POLICY_ANNOTATION: &str = "reprieve.dev/policy";
/// Opts a StatefulSet out of rules (`"RP004,RP007"`) or of everything (`"*"`).
pub const IGNORE_ANNOTATION: &str = "reprieve.dev/ignore";
/// What our write replaced, a line for each value: `CONTAINER/PROBE FIELD VALUE`.
pub const ORIGINAL_ANNOTATION: &str = "reprieve.dev/original";
/// The operator's own versioned record of its writes to this object.
pub const STATE_ANNOTATION: &str = "reprieve.dev/state";
/// The field manager of every write.
pub const FIELD_MANAGER: &str = "reprieve";

/// Both custom resource definitions, in the order in which they are installed.
#[must_use]
pub fn definitions() -> Vec<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition>
{
    use kube::CustomResourceExt as _;
    vec![ProbePolicy::crd(), ClusterProbePolicy::crd()]
}
