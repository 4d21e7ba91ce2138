use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Cli, Error, Outcome, print};

/// Print the completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "For example, in ~/.bashrc: source <(reprieve completions bash)")]
pub(super) struct Args {
    /// The shell that will read the script
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "reprieve", &mut script);
    print(script)?;
    Ok(Outcome::Clean)
}
