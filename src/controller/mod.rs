//! The reconcile shell: watches in, effects out. What is done and in which order is decided in [`crate::core`].
//!
//! ```text
//! watches ─► stores ─► triggers ─► reconcile ─► core::step ⇄ effects ─► ledger ─► policy status
//!                                      └──────────────────────────────────└──────► events
//! ```

mod effects;
mod events;
mod ledger;
mod reconcile;
mod status;
mod stores;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::runtime::Controller;
use kube::runtime::controller::{Action, Config};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::cluster::{CallError, Cluster, Kind};
use ledger::Ledger;
use reconcile::Context;
use stores::Stores;

/// What can be set from outside.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How often a workload is looked at although nothing changed.
    pub resync: Duration,
    /// The clock.
    pub now: fn() -> jiff::Timestamp,
}

impl Default for Options {
    fn default() -> Self {
        Self { resync: Duration::from_secs(600), now: jiff::Timestamp::now }
    }
}

/// Why the controller cannot work at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server does not know our kinds.
    #[error("the server knows no {0}: install the custom resources first, `reprieve crds | kubectl apply -f -`")]
    NotInstalled(String),
    /// The account may not read the policies.
    #[error("the account may not list {kind} {place}: apply config/rbac, or bind the ClusterRole reprieve to it")]
    NotAllowed {
        /// The plural of the kind.
        kind: String,
        /// Where.
        place: String,
        /// What the server says.
        source: CallError,
    },
    /// The server does not answer.
    #[error("cannot list {kind} from {server}: is it up, and is this the right kubeconfig?")]
    Unreachable {
        /// The plural of the kind.
        kind: String,
        /// Where the server is.
        server: String,
        /// What happened.
        source: CallError,
    },
    /// A watch or the status writer ended, which they never should.
    #[error("an inner task ended: {0}; restart the operator")]
    TaskEnded(String),
}

/// Runs until `shutdown` is done, then finishes the reconciles under way.
///
/// # Errors
/// When the policies cannot be read at the start, or an inner task ends.
pub async fn run(
    cluster: Cluster,
    options: Options,
    shutdown: impl Future<Output = ()> + Send + Sync + 'static,
) -> Result<(), Error> {
    for kind in [Kind::ProbePolicy, Kind::ClusterProbePolicy] {
        cluster.probe(kind).await.map_err(|source| match source {
            CallError::Gone(_) => Error::NotInstalled(kind.plural()),
            CallError::Forbidden(_) => Error::NotAllowed { kind: kind.plural(), place: cluster.place(kind), source },
            _ => Error::Unreachable { kind: kind.plural(), server: cluster.server().to_owned(), source },
        })?;
    }
    let dirty = Arc::new(Notify::new());
    let mut tasks = JoinSet::new();
    let ledger = Arc::new(Ledger::new(dirty.clone()));
    let (stores, triggers) = Stores::start(&cluster, &ledger, &dirty, &mut tasks);
    let stores = Arc::new(stores);
    tasks.spawn(status::keep_writing(cluster.clone(), stores.clone(), ledger.clone(), dirty, options.now));

    let context = Arc::new(Context::new(cluster, stores.clone(), ledger, options));
    let controller = Controller::for_shared_stream_with(
        // All triggers come through one channel; see the module of the watches for the reason.
        futures::stream::pending(),
        stores.workloads.clone(),
        Kind::StatefulSet.resource(),
    )
    .reconcile_on(triggers)
    .with_config(Config::default().concurrency(8))
    .graceful_shutdown_on(shutdown)
    .run(reconcile::reconcile, |_, never, _: Arc<Context>| -> Action { match *never {} }, context)
    .for_each(|result| async move {
        if let Err(error) = result {
            // A workload that was deleted between its trigger and its turn.
            tracing::debug!(%error, "nothing to reconcile");
        }
    });
    tracing::info!("watching");
    tokio::select! {
        () = controller => Ok(()),
        ended = tasks.join_next() => Err(Error::TaskEnded(match ended {
            Some(Err(error)) => error.to_string(),
            _ => "it returned".to_owned(),
        })),
    }
}
