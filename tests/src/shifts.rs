//! A task of two classes that two columns decide together: fast to solve, and hard to guess.

use crate::manifest::manifest;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::fmt::Write as _;
use std::ops::Range;

const TRAIN: Range<u32> = 0..80;
const TEST: Range<u32> = 80..140;

/// Writes the task `night-shifts` below `folder` and returns its path.
///
/// # Panics
/// If a file cannot be written.
pub fn write(folder: &Utf8Path) -> Utf8PathBuf {
    let path = folder.join("night-shifts");
    let (public, private) = (path.join("prepared/public"), path.join("prepared/private"));
    fs::create_dir_all(&public).unwrap();
    fs::create_dir_all(&private).unwrap();
    let a = |row: u32| f64::from(row * 7 % 23) - 11.0;
    let b = |row: u32| f64::from(row * 5 % 19) - 9.0;
    let y = |row: u32| u32::from(a(row) * b(row) > 0.0);
    let columns = |row: u32| format!("{},{}", a(row), b(row));
    let files = [
        (public.join("description.md"), "Predict `y` from `a` and `b`.\n".to_owned()),
        (
            public.join("train.csv"),
            table(TRAIN, "a,b,y", |row| format!("{},{}", columns(row), y(row))),
        ),
        (public.join("test.csv"), table(TEST, "a,b", columns)),
        (public.join("sample_submission.csv"), table(TEST, "y", |_| "0.5".to_owned())),
        (private.join("answer.csv"), table(TEST, "y", |row| y(row).to_string())),
        (path.join("task.json"), manifest("night-shifts", TEST.len(), [0.95, 0.9, 0.8, 0.6])),
    ];
    for (path, text) in files {
        fs::write(path, text).unwrap();
    }
    path
}

fn table(rows: Range<u32>, header: &str, line: impl Fn(u32) -> String) -> String {
    rows.fold(format!("id,{header}\n"), |mut text, row| {
        let _ = writeln!(text, "r{row},{}", line(row));
        text
    })
}
