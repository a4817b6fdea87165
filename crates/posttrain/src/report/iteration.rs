//! An iteration of a run: the work up to a submission, and what became of it.

use super::files::RunFiles;
use crate::failure::{self, FailureFinding};
use crate::grade::{ItemScore, Results, TaskScore};
use crate::ledger::{Outcome, State, Submission};
use crate::record::{CodeChange, CodeSnapshot, Moment, ToolUse, TrainerFacts};
use crate::route::{Attempt, RouteFinding, find, key_lines};
use evals::statistics::mean;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Lines of a diff that are shown.
const CONTEXT: usize = 40;
/// Settings that are shown, in this order.
const SETTINGS: [&str; 14] = [
    "learning_rate",
    "lr",
    "epochs",
    "batch",
    "steps",
    "group_size",
    "tasks_per_step",
    "best_of",
    "beta",
    "method",
    "data",
    "episodes",
    "world",
    "seed",
];

/// How a score differs from the best one before, or from the base's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// The score before.
    pub from: f64,
    /// By how much this one is better; below 0 it is worse.
    pub by: f64,
    /// Whether that is more than 1.96 standard errors of the paired items.
    pub beyond_chance: bool,
}

/// The work up to a submission.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Iteration {
    /// The number of the submission.
    pub iteration: u64,
    /// When it was recorded.
    pub timestamp: String,
    /// Seconds of the budget that were used then.
    pub used_s: f64,
    /// Seconds of the budget since the submission before.
    pub duration_s: f64,
    /// Tokens of chat models that were taken until then; none where nothing counted them.
    pub tokens: Option<u64>,
    /// `graded`, `cached`, `refused`, `failed`, `waiting`.
    pub status: &'static str,
    /// The code of the last program of the toolbox in it that ended.
    pub exit_code: Option<i32>,
    /// What was submitted, as the agent names it.
    pub model_path: String,
    /// What the agent said of it.
    pub note: Option<String>,
    /// The score.
    pub score: Option<f64>,
    /// How much better that is than the base's.
    pub improvement: Option<f64>,
    /// The score on each task, where one model is graded on several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_task: BTreeMap<String, f64>,
    /// The best score so far.
    pub best: Option<f64>,
    /// The change against the best before.
    pub gain: Option<Gain>,
    /// The way of training.
    pub route: RouteFinding,
    /// What failed about the submission.
    pub failure: Option<FailureFinding>,
    /// What failed in the work before it.
    pub problems: Vec<FailureFinding>,
    /// Settings of the last stage.
    pub settings: BTreeMap<String, Value>,
    /// The lines of code that show the way of training.
    pub key_lines: Vec<String>,
    /// Files that were added, changed or removed.
    pub changed: Vec<String>,
    /// The beginning of the diff of the code.
    pub diff: String,
}

/// What is known before an iteration.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) snapshot: Option<CodeSnapshot>,
    pub(super) log_bytes: u64,
    used_ms: u64,
    findings: BTreeMap<u64, RouteFinding>,
    /// The best valid submission so far, with its items where they are known.
    best: Option<(f64, Option<Vec<ItemScore>>)>,
}

impl Iteration {
    /// The iteration that ended with the submission `id`; `before` goes on.
    pub(super) fn read(
        files: &RunFiles,
        ledger: &State,
        (id, submission): (u64, &Submission),
        uses: &[ToolUse],
        before: &mut Before,
    ) -> Self {
        let (snapshot, changes) = files.code(Moment::Submission(id), before.snapshot.as_ref());
        let stages = snapshot.as_ref().map_or(&[][..], |snapshot| &snapshot.stages);
        let attempt = Attempt { id, submission, stages, uses, changes: &changes };
        let paths: BTreeMap<u64, &str> = ledger
            .submissions()
            .iter()
            .map(|(id, submission)| (*id, submission.request.model_path.as_str()))
            .collect();
        let route = find(&attempt, &before.findings, &paths);
        let log_bytes = snapshot.as_ref().and_then(|snapshot| snapshot.log_bytes);
        let mut problems: Vec<FailureFinding> = uses.iter().filter_map(failure::of_use).collect();
        if let Some(to) = log_bytes {
            problems.extend(failure::of_log(&files.log(before.log_bytes, Some(to))));
        }
        let score = submission.scored().map(|scored| scored.score);
        let of_model = |digest| files.results(digest);
        let (items, tasks) = match submission.digest().and_then(of_model) {
            Some(Results { items, tasks, .. }) => (Some(items), tasks),
            None => (None, Vec::new()),
        };
        let by_task = |TaskScore { task, score, .. }| (task.to_string(), score);
        let by_task = tasks.into_iter().map(by_task).collect();
        let base = of_model(ledger.facts().base).map(|results| results.items);
        let direction = ledger.facts().direction;
        let worse = match (&base, &items) {
            (Some(base), Some(items)) => failure::of_items(base, items, direction),
            _ => None,
        };
        let is_followed = ledger.submissions().range(id + 1..).any(|(_, later)| {
            later.scored().is_some()
                && later.model.as_ref().is_some_and(|(_, _, facts)| !facts.copy)
        });
        let reference = before.best.clone().or_else(|| Some((ledger.baseline()?.score, base)));
        let gain = score.zip(reference).map(|(score, (from, before))| {
            let by = ledger.improvement(score).zip(ledger.improvement(from));
            let by = by.map_or(0.0, |(now, before)| now - before);
            let pairs = before.zip(items.as_ref());
            let beyond_chance = pairs.is_some_and(|(before, items)| {
                failure::is_beyond_chance(&failure::gains(&before, items, direction))
            });
            Gain { from, by, beyond_chance }
        });
        if let Some(score) = score
            && before.best.as_ref().is_none_or(|(best, _)| ledger.is_better(score, *best))
        {
            before.best = Some((score, items));
        }
        let texts = || changes.iter().filter_map(|one| Some((&*one.path, one.now.as_deref()?)));
        let iteration = Self {
            iteration: id,
            timestamp: submission.time.clone(),
            used_s: seconds(submission.request.used_ms),
            duration_s: seconds(submission.request.used_ms.saturating_sub(before.used_ms)),
            tokens: files.tokens_until(submission.request.used_ms),
            status: status(&submission.outcome),
            exit_code: uses.iter().filter_map(|one| one.end.as_ref()?.code).next_back(),
            model_path: submission.request.model_path.clone(),
            note: submission.request.note.clone(),
            score,
            improvement: score.and_then(|score| ledger.improvement(score)),
            by_task,
            best: before.best.as_ref().map(|(best, _)| *best),
            gain,
            failure: failure::of_submission(submission, is_followed, worse),
            problems,
            settings: settings(stages, uses),
            key_lines: key_lines(texts(), route.route),
            changed: changes.iter().map(named).collect(),
            diff: diff(&changes),
            route: route.clone(),
        };
        before.findings.insert(id, route);
        before.used_ms = submission.request.used_ms;
        before.log_bytes = log_bytes.unwrap_or(before.log_bytes);
        before.snapshot = snapshot.or(before.snapshot.take());
        iteration
    }
}

/// The mean loss of the last updates, if they are known and finite.
pub(super) fn last_loss(stages: &[TrainerFacts]) -> Option<f64> {
    let losses: Vec<f64> = stages.first()?.losses.iter().copied().flatten().collect();
    (!losses.is_empty()).then(|| mean(losses.iter().copied()))
}

fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}

fn status(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Waiting => "waiting",
        Outcome::Graded(_) => "graded",
        Outcome::Cached { .. } => "cached",
        Outcome::Refused(_) => "refused",
        Outcome::Failed { .. } => "failed",
    }
}

/// Settings of the last stage, from the files beside the model or from the toolbox.
fn settings(stages: &[TrainerFacts], uses: &[ToolUse]) -> BTreeMap<String, Value> {
    let of_use = || uses.iter().filter_map(|one| one.end.as_ref()?.trainer.as_ref()).next_back();
    let Some(stage) = stages.first().or_else(of_use) else { return BTreeMap::new() };
    let kept = SETTINGS
        .iter()
        .filter_map(|key| stage.settings.get(*key).map(|value| ((*key).to_owned(), value.clone())));
    let mut all: BTreeMap<String, Value> = kept.collect();
    all.extend(stage.updates.map(|count| ("updates".to_owned(), count.into())));
    all.extend(last_loss(std::slice::from_ref(stage)).map(|loss| ("loss".to_owned(), loss.into())));
    all
}

fn named(change: &CodeChange) -> String {
    let what = match (&change.before, &change.now) {
        (None, Some(_)) => "added",
        (Some(_), None) => "removed",
        _ => "changed",
    };
    format!("{} {what}", change.path)
}

fn diff(changes: &[CodeChange]) -> String {
    let all: String = changes.iter().map(CodeChange::diff).collect();
    let lines: Vec<&str> = all.lines().collect();
    let shown = lines[..lines.len().min(CONTEXT)].join("\n");
    match lines.len().saturating_sub(CONTEXT) {
        0 => shown,
        more => format!("{shown}\n… {more} more lines"),
    }
}
