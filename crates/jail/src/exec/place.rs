//! Writing a file into a work dir: the mirror of [`tasks::collect`].
//!
//! An earlier run may have left a link, a folder or a pipe under the name. So the file is always a
//! new one, made below the work dir's own descriptor, and a name that is taken is refused.

use crate::exec::fault::Fault;
use rustix::fd::OwnedFd;
use std::io::Write as _;
use tasks::submission::MOST_BYTES;
use tasks::units::ByteSize;

/// The longest name of a file, in bytes, as in Linux.
const LONGEST_NAME: usize = 255;

/// A file could not be written into a work dir.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The name is not that of a file in the work dir itself.
    #[error("`{name}` is not the name of a file; give one without `/`, at most 255 bytes long")]
    Name {
        /// The name that was asked for.
        name: String,
    },
    /// The contents are too long.
    #[error("`{name}` would have {size} bytes; at most {} are written", ByteSize::new(MOST_BYTES))]
    TooLarge {
        /// The name that was asked for.
        name: String,
        /// Length of the contents in bytes.
        size: u64,
    },
    /// There is something of that name, perhaps a link.
    #[error("`{name}` is already there; use another name, or a new work dir")]
    Exists {
        /// The name that was asked for.
        name: String,
    },
    /// The work dir does not take the file: it is full, or a script took its rights away.
    #[error("the work dir does not take `{name}` ({reason}); use a new one")]
    Refused {
        /// The name that was asked for.
        name: String,
        /// The error of making or writing it.
        reason: std::io::Error,
    },
    /// An operation of our own failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl PlaceError {
    /// What the number of an error of the system means for the file `name`.
    pub(crate) fn from_errno(name: &str, errno: i32) -> Self {
        let (name, reason) = (name.to_owned(), std::io::Error::from_raw_os_error(errno));
        match reason.kind() {
            std::io::ErrorKind::AlreadyExists => Self::Exists { name },
            _ => Self::Refused { name, reason },
        }
    }
}

/// Refuses names that are paths, and contents that are too long.
pub(crate) fn check(name: &str, bytes: &[u8]) -> Result<(), PlaceError> {
    let is_path = name.contains(['/', '\0']) || matches!(name, "" | "." | "..");
    if is_path || name.len() > LONGEST_NAME {
        return Err(PlaceError::Name { name: name.to_owned() });
    }
    let size = bytes.len() as u64;
    if size > MOST_BYTES {
        return Err(PlaceError::TooLarge { name: name.to_owned(), size });
    }
    Ok(())
}

/// Fills the new file.
pub(crate) fn write(file: OwnedFd, name: &str, bytes: &[u8]) -> Result<(), PlaceError> {
    std::fs::File::from(file)
        .write_all(bytes)
        .map_err(|reason| PlaceError::Refused { name: name.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_is_a_path_is_refused() {
        let long = "n".repeat(256);
        for name in ["", ".", "..", "a/b", "/etc/passwd", "../up", "a\0b", long.as_str()] {
            assert!(matches!(check(name, b""), Err(PlaceError::Name { .. })), "{name:?}");
        }
        for name in ["data.bin", "...", ".hidden", "-", &long[..255]] {
            assert!(check(name, b"").is_ok(), "{name:?}");
        }
    }

    #[test]
    fn contents_beyond_the_limit_are_refused() {
        let mut bytes = vec![0; usize::try_from(MOST_BYTES).unwrap()];
        assert!(check("a", &bytes).is_ok());
        bytes.push(0);
        assert!(matches!(check("a", &bytes), Err(PlaceError::TooLarge { .. })));
    }

    #[test]
    fn errors_of_the_system_tell_a_taken_name_from_a_full_work_dir() {
        assert!(matches!(PlaceError::from_errno("a", libc::EEXIST), PlaceError::Exists { .. }));
        assert!(matches!(PlaceError::from_errno("a", libc::ENOSPC), PlaceError::Refused { .. }));
    }
}
