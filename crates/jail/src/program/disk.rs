//! What a program has written: its folders, and the disk that they are on.
//!
//! Folders of the host have no size of their own, so they are looked at while the program runs, and it
//! is ended when they hold too much. What looking does not find, such as deleted files that are still
//! open, shows in what the disk has left.

use super::spec::{ProgramError, ProgramLimits};
use crate::isolation::tree;
use std::time::{Duration, Instant};
use tasks::units::ByteSize;

/// Time between two looks, unless looking takes long.
const PAUSE: Duration = Duration::from_secs(1);
/// At most one part in so many of the time is spent looking.
const SHARE: u32 = 20;

/// Looks at folders from time to time.
#[derive(Debug)]
pub(super) struct DiskWatch {
    folders: Vec<String>,
    disk: ByteSize,
    files: u64,
    free: ByteSize,
    next: Instant,
}

impl DiskWatch {
    pub(super) fn new(folders: Vec<String>, limits: &ProgramLimits) -> Self {
        let (disk, files, free) = (limits.disk, limits.files, limits.free_disk);
        Self { folders, disk, files, free, next: Instant::now() }
    }

    /// What is too much, as a clause; none if nothing is, or if it is not yet time to look again.
    pub(super) fn look(&mut self) -> Result<Option<String>, ProgramError> {
        let began = Instant::now();
        if began < self.next {
            return Ok(None);
        }
        for folder in &self.folders {
            let about = rustix::fs::statvfs(folder.as_str());
            let about = about.map_err(ProgramError::system("look at a disk"))?;
            let left = ByteSize::new(about.f_bavail.saturating_mul(about.f_frsize));
            if left < self.free {
                let least = self.free;
                return Ok(Some(format!("the disk has {left} left, and must have {least}")));
            }
        }
        let folders = self.folders.iter().map(String::as_str);
        let fits = tree::fit_together(folders, self.disk.bytes(), self.files)
            .map_err(ProgramError::system("look at a folder of the program"))?;
        if !fits {
            return Ok(Some(format!(
                "its folders hold more than {} or {} files, are more than {} deep, or cannot be listed",
                self.disk,
                self.files,
                tree::DEPTH
            )));
        }
        self.next = Instant::now() + PAUSE.max(began.elapsed() * SHARE);
        Ok(None)
    }
}
