use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::failure::{Context, Failure};

/// Reads `guard PID` and `release PID` lines. At the end of its input, which is when its owner is gone, however it
/// went, it kills what it guards and removes the folder. `keep` lets everything live.
///
/// A killed process may still finish a write while the folder is being removed, hence the repetitions.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
folder=$1
guarded=
while read -r word pid; do
  case $word in
    guard) guarded="$guarded $pid" ;;
    release)
      rest=
      for each in $guarded; do [ "$each" = "$pid" ] || rest="$rest $each"; done
      guarded=$rest ;;
    keep) exit 0 ;;
  esac
done
for pid in $guarded; do kill -s KILL -- "-$pid" 2>/dev/null; done
for attempt in 1 2 3 4 5; do
  rm -rf -- "$folder" 2>/dev/null && exit 0
  sleep 1
done
"#;

/// A guarded program starts only after the guardian knows of it: if its owner dies before that, the `read` fails and
/// nothing is left behind.
const WAIT_FOR_GUARD: &str = r#"read -r go && exec "$@""#;

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// Sees to it that processes and their folder are gone when the program that started them is gone: after a return, a
/// panic, Ctrl-C or `kill -9`.
///
/// It is a small shell process of its own that notices the end of its input. Dropping the guardian uses the same way,
/// so that the way which matters in an accident is the one that runs every day.
pub struct Guardian {
    shell: Child,
    orders: Option<ChildStdin>,
    folder: PathBuf,
    guarded: Vec<Child>,
}

impl Guardian {
    /// Starts a guardian with a new, empty folder. `purpose` becomes part of the folder's name.
    pub fn new(purpose: &str) -> Result<Self, Failure> {
        let folder = unused_folder(purpose)?;
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "guardian"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Out of reach of the terminal's Ctrl-C, which goes to the whole foreground group.
            .process_group(0)
            .spawn()
            .context("cannot start sh, which the harness needs to clean up after itself")?;
        let orders = shell.stdin.take();
        let guardian = Self { shell, orders, folder, guarded: Vec::new() };
        std::fs::create_dir(&guardian.folder).context(format_args!("cannot create {}", guardian.folder.display()))?;
        Ok(guardian)
    }

    /// The folder that lives as long as the guarded processes do.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a program under guard, with its output in a file of the folder, and returns its process id.
    pub fn start(&mut self, log_file: &str, program: &Path, arguments: &[String]) -> Result<u32, Failure> {
        let log_path = self.folder.join(log_file);
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log_path)
            .context(format_args!("cannot write {}", log_path.display()))?;
        let mut child = Command::new("sh")
            .args(["-c", WAIT_FOR_GUARD, "sh"])
            .arg(program)
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .context(format_args!("cannot start {}", program.display()))?;
        let process_id = child.id();
        let gate = child.stdin.take();
        self.guarded.push(child);
        self.order(&format!("guard {process_id}"))?;
        if let Some(mut gate) = gate {
            writeln!(gate, "go").context(format_args!("{} ended before it began", program.display()))?;
        }
        Ok(process_id)
    }

    /// How a guarded process ended, or `None` while it runs.
    pub fn ended(&mut self, process_id: u32) -> Result<Option<String>, Failure> {
        match self.guarded.iter_mut().find(|child| child.id() == process_id) {
            Some(child) => Ok(child.try_wait()?.map(|status| status.to_string())),
            None => Ok(Some("is no longer guarded".to_owned())),
        }
    }

    /// Kills one guarded process now (SIGKILL) and returns when it is gone.
    pub fn stop(&mut self, process_id: u32) -> Result<(), Failure> {
        let position = self
            .guarded
            .iter()
            .position(|child| child.id() == process_id)
            .ok_or_else(|| Failure::new(format!("process {process_id} is not guarded")))?;
        // Released first: once it is reaped, its number may soon be somebody else's.
        self.order(&format!("release {process_id}"))?;
        let mut child = self.guarded.swap_remove(position);
        let killed = child.kill();
        child.wait()?;
        Ok(killed?)
    }

    /// Lets the processes and the folder outlive this program.
    pub fn keep(mut self) -> Result<PathBuf, Failure> {
        self.order("keep")?;
        self.guarded.clear();
        Ok(self.folder.clone())
    }

    fn order(&mut self, order: &str) -> Result<(), Failure> {
        let orders = self.orders.as_mut().ok_or_else(|| Failure::new("the guardian takes no orders any more"))?;
        writeln!(orders, "{order}").context("the guardian shell is gone; was it killed?")
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // The end of its input is the order to clean up.
        drop(self.orders.take());
        let _ = self.shell.wait();
        for child in &mut self.guarded {
            // Dead already, unless somebody has killed the guardian. A corpse that nobody collects would still count
            // as a process.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A path under the temporary folder that nobody has used: it is created only after the guardian that removes it is
/// there, therefore it cannot be reserved by creating it.
fn unused_folder(purpose: &str) -> Result<PathBuf, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let name = format!(
        "reprieve-{purpose}-{}-{}-{}",
        std::process::id(),
        now.as_millis(),
        COUNTER.fetch_add(1, Ordering::Relaxed)
    );
    Ok(std::env::temp_dir().join(name))
}
