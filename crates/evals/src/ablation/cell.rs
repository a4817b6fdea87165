//! What one run came to: a cell of the table of tasks by seeds.

use super::facts::RunFacts;
use crate::bench::contender::grade;
use crate::bench::outcome::BenchRun;
use agents::reward::{RewardWeights, reward};
use serde::{Deserialize, Serialize};
use tasks::grade::Grade;
use tasks::thresholds::Milestone;

/// What arms are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellMeasure {
    /// The share of the way from the constant baseline to the ceiling, in [0, 1]; on tasks of ours.
    Way,
    /// The reward of episodes, in [0, 1], with every turn in its form.
    Reward,
    /// 1 with a valid submission, else 0.
    Valid,
    /// 1 with a medal, else 0.
    Medal,
    /// The share of a leaderboard that is met or beaten, in [0, 1]; where there is one.
    Standing,
    /// The share of the steps whose script ran to its end with a valid submission; of searches.
    Scripts,
}

impl CellMeasure {
    /// In the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Way, Self::Reward, Self::Valid, Self::Medal, Self::Standing, Self::Scripts];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Way => "way",
            Self::Reward => "reward",
            Self::Valid => "valid",
            Self::Medal => "medal",
            Self::Standing => "standing",
            Self::Scripts => "good scripts",
        }
    }
}

/// What one run came to, and what it took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// See [`CellMeasure::Way`].
    pub way: Option<f64>,
    /// See [`CellMeasure::Reward`].
    pub reward: f64,
    /// See [`CellMeasure::Valid`].
    pub valid: f64,
    /// See [`CellMeasure::Medal`].
    pub medal: f64,
    /// See [`CellMeasure::Standing`].
    pub standing: Option<f64>,
    /// See [`CellMeasure::Scripts`].
    pub scripts: Option<f64>,
    /// Steps that count.
    pub steps: usize,
    /// Questions that they asked.
    pub calls: u64,
    /// Tokens that were read and written for them.
    pub tokens: u64,
    /// Seconds in their scripts.
    pub script_seconds: f64,
    /// Active seconds until the last of them ended.
    pub seconds: f64,
}

/// A run that was cut has no grade of the step where it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the run of seed {seed} on `{task}` was not graded step by step, so that it cannot be cut: play \
     the arms into another folder with `--grade-steps`"
)]
pub struct NotGraded {
    /// The task.
    pub task: String,
    /// The seed.
    pub seed: u64,
}

impl Cell {
    /// Of a run as if it had ended within `calls` questions and `steps` steps; `None` of a run without
    /// a grade.
    ///
    /// # Errors
    /// [`NotGraded`].
    pub fn of(
        run: &BenchRun,
        facts: &RunFacts,
        calls: Option<u64>,
        steps: Option<usize>,
    ) -> Result<Option<Self>, NotGraded> {
        let Some(graded) = grade(run) else { return Ok(None) };
        let within = facts.within(calls, steps);
        let is_whole = within == facts.steps.len();
        let missing = || NotGraded { task: run.competition.clone(), seed: run.seed };
        let (score, medal, above_median) = if is_whole {
            (graded.score, graded.medal, graded.above_median)
        } else if let Some(last) = within.checked_sub(1) {
            let step = run.by_step.get(last).ok_or_else(missing)?;
            (step.score, step.medal, step.above_median)
        } else {
            (None, None, false)
        };
        let way = |way: &crate::bench::way::WayShares| {
            if is_whole { way.last() } else { way.after(within) }
        };
        let counted = &facts.steps[..within];
        let scripts: Vec<bool> =
            counted.iter().filter_map(|step| Some(step.script.as_ref()?.good)).collect();
        let share =
            |good: &[bool]| good.iter().filter(|good| **good).count() as f64 / good.len() as f64;
        let one = |holds: bool| f64::from(u8::from(holds));
        Ok(Some(Self {
            way: run.way.as_ref().map(way),
            reward: episode_reward(score, medal, above_median),
            valid: one(score.is_some()),
            medal: one(medal.is_some()),
            standing: graded.human_rank.filter(|_| is_whole).map(|rank| rank.coded),
            scripts: (!scripts.is_empty()).then(|| share(&scripts)),
            steps: within,
            calls: counted.iter().map(|step| step.calls).sum(),
            tokens: counted.iter().map(|step| step.tokens).sum(),
            // The sum of nothing is -0.0.
            script_seconds: counted.iter().map(|step| step.script_seconds).sum::<f64>() + 0.0,
            seconds: counted.iter().map(|step| step.ended_at).fold(0.0, f64::max),
        }))
    }

    /// One of its numbers; `None` where it has none.
    pub fn value(&self, measure: CellMeasure) -> Option<f64> {
        match measure {
            CellMeasure::Way => self.way,
            CellMeasure::Reward => Some(self.reward),
            CellMeasure::Valid => Some(self.valid),
            CellMeasure::Medal => Some(self.medal),
            CellMeasure::Standing => self.standing,
            CellMeasure::Scripts => self.scripts,
        }
    }
}

/// The reward of an episode in its form that ends with this grade.
fn episode_reward(score: Option<f64>, medal: Option<Milestone>, above_median: bool) -> f64 {
    let tier = medal.or(above_median.then_some(Milestone::Median));
    let grade = score.map(|score| Grade { score, tier });
    reward(&RewardWeights::DENSE, 1.0, grade.as_ref(), None).total()
}
