//! The calls that the operator makes, each with the outcome that matters to it.

use std::sync::Arc;

use http::Request;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::core::{ApiResource, ObjectMeta};
use kube::runtime::events::{Event, Recorder, Reporter};
use serde_json::Value;

use super::CallError;
use super::watch::Kind;
use crate::api::FIELD_MANAGER;
use crate::core::model::policy::PolicyReference;

/// Objects in one answer to a list, as kubectl asks for them.
const PAGE: u32 = 500;

/// An API server, and the account that we have there.
#[derive(Clone)]
pub struct Cluster {
    client: kube::Client,
    recorder: Recorder,
    /// The one namespace that is looked at, or all.
    scope: Option<String>,
    /// Where the server is, for people.
    server: String,
    /// What its user calls it: the context of the kubeconfig, where there is one.
    name: String,
}

/// Whose status is written.
pub type StatusTarget = PolicyReference;

impl Cluster {
    /// Uses a client that is there, for example one that a test looks through.
    #[must_use]
    pub fn from_client(client: kube::Client) -> Self {
        // One recorder for the process: it counts up what repeats.
        let reporter = Reporter { controller: "reprieve".to_owned(), instance: None };
        let recorder = Recorder::new(client.clone(), reporter);
        Self { client, recorder, scope: None, server: "the API server".to_owned(), name: "cluster".to_owned() }
    }

    /// The same with the address of the server and the name of the context, for messages.
    pub(super) fn at(self, server: &str, context: Option<String>) -> Self {
        let server = server.trim_end_matches('/');
        Self { server: format!("the API server {server}"), name: context.unwrap_or_else(|| server.to_owned()), ..self }
    }

    /// What its user calls the cluster: the context of the kubeconfig, or the address of the server without one.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server with its address where that is known, for people.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The same, looking at one namespace only. Cluster policies are read all the same.
    #[must_use]
    pub fn within(self, namespace: Option<String>) -> Self {
        Self { scope: namespace, ..self }
    }

    /// The same, calling `started` whenever the server has begun to answer a watch.
    pub(super) fn telling(&self, started: impl Fn() + Send + Sync + 'static) -> Self {
        let (client, started) = (self.client.clone(), Arc::new(started));
        let service = tower::service_fn(move |request: Request<Body>| {
            let (client, started) = (client.clone(), started.clone());
            let is_watch = request.uri().query().is_some_and(|query| query.split('&').any(|part| part == "watch=true"));
            async move {
                let response = client.send(request).await?;
                if is_watch && response.status().is_success() {
                    started();
                }
                Ok::<_, kube::Error>(response)
            }
        });
        let client = kube::Client::new(service, self.client.default_namespace());
        Self { client, ..self.clone() }
    }

    /// The objects of a kind that are looked at, and the field selector that narrows them down.
    pub(super) fn watched(&self, kind: Kind) -> (Api<DynamicObject>, Option<String>) {
        match (&self.scope, kind) {
            (None, _) | (Some(_), Kind::ClusterProbePolicy | Kind::Node) => (self.objects(kind, None), None),
            (Some(namespace), Kind::Namespace) => {
                (self.objects(kind, None), Some(format!("metadata.name={namespace}")))
            }
            (Some(namespace), _) => (self.objects(kind, Some(namespace)), None),
        }
    }

    /// Where a kind is looked at, for people.
    #[must_use]
    pub fn place(&self, kind: Kind) -> String {
        match (&self.scope, kind) {
            (None, _) | (Some(_), Kind::ClusterProbePolicy | Kind::Node | Kind::Namespace) => {
                "at cluster scope".to_owned()
            }
            (Some(namespace), _) => format!("in the namespace {namespace}"),
        }
    }

    /// The objects of a kind, in one namespace or in all.
    pub(super) fn objects(&self, kind: Kind, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource: ApiResource = kind.resource();
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    /// Whether a kind can be listed: the first question to a server, before any watch is started.
    ///
    /// # Errors
    /// Why not.
    pub async fn probe(&self, kind: Kind) -> Result<(), CallError> {
        self.watched(kind).0.list(&ListParams::default().limit(1)).await?;
        Ok(())
    }

    /// Hands all objects of a kind to `take`, page by page, narrowed down by a label selector where there is one. What
    /// was handed over before an error stays so.
    ///
    /// # Errors
    /// Why it is not all of them.
    pub async fn list(&self, kind: Kind, labels: Option<&str>, mut take: impl FnMut(Value)) -> Result<(), CallError> {
        let (api, fields) = self.watched(kind);
        let resource = kind.resource();
        let mut parameters = ListParams { label_selector: labels.map(str::to_owned), ..ListParams::default() };
        parameters.field_selector = fields;
        let mut seen = std::collections::HashSet::new();
        let mut limit = Some(PAGE);
        let mut next: Option<String> = None;
        loop {
            let page = ListParams { limit, continue_token: next.clone(), ..parameters.clone() };
            let page = match api.list(&page).await {
                Ok(page) => page,
                // The snapshot that the token stands for is compacted away. The whole list in one answer needs none.
                Err(kube::Error::Api(status)) if status.code == 410 && next.is_some() => {
                    (limit, next) = (None, None);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            for object in &page.items {
                let mut object = as_json(object)?;
                // The items of a list come without their kind.
                object["apiVersion"] = Value::from(resource.api_version.as_str());
                object["kind"] = Value::from(resource.kind.as_str());
                let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
                if uid.is_empty() || seen.insert(uid) {
                    take(object);
                }
            }
            next = page.metadata.continue_.filter(|token| !token.is_empty());
            if next.is_none() {
                return Ok(());
            }
        }
    }

    /// Reads an object from the server, not from a cache.
    ///
    /// # Errors
    /// Why not.
    pub async fn get(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Value, CallError> {
        let object = self.objects(kind, namespace).get(name).await?;
        as_json(&object)
    }

    /// Sends a strategic merge patch to a StatefulSet, as a dry-run or for good. `fieldValidation=Strict` turns a field
    /// that the server does not know into an error.
    ///
    /// # Errors
    /// What the server says.
    pub async fn patch(&self, namespace: &str, name: &str, body: &Value, dry_run: bool) -> Result<Value, CallError> {
        let parameters = PatchParams {
            dry_run,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            field_validation: Some(kube::api::ValidationDirective::Strict),
            ..PatchParams::default()
        };
        let api = self.objects(Kind::StatefulSet, Some(namespace));
        let object = api.patch(name, &parameters, &Patch::Strategic(body)).await?;
        as_json(&object)
    }

    /// Asks admission and validation what they would make of a pod. Nothing is created.
    ///
    /// # Errors
    /// What the server says.
    pub async fn dry_run_pod(&self, namespace: &str, pod: &Value) -> Result<Value, CallError> {
        let pod: DynamicObject = serde_json::from_value(pod.clone()).map_err(|error| CallError::Rejected {
            code: 400,
            message: format!("the pod cannot be rendered: {error}"),
        })?;
        let parameters = PostParams { dry_run: true, field_manager: Some(FIELD_MANAGER.to_owned()) };
        let object = self.objects(Kind::Pod, Some(namespace)).create(&parameters, &pod).await?;
        as_json(&object)
    }

    /// The pods that are bound to a node.
    ///
    /// # Errors
    /// Why not.
    pub async fn pods_on_node(&self, node: &str) -> Result<Vec<Value>, CallError> {
        let parameters = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let pods = self.objects(Kind::Pod, None).list(&parameters).await?;
        pods.items.iter().map(as_json).collect()
    }

    /// Writes the status of a policy. The resource version is not sent: the status is ours alone.
    ///
    /// # Errors
    /// Why not.
    pub async fn write_status(&self, policy: &StatusTarget, status: &Value) -> Result<(), CallError> {
        let (kind, namespace) = match &policy.namespace {
            Some(namespace) => (Kind::ProbePolicy, Some(namespace.as_str())),
            None => (Kind::ClusterProbePolicy, None),
        };
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let body = serde_json::json!({ "status": status });
        self.objects(kind, namespace).patch_status(&policy.name, &parameters, &Patch::Merge(&body)).await?;
        Ok(())
    }

    /// Publishes an event on an object.
    ///
    /// # Errors
    /// Why not. An event is a courtesy: the caller goes on.
    pub async fn publish(&self, kind: Kind, object: &Value, event: &Event) -> Result<(), CallError> {
        let metadata: ObjectMeta = object
            .get("metadata")
            .cloned()
            .and_then(|metadata| serde_json::from_value(metadata).ok())
            .unwrap_or_default();
        let resource = kind.resource();
        let reference = k8s_openapi::api::core::v1::ObjectReference {
            api_version: Some(resource.api_version.clone()),
            kind: Some(resource.kind.clone()),
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: None,
            field_path: None,
        };
        self.recorder.publish(event, &reference).await.map_err(CallError::from)
    }
}

/// An object as JSON with all that the server sent.
fn as_json(object: &DynamicObject) -> Result<Value, CallError> {
    serde_json::to_value(object).map_err(|error| CallError::Unavailable {
        message: format!("the answer is no JSON object: {error}"),
        retry_after: None,
    })
}
