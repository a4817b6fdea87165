//! A program as a child process, such as a grader or a trainer: bounded in time and output, and never
//! left behind.
//!
//! It leads a process group of its own, which is killed as a whole at its end. If this program is killed,
//! the kernel kills the child: it is started by way of [`launch`], which asks for that.

use camino::Utf8Path;
use rustix::process::{Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of this program when it is to start another one.
pub const LAUNCH: &str = "__launch-child";
/// Bytes of standard output that are read. More is an error.
const OUTPUT: u64 = 64 << 20;
/// Bytes of the end of standard error that are kept.
const SAID: usize = 4_000;
/// Time between two looks at a child.
const LOOK: Duration = Duration::from_millis(10);
/// Time for the output of a child to be read once it and its group are gone.
const PATIENCE: Duration = Duration::from_secs(5);
/// The variables of the environment that a child gets.
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

/// A program that is to be run once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChildJob<'a> {
    /// This crate's program, which starts it.
    pub(crate) launcher: &'a Utf8Path,
    /// Program and arguments.
    pub(crate) words: &'a [String],
    /// What it may read from its standard input; empty for none.
    pub(crate) input: &'a [u8],
    /// Wall time that it may take.
    pub(crate) limit: Duration,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct ChildEnd {
    pub(crate) how: ChildHow,
    /// What it printed; an error of the kind `TimedOut` if a process that outlived it holds its output.
    pub(crate) printed: io::Result<Vec<u8>>,
    /// The end of its standard error.
    pub(crate) said: String,
}

/// What ended it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChildHow {
    /// Itself, or somebody's signal.
    Ended(ExitStatus),
    /// Its time was over.
    TimedOut,
    /// The caller.
    Stopped,
}

/// Becomes the program whose command line is in `words`, after the process id of the one that starts it.
/// Comes back only if that fails.
pub fn launch(mut words: impl Iterator<Item = OsString>) -> io::Error {
    let parent = words.next().and_then(|word| word.to_str()?.parse::<i32>().ok());
    if let Err(errno) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return errno.into();
    }
    // It may have gone before the kernel was asked.
    if parent.is_none() || getppid().map(|pid| pid.as_raw_nonzero().get()) != parent {
        return io::Error::other("the program that starts it is gone");
    }
    match words.next() {
        Some(program) => Command::new(program).args(words).exec(),
        None => io::Error::other("no program is named"),
    }
}

impl ChildJob<'_> {
    /// The program as people know it.
    pub(crate) fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Runs it to its end, or until `may_go_on`, which is asked every 10 ms, says no. It must be called on
    /// a thread that lives as long as this program, for the kernel ends a child with the thread that
    /// started it.
    ///
    /// # Errors
    /// An I/O error if it cannot be started.
    pub(crate) fn run(&self, mut may_go_on: impl FnMut() -> bool) -> io::Result<ChildEnd> {
        let began = Instant::now();
        let mut child = Command::new(self.launcher)
            .arg(LAUNCH)
            .arg(std::process::id().to_string())
            .args(self.words)
            .env_clear()
            .envs(variables())
            .stdin(if self.input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            let input = self.input.to_vec();
            // A program that takes all it needs from its arguments may close its input.
            thread::spawn(move || stdin.write_all(&input));
        }
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let printed = in_background(move || read_output(stdout));
        let said = in_background(move || read_end(stderr));
        let how = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(ChildHow::Ended(status)),
                Err(error) => break Err(error),
                Ok(None) => {}
            }
            if !may_go_on() {
                break Ok(ChildHow::Stopped);
            }
            if began.elapsed() >= self.limit {
                break Ok(ChildHow::TimedOut);
            }
            thread::sleep(LOOK);
        };
        end(&mut child);
        let held =
            || io::Error::new(ErrorKind::TimedOut, "a process that outlived it holds its output");
        Ok(ChildEnd {
            how: how?,
            printed: printed.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(held())),
            said: said.recv_timeout(PATIENCE).unwrap_or_default(),
        })
    }
}

/// Ends a child and whatever is left of its group.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // No process of the group may stay behind.
        let _ = kill_process_group(group, Signal::KILL);
    }
    // It is gone, or was killed just now.
    let _ = child.wait();
}

/// Of this program's environment, what a program that it starts gets.
fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(|name| VARIABLES.contains(&name)))
}

/// Reads on a thread of its own, which may never end if a process has left the group with our pipe.
fn in_background<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(read()));
    receiver
}

fn read_output(stdout: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stdout) = stdout {
        stdout.by_ref().take(OUTPUT + 1).read_to_end(&mut bytes)?;
        // A program that goes on printing must not wait for us for ever.
        io::copy(&mut stdout, &mut io::sink())?;
    }
    if bytes.len() as u64 > OUTPUT {
        return Err(io::Error::other(format!("it printed more than {OUTPUT} bytes")));
    }
    Ok(bytes)
}

/// The end of a text.
fn read_end(stderr: Option<impl Read>) -> String {
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
