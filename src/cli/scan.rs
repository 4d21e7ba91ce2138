//! `reprieve scan`: manifests or live objects in, findings out.

mod live;

use std::fs;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::ValueEnum;

use super::{Error, Outcome, print, print_styled};
use crate::api::{self, PolicySpec};
use crate::core::detect::Severity;
use crate::core::model::owner::Ownership;
use crate::core::model::policy::{Policy, Selection, select};
use crate::core::model::workload::Workload;
use crate::core::rollout::{judge, policy_problems};
use crate::manifest::{self, Document};
use crate::report::{self, Format, Report, Source, Subject, UnreadDocument, WorkloadReport};

/// Below this nobody wonders whether it still works.
const QUIET: Duration = Duration::from_secs(2);

/// Find probes and requests, in manifests or in a cluster, that would kill a recovering database.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files and folders (searched for .yaml, .yml and .json), or - for standard input.
    #[arg(value_name = "PATH", required_unless_present_any = ["print_schema", "cluster"])]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    live: live::Target,
    /// Apply these policies, as the operator would. Without one those of the cluster count, else the defaults.
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,
    /// How the report looks.
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
    /// Say below the table how each verdict on a database comes about, as `reprieve explain` does.
    #[arg(long)]
    explain: bool,
    /// Exit with 1 if there is a finding of this severity or above.
    #[arg(long, value_enum, default_value_t)]
    fail_on: FailOn,
    /// Print the JSON Schema of the JSON report, and do nothing else.
    #[arg(long)]
    print_schema: bool,
}

/// From which severity on a finding is a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Critical,
    #[default]
    Warning,
    Info,
    Never,
}

impl FailOn {
    /// The least severity that is a failure.
    fn least(self) -> Option<Severity> {
        match self {
            Self::Critical => Some(Severity::Critical),
            Self::Warning => Some(Severity::Warning),
            Self::Info => Some(Severity::Info),
            Self::Never => None,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    if args.print_schema {
        let text = serde_json::to_string_pretty(&report::schema()).map_err(report::PrintError::from)?;
        print(text + "\n")?;
        return Ok(Outcome::Clean);
    }
    if args.explain && args.output != Format::Table {
        return Err(Error::ExplainNeedsTable);
    }
    let policies = read_policies(&args.policy)?;
    let keeps_subjects = args.explain || args.output.needs_subjects();
    let report = if args.live.cluster {
        live::scan(&args.live, policies, keeps_subjects)?
    } else {
        scan(&files(&args.paths)?, &policies, keeps_subjects)?
    };
    let failing = args.fail_on.least();
    let text = report.print(args.output, failing)?;
    // Only the table has colours, and elsewhere an escape is what stood in the input.
    if args.output == Format::Table {
        print_styled(&(text + &explanations(&report)))?;
    } else {
        print(text)?;
    }
    if report.lost() > 0 {
        return Err(Error::Unread(report.lost()));
    }
    let fails = report.worst().zip(failing).is_some_and(|(worst, least)| worst >= least);
    Ok(if fails { Outcome::Found } else { Outcome::Clean })
}

/// The files to scan, folders searched in the order of their names.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in paths {
        if path == Path::new("-") {
            files.push(path.clone());
        } else {
            collect(path, true, &mut files)?;
        }
    }
    Ok(files)
}

fn collect(path: &Path, named: bool, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path)
            .map_err(unreadable)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()
            .map_err(unreadable)?;
        entries.sort();
        for entry in entries {
            // Folders such as .git hold no manifests.
            let is_hidden = entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            // A link that leads nowhere, or back up, is not what was asked for.
            if !is_hidden && !entry.is_symlink() {
                collect(&entry, false, files)?;
            }
        }
        return Ok(());
    }
    let is_manifest = path
        .extension()
        .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known)));
    if named || is_manifest {
        files.push(path.to_owned());
    }
    Ok(())
}

/// The reasons for what is said of each database, where they were asked for.
fn explanations(report: &Report) -> String {
    let databases = report.workloads.iter().filter(|workload| workload.has_database() && workload.subject.is_some());
    let texts = databases.map(|workload| report::explain(workload, &report::Questions::default()));
    texts.flat_map(|text| ["\n".to_owned(), text]).collect()
}

/// What one file came to.
#[derive(Default)]
struct FileReport {
    documents: usize,
    unread: Vec<UnreadDocument>,
    workloads: Vec<WorkloadReport>,
}

/// Scans the files on all processors, one file at a time on each, and keeps their order.
fn scan(files: &[PathBuf], policies: &[Policy], keeps_subjects: bool) -> Result<Report, Error> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len().max(1));
    let progress = Progress::start();
    let results: Vec<Result<Vec<(usize, FileReport)>, Error>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(file) = files.get(index) else { return Ok(done) };
                        if index.is_multiple_of(64) {
                            progress.tell(|| format!("scanning {index} of {} files", files.len()));
                        }
                        done.push((index, scan_file(file, policies, keeps_subjects)?));
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    progress.end();
    let mut all: Vec<(usize, FileReport)> = Vec::new();
    for result in results {
        all.extend(result?);
    }
    all.sort_by_key(|(index, _)| *index);
    let mut report = Report::new();
    for (_, file) in all {
        report.summary.files += 1;
        report.summary.documents += file.documents;
        report.unread.extend(file.unread);
        for workload in file.workloads {
            report.add(workload);
        }
    }
    Ok(report)
}

/// The bytes of a file, or of standard input.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        bytes = fs::read(path).map_err(unreadable)?;
    }
    Ok(bytes)
}

fn scan_file(path: &Path, policies: &[Policy], keeps_subjects: bool) -> Result<FileReport, Error> {
    let bytes = bytes(path)?;
    let file = path.display().to_string();
    let reading = manifest::read(&bytes);
    let mut result = FileReport { documents: reading.documents.len(), ..FileReport::default() };
    for problem in reading.problems {
        let lost = problem.reason.loses_document();
        let (line, column, reason) = (problem.line, problem.column, problem.reason.to_string());
        result.unread.push(UnreadDocument { file: file.clone(), line, column, reason, lost });
    }
    for document in reading.documents.into_iter().filter(|document| manifest::is_workload(&document.value)) {
        result.workloads.push(judge_document(&file, document, policies, keeps_subjects));
    }
    Ok(result)
}

pub(super) fn judge_document(
    file: &str,
    document: Document,
    policies: &[Policy],
    keeps_subject: bool,
) -> WorkloadReport {
    let source = Source { file: file.to_owned(), document: document.document, line: document.line };
    let source_line = document.line;
    let positions = document.positions;
    let workload = Workload::new(document.value);
    let defaults = PolicySpec::default();
    let reaching = reaching(policies, workload.namespace());
    let given = |policy: &Policy| {
        let index = reaching.iter().position(|other| std::ptr::eq(other, policy));
        index.and_then(|index| policies.get(index)).unwrap_or(policy).reference.to_string()
    };
    let mut policy = None;
    let mut spec = &defaults;
    let mut doubt = None;
    match select(&workload, None, &reaching) {
        Selection::Nothing => {}
        Selection::Policy(selected) => {
            policy = Some(given(selected));
            spec = &selected.spec;
        }
        Selection::Conflict(several) => {
            let names: Vec<_> = several.into_iter().map(given).collect();
            doubt = Some(format!("{} select it, so none of them counts", names.join(" and ")));
        }
        Selection::Missing(named) => {
            doubt = Some(format!("it names {named}, which was not given (--policy), so the defaults count"));
        }
    }
    let ownership = Ownership::read(&workload);
    let owner = (ownership.is_reapplied() || ownership.controller.is_some()).then(|| ownership.to_string());
    let mut judgement = judge(&workload, spec);
    if let Some(doubt) = doubt {
        judgement.message = format!("{}. {doubt}", judgement.message);
    }
    let kept = keeps_subject.then(|| (spec.clone(), judgement.clone()));
    let mut report = WorkloadReport::new(
        source,
        (workload.kind(), workload.namespace(), workload.name()),
        policy,
        owner,
        judgement,
        |pointer| {
            let position = positions.key_position(workload.json(), pointer);
            position.map_or((source_line, 1), |position| (position.line, position.column))
        },
    );
    report.subject = kept.map(|(policy, judgement)| Box::new(Subject { workload, policy, judgement }));
    report
}

/// The policies as they reach a namespace. A manifest that leaves its namespace to whoever applies it is reached by all.
fn reaching(policies: &[Policy], namespace: &str) -> Vec<Policy> {
    let mut policies = policies.to_vec();
    if namespace.is_empty() {
        for own in policies.iter_mut().filter_map(|policy| policy.reference.namespace.as_mut()) {
            own.clear();
        }
    }
    policies
}

/// Reads policies as the operator would: with their validation, and no field that nobody knows.
pub(super) fn read_policies(files: &[PathBuf]) -> Result<Vec<Policy>, Error> {
    let mut policies = Vec::new();
    for path in files {
        let bytes = fs::read(path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let reading = manifest::read(&bytes);
        let wrong = |line: u32, reason: String| Error::Policy { path: path.clone(), line, reason };
        if let Some(problem) = reading.problems.into_iter().next() {
            return Err(wrong(problem.line, problem.reason.to_string()));
        }
        for document in reading.documents {
            let kind = document.value.get("kind").and_then(serde_json::Value::as_str).unwrap_or("").to_owned();
            if kind != "ProbePolicy" && kind != "ClusterProbePolicy" {
                return Err(wrong(document.line, format!("{kind} is no ProbePolicy and no ClusterProbePolicy")));
            }
            let [namespaced, cluster] = api::definitions();
            let definition = if kind == "ProbePolicy" { namespaced } else { cluster };
            if let Some(field) = api::unknown_fields(&definition, &document.value).into_iter().next() {
                return Err(wrong(document.line, format!("there is no field {field}")));
            }
            let policy = Policy::read(&document.value, kind == "ClusterProbePolicy")
                .map_err(|error| wrong(document.line, error))?;
            if let Some(problem) = policy_problems(&policy).into_iter().next() {
                return Err(wrong(document.line, problem));
            }
            policies.push(policy);
        }
    }
    Ok(policies)
}

/// A line on the terminal, once it takes long.
struct Progress {
    started: Instant,
    shown: bool,
}

impl Progress {
    fn start() -> Self {
        Self { started: Instant::now(), shown: io::stderr().is_terminal() }
    }

    fn tell(&self, text: impl FnOnce() -> String) {
        if self.shown && self.started.elapsed() > QUIET {
            anstream::eprint!("\r{:<78}", text());
        }
    }

    fn end(&self) {
        if self.shown && self.started.elapsed() > QUIET {
            anstream::eprint!("\r{:78}\r", "");
        }
    }
}
