//! The ledger: one line per attempt, kept in step with the task folders.
//!
//! A slot's lines are appended before its task appears, so a task without lines cannot exist;
//! lines without their task are dropped when a run is taken up again.

use crate::mix::Cell;
use crate::rule::Family;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use sandbox::metrics::Metric;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::sync::Mutex;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The task is part of the corpus.
    Accepted,
    /// It is not.
    Refused,
}

/// Where an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The strategist's blueprint.
    Strategy,
    /// Tables and ladder.
    Development,
    /// Verification.
    Verification,
    /// In the corpus.
    Packaged,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The slot.
    pub slot: u64,
    /// The task's name.
    pub task: String,
    /// The attempt, from 0.
    pub attempt: u64,
    /// Kind of task.
    pub cell: Cell,
    /// Scoring, once there is a blueprint.
    pub metric: Option<Metric>,
    /// Kind of rule, once there is a blueprint.
    pub family: Option<Family>,
    /// The last stage it entered.
    pub stage: Stage,
    /// How it ended.
    pub outcome: Outcome,
    /// Reason code of a refusal.
    pub reason: Option<String>,
    /// The same in words.
    pub detail: Option<String>,
    /// Time spent.
    pub milliseconds: u64,
}

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    path: Utf8PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: fs::File,
    entries: Vec<Entry>,
}

impl Ledger {
    /// Opens the ledger of the corpus in `out`, keeping the lines of finished slots: those
    /// whose task exists, and those that used up all their attempts.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn open(out: &Utf8Path, attempts: u64) -> io::Result<Self> {
        let path = out.join("ledger.jsonl");
        let text = read(&path)?;
        let entries = finished(out, &text, attempts);
        let kept = lines(&entries)?;
        if kept != text.as_bytes() {
            sandbox::files::write_atomic(&path, &kept)?;
        }
        let file = fs::OpenOptions::new().create(true).append(true).open(&path)?;
        Ok(Self { path, state: Mutex::new(State { file, entries }) })
    }

    /// Appends a slot's attempts in one write.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn append(&self, entries: &[Entry]) -> io::Result<()> {
        let lines = lines(entries)?;
        let mut state = self.lock();
        state.file.write_all(&lines)?;
        state.entries.extend(entries.iter().cloned());
        Ok(())
    }

    /// All entries, by slot and attempt.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = self.lock().entries.clone();
        entries.sort_by_key(|entry| (entry.slot, entry.attempt));
        entries
    }

    /// The ledger's file.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A writer that panicked left whole entries or none in memory.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The lines of finished slots of the corpus in `out`, by slot and attempt, changing nothing.
///
/// # Errors
/// Any I/O error.
pub fn finished_entries(out: &Utf8Path, attempts: u64) -> io::Result<Vec<Entry>> {
    let mut entries = finished(out, &read(&out.join("ledger.jsonl"))?, attempts);
    entries.sort_by_key(|entry| (entry.slot, entry.attempt));
    Ok(entries)
}

/// Entries as a ledger's bytes.
///
/// # Errors
/// If one cannot be serialised.
pub fn lines(entries: &[Entry]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut lines, entry)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

fn read(path: &Utf8Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        result => result,
    }
}

/// The lines of slots whose task exists, and of those that used up all their attempts.
fn finished(out: &Utf8Path, text: &str, attempts: u64) -> Vec<Entry> {
    // A killed run may leave half a line at the end; its slot is simply done again.
    let found: Vec<Entry> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let finished = |entry: &Entry| {
        let of_slot = || found.iter().filter(|other| other.slot == entry.slot);
        let accepted = of_slot().any(|other| other.outcome == Outcome::Accepted);
        if accepted {
            out.join(&entry.task).join("task.json").is_file()
        } else {
            of_slot().count() as u64 >= attempts
        }
    };
    found.iter().filter(|entry| finished(entry)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(slot: u64, attempt: u64, outcome: Outcome) -> Entry {
        Entry {
            slot,
            task: format!("task-{slot}"),
            attempt,
            cell: Cell::all()[0],
            metric: None,
            family: None,
            stage: Stage::Packaged,
            outcome,
            reason: None,
            detail: None,
            milliseconds: 1,
        }
    }

    #[test]
    fn only_finished_slots_survive_an_interruption() {
        let dir = tempfile::tempdir().unwrap();
        let out = Utf8Path::from_path(dir.path()).unwrap();
        let ledger = Ledger::open(out, 2).unwrap();
        // Slot 0 has its task, slot 1 lost it, slot 2 gave up, slot 3 was interrupted.
        fs::create_dir_all(out.join("task-0")).unwrap();
        fs::write(out.join("task-0/task.json"), "{}").unwrap();
        ledger.append(&[entry(0, 0, Outcome::Refused), entry(0, 1, Outcome::Accepted)]).unwrap();
        ledger.append(&[entry(1, 0, Outcome::Accepted)]).unwrap();
        ledger.append(&[entry(2, 0, Outcome::Refused), entry(2, 1, Outcome::Refused)]).unwrap();
        ledger.append(&[entry(3, 0, Outcome::Refused)]).unwrap();
        let path = ledger.path().to_owned();
        drop(ledger);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"slot\":4").unwrap();

        let slots = |ledger: &Ledger| ledger.entries().iter().map(|e| e.slot).collect::<Vec<_>>();
        assert_eq!(slots(&Ledger::open(out, 2).unwrap()), [0, 0, 2, 2]);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
    }
}
