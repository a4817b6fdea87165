//! `README.md` in a run's folder: which folder in it is a model, how to load, serve and continue it.
//!
//! The folder of a run is none itself. Links to the files of its best checkpoint would make it one,
//! but files of two checkpoints could then be read as one model while a run goes on, and a run's
//! folder would be its best checkpoint to others and its newest one to `rl`.

use camino::Utf8Path;
use std::io;
use tasks::files;

/// The file's name.
pub(crate) const FILE: &str = "README.md";

/// What a run of `rl sft` leaves.
pub(crate) const SFT: &str = include_str!("guide_sft.md");
/// What a run of `rl prefer` leaves.
pub(crate) const PREFER: &str = include_str!("guide_prefer.md");
/// What a run of `rl train` leaves.
pub(crate) const TRAIN: &str = include_str!("guide_train.md");

/// Writes the guide into the run's folder, unless there is such a file.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(out: &Utf8Path, text: &str) -> io::Result<()> {
    let path = out.join(FILE);
    if path.exists() { Ok(()) } else { files::write_atomic(&path, text.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::settings::{claim, of_run};
    use fs_err as fs;
    use std::collections::BTreeMap;

    #[test]
    fn guide_is_written_once_and_is_no_result_of_a_run() {
        let dir = tempfile::tempdir().unwrap();
        let out = Utf8Path::from_path(dir.path()).unwrap();
        let settings = |steps: u64| BTreeMap::from([("steps", steps)]);
        claim(out, &settings(1), &[]).unwrap();
        write(out, TRAIN).unwrap();
        assert!(fs::read_to_string(out.join(FILE)).unwrap().contains("checkpoints/best"));
        assert_eq!(of_run(out).unwrap(), None);
        claim(out, &settings(2), &[]).unwrap();
        write(out, SFT).unwrap();
        assert_eq!(fs::read_to_string(out.join(FILE)).unwrap(), TRAIN);
    }
}
