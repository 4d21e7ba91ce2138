//! One database in a namespace of its own, and all that the operator asks the server about it.

use std::net::Ipv4Addr;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use super::databases::{self, live, status_where};
use crate::harness::account::Account;
use crate::harness::intercept::{Intercept, Seen};
use crate::harness::operator::{Operator, apply};
use crate::harness::tcp::{OpenPort, loopback_address};
use crate::harness::wait::eventually;
use crate::harness::{Cluster, Context, Failure, Namespace};

/// The StatefulSet and the policy have this name.
pub const NAME: &str = "db";
/// The pod of ordinal 0.
pub const POD: &str = "db-0";

/// A namespace with one database, one policy and one operator.
pub struct Stage<'c> {
    pub cluster: &'c Cluster,
    pub namespace: Namespace,
    pub intercept: Intercept,
    /// The pod's IP.
    pub address: Ipv4Addr,
    port: Option<OpenPort>,
    pod_uid: Option<String>,
    /// The StatefulSet as it was before the operator came.
    before: Value,
}

impl<'c> Stage<'c> {
    /// An empty one. At the pod's address to be, PostgreSQL's port answers already.
    pub async fn open(cluster: &'c Cluster, prefix: &str) -> Result<Self, Failure> {
        let namespace = cluster.namespace(prefix).await?;
        let address = loopback_address();
        let port = Some(OpenPort::at(address, 5432).await?);
        Ok(Self {
            cluster,
            namespace,
            intercept: Intercept::recording(),
            address,
            port,
            pod_uid: None,
            before: Value::Null,
        })
    }

    /// The database's port no longer answers.
    pub fn close_port(&mut self) {
        self.port = None;
    }

    /// Creates an object of this namespace.
    pub async fn has(&self, mut object: Value) -> Result<(), Failure> {
        object["metadata"]["namespace"] = self.namespace.name().into();
        apply(&self.cluster.client(), &object).await?;
        Ok(())
    }

    /// Creates the database without anybody to run its pod.
    pub async fn create(&mut self, statefulset: Value) -> Result<(), Failure> {
        databases::create(&self.namespace, statefulset).await?;
        self.before = live(&self.namespace, NAME).await?;
        Ok(())
    }

    /// Creates the database; its pod runs and is ready, and the StatefulSet says so.
    pub async fn run(&mut self, statefulset: Value) -> Result<(), Failure> {
        self.create(statefulset).await?;
        self.new_pod_is_ready().await
    }

    /// A pod that was not seen before, as soon as it is there: the first, or the one that replaces it.
    pub async fn new_pod(&mut self) -> Result<Pod, Failure> {
        let pods = self.namespace.api::<Pod>();
        let seen = self.pod_uid.take();
        let pod = eventually("a new pod", async || Ok(pods.get_opt(POD).await?.filter(|pod| pod.metadata.uid != seen)))
            .await?;
        self.pod_uid.clone_from(&pod.metadata.uid);
        Ok(pod)
    }

    /// A pod that was not seen before runs and is ready, and the StatefulSet counts it.
    pub async fn new_pod_is_ready(&mut self) -> Result<(), Failure> {
        let pod = self.new_pod().await?;
        self.cluster.kubelet().runs(&pod).ready().at(self.address).await?;
        self.ready_replica().await
    }

    /// The StatefulSet counts its pod as ready.
    pub async fn ready_replica(&self) -> Result<(), Failure> {
        let statefulsets = self.namespace.api::<StatefulSet>();
        eventually("the database to be ready", async || {
            let status = statefulsets.get(NAME).await?.status.unwrap_or_default();
            Ok((status.ready_replicas == Some(1)).then_some(()))
        })
        .await
    }

    /// Writes the policy.
    pub async fn policy(&self, spec: Value) -> Result<(), Failure> {
        databases::policy(self.cluster, &self.namespace, NAME, spec).await
    }

    /// The operator of `config/rbac` starts.
    pub async fn operator(&self) -> Result<Operator, Failure> {
        Operator::start_through(self.cluster, &self.namespace, &self.intercept).await
    }

    /// An operator starts that has other rights.
    pub async fn operator_as(&self, account: &Account) -> Result<Operator, Failure> {
        Operator::start_as_through(self.cluster, &self.namespace, account, &self.intercept).await
    }

    /// What the policy says of the database, as soon as it gives this reason.
    pub async fn reason(&self, reason: &str) -> Result<Value, Failure> {
        databases::reason(&self.namespace, NAME, NAME, reason).await
    }

    /// What the policy says of the database, as soon as `wanted` holds for it.
    pub async fn says(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value, Failure> {
        status_where(&self.namespace, NAME, NAME, what, wanted).await
    }

    /// What the policy says once the database was written and all is said about it.
    pub async fn written(&self) -> Result<Value, Failure> {
        self.says("written", |entry| entry["writes"] == 1).await
    }

    /// A condition of the policy, as soon as it has this status.
    pub async fn condition(&self, type_: &str, status: &str) -> Result<Value, Failure> {
        databases::condition(&self.namespace, NAME, type_, status).await
    }

    /// The StatefulSet as it is now.
    pub async fn live(&self) -> Result<Value, Failure> {
        live(&self.namespace, NAME).await
    }

    /// The real patches of StatefulSets that were sent.
    pub fn patches(&self) -> Vec<Seen> {
        self.intercept.writes().into_iter().filter(|seen| is_workload_patch(seen) && !seen.is_dry_run()).collect()
    }

    /// Proves that the operator left the database alone: the object is what it was, and nothing else was asked for.
    pub async fn untouched(&self) -> Result<(), Failure> {
        let now = self.live().await?;
        for field in ["/metadata/generation", "/metadata/annotations", "/spec"] {
            assert_eq!(now.pointer(field), self.before.pointer(field), "{field} changed");
        }
        if let Some(patch) = self.patches().first() {
            return Err(Failure::new(format!("{} was sent", String::from_utf8_lossy(&patch.body))));
        }
        self.only_harmless_writes()
    }

    /// Proves that what was sent, the patches of StatefulSets aside, were dry-runs, events and statuses.
    pub fn only_harmless_writes(&self) -> Result<(), Failure> {
        let harmful = |seen: &&Seen| {
            let is_event = seen.path.starts_with("/apis/events.k8s.io/v1/") && seen.path.contains("/events");
            !seen.is_dry_run() && !is_event && !seen.path.ends_with("/status") && !is_workload_patch(seen)
        };
        let writes = self.intercept.writes();
        match writes.iter().find(harmful) {
            None => Ok(()),
            Some(seen) => Err(Failure::new(format!("{} {}?{} was sent", seen.method, seen.path, seen.query))),
        }
    }
}

/// Whether a request patches a StatefulSet, be it dry.
pub fn is_workload_patch(seen: &Seen) -> bool {
    seen.operation == "patch" && seen.path.contains("/statefulsets/")
}

/// A text of a status entry or condition.
pub fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// Requires that the message of a status entry or condition says all of these.
pub fn must_say(value: &Value, words: &[&str]) -> Result<(), Failure> {
    let message = text(value, "message");
    match words.iter().find(|words| !message.contains(**words)) {
        None => Ok(()),
        Some(words) => Err(Failure::new(format!("\"{words}\" is missing in: {message}"))),
    }
    .context("the message is not what a person needs")
}

/// The findings of a status entry that belong to a rule.
pub fn findings(entry: &Value, rule: &str) -> Vec<String> {
    let all = entry["findings"].as_array().cloned().unwrap_or_default();
    all.iter().filter_map(Value::as_str).filter(|text| text.starts_with(rule)).map(str::to_owned).collect()
}
