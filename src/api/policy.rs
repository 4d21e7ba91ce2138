//! The spec of both kinds. Doc comments on fields are what `kubectl explain` prints.
#![allow(unreachable_pub, reason = "the schema derive repeats each struct inside a function")]
#![allow(clippy::duplicated_attributes, reason = "printer columns have types and paths in common")]

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Engine, PolicyStatus, schema, validation};

/// Which StatefulSets to protect in this namespace, and how.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "reprieve.dev",
    version = "v1alpha1",
    kind = "ProbePolicy",
    namespaced,
    status = "PolicyStatus",
    shortname = "pp",
    category = "reprieve",
    derive = "Default",
    derive = "PartialEq",
    doc = "Protects the databases of one namespace from their own health checks.",
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Matched", type_ = "integer", json_path = ".status.summary.matched"),
    printcolumn(name = "Findings", type_ = "integer", json_path = ".status.summary.findings"),
    printcolumn(name = "Patched", type_ = "integer", json_path = ".status.summary.patched"),
    printcolumn(name = "Deferred", type_ = "integer", json_path = ".status.summary.deferred", priority = 1),
    printcolumn(name = "Refused", type_ = "integer", json_path = ".status.summary.refused"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(validation = Rule::new(validation::SELECTOR).message(validation::SELECTOR_MESSAGE))]
#[x_kube(validation = Rule::new(validation::SELECT_ALL).message(validation::SELECT_ALL_MESSAGE))]
#[x_kube(validation = Rule::new(validation::DATABASES).message(validation::DATABASES_MESSAGE))]
#[x_kube(validation = Rule::new(validation::CPU_LIMIT).message(validation::CPU_LIMIT_MESSAGE))]
#[serde(rename_all = "camelCase")]
pub struct PolicySpec {
    /// Audit (the default) reports findings and the exact patch that would be sent, and writes nothing to a
    /// workload. Enforce writes it.
    #[serde(default)]
    pub mode: Mode,
    /// The StatefulSets that this policy carries, by their own labels (not by those of their pods). Without one
    /// the policy carries only those that name it in the annotation reprieve.dev/policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub selector: Option<LabelSelector>,
    /// Carries every StatefulSet in reach. Must be asked for: an empty selector is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub select_all: bool,
    /// Hints for containers whose engine or port cannot be told from the manifest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["container".into()]))]
    pub databases: Vec<DatabaseHint>,
    /// Timings for the liveness probe. What is left out becomes the more lenient of today's and the engine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness: Option<LivenessTimings>,
    /// Timings for a readiness probe that Reprieve adds or that repeats the liveness check. A different readiness
    /// probe keeps its own; only a timeout of one second is raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<ReadinessTimings>,
    /// How long recovery may take.
    #[serde(default)]
    pub startup: Startup,
    /// Requests and limits for database containers that have none.
    #[serde(default)]
    pub resources: Resources,
    /// Rules to leave out, and opt-in rules to act on.
    #[serde(default)]
    pub rules: Rules,
    /// When a write may happen, and how many at once.
    #[serde(default)]
    pub rollout: Rollout,
    /// Which remedy to use. Auto picks the strongest that is safe for the object's owner.
    #[serde(default)]
    pub remedy: RemedyChoice,
    /// What happens to patched workloads when this policy is deleted.
    #[serde(default)]
    pub on_delete: OnDelete,
}

/// Which StatefulSets to protect in many namespaces, and how.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "reprieve.dev",
    version = "v1alpha1",
    kind = "ClusterProbePolicy",
    status = "PolicyStatus",
    shortname = "cpp",
    category = "reprieve",
    derive = "Default",
    derive = "PartialEq",
    doc = "Protects databases in many namespaces from their own health checks. A ProbePolicy in the namespace wins over it.",
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Matched", type_ = "integer", json_path = ".status.summary.matched"),
    printcolumn(name = "Findings", type_ = "integer", json_path = ".status.summary.findings"),
    printcolumn(name = "Patched", type_ = "integer", json_path = ".status.summary.patched"),
    printcolumn(name = "Deferred", type_ = "integer", json_path = ".status.summary.deferred", priority = 1),
    printcolumn(name = "Refused", type_ = "integer", json_path = ".status.summary.refused"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterProbePolicySpec {
    /// The namespaces in reach, by their labels. Left out: every namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub namespace_selector: Option<LabelSelector>,
    /// All fields of a [`ProbePolicy`], beside the selector of namespaces. Its rules come along.
    #[serde(flatten)]
    pub policy: PolicySpec,
}

/// Whether the policy may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    /// Report only.
    #[default]
    Audit,
    /// Write, after the dry-runs were checked.
    Enforce,
}

/// What a container is, where the manifest does not tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseHint {
    /// The container's name in the pod template.
    #[schemars(length(min = 1, max = 63))]
    pub container: String,
    /// The engine that runs in it.
    pub engine: Engine,
    /// The port on which the engine accepts clients, if it is not the one that the manifest says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
}

/// Timings of the liveness probe, in the units of the Kubernetes API.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new(validation::TIMEOUT).message(validation::LIVENESS_TIMEOUT_MESSAGE))]
#[serde(rename_all = "camelCase")]
pub struct LivenessTimings {
    /// Seconds from container start (or from the end of the startup probe) to the first probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub initial_delay_seconds: Option<i32>,
    /// Seconds between probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3600))]
    pub period_seconds: Option<i32>,
    /// Seconds until one probe counts as failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: Option<i32>,
    /// Failed probes in a row until the container is killed. One or two would kill on a single stall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 3, max = 1000))]
    pub failure_threshold: Option<i32>,
}

/// Timings of a readiness probe, in the units of the Kubernetes API.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new(validation::TIMEOUT).message(validation::READINESS_TIMEOUT_MESSAGE))]
#[serde(rename_all = "camelCase")]
pub struct ReadinessTimings {
    /// Seconds from container start to the first probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub initial_delay_seconds: Option<i32>,
    /// Seconds between probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3600))]
    pub period_seconds: Option<i32>,
    /// Seconds until one probe counts as failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: Option<i32>,
    /// Failed probes in a row until the pod leaves its Services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub failure_threshold: Option<i32>,
}

/// How long a start may take before it counts as hung.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Startup {
    /// Seconds that recovery may take, from container start. The default, one hour, is what CloudNativePG allows.
    #[serde(default = "default_recovery_allowance")]
    #[schemars(range(min = 60, max = 604_800))]
    pub recovery_allowance_seconds: i32,
}

/// `CloudNativePG`'s `startDelay`.
const fn default_recovery_allowance() -> i32 {
    3600
}

impl Default for Startup {
    fn default() -> Self {
        Self { recovery_allowance_seconds: default_recovery_allowance() }
    }
}

/// Requests and limits for database containers.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new(validation::LIMIT_BELOW_REQUEST).message(validation::LIMIT_BELOW_REQUEST_MESSAGE))]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// Added where a database container has none. A request that is there is never lowered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestAmounts>,
    /// A memory limit for containers that get their memory request from here. A database that uses more is killed, so
    /// know what it uses first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<MemoryLimit>,
    /// Keep (the default) or Remove a CPU limit. Removing it opts in to rule RP006.
    #[serde(default)]
    pub cpu_limit: CpuLimit,
}

/// Amounts as in `resources.requests`.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new(validation::CPU).message(validation::CPU_REQUEST_MESSAGE))]
#[x_kube(validation = Rule::new(validation::MEMORY).message(validation::MEMORY_REQUEST_MESSAGE))]
pub struct RequestAmounts {
    /// CPU, for example "1" or 500m. A fraction has to be quoted: "0.5".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::quantity")]
    pub cpu: Option<Quantity>,
    /// Memory, for example 2Gi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::quantity")]
    pub memory: Option<Quantity>,
}

/// The one limit that is worth having on a database.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new(validation::MEMORY).message(validation::MEMORY_LIMIT_MESSAGE))]
pub struct MemoryLimit {
    /// Memory, for example 3Gi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::quantity")]
    pub memory: Option<Quantity>,
}

/// What becomes of a CPU limit on a database container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CpuLimit {
    /// Leave it.
    #[default]
    Keep,
    /// Take it off: CFS throttling recreates the very delay that fails the probe.
    Remove,
}

/// Which rules count.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new(validation::RULES).message(validation::RULES_MESSAGE))]
#[serde(rename_all = "camelCase")]
pub struct Rules {
    /// Rules whose findings are left out, by id, for example RP004.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 5), regex(pattern = "^RP[0-9]{3}$")))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub disable: Vec<String>,
    /// Opt-in rules that may be acted on, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 5), regex(pattern = "^RP[0-9]{3}$")))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub opt_in: Vec<String>,
}

/// When and how writes happen. Every write restarts pods.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new(validation::SOAK).message(validation::SOAK_MESSAGE))]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// When a write may start. None: at any time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub windows: Vec<Window>,
    /// Whether a proved kill loop waits for a window. The database is down anyway, so the default is Immediate.
    #[serde(default)]
    pub kill_loop: KillLoop,
    /// Workloads of this policy that may be rolling at once.
    #[serde(default = "default_max_concurrent")]
    #[schemars(range(min = 1, max = 100))]
    pub max_concurrent: i32,
    /// Seconds for which every pod must be Ready before the change counts as verified. Not acted on by this version.
    #[serde(default = "default_soak")]
    #[schemars(range(min = 0, max = 86400))]
    pub soak_seconds: i32,
    /// Seconds after which a rollout that has not finished counts as failed. Not acted on by this version.
    #[serde(default = "default_progress_deadline")]
    #[schemars(range(min = 60, max = 604_800))]
    pub progress_deadline_seconds: i32,
    /// What to do with a rollout that failed. Not acted on by this version.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Consent to delete a pod, by uid, that blocks the rollout or the rollback.
    #[serde(default)]
    pub delete_stuck_pods: bool,
}

const fn default_max_concurrent() -> i32 {
    1
}
const fn default_soak() -> i32 {
    120
}
const fn default_progress_deadline() -> i32 {
    1200
}

impl Default for Rollout {
    fn default() -> Self {
        Self {
            windows: Vec::new(),
            kill_loop: KillLoop::default(),
            max_concurrent: default_max_concurrent(),
            soak_seconds: default_soak(),
            progress_deadline_seconds: default_progress_deadline(),
            on_failure: OnFailure::default(),
            delete_stuck_pods: false,
        }
    }
}

/// A span of time in which writes may start.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new(validation::HAS_SCHEDULE).message(validation::HAS_SCHEDULE_MESSAGE))]
#[x_kube(validation = Rule::new(validation::schedule()).message(validation::SCHEDULE_MESSAGE))]
#[x_kube(validation = Rule::new(validation::HAS_DURATION).message(validation::HAS_DURATION_MESSAGE))]
#[x_kube(validation = Rule::new(validation::DURATION).message(validation::DURATION_MESSAGE))]
#[x_kube(validation = Rule::new(validation::TIME_ZONE).message(validation::TIME_ZONE_MESSAGE))]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// When the window opens: five cron fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub schedule: Option<String>,
    /// How long it stays open, for example 3h or 90m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub duration: Option<String>,
    /// The IANA time zone of the schedule. UTC if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub time_zone: Option<String>,
}

/// Whether a proved kill loop waits for a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum KillLoop {
    /// The patch is sent at once.
    #[default]
    Immediate,
    /// It waits like any other.
    Wait,
}

/// What to do with a rollout that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnFailure {
    /// Put the recorded originals back.
    #[default]
    Rollback,
    /// Stop and say so.
    Pause,
}

/// Which remedy is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RemedyChoice {
    /// The strongest that is safe for the object's owner.
    #[default]
    Auto,
    /// Replace the liveness handler. Refused where the owner's next apply would break.
    Swap,
    /// Only add what the owner left unsaid.
    Additive,
    /// Write nothing; print the change.
    Suggest,
}

/// What happens to patched workloads when the policy goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnDelete {
    /// They keep the patch.
    #[default]
    Keep,
    /// The originals are put back.
    Restore,
}
