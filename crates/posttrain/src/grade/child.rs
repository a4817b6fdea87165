//! The grader as a child process: bounded in time and output, and never left behind.
//!
//! It leads a process group of its own, which is killed as a whole at its end. If the server is killed,
//! the kernel kills the grader: it is started by way of [`launch`], which asks for that.

use super::job::{GraderCommand, Job};
use super::results::GraderOutput;
use crate::fault::Fault;
use rustix::process::{Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of this program when it is to start a grader.
pub const LAUNCH: &str = "__launch-grader";
/// Bytes of standard output that are read. Beyond, the grader is at fault.
const OUTPUT: u64 = 64 << 20;
/// Bytes of the end of standard error that are kept.
const SAID: usize = 4_000;
/// Time between two looks at a child.
const LOOK: Duration = Duration::from_millis(10);
/// Time for the output of a child to be read once it and its group are gone.
const PATIENCE: Duration = Duration::from_secs(5);
/// The variables of the environment that a grader gets.
const VARIABLES: [&str; 10] = [
    "CUDA_VISIBLE_DEVICES",
    "HOME",
    "LANG",
    "LD_LIBRARY_PATH",
    "MLE_PYTHON",
    "OMP_NUM_THREADS",
    "PATH",
    "RUST_LOG",
    "TMPDIR",
    "VIRTUAL_ENV",
];

/// Becomes the grader whose command line is in `words`, after the process id of the server. Comes back
/// only if that fails.
pub fn launch(mut words: impl Iterator<Item = OsString>) -> std::io::Error {
    let server = words.next().and_then(|word| word.to_str()?.parse::<i32>().ok());
    if let Err(errno) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return errno.into();
    }
    // The server may have gone before the kernel was asked.
    if server.is_none() || getppid().map(|pid| pid.as_raw_nonzero().get()) != server {
        return std::io::Error::other("the server is gone");
    }
    match words.next() {
        Some(program) => Command::new(program).args(words).exec(),
        None => std::io::Error::other("no grader is named"),
    }
}

/// Runs a grader once. It must be called on a thread that lives as long as the server, for the kernel
/// ends a grader with the thread that started it.
///
/// # Errors
/// A [`Fault`]; [`Fault::Stopping`] once `stopping` is set.
pub(super) fn run(
    command: &GraderCommand,
    job: &Job,
    stopping: &AtomicBool,
) -> Result<GraderOutput, Fault> {
    let words = command.words(job);
    let program = words.first().cloned().unwrap_or_default();
    let spawn = |source| Fault::Spawn { program: program.clone(), source };
    let mut child = Command::new(&command.launcher)
        .arg(LAUNCH)
        .arg(std::process::id().to_string())
        .args(&words)
        .env_clear()
        .envs(variables())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(spawn)?;
    let job = serde_json::to_vec(job).map_err(std::io::Error::other)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A grader that takes all it needs from its arguments may close its input.
        thread::spawn(move || stdin.write_all(&job));
    }
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let printed = in_background(move || read_output(stdout));
    let said = in_background(move || read_end(stderr));
    let status = wait(&mut child, command.limit, stopping)?;
    let said = said.recv_timeout(PATIENCE).unwrap_or_default();
    if !status.success() {
        return Err(Fault::Ended { status, said });
    }
    let unusable = |why: String| Fault::Output { why, said: said.clone() };
    let held = "a process that outlived it holds its output";
    let printed = printed.recv_timeout(PATIENCE).map_err(|_| unusable(held.to_owned()))?;
    let printed = printed.map_err(|error| unusable(error.to_string()))?;
    serde_json::from_slice(&printed).map_err(|error| unusable(error.to_string()))
}

/// Of this program's environment, what a program that it starts gets.
pub(crate) fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(|name| VARIABLES.contains(&name)))
}

/// Reads on a thread of its own, which may never end if a process has left the group with our pipe.
pub(crate) fn in_background<T: Send + 'static>(
    read: impl FnOnce() -> T + Send + 'static,
) -> Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(read()));
    receiver
}

/// Waits until the child ends, its time is up or the server stops, and kills what is left of its group.
fn wait(
    child: &mut Child,
    limit: Duration,
    stopping: &AtomicBool,
) -> Result<std::process::ExitStatus, Fault> {
    let began = Instant::now();
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Err(error) => break Err(error.into()),
            Ok(None) if stopping.load(Ordering::SeqCst) => break Err(Fault::Stopping),
            Ok(None) if began.elapsed() >= limit => break Err(Fault::TimedOut(limit)),
            Ok(None) => thread::sleep(LOOK),
        }
    };
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // Nobody may be left in it.
        let _ = kill_process_group(group, Signal::KILL);
    }
    // It is gone, or was killed just now.
    let _ = child.wait();
    ended
}

pub(crate) fn read_output(stdout: Option<impl Read>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stdout) = stdout {
        stdout.by_ref().take(OUTPUT + 1).read_to_end(&mut bytes)?;
        // A grader that goes on printing must not wait for us for ever.
        std::io::copy(&mut stdout, &mut std::io::sink())?;
    }
    if bytes.len() as u64 > OUTPUT {
        return Err(std::io::Error::other(format!("it printed more than {OUTPUT} bytes")));
    }
    Ok(bytes)
}

/// The end of a text.
pub(crate) fn read_end(stderr: Option<impl Read>) -> String {
    let (mut kept, mut piece) = (Vec::new(), [0; 8 * 1024]);
    if let Some(mut stderr) = stderr {
        while let Ok(count @ 1..) = stderr.read(&mut piece) {
            kept.extend_from_slice(&piece[..count]);
            let excess = kept.len().saturating_sub(SAID);
            kept.drain(..excess);
        }
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}
