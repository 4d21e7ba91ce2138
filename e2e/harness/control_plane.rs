use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use http::Request;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client, Config};
use serde_json::{Value, json};

use super::access::Access;
use super::binaries::{Binaries, tail};
use super::certificates::Certificates;
use super::failure::{Context, Failure};
use super::guardian::Guardian;

const START_DEADLINE: Duration = Duration::from_secs(120);

/// What the scenarios need and no more: nothing that evicts, schedules or scales.
const CONTROLLERS: [&str; 12] = [
    "clusterrole-aggregation-controller",
    "deployment-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "statefulset-controller",
    "validatingadmissionpolicy-status-controller",
];

/// How a control plane differs from the usual one.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Behave as an older minor version does, for example `1.33`.
    pub emulated_version: Option<String>,
    /// Further arguments of kube-apiserver.
    pub apiserver_arguments: Vec<String>,
    /// An `audit.k8s.io/v1` Policy; with it every request it selects is a line of [`ControlPlane::audit_log`].
    pub audit_policy: Option<Value>,
}

/// etcd, kube-apiserver and kube-controller-manager on free loopback ports, with a folder of their own. All of it is
/// gone when this value or the whole program is gone.
pub struct ControlPlane {
    guardian: Guardian,
    admin: Access,
    etcd_url: String,
    apiserver: Part,
    others: Vec<Part>,
}

/// One program of the control plane, with what is needed to start it again.
struct Part {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    process_id: u32,
}

impl ControlPlane {
    /// Starts one and returns when it serves requests and its controllers work.
    pub async fn start(binaries: &Binaries, options: &Options) -> Result<Self, Failure> {
        let mut attempts_left = 3;
        loop {
            attempts_left -= 1;
            match Self::start_once(binaries, options).await {
                // A port that was free when we looked may be taken when it is bound.
                Err(failure) if attempts_left > 0 && failure.to_string().contains("address already in use") => {
                    eprintln!("control plane: a port was taken by somebody else; starting again");
                }
                result => return result,
            }
        }
    }

    async fn start_once(binaries: &Binaries, options: &Options) -> Result<Self, Failure> {
        let mut guardian = Guardian::new("control-plane")?;
        let folder = guardian.folder().to_path_buf();
        let certificates = Certificates::create_in(&folder)?;
        let [client_port, peer_port, secure_port] = free_ports()?;
        let etcd_url = format!("http://127.0.0.1:{client_port}");
        let admin_token = format!("admin-{}-{secure_port}", std::process::id());
        std::fs::write(folder.join("tokens.csv"), format!("{admin_token},admin,admin,system:masters\n"))?;
        let server = format!("https://127.0.0.1:{secure_port}");
        let admin = Access::with_token(&server, &certificates.authority, &admin_token)?;
        let kubeconfig = folder.join("admin.kubeconfig");
        admin.write_kubeconfig(&kubeconfig)?;

        let etcd_arguments = etcd_arguments(&etcd_url, &format!("http://127.0.0.1:{peer_port}"));
        let apiserver_arguments = apiserver_arguments(&folder, &etcd_url, secure_port, &certificates, options)?;
        let manager_arguments = controller_manager_arguments(&kubeconfig, &certificates, options);

        let etcd = Part::start(&mut guardian, "etcd", binaries.etcd(), etcd_arguments)?;
        let apiserver = Part::start(&mut guardian, "kube-apiserver", binaries.kube_apiserver(), apiserver_arguments)?;
        let mut control_plane = Self { guardian, admin, etcd_url, apiserver, others: vec![etcd] };
        control_plane.wait_for_apiserver().await?;

        let manager = Part::start(
            &mut control_plane.guardian,
            "kube-controller-manager",
            binaries.kube_controller_manager(),
            manager_arguments,
        )?;
        control_plane.others.push(manager);
        let accounts: Api<ServiceAccount> = Api::namespaced(control_plane.admin.client().await?, "default");
        control_plane
            .wait_until("the controllers work", async || accounts.get("default").await.map(drop).map_err(Failure::from))
            .await?;
        Ok(control_plane)
    }

    /// Access as a member of `system:masters`.
    pub fn admin(&self) -> &Access {
        &self.admin
    }

    /// The folder with logs, keys and `admin.kubeconfig`.
    pub fn folder(&self) -> &Path {
        self.guardian.folder()
    }

    /// One JSON line for each request that [`Options::audit_policy`] selects.
    pub fn audit_log(&self) -> PathBuf {
        self.folder().join("audit.log")
    }

    /// Stores an object past the API server, as JSON under its full key, `/registry/RESOURCE[/NAMESPACE]/NAME`.
    ///
    /// Clusters that were upgraded for years hold objects which no server of today would accept. This makes one.
    pub async fn etcd_put(&self, key: &str, object: &Value) -> Result<(), Failure> {
        let etcd = Client::try_from(Config::new(self.etcd_url.parse()?))?;
        let put = json!({
            "key": ByteString(key.as_bytes().to_vec()),
            "value": ByteString(serde_json::to_vec(object)?),
        });
        let request = Request::post("/v3/kv/put").body(serde_json::to_vec(&put)?)?;
        let answer: Value = etcd.request(request).await.context(format_args!("etcd does not take {key}"))?;
        if answer.pointer("/header/revision").is_none() {
            return Err(Failure::new(format!("etcd did not store {key}: {answer}")));
        }
        Ok(())
    }

    /// Kills the API server: connections break, new ones are refused.
    pub fn stop_apiserver(&mut self) -> Result<(), Failure> {
        self.guardian.stop(self.apiserver.process_id)
    }

    /// Starts it again on the same port, with the same data.
    pub async fn start_apiserver(&mut self) -> Result<(), Failure> {
        self.apiserver.start_again(&mut self.guardian)?;
        self.wait_for_apiserver().await
    }

    /// Makes the API server silent: connections stay open, nobody answers.
    pub fn freeze_apiserver(&self) -> Result<(), Failure> {
        signal("STOP", self.apiserver.process_id)
    }

    /// Lets it go on where it was.
    pub fn thaw_apiserver(&self) -> Result<(), Failure> {
        signal("CONT", self.apiserver.process_id)
    }

    /// Lets it all outlive this program, and returns its folder. Whoever wants it gone kills the process ids, which
    /// come with it, and removes the folder.
    pub fn keep(self) -> Result<(PathBuf, Vec<u32>), Failure> {
        let process_ids = self.others.iter().chain([&self.apiserver]).map(|part| part.process_id).collect();
        Ok((self.guardian.keep()?, process_ids))
    }

    async fn wait_for_apiserver(&mut self) -> Result<(), Failure> {
        let client = self.admin.client().await?;
        self.wait_until("the API server is ready", async || {
            let request = Request::get("/readyz").body(Vec::new())?;
            client.request_text(request).await.map(drop).map_err(Failure::from)
        })
        .await
    }

    /// Waits while every part lives. Says what it waits for when that takes long, and shows the log of what died.
    async fn wait_until(&mut self, what: &str, reached: impl AsyncFn() -> Result<(), Failure>) -> Result<(), Failure> {
        let started = Instant::now();
        let mut announced = Duration::ZERO;
        loop {
            let Err(not_yet) = reached().await else {
                return Ok(());
            };
            for part in self.others.iter().chain([&self.apiserver]) {
                if let Some(status) = self.guardian.ended(part.process_id)? {
                    return Err(Failure::new(format!(
                        "{} ended ({status}) before {what}. The end of its log:\n{}",
                        part.name,
                        tail(&part.log_file(self.guardian.folder()), 30)
                    )));
                }
            }
            if started.elapsed() > START_DEADLINE {
                let last = self.others.last().filter(|part| part.name != "etcd").unwrap_or(&self.apiserver);
                return Err(Failure::new(format!(
                    "waited {} s in vain until {what}: {not_yet}\nThe end of {}'s log:\n{}",
                    START_DEADLINE.as_secs(),
                    last.name,
                    tail(&last.log_file(self.guardian.folder()), 30)
                )));
            }
            if started.elapsed() >= announced + Duration::from_secs(2) {
                announced = started.elapsed();
                eprintln!("control plane: waiting until {what}, {} s", announced.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Part {
    fn start(
        guardian: &mut Guardian,
        name: &'static str,
        program: PathBuf,
        arguments: Vec<String>,
    ) -> Result<Self, Failure> {
        let mut part = Self { name, program, arguments, process_id: 0 };
        part.start_again(guardian)?;
        Ok(part)
    }

    fn start_again(&mut self, guardian: &mut Guardian) -> Result<(), Failure> {
        self.process_id = guardian.start(&format!("{}.log", self.name), &self.program, &self.arguments)?;
        Ok(())
    }

    fn log_file(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.log", self.name))
    }
}

fn etcd_arguments(client_url: &str, peer_url: &str) -> Vec<String> {
    vec![
        "--name=e2e".to_owned(),
        "--data-dir=etcd".to_owned(),
        format!("--listen-client-urls={client_url}"),
        format!("--advertise-client-urls={client_url}"),
        format!("--listen-peer-urls={peer_url}"),
        format!("--initial-advertise-peer-urls={peer_url}"),
        format!("--initial-cluster=e2e={peer_url}"),
        "--log-level=warn".to_owned(),
        // Nothing here has to survive a power cut, and syncing is most of what etcd does on a small machine.
        "--unsafe-no-fsync".to_owned(),
    ]
}

fn apiserver_arguments(
    folder: &Path,
    etcd_url: &str,
    port: u16,
    certificates: &Certificates,
    options: &Options,
) -> Result<Vec<String>, Failure> {
    let mut arguments = vec![
        format!("--etcd-servers={etcd_url}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--cert-dir={}", folder.display()),
        format!("--tls-cert-file={}", certificates.serving_certificate.display()),
        format!("--tls-private-key-file={}", certificates.serving_key.display()),
        format!("--token-auth-file={}", folder.join("tokens.csv").display()),
        "--authorization-mode=RBAC".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-signing-key-file={}", certificates.account_key.display()),
        format!("--service-account-key-file={}", certificates.account_public_key.display()),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--allow-privileged=true".to_owned(),
        // The Service "kubernetes" cannot have a loopback endpoint, and nobody uses it.
        "--endpoint-reconciler-type=none".to_owned(),
    ];
    if let Some(version) = &options.emulated_version {
        arguments.push(format!("--emulated-version=kube={version}"));
    }
    if let Some(policy) = &options.audit_policy {
        let path = folder.join("audit-policy.json");
        std::fs::write(&path, serde_json::to_string_pretty(policy)?)?;
        arguments.push(format!("--audit-policy-file={}", path.display()));
        arguments.push(format!("--audit-log-path={}", folder.join("audit.log").display()));
    }
    arguments.extend(options.apiserver_arguments.iter().cloned());
    Ok(arguments)
}

fn controller_manager_arguments(kubeconfig: &Path, certificates: &Certificates, options: &Options) -> Vec<String> {
    let mut arguments = vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--controllers={}", CONTROLLERS.join(",")),
        "--leader-elect=false".to_owned(),
        // Serves nothing; two control planes would otherwise fight over its fixed port.
        "--secure-port=0".to_owned(),
        // As in a real cluster: each controller is a service account of its own, and looks like one to admission.
        "--use-service-account-credentials=true".to_owned(),
        format!("--service-account-private-key-file={}", certificates.account_key.display()),
        format!("--root-ca-file={}", certificates.authority_file.display()),
        // Several scenarios share it; the default of 20 requests a second makes them wait for each other.
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
    ];
    if let Some(version) = &options.emulated_version {
        arguments.push(format!("--emulated-version=kube={version}"));
    }
    arguments
}

/// Different ports that nobody uses now. All are held until all are known.
fn free_ports<const COUNT: usize>() -> Result<[u16; COUNT], Failure> {
    let mut listeners = Vec::with_capacity(COUNT);
    let mut ports = [0; COUNT];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot bind a loopback port")?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

/// The standard library can only kill.
fn signal(name: &str, process_id: u32) -> Result<(), Failure> {
    let status =
        Command::new("kill").args(["-s", name, &process_id.to_string()]).status().context("cannot run kill")?;
    if !status.success() {
        return Err(Failure::new(format!("kill -s {name} {process_id} failed ({status})")));
    }
    Ok(())
}
