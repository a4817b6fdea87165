//! Folders of exports: they appear when all of them is written.

use super::error::ExportError;
use camino::Utf8Path;
use fs_err as fs;
use tasks::files::temporary_neighbour;

/// Refuses a folder that holds something already.
pub(super) fn refuse_used(out: &Utf8Path) -> Result<(), ExportError> {
    if out.exists() && out.read_dir_utf8()?.next().is_some() {
        return Err(ExportError::NotEmpty(out.to_owned()));
    }
    Ok(())
}

/// Makes the folder `out`, which does not exist or is empty. `write` fills a folder beside it, which
/// takes its name at the end, or is removed if `write` fails.
pub(super) fn whole(
    out: &Utf8Path,
    write: impl FnOnce(&Utf8Path) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    refuse_used(out)?;
    let work = temporary_neighbour(out);
    fs::create_dir_all(&work)?;
    let placed = write(&work).and_then(|()| Ok(fs::rename(&work, out)?));
    if placed.is_err() && work.exists() {
        fs::remove_dir_all(&work)?;
    }
    placed
}
