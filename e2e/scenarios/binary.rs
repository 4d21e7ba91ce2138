//! The command itself, as a Deployment runs it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::databases::{container, registry_database, registry_policy};
use super::scan::scan;
use super::stage::{NAME, Stage};
use crate::harness::access::Access;
use crate::harness::binaries::Binaries;
use crate::harness::control_plane::Options;
use crate::harness::guardian::Guardian;
use crate::harness::operator::access;
use crate::harness::wait::eventually;
use crate::harness::{Cluster, Context, Failure};

const REPRIEVE: &str = env!("CARGO_BIN_EXE_reprieve");

/// Kubernetes kills after thirty seconds.
const GRACE: Duration = Duration::from_secs(30);

/// It patches the incident as the account of `config/rbac`, logs JSON, and goes when it is told to.
pub async fn it_patches_the_incident_and_ends_on_sigterm(cluster: &Cluster) -> Result<(), Failure> {
    let mut stage = Stage::open(cluster, "binary").await?;
    stage.create(registry_database(NAME)).await?;
    let pod = stage.new_pod().await?;
    let report = cluster.kubelet().reports_restarts(&pod, 42).at(stage.address);
    report.last_exit(137).lived_seconds(342).still_starting().await?;
    stage.policy(registry_policy("Enforce")).await?;

    let mut guardian = Guardian::new("operator")?;
    access(cluster).await?.write_kubeconfig(&guardian.folder().join("kubeconfig"))?;
    let arguments =
        ["run", "--kubeconfig", "kubeconfig", "--namespace", stage.namespace.name(), "--log-format", "json"];
    let process_id = guardian.start("log", Path::new(REPRIEVE), &arguments.map(str::to_owned))?;
    stage.written().await?;
    let database = stage.live().await?;
    assert_eq!(container(&database)["livenessProbe"]["tcpSocket"]["port"], 5432);

    let log = std::fs::read_to_string(guardian.folder().join("log"))?;
    for line in log.lines() {
        let _: serde_json::Value = serde_json::from_str(line).context(format_args!("no JSON: {line}"))?;
    }
    assert!(log.contains("\"reason\":\"Applied\""), "{log}");

    let killed = std::process::Command::new("kill").args(["-s", "TERM", &process_id.to_string()]).status()?;
    assert!(killed.success());
    let guardian = std::sync::Mutex::new(guardian);
    let ended = eventually("the operator to end", async || {
        guardian.lock().unwrap_or_else(std::sync::PoisonError::into_inner).ended(process_id)
    })
    .await?;
    assert_eq!(ended, "exit status: 0");
    Ok(())
}

/// Each of these is somebody's first try.
pub async fn it_says_why_it_does_not_start() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("kubeconfig");
    let said = does_not_start(&file).await?;
    assert!(said.contains(&format!("error: cannot use the kubeconfig {}", file.display())), "{said}");
    assert!(said.contains("No such file"), "{said}");

    std::fs::write(&file, "clusters: {")?;
    let said = does_not_start(&file).await?;
    assert!(said.contains("cannot use the kubeconfig"), "{said}");

    // Port 9 refuses.
    access_to("https://127.0.0.1:9", &file)?;
    let said = does_not_start(&file).await?;
    let sentence = "cannot list probepolicies.reprieve.dev from the API server https://127.0.0.1:9: is it up";
    assert!(said.contains(sentence) && said.contains("Connection refused"), "{said}");
    assert!(!said.contains('\u{1b}'), "no colours in a file: {said}");

    // One that takes the connection and says nothing.
    let silent = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    access_to(&format!("https://{}", silent.local_addr()?), &file)?;
    let said = does_not_start(&file).await?;
    assert!(said.contains("cannot list probepolicies.reprieve.dev from the API server"), "{said}");
    Ok(())
}

/// The server is there, the custom resources are not.
pub async fn it_says_what_to_install(binaries: &Binaries) -> Result<(), Failure> {
    let cluster = Cluster::from_binaries(binaries, &Options::default()).await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("kubeconfig");
    cluster.access().write_kubeconfig(&file)?;
    let said = does_not_start(&file).await?;
    assert!(said.contains("the server knows no probepolicies.reprieve.dev"), "{said}");
    assert!(said.contains("`reprieve crds | kubectl apply -f -`"), "{said}");

    // A scan needs none of it.
    let (code, report) = scan(&file, "default").await?;
    assert_eq!((code, &report["unread"]), (0, &serde_json::json!([])), "{report:#}");

    // What it says helps.
    let crds = Command::new(REPRIEVE).arg("crds").output().await?;
    cluster.kubectl(&["apply", "--filename", "-"], &String::from_utf8_lossy(&crds.stdout)).await?;
    let mut guardian = Guardian::new("operator")?;
    let arguments = ["run", "--kubeconfig", &file.display().to_string()].map(str::to_owned);
    guardian.start("log", Path::new(REPRIEVE), &arguments)?;
    let log = guardian.folder().join("log");
    eventually("it to watch", async || Ok(std::fs::read_to_string(&log)?.contains("watching").then_some(()))).await
}

fn access_to(server: &str, file: &Path) -> Result<(), Failure> {
    let authority = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    Access::with_token(server, &authority.cert.pem(), "nobody")?.write_kubeconfig(file)
}

/// Runs it with that kubeconfig and returns what it says on standard error, having ended with 2 in time.
async fn does_not_start(kubeconfig: &Path) -> Result<String, Failure> {
    let run = Command::new(REPRIEVE)
        .args(["run", "--namespace", "default", "--kubeconfig"])
        .arg(kubeconfig)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(GRACE, run).await.context("it hangs")??;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    Ok(said)
}
