//! The command `reprieve`. What it does is in the library; here is only the way in and the exit code.

use std::error::Error as _;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use reprieve::cli::{self, Cli};

fn main() -> ExitCode {
    // rustls panics at the first connection if more than one provider is linked and none was chosen.
    // An error means that one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();

    match Cli::parse().run() {
        Ok(outcome) => outcome.into(),
        // The reader had enough, as in `reprieve crds | head`.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            cli::COULD_NOT.into()
        }
    }
}

/// The error and its causes, one on each line. A standard error that is closed leaves only the exit code.
fn report(error: &cli::Error) {
    let mut out = std::io::stderr().lock();
    let _ = writeln!(out, "error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = writeln!(out, "  {error}");
        cause = error.source();
    }
}
