//! A file of JSON lines that only grows: one writer, and each line on the disk before anything depends
//! on it. Journals of runs and of guided conversations are such files.

use camino::Utf8Path;
use fs_err as fs;
use serde::Serialize;
use std::fs::TryLockError;
use std::io::{self, Write as _};
use tasks::files;

/// The lock of a folder: a file in it, locked until this is dropped.
#[derive(Debug)]
pub struct FolderLock(fs::File);

impl FolderLock {
    /// Takes the lock whose file is `path`; `None` if another process holds it.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn take(path: &Utf8Path) -> io::Result<Option<Self>> {
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        match file.file().try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing is not enough: a child forked by another thread has the file open too, until it
        // executes its program.
        let _ = self.0.file().unlock();
    }
}

/// A file of lines that is open for appending. Who opens it holds the lock of its folder.
#[derive(Debug)]
pub struct SyncedLines {
    file: fs::File,
    /// Bytes of the lines that are known to be on the disk.
    length: u64,
    /// Whether the file may end otherwise than with those lines.
    is_broken: bool,
}

impl SyncedLines {
    /// Opens the file at `path`, which is made if there is none. A last line that is torn is removed.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn open(path: &Utf8Path) -> io::Result<Self> {
        if path.exists() {
            files::remove_torn_line(path)?;
        }
        let file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { file, length, is_broken: false })
    }

    /// Appends lines, waits until all of them are on the disk, and returns where each ends, in bytes.
    /// If that fails, as on a full disk, the file is as it was before; where not even that can be had,
    /// nothing more is appended until the file is opened again.
    ///
    /// # Errors
    /// An I/O error.
    pub fn append(&mut self, lines: &[impl Serialize]) -> io::Result<Vec<u64>> {
        if self.is_broken {
            return Err(io::Error::other(
                "an earlier write failed and could not be taken back; start the program again",
            ));
        }
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(lines.len()));
        for line in lines {
            serde_json::to_writer(&mut bytes, line)?;
            bytes.push(b'\n');
            ends.push(self.length + bytes.len() as u64);
        }
        if let Err(error) = self.file.write_all(&bytes).and_then(|()| self.file.sync_data()) {
            let restored = self.file.set_len(self.length).and_then(|()| self.file.sync_data());
            self.is_broken = restored.is_err();
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_appended_after_a_torn_one_was_removed_and_one_process_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let path = folder.join("lines.jsonl");
        fs::write(&path, "1\n2").unwrap();
        let mut lines = SyncedLines::open(&path).unwrap();
        assert_eq!(lines.append(&[3, 4]).unwrap(), [4, 6]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n3\n4\n");
        assert_eq!(lines.length, 6);
        let take = || FolderLock::take(&folder.join("lock")).unwrap();
        let held = take().unwrap();
        assert!(take().is_none());
        // As a child does that has not executed its program yet.
        let _still_open = held.0.file().try_clone().unwrap();
        drop(held);
        assert!(take().is_some());
    }
}
