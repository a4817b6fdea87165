//! Atomic writes: a file is either complete or not there at all.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes `contents` to a temporary neighbour of `path`, flushes it to disk and renames it
/// into place, so that no reader and no crash ever sees half a file.
///
/// # Errors
/// Any I/O error, naming the file. A failed write leaves a previous `path` as it was.
///
/// # Examples
/// ```rust
/// use camino::Utf8Path;
/// use tasks::files::write_atomic;
///
/// let folder = tempfile::tempdir()?;
/// let path = Utf8Path::from_path(folder.path()).expect("UTF-8").join("score.txt");
/// write_atomic(&path, b"0.5\n")?;
/// write_atomic(&path, b"0.75\n")?;
/// assert_eq!(std::fs::read_to_string(&path)?, "0.75\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_atomic(path: &Utf8Path, contents: &[u8]) -> io::Result<()> {
    // Two threads may write the same file at once.
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or("file");
    let temporary = temporary_neighbour(&path.with_file_name(format!("{name}.{number}")));
    let written = fs::File::create(&temporary).and_then(|mut file| {
        file.write_all(contents)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&temporary, path)) {
        // The first error is the one worth reporting.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    Ok(())
}

/// Serialises `value` as indented JSON with a final newline and writes it atomically.
///
/// # Errors
/// As [`write_atomic`]; a value that cannot be serialised is `InvalidData`.
pub fn write_json(path: &Utf8Path, value: &impl serde::Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    text.push(b'\n');
    write_atomic(path, &text)
}

/// Where a file or folder is built before it takes its final name. The leading dot keeps it
/// out of listings; the process id keeps two writers apart.
pub fn temporary_neighbour(path: &Utf8Path) -> Utf8PathBuf {
    let name = path.file_name().unwrap_or("file");
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// The files below a folder, in order of their paths. Links are not followed.
///
/// # Errors
/// Any I/O error, naming the file.
pub fn files_below(folder: &Utf8Path) -> io::Result<Vec<Utf8PathBuf>> {
    let mut entries = Vec::new();
    for entry in folder.read_dir_utf8()? {
        entries.push(entry?.into_path());
    }
    entries.sort();
    let mut files = Vec::new();
    for path in entries {
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() {
            files.extend(files_below(&path)?);
        } else if kind.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

/// Removes the files that killed writers left in `folder` under their temporary names. Call it only
/// when no other process writes there.
///
/// # Errors
/// Any I/O error, naming the file.
pub fn remove_leftovers(folder: &Utf8Path) -> io::Result<()> {
    for entry in folder.read_dir_utf8()? {
        let entry = entry?;
        let name = entry.file_name();
        let writer = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
        let pid = writer.and_then(|name| name.rsplit_once('.')).map(|(_, pid)| pid);
        if pid.is_some_and(|pid| pid.parse::<u32>().is_ok()) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Removes a torn last line of a file of lines, which a killed writer leaves behind, so that the
/// next line can be appended.
///
/// # Errors
/// An I/O error naming the file.
pub fn remove_torn_line(path: &Utf8Path) -> io::Result<()> {
    let text = fs::read(path)?;
    match text.iter().rposition(|&byte| byte == b'\n') {
        Some(end) if end + 1 == text.len() => Ok(()),
        end => write_atomic(path, &text[..end.map_or(0, |end| end + 1)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_keeps_the_old_file_and_leaves_no_debris() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let path = dir.join("value.json");
        write_json(&path, &1).unwrap();
        assert!(write_atomic(&dir.join("missing/value.json"), b"2").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
        assert_eq!(dir.read_dir_utf8().unwrap().count(), 1);
    }

    #[test]
    fn threads_that_write_the_same_file_do_not_disturb_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("value.json");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        write_atomic(&path, b"the same").unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read(&path).unwrap(), b"the same");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn temporary_files_are_removed_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let left = temporary_neighbour(&dir.join("value.json"));
        let others = [".lock", ".tmp", ".value.json.tmp", "value.json", "a.1.tmp"];
        for path in others.map(|name| dir.join(name)).iter().chain([&left]) {
            fs::write(path, "").unwrap();
        }
        remove_leftovers(dir).unwrap();
        assert!(!left.exists() && others.iter().all(|name| dir.join(name).exists()));
    }

    #[test]
    fn incomplete_last_line_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("lines.jsonl");
        for (before, after) in [("1\n2\n", "1\n2\n"), ("1\n2", "1\n"), ("1", ""), ("", "")] {
            fs::write(&path, before).unwrap();
            remove_torn_line(&path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
        }
    }
}
