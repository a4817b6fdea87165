//! Comparing agents on the same tasks: one row per agent, made from its trajectories.

use crate::statistics::{mean, standard_error};
use agents::trajectory::Trajectory;
use sandbox::env::Feedback;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tasks::task::Split;
use tasks::thresholds::Milestone;

/// The version of [`Evaluation`] that this build reads and writes.
pub const EVALUATION_VERSION: u32 = 1;

/// Agents side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// Version of the format, [`EVALUATION_VERSION`] in this build.
    pub version: u32,
    /// Split of the tasks that were played.
    pub split: Split,
    /// Number of tasks that were played.
    pub tasks: usize,
    /// Episodes per agent and task.
    pub attempts: u64,
    /// The `Score` mode in force.
    pub feedback: Feedback,
    /// The seed of all sampling.
    pub seed: u64,
    /// In the order given.
    pub rows: Vec<EvaluationRow>,
}

/// One agent's results. Rates and means are over its graded episodes, in [0, 1].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationRow {
    /// Name of the agent.
    pub agent: String,
    /// Whether people could advise it. Rows with and without are not for one table. Left out of files
    /// if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guided: bool,
    /// Number of graded episodes.
    pub episodes: usize,
    /// Episodes lost to faults of ours, which count nowhere else.
    pub faults: usize,
    /// Mean of the episodes' total reward.
    pub reward: f64,
    /// Its standard error over tasks: attempts at one task are not independent.
    pub reward_error: f64,
    /// Share with a valid submission.
    pub valid: f64,
    /// Share that reaches at least the median threshold.
    pub median: f64,
    /// Share that reaches at least bronze, which is MLE-bench's "any medal".
    pub bronze: f64,
    /// Share that reaches at least silver.
    pub silver: f64,
    /// Share that reaches gold.
    pub gold: f64,
    /// Mean number of turns.
    pub turns: f64,
}

impl EvaluationRow {
    /// Summarises an agent's episodes. Without any, all means are NaN-free zeros and
    /// `episodes` says so.
    pub fn from_trajectories(agent: &str, trajectories: &[Trajectory], faults: usize) -> Self {
        let share = |holds: &dyn Fn(&Trajectory) -> bool| {
            mean(trajectories.iter().map(|t| f64::from(u8::from(holds(t)))))
        };
        let reaches =
            |tier: Milestone| share(&|t| t.grade().is_some_and(|grade| grade.tier >= Some(tier)));
        let mut by_task: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for trajectory in trajectories {
            let rewards = by_task.entry(trajectory.task.as_str()).or_default();
            rewards.push(trajectory.reward.total());
        }
        let of_tasks: Vec<f64> =
            by_task.values().map(|rewards| mean(rewards.iter().copied())).collect();
        Self {
            agent: agent.to_owned(),
            guided: trajectories.iter().any(|trajectory| trajectory.guided),
            episodes: trajectories.len(),
            faults,
            reward: mean(trajectories.iter().map(|t| t.reward.total())),
            reward_error: standard_error(&of_tasks),
            valid: share(&|t| t.grade().is_some()),
            median: reaches(Milestone::Median),
            bronze: reaches(Milestone::Bronze),
            silver: reaches(Milestone::Silver),
            gold: reaches(Milestone::Gold),
            turns: mean(trajectories.iter().map(|t| t.turns.len() as f64)),
        }
    }
}

impl Evaluation {
    /// Whether people could advise the agents: all of them or none.
    pub fn is_guided(&self) -> bool {
        self.rows.iter().any(|row| row.guided)
    }

    /// A table for the terminal.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{} {} tasks x {} attempts, Score tells {}{}\n",
            self.tasks,
            match self.split {
                Split::Train => "training",
                Split::Val => "held-out",
            },
            self.attempts,
            match self.feedback {
                Feedback::Validate => "validity only",
                Feedback::Tier => "the tier",
                Feedback::Full => "the score and thresholds",
                Feedback::Exposed => "the score on all test rows",
            },
            if self.is_guided() { "; guided: people could advise" } else { "" },
        );
        let width = self.rows.iter().map(|row| row.agent.chars().count()).max().unwrap_or(0).max(5);
        let _ = writeln!(
            text,
            "{:width$}  reward          valid  median  bronze  silver    gold  turns  faults",
            "agent"
        );
        for row in &self.rows {
            let _ = writeln!(
                text,
                "{:width$}  {:.3} ± {:.3}  {:>6}  {:>6}  {:>6}  {:>6}  {:>6}  {:>5.1}  {:>6}",
                row.agent,
                row.reward,
                row.reward_error,
                percent(row.valid),
                percent(row.median),
                percent(row.bronze),
                percent(row.silver),
                percent(row.gold),
                row.turns,
                row.faults,
            );
        }
        text
    }
}

/// Whether people could advise in all of the episodes or in none: others are not compared.
pub(crate) fn is_all_or_none(guided: impl IntoIterator<Item = bool>) -> bool {
    let mut guided = guided.into_iter();
    guided.next().is_none_or(|first| guided.all(|other| other == first))
}

/// A share as a percentage with one decimal.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::reward::{RewardWeights, reward};
    use agents::trajectory::{EpisodeEnding, EpisodeOutcome, TRAJECTORY_VERSION};
    use sandbox::env::EpisodeResult;
    use tasks::grade::Grade;
    use tasks::task::TaskId;

    fn graded(tier: Option<Milestone>) -> Grade {
        Grade { score: 0.5, tier }
    }

    fn episode(task: &str, grade: Option<Grade>) -> Trajectory {
        Trajectory {
            version: TRAJECTORY_VERSION,
            task: TaskId::new(task).unwrap(),
            agent: "a".to_owned(),
            attempt: 0,
            feedback: Some(Feedback::Tier),
            segments: Vec::new(),
            omissions: Vec::new(),
            guided: false,
            guidance: Vec::new(),
            summaries: Vec::new(),
            turns: Vec::new(),
            ending: EpisodeEnding::Answered,
            timed_out: false,
            outcome: EpisodeOutcome::Mle(EpisodeResult { grade, refusal: None }),
            reward: reward(&RewardWeights::DENSE, 1.0, grade.as_ref(), None),
        }
    }

    #[test]
    fn row_says_that_people_could_advise_and_is_written_as_ever_if_not() {
        let plain = episode("t1", None);
        let guided = Trajectory { guided: true, ..plain.clone() };
        let row = |episodes: &[Trajectory]| EvaluationRow::from_trajectories("a", episodes, 0);
        let (guided, plain) = (row(&[guided]), row(&[plain]));
        assert!(guided.guided && !plain.guided);
        assert!(!serde_json::to_string(&plain).unwrap().contains("guided"));
        let table = |row: &EvaluationRow| {
            let evaluation = Evaluation {
                version: EVALUATION_VERSION,
                split: Split::Val,
                tasks: 1,
                attempts: 1,
                feedback: Feedback::Tier,
                seed: 0,
                rows: vec![row.clone()],
            };
            evaluation.table()
        };
        assert!(table(&guided).contains("the tier; guided: people could advise\n"));
        assert!(!table(&plain).contains("guided"));
        for (guided, alike) in [
            (&[][..], true),
            (&[true], true),
            (&[false, false], true),
            (&[true, true], true),
            (&[false, true], false),
            (&[true, false], false),
        ] {
            assert_eq!(is_all_or_none(guided.iter().copied()), alike, "{guided:?}");
        }
    }

    #[test]
    fn a_row_counts_tiers_cumulatively_and_errors_over_tasks() {
        let episodes = [
            episode("t1", Some(graded(Some(Milestone::Gold)))),
            episode("t1", Some(graded(Some(Milestone::Bronze)))),
            episode("t2", Some(graded(None))),
            episode("t2", None),
        ];
        let row = EvaluationRow::from_trajectories("a", &episodes, 1);
        assert_eq!(
            (row.valid, row.median, row.bronze, row.silver, row.gold),
            (0.75, 0.5, 0.5, 0.25, 0.25)
        );
        assert!((row.reward - (1.0 + 0.8 + 0.3 + 0.1) / 4.0).abs() < 1e-12);
        // Task means .9 and .2: sd .494975, error .35.
        assert!((row.reward_error - 0.35).abs() < 1e-12);
        let evaluation = Evaluation {
            version: EVALUATION_VERSION,
            split: Split::Val,
            tasks: 2,
            attempts: 2,
            feedback: Feedback::Tier,
            seed: 0,
            rows: vec![row, EvaluationRow::from_trajectories("nobody", &[], 4)],
        };
        insta::assert_snapshot!(evaluation.table());
    }
}
