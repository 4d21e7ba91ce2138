use std::path::Path;
use std::time::Duration;

use k8s_openapi::ByteString;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

use super::failure::{Context, Failure};

/// Bookmarks arrive about once a minute, so a connection that is silent for longer is dead.
const SILENCE: Duration = Duration::from_secs(100);

/// Where an API server listens and whom it is to believe us to be.
#[derive(Clone)]
pub struct Access {
    kubeconfig: Kubeconfig,
}

impl Access {
    /// Access with a bearer token to a server whose certificate was signed by `authority` (PEM).
    pub fn with_token(server: &str, authority: &str, token: &str) -> Result<Self, Failure> {
        let kubeconfig = serde_json::from_value(json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": {
                "server": server,
                "certificate-authority-data": ByteString(authority.as_bytes().to_vec()),
            }}],
            "users": [{"name": "e2e", "user": {"token": token}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
            "current-context": "e2e",
        }))?;
        Ok(Self { kubeconfig })
    }

    /// The access that a kubeconfig file gives in its current context.
    pub fn from_file(path: &Path) -> Result<Self, Failure> {
        let kubeconfig =
            Kubeconfig::read_from(path).context(format_args!("cannot read the kubeconfig {}", path.display()))?;
        Ok(Self { kubeconfig })
    }

    /// The same server, as the owner of another token.
    pub fn as_bearer(&self, token: &str) -> Result<Self, Failure> {
        let mut kubeconfig = self.kubeconfig.clone();
        let context_name = kubeconfig.current_context.clone().unwrap_or_default();
        let context = kubeconfig
            .contexts
            .iter()
            .find(|context| context.name == context_name)
            .and_then(|named| named.context.clone())
            .ok_or_else(|| Failure::new(format!("the kubeconfig has no context \"{context_name}\"")))?;
        let user = json!({"name": "bearer", "user": {"token": token}});
        kubeconfig.auth_infos = vec![serde_json::from_value(user)?];
        let context = json!({"name": "bearer", "context": {"cluster": context.cluster, "user": "bearer"}});
        kubeconfig.contexts = vec![serde_json::from_value(context)?];
        kubeconfig.current_context = Some("bearer".to_owned());
        Ok(Self { kubeconfig })
    }

    /// Writes a kubeconfig for programs that run beside the test, such as the operator's own binary or kubectl.
    pub fn write_kubeconfig(&self, path: &Path) -> Result<(), Failure> {
        // JSON is YAML too.
        let text = serde_json::to_string_pretty(&self.kubeconfig)?;
        std::fs::write(path, text).context(format_args!("cannot write {}", path.display()))
    }

    /// A client configuration that hides nothing: no retries behind the caller's back, no waiting for ever.
    pub async fn config(&self) -> Result<Config, Failure> {
        let mut config = Config::from_custom_kubeconfig(self.kubeconfig.clone(), &KubeConfigOptions::default()).await?;
        config.default_retry = false;
        config.read_timeout = Some(SILENCE);
        config.reset_reader_on_write = true;
        Ok(config)
    }

    /// A client with that configuration.
    pub async fn client(&self) -> Result<Client, Failure> {
        Ok(Client::try_from(self.config().await?)?)
    }
}
