//! The page at the end of the main job: what was made, how it was learnt, what came of it.

use agents::evaluation::{EVALUATION_VERSION, Evaluation};
use agents::report::{CardError, Chart, Line, Report, TaskCard};
use agents::trajectory::{self, Trajectory, TrajectoryError};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use sandbox::files;
use sandbox::task::{Corpus, Formulation, Split, TaskError};
use serde_json::Value;
use std::collections::BTreeSet;

/// Where the parts of the page come from.
#[derive(Debug, Clone)]
pub struct ReportSources {
    /// The corpus.
    pub tasks: Utf8PathBuf,
    /// The run of `rl sft`.
    pub sft: Utf8PathBuf,
    /// The run of `rl train`.
    pub grpo: Utf8PathBuf,
    /// The folder of `rl eval`.
    pub eval: Utf8PathBuf,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
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

/// Writes the page to `out`.
///
/// # Errors
/// [`ReportError`] if a source is missing or broken.
pub fn write(sources: &ReportSources, out: &Utf8Path) -> Result<(), ReportError> {
    let path = sources.eval.join("evaluation.json");
    let evaluation: Evaluation = parse(&path, &fs::read(&path)?)?;
    if evaluation.version != EVALUATION_VERSION {
        return Err(ReportError::Version { path, found: evaluation.version });
    }
    let corpus = Corpus::open(&sources.tasks)?;
    let report = Report {
        title: "Machine learning engineering agents, before and after reinforcement".to_owned(),
        trajectories: to_read(&sources.eval.join("episodes"), &evaluation)?,
        evaluation,
        charts: charts(&lines(&sources.sft)?, &lines(&sources.grpo)?),
        funnel: funnel(&sources.tasks)?,
        tasks: cards(&corpus)?,
    };
    Ok(files::write_atomic(out, report.html().as_bytes())?)
}

fn parse<T: serde::de::DeserializeOwned>(path: &Utf8Path, text: &[u8]) -> Result<T, ReportError> {
    serde_json::from_slice(text)
        .map_err(|source| ReportError::Json { path: path.to_owned(), source })
}

/// The lines of a run's `metrics.jsonl`.
fn lines(run: &Utf8Path) -> Result<Vec<Value>, ReportError> {
    let path = run.join("metrics.jsonl");
    let text = fs::read_to_string(&path)?;
    text.lines().map(|line| parse(&path, line.as_bytes())).collect()
}

/// A curve of one number over steps; `pointer` is a JSON pointer into a line.
fn curve(name: &str, lines: &[Value], pointer: &str) -> Line {
    let point =
        |line: &Value| Some((line.get("step")?.as_f64()?, line.pointer(pointer)?.as_f64()?));
    Line { name: name.to_owned(), points: lines.iter().filter_map(point).collect() }
}

fn charts(sft: &[Value], grpo: &[Value]) -> Vec<Chart> {
    let chart = |title: &str, x_label: &str, y_range, lines| Chart {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        lines,
        y_range,
    };
    let share = Some((0.0, 1.0));
    let update = "GRPO update";
    vec![
        chart(
            "Imitation: loss per token (nats)",
            "SFT update",
            None,
            vec![curve("loss", sft, "/loss")],
        ),
        chart(
            "Reward",
            update,
            None,
            vec![
                curve("training tasks", grpo, "/reward"),
                curve("held-out tasks", grpo, "/validation/reward"),
            ],
        ),
        chart(
            "Valid submissions",
            update,
            share,
            vec![
                curve("training tasks", grpo, "/valid"),
                curve("held-out tasks", grpo, "/validation/valid"),
            ],
        ),
        chart(
            "Held-out tasks: share that reaches a tier",
            update,
            share,
            ["median", "bronze", "silver", "gold"]
                .map(|tier| curve(tier, grpo, &format!("/validation/{tier}")))
                .to_vec(),
        ),
        chart("Entropy per token (nats)", update, None, vec![curve("entropy", grpo, "/entropy")]),
        chart(
            "Groups with different rewards",
            update,
            share,
            vec![curve("share", grpo, "/mixed_groups")],
        ),
    ]
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

/// Three episodes: on the task where the last policy gained most over the first one, an episode
/// of each, and the last policy's best episode elsewhere.
fn to_read(
    folder: &Utf8Path,
    evaluation: &Evaluation,
) -> Result<Vec<(String, Trajectory)>, ReportError> {
    let policies: Vec<&str> = evaluation
        .rows
        .iter()
        .map(|row| row.agent.as_str())
        .filter(|name| !name.contains('/') && *name != "random")
        .collect();
    let (Some(first), Some(last)) = (policies.first(), policies.last()) else {
        return Ok(Vec::new());
    };
    let read = |name: &str| trajectory::read(&folder.join(format!("{name}.jsonl")));
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
    fn curves_skip_steps_without_the_number() {
        let lines: Vec<Value> = [
            serde_json::json!({"step": 0, "validation": {"reward": 0.2}}),
            serde_json::json!({"step": 1, "reward": 0.5}),
            serde_json::json!({"step": 2, "reward": 0.6, "validation": {"reward": 0.4}}),
        ]
        .to_vec();
        assert_eq!(curve("a", &lines, "/reward").points, [(1.0, 0.5), (2.0, 0.6)]);
        assert_eq!(curve("b", &lines, "/validation/reward").points, [(0.0, 0.2), (2.0, 0.4)]);
    }

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
