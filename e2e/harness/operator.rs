//! The operator under test, as the service account of `config/rbac`, so that a missing verb shows.

use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::client::ClientBuilder;
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use reprieve::cluster::Cluster as Reached;
use reprieve::controller;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::access::Access;
use super::account::{Account, token_of};
use super::failure::{Context, Failure};
use super::intercept::Intercept;
use super::wait::eventually;
use super::{Cluster, Namespace};

const NAMESPACE: &str = "reprieve-system";
const ACCOUNT: &str = "reprieve";
const FILES: [&str; 6] = [
    "crds/reprieve.dev_probepolicies.yaml",
    "crds/reprieve.dev_clusterprobepolicies.yaml",
    "config/operator/namespace.yaml",
    "config/rbac/service-account.yaml",
    "config/rbac/cluster-role.yaml",
    "config/rbac/pods-dry-run-only.yaml",
];

/// Applies what an installation applies, but for the Deployment: the operator runs in this process.
pub async fn install(client: &Client) -> Result<(), Failure> {
    for file in FILES {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(&path).context(format_args!("cannot read {file}"))?;
        for document in serde_yaml::Deserializer::from_str(&text) {
            let object = Value::deserialize(document).context(format_args!("cannot parse {file}"))?;
            if !object.is_null() {
                apply(client, &object).await.context(format_args!("cannot apply {file}"))?;
            }
        }
    }
    for kind in ["ProbePolicy", "ClusterProbePolicy"] {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &policy_resource(kind));
        eventually(&format!("the server serves {kind}"), async || {
            Ok(api.list(&kube::api::ListParams::default().limit(1)).await.ok().map(|_| ()))
        })
        .await?;
    }
    Ok(())
}

/// Applies any object server-side.
pub async fn apply(client: &Client, object: &Value) -> Result<DynamicObject, Failure> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
    let (group, version) = match text("/apiVersion").split_once('/') {
        Some((group, version)) => (group.to_owned(), version.to_owned()),
        None => (String::new(), text("/apiVersion")),
    };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, &version, &text("/kind")));
    let resource = if text("/kind") == "ProbePolicy" || text("/kind") == "ClusterProbePolicy" {
        policy_resource(&text("/kind"))
    } else {
        resource
    };
    let api: Api<DynamicObject> = match text("/metadata/namespace") {
        namespace if namespace.is_empty() => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), &namespace, &resource),
    };
    let name = text("/metadata/name");
    let parameters = PatchParams::apply("installation").force();
    api.patch(&name, &parameters, &Patch::Apply(object)).await.context(format_args!("cannot apply {name}"))
}

fn policy_resource(kind: &str) -> ApiResource {
    let plural = if kind == "ProbePolicy" { "probepolicies" } else { "clusterprobepolicies" };
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("reprieve.dev", "v1alpha1", kind), plural)
}

/// Access as the account of `config/rbac`, with what belongs to it installed.
pub async fn access(cluster: &Cluster) -> Result<Access, Failure> {
    cluster.with_reprieve().await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), NAMESPACE);
    let token = token_of(&accounts, ACCOUNT).await?;
    cluster.access().as_bearer(&token)
}

/// The rules of `config/rbac`'s cluster role, but for one verb on one resource, which may have a `/subresource`.
pub fn rules_without(verb: &str, resource: &str) -> Result<Vec<PolicyRule>, Failure> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("config/rbac/cluster-role.yaml");
    let text = std::fs::read_to_string(&path).context("cannot read the cluster role")?;
    let mut found = false;
    let mut rules = Vec::new();
    for document in serde_yaml::Deserializer::from_str(&text) {
        let object = Value::deserialize(document).context("cannot parse the cluster role")?;
        for rule in object["rules"].as_array().into_iter().flatten() {
            let rule: PolicyRule = serde_json::from_value(rule.clone())?;
            // One for each resource, so that the verb is taken from this one only.
            for name in rule.resources.clone().unwrap_or_default() {
                let is_granted = |granted: &&String| !(name == resource && *granted == verb);
                let verbs: Vec<_> = rule.verbs.iter().filter(is_granted).cloned().collect();
                let rest = PolicyRule { resources: Some(vec![name]), verbs, ..rule.clone() };
                found |= rest.verbs.len() < rule.verbs.len();
                if !rest.verbs.is_empty() {
                    rules.push(rest);
                }
            }
        }
    }
    if found { Ok(rules) } else { Err(Failure::new(format!("the cluster role has no verb {verb} on {resource}"))) }
}

/// A running operator that looks at one namespace. Stopped when dropped.
pub struct Operator {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), controller::Error>>,
}

impl Operator {
    /// Starts one as the account of `config/rbac`.
    pub async fn start(cluster: &Cluster, namespace: &Namespace) -> Result<Self, Failure> {
        Self::start_through(cluster, namespace, &Intercept::recording()).await
    }

    /// The same, with every request shown to `intercept` first.
    pub async fn start_through(
        cluster: &Cluster,
        namespace: &Namespace,
        intercept: &Intercept,
    ) -> Result<Self, Failure> {
        let config = access(cluster).await?.config().await?;
        let client = ClientBuilder::try_from(config)?.with_layer(intercept).build();
        Ok(Self::run(client, namespace.name()))
    }

    /// Starts one as another account, for example one that lacks a verb.
    pub async fn start_as(cluster: &Cluster, namespace: &Namespace, account: &Account) -> Result<Self, Failure> {
        Self::start_as_through(cluster, namespace, account, &Intercept::recording()).await
    }

    /// The same, with every request shown to `intercept` first.
    pub async fn start_as_through(
        cluster: &Cluster,
        namespace: &Namespace,
        account: &Account,
        intercept: &Intercept,
    ) -> Result<Self, Failure> {
        cluster.with_reprieve().await?;
        Ok(Self::run(account.client_through(intercept).await?, namespace.name()))
    }

    fn run(client: Client, namespace: &str) -> Self {
        let (stop, stopped) = oneshot::channel();
        let reached = Reached::from_client(client).within(Some(namespace.to_owned()));
        let task = tokio::spawn(controller::run(reached, controller::Options::default(), async move {
            // Dropping the sender stops it as well as sending.
            let _ = stopped.await;
        }));
        Self { stop: Some(stop), task }
    }

    /// Stops it and returns what it ended with.
    pub async fn stop(mut self) -> Result<(), Failure> {
        drop(self.stop.take());
        let task = std::mem::replace(&mut self.task, tokio::spawn(async { Ok(()) }));
        task.await.context("the operator panicked")?.context("the operator ended with an error")
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.task.abort();
    }
}
