//! Files that are either wholly there or not there at all.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::io::{self, Write};

/// Writes `contents` to a temporary neighbour of `path`, flushes it to disk and renames it
/// into place, so that no reader and no crash ever sees half a file.
///
/// # Errors
/// Any I/O error, naming the file. A failed write leaves a previous `path` as it was.
pub fn write_atomic(path: &Utf8Path, contents: &[u8]) -> io::Result<()> {
    let temporary = temporary_neighbour(path);
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
}
