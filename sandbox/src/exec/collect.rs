//! Reading a file that a script left, without trusting anything about it.
//!
//! The script's processes are gone when this runs, so nothing changes underneath. What they left
//! may be a link to a secret, a pipe that never ends, a device, a directory, or huge.

use crate::policy::ByteSize;
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use std::io::Read;

/// A file could not be had. The text is for the agent.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// There is no such file.
    #[error("there is no file `{name}` in the work dir")]
    Missing {
        /// Its name.
        name: String,
    },
    /// A link is on the way to it.
    #[error("`{name}` is or goes through a link; write the file itself")]
    Link {
        /// Its name.
        name: String,
    },
    /// Its name leads out of the work dir.
    #[error("`{name}` is not inside the work dir")]
    Outside {
        /// Its name.
        name: String,
    },
    /// It is something else than a file.
    #[error("`{name}` is {found}, not a regular file")]
    NotAFile {
        /// Its name.
        name: String,
        /// What it is.
        found: &'static str,
    },
    /// It has further names.
    #[error("`{name}` has other hard links; write it as a file of its own")]
    HardLinked {
        /// Its name.
        name: String,
    },
    /// It is larger than allowed.
    #[error("`{name}` has {size} bytes; at most {} are read", ByteSize::new(*.limit))]
    TooLarge {
        /// Its name.
        name: String,
        /// Its size.
        size: u64,
        /// The most that is read.
        limit: u64,
    },
    /// The script took its own right to read it away.
    #[error("`{name}` cannot be read: {reason}")]
    Unreadable {
        /// Its name.
        name: String,
        /// Why not.
        reason: std::io::Error,
    },
}

/// Reads `name` below `directory`.
pub(crate) fn collect(
    directory: &OwnedFd,
    name: &str,
    max_bytes: u64,
) -> Result<Vec<u8>, CollectError> {
    let owned = || name.to_owned();
    let unreadable = |reason| CollectError::Unreadable { name: owned(), reason };
    // Opening a pipe must not wait for a writer, nor a terminal become ours.
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    let file = openat2(directory, name, flags, Mode::empty(), resolve).map_err(|errno| {
        match errno {
            Errno::NOENT | Errno::NOTDIR => CollectError::Missing { name: owned() },
            Errno::LOOP => CollectError::Link { name: owned() },
            Errno::XDEV => CollectError::Outside { name: owned() },
            // How a socket answers to being opened.
            Errno::NXIO => CollectError::NotAFile { name: owned(), found: "a socket" },
            other => unreadable(other.into()),
        }
    })?;
    let about = fstat(&file).map_err(|errno| unreadable(errno.into()))?;
    let found = match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a named pipe"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        _ => Some("something special"),
    };
    if let Some(found) = found {
        return Err(CollectError::NotAFile { name: owned(), found });
    }
    if about.st_nlink != 1 {
        return Err(CollectError::HardLinked { name: owned() });
    }
    // Sparse files count by what reading them would give.
    let size = about.st_size.cast_unsigned();
    if size > max_bytes {
        return Err(CollectError::TooLarge { name: owned(), size, limit: max_bytes });
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::from(file);
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > max_bytes {
        return Err(CollectError::TooLarge {
            name: owned(),
            size: bytes.len() as u64,
            limit: max_bytes,
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, open};

    fn place() -> (tempfile::TempDir, OwnedFd) {
        let folder = tempfile::tempdir().unwrap();
        let directory = open(folder.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
        (folder, directory)
    }

    #[test]
    fn a_plain_file_is_read_up_to_the_limit_and_not_beyond() {
        let (folder, directory) = place();
        fs_err::create_dir(folder.path().join("out")).unwrap();
        fs_err::write(folder.path().join("out/a.csv"), "id\n").unwrap();
        assert_eq!(collect(&directory, "out/a.csv", 3).unwrap(), b"id\n");
        let error = collect(&directory, "out/a.csv", 2).unwrap_err();
        assert!(matches!(error, CollectError::TooLarge { size: 3, limit: 2, .. }));
        assert!(matches!(collect(&directory, "b.csv", 9), Err(CollectError::Missing { .. })));
    }

    #[test]
    fn what_is_no_plain_file_is_refused_without_waiting() {
        let (folder, directory) = place();
        let path = |name| folder.path().join(name);
        fs_err::write(path("plain"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", path("link")).unwrap();
        std::os::unix::fs::symlink("/etc", path("folder-link")).unwrap();
        fs_err::hard_link(path("plain"), path("twin")).unwrap();
        fs_err::create_dir(path("folder")).unwrap();
        rustix::fs::mknodat(CWD, path("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        let sparse = fs_err::File::create(path("sparse")).unwrap();
        sparse.file().set_len(1 << 40).unwrap();

        let refusal = |name| collect(&directory, name, 1 << 20).unwrap_err();
        assert!(matches!(refusal("link"), CollectError::Link { .. }));
        assert!(matches!(refusal("folder-link/passwd"), CollectError::Link { .. }));
        assert!(matches!(refusal("plain"), CollectError::HardLinked { .. }));
        assert!(matches!(refusal("folder"), CollectError::NotAFile { found: "a directory", .. }));
        assert!(matches!(refusal("pipe"), CollectError::NotAFile { found: "a named pipe", .. }));
        assert!(matches!(refusal("socket"), CollectError::NotAFile { found: "a socket", .. }));
        assert!(matches!(refusal("sparse"), CollectError::TooLarge { .. }));
        assert!(matches!(refusal("../plain"), CollectError::Outside { .. }));
        assert!(matches!(refusal("/etc/passwd"), CollectError::Outside { .. }));
    }
}
