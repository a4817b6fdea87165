//! A folder of the host for work dirs on disk.

use crate::exec::fault::Fault;
use crate::isolation::owner::Owner;
use crate::isolation::tree;
use camino::{Utf8Path, Utf8PathBuf};
use std::os::unix::fs::DirBuilderExt as _;
use tasks::units::ByteSize;

/// The number of the file system that keeps files in memory.
const TMPFS: i64 = 0x0102_1994;

/// The folder. Dropping it removes it and all that is in it.
#[derive(Debug)]
pub(crate) struct HostFolder {
    path: Utf8PathBuf,
}

impl HostFolder {
    /// Makes one in the folder for temporary files, accessible only to `user`, if it is another's;
    /// and removes those of supervisors that are gone.
    pub(crate) fn make(user: Option<u32>) -> Result<Self, Fault> {
        let failed = Fault::system::<std::io::Error>;
        let owner = Owner::this().map_err(failed("read about this process"))?;
        let parent = Utf8PathBuf::from_path_buf(std::env::temp_dir()).map_err(|path| {
            let error = format!("{} is not UTF-8", path.display());
            failed("use the folder for temporary files")(std::io::Error::other(error))
        })?;
        sweep(&parent, &owner);
        let path = parent.join(owner.to_string());
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700).create(&path).map_err(failed("make a folder for work dirs"))?;
        let folder = Self { path };
        if let Some(user) = user {
            std::os::unix::fs::lchown(&folder.path, Some(user), Some(user))
                .map_err(failed("give the folder for work dirs away"))?;
        }
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Warns if it is not what a work dir of so many bytes needs: a folder in memory, or on a disk
    /// with less room.
    pub(crate) fn warn_if_unfit(&self, work_dir: ByteSize) -> Result<(), Fault> {
        let failed = || Fault::system("read about the disk with work dirs");
        let about = rustix::fs::statfs(self.path.as_str()).map_err(failed())?;
        let block = u64::try_from(about.f_bsize).unwrap_or(0);
        let free = ByteSize::new(about.f_bavail.saturating_mul(block));
        let folder = &self.path;
        if about.f_type == TMPFS {
            tracing::warn!(%folder, "work dirs are to be on disk, and the folder for temporary files is in memory; set TMPDIR to one on a disk");
        }
        if free < work_dir {
            tracing::warn!(%folder, %free, %work_dir, "the disk has less room than one work dir may take; a run that fills it becomes a fault");
        }
        Ok(())
    }
}

impl Drop for HostFolder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn sweep(parent: &Utf8Path, own: &Owner) {
    for entry in parent.read_dir_utf8().into_iter().flatten().flatten() {
        let owner: Option<Owner> = entry.file_name().parse().ok();
        // Anybody may make a folder of that name; a link is not one.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && owner.is_some_and(|owner| owner.is_gone(own)) {
            tracing::info!(folder = %entry.path(), "its supervisor is gone; it is removed");
            remove(entry.path());
        }
    }
}

/// The zygote may be at the same work, so a step that fails is tried again.
pub(super) fn remove(path: &Utf8Path) {
    for _ in 0..10 {
        match tree::remove(path.as_str()) {
            Ok(()) => return,
            Err(error) => {
                tracing::debug!(%error, "a folder with work dirs is not removed yet");
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
    tracing::warn!(folder = %path, "a folder with work dirs could not be removed");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_removed_with_their_owner_or_by_the_next_sandbox() {
        let folder = HostFolder::make(None).unwrap();
        let path = folder.path().to_owned();
        fs_err::create_dir_all(path.join("0/deep")).unwrap();
        let name = path.file_name().unwrap();
        let own: Owner = name.parse().unwrap();
        let stale = name.replacen(&std::process::id().to_string(), "4000000000", 1);
        let stale = path.parent().unwrap().join(stale);
        fs_err::create_dir_all(stale.join("0")).unwrap();
        sweep(path.parent().unwrap(), &own);
        assert!(path.exists() && !stale.exists());
        drop(folder);
        assert!(!path.exists());
    }
}
