//! What hangs: a run tells its [`Heartbeat`] what it is doing, and a [`Watchdog`] speaks up when
//! it hears nothing for too long. It never ends anything.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How many of the things that are waited for a warning names.
const NAMED: usize = 5;

/// What a run is doing and when it last got on with it. Clones share it.
#[derive(Debug, Clone)]
pub struct Heartbeat(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    phase: &'static str,
    last: Instant,
    beats: u64,
    /// By a number of the caller's choice: what is waited for, and since when.
    waiting: BTreeMap<usize, (String, Instant)>,
}

impl Default for Heartbeat {
    fn default() -> Self {
        let (last, waiting) = (Instant::now(), BTreeMap::new());
        Self(Arc::new(Mutex::new(State { phase: "starting", last, beats: 0, waiting })))
    }
}

impl Heartbeat {
    /// Progress, and what comes next, such as `generating`.
    pub fn enter(&self, phase: &'static str) {
        let mut state = self.state();
        state.phase = phase;
        state.beat();
    }

    /// Progress within the phase.
    pub fn beat(&self) {
        self.state().beat();
    }

    /// From now on something is waited for, such as a `script` on a task.
    pub fn waits_for(&self, number: usize, what: &str, task: &str) {
        let mut state = self.state();
        state.beat();
        state.waiting.insert(number, (format!("{what} on `{task}`"), Instant::now()));
    }

    /// What was waited for is there.
    pub fn has(&self, number: usize) {
        let mut state = self.state();
        state.beat();
        state.waiting.remove(&number);
    }

    /// Nothing is waited for any more.
    pub fn has_all(&self) {
        self.state().waiting.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
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

/// A thread that listens to a heartbeat for as long as this lives.
#[derive(Debug)]
pub struct Watchdog {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Says through `warn` what hangs when nothing was heard for `patience`, again whenever the
    /// silence has doubled, and once more when it is over. With no patience at all (zero) it
    /// stays silent.
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
            // It can only panic in `warn`, and then there is nobody left to tell.
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
        heartbeat.enter("waiting for scripts");
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
        heartbeat.enter("updating");
        assert_eq!(next(), "going on: updating");
    }

    #[test]
    fn progress_and_no_patience_keep_it_silent() {
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
