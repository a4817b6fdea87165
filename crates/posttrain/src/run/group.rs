//! Several runs, one after another: of tasks, and of seeds.
//!
//! ```text
//! OUT/household-seed-0/     a run
//! OUT/household-seed-1/
//! ```
//!
//! Each is a run like any other, so a group that is started again takes up what is not finished, and one
//! that is asked for more seeds makes those.

use super::result::RunResult;
use super::settings::RunSettings;
use super::story::{RunError, finished, run};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::sync::atomic::AtomicBool;
use worlds::Suite;

/// What a group of runs is asked for.
#[derive(Debug, Clone)]
pub struct RunGroup {
    /// What they have in common; `out` is the folder of their folders, and task and seed are not used.
    pub settings: RunSettings,
    /// The tasks; none for all of the suite.
    pub tasks: Option<Vec<String>>,
    /// The seeds.
    pub seeds: Vec<u64>,
}

/// Carries out the runs of a group, each seed over all tasks, and hands over each result with its folder
/// as it comes. A run that fails through a fault of ours is handed over, and the next one begins. The
/// folders of the runs that have a ledger.
///
/// # Errors
/// [`RunError`] for a mistake of the caller, and once `interrupted` is set: started again, the group
/// goes on.
pub fn run_group(
    group: &RunGroup,
    interrupted: &AtomicBool,
    mut hand_over: impl FnMut(&Utf8Path, Result<&RunResult, &RunError>) -> std::io::Result<()>,
) -> Result<Vec<Utf8PathBuf>, RunError> {
    let tasks = if let Some(tasks) = &group.tasks {
        tasks.clone()
    } else {
        let suite = Suite::open(&group.settings.suite)?;
        suite.tasks().iter().map(|task| task.id.to_string()).collect()
    };
    let out = &group.settings.out;
    if out.join("run.toml").exists() {
        let what = format!("`{out}` is the folder of one run; name another one for several");
        return Err(RunError::Usage(what));
    }
    fs::create_dir_all(out)?;
    let mut folders = Vec::new();
    for seed in &group.seeds {
        for task in &tasks {
            let folder = out.join(format!("{task}-seed-{seed}"));
            let settings = RunSettings {
                task: task.clone(),
                seed: *seed,
                out: folder.clone(),
                ..group.settings.clone()
            };
            let result = match finished(&settings)? {
                Some(result) => Ok(result),
                None => run(&settings, interrupted),
            };
            match &result {
                Err(
                    RunError::Usage(_)
                    | RunError::Agent(_)
                    | RunError::Tasks(_)
                    | RunError::Gateway(_)
                    | RunError::Interrupted,
                ) => {
                    return result.map(|_| Vec::new());
                }
                result => hand_over(&folder, result.as_ref())?,
            }
            if folder.join("sealed/ledger.jsonl").is_file() {
                folders.push(folder.canonicalize_utf8()?);
            }
        }
    }
    Ok(folders)
}
