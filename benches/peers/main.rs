//! `cargo bench-peers`: one tree of manifests, scanned by us and by other linters, as ratios of time and memory.
//!
//! The seconds differ from machine to machine and from run to run; the ratios of one run hold. So the programs take
//! turns, and the median of the rounds is compared. The peers are built from Go modules at the versions in
//! `benches/peers/go.mod`; others are used where they are on the PATH.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what the benchmark prints is what it is for")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a benchmark may stop at the first surprise")]

use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4 as _;

mod tree;

/// How often each program scans the tree.
const ROUNDS: usize = 5;
/// How many manifests the tree has.
const FILES: usize = 10_000;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Cargo adds `--bench`, so the mode of the child comes first and by another name.
    if let [mode, folder, ..] = arguments.as_slice() {
        let folder = Path::new(folder);
        match mode.to_str() {
            Some("--only-parse") => return only_parse(folder),
            // To look at the tree, or to scan it with something else.
            Some("--only-write") => return tree::write(folder, FILES).map_or(ExitCode::from(2), |_| ExitCode::SUCCESS),
            _ => {}
        }
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-peers: {error}");
            ExitCode::from(2)
        }
    }
}

/// A program that scans the tree.
struct Contender {
    name: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    /// Whether it prints something for each manifest. One that gives up at the first is quick, and no measure.
    reports: bool,
}

/// What one scan took.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    peak_bytes: u64,
}

fn run() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
    let root = folder.path().join("tree");
    let bytes = tree::write(&root, FILES).map_err(|error| format!("cannot write {}: {error}", root.display()))?;
    println!("{FILES} manifests, {} MB, {ROUNDS} rounds\n", bytes / 1_000_000);
    let contenders = contenders(&root)?;
    for contender in contenders.iter().filter(|contender| contender.reports) {
        prove(contender)?;
    }
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); contenders.len()];
    let is_watched = io::stderr().is_terminal();
    for round in 1..=ROUNDS {
        for (contender, costs) in contenders.iter().zip(&mut costs) {
            if is_watched {
                eprint!("\rround {round} of {ROUNDS}: {:<40}", contender.name);
            }
            costs.push(measure(contender)?);
        }
    }
    if is_watched {
        eprint!("\r{:70}\r", "");
    }
    print_table(&contenders, &costs);
    Ok(())
}

fn contenders(root: &Path) -> Result<Vec<Contender>, String> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let peers = build_peers()?;
    let tree = root.as_os_str();
    let texts = |texts: &[&str]| texts.iter().map(OsString::from).collect::<Vec<_>>();
    let contender = |name: &str, reports: bool, program: PathBuf, arguments: Vec<OsString>| Contender {
        name: name.to_owned(),
        program,
        arguments: [arguments, vec![tree.to_owned()]].concat(),
        reports,
    };
    let mut all = vec![
        contender(
            "reprieve scan -o json",
            true,
            PathBuf::from(env!("CARGO_BIN_EXE_reprieve")),
            texts(&["scan", "-o", "json", "--fail-on", "never"]),
        ),
        contender("the same parser, events only", false, own, texts(&["--only-parse"])),
        contender(
            "kubeconform, without schemas",
            false,
            peers.join("kubeconform"),
            texts(&["-ignore-missing-schemas", "-schema-location", "/nowhere/{{.ResourceKind}}.json"]),
        ),
    ];
    // It takes files, and no folders.
    let mut files: Vec<OsString> = texts(&["score", "--output-format", "json"]);
    files.extend(tree::files(root).map_err(|error| format!("cannot list {}: {error}", root.display()))?);
    let program = peers.join("kube-score");
    all.push(Contender { name: "kube-score".to_owned(), program, arguments: files, reports: true });
    for (name, arguments) in [
        ("kube-linter", ["lint", "--format", "json"].as_slice()),
        ("polaris", ["audit", "--format", "json", "--audit-path"].as_slice()),
    ] {
        match on_path(name) {
            Some(program) => all.push(contender(name, true, program, texts(arguments))),
            None => eprintln!("{name} is not on the PATH, so it is left out"),
        }
    }
    match on_path("kyverno") {
        Some(program) => {
            let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/kyverno-policy.yaml");
            let arguments = vec![OsString::from("apply"), policy.into_os_string(), OsString::from("--resource")];
            all.push(contender("kyverno, one policy", true, program, arguments));
        }
        None => eprintln!("kyverno is not on the PATH, so it is left out"),
    }
    Ok(all)
}

/// Builds the peers once; Go's own cache makes the next time quick.
fn build_peers() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers");
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    fs::create_dir_all(&output).map_err(|error| format!("cannot make {}: {error}", output.display()))?;
    eprintln!("building kubeconform and kube-score from Go modules; half a minute the first time");
    let status = Command::new("go")
        .args(["build", "-trimpath", "-o"])
        .arg(&output)
        .args(["github.com/yannh/kubeconform/cmd/kubeconform", "github.com/zegl/kube-score/cmd/kube-score"])
        .current_dir(source)
        .env("CGO_ENABLED", "0")
        .status()
        .map_err(|error| format!("cannot start go, which the peers are written in: {error}"))?;
    if status.success() { Ok(output) } else { Err(format!("`go build` in benches/peers failed: {status}")) }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Runs it once to see that it does its work on the whole tree.
fn prove(contender: &Contender) -> Result<(), String> {
    let output = Command::new(&contender.program).args(&contender.arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", contender.name))?;
    if output.stdout.len() < FILES * 10 {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} printed next to nothing: {}", contender.name, said.trim()));
    }
    Ok(())
}

fn measure(contender: &Contender) -> Result<Cost, String> {
    let wrong = |error: io::Error| format!("{}: {error}", contender.name);
    let started = Instant::now();
    let mut child = Command::new(&contender.program)
        .args(&contender.arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(wrong)?;
    let usage = child.wait4().map_err(wrong)?;
    // Linters exit with 1 for findings; a crash is no measurement.
    if usage.status.code().is_none_or(|code| code > 1) {
        return Err(format!("{} ended with {}", contender.name, usage.status));
    }
    Ok(Cost { wall: started.elapsed(), peak_bytes: usage.rusage.maxrss })
}

fn print_table(contenders: &[Contender], costs: &[Vec<Cost>]) {
    let medians: Vec<Cost> = costs
        .iter()
        .map(|costs| {
            let mut walls: Vec<Duration> = costs.iter().map(|cost| cost.wall).collect();
            walls.sort();
            let peak_bytes = costs.iter().map(|cost| cost.peak_bytes).max().unwrap_or(0);
            Cost { wall: walls[walls.len() / 2], peak_bytes }
        })
        .collect();
    let ours = medians[0];
    println!("| program | wall | of ours | peak memory | of ours |");
    println!("|---|---|---|---|---|");
    #[allow(clippy::cast_precision_loss, reason = "two digits are shown")]
    for (contender, cost) in contenders.iter().zip(&medians) {
        let time = cost.wall.as_secs_f64() / ours.wall.as_secs_f64();
        let memory = cost.peak_bytes as f64 / ours.peak_bytes as f64;
        let megabytes = cost.peak_bytes as f64 / 1e6;
        let wall = cost.wall.as_secs_f64();
        println!("| {} | {wall:.2} s | {time:.1} | {megabytes:.0} MB | {memory:.1} |", contender.name);
    }
}

/// What any program has to do that reads YAML with the parser that we use: every event of every file, on all
/// processors, and nothing else.
fn only_parse(root: &Path) -> ExitCode {
    let Ok(files) = tree::files(root) else { return ExitCode::from(2) };
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let text = fs::read_to_string(file).expect("a file that was just written");
                    for event in granit_parser::Parser::new_from_str(&text) {
                        std::hint::black_box(event.expect("a manifest that is YAML"));
                    }
                }
            });
        }
    });
    ExitCode::SUCCESS
}
