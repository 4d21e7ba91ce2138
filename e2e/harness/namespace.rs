use std::sync::{Mutex, PoisonError, Weak};

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use tokio::task::JoinHandle;

use super::access::Access;
use super::account::Account;
use super::failure::{Context, Failure};
use super::wait::eventually;

/// A namespace that one scenario has to itself. Deleted when dropped.
pub struct Namespace {
    name: String,
    uid: String,
    client: Client,
    access: Access,
    departures: Weak<Departures>,
}

impl Namespace {
    pub(super) async fn create(
        client: Client,
        access: Access,
        departures: Weak<Departures>,
        prefix: &str,
    ) -> Result<Self, Failure> {
        let wanted = core::Namespace {
            metadata: ObjectMeta { generate_name: Some(format!("{prefix}-")), ..ObjectMeta::default() },
            ..core::Namespace::default()
        };
        let created = Api::<core::Namespace>::all(client.clone())
            .create(&PostParams::default(), &wanted)
            .await
            .context(format_args!("cannot create a namespace {prefix}-…"))?;
        let namespace =
            Self { name: created.name_any(), uid: created.uid().unwrap_or_default(), client, access, departures };
        // Admission refuses pods until it is there.
        let accounts = namespace.api::<core::ServiceAccount>();
        let what = format!("the service account \"default\" in {}", namespace.name);
        eventually(&what, async || Ok(accounts.get_opt("default").await?)).await?;
        Ok(namespace)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The administrator's client.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The administrator's view of one kind in this namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// Put on a cluster-wide object, it makes that object go with this namespace.
    pub fn owner_reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
            name: self.name.clone(),
            uid: self.uid.clone(),
            ..OwnerReference::default()
        }
    }

    /// Makes a service account here that may do nothing yet.
    pub async fn account(&self, name: &str) -> Result<Account, Failure> {
        Account::create(self, &self.access, name).await
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Without its cluster it is gone already.
        let Some(departures) = self.departures.upgrade() else {
            return;
        };
        let namespaces = Api::<core::Namespace>::all(self.client.clone());
        let name = self.name.clone();
        departures.begin(async move {
            if let Err(error) = namespaces.delete(&name, &DeleteParams::default()).await {
                eprintln!("cannot delete the namespace {name}: {error}");
                return;
            }
            let gone = format!("the end of the namespace {name}");
            let end = eventually(&gone, async || Ok(namespaces.get_opt(&name).await?.is_none().then_some(()))).await;
            if let Err(failure) = end {
                eprintln!("{failure}");
            }
        });
    }
}

/// Namespaces on their way out. A destructor cannot wait for them, the end of the run can. Those that are not waited
/// for are given up, since their cluster ends too.
#[derive(Default)]
pub(super) struct Departures {
    under_way: Mutex<Vec<JoinHandle<()>>>,
}

impl Departures {
    fn begin(&self, departure: impl Future<Output = ()> + Send + 'static) {
        // Dropped outside of a runtime there is nothing that could delete it, and nothing left that needs it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let task = runtime.spawn(departure);
            self.under_way.lock().unwrap_or_else(PoisonError::into_inner).push(task);
        }
    }

    pub(super) async fn wait(&self) {
        let tasks = std::mem::take(&mut *self.under_way.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            let _ = task.await;
        }
    }
}

impl Drop for Departures {
    fn drop(&mut self) {
        let tasks = self.under_way.get_mut().unwrap_or_else(PoisonError::into_inner);
        for task in tasks {
            task.abort();
        }
    }
}
