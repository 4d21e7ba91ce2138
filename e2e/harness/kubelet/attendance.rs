use std::net::Ipv4Addr;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use tokio::task::JoinHandle;

use super::Kubelet;
use crate::harness::failure::Failure;
use crate::harness::tcp::loopback_address;

const INTERVAL: Duration = Duration::from_millis(100);

/// What becomes of a pod that is not Ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// It runs and is Ready.
    MakeReady,
    /// It runs, but is not Ready.
    LetRun,
    /// The scenario itself reports on it.
    LeaveAlone,
}

/// A kubelet at work in the background, until dropped.
pub struct Attendance {
    rounds: JoinHandle<()>,
}

impl Attendance {
    pub(super) fn begin(
        kubelet: Kubelet,
        pods: Api<Pod>,
        address: Option<Ipv4Addr>,
        care: impl Fn(&Pod) -> Care + Send + Sync + 'static,
    ) -> Self {
        let rounds = tokio::spawn(async move {
            loop {
                // A pod may change or go between the list and the report; the next round sees it as it is then.
                let _ = round(&kubelet, &pods, address, &care).await;
                tokio::time::sleep(INTERVAL).await;
            }
        });
        Self { rounds }
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        self.rounds.abort();
    }
}

async fn round(
    kubelet: &Kubelet,
    pods: &Api<Pod>,
    address: Option<Ipv4Addr>,
    care: &(impl Fn(&Pod) -> Care + Sync),
) -> Result<(), Failure> {
    for pod in pods.list(&ListParams::default()).await? {
        if pod.metadata.deletion_timestamp.is_some() {
            kubelet.lets_go(&pod).await?;
            continue;
        }
        let status = pod.status.as_ref();
        let running = status.and_then(|status| status.phase.as_deref()) == Some("Running");
        let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
        let ready = conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
        if ready {
            continue;
        }
        let report = match care(&pod) {
            Care::MakeReady => kubelet.runs(&pod).ready(),
            Care::LetRun if !running => kubelet.runs(&pod),
            Care::LetRun | Care::LeaveAlone => continue,
        };
        match status.and_then(|status| status.pod_ip.as_deref()) {
            Some(_) => report.await?,
            None => report.at(address.unwrap_or_else(loopback_address)).await?,
        }
    }
    Ok(())
}
