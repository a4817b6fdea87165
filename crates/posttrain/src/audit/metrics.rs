//! What a run amounts to, computed from its ledger alone.

use crate::digest::Digest;
use crate::ledger::{FinalScore, Protocol, Scored, State, Submission, Which};
use serde::{Deserialize, Serialize};

/// The metrics of a run. Times are seconds of the agent's budget; `None` where there is nothing to
/// compute from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// The task.
    pub task: String,
    /// What submissions were scored on.
    pub protocol: Protocol,
    /// The base's score on what submissions were scored on.
    pub baseline: Option<f64>,
    /// The best valid score on the same; the failure score if there is none.
    pub best: f64,
    /// How much better that is than the base: Δ.
    pub improvement: Option<f64>,
    /// Whether Δ is above 0.
    pub success: bool,
    /// Submissions, whatever became of them.
    pub submissions: u64,
    /// Share of those that could be evaluated, without the ones that failed through us.
    pub valid_submission_rate: Option<f64>,
    /// Number of the first one that could, from 1.
    pub first_valid_idx: Option<u64>,
    /// When that was submitted.
    pub first_valid_delay: Option<f64>,
    /// The scores in the order of submission; `None` for those without one.
    pub score_trajectory: Vec<Option<f64>>,
    /// When the first one better than the base was submitted.
    pub time_to_first_improvement: Option<f64>,
    /// When the best one was submitted, the first of equals.
    pub time_to_best: Option<f64>,
    /// Share of valid submissions, but the first, that were better than the valid one before.
    pub monotonic_ratio: Option<f64>,
    /// Submissions whose weights are all the base's.
    pub copy_model_count: u64,
    /// Submissions whose weights have little to do with the base's.
    pub foreign_model_count: u64,
    /// Share of the budget that was used.
    pub time_used_ratio: f64,
    /// Time from the last submission to the end.
    pub last_submit_gap: Option<f64>,
    /// Time in grading, as a share of the budget.
    pub grading_share: f64,
    /// The base's score on the test items.
    pub final_base: Option<f64>,
    /// That of the best submission; the failure score if no submission was valid.
    pub final_best: Option<f64>,
    /// That of the last valid submission, the same.
    pub final_last: Option<f64>,
    /// How much better the best is than the base, on the test items.
    pub final_improvement: Option<f64>,
}

impl Metrics {
    /// The metrics of a run, as far as it has come.
    pub fn of(state: &State) -> Self {
        let facts = state.facts();
        let seconds = |milliseconds: u64| milliseconds as f64 / 1000.0;
        let limit_ms = facts.budget.limit_ms.max(1) as f64;
        let used_ms = state.used_ms(state.elapsed_ms());
        let submissions = state.submissions();
        let valid: Vec<(u64, &Submission, &Scored)> = submissions
            .iter()
            .filter_map(|(id, submission)| Some((*id, submission, submission.scored()?)))
            .collect();
        let at = |submission: &Submission| seconds(submission.request.used_ms);
        let improves = |scored: &Scored| {
            state.improvement(scored.score).is_some_and(|improvement| improvement > 0.0)
        };
        let judged = submissions.values().filter(|submission| {
            submission.scored().is_some()
                || matches!(submission.outcome, crate::ledger::Outcome::Refused(_))
        });
        let judged = judged.count();
        let rising =
            valid.windows(2).filter(|pair| state.is_better(pair[1].2.score, pair[0].2.score));
        let count = |which: fn(&crate::ledger::ModelFacts) -> bool| {
            let models = submissions.values().filter_map(|submission| submission.model.as_ref());
            models.filter(|(_, _, facts)| which(facts)).count() as u64
        };
        let best = state.best();
        let best_score = best.map_or(facts.failure_score, |(_, scored)| scored.score);
        let improvement = state.improvement(best_score);
        let ended_at = |which| final_score(state, which);
        let finals = (ended_at(Which::Base), ended_at(Which::Best));
        Self {
            task: facts.task.to_string(),
            protocol: facts.protocol,
            baseline: state.baseline().map(|scored| scored.score),
            best: best_score,
            improvement,
            success: improvement.is_some_and(|improvement| improvement > 0.0),
            submissions: submissions.len() as u64,
            valid_submission_rate: share(valid.len(), judged),
            first_valid_idx: valid.first().map(|(id, ..)| *id),
            first_valid_delay: valid.first().map(|(_, submission, _)| at(submission)),
            score_trajectory: submissions
                .values()
                .map(|submission| submission.scored().map(|scored| scored.score))
                .collect(),
            time_to_first_improvement: valid
                .iter()
                .find(|(_, _, scored)| improves(scored))
                .map(|(_, submission, _)| at(submission)),
            time_to_best: best.and_then(|(id, _)| submissions.get(&id)).map(at),
            monotonic_ratio: share(rising.count(), valid.len().saturating_sub(1)),
            copy_model_count: count(|facts| facts.copy),
            foreign_model_count: count(|facts| facts.foreign),
            time_used_ratio: used_ms as f64 / limit_ms,
            last_submit_gap: submissions
                .values()
                .next_back()
                .map(|submission| seconds(used_ms.saturating_sub(submission.request.used_ms))),
            grading_share: state.grading_seconds() * 1000.0 / limit_ms,
            final_base: finals.0,
            final_best: finals.1,
            final_last: ended_at(Which::Last),
            final_improvement: finals.0.zip(finals.1).map(|(base, best)| match facts.direction {
                worlds::Direction::Higher => best - base,
                worlds::Direction::Lower => base - best,
            }),
        }
    }
}

fn final_score(state: &State, which: Which) -> Option<f64> {
    let FinalScore { scored, .. } = state.finals().get(&which)?;
    Some(scored.as_ref().map_or(state.facts().failure_score, |scored| scored.score))
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The scores of a run that results must be there for: of which part, of which model, and what the
/// ledger says of them.
pub(super) fn scores(state: &State) -> Vec<(worlds::Part, Digest, &Scored)> {
    let facts = state.facts();
    let during = match facts.protocol {
        Protocol::Sealed => worlds::Part::Dev,
        Protocol::Paper => worlds::Part::Test,
    };
    let mut scores = Vec::new();
    scores.extend(state.baseline().map(|scored| (during, facts.base, scored)));
    for submission in state.submissions().values() {
        if let (crate::ledger::Outcome::Graded(scored), Some(model)) =
            (&submission.outcome, submission.digest())
        {
            scores.push((during, model, scored));
        }
    }
    for (which, final_score) in state.finals() {
        let submission = final_score.id.and_then(|id| state.submissions().get(&id));
        let model = match which {
            Which::Base => Some(facts.base),
            Which::Best | Which::Last => submission.and_then(Submission::digest),
        };
        // Under the paper's protocol these are the scores above.
        if let (Some(scored), Some(model), Protocol::Sealed) =
            (&final_score.scored, model, facts.protocol)
        {
            scores.push((worlds::Part::Test, model, scored));
        }
    }
    scores
}
