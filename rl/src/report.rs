//! The page about a run, or about the whole main job: how tasks were made, learning curves, agents
//! side by side, and what was learnt.

mod approach;
mod curves;
mod evidence;
#[cfg(test)]
mod fixture;
pub mod learnt;
mod lineage;
pub mod parts;
mod section;
mod tables;

pub use approach::{Approach, ApproachResult, ApproachRow};
pub use evidence::Evidence;
pub use lineage::DemonstrationSource;
pub use section::{LEARNT_VERSION, LearntFile, LearntSection};

use agents::trajectory::{self, Trajectory, TrajectoryError};
use camino::{Utf8Path, Utf8PathBuf};
use curves::{facts, imitation_charts, lines, reinforcement_charts};
use evals::evaluation::{EVALUATION_VERSION, Evaluation};
use evals::report::{CardError, Report, TaskCard};
use evals::runner::episodes_of;
use fs_err as fs;
use serde_json::Value;
use std::collections::BTreeSet;
use tasks::files;
use tasks::task::{Corpus, Formulation, Split, TaskError};

/// Where the parts of the page come from; what is not given is left out.
#[derive(Debug, Clone, Default)]
pub struct ReportSources {
    /// The corpus.
    pub tasks: Option<Utf8PathBuf>,
    /// The run of `rl sft`.
    pub sft: Option<Utf8PathBuf>,
    /// The run of `rl train`.
    pub grpo: Option<Utf8PathBuf>,
    /// The folder of `rl eval`.
    pub eval: Option<Utf8PathBuf>,
    /// The run of `rl sft` whose demonstrations policies are compared with. If it is not given, the
    /// settings of the runs tell.
    pub demonstrations: Option<Utf8PathBuf>,
}

/// The name of the policy with fresh weights in an evaluation.
const RANDOM: &str = "random";

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// No source at all.
    #[error("nothing to report on; give `--grpo RUN`, or any of `--tasks`, `--sft` and `--eval`")]
    Nothing,
    /// A file is missing or unreadable.
    #[error("failed to read or write a file of the report; run the stages before it first")]
    Io(#[from] std::io::Error),
    /// A file is not what it should be.
    #[error("failed to parse `{path}`")]
    Json {
        /// The file.
        path: Utf8PathBuf,
        /// What serde found.
        #[source]
        source: serde_json::Error,
    },
    /// Settings of a run are damaged.
    #[error("failed to parse `{path}`")]
    Toml {
        /// The file.
        path: Utf8PathBuf,
        /// What the parser found.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// There are no demonstrations where they were said to be.
    #[error("`{0}` has no `demonstrations.jsonl`; name the folder of a run of `rl sft`")]
    NoDemonstrations(Utf8PathBuf),
    /// The evaluation is of another version.
    #[error("`{path}` has version {found}; this build reads version {EVALUATION_VERSION}")]
    Version {
        /// The file.
        path: Utf8PathBuf,
        /// Its version.
        found: u32,
    },
    /// The corpus cannot be used.
    #[error(transparent)]
    Tasks(#[from] TaskError),
    /// A task cannot be shown.
    #[error(transparent)]
    Card(#[from] CardError),
    /// Episodes cannot be read.
    #[error(transparent)]
    Trajectories(#[from] TrajectoryError),
}

/// Writes the page to `out`; returns what it says was learnt.
///
/// # Errors
/// [`ReportError`] if a source is missing or broken.
pub fn write(sources: &ReportSources, out: &Utf8Path) -> Result<LearntFile, ReportError> {
    let ReportSources { tasks, sft, grpo, eval, demonstrations: _ } = sources;
    if [tasks, sft, grpo, eval].iter().all(|source| source.is_none()) {
        return Err(ReportError::Nothing);
    }
    let title = match (grpo, eval) {
        (Some(run), None) => format!("Reinforcement: {run}"),
        _ => "Machine learning engineering agents, before and after reinforcement".to_owned(),
    };
    let lines_of = |run: &Option<Utf8PathBuf>| run.as_deref().map(lines).transpose();
    let (imitation, reinforcement) = (lines_of(sft)?, lines_of(grpo)?);
    let evaluation = eval.as_deref().map(evaluation).transpose()?;
    let trajectories = match (eval, &evaluation, grpo) {
        (Some(eval), Some(evaluation), _) => to_read(eval, evaluation)?,
        (_, _, Some(run)) => played(&run.join("episodes"))?,
        _ => Vec::new(),
    };
    let mut charts = Vec::new();
    charts.extend(imitation.iter().flat_map(|lines| imitation_charts(lines)));
    charts.extend(reinforcement.iter().flat_map(|lines| reinforcement_charts(lines)));
    let corpus = tasks.as_deref().map(Corpus::open).transpose()?;
    let facts = match (grpo, &reinforcement) {
        (Some(run), Some(lines)) => facts(run, lines),
        _ => Vec::new(),
    };
    let learnt = LearntFile::read(sources)?;
    let report = Report {
        title,
        facts,
        evaluation,
        sections: learnt.sections(),
        charts,
        funnel: tasks.as_deref().map(funnel).transpose()?.unwrap_or_default(),
        tasks: corpus.as_ref().map(cards).transpose()?.unwrap_or_default(),
        trajectories,
        settings: settings(&[("rl sft", sft), ("rl train", grpo), ("rl eval", eval)])?,
    };
    files::write_atomic(out, report.html().as_bytes())?;
    Ok(learnt)
}

fn evaluation(folder: &Utf8Path) -> Result<Evaluation, ReportError> {
    let path = folder.join("evaluation.json");
    let evaluation: Evaluation = parse(&path, &fs::read(&path)?)?;
    if evaluation.version != EVALUATION_VERSION {
        return Err(ReportError::Version { path, found: evaluation.version });
    }
    Ok(evaluation)
}

/// The settings that each run has written, as they are.
fn settings(runs: &[(&str, &Option<Utf8PathBuf>)]) -> Result<Vec<(String, String)>, ReportError> {
    let mut settings = Vec::new();
    for (command, run) in runs {
        let path = run.as_ref().map(|run| run.join("settings.toml"));
        if let Some(path) = path.filter(|path| path.is_file()) {
            settings.push(((*command).to_owned(), fs::read_to_string(path)?));
        }
    }
    Ok(settings)
}

fn parse<T: serde::de::DeserializeOwned>(path: &Utf8Path, text: &[u8]) -> Result<T, ReportError> {
    serde_json::from_slice(text)
        .map_err(|source| ReportError::Json { path: path.to_owned(), source })
}

/// What became of the factory's attempts, from `corpus.json`.
fn funnel(tasks: &Utf8Path) -> Result<Vec<(String, u64)>, ReportError> {
    let path = tasks.join("corpus.json");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let record: Value = parse(&path, &fs::read(&path)?)?;
    let count = |name: &str| record.pointer(&format!("/funnel/{name}")).and_then(Value::as_u64);
    let stages = ["attempts", "blueprints", "developed", "accepted"];
    let mut funnel: Vec<(String, u64)> =
        stages.iter().filter_map(|stage| Some(((*stage).to_owned(), count(stage)?))).collect();
    for (reason, count) in
        record.pointer("/funnel/reasons").and_then(Value::as_object).into_iter().flatten()
    {
        if let Some(count) = count.as_u64() {
            funnel.push((format!("discarded: {}", reason.replace('_', " ")), count));
        }
    }
    Ok(funnel)
}

/// The first held-out task of each formulation.
fn cards(corpus: &Corpus) -> Result<Vec<TaskCard>, ReportError> {
    let mut seen: BTreeSet<Formulation> = BTreeSet::new();
    let mut cards = Vec::new();
    for task in corpus.split(Split::Val) {
        if seen.insert(task.manifest().formulation) {
            cards.push(TaskCard::of(task)?);
        }
    }
    Ok(cards)
}

/// Episodes of a run of `rl train`: the best of its first step, and the best and the worst of its
/// last.
fn played(folder: &Utf8Path) -> Result<Vec<(String, Trajectory)>, ReportError> {
    let files = section::step_files(folder)?;
    let mut chosen = Vec::new();
    if let (Some((first, early)), Some((last, late))) = (files.first(), files.last()) {
        let mut pick = |step: u64, name: &str, from: Option<Trajectory>| {
            chosen.extend(from.map(|episode| (format!("update {step}, {name}"), episode)));
        };
        let by_reward = |path: &Utf8Path| -> Result<Vec<Trajectory>, ReportError> {
            let mut episodes = trajectory::read(path)?;
            episodes.sort_by(|a, b| a.reward.total().total_cmp(&b.reward.total()));
            Ok(episodes)
        };
        if first < last {
            pick(*first, "best", by_reward(early)?.pop());
        }
        let mut episodes = by_reward(late)?;
        pick(*last, "best", episodes.pop());
        pick(*last, "worst", episodes.into_iter().next());
    }
    Ok(chosen)
}

/// Three episodes: on the task where the last policy gained most over the first one, an episode
/// of each, and the last policy's best episode elsewhere.
fn to_read(
    eval: &Utf8Path,
    evaluation: &Evaluation,
) -> Result<Vec<(String, Trajectory)>, ReportError> {
    let policies: Vec<&str> = evaluation
        .rows
        .iter()
        .map(|row| row.agent.as_str())
        .filter(|name| !name.contains('/') && *name != RANDOM)
        .collect();
    let (Some(first), Some(last)) = (policies.first(), policies.last()) else {
        return Ok(Vec::new());
    };
    let read = |name: &str| -> Result<Vec<Trajectory>, TrajectoryError> {
        let mut episodes = trajectory::read(&episodes_of(name, eval))?;
        episodes.sort_by(|a, b| a.key().cmp(&b.key()));
        Ok(episodes)
    };
    let (before, after) = (read(first)?, read(last)?);
    let gain = |later: &Trajectory| {
        let same = before
            .iter()
            .find(|earlier| earlier.task == later.task && earlier.attempt == later.attempt);
        same.map(|earlier| (later.reward.total() - earlier.reward.total(), earlier))
    };
    let best = after
        .iter()
        .filter_map(|later| gain(later).map(|(gain, earlier)| (gain, earlier, later)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let mut chosen = Vec::new();
    if let Some((_, earlier, later)) = best {
        chosen.push((first.to_string(), earlier.clone()));
        chosen.push((last.to_string(), later.clone()));
        let other = after
            .iter()
            .filter(|trajectory| trajectory.task != later.task)
            .max_by(|a, b| a.reward.total().total_cmp(&b.reward.total()));
        chosen.extend(other.map(|other| (last.to_string(), other.clone())));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_funnel_lists_stages_and_reasons() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        assert!(funnel(dir).unwrap().is_empty());
        let record = serde_json::json!({"funnel": {"attempts": 9, "accepted": 7, "reasons": {"too_easy": 2}}});
        fs::write(dir.join("corpus.json"), record.to_string()).unwrap();
        let expected = [("attempts", 9), ("accepted", 7), ("discarded: too easy", 2)];
        assert_eq!(funnel(dir).unwrap(), expected.map(|(name, count)| (name.to_owned(), count)));
    }
}
