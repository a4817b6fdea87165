//! A supervisor from outside: starting it, listening to it, measuring it, ending it.

use crate::progress::SupervisorTally;
use anyhow::{Context as _, Result, bail, ensure};
use camino::Utf8Path;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use support::process::{self, Process};

/// Imports and warm-up, on a machine under load.
const WARMING: Duration = Duration::from_mins(3);
/// Every script that is in line is still run, on a machine under load.
const LEAVING: Duration = Duration::from_mins(5);

/// What is measured at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceSample {
    /// Since the supervisor was ready.
    pub(crate) minutes: f64,
    /// Bytes of the supervisor's proportional set.
    pub(crate) supervisor_memory: u64,
    /// Bytes of the zygote's memory that is no file's.
    pub(crate) zygote_memory: u64,
    /// Bytes of the proportional sets of launcher, zygote and runs together.
    pub(crate) memory_below: u64,
    pub(crate) processes_below: usize,
    pub(crate) supervisor_descriptors: usize,
    pub(crate) zygote_descriptors: usize,
    pub(crate) zygote_mounts: usize,
    pub(crate) groups: usize,
}

/// A running supervisor. Dropping it ends it.
pub(crate) struct Supervisor {
    child: Child,
    process: Process,
    lifeline: Option<ChildStdin>,
    tally: Arc<Mutex<SupervisorTally>>,
    listener: Option<JoinHandle<Result<()>>>,
    launcher: u32,
    ready: Instant,
}

impl Supervisor {
    /// Starts this program again, as a supervisor, and waits until it plays.
    pub(crate) fn start(
        corpus: &Utf8Path,
        records: &Utf8Path,
        episodes: usize,
        life: u32,
    ) -> Result<Self> {
        let mut child = std::process::Command::new(std::env::current_exe()?)
            .args([corpus.as_str(), "--records", records.as_str()])
            .args(["--episodes", &episodes.to_string(), "--life", &life.to_string()])
            // The GNU allocator's usual eight arenas a core take many minutes to come to their
            // peaks, one by one, and a leak could hide behind that. Nothing below inherits this.
            .env("MALLOC_ARENA_MAX", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start a supervisor")?;
        let process = Process::from_pid(child.id()).context("the supervisor is gone at once")?;
        let lifeline = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().context("the supervisor has no output")?);
        let tally = Arc::new(Mutex::new(SupervisorTally::default()));
        let sum = Arc::clone(&tally);
        let listener = std::thread::spawn(move || {
            for line in lines.lines() {
                let line = line?;
                let line =
                    serde_json::from_str(&line).with_context(|| format!("it said `{line}`"))?;
                sum.lock().unwrap_or_else(PoisonError::into_inner).take(line);
            }
            Ok(())
        });
        let ready = Instant::now();
        let listener = Some(listener);
        let mut this = Self { child, process, lifeline, tally, listener, launcher: 0, ready };
        while this.launcher == 0 {
            if let Some(status) = this.child.try_wait()? {
                bail!("the supervisor did not start ({status})");
            }
            ensure!(ready.elapsed() < WARMING, "the supervisor was not ready within {WARMING:?}");
            std::thread::sleep(Duration::from_millis(20));
            this.launcher = this.tally().ready.map_or(0, |(launcher, _)| launcher);
        }
        this.ready = Instant::now();
        Ok(this)
    }

    /// What it has said so far.
    pub(crate) fn tally(&self) -> SupervisorTally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn process(&self) -> Process {
        self.process
    }

    /// The launcher and all below it.
    pub(crate) fn below(&self) -> Vec<Process> {
        Process::tree(self.launcher)
    }

    /// Measures it every so often for a time, or until it ends by itself, which is an error;
    /// `tick` is shown each measurement.
    pub(crate) fn watch(
        &mut self,
        time: Duration,
        every: Duration,
        tick: &mut dyn FnMut(&Self, &ResourceSample),
    ) -> Result<Vec<ResourceSample>> {
        let mut samples = Vec::new();
        let mut next = self.ready;
        while self.ready.elapsed() < time {
            if let Some(status) = self.child.try_wait()? {
                bail!("the supervisor ended by itself ({status}){}", self.errors());
            }
            if Instant::now() >= next {
                next += every;
                let sample = self.sample().with_context(|| {
                    format!("failed to measure the supervisor{}", self.errors())
                })?;
                tick(self, &sample);
                samples.push(sample);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(samples)
    }

    /// What it has said of errors, a line each, to go with one of ours.
    fn errors(&self) -> String {
        [String::new()].into_iter().chain(self.tally().errors).collect::<Vec<_>>().join("\n")
    }

    fn sample(&self) -> Result<ResourceSample> {
        let minutes = self.ready.elapsed().as_secs_f64() / 60.0;
        let below = self.below();
        let own = self.process.pid;
        let zygote = below.get(1).context("its zygote is gone")?.pid;
        // Runs come and go while they are added up.
        let memory_below = below.iter().filter_map(|p| process::proportional_memory(p.pid)).sum();
        let unreadable = "a measure in /proc cannot be read; be who the supervisor runs as";
        Ok(ResourceSample {
            minutes,
            supervisor_memory: process::proportional_memory(own).context(unreadable)?,
            zygote_memory: process::anonymous_memory(zygote).context(unreadable)?,
            memory_below,
            processes_below: below.len(),
            supervisor_descriptors: process::descriptors(own).context(unreadable)?,
            zygote_descriptors: process::descriptors(zygote).context(unreadable)?,
            zygote_mounts: process::mounts(zygote).context(unreadable)?,
            groups: process::named_after(&self.process).len(),
        })
    }

    /// Kills it, and returns what it had said.
    pub(crate) fn kill(mut self) -> Result<SupervisorTally> {
        self.child.kill()?;
        self.child.wait()?;
        self.hear_out()
    }

    /// Lets it leave in order, and returns its last word.
    pub(crate) fn end(mut self) -> Result<(SupervisorTally, ExitStatus)> {
        self.lifeline = None;
        let deadline = Instant::now() + LEAVING;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok((self.hear_out()?, status));
            }
            ensure!(Instant::now() < deadline, "the supervisor did not leave within {LEAVING:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn hear_out(&mut self) -> Result<SupervisorTally> {
        if let Some(listener) = self.listener.take() {
            listener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(self.tally())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // It may be gone already, which is all that is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until none of `processes` and none of the session of their launcher, which is the
/// first, is there; returns the seconds that it took, and who is left after `patience`.
pub(crate) fn wait_until_gone(processes: &[Process], patience: Duration) -> (f64, Vec<Process>) {
    let started = Instant::now();
    loop {
        let mut left: Vec<_> = processes.iter().filter(|p| p.is_there()).copied().collect();
        if let Some(launcher) = processes.first() {
            left.extend(Process::of_session(launcher.pid));
        }
        if left.is_empty() || started.elapsed() > patience {
            return (started.elapsed().as_secs_f64(), left);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
