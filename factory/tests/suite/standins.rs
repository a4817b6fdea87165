//! Stand-ins for the 22 competitions: they open, are graded like the competitions, and have a signal
//! that the reference scripts find.

mod form;
mod scores;

use camino::Utf8Path;
use factory::standin::{StandInSettings, write};
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use support::folders::TemporaryFolder;

/// All 22, made once for the tests of one process.
static MADE: LazyLock<TemporaryFolder> = LazyLock::new(|| {
    let folder = TemporaryFolder::new();
    make(&folder.path().join("all"), &[], 0);
    folder
});

fn all() -> camino::Utf8PathBuf {
    MADE.path().join("all")
}

fn make(out: &Utf8Path, only: &[&str], seed: u64) {
    let only = only.iter().map(ToString::to_string).collect();
    write(out, &StandInSettings { only, seed }, &AtomicBool::new(false)).unwrap();
}
