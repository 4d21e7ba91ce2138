//! The connection: how it is found, and how long it may be silent.

use std::path::PathBuf;
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tower::layer::util::Stack;
use tower::timeout::TimeoutLayer;
use tower_http::timeout::ResponseBodyTimeoutLayer;

use super::Cluster;

/// Until the head of an answer. Above what a slow LIST of a large cluster needs.
const HEAD: Duration = Duration::from_secs(25);
/// Between two frames of a body. A watch has a bookmark about every minute, and the timer also runs while nobody
/// reads, so this is a minute plus the longest pause of a consumer.
const SILENCE: Duration = Duration::from_secs(110);

/// Where the API server is.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// This kubeconfig instead of `KUBECONFIG`, `~/.kube/config` or the pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// This context of it.
    pub context: Option<String>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig that was named cannot be used.
    #[error("cannot use the kubeconfig {path}")]
    Kubeconfig {
        /// Which one.
        path: String,
        /// What is wrong with it.
        source: kube::config::KubeconfigError,
    },
    /// There is no kubeconfig, and this is no pod either.
    #[error("found no cluster: set KUBECONFIG, pass --kubeconfig FILE, or run inside a cluster")]
    NoCluster(#[source] kube::config::InferConfigError),
    /// The configuration was read and cannot be used.
    #[error("cannot connect with this configuration")]
    Client(#[source] kube::Error),
}

/// Connects. No call through the result can hang, and none is repeated behind the caller's back: kube's own retries
/// would hide a server that asks for patience for minutes.
///
/// # Errors
/// When there is no usable configuration. Nothing is sent yet.
pub async fn connect(options: &ConnectOptions) -> Result<Cluster, ConnectError> {
    let how = KubeConfigOptions { context: options.context.clone(), ..KubeConfigOptions::default() };
    let mut config = match &options.kubeconfig {
        Some(path) => {
            let wrong = |source| ConnectError::Kubeconfig { path: path.display().to_string(), source };
            let kubeconfig = Kubeconfig::read_from(path).map_err(wrong)?;
            kube::Config::from_custom_kubeconfig(kubeconfig, &how).await.map_err(wrong)?
        }
        None if options.context.is_some() => kube::Config::from_kubeconfig(&how)
            .await
            .map_err(|source| ConnectError::Kubeconfig { path: "in use".to_owned(), source })?,
        None => kube::Config::infer().await.map_err(ConnectError::NoCluster)?,
    };
    config.default_retry = false;
    let kubeconfig = options.kubeconfig.as_ref().map_or_else(Kubeconfig::read, Kubeconfig::read_from);
    // Inside a pod there is none.
    let current = kubeconfig.ok().and_then(|kubeconfig| kubeconfig.current_context);
    let server = config.cluster_url.to_string();
    let client = ClientBuilder::try_from(config).map_err(ConnectError::Client)?.with_layer(&patience()).build();
    Ok(Cluster::from_client(client).at(&server, options.context.clone().or(current)))
}

/// How long an answer may take to begin, and to go on. Around any service that stands for an API server.
#[must_use]
pub fn patience() -> Stack<ResponseBodyTimeoutLayer, TimeoutLayer> {
    Stack::new(ResponseBodyTimeoutLayer::new(SILENCE), TimeoutLayer::new(HEAD))
}
