//! Folders of the host that a script has written to: how much is in one, and how to remove it.
//!
//! In tier 3 work dirs lie on the host's own disk. What a script leaves there may be folders
//! without rights for anybody, folders deeper than a path can be long, and links to elsewhere.
//! So nothing here is reached by a path: each folder is opened below the one around it, and no
//! link is followed.

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, chmod, openat, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;

/// Folders inside folders that may be there. Each takes a descriptor to be looked into; no honest
/// script comes near.
pub const DEPTH: usize = 64;

/// What may still be found.
struct ScanBudget {
    bytes: u64,
    files: u64,
}

/// Whether the folder at `path` holds at most so many bytes on disk and so many entries, in
/// folders at most [`DEPTH`] deep. Entries that vanish meanwhile count for nothing.
///
/// # Errors
/// The kernel's answer if the folder itself cannot be opened.
pub fn fits(path: &str, bytes: u64, files: u64) -> io::Result<bool> {
    let folder = openat(CWD, path, FOLDER, Mode::empty())?;
    Ok(fits_below(folder, &mut ScanBudget { bytes, files }, DEPTH))
}

/// Whether all these folders together do (see [`fits`]).
///
/// # Errors
/// The kernel's answer if one of the folders cannot be opened.
pub fn fit_together<'a>(
    paths: impl IntoIterator<Item = &'a str>,
    bytes: u64,
    files: u64,
) -> io::Result<bool> {
    let mut room = ScanBudget { bytes, files };
    for path in paths {
        let folder = openat(CWD, path, FOLDER, Mode::empty())?;
        if !fits_below(folder, &mut room, DEPTH) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn fits_below(folder: OwnedFd, room: &mut ScanBudget, depth: usize) -> bool {
    let Ok(mut entries) = Dir::new(folder) else { return true };
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        // Borrowed anew: reading entries needs the directory for itself.
        let Ok(folder) = entries.fd() else { return false };
        let Ok(about) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let bytes = u64::try_from(about.st_blocks).unwrap_or(0).saturating_mul(512);
        let (Some(bytes_left), Some(files_left)) =
            (room.bytes.checked_sub(bytes), room.files.checked_sub(1))
        else {
            return false;
        };
        *room = ScanBudget { bytes: bytes_left, files: files_left };
        if FileType::from_raw_mode(about.st_mode) == FileType::Directory {
            if depth == 0 {
                return false;
            }
            match open_below(folder, name) {
                Ok(below) => {
                    if !fits_below(below, room, depth - 1) {
                        return false;
                    }
                }
                // Gone, or something else by now.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                // What cannot be counted is too much.
                Err(_) => return false,
            }
        }
    }
    true
}

/// Removes the folder at `path` with all that is in it; nothing may be added meanwhile. Folders
/// inside folders are moved up before they are emptied, so that their depth does not matter.
///
/// # Errors
/// The kernel's answer to the first step that failed; a folder that is not there is no error.
pub fn remove(path: &str) -> io::Result<()> {
    let top = match openat(CWD, path, FOLDER, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ACCESS) => {
            open_up(CWD, &CString::new(path)?)?;
            openat(CWD, path, FOLDER, Mode::empty())?
        }
        other => other?,
    };
    let mut moved = 0_u64;
    loop {
        let names = names(top.as_fd())?;
        if names.is_empty() {
            break;
        }
        for name in names {
            if unlink(top.as_fd(), &name)? {
                continue;
            }
            let folder = match open_below(top.as_fd(), &name) {
                Err(Errno::NOENT) => continue,
                other => other?,
            };
            for below in self::names(folder.as_fd())? {
                if !unlink(folder.as_fd(), &below)? {
                    move_up(folder.as_fd(), &below, top.as_fd(), &mut moved)?;
                }
            }
            unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
        }
    }
    drop(top);
    Ok(unlinkat(CWD, path, AtFlags::REMOVEDIR)?)
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);

/// Opens the folder `name`, giving its owner the rights to it if need be.
fn open_below(folder: impl AsFd + Copy, name: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    match openat(folder, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            open_up(folder, name)?;
            openat(folder, name, FOLDER, Mode::empty())
        }
        Ok(below) => {
            // A folder may be listed and yet not be searched or emptied.
            let about = rustix::fs::fstat(&below)?;
            if about.st_mode & 0o700 != 0o700 {
                rustix::fs::fchmod(&below, Mode::RWXU)?;
            }
            Ok(below)
        }
        error => error,
    }
}

/// Gives the owner of the folder `name` all rights to it.
fn open_up(folder: impl AsFd, name: &std::ffi::CStr) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(folder, name, flags, Mode::empty())?;
    // Such a descriptor has no `fchmod`; this name of it is not a link that a script could bend.
    chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)
}

/// Unlinks `name` unless it is a folder: false then.
fn unlink(folder: impl AsFd, name: &std::ffi::CStr) -> Result<bool, Errno> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Moves the folder `name` to `top` under a name that is free there.
fn move_up(
    folder: impl AsFd + Copy,
    name: &std::ffi::CStr,
    top: impl AsFd + Copy,
    moved: &mut u64,
) -> Result<(), Errno> {
    loop {
        *moved += 1;
        match renameat_with(folder, name, top, format!("moved-{moved}"), RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            // Its entry for the folder around it changes, and for that it must be writable.
            Err(Errno::ACCESS) => open_up(folder, name)?,
            other => return other,
        }
    }
}

fn names(folder: impl AsFd) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn place() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tree").to_str().unwrap().to_owned();
        fs_err::create_dir(&path).unwrap();
        (folder, path)
    }

    /// Folders inside folders, without ever naming a path that is too long.
    fn dig(path: &str, depth: usize) {
        let mut at = openat(CWD, path, FOLDER, Mode::empty()).unwrap();
        for _ in 0..depth {
            rustix::fs::mkdirat(&at, "deeper-and-deeper", Mode::RWXU).unwrap();
            at = openat(&at, "deeper-and-deeper", FOLDER, Mode::empty()).unwrap();
        }
    }

    #[test]
    fn a_folder_fits_up_to_its_limits_and_not_beyond() {
        let (_kept, path) = place();
        fs_err::write(format!("{path}/a"), [0; 8192]).unwrap();
        fs_err::create_dir(format!("{path}/b")).unwrap();
        fs_err::write(format!("{path}/b/c"), [0; 8192]).unwrap();
        symlink("/usr", format!("{path}/link")).unwrap();
        assert!(fits(&path, 1 << 20, 4).unwrap());
        assert!(!fits(&path, 1 << 20, 3).unwrap());
        assert!(!fits(&path, 12 << 10, 4).unwrap());
        assert!(fits("/no/such/folder", 1, 1).is_err());
    }

    #[test]
    fn folder_depth_is_limited_on_both_sides() {
        let (_kept, path) = place();
        dig(&path, DEPTH);
        assert!(fits(&path, 1 << 20, 1000).unwrap());
        let (_kept, path) = place();
        dig(&path, DEPTH + 1);
        assert!(!fits(&path, 1 << 20, 1000).unwrap());
    }

    #[test]
    fn unreadable_folders_are_counted_and_removed() {
        let (_kept, path) = place();
        fs_err::create_dir(format!("{path}/shut")).unwrap();
        fs_err::create_dir(format!("{path}/shut/inner")).unwrap();
        fs_err::write(format!("{path}/shut/inner/file"), [0; 8192]).unwrap();
        for folder in ["shut/inner", "shut"] {
            let mode = std::fs::Permissions::from_mode(0o000);
            fs_err::set_permissions(format!("{path}/{folder}"), mode).unwrap();
        }
        assert!(!fits(&path, 1 << 20, 2).unwrap());
        assert!(fits(&path, 1 << 20, 3).unwrap());
        remove(&path).unwrap();
        assert!(!std::path::Path::new(&path).exists());
    }

    #[test]
    fn tree_deeper_than_a_path_is_removed_without_following_links() {
        let (kept, path) = place();
        let outside = kept.path().join("outside");
        fs_err::create_dir(&outside).unwrap();
        fs_err::write(outside.join("file"), "x").unwrap();
        symlink(&outside, format!("{path}/link")).unwrap();
        fs_err::create_dir(format!("{path}/moved-1")).unwrap();
        dig(&path, 3000);
        remove(&path).unwrap();
        assert!(!std::path::Path::new(&path).exists());
        assert!(outside.join("file").exists());
        remove(&path).unwrap();
    }
}
