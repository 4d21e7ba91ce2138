//! `reprieve scan`: manifests or live objects in, findings out.

mod live;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::ValueEnum;

use super::input::{self, Chosen, ConfigMaps};
use super::{Error, Outcome, print, print_styled, print_with};
use crate::core::detect::Severity;
use crate::core::model::files::Files;
use crate::core::model::owner::Ownership;
use crate::core::model::policy::Policy;
use crate::core::model::workload::Workload;
use crate::core::rollout::judge;
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
    let policies = input::policies(&args.policy)?;
    let keeps_subjects = args.explain || args.output.needs_subjects();
    let report = if args.live.cluster {
        live::scan(&args.live, policies, keeps_subjects)?
    } else {
        scan(&input::files(&args.paths)?, &policies, keeps_subjects)?
    };
    let failing = args.fail_on.least();
    if report.summary.documents == 0 && report.unread.is_empty() && !args.live.cluster {
        return Err(Error::NothingToScan);
    }
    let printed = match args.output {
        // Only the table has colours, and elsewhere an escape is what stood in the input.
        Format::Table => print_styled(&(report.print(args.output, failing)? + &explanations(&report))),
        Format::Json => print_with(|out| report.write_json(out)),
        _ => print(report.print(args.output, failing)?),
    };
    // A reader who has seen enough, as in `| head`, changes nothing about the verdict.
    match printed {
        Err(error) if !error.is_broken_pipe() => return Err(error),
        _ => {}
    }
    if report.lost() > 0 {
        return Err(Error::Unread(report.lost()));
    }
    let fails = report.worst().zip(failing).is_some_and(|(worst, least)| worst >= least);
    Ok(if fails { Outcome::Found } else { Outcome::Clean })
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
    workloads: Vec<Judged>,
    config_maps: ConfigMaps,
}

/// A workload of a file.
enum Judged {
    Now(Box<WorkloadReport>),
    /// Its probes run scripts of `ConfigMap`s, which may stand in any file.
    Later(Document),
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
    let mut config_maps = ConfigMaps::default();
    for (_, file) in &mut all {
        config_maps.extend(std::mem::take(&mut file.config_maps));
    }
    let mut report = Report::new();
    for (index, file) in all {
        report.summary.files += 1;
        report.summary.documents += file.documents;
        report.unread.extend(file.unread);
        for workload in file.workloads {
            report.add(match workload {
                Judged::Now(judged) => *judged,
                Judged::Later(document) => {
                    let name = files.get(index).map(|path| path.display().to_string()).unwrap_or_default();
                    judge_document(&name, document, policies, &config_maps, keeps_subjects)
                }
            });
        }
    }
    Ok(report)
}

fn scan_file(path: &Path, policies: &[Policy], keeps_subjects: bool) -> Result<FileReport, Error> {
    let file = path.display().to_string();
    let bytes = match input::bytes(path) {
        Ok(bytes) => bytes,
        // The others are scanned all the same.
        Err(Error::Read { source, .. }) => {
            let reason = format!("cannot read it: {source}");
            let unread = vec![UnreadDocument { file, line: 1, column: 1, reason, lost: true }];
            return Ok(FileReport { unread, ..FileReport::default() });
        }
        Err(error) => return Err(error),
    };
    let reading = manifest::read(&bytes);
    let mut result = FileReport { documents: reading.documents.len(), ..FileReport::default() };
    for problem in reading.problems {
        let lost = problem.reason.loses_document();
        let (line, column, reason) = (problem.line, problem.column, problem.reason.to_string());
        result.unread.push(UnreadDocument { file: file.clone(), line, column, reason, lost });
    }
    for mut document in reading.documents {
        if !manifest::is_workload(&document.value) {
            result.config_maps.take(&mut document.value);
            continue;
        }
        let workload = Workload::new(document.value);
        let runs_scripts = !workload.config_maps_of_probes(&Files::default()).is_empty();
        document.value = workload.into_json();
        result.workloads.push(if runs_scripts {
            Judged::Later(document)
        } else {
            Judged::Now(Box::new(judge_document(&file, document, policies, &ConfigMaps::default(), keeps_subjects)))
        });
    }
    Ok(result)
}

pub(super) fn judge_document(
    file: &str,
    document: Document,
    policies: &[Policy],
    config_maps: &ConfigMaps,
    keeps_subject: bool,
) -> WorkloadReport {
    let source = Source { file: file.to_owned(), document: document.document, line: document.line };
    let source_line = document.line;
    let positions = document.positions;
    let workload = Workload::new(document.value);
    let files = config_maps.files_for(&workload);
    let workload = workload.with_files(files);
    let Chosen { policy, spec, doubt } = input::choose(&workload, policies);
    let ownership = Ownership::read(&workload);
    let owner = (ownership.is_reapplied() || ownership.controller.is_some()).then(|| ownership.to_string());
    let mut judgement = judge(&workload, &spec);
    if let Some(doubt) = doubt {
        judgement.message = format!("{}. {doubt}", judgement.message);
    }
    let kept = keeps_subject.then(|| (spec, judgement.clone()));
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
