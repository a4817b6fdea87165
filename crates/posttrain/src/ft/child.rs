//! A program that is run to its end or its limits, and never left behind.
//!
//! As graders, it leads a process group of its own, and ends with this program.

use super::fault::FtFault;
use crate::grade::{LAUNCH, in_background, read_end, read_output, variables};
use camino::Utf8Path;
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time between two looks at a program.
const LOOK: Duration = Duration::from_millis(20);
/// Time for its output to be read once it is gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a program ended.
#[derive(Debug)]
pub(super) struct ChildEnd<T> {
    pub(super) how: ChildHow<T>,
    /// What it printed.
    pub(super) printed: String,
    /// The end of its standard error.
    pub(super) said: String,
}

/// What ended it.
#[derive(Debug)]
pub(super) enum ChildHow<T> {
    /// Itself, or somebody's signal.
    Ended(ExitStatus),
    /// Its time was over.
    TimedOut,
    /// The caller, for this reason.
    Stopped(T),
}

/// Runs the command line `words` by way of `launcher` for at most `limit`, unless `look`, which is asked
/// every 20 ms, has a reason to stop it.
pub(super) fn run<T>(
    launcher: &Utf8Path,
    words: &[String],
    limit: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> Result<ChildEnd<T>, FtFault> {
    let began = Instant::now();
    let program = words.first().cloned().unwrap_or_default();
    let mut child = Command::new(launcher)
        .arg(LAUNCH)
        .arg(std::process::id().to_string())
        .args(words)
        .env_clear()
        .envs(variables())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|source| FtFault::Spawn { program, source })?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let printed = in_background(move || read_output(stdout));
    let said = in_background(move || read_end(stderr));
    let how = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(ChildHow::Ended(status)),
            Err(error) => break Err(error),
            Ok(None) => {}
        }
        if began.elapsed() >= limit {
            break Ok(ChildHow::TimedOut);
        }
        if let Some(reason) = look() {
            break Ok(ChildHow::Stopped(reason));
        }
        sleep(LOOK);
    };
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // No process of the group may stay behind.
        let _ = kill_process_group(group, Signal::KILL);
    }
    // It is gone, or was killed just now.
    let _ = child.wait();
    let printed = printed.recv_timeout(PATIENCE).unwrap_or(Ok(Vec::new()))?;
    Ok(ChildEnd {
        how: how?,
        printed: String::from_utf8_lossy(&printed).into_owned(),
        said: said.recv_timeout(PATIENCE).unwrap_or_default(),
    })
}
