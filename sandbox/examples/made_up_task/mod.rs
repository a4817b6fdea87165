//! A task of two classes that a rule on one column solves, and a sandbox that shows it.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::SandboxOptions;
use support::manifest::manifest;

/// Writes the task `night-shifts` below `folder` and returns its path.
pub(crate) fn write(folder: &Utf8Path) -> std::io::Result<Utf8PathBuf> {
    let path = folder.join("night-shifts");
    let (public, private) = (path.join("prepared/public"), path.join("prepared/private"));
    fs::create_dir_all(&public)?;
    fs::create_dir_all(&private)?;
    fs::write(public.join("description.md"), "Predict the probability of `y` from `hours`.\n")?;
    fs::write(public.join("train.csv"), "id,hours,y\n1,2,0\n2,9,1\n")?;
    fs::write(public.join("test.csv"), rows("hours", |row| row % 12))?;
    fs::write(private.join("answer.csv"), rows("y", |row| u32::from(row % 12 > 5)))?;
    // Area under the ROC curve from gold down to the median.
    fs::write(path.join("task.json"), manifest("night-shifts", 60, [0.95, 0.9, 0.8, 0.6]))?;
    Ok(path)
}

/// A table of 60 test rows with one column beside the id.
fn rows(column: &str, value: impl Fn(u32) -> u32) -> String {
    let rows = (0..60).map(|row| format!("t{row},{}", value(row)));
    let lines: Vec<String> = std::iter::once(format!("id,{column}")).chain(rows).collect();
    lines.join("\n")
}

/// A sandbox that starts fast: one run at a time, and only pandas is imported in advance.
pub(crate) fn options() -> SandboxOptions {
    SandboxOptions {
        slots: 1,
        spares: 1,
        warm_up: false,
        modules: vec!["pandas".to_owned()],
        ..SandboxOptions::default()
    }
}
