//! Scenarios against a real API server. `e2e/README.md` says how to run them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "progress, and the skip line, go to whoever runs it")]
#![allow(unreachable_pub, reason = "a program has no outside; `pub` says what a module offers")]

mod harness;
mod scenario;
mod scenarios;

use std::process::ExitCode;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

fn main() -> ExitCode {
    // The guardian's own test needs a second process to kill; this program is it.
    if let Some(stand_in) = scenarios::guardian::requested_stand_in() {
        return stand_in;
    }
    // Silent unless RUST_LOG asks for the log of the operators under test.
    let silent = EnvFilter::builder().with_default_directive(LevelFilter::OFF.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(silent).with_writer(std::io::stderr).init();
    scenario::run(scenarios::all())
}
