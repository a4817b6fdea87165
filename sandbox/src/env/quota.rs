//! The disk quota of a folder of records.
//!
//! Before an episode begins, the largest size of a record is reserved for it. A record that has
//! begun can therefore be completed, and an episode that would not fit does not begin.

use super::record::RecordError;
use camino::{Utf8Path, Utf8PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tasks::units::ByteSize;

/// Least time between two counts of a full folder: records may have been moved away since.
const RECOUNT: Duration = Duration::from_secs(10);

/// The quota of a folder of records, which only one process at a time should write to. Clones share
/// it.
///
/// # Examples
/// ```rust
/// use sandbox::env::RecordQuota;
/// use tasks::units::ByteSize;
///
/// // Records of at most 32 MiB each, in a folder of at most 64 MiB.
/// let quota = RecordQuota::open("/no/such/folder".into(), ByteSize::mib(32), ByteSize::mib(64))?;
/// let first = quota.reserve()?;
/// let _second = quota.reserve()?;
/// assert!(quota.reserve().is_err(), "everything is set aside");
/// drop(first);
/// assert!(quota.reserve().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RecordQuota(Arc<QuotaShared>);

#[derive(Debug)]
struct QuotaShared {
    folder: Utf8PathBuf,
    each: ByteSize,
    all: ByteSize,
    state: Mutex<QuotaState>,
}

#[derive(Debug)]
struct QuotaState {
    /// Bytes in the folder.
    stored: u64,
    /// Bytes set aside and not written.
    reserved: u64,
    counted: Instant,
}

impl RecordQuota {
    /// Counts the files in `folder`, which need not exist yet. `each` is the size at which a record
    /// accepts no more actions, `all` the size of the folder with everything reserved.
    ///
    /// # Errors
    /// An I/O error if the folder cannot be read.
    pub fn open(folder: &Utf8Path, each: ByteSize, all: ByteSize) -> std::io::Result<Self> {
        let stored = size(folder)?;
        let state = Mutex::new(QuotaState { stored, reserved: 0, counted: Instant::now() });
        Ok(Self(Arc::new(QuotaShared { folder: folder.to_owned(), each, all, state })))
    }

    /// Reserves the size of one record.
    ///
    /// # Errors
    /// [`RecordError::NoRoom`] if the quota is used up, [`RecordError::Io`] if the folder cannot be
    /// read.
    pub fn reserve(&self) -> Result<Reservation, RecordError> {
        let QuotaShared { folder, each, all, .. } = &*self.0;
        let mut state = self.state();
        let full = |state: &QuotaState| {
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
        Ok(Reservation { quota: Some(self.clone()), limit: *each, written: 0 })
    }

    fn state(&self) -> MutexGuard<'_, QuotaState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The disk space reserved for one record. Dropping it frees what was not used.
#[derive(Debug)]
pub struct Reservation {
    quota: Option<RecordQuota>,
    limit: ByteSize,
    written: u64,
}

impl Reservation {
    /// A reservation without a bound.
    pub fn unbounded() -> Self {
        Self { quota: None, limit: ByteSize::new(u64::MAX), written: 0 }
    }

    /// The size in bytes at which the record accepts no more actions.
    pub(super) fn limit(&self) -> ByteSize {
        self.limit
    }

    /// Bytes of the record written so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Whether `bytes` more stay within the limit.
    pub(super) fn holds(&self, bytes: u64) -> bool {
        self.written.saturating_add(bytes) <= self.limit.bytes()
    }

    /// Notes that `bytes` more were written.
    pub(super) fn wrote(&mut self, bytes: u64) {
        let before = self.left();
        self.written += bytes;
        if let Some(quota) = &self.quota {
            let mut state = quota.state();
            state.stored += bytes;
            state.reserved -= before - self.left();
        }
    }

    /// Bytes that are reserved and not yet written. The last lines of a record may exceed the
    /// reservation: they are short and always written.
    fn left(&self) -> u64 {
        self.limit.bytes().saturating_sub(self.written)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(quota) = &self.quota {
            quota.state().reserved -= self.left();
        }
    }
}

/// Bytes of all files below a folder; 0 if it does not exist.
fn size(folder: &Utf8Path) -> std::io::Result<u64> {
    // A file that has been removed in the meantime counts as 0.
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
    fn quota_is_reserved_used_and_released() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        fs::create_dir(folder.join("task")).unwrap();
        fs::write(folder.join("task/old.jsonl"), [0; 40]).unwrap();
        let quota = RecordQuota::open(folder, ByteSize::new(30), ByteSize::new(100)).unwrap();
        let (mut first, second) = (quota.reserve().unwrap(), quota.reserve().unwrap());
        let refusal = quota.reserve().unwrap_err();
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
        assert!(quota.reserve().is_err());
        drop(second);
        let mut third = quota.reserve().unwrap();
        // Beyond its limit, which only the last lines may be.
        third.wrote(45);
        drop(third);
        let state = quota.state();
        assert_eq!((state.stored, state.reserved), (95, 0));
    }

    #[test]
    fn moved_records_free_their_quota_after_the_next_count() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        fs::write(folder.join("old.jsonl"), [0; 90]).unwrap();
        let quota = RecordQuota::open(folder, ByteSize::new(30), ByteSize::new(100)).unwrap();
        fs::remove_file(folder.join("old.jsonl")).unwrap();
        assert!(quota.reserve().is_err());
        let long_ago = Instant::now().checked_sub(RECOUNT).unwrap();
        quota.state().counted = long_ago;
        assert!(quota.reserve().is_ok());
    }

    #[test]
    fn missing_folder_counts_as_empty() {
        let quota = RecordQuota::open("/nowhere/at/all".into(), ByteSize::new(1), ByteSize::new(1));
        assert!(quota.unwrap().reserve().is_ok());
    }
}
