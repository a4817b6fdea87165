//! A ledger on disk that is open for appending.

use super::entry::{Entry, LEDGER_VERSION, LineError, SealedEntry};
use super::event::{Event, RunFacts};
use super::state::{State, StateError};
use crate::clock::{BudgetChange, Clock, Origin, TimeSource};
use crate::digest::Digest;
use agents::synced_lines::{FolderLock, SyncedLines};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use tasks::files;

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file could not be read or written.
    #[error("failed to use the ledger")]
    Io(#[from] io::Error),
    /// Another server has it.
    #[error("another server has the ledger in `{0}`; stop that one first")]
    Locked(Utf8PathBuf),
    /// There is one already.
    #[error("there is a ledger in `{0}` already; name another folder for a new run")]
    Exists(Utf8PathBuf),
    /// There is none.
    #[error("there is no ledger in `{0}`")]
    Missing(Utf8PathBuf),
    /// A line is wrong.
    #[error("line {line} of `{path}` cannot be trusted")]
    Line {
        /// The ledger.
        path: Utf8PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        #[source]
        source: LineError,
    },
    /// A line cannot follow what stands before it.
    #[error("line {line} of `{path}` cannot follow what stands before it")]
    State {
        /// The ledger.
        path: Utf8PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        #[source]
        source: StateError,
    },
    /// `head.json` knows of lines that are not there.
    #[error(
        "`{0}` ends before the line that head.json names, or with another one: lines were dropped"
    )]
    Head(Utf8PathBuf),
    /// An event that the server wanted to write makes no sense; nothing was written.
    #[error("the event cannot follow what was before")]
    Event(#[source] StateError),
}

/// The last line, as a file beside the ledger has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    seq: u64,
    hash: Digest,
}

/// A ledger that is open for appending, and the state that follows from it.
#[derive(Debug)]
pub struct Ledger {
    file: SyncedLines,
    folder: Utf8PathBuf,
    head: Head,
    state: State,
    clock: Clock,
    /// Held until the ledger is dropped.
    _lock: FolderLock,
}

impl Ledger {
    /// Begins a ledger in `folder` with the line that opens the run; `facts` has the origin of its
    /// clock.
    ///
    /// # Errors
    /// [`LedgerError`]; [`LedgerError::Exists`] if there is one.
    pub fn create(
        folder: &Utf8Path,
        facts: RunFacts,
        source: Arc<dyn TimeSource>,
    ) -> Result<Self, LedgerError> {
        let lock = take_lock(folder)?;
        let path = path(folder);
        let mut file = SyncedLines::open(&path)?;
        if fs::metadata(&path)?.len() > 0 {
            return Err(LedgerError::Exists(folder.to_owned()));
        }
        let clock = Clock::starting_at(source, &facts.origin);
        let sealed = Entry {
            version: LEDGER_VERSION,
            seq: 0,
            elapsed_ms: clock.elapsed_ms(),
            time: clock.time_of_day(),
            event: Event::Opened(Box::new(facts)),
            prev: Digest::ZERO,
        }
        .seal();
        let state = State::open(&sealed.entry).map_err(LedgerError::Event)?;
        file.append(std::slice::from_ref(&sealed))?;
        let head = Head { seq: 0, hash: sealed.hash };
        files::write_json(&head_path(folder), &head)?;
        Ok(Self { file, folder: folder.to_owned(), head, state, clock, _lock: lock })
    }

    /// Opens the ledger in `folder`, reads its lines, and says in it that the server was started
    /// again. A last line that is torn was never acted upon, and is removed.
    ///
    /// # Errors
    /// [`LedgerError`]; [`LedgerError::Missing`] if there is none.
    pub fn open(folder: &Utf8Path, source: Arc<dyn TimeSource>) -> Result<Self, LedgerError> {
        let lock = take_lock(folder)?;
        if !path(folder).exists() {
            return Err(LedgerError::Missing(folder.to_owned()));
        }
        let file = SyncedLines::open(&path(folder))?;
        let lines = read_lines(folder)?;
        let Some(last) = lines.last() else {
            return Err(LedgerError::Missing(folder.to_owned()));
        };
        let head = Head { seq: last.entry.seq, hash: last.hash };
        let state = replay(folder, &lines)?;
        let (origin, origin_ms) = state.origin();
        let clock = Clock::resuming(source, origin, origin_ms, state.elapsed_ms());
        let mut ledger = Self { file, folder: folder.to_owned(), head, state, clock, _lock: lock };
        let origin = Origin::clone(&ledger.clock.origin());
        ledger.append(Event::Budget(BudgetChange::Restarted { origin }))?;
        Ok(ledger)
    }

    /// Writes an event down. It has happened once this returns.
    ///
    /// # Errors
    /// [`LedgerError::Event`] if it cannot follow what was before, and an I/O error; either way the
    /// event has not happened.
    pub fn append(&mut self, event: Event) -> Result<(), LedgerError> {
        let sealed = Entry {
            version: LEDGER_VERSION,
            seq: self.head.seq + 1,
            elapsed_ms: self.clock.elapsed_ms().max(self.state.elapsed_ms()),
            time: self.clock.time_of_day(),
            event,
            prev: self.head.hash,
        }
        .seal();
        let mut state = self.state.clone();
        state.apply(&sealed.entry).map_err(LedgerError::Event)?;
        self.file.append(std::slice::from_ref(&sealed))?;
        self.state = state;
        self.head = Head { seq: sealed.entry.seq, hash: sealed.hash };
        // It only helps an audit, and the next line writes it anew.
        if let Err(error) = files::write_json(&head_path(&self.folder), &self.head) {
            tracing::warn!(%error, "head.json could not be written");
        }
        Ok(())
    }

    /// The state of the run.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Milliseconds since the run was opened.
    pub fn elapsed_ms(&self) -> u64 {
        self.clock.elapsed_ms().max(self.state.elapsed_ms())
    }

    /// Milliseconds of the budget that are left.
    pub fn left_ms(&self) -> u64 {
        self.state.facts().budget.limit_ms - self.used_ms()
    }

    /// Milliseconds of the budget that were used.
    pub fn used_ms(&self) -> u64 {
        self.state.used_ms(self.elapsed_ms())
    }

    /// Number of the last line, from 0, and its hash.
    pub fn head(&self) -> (u64, Digest) {
        (self.head.seq, self.head.hash)
    }
}

fn take_lock(folder: &Utf8Path) -> Result<FolderLock, LedgerError> {
    FolderLock::take(&folder.join("lock"))?.ok_or_else(|| LedgerError::Locked(folder.to_owned()))
}

fn path(folder: &Utf8Path) -> Utf8PathBuf {
    folder.join("ledger.jsonl")
}

fn head_path(folder: &Utf8Path) -> Utf8PathBuf {
    folder.join("head.json")
}

/// Reads the ledger in `folder` and checks its chain and its head. A torn last line is passed over.
///
/// # Errors
/// [`LedgerError`].
pub fn read_lines(folder: &Utf8Path) -> Result<Vec<SealedEntry>, LedgerError> {
    let path = path(folder);
    // The head is written after the line, so it may lag behind and never leads; read before the lines, it
    // does not lead either while a server writes.
    let head: Option<Head> = match fs::read(head_path(folder)) {
        Ok(bytes) => {
            Some(serde_json::from_slice(&bytes).map_err(|_| LedgerError::Head(path.clone()))?)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let bytes = fs::read(&path)?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let (mut lines, mut prev) = (Vec::new(), Digest::ZERO);
    for (index, line) in bytes[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
        let fails = |source| LedgerError::Line { path: path.clone(), line: index + 1, source };
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = str::from_utf8(line).map_err(|_| fails(LineError::Form))?;
        let sealed = SealedEntry::read(line, index as u64, prev).map_err(fails)?;
        prev = sealed.hash;
        lines.push(sealed);
    }
    let is_whole = match head {
        Some(head) => {
            let named = usize::try_from(head.seq).ok().and_then(|seq| lines.get(seq));
            named.is_some_and(|line: &SealedEntry| line.hash == head.hash)
        }
        // A server that is killed at its first line leaves none.
        None => lines.len() <= 1,
    };
    if !is_whole {
        return Err(LedgerError::Head(path));
    }
    Ok(lines)
}

/// The state after `lines`, which were read from `folder`.
///
/// # Errors
/// [`LedgerError::State`]; [`LedgerError::Missing`] if there are none.
pub(crate) fn replay(folder: &Utf8Path, lines: &[SealedEntry]) -> Result<State, LedgerError> {
    let fails = |index: usize| {
        move |source| LedgerError::State { path: path(folder), line: index + 1, source }
    };
    let Some((first, rest)) = lines.split_first() else {
        return Err(LedgerError::Missing(folder.to_owned()));
    };
    let mut state = State::open(&first.entry).map_err(fails(0))?;
    for (index, line) in rest.iter().enumerate() {
        state.apply(&line.entry).map_err(fails(index + 1))?;
    }
    Ok(state)
}
