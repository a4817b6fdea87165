//! The ledger: one line per attempt, kept in step with the task folders.
//!
//! ```text
//! <corpus>/ledger.jsonl    what became of each attempt; two runs of a finished corpus have equal ones
//! <corpus>/times.jsonl     how long each took; lines of a run that was killed may be missing
//! ```
//!
//! A slot's lines are appended before its task appears, so a task without lines cannot exist;
//! lines without their task are dropped when a run is taken up again.

use crate::roles::{RoleCost, RoleName, SPENT};
use crate::spec::mix::Cell;
use crate::spec::rule::Family;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Mutex;
use tasks::metrics::Metric;

/// The file of a corpus with its ledger.
pub const LEDGER: &str = "ledger.jsonl";
/// The file of a corpus that says how long attempts took.
pub const TIMES: &str = "times.jsonl";

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The task is part of the corpus.
    Accepted,
    /// The task failed and is not part of the corpus.
    Refused,
}

/// Where an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The strategist writes the blueprint.
    Strategy,
    /// The developer makes the tables and fits the ladder.
    Development,
    /// The engineer writes the evaluator.
    Operation,
    /// The writer writes the description.
    Description,
    /// The checks run on the finished folder.
    Verification,
    /// The task was moved into the corpus.
    Packaged,
}

/// The record of one attempt, a line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Index of the slot in the corpus, from 0.
    pub slot: u64,
    /// Name of the slot's task.
    pub task: String,
    /// The attempt, from 0.
    pub attempt: u64,
    /// Kind of task that the slot asks for.
    pub cell: Cell,
    /// Scoring, once there is a blueprint.
    pub metric: Option<Metric>,
    /// Kind of rule, once there is a blueprint.
    pub family: Option<Family>,
    /// The last stage it entered.
    pub stage: Stage,
    /// Whether the task was accepted.
    pub outcome: AttemptOutcome,
    /// Reason code of a refusal.
    pub reason: Option<String>,
    /// The same in words.
    pub detail: Option<String>,
    /// Duration of the attempt, in milliseconds; `None` if it is not known. It is in a file of its
    /// own, but for ledgers of earlier builds.
    #[serde(default, skip_serializing)]
    pub milliseconds: Option<u64>,
    /// What chat models had to do with it; absent where the roles are built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelUse>,
}

/// What chat models had to do with an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelUse {
    /// How much they make, such as `writer`.
    pub mode: String,
    /// Their names.
    pub name: String,
    /// What they consumed, over all roles.
    pub cost: RoleCost,
    /// Roles that a built-in procedure played, because the model's work was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<RoleName>,
}

/// How long an attempt took, a line of the file of times.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AttemptTime {
    slot: u64,
    attempt: u64,
    milliseconds: u64,
}

/// A ledger that is open for reading and appending.
#[derive(Debug)]
pub struct Ledger {
    path: Utf8PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: fs::File,
    times: fs::File,
    entries: Vec<Entry>,
}

impl Ledger {
    /// Opens the ledger of the corpus in `out`, keeping the lines of finished slots: those
    /// whose task exists, and those that used up all their `attempts`, a function of the slot.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn open(out: &Utf8Path, attempts: impl Fn(u64) -> u64) -> io::Result<Self> {
        let path = out.join(LEDGER);
        let entries = finished(out, &read(&path)?, &attempts)?;
        write(out, &entries)?;
        let append = |path| fs::OpenOptions::new().create(true).append(true).open(path);
        let (file, times) = (append(path.clone())?, append(out.join(TIMES))?);
        Ok(Self { path, state: Mutex::new(State { file, times, entries }) })
    }

    /// Appends a slot's attempts in one write.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn append(&self, entries: &[Entry]) -> io::Result<()> {
        let (lines, times) = (lines(entries)?, times(entries)?);
        let mut state = self.lock();
        state.file.write_all(&lines)?;
        state.times.write_all(&times)?;
        state.entries.extend(entries.iter().cloned());
        Ok(())
    }

    /// Puts the lines in order, so that the same attempts leave the same ledger however they were
    /// scheduled, and returns all entries in that order.
    ///
    /// # Errors
    /// Any I/O error.
    pub fn close(self) -> io::Result<Vec<Entry>> {
        let entries = self.entries();
        if let Some(out) = self.path.parent() {
            write(out, &entries)?;
        }
        Ok(entries)
    }

    /// All entries, by slot and attempt.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = self.lock().entries.clone();
        entries.sort_by_key(|entry| (entry.slot, entry.attempt));
        entries
    }

    /// Path of the ledger's file.
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
pub fn finished_entries(out: &Utf8Path, attempts: impl Fn(u64) -> u64) -> io::Result<Vec<Entry>> {
    let mut entries = finished(out, &read(&out.join(LEDGER))?, &attempts)?;
    entries.sort_by_key(|entry| (entry.slot, entry.attempt));
    Ok(entries)
}

/// Replaces the ledger of the corpus in `out` and its file of times, where they differ.
///
/// # Errors
/// Any I/O error.
pub fn write(out: &Utf8Path, entries: &[Entry]) -> io::Result<()> {
    for (name, lines) in [(LEDGER, lines(entries)?), (TIMES, times(entries)?)] {
        let path = out.join(name);
        if fs::read(&path).ok().as_ref() != Some(&lines) {
            tasks::files::write_atomic(&path, &lines)?;
        }
    }
    Ok(())
}

/// Gives entries the durations that the file of times in `out` has for them. Half a line at its
/// end is nothing to worry about: what is missing is not known.
///
/// # Errors
/// Any I/O error.
pub fn add_times(out: &Utf8Path, entries: &mut [Entry]) -> io::Result<()> {
    let text = read(&out.join(TIMES))?;
    let times = text.lines().filter_map(|line| serde_json::from_str::<AttemptTime>(line).ok());
    let times: BTreeMap<(u64, u64), u64> =
        times.map(|time| ((time.slot, time.attempt), time.milliseconds)).collect();
    for entry in entries {
        let found = times.get(&(entry.slot, entry.attempt)).copied();
        entry.milliseconds = found.or(entry.milliseconds);
    }
    Ok(())
}

/// Entries as a ledger's bytes.
fn lines(entries: &[Entry]) -> io::Result<Vec<u8>> {
    json_lines(entries.iter())
}

/// Durations of entries as bytes of the file of times.
fn times(entries: &[Entry]) -> io::Result<Vec<u8>> {
    json_lines(entries.iter().filter_map(|entry| {
        let Entry { slot, attempt, .. } = *entry;
        Some(AttemptTime { slot, attempt, milliseconds: entry.milliseconds? })
    }))
}

fn json_lines(values: impl Iterator<Item = impl Serialize>) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for value in values {
        serde_json::to_writer(&mut lines, &value)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// The ledger's text; what is not text becomes lines that are not entries.
fn read(path: &Utf8Path) -> io::Result<String> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        result => Ok(String::from_utf8_lossy(&result?).into_owned()),
    }
}

/// The lines of slots whose task exists, and of those that used up their attempts or what models
/// may consume. Slots that miss one of their attempts' lines are not among them: they are done
/// again.
fn finished(out: &Utf8Path, text: &str, attempts: &dyn Fn(u64) -> u64) -> io::Result<Vec<Entry>> {
    let mut found = entries(out, text);
    add_times(out, &mut found)?;
    let finished = |entry: &Entry| {
        let of_slot = || found.iter().filter(|other| other.slot == entry.slot);
        let accepted = of_slot().any(|other| other.outcome == AttemptOutcome::Accepted);
        let count = of_slot().count() as u64;
        let whole = || (0..count).all(|index| of_slot().any(|other| other.attempt == index));
        if accepted {
            whole() && out.join(&entry.task).join("task.json").is_file()
        } else {
            let spent = of_slot().any(|other| other.reason.as_deref() == Some(SPENT));
            count >= attempts(entry.slot) || (spent && whole())
        }
    };
    Ok(found.iter().filter(|entry| finished(entry)).cloned().collect())
}

/// The lines that can be read. A killed run may leave half a line at the end, which is nothing to
/// worry about; any other damage is reported.
fn entries(out: &Utf8Path, text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        match serde_json::from_str(line) {
            Ok(entry) => entries.push(entry),
            Err(error) if line.ends_with('\n') => tracing::warn!(
                "`{out}/{LEDGER}` is damaged in line {}: {error}; its slot is made again",
                index + 1
            ),
            Err(_) => {}
        }
    }
    entries
}

#[cfg(test)]
impl Entry {
    /// The entry of an accepted attempt, for tests.
    pub(crate) fn for_tests(slot: u64, attempt: u64) -> Self {
        Self {
            slot,
            task: format!("task-{slot}"),
            attempt,
            cell: Cell::all()[0],
            metric: None,
            family: None,
            stage: Stage::Packaged,
            outcome: AttemptOutcome::Accepted,
            reason: None,
            detail: None,
            milliseconds: Some(1),
            model: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(slot: u64, attempt: u64, outcome: AttemptOutcome) -> Entry {
        Entry { outcome, ..Entry::for_tests(slot, attempt) }
    }

    #[test]
    fn only_finished_slots_survive_an_interruption() {
        let dir = tempfile::tempdir().unwrap();
        let out = Utf8Path::from_path(dir.path()).unwrap();
        let ledger = Ledger::open(out, |_| 2).unwrap();
        // Slot 0 has its task, slot 1 lost it, slot 2 gave up, slot 3 was interrupted.
        fs::create_dir_all(out.join("task-0")).unwrap();
        fs::write(out.join("task-0/task.json"), "{}").unwrap();
        ledger
            .append(&[entry(0, 0, AttemptOutcome::Refused), entry(0, 1, AttemptOutcome::Accepted)])
            .unwrap();
        ledger.append(&[entry(1, 0, AttemptOutcome::Accepted)]).unwrap();
        ledger
            .append(&[entry(2, 0, AttemptOutcome::Refused), entry(2, 1, AttemptOutcome::Refused)])
            .unwrap();
        ledger.append(&[entry(3, 0, AttemptOutcome::Refused)]).unwrap();
        let path = ledger.path().to_owned();
        drop(ledger);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"slot\":4").unwrap();

        let slots = |ledger: &Ledger| ledger.entries().iter().map(|e| e.slot).collect::<Vec<_>>();
        assert_eq!(slots(&Ledger::open(out, |_| 2).unwrap()), [0, 0, 2, 2]);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
    }

    #[test]
    fn closed_ledger_is_in_order_and_times_are_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let out = Utf8Path::from_path(dir.path()).unwrap();
        for slot in 0..2 {
            fs::create_dir_all(out.join(format!("task-{slot}"))).unwrap();
            fs::write(out.join(format!("task-{slot}/task.json")), "{}").unwrap();
        }
        let ledger = Ledger::open(out, |_| 2).unwrap();
        let timed = |slot, milliseconds| Entry { milliseconds, ..Entry::for_tests(slot, 0) };
        ledger.append(&[timed(1, Some(30))]).unwrap();
        ledger.append(&[timed(0, Some(20))]).unwrap();
        let entries = ledger.close().unwrap();
        assert_eq!(entries, [timed(0, Some(20)), timed(1, Some(30))]);
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        let (lines, times) = (read(LEDGER), read(TIMES));
        assert!(lines.starts_with("{\"slot\":0,") && !lines.contains("milliseconds"), "{lines}");
        assert!(times.starts_with("{\"slot\":0,\"attempt\":0,\"milliseconds\":20}"), "{times}");
        assert_eq!(Ledger::open(out, |_| 2).unwrap().close().unwrap(), entries);
        // A file of times that was lost, and lines of an earlier build, which have their times.
        fs::remove_file(out.join(TIMES)).unwrap();
        let lost = finished_entries(out, |_| 2).unwrap();
        assert_eq!(lost, [timed(0, None), timed(1, None)]);
        fs::write(
            out.join(LEDGER),
            lines.replace("\"attempt\":0", "\"attempt\":0,\"milliseconds\":7"),
        )
        .unwrap();
        let old = Ledger::open(out, |_| 2).unwrap().close().unwrap();
        assert_eq!(old, [timed(0, Some(7)), timed(1, Some(7))]);
        assert_eq!(read(LEDGER), lines);
    }

    #[test]
    fn a_slot_with_a_damaged_line_is_done_again() {
        let dir = tempfile::tempdir().unwrap();
        let out = Utf8Path::from_path(dir.path()).unwrap();
        let ledger = Ledger::open(out, |_| 5).unwrap();
        for slot in 0..3 {
            let place = out.join(format!("task-{slot}"));
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("task.json"), "{}").unwrap();
            let attempts =
                [entry(slot, 0, AttemptOutcome::Refused), entry(slot, 1, AttemptOutcome::Accepted)];
            ledger.append(&attempts).unwrap();
        }
        let path = ledger.path().to_owned();
        drop(ledger);
        // The refused attempt of slot 1, in bytes that are no text.
        let mut bytes = fs::read(&path).unwrap();
        let line = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0;
        bytes[line + 5..line + 20].fill(0xFF);
        fs::write(&path, bytes).unwrap();
        let slots: Vec<u64> =
            Ledger::open(out, |_| 5).unwrap().entries().iter().map(|entry| entry.slot).collect();
        assert_eq!(slots, [0, 0, 2, 2]);
    }
}
