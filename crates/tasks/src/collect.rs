//! Reading a file that a script left, without trusting anything about it.
//!
//! The script's processes are gone when this runs, so nothing changes underneath. What they left
//! may be a link to a secret, a pipe that never ends, a device, a directory, or huge.

use crate::units::ByteSize;
use camino::Utf8Path;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
use std::io::Read;

/// A file could not be had. The text is for the agent.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// There is no such file.
    #[error("there is no file `{name}` in the work dir")]
    Missing {
        /// The path that was asked for.
        name: String,
    },
    /// A link is on the way to it.
    #[error("`{name}` is or goes through a link; write the file itself")]
    Link {
        /// The path that was asked for.
        name: String,
    },
    /// Its name leads out of the work dir.
    #[error("`{name}` is not inside the work dir")]
    Outside {
        /// The path that was asked for.
        name: String,
    },
    /// It is something else than a file.
    #[error("`{name}` is {found}, not a regular file")]
    NotAFile {
        /// The path that was asked for.
        name: String,
        /// What was found there, such as `a directory`.
        found: &'static str,
    },
    /// It has further names.
    #[error("`{name}` has other hard links; write it as a file of its own")]
    HardLinked {
        /// The path that was asked for.
        name: String,
    },
    /// It is larger than allowed.
    #[error("`{name}` has {size} bytes; at most {} are read", ByteSize::new(*.limit))]
    TooLarge {
        /// The path that was asked for.
        name: String,
        /// Size of the file in bytes.
        size: u64,
        /// The most that is read.
        limit: u64,
    },
    /// The script took its own right to read it away.
    #[error("`{name}` cannot be read: {reason}")]
    Unreadable {
        /// The path that was asked for.
        name: String,
        /// The I/O error of opening or reading it.
        reason: std::io::Error,
    },
}

/// A plain file of its own, no larger than allowed, that is not read yet.
#[derive(Debug)]
pub struct Found {
    file: std::fs::File,
    name: String,
    size: u64,
    limit: u64,
}

/// Finds `name` below `directory`: a plain file with one name, of at most `limit` bytes. Nothing
/// is read yet.
///
/// # Errors
/// [`CollectError`] for a missing file, a link, anything but a plain file, or a larger one.
pub fn find(directory: &OwnedFd, name: &str, limit: u64) -> Result<Found, CollectError> {
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    let file = openat2(directory, name, FLAGS, Mode::empty(), resolve);
    let (file, links) = check(file, name)?;
    if links != 1 {
        return Err(CollectError::HardLinked { name: name.to_owned() });
    }
    sized(file, name, limit)
}

/// Reads a file of the host by its path, as what an episode leaves is read: a link, or what is no
/// plain file, is refused without waiting for anything, and so is one of more than `limit` bytes.
///
/// The path comes from the caller, so folders on the way may be links, and hard links are accepted:
/// an agent cannot have made them there.
///
/// # Errors
/// [`CollectError`]; nothing of the file is quoted.
///
/// # Examples
/// ```rust
/// use camino::Utf8Path;
/// use tasks::collect::read_file;
///
/// let folder = tempfile::tempdir()?;
/// let folder = Utf8Path::from_path(folder.path()).expect("UTF-8");
/// std::fs::write(folder.join("submission.csv"), "id,y\n")?;
/// std::os::unix::fs::symlink("submission.csv", folder.join("link.csv"))?;
/// assert_eq!(read_file(&folder.join("submission.csv"), 1 << 20)?, b"id,y\n");
/// assert!(read_file(&folder.join("submission.csv"), 4).is_err(), "it is larger than 4 bytes");
/// assert!(read_file(&folder.join("link.csv"), 1 << 20).is_err(), "links are refused");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_file(path: &Utf8Path, limit: u64) -> Result<Vec<u8>, CollectError> {
    let file = openat(CWD, path.as_std_path(), FLAGS, Mode::empty());
    let file = match file {
        // "In the work dir" would be wrong here.
        Err(errno @ (Errno::NOENT | Errno::NOTDIR)) => {
            let reason = errno.into();
            return Err(CollectError::Unreadable { name: path.to_string(), reason });
        }
        file => file,
    };
    let (file, _) = check(file, path.as_str())?;
    sized(file, path.as_str(), limit)?.read()
}

/// Opening a pipe must not wait for a writer, nor a terminal become ours.
const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Refuses what is no plain file; else how many names it has.
fn check(file: Result<OwnedFd, Errno>, name: &str) -> Result<((OwnedFd, u64), u64), CollectError> {
    let owned = || name.to_owned();
    let unreadable = |reason| CollectError::Unreadable { name: owned(), reason };
    let file = file.map_err(|errno| match errno {
        Errno::NOENT | Errno::NOTDIR => CollectError::Missing { name: owned() },
        Errno::LOOP => CollectError::Link { name: owned() },
        Errno::XDEV => CollectError::Outside { name: owned() },
        // How a socket answers to being opened.
        Errno::NXIO => CollectError::NotAFile { name: owned(), found: "a socket" },
        other => unreadable(other.into()),
    })?;
    let about = fstat(&file).map_err(|errno| unreadable(errno.into()))?;
    let found = match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a named pipe"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        _ => Some("something special"),
    };
    match found {
        Some(found) => Err(CollectError::NotAFile { name: owned(), found }),
        // Sparse files count by what reading them would give.
        None => Ok(((file, about.st_size.cast_unsigned()), about.st_nlink)),
    }
}

fn sized((file, size): (OwnedFd, u64), name: &str, limit: u64) -> Result<Found, CollectError> {
    if size > limit {
        return Err(CollectError::TooLarge { name: name.to_owned(), size, limit });
    }
    Ok(Found { file: file.into(), name: name.to_owned(), size, limit })
}

impl Found {
    /// Size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The open file, for a reader that does not want all of it in memory. Its owner may still write to
    /// it: read every byte once, and no further than its size was.
    pub fn into_file(self) -> std::fs::File {
        self.file
    }

    /// The contents of the file.
    ///
    /// # Errors
    /// [`CollectError`], also if it grew past its limit in the meantime.
    pub fn read(self) -> Result<Vec<u8>, CollectError> {
        let Self { file, name, size, limit } = self;
        // As much as it had, so that the buffer does not grow beyond.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        if let Err(reason) = file.take(limit.saturating_add(1)).read_to_end(&mut bytes) {
            return Err(CollectError::Unreadable { name, reason });
        }
        let size = bytes.len() as u64;
        if size > limit { Err(CollectError::TooLarge { name, size, limit }) } else { Ok(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::open;

    fn collect(directory: &OwnedFd, name: &str, limit: u64) -> Result<Vec<u8>, CollectError> {
        find(directory, name, limit)?.read()
    }

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
    fn special_file_is_refused_without_blocking() {
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

        // By a path of the host's the same holds, but for what its owner may have done.
        let read = |name: &str| {
            let path = folder.path().join(name);
            read_file(Utf8Path::from_path(&path).unwrap(), 1 << 20)
        };
        let refusal = |name| read(name).unwrap_err();
        assert!(matches!(refusal("link"), CollectError::Link { .. }));
        assert!(matches!(refusal("folder"), CollectError::NotAFile { found: "a directory", .. }));
        assert!(matches!(refusal("pipe"), CollectError::NotAFile { found: "a named pipe", .. }));
        assert!(matches!(refusal("socket"), CollectError::NotAFile { found: "a socket", .. }));
        assert!(matches!(refusal("sparse"), CollectError::TooLarge { .. }));
        assert!(
            refusal("nothing")
                .to_string()
                .ends_with("cannot be read: No such file or directory (os error 2)")
        );
        assert_eq!(read("plain").unwrap(), b"x");
    }
}
