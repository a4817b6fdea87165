//! What an ablation leaves in its folder, and what must be the same when it goes on.
//!
//! ```text
//! <out>/ablation.json             arms, cells, differences
//! <out>/ablation.html             the tables as a page
//! <out>/leaderboard.html          the arms as agents of the benchmark
//! <out>/arms.toml                 the arms, as `--arms` takes them
//! <out>/arms/<name>/arm.json      what an arm is played with
//! <out>/arms/<name>/runs/…        its runs, as those of `agents eval`
//! ```

use super::arms::ArmsFile;
use super::facts::RunFacts;
use super::summary::{Ablation, ArmRunsPlayed};
use crate::bench::conditions::BenchConditions;
use crate::bench::outcome::BenchRun;
use crate::bench::output::leaderboard;
use crate::bench::summary::{BenchField, BenchTable, BenchTableError};
use crate::report::RunPages;
use agents::preset::Preset;
use agents::run::journal::JournalError;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use tasks::files;

/// What an arm is played with. Runs of anything else are not its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmConditions {
    /// The benchmark.
    pub bench: String,
    /// Who answers, as `--model` names it.
    pub model: String,
    /// The hash of the knowledge base.
    pub knowledge: String,
    /// The scaffold with its settings.
    pub preset: Preset,
}

/// Why an ablation cannot go on, or was not written.
#[derive(Debug, thiserror::Error)]
pub enum AblationOutputError {
    /// A file could not be read or written.
    #[error("failed to write the ablation")]
    Io(#[from] io::Error),
    /// A journal cannot be read.
    #[error("failed to read the journal of a run")]
    Journal(#[from] JournalError),
    /// The runs are no table.
    #[error(transparent)]
    Table(#[from] BenchTableError),
    /// The file of an arm cannot be read.
    #[error(
        "`{path}` is not the file of an arm; remove the folder of the arm, and it is played again"
    )]
    Malformed {
        /// The file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Runs of other conditions.
    #[error(
        "`{folder}` holds runs with another {}: give another `--out`, another name to the arm, or \
         remove the folder",
        differs.join(", ")
    )]
    Differs {
        /// The folder of the arm.
        folder: Utf8PathBuf,
        /// What differs.
        differs: Vec<&'static str>,
    },
}

/// The folder of an arm.
pub fn arm_folder(out: &Utf8Path, arm: &str) -> Utf8PathBuf {
    out.join("arms").join(arm)
}

/// Makes the folder of an arm, or makes sure that the runs in it are of the same conditions.
///
/// # Errors
/// [`AblationOutputError`].
pub fn take_up(
    out: &Utf8Path,
    arm: &str,
    conditions: &ArmConditions,
) -> Result<Utf8PathBuf, AblationOutputError> {
    let folder = arm_folder(out, arm);
    let path = folder.join("arm.json");
    if !path.exists() {
        fs::create_dir_all(&folder)?;
        files::write_json(&path, conditions)?;
        return Ok(folder);
    }
    let known: ArmConditions = serde_json::from_slice(&fs::read(&path)?)
        .map_err(|source| AblationOutputError::Malformed { path, source })?;
    let differs: Vec<&'static str> = [
        ("benchmark", known.bench != conditions.bench),
        ("model", known.model != conditions.model),
        ("knowledge base", known.knowledge != conditions.knowledge),
        ("preset or setting", known.preset != conditions.preset),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect();
    if differs.is_empty() {
        return Ok(folder);
    }
    Err(AblationOutputError::Differs { folder, differs })
}

/// Reads what the journals of an arm's runs say.
///
/// # Errors
/// [`AblationOutputError::Journal`].
pub fn with_facts(
    folder: &Utf8Path,
    runs: Vec<BenchRun>,
) -> Result<ArmRunsPlayed, AblationOutputError> {
    let with = |run: BenchRun| {
        let below = format!("seed{}", run.seed);
        let facts = RunFacts::read(&folder.join("runs").join(&run.competition).join(below))?;
        Ok((run, facts))
    };
    runs.into_iter().map(with).collect()
}

/// Writes the ablation into `out`.
///
/// # Errors
/// [`AblationOutputError`].
pub fn write(
    out: &Utf8Path,
    arms: &ArmsFile,
    ablation: &Ablation,
    field: &BenchField,
    played: &BTreeMap<String, ArmRunsPlayed>,
    conditions: &BenchConditions,
) -> Result<(), AblationOutputError> {
    let text = toml::to_string(arms).expect("arms are plain texts and numbers");
    files::write_atomic(&out.join("arms.toml"), text.as_bytes())?;
    files::write_json(&out.join("ablation.json"), ablation)?;
    let mut facts = conditions.lines();
    // That of the first arm alone.
    facts.retain(|(name, _)| name != "scaffold");
    files::write_atomic(&out.join("ablation.html"), ablation.html(facts.clone()).as_bytes())?;
    let mut pages = RunPages::default();
    let mut all = Vec::new();
    for (arm, runs) in played {
        let runs: Vec<BenchRun> = runs.iter().map(|(run, _)| run.clone()).collect();
        pages.find(&runs, &arm_folder(out, arm), out);
        all.extend(runs);
    }
    let groups = BenchTable::groups(&all)
        .into_iter()
        .map(|group| BenchTable::from_runs(field, &group, false).map(|table| (table, Vec::new())));
    let page = leaderboard(field, groups.collect::<Result<_, _>>()?, &pages, facts);
    files::write_atomic(&out.join("leaderboard.html"), page.html().as_bytes())?;
    Ok(())
}
