use std::future::IntoFuture;
use std::net::IpAddr;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::harness::failure::{Context, Failure};

/// A report on one pod, in the making; awaiting it sends it. It says that containers run and are not Ready, unless
/// told otherwise.
#[must_use = "a report is sent when it is awaited"]
pub struct Report {
    pods: Api<Pod>,
    name: String,
    uid: Option<String>,
    ready: bool,
    started: bool,
    crash_looping: bool,
    address: Option<IpAddr>,
    restarts: Option<i32>,
    running_seconds: i64,
    last_life: Option<LastLife>,
    only: Option<String>,
}

#[derive(Debug, Clone)]
struct LastLife {
    exit_code: i32,
    reason: Option<String>,
    seconds: i64,
    ended_seconds_ago: i64,
}

impl LastLife {
    /// Killed by its liveness probe after a while, and only just now.
    const USUAL: Self = Self { exit_code: 137, reason: None, seconds: 60, ended_seconds_ago: 1 };
}

impl Report {
    pub(super) fn new(pods: Api<Pod>, pod: &Pod) -> Self {
        Self {
            pods,
            name: pod.name_any(),
            uid: pod.uid(),
            ready: false,
            started: true,
            crash_looping: false,
            address: None,
            restarts: None,
            running_seconds: 0,
            last_life: None,
            only: None,
        }
    }

    /// All containers are ready, hence the pod is.
    pub fn ready(mut self) -> Self {
        self.ready = true;
        self
    }

    /// The startup probe has not succeeded yet.
    pub fn still_starting(mut self) -> Self {
        self.started = false;
        self
    }

    /// The pod has this IP. It stays what it is in later reports.
    ///
    /// # Panics
    /// If a text is given that is no address.
    #[allow(clippy::needless_pass_by_value, reason = "`at(\"127.31.0.7\")` reads like a sentence")]
    pub fn at(mut self, address: impl ToString) -> Self {
        let text = address.to_string();
        self.address = Some(text.parse().unwrap_or_else(|_| panic!("\"{text}\" is no IP address")));
        self
    }

    /// How often containers were restarted, in all.
    pub fn restarts(mut self, count: i32) -> Self {
        self.restarts = Some(count);
        self
    }

    /// How long the present life has lasted so far.
    pub fn running_for_seconds(mut self, seconds: i64) -> Self {
        self.running_seconds = seconds;
        self
    }

    /// With which code the last life ended. The reason follows from it, as in the kubelet: `Completed` or `Error`.
    pub fn last_exit(mut self, code: i32) -> Self {
        self.last_life().exit_code = code;
        self
    }

    /// A reason of its own for that end, such as `OOMKilled`.
    pub fn last_reason(mut self, reason: &str) -> Self {
        self.last_life().reason = Some(reason.to_owned());
        self
    }

    /// How long the last life was.
    pub fn lived_seconds(mut self, seconds: i64) -> Self {
        self.last_life().seconds = seconds;
        self
    }

    /// When the last life ended.
    pub fn ended_seconds_ago(mut self, seconds: i64) -> Self {
        self.last_life().ended_seconds_ago = seconds;
        self
    }

    /// Containers do not run but wait in `CrashLoopBackOff`.
    pub fn crash_looping(mut self) -> Self {
        self.last_life();
        self.crash_looping = true;
        self
    }

    /// All of the above is about this container; the others run and are ready.
    pub fn only(mut self, container: &str) -> Self {
        self.only = Some(container.to_owned());
        self
    }

    fn last_life(&mut self) -> &mut LastLife {
        self.last_life.get_or_insert(LastLife::USUAL)
    }

    async fn send(self) -> Result<(), Failure> {
        // Afresh: transition times and counts go on from what the server has now, not from what the caller saw once.
        let pod = self.pods.get(&self.name).await.context(format_args!("cannot report on the pod {}", self.name))?;
        let patch = json!({"metadata": {"uid": self.uid}, "status": self.status(&pod, Timestamp::now())});
        self.pods
            .patch_status(&self.name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .context(format_args!("the server refuses the report on the pod {}", self.name))?;
        Ok(())
    }

    fn status(&self, pod: &Pod, now: Timestamp) -> Value {
        let before = pod.status.clone().unwrap_or_default();
        let spec = pod.spec.clone().unwrap_or_default();
        let containers: Vec<Value> =
            spec.containers.iter().map(|container| self.container_status(container, pod, &before, now)).collect();
        let init_containers: Vec<Value> = spec
            .init_containers
            .iter()
            .flatten()
            .map(|container| init_container_status(container, pod, &before, now))
            .collect();
        let all_ready = containers.iter().all(|status| status["ready"] == true);
        let condition = |kind: &str, holds: bool| {
            let status = if holds { "True" } else { "False" };
            let since = before
                .conditions
                .iter()
                .flatten()
                .find(|condition| condition.type_ == kind && condition.status == status)
                .and_then(|condition| condition.last_transition_time.clone());
            let mut condition = json!({
                "type": kind, "status": status, "lastTransitionTime": since.unwrap_or(Time(now)),
            });
            if !holds {
                condition["reason"] = json!("ContainersNotReady");
            }
            condition
        };
        let mut status = json!({
            "phase": "Running",
            "startTime": before.start_time.clone().unwrap_or(Time(now)),
            "hostIP": "10.1.0.1",
            "hostIPs": [{"ip": "10.1.0.1"}],
            "conditions": [
                condition("PodScheduled", true),
                condition("Initialized", true),
                condition("ContainersReady", all_ready),
                condition("Ready", all_ready),
            ],
            "containerStatuses": containers,
            "initContainerStatuses": init_containers,
        });
        if let Some(address) = self.address {
            status["podIP"] = json!(address);
            status["podIPs"] = json!([{"ip": address}]);
        }
        status
    }

    fn container_status(&self, container: &Container, pod: &Pod, before: &PodStatus, now: Timestamp) -> Value {
        let concerned = self.only.as_ref().is_none_or(|name| *name == container.name);
        let earlier = status_of(&container.name, before.container_statuses.as_deref());
        let restarts_before = earlier.map_or(0, |status| status.restart_count);
        let restarts = self.restarts.filter(|_| concerned).unwrap_or(restarts_before);
        let id = container_id(pod, &container.name, restarts);
        let mut status = json!({
            "name": container.name,
            "image": container.image,
            "imageID": container.image,
            "containerID": id,
            "restartCount": restarts,
            "ready": !concerned || (self.ready && !self.crash_looping),
            "started": !concerned || (self.started && !self.crash_looping),
        });
        let running_since = earlier
            .filter(|_| restarts == restarts_before && self.running_seconds == 0)
            .and_then(|status| status.state.as_ref()?.running.as_ref()?.started_at.clone())
            .unwrap_or_else(|| Time(before_now(now, self.running_seconds)));
        status["state"] = if concerned && self.crash_looping {
            json!({"waiting": {
                "reason": "CrashLoopBackOff",
                "message": format!("back-off 5m0s restarting failed container={} pod={}", container.name, self.name),
            }})
        } else {
            json!({"running": {"startedAt": running_since}})
        };
        status["lastState"] = match &self.last_life {
            Some(life) if concerned => {
                let ended = before_now(now, life.ended_seconds_ago.max(self.running_seconds));
                let reason = life.reason.as_deref().unwrap_or(if life.exit_code == 0 { "Completed" } else { "Error" });
                json!({"terminated": {
                    "exitCode": life.exit_code,
                    "reason": reason,
                    "startedAt": Time(before_now(ended, life.seconds)),
                    "finishedAt": Time(ended),
                    "containerID": container_id(pod, &container.name, restarts - 1),
                }})
            }
            _ => json!(earlier.and_then(|status| status.last_state.clone()).unwrap_or_default()),
        };
        status
    }
}

impl IntoFuture for Report {
    type Output = Result<(), Failure>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// Plain init containers have ended well; those that restart always are sidecars, and run.
fn init_container_status(container: &Container, pod: &Pod, before: &PodStatus, now: Timestamp) -> Value {
    if let Some(earlier) = status_of(&container.name, before.init_container_statuses.as_deref()) {
        return json!(earlier);
    }
    let sidecar = container.restart_policy.as_deref() == Some("Always");
    let id = container_id(pod, &container.name, 0);
    let state = if sidecar {
        json!({"running": {"startedAt": Time(now)}})
    } else {
        json!({"terminated": {
            "exitCode": 0, "reason": "Completed", "startedAt": Time(now), "finishedAt": Time(now), "containerID": id,
        }})
    };
    json!({
        "name": container.name, "image": container.image, "imageID": container.image, "containerID": id,
        "restartCount": 0, "ready": true, "started": sidecar, "state": state,
    })
}

fn status_of<'a>(name: &str, statuses: Option<&'a [ContainerStatus]>) -> Option<&'a ContainerStatus> {
    statuses.unwrap_or_default().iter().find(|status| status.name == name)
}

/// Each life of a container has an id of its own, from which a watcher may tell lives apart.
fn container_id(pod: &Pod, container: &str, life: i32) -> String {
    format!("containerd://{}-{container}-{life}", pod.uid().unwrap_or_default())
}

fn before_now(now: Timestamp, seconds: i64) -> Timestamp {
    now - SignedDuration::from_secs(seconds)
}
