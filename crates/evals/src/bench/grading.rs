//! Grades of a run that is over: of the submission that counts, and of those that would have
//! counted had it ended after an earlier step.

use super::human_rank::{BoardStanding, RankBoard};
use super::outcome::{GradedRun, StepGrade};
use super::way::WayShares;
use agents::run::journal::{Blobs, JournalError};
use agents::run::node::{BlobHash, NodeId};
use agents::run::state::RunState;
use agents::search::tree::Tree;
use camino::Utf8Path;
use sandbox::env::{EpisodeConfig, EpisodeFault, TaskSuite, grade_submission};
use std::collections::BTreeMap;
use std::time::SystemTime;
use tasks::metrics::Direction;
use tasks::mlebench::report::timestamp;
use tasks::task::Task;
use tasks::thresholds::Milestone;

/// A run that is over.
#[derive(Clone, Copy)]
pub(super) struct FinishedRun<'a> {
    pub(super) suite: &'a TaskSuite,
    pub(super) task: &'a Task,
    pub(super) config: &'a EpisodeConfig,
    pub(super) direction: Direction,
    pub(super) folder: &'a Utf8Path,
    pub(super) state: &'a RunState,
    /// Whether what would have counted after earlier steps is graded, on competitions too. On
    /// tasks of ours it always is.
    pub(super) grade_steps: bool,
    /// Leaderboards of people.
    pub(super) boards: &'a [RankBoard],
}

/// What grading gives.
pub(super) struct Grades {
    /// Of what counts.
    pub(super) graded: GradedRun,
    /// By how much another node of a search was better.
    pub(super) gap: Option<f64>,
    pub(super) way: Option<WayShares>,
    pub(super) by_step: Vec<StepGrade>,
}

/// Why a finished run has no grade.
pub(super) enum GradingFault {
    Journal(JournalError),
    Grader(EpisodeFault),
}

/// Score and milestone; `None` of an invalid submission.
type Score = Option<(f64, Option<Milestone>)>;

impl FinishedRun<'_> {
    /// Grades it.
    pub(super) fn grade(&self) -> Result<Grades, GradingFault> {
        let state = self.state;
        let chosen = state.finish.and_then(|(chosen, _)| chosen);
        let counted = chosen.and_then(|id| state.submission(id));
        let baselines = self.task.ours().map(|dir| &dir.manifest().baselines);
        let steps =
            if self.grade_steps || baselines.is_some() { after_steps(state) } else { Vec::new() };
        let good = state.nodes.values().filter(|node| node.is_good());
        let submissions = counted
            .into_iter()
            .chain(good.clone().filter_map(|node| node.submission.as_ref()))
            .chain(steps.iter().filter_map(|(_, hash)| hash.as_ref()));
        let mut scores: BTreeMap<&BlobHash, Score> = BTreeMap::new();
        for hash in submissions {
            if !scores.contains_key(hash) {
                scores.insert(hash, self.score(hash)?);
            }
        }
        let thresholds = self.suite.grader(self.task).map_err(GradingFault::Grader)?.thresholds();
        let of = |hash: Option<&BlobHash>| hash.and_then(|hash| scores[hash]);
        let medal = |tier: Option<Milestone>| tier.filter(|tier| *tier != Milestone::Median);
        let above = |score: f64| self.direction.better(score, thresholds.median_threshold);
        let (score, tier) = of(counted).unzip();
        let graded = GradedRun {
            score,
            medal: medal(tier.flatten()),
            above_median: score.is_some_and(above),
            submission_exists: counted.is_some(),
            created_at: timestamp(SystemTime::now()),
            submission_path: self.folder.join("submission.csv").to_string(),
            human_rank: BoardStanding::among(self.boards, score),
        };
        let by_step: Vec<StepGrade> = steps
            .iter()
            .map(|(seconds, hash)| {
                let (score, tier) = of(hash.as_ref()).unzip();
                StepGrade {
                    seconds: *seconds,
                    score,
                    medal: medal(tier.flatten()),
                    above_median: score.is_some_and(above),
                }
            })
            .collect();
        let way = baselines.map(|baselines| {
            WayShares::from_scores(by_step.iter().map(|step| step.score), baselines, self.direction)
        });
        let gains = good
            .filter_map(|node| of(node.submission.as_ref()))
            .chain(of(counted).filter(|_| !state.nodes.is_empty()))
            .map(|(score, _)| self.direction.gain(score));
        let best = gains.reduce(f64::max);
        let gap = best.zip(score).map(|(best, score)| best - self.direction.gain(score));
        Ok(Grades { graded, gap, way, by_step })
    }

    fn score(&self, hash: &BlobHash) -> Result<Score, GradingFault> {
        let csv = Blobs::new(self.folder).get(hash).map_err(GradingFault::Journal)?;
        let graded = grade_submission(self.suite, self.task, self.config, &csv);
        let grade = graded.map_err(GradingFault::Grader)?;
        Ok(grade.ok().map(|grade| (grade.score, grade.tier)))
    }
}

/// The active seconds at which each step ended, and the submission that would count had the run
/// ended there.
fn after_steps(state: &RunState) -> Vec<(f64, Option<BlobHash>)> {
    if !state.turns.is_empty() {
        return state.turns.iter().map(|turn| (turn.ended_at, turn.submission.clone())).collect();
    }
    let mut tree = Tree::new(state.header.direction);
    let mut reached: Option<NodeId> = None;
    let mut seconds: f64 = 0.0;
    let steps = state.nodes.values().map(|node| {
        tree.decide(node.decision.clone());
        tree.complete(node.clone());
        reached = tree.chosen().map(|node| node.id);
        // With several workers, a later node may end before an earlier one.
        seconds = seconds.max(node.ended_at);
        (seconds, reached.and_then(|id| state.submission(id)).cloned())
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::header;
    use super::*;
    use agents::run::node::{Bug, Decision, Node, NodeState};

    fn state(nodes: Vec<Node>) -> RunState {
        let mut state = RunState::new(header());
        state.nodes = nodes.into_iter().map(|node| (node.id, node)).collect();
        state
    }

    fn node(id: u32, metric: Option<f64>, submission: Option<&str>) -> Node {
        Node {
            id: NodeId(id),
            decision: Decision::draft(),
            plan: String::new(),
            code: None,
            output: None,
            run: None,
            metric,
            judged: None,
            state: if metric.is_some() { NodeState::Good } else { NodeState::Buggy(Bug::NoMetric) },
            submission: submission.map(|text| BlobHash(text.to_owned())),
            invalid: None,
            ended_at: f64::from(10 - id),
            automind: None,
        }
    }

    #[test]
    fn what_counts_after_a_step_is_what_the_search_would_choose() {
        let state = state(vec![
            node(0, None, None),
            // Not good, but valid: better than nothing.
            node(1, None, Some("c")),
            node(2, Some(5.0), Some("a")),
            // A worse validation error.
            node(3, Some(7.0), Some("b")),
            node(4, Some(4.0), Some("b")),
        ]);
        let steps = after_steps(&state);
        let submissions: Vec<Option<&str>> =
            steps.iter().map(|(_, hash)| hash.as_ref().map(|hash| hash.0.as_str())).collect();
        assert_eq!(submissions, [None, Some("c"), Some("a"), Some("a"), Some("b")]);
        assert!(steps.iter().all(|(seconds, _)| *seconds == 10.0));
    }
}
