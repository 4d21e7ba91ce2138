//! The command line: one file for each subcommand, each with its `Args` and its `run`.
//!
//! A subcommand returns an [`Outcome`] if it could do its job, whatever it found, and an [`Error`] if it could not.
//! Only `main` turns them into exit codes. Everything for the user goes through [`print`], so that a closed pipe is an
//! error that `main` can recognise.

mod completions;
mod crds;
mod explain;
mod input;
mod patch;
mod rules;
mod run;
mod scan;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The exit code for a job that could not be done; clap uses the same for arguments that it cannot read.
pub const COULD_NOT: u8 = 2;

/// Keeps databases on Kubernetes from being killed by their own health checks.
#[derive(Debug, Parser)]
#[command(name = "reprieve", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 clean, 1 findings at or above the asked severity, 2 could not do the job.")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Scan(scan::Args),
    Patch(patch::Args),
    Explain(explain::Args),
    Rules(rules::Args),
    Crds(crds::Args),
    Completions(completions::Args),
}

impl Cli {
    /// Runs the subcommand that was asked for.
    ///
    /// # Errors
    /// What kept it from doing its job.
    pub fn run(self) -> Result<Outcome, Error> {
        match self.command {
            Command::Run(args) => run::run(args),
            Command::Scan(args) => scan::run(&args),
            Command::Patch(args) => patch::run(&args),
            Command::Explain(args) => explain::run(&args),
            Command::Rules(args) => rules::run(&args),
            Command::Crds(args) => crds::run(&args),
            Command::Completions(args) => completions::run(&args),
        }
    }
}

/// What a subcommand that did its job has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to complain about.
    Clean,
    /// There are findings at or above the asked severity.
    Found,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Clean => Self::SUCCESS,
            Outcome::Found => Self::from(1),
        }
    }
}

/// Why a subcommand could not do its job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no connection to a cluster.
    #[error(transparent)]
    Connect(#[from] crate::cluster::ConnectError),
    /// The controller cannot work.
    #[error(transparent)]
    Controller(#[from] crate::controller::Error),
    /// The log filter cannot be read.
    #[error("cannot read the log filter (--log or RUST_LOG)")]
    LogFilter(#[source] tracing_subscriber::filter::ParseError),
    /// The process cannot get what it needs from the system.
    #[error("cannot start")]
    Start(#[source] io::Error),
    /// Standard output does not take what we print.
    #[error("cannot write to standard output")]
    Print(#[source] io::Error),
    /// A file or folder that the user named cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// What was to be read.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A policy file cannot be used.
    #[error("{}:{line}: {reason}", path.display())]
    Policy {
        /// The file.
        path: PathBuf,
        /// The line of the document.
        line: u32,
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody answers where the cluster should be.
    #[error("cannot read from {server}: is it up, and does the kubeconfig name the right one?")]
    Unreachable {
        /// The server.
        server: String,
        /// What was tried and what came of it.
        #[source]
        error: crate::cluster::CallError,
    },
    /// There was no document at all, which is mostly somebody else's failure upstream.
    #[error("there is nothing to scan: no manifest in what was given")]
    NothingToScan,
    /// Parts of the input could not be read; the report names them.
    #[error("what could not be read: {0}; the report says where and why, and covers the rest")]
    Unread(usize),
    /// What was read has nothing to explain.
    #[error("{}", nothing_to_explain(wanted.as_deref(), present))]
    NothingToExplain {
        /// The workload that was asked for.
        wanted: Option<String>,
        /// The workloads that are there.
        present: Vec<String>,
    },
    /// The explanation cannot be added to this form of the report.
    #[error("--explain adds to the table; leave -o out, or use `reprieve explain`")]
    ExplainNeedsTable,
    /// The report cannot be printed in the form that was asked for.
    #[error(transparent)]
    Report(#[from] crate::report::PrintError),
    /// A file or folder that the user named cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Standard input is no file that could be changed.
    #[error("standard input cannot be changed (--write); leave --write out, and the result goes to standard output")]
    WriteStandardInput,
    /// A value of ours has no YAML form.
    #[error("cannot print {what} as YAML")]
    Yaml {
        /// What was to be printed.
        what: &'static str,
        /// What the writer says.
        source: serde_yaml::Error,
    },
}

impl Error {
    /// Whether the reader of our output went away, which is no failure of ours.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Print(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// The most workloads that an error names.
const MOST_NAMED: usize = 10;

fn nothing_to_explain(wanted: Option<&str>, present: &[String]) -> String {
    if present.is_empty() {
        return "there is no workload in what was read".to_owned();
    }
    let named = present.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if present.len() > MOST_NAMED { ", …" } else { "" };
    match wanted {
        Some(wanted) => format!("there is no workload {wanted} in what was read, but {named}{more}"),
        None => format!("no database is recognised in {named}{more}; name one of them with --workload to see why"),
    }
}

/// Writes text with colours, without them where nobody sees them.
fn print_styled(text: &str) -> Result<(), Error> {
    let is_seen = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    if is_seen { print(text) } else { print(anstream::adapter::strip_str(text).to_string()) }
}

/// Writes to standard output in one go.
fn print(text: impl AsRef<[u8]>) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_ref()).and_then(|()| out.flush()).map_err(Error::Print)
}

/// Writes to standard output what is too much to be held at once.
fn print_with(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<(), Error> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write(&mut out).and_then(|()| out.flush()).map_err(Error::Print)
}

/// Writes a line to standard error, for people. One that is closed is no reason to stop. Names come from the input, and
/// an escape in them is for no terminal.
fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", line.replace(char::is_control, " "));
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn arguments_are_consistent() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn every_subcommand_and_flag_explains_itself() {
        for command in super::Cli::command().get_subcommands() {
            assert!(command.get_about().is_some(), "{} has no description", command.get_name());
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {} has no help", command.get_name(), argument.get_id());
            }
        }
    }
}
