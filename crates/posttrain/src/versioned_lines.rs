//! Files of JSON lines, each of which has the version of its form.

use camino::Utf8Path;
use fs_err as fs;
use serde::de::DeserializeOwned;
use std::io;

/// The lines of the file at `path`, whose version (`of` a line) must be `known`; none if there is no
/// such file. A last line without its end is passed over: it is being written, or was torn.
///
/// # Errors
/// An I/O error naming the file, also if a line of it is none of ours.
pub(crate) fn read_versioned<T: DeserializeOwned>(
    path: &Utf8Path,
    known: u32,
    of: impl Fn(&T) -> u32,
) -> io::Result<Vec<T>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole
        .map(|line| {
            let read = serde_json::from_str(line)
                .map_err(|error| io::Error::other(format!("`{path}` has a bad line: {error}")))?;
            let version = of(&read);
            if version == known {
                return Ok(read);
            }
            Err(io::Error::other(format!("`{path}` has version {version}; this is {known}")))
        })
        .collect()
}
