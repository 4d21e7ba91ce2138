//! `reprieve run`: the controller.

use std::path::PathBuf;

use tokio::signal::unix::{SignalKind, signal};

use super::{Error, Outcome};
use crate::cluster::{ConnectOptions, connect};
use crate::controller;
use crate::telemetry::{LogFormat, start_logging};

/// Watch the cluster: find databases that their probes would kill, report them, and patch those whose policy says so.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Use this kubeconfig instead of $KUBECONFIG, ~/.kube/config or the pod's service account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Use this context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Look at this namespace only. Cluster policies still count for it.
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// How log lines look.
    #[arg(long, value_enum, default_value_t)]
    log_format: LogFormat,
    /// Which log lines to write, as in `info,reprieve=debug`.
    #[arg(long, value_name = "FILTER", default_value = "info", env = "RUST_LOG")]
    log: String,
}

pub(super) fn run(args: Args) -> Result<Outcome, Error> {
    start_logging(args.log_format, &args.log).map_err(Error::LogFilter)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Error::Start)?;
    runtime.block_on(async {
        let cluster = connect(&ConnectOptions { kubeconfig: args.kubeconfig, context: args.context }).await?;
        let cluster = cluster.within(args.namespace);
        let mut terminate = signal(SignalKind::terminate()).map_err(Error::Start)?;
        let shutdown = async move {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            tracing::info!("shutting down after the reconciles under way");
        };
        controller::run(cluster, controller::Options::default(), shutdown).await?;
        Ok(Outcome::Clean)
    })
}
