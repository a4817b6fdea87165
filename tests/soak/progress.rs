//! What a supervisor says of its episodes, a line of JSON each, and the sum of it.

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One line of a supervisor's standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum SupervisorLine {
    /// The sandbox stands; episodes begin.
    Ready {
        /// The launcher's process number: everything that runs is below it.
        launcher: u32,
        /// How strong the jail is.
        tier: String,
    },
    /// An episode has begun.
    Began {
        /// Whose.
        thread: usize,
        /// Its record, below the folder of records.
        record: Utf8PathBuf,
    },
    /// An action was carried out, and written down.
    Step {
        /// Whose.
        thread: usize,
        /// How a script ended; nothing for another action.
        run: Option<FinishedScript>,
        /// Whether the turn could not be understood.
        malformed: bool,
    },
    /// An episode was graded.
    Closed {
        /// Whose.
        thread: usize,
    },
    /// Something went wrong that was not the agent's doing.
    Error {
        /// Whose.
        thread: usize,
        /// What.
        text: String,
    },
}

/// A script that ran.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FinishedScript {
    /// How it ended, in words.
    pub(crate) outcome: String,
    /// Seconds from its start to its end.
    pub(crate) wall: f64,
    /// Seconds that the step took beyond that: the wait for a place, the jail, the record.
    pub(crate) wait: f64,
}

/// One thread's progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThreadProgress {
    /// Episodes played to the end.
    pub(crate) episodes: usize,
    /// Actions carried out.
    pub(crate) steps: usize,
    /// Scripts run.
    pub(crate) runs: usize,
    /// The record of the episode in progress, and its steps so far.
    pub(crate) open: Option<(Utf8PathBuf, usize)>,
}

/// The sum of a supervisor's lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct SupervisorTally {
    /// From [`SupervisorLine::Ready`].
    pub(crate) ready: Option<(u32, String)>,
    pub(crate) threads: BTreeMap<usize, ThreadProgress>,
    /// The records of episodes that were played to the end.
    pub(crate) closed: Vec<Utf8PathBuf>,
    /// How scripts ended, and how often.
    pub(crate) outcomes: BTreeMap<String, usize>,
    pub(crate) malformed: usize,
    /// Of each script, in seconds.
    pub(crate) walls: Vec<f64>,
    /// Of each script, in seconds.
    pub(crate) waits: Vec<f64>,
    pub(crate) errors: Vec<String>,
}

impl SupervisorTally {
    pub(crate) fn take(&mut self, line: SupervisorLine) {
        match line {
            SupervisorLine::Ready { launcher, tier } => self.ready = Some((launcher, tier)),
            SupervisorLine::Began { thread, record } => {
                self.threads.entry(thread).or_default().open = Some((record, 0));
            }
            SupervisorLine::Step { thread, run, malformed } => {
                let progress = self.threads.entry(thread).or_default();
                progress.steps += 1;
                if let Some((_, steps)) = &mut progress.open {
                    *steps += 1;
                }
                self.malformed += usize::from(malformed);
                if let Some(FinishedScript { outcome, wall, wait }) = run {
                    progress.runs += 1;
                    *self.outcomes.entry(outcome).or_default() += 1;
                    self.walls.push(wall);
                    self.waits.push(wait);
                }
            }
            SupervisorLine::Closed { thread } => {
                let progress = self.threads.entry(thread).or_default();
                progress.episodes += 1;
                self.closed.extend(progress.open.take().map(|(record, _)| record));
            }
            SupervisorLine::Error { thread, text } => {
                self.errors.push(format!("thread {thread}: {text}"));
            }
        }
    }

    pub(crate) fn steps(&self) -> usize {
        self.threads.values().map(|progress| progress.steps).sum()
    }
}
