//! What the records of a folder may take of its disk.
//!
//! Before an episode begins, as much is set aside for it as one record may have. So a record once
//! begun can be written to its end, and an episode for which there is no room does not begin.

use super::record::RecordError;
use camino::{Utf8Path, Utf8PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tasks::units::ByteSize;

/// How long a count of the folder's files is trusted once there seems to be no room: somebody may
/// have moved records away.
const RECOUNT: Duration = Duration::from_secs(10);

/// The bound on a folder of records, which one process at a time should write to. Clones are the
/// same ledger.
///
/// # Examples
/// ```rust
/// use sandbox::env::Ledger;
/// use tasks::units::ByteSize;
///
/// // Records of at most 32 MiB each, in a folder of at most 64 MiB.
/// let ledger = Ledger::open("/no/such/folder".into(), ByteSize::mib(32), ByteSize::mib(64))?;
/// let first = ledger.room()?;
/// let _second = ledger.room()?;
/// assert!(ledger.room().is_err(), "everything is set aside");
/// drop(first);
/// assert!(ledger.room().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ledger(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: Utf8PathBuf,
    each: ByteSize,
    all: ByteSize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Bytes in the folder.
    stored: u64,
    /// Bytes set aside and not written.
    reserved: u64,
    counted: Instant,
}

impl Ledger {
    /// Counts what lies in `folder`, which need not be there yet. `each` is the size at which a
    /// record takes no more actions, `all` that of the folder with all that is set aside.
    ///
    /// # Errors
    /// The file system's word.
    pub fn open(folder: &Utf8Path, each: ByteSize, all: ByteSize) -> std::io::Result<Self> {
        let stored = size(folder)?;
        let state = Mutex::new(State { stored, reserved: 0, counted: Instant::now() });
        Ok(Self(Arc::new(Inner { folder: folder.to_owned(), each, all, state })))
    }

    /// Sets aside what one record may take.
    ///
    /// # Errors
    /// [`RecordError::NoRoom`], and [`RecordError::Io`] if the folder cannot be counted.
    pub fn room(&self) -> Result<Room, RecordError> {
        let Inner { folder, each, all, .. } = &*self.0;
        let mut state = self.state();
        let full = |state: &State| {
            let wanted = [state.stored, state.reserved, each.bytes()];
            wanted.into_iter().try_fold(0, u64::checked_add).is_none_or(|sum| sum > all.bytes())
        };
        if full(&state) && state.counted.elapsed() >= RECOUNT {
            (state.stored, state.counted) = (size(folder)?, Instant::now());
        }
        if full(&state) {
            let (stored, reserved) = (ByteSize::new(state.stored), ByteSize::new(state.reserved));
            return Err(RecordError::NoRoom { stored, reserved, all: *all });
        }
        state.reserved += each.bytes();
        drop(state);
        Ok(Room { ledger: Some(self.clone()), limit: *each, written: 0 })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is set aside for one record; what is left of it when this is dropped is free again.
#[derive(Debug)]
pub struct Room {
    ledger: Option<Ledger>,
    limit: ByteSize,
    written: u64,
}

impl Room {
    /// As much as there is, for a record that nobody bounds.
    pub fn unbounded() -> Self {
        Self { ledger: None, limit: ByteSize::new(u64::MAX), written: 0 }
    }

    /// The size at which the record takes no more actions.
    pub(super) fn limit(&self) -> ByteSize {
        self.limit
    }

    /// The record's length so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Whether so much more stays within the limit.
    pub(super) fn holds(&self, bytes: u64) -> bool {
        self.written.saturating_add(bytes) <= self.limit.bytes()
    }

    /// That so much more was written.
    pub(super) fn wrote(&mut self, bytes: u64) {
        let before = self.left();
        self.written += bytes;
        if let Some(ledger) = &self.ledger {
            let mut state = ledger.state();
            state.stored += bytes;
            state.reserved -= before - self.left();
        }
    }

    /// What is still set aside. The last lines of a record may go beyond that: they are short,
    /// and never left out.
    fn left(&self) -> u64 {
        self.limit.bytes().saturating_sub(self.written)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(ledger) = &self.ledger {
            ledger.state().reserved -= self.left();
        }
    }
}

/// Bytes of all files below a folder; 0 of none.
fn size(folder: &Utf8Path) -> std::io::Result<u64> {
    // What is gone by the time it is looked at takes nothing.
    let or_gone = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(0),
        _ => Err(error),
    };
    let entries = match folder.read_dir_utf8() {
        Ok(entries) => entries,
        Err(error) => return or_gone(error),
    };
    let mut sum = 0;
    for entry in entries {
        let entry = entry?;
        // Links are counted as such, and not followed.
        sum += match entry.metadata() {
            Ok(found) if found.is_dir() => size(entry.path())?,
            Ok(found) => found.len(),
            Err(error) => or_gone(error)?,
        };
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;

    #[test]
    fn room_is_set_aside_used_and_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        fs::create_dir(folder.join("task")).unwrap();
        fs::write(folder.join("task/old.jsonl"), [0; 40]).unwrap();
        let ledger = Ledger::open(folder, ByteSize::new(30), ByteSize::new(100)).unwrap();
        let (mut first, second) = (ledger.room().unwrap(), ledger.room().unwrap());
        let refusal = ledger.room().unwrap_err();
        assert!(
            matches!(refusal, RecordError::NoRoom { stored, reserved, .. }
                if (stored.bytes(), reserved.bytes()) == (40, 60)),
            "{refusal}"
        );
        assert!(first.holds(30) && !first.holds(31));
        first.wrote(10);
        assert!(first.holds(20) && !first.holds(21));
        drop(first);
        // 40 + 10 stored, 30 set aside: 20 are free, and one record may take 30.
        assert!(ledger.room().is_err());
        drop(second);
        let mut third = ledger.room().unwrap();
        // Beyond its limit, which only the last lines may be.
        third.wrote(45);
        drop(third);
        let state = ledger.state();
        assert_eq!((state.stored, state.reserved), (95, 0));
    }

    #[test]
    fn records_that_were_moved_away_make_room_after_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        fs::write(folder.join("old.jsonl"), [0; 90]).unwrap();
        let ledger = Ledger::open(folder, ByteSize::new(30), ByteSize::new(100)).unwrap();
        fs::remove_file(folder.join("old.jsonl")).unwrap();
        assert!(ledger.room().is_err());
        let long_ago = Instant::now().checked_sub(RECOUNT).unwrap();
        ledger.state().counted = long_ago;
        assert!(ledger.room().is_ok());
    }

    #[test]
    fn a_folder_that_is_not_there_is_empty() {
        let ledger = Ledger::open("/nowhere/at/all".into(), ByteSize::new(1), ByteSize::new(1));
        assert!(ledger.unwrap().room().is_ok());
    }
}
