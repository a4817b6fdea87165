//! Stall detection: a run reports its phase and its progress to a [`Heartbeat`], and a [`Watchdog`]
//! warns if there is no progress for too long. It never ends a run. The heartbeat also measures how
//! long each phase takes.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How many of the things that are waited for a warning names.
const NAMED: usize = 5;

/// The phases of a training step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Everything that is none of the other phases.
    Other,
    /// Prefill of prompts and observations.
    Prefill,
    /// Decoding: one token per sequence and pass.
    Decode,
    /// Waiting for scripts and grades, with nothing to generate.
    Waiting,
    /// Checking episodes, and computing log-probabilities that an update needs.
    Scoring,
    /// Forward and backward pass over micro-batches.
    ForwardBackward,
    /// Gradient clipping and the optimizer step.
    Optimizer,
    /// Writing a checkpoint.
    Saving,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Other => "starting",
            Self::Prefill => "prefilling",
            Self::Decode => "decoding",
            Self::Waiting => "waiting for scripts",
            Self::Scoring => "checking and scoring episodes",
            Self::ForwardBackward => "computing gradients",
            Self::Optimizer => "updating weights",
            Self::Saving => "saving",
        })
    }
}

/// The current phase of a run and the time of its last progress. Clones share the state.
#[derive(Debug, Clone)]
pub struct Heartbeat(Arc<Mutex<WatchdogState>>);

#[derive(Debug)]
struct WatchdogState {
    phase: Phase,
    since: Instant,
    spent: BTreeMap<Phase, Duration>,
    last: Instant,
    beats: u64,
    /// By a number of the caller's choice: what is waited for, and since when.
    waiting: BTreeMap<usize, (String, Instant)>,
}

impl Default for Heartbeat {
    fn default() -> Self {
        let now = Instant::now();
        Self(Arc::new(Mutex::new(WatchdogState {
            phase: Phase::Other,
            since: now,
            spent: BTreeMap::new(),
            last: now,
            beats: 0,
            waiting: BTreeMap::new(),
        })))
    }
}

impl Heartbeat {
    /// Reports progress and the phase that begins.
    pub fn enter(&self, phase: Phase) {
        let mut state = self.state();
        state.spend();
        state.phase = phase;
        state.beat();
    }

    /// The time that each phase took since the last call, or since the beginning. Together they
    /// are all the time there was.
    pub fn take_times(&self) -> BTreeMap<Phase, Duration> {
        let mut state = self.state();
        state.spend();
        std::mem::take(&mut state.spent)
    }

    /// Reports progress within the phase.
    pub fn beat(&self) {
        self.state().beat();
    }

    /// Registers something that is waited for, such as a `script` on a task, under `number`.
    pub fn waits_for(&self, number: usize, what: &str, task: &str) {
        let mut state = self.state();
        state.beat();
        state.waiting.insert(number, (format!("{what} on `{task}`"), Instant::now()));
    }

    /// Removes what was waited for under `number`, and reports progress.
    pub fn has(&self, number: usize) {
        let mut state = self.state();
        state.beat();
        state.waiting.remove(&number);
    }

    /// Removes everything that was waited for.
    pub fn has_all(&self) {
        self.state().waiting.clear();
    }

    fn state(&self) -> MutexGuard<'_, WatchdogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchdogState {
    /// Counts the time since the phase began, or was last counted.
    fn spend(&mut self) {
        let now = Instant::now();
        *self.spent.entry(self.phase).or_default() += now - self.since;
        self.since = now;
    }

    fn beat(&mut self) {
        self.last = Instant::now();
        self.beats += 1;
    }

    /// The oldest of what is waited for, in words.
    fn waits(&self) -> String {
        let mut waiting: Vec<&(String, Instant)> = self.waiting.values().collect();
        waiting.sort_by_key(|(_, since)| *since);
        let mut text = String::new();
        for (what, since) in waiting.iter().take(NAMED) {
            let separator = if text.is_empty() { "; waits for " } else { ", " };
            let _ = write!(text, "{separator}{what} ({})", seconds(since.elapsed()));
        }
        if waiting.len() > NAMED {
            let _ = write!(text, " and {} more", waiting.len() - NAMED);
        }
        text
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64())
}

/// A thread that watches a heartbeat until this value is dropped.
#[derive(Debug)]
pub struct Watchdog {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts a watchdog that calls `warn` with the blocking phase after `patience` without
    /// progress, again whenever that time has doubled, and once when progress resumes. With a
    /// `patience` of zero it never warns.
    pub fn start(
        heartbeat: &Heartbeat,
        patience: Duration,
        mut warn: impl FnMut(String) + Send + 'static,
    ) -> Self {
        if patience.is_zero() {
            return Self { over: None, thread: None };
        }
        let (over, is_over) = channel::<()>();
        let heartbeat = heartbeat.clone();
        let look = (patience / 10).clamp(Duration::from_millis(1), Duration::from_secs(1));
        let thread = std::thread::spawn(move || {
            // The beat that was the last one when a warning was given, and when the next is due.
            let mut warned: Option<(u64, Duration)> = None;
            while is_over.recv_timeout(look) == Err(RecvTimeoutError::Timeout) {
                let state = heartbeat.state();
                let silence = state.last.elapsed();
                if warned.is_some_and(|(beats, _)| beats != state.beats) {
                    warned = None;
                    let text = format!("going on: {}", state.phase);
                    drop(state);
                    warn(text);
                } else if silence >= warned.map_or(patience, |(_, due)| due) {
                    warned = Some((state.beats, 2 * silence));
                    let (phase, waits) = (state.phase, state.waits());
                    drop(state);
                    warn(format!("no progress for {} while {phase}{waits}", seconds(silence)));
                }
            }
        });
        Self { over: Some(over), thread: Some(thread) }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over = None;
        if let Some(thread) = self.thread.take() {
            // It can only panic in `warn`, and there is no other way to report that.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::Receiver;

    const PATIENCE: Duration = Duration::from_millis(60);

    fn watched(heartbeat: &Heartbeat, patience: Duration) -> (Watchdog, Receiver<String>) {
        let (sender, warnings) = channel();
        let warn = move |text| sender.send(text).unwrap_or(());
        (Watchdog::start(heartbeat, patience, warn), warnings)
    }

    #[test]
    fn a_stall_is_named_once_then_at_growing_intervals_and_cleared() {
        let heartbeat = Heartbeat::default();
        heartbeat.enter(Phase::Waiting);
        for number in 0..7 {
            heartbeat.waits_for(number, "script", &format!("task-{number}"));
        }
        heartbeat.has(0);
        let (_watchdog, warnings) = watched(&heartbeat, PATIENCE);
        let began = Instant::now();
        let next = || warnings.recv_timeout(Duration::from_secs(10)).unwrap();
        let first = next();
        assert!(
            first.contains("while waiting for scripts; waits for script on `task-1`"),
            "{first}"
        );
        assert!(first.ends_with("and 1 more") && !first.contains("task-0"), "{first}");
        next();
        assert!(began.elapsed() >= 2 * PATIENCE, "{:?}", began.elapsed());
        heartbeat.enter(Phase::Optimizer);
        assert_eq!(next(), "going on: updating weights");
    }

    #[test]
    fn phase_times_sum_to_the_elapsed_time() {
        let began = Instant::now();
        let heartbeat = Heartbeat::default();
        heartbeat.enter(Phase::Decode);
        std::thread::sleep(Duration::from_millis(20));
        heartbeat.enter(Phase::Waiting);
        heartbeat.enter(Phase::Decode);
        std::thread::sleep(Duration::from_millis(10));
        let times = heartbeat.take_times();
        assert!(times[&Phase::Decode] >= Duration::from_millis(30), "{times:?}");
        assert!(times.values().sum::<Duration>() <= began.elapsed());
        assert!(times.contains_key(&Phase::Waiting) && !times.contains_key(&Phase::Saving));
        assert!(heartbeat.take_times().keys().eq([&Phase::Decode]));
    }

    #[test]
    fn watchdog_is_silent_with_progress_or_zero_patience() {
        let (heartbeat, asleep) = (Heartbeat::default(), Heartbeat::default());
        let (watchdog, warnings) = watched(&heartbeat, Duration::from_secs(5));
        let (_sleeper, none) = watched(&asleep, Duration::ZERO);
        for _ in 0..10 {
            heartbeat.beat();
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(watchdog);
        assert_eq!(warnings.try_iter().count() + none.try_iter().count(), 0);
    }
}
