//! The status of both kinds.
#![allow(unreachable_pub, reason = "the schema derive repeats each struct inside a function")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// Condition types of a policy.
pub mod condition {
    /// True when every carried workload was looked at and nothing stands in the way.
    pub const READY: &str = "Ready";
    /// True when only a person can get this policy going again: a conflict, or a spec that cannot be used.
    pub const STALLED: &str = "Stalled";
    /// True when something that the operator needs is missing or failing: a verb, a watch, a dry-run.
    pub const DEGRADED: &str = "Degraded";
}

/// The most workloads that a status lists; the summary counts all.
pub const MAX_WORKLOADS: usize = 100;
/// The most findings that are listed for one workload.
pub const MAX_FINDINGS: usize = 20;

/// What the operator sees and did.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, Stalled and Degraded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Counts over all carried workloads.
    #[serde(default)]
    pub summary: Summary,
    /// At most 100 workloads, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_WORKLOADS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub workloads: Vec<WorkloadStatus>,
}

/// How many workloads stand where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Carried by this policy.
    pub matched: i32,
    /// Nothing to do.
    pub clean: i32,
    /// Written and read back.
    pub patched: i32,
    /// Waiting for something that will come: a window, a running pod, another rollout.
    pub deferred: i32,
    /// Not written, for a reason that stands until somebody changes something.
    pub refused: i32,
    /// Reverted by somebody after our write; left alone since.
    pub contested: i32,
    /// Findings in all of them.
    pub findings: i32,
}

/// One workload as this policy sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// The namespace; left out in a ProbePolicy, which has only its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The StatefulSet's name.
    pub name: String,
    /// The StatefulSet's uid, so that a namesake is not taken for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Patch, Advise, Defer, Refuse, Halt or Noop.
    pub decision: String,
    /// Where it stands: Clean, Reported, Planned, Deferred, Refused, Applied, Contested.
    pub status: String,
    /// One word for machines.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// Who re-applies the object, as far as it was recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Swap or Additive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// What was found, each as "RP001 database/livenessProbe: sentence", at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_FINDINGS))]
    pub findings: Vec<String>,
    /// How many findings there are, listed or not.
    #[serde(default)]
    pub finding_count: i32,
    /// The digest of the plan, as in the annotation reprieve.dev/state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<String>,
    /// The digest of the plan that was written last, also where the object has lost its annotations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_plan: Option<String>,
    /// Stands for what the policy asked for then. What was taken back is not written again until that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_policy: Option<String>,
    /// Writes of ours to this object so far.
    #[serde(default)]
    pub writes: i32,
    /// The strategic merge patch that was or would be sent, as one line of JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}
