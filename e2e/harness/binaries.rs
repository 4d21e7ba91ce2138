use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::failure::{Context, Failure};

const PARTS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"];

/// Where the control plane for the scenarios comes from.
pub enum Source {
    /// A cluster that somebody else runs (`E2E_KUBECONFIG`); nothing is started.
    Kubeconfig(PathBuf),
    /// A folder of ready binaries (`KUBEBUILDER_ASSETS`).
    Assets(PathBuf),
    /// The Go program in `e2e/control-plane`, built when it is first needed.
    Build,
    /// None of them. The text says in one line what to install or set.
    Nothing(String),
}

impl Source {
    /// Looks at the environment; builds and starts nothing.
    pub fn find() -> Self {
        if let Some(kubeconfig) = std::env::var_os("E2E_KUBECONFIG") {
            return Self::Kubeconfig(kubeconfig.into());
        }
        if let Some(folder) = std::env::var_os("KUBEBUILDER_ASSETS") {
            return Self::Assets(folder.into());
        }
        let go = Command::new("go").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        match go {
            Ok(status) if status.success() => Self::Build,
            _ => Self::Nothing(
                "no control plane: install Go (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a folder with etcd, \
                 kube-apiserver and kube-controller-manager, or E2E_KUBECONFIG to the kubeconfig of a test cluster"
                    .to_owned(),
            ),
        }
    }

    /// The folder with the binaries; builds them if need be, which takes minutes the first time.
    pub fn binaries(&self) -> Result<Binaries, Failure> {
        match self {
            Self::Assets(folder) => Binaries::in_folder(folder.clone()),
            Self::Build => build(),
            Self::Kubeconfig(_) => Err(Failure::new(
                "E2E_KUBECONFIG is set, so no control plane of our own is started; unset it for this scenario",
            )),
            Self::Nothing(what_to_do) => Err(Failure::new(what_to_do)),
        }
    }
}

/// A folder with the executables of a control plane.
#[derive(Debug, Clone)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    fn in_folder(folder: PathBuf) -> Result<Self, Failure> {
        for required in ["etcd", "kube-apiserver"] {
            if !folder.join(required).is_file() {
                return Err(Failure::new(format!(
                    "KUBEBUILDER_ASSETS={} has no {required}; fill it with `setup-envtest use`, or unset it and have Go \
                     on the PATH",
                    folder.display()
                )));
            }
        }
        if !folder.join("kube-controller-manager").is_file() {
            return Err(Failure::new(format!(
                "KUBEBUILDER_ASSETS={} has no kube-controller-manager, which envtest does not ship but StatefulSets \
                 need. Put the one of the same version beside the others (https://dl.k8s.io/VERSION/bin/OS/ARCH/\
                 kube-controller-manager), or unset KUBEBUILDER_ASSETS and have Go on the PATH",
                folder.display()
            )));
        }
        Ok(Self { folder })
    }

    /// The etcd server.
    pub fn etcd(&self) -> PathBuf {
        self.folder.join("etcd")
    }

    /// The API server.
    pub fn kube_apiserver(&self) -> PathBuf {
        self.folder.join("kube-apiserver")
    }

    /// The controller manager.
    pub fn kube_controller_manager(&self) -> PathBuf {
        self.folder.join("kube-controller-manager")
    }

    /// kubectl, if this folder has it: the built one has, others may not.
    pub fn kubectl(&self) -> Option<PathBuf> {
        Some(self.folder.join("kubectl")).filter(|path| path.is_file())
    }
}

fn build() -> Result<Binaries, Failure> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/control-plane");
    let linker_flags = linker_flags(&source)?;
    let parent = target_folder().join("control-plane");
    let folder = parent.join(fingerprint(&source, &linker_flags)?);
    let finished = Binaries { folder: folder.clone() };
    if folder.is_dir() {
        return Ok(finished);
    }

    fs::create_dir_all(&parent).context(format_args!("cannot create {}", parent.display()))?;
    let lock = fs::File::create(parent.join("build.lock"))?;
    if lock.try_lock().is_err() {
        eprintln!("control plane: another process builds it; waiting for that");
        lock.lock()?;
    }
    if folder.is_dir() {
        return Ok(finished);
    }

    // Only a whole folder ever gets its final name.
    let unfinished = tempfile::Builder::new().prefix("unfinished-").tempdir_in(&parent)?;
    run_go_build(&source, &linker_flags, unfinished.path())?;
    for part in PARTS {
        std::os::unix::fs::symlink("control-plane", unfinished.path().join(part))?;
    }
    fs::rename(unfinished.path(), &folder)?;
    Ok(finished)
}

fn run_go_build(source: &Path, linker_flags: &str, output: &Path) -> Result<(), Failure> {
    eprintln!(
        "control plane: building etcd, kube-apiserver and kube-controller-manager with Go. About five minutes the first \
         time (1 GB of modules, 3 GB of build cache), seconds later on."
    );
    let log_path = output.join("build.log");
    let log = fs::File::create(&log_path)?;
    let started = Instant::now();
    let mut go = Command::new("go")
        .args(["build", "-trimpath", "-ldflags", linker_flags, "-o"])
        .arg(output.join("control-plane"))
        .arg(".")
        .current_dir(source)
        .env("CGO_ENABLED", "0")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("cannot start go")?;
    let mut announced = Duration::ZERO;
    let status = loop {
        if let Some(status) = go.try_wait()? {
            break status;
        }
        if started.elapsed() >= announced + Duration::from_secs(15) {
            announced = started.elapsed();
            eprintln!("control plane: still building, {} s", announced.as_secs());
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    if !status.success() {
        return Err(Failure::new(format!(
            "`go build` in {} failed ({status}):\n{}",
            source.display(),
            tail(&log_path, 30)
        )));
    }
    eprintln!("control plane: built in {} s", started.elapsed().as_secs());
    Ok(())
}

/// The version texts that a release build gets from the linker. Without them the server calls itself v0.0.0 and
/// refuses `--emulated-version`.
fn linker_flags(source: &Path) -> Result<String, Failure> {
    let go_mod = fs::read_to_string(source.join("go.mod")).context("cannot read e2e/control-plane/go.mod")?;
    let version = go_mod
        .lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "))
        .and_then(|version| version.split_whitespace().next())
        .ok_or_else(|| Failure::new("e2e/control-plane/go.mod requires no k8s.io/kubernetes"))?;
    let mut numbers = version.trim_start_matches('v').split('.');
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
        return Err(Failure::new(format!("k8s.io/kubernetes {version} in go.mod is not of the form v1.2.3")));
    };
    let texts = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].map(|package| {
        format!("-X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}")
    });
    Ok(format!("-s -w {}", texts.join(" ")))
}

fn fingerprint(source: &Path, linker_flags: &str) -> Result<String, Failure> {
    let mut inputs: Vec<PathBuf> = fs::read_dir(source)
        .context(format_args!("cannot read {}", source.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    inputs.retain(|path| {
        path.extension().is_some_and(|extension| ["go", "mod", "sum"].iter().any(|known| extension == *known))
    });
    inputs.sort();
    let mut hash = Sha256::new_with_prefix(linker_flags);
    for input in inputs {
        hash.update(fs::read(&input).context(format_args!("cannot read {}", input.display()))?);
    }
    let digest = hash.finalize();
    let (start, _) = digest.split_first_chunk().expect("a SHA-256 digest has more than eight bytes");
    Ok(format!("{:016x}", u64::from_be_bytes(*start)))
}

/// Cargo's target folder. This program lies somewhere in it, wherever the configuration has put it, and cargo marks
/// its root for backup programs.
fn target_folder() -> PathBuf {
    let own_path = std::env::current_exe().unwrap_or_default();
    own_path
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), Path::to_path_buf)
}

/// The last lines of a log file, for failures.
pub fn tail(file: &Path, lines: usize) -> String {
    let text = fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
