use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use kube::Client;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::OnceCell;

use super::access::Access;
use super::binaries::{Binaries, Source};
use super::control_plane::{ControlPlane, Options};
use super::failure::{Context, Failure};
use super::kubelet::Kubelet;
use super::namespace::{Departures, Namespace};
use super::operator;

/// The cluster on which scenarios run side by side, each in namespaces of its own.
pub struct Cluster {
    access: Access,
    client: Client,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
    departures: Arc<Departures>,
    control_plane: Option<ControlPlane>,
    installed: OnceCell<()>,
}

impl Cluster {
    /// Starts a control plane, or connects to the cluster that `E2E_KUBECONFIG` names.
    pub async fn start(source: &Source, options: &Options) -> Result<Self, Failure> {
        // More than one provider may be linked; rustls then refuses to choose. An error only says that one is
        // installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        if let Source::Kubeconfig(kubeconfig) = source {
            let access = Access::from_file(kubeconfig)?;
            return Ok(Self {
                client: access.client().await?,
                access,
                kubeconfig: kubeconfig.clone(),
                kubectl: PathBuf::from("kubectl"),
                departures: Arc::default(),
                control_plane: None,
                installed: OnceCell::new(),
            });
        }
        let binaries = tokio::task::block_in_place(|| source.binaries())?;
        Self::from_binaries(&binaries, options).await
    }

    /// Starts a control plane from binaries that were found before.
    pub async fn from_binaries(binaries: &Binaries, options: &Options) -> Result<Self, Failure> {
        let control_plane = ControlPlane::start(binaries, options).await?;
        let access = control_plane.admin().clone();
        Ok(Self {
            client: access.client().await?,
            access,
            kubeconfig: control_plane.folder().join("admin.kubeconfig"),
            kubectl: binaries.kubectl().unwrap_or_else(|| PathBuf::from("kubectl")),
            departures: Arc::default(),
            control_plane: Some(control_plane),
            installed: OnceCell::new(),
        })
    }

    /// A client that may do everything.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The access behind that client.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// The control plane, for scenarios that look behind the API; an error on somebody else's cluster.
    pub fn control_plane(&self) -> Result<&ControlPlane, Failure> {
        self.control_plane.as_ref().ok_or_else(|| {
            Failure::new("this scenario needs a control plane of its own; unset E2E_KUBECONFIG to run it")
        })
    }

    /// The same for scenarios that stop and start its parts.
    pub fn control_plane_mut(&mut self) -> Result<&mut ControlPlane, Failure> {
        self.control_plane.as_mut().ok_or_else(|| {
            Failure::new("this scenario needs a control plane of its own; unset E2E_KUBECONFIG to run it")
        })
    }

    /// The kubelet that the scenario plays.
    pub fn kubelet(&self) -> Kubelet {
        Kubelet::new(self.client())
    }

    /// Makes a namespace with a unique name, and returns when pods can be created in it. It is deleted when the value
    /// is dropped.
    pub async fn namespace(&self, prefix: &str) -> Result<Namespace, Failure> {
        Namespace::create(self.client(), self.access.clone(), Arc::downgrade(&self.departures), prefix).await
    }

    /// Runs the real kubectl as administrator, with `input` on its standard input, and returns what it prints.
    pub async fn kubectl(&self, arguments: &[&str], input: &str) -> Result<String, Failure> {
        let mut kubectl = Command::new(&self.kubectl)
            .arg(format!("--kubeconfig={}", self.kubeconfig.display()))
            // The default is in the home folder, and would mix this cluster's resources with others'.
            .arg(format!("--cache-dir={}", self.kubeconfig.with_extension("cache").display()))
            .args(arguments)
            .env("KUBERC", "off")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start kubectl; have it on the PATH, or let Go build the control plane")?;
        if let Some(mut stdin) = kubectl.stdin.take() {
            stdin.write_all(input.as_bytes()).await.context("kubectl did not read its input")?;
        }
        let output = kubectl.wait_with_output().await?;
        if !output.status.success() {
            return Err(Failure::new(format!(
                "kubectl {} failed ({}): {}",
                arguments.join(" "),
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            )));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Installs the custom resources and `config/rbac`, once.
    pub async fn with_reprieve(&self) -> Result<(), Failure> {
        self.installed.get_or_try_init(|| operator::install(&self.client)).await.copied()
    }

    /// Ends the use of this cluster. A control plane of ours just goes; on somebody else's the namespaces that are on
    /// their way out are waited for.
    pub async fn finish(self) {
        if self.control_plane.is_none() {
            self.departures.wait().await;
        }
    }

    /// Lets the control plane outlive this program; see [`ControlPlane::keep`].
    pub fn keep(self) -> Result<(PathBuf, Vec<u32>), Failure> {
        match self.control_plane {
            Some(control_plane) => control_plane.keep(),
            None => Ok((self.kubeconfig, Vec::new())),
        }
    }
}
