use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::harness::guardian::Guardian;
use crate::harness::wait::eventually;
use crate::harness::{Context, Failure};

const STAND_IN: &str = "E2E_GUARDIAN_STAND_IN";

/// What this program does instead of running scenarios when a scenario below has started it: it guards a `sleep`, says
/// which, and waits to be killed.
pub fn requested_stand_in() -> Option<ExitCode> {
    std::env::var_os(STAND_IN)?;
    let stand_in = || -> Result<(), Failure> {
        let mut guardian = Guardian::new("stand-in")?;
        let sleeper = guardian.start("sleep.log", Path::new("sleep"), &["600".to_owned()])?;
        println!("{sleeper} {}", guardian.folder().display());
        std::io::stdout().flush()?;
        std::thread::park();
        Ok(())
    };
    Some(match stand_in() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    })
}

/// No destructor runs after SIGKILL, and still nothing may stay.
pub async fn a_killed_program_leaves_nothing_behind() -> Result<(), Failure> {
    let mut program = Command::new(std::env::current_exe()?)
        .env(STAND_IN, "1")
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start this program a second time")?;
    let mut line = String::new();
    let output = program.stdout.take().ok_or_else(|| Failure::new("the stand-in has no output"))?;
    BufReader::new(output).read_line(&mut line)?;
    let (sleeper, folder) = line
        .trim()
        .split_once(' ')
        .ok_or_else(|| Failure::new(format!("the stand-in said \"{line}\" in place of a process and a folder")))?;
    let sleeper: u32 = sleeper.parse()?;
    let folder = PathBuf::from(folder);
    assert!(lives(sleeper)?, "the sleeper does not run");
    assert!(folder.is_dir(), "{} does not exist", folder.display());

    program.kill()?;
    program.wait()?;

    let what = format!("the end of process {sleeper} and of {}", folder.display());
    eventually(&what, async || Ok((!lives(sleeper)? && !folder.exists()).then_some(()))).await
}

/// The orderly end, at which everything is gone as soon as the destructor returns.
pub async fn a_dropped_guardian_leaves_nothing_behind() -> Result<(), Failure> {
    let mut guardian = Guardian::new("dropped")?;
    let folder = guardian.folder().to_path_buf();
    let sleepers = [
        guardian.start("first.log", Path::new("sleep"), &["600".to_owned()])?,
        guardian.start("second.log", Path::new("sleep"), &["600".to_owned()])?,
    ];
    drop(guardian);
    assert!(!folder.exists(), "{} is still there", folder.display());
    for sleeper in sleepers {
        let what = format!("the end of process {sleeper}");
        eventually(&what, async || Ok((!lives(sleeper)?).then_some(()))).await?;
    }
    Ok(())
}

/// Scenarios that stop an API server go on with the rest.
pub async fn a_stopped_process_is_gone_and_the_others_live() -> Result<(), Failure> {
    let mut guardian = Guardian::new("stopped")?;
    let stopped = guardian.start("stopped.log", Path::new("sleep"), &["600".to_owned()])?;
    let other = guardian.start("other.log", Path::new("sleep"), &["600".to_owned()])?;
    guardian.stop(stopped)?;
    assert!(!lives(stopped)?, "the stopped process runs on");
    assert!(lives(other)?, "the other process was stopped as well");
    assert_eq!(guardian.ended(other)?, None);
    assert!(guardian.ended(stopped)?.is_some());
    Ok(())
}

fn lives(process_id: u32) -> Result<bool, Failure> {
    let status = Command::new("kill").args(["-0", &process_id.to_string()]).stderr(Stdio::null()).status()?;
    Ok(status.success())
}
