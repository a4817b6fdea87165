//! The records that a supervisor left behind: whether they are intact, and play again.

use crate::progress::SupervisorTally;
use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::SandboxOptions;
use sandbox::env::{Action, CloseReason, EpisodeRecord, Event, RecordedTurn, TaskSuite, replay};
use std::collections::BTreeMap;
use tasks::task::Opening;

/// The records of one supervisor, by their path below the folder.
#[derive(Debug, PartialEq)]
pub(crate) struct Records {
    records: BTreeMap<Utf8PathBuf, EpisodeRecord>,
    /// Made, and killed before the first line.
    empty: Vec<Utf8PathBuf>,
}

impl Records {
    /// Reads those of one life. What is wrong with any goes to `failures`.
    pub(crate) fn read(folder: &Utf8Path, life: u32, failures: &mut Vec<String>) -> Result<Self> {
        let mut all = Self { records: BTreeMap::new(), empty: Vec::new() };
        let prefix = format!("{life}-");
        for task in folder.read_dir_utf8()? {
            for entry in task?.path().read_dir_utf8()? {
                let entry = entry?;
                if !entry.file_name().starts_with(&prefix) {
                    continue;
                }
                let path = entry.path().strip_prefix(folder)?.to_owned();
                let text = fs_err::read(entry.path())?;
                if text.is_empty() {
                    all.empty.push(path);
                    continue;
                }
                // A reader passes over half a line; a supervisor leaves none.
                if text.last() != Some(&b'\n') {
                    failures.push(format!("record {path} ends within a line"));
                }
                match EpisodeRecord::read(entry.path()) {
                    Ok(record) => drop(all.records.insert(path, record)),
                    Err(error) => failures.push(format!("{:#}", anyhow::Error::from(error))),
                }
            }
        }
        Ok(all)
    }

    /// How many have a grade at their end.
    pub(crate) fn closed(&self) -> usize {
        self.ended(Some(CloseReason::Closed))
    }

    /// How many have no end.
    pub(crate) fn unfinished(&self) -> usize {
        self.ended(None) + self.empty.len()
    }

    /// How many were left in order.
    pub(crate) fn drained(&self) -> usize {
        self.ended(Some(CloseReason::Drained))
    }

    fn ended(&self, ending: Option<CloseReason>) -> usize {
        self.records.values().filter(|record| record.ending == ending).count()
    }

    /// Compares them with what their supervisor had said when it was killed.
    pub(crate) fn compare(
        &self,
        tally: &SupervisorTally,
        episodes: usize,
        failures: &mut Vec<String>,
    ) {
        for path in &tally.closed {
            let ending = self.records.get(path).and_then(|record| record.ending);
            if ending != Some(CloseReason::Closed) {
                failures.push(format!("episode {path} was closed, and its record is not"));
            }
        }
        for (path, steps) in tally.threads.values().filter_map(|thread| thread.open.as_ref()) {
            let written = self
                .records
                .get(path)
                .map_or(0, |record| record.turns.iter().filter(|turn| turn.step.is_some()).count());
            if written < *steps {
                failures.push(format!("{steps} steps were taken, {written} are in record {path}"));
            }
        }
        let unfinished = self.unfinished();
        if unfinished == 0 || unfinished > episodes {
            failures.push(format!(
                "{unfinished} records have no end, of {episodes} episodes at the time of the kill"
            ));
        }
        let known = self.closed() + unfinished;
        let all = self.records.len() + self.empty.len();
        if known != all {
            failures.push(format!("{} records are neither closed nor open", all - known));
        }
    }

    /// Plays up to `most` again, as different ones as there are, and returns how many. What goes
    /// otherwise than recorded is a failure.
    pub(crate) fn replay(
        &self,
        corpus: &Utf8Path,
        most: usize,
        failures: &mut Vec<String>,
    ) -> Result<usize> {
        let suite = TaskSuite::open(corpus, &Opening::default(), SandboxOptions::default())?;
        let mut kinds = BTreeMap::new();
        let closed = |record: &EpisodeRecord| record.ending == Some(CloseReason::Closed);
        for (path, record) in self.records.iter().filter(|(_, record)| closed(record)) {
            let endings = endings(record);
            let honest = endings.iter().all(|ending| ending == "finished");
            // What failed comes first; of what did not, one of each task.
            let kind = (honest, honest.then_some(&record.task), endings);
            kinds.entry(kind).or_insert((path, record));
        }
        let chosen: Vec<_> = kinds.into_values().take(most).collect();
        for (path, record) in &chosen {
            let task = suite.task(&record.task);
            let task = task.with_context(|| format!("the corpus has no task {}", record.task))?;
            for difference in replay(record, &suite, task)? {
                failures.push(format!("record {path} does not play again: {difference}"));
            }
        }
        Ok(chosen.len())
    }
}

/// How the scripts of an episode ended, and which turns were none.
fn endings(record: &EpisodeRecord) -> Vec<String> {
    let ending = |turn: &RecordedTurn| match (&turn.action, &turn.step) {
        (Action::Malformed { .. }, _) => Some("malformed".to_owned()),
        (_, Some(Event::Step { outcome, .. })) => outcome.clone(),
        _ => None,
    };
    record.turns.iter().filter_map(ending).collect()
}
