//! The events of a run.

use crate::clock::{Budget, BudgetChange, Origin};
use crate::digest::Digest;
use crate::refusal::Refusal;
use serde::{Deserialize, Serialize};
use tasks::task::TaskId;
use worlds::Direction;

/// What a submission is scored on, and what counts in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Submissions are scored on dev items. After the end, the base, the best by dev and the last
    /// one are scored on the test items, once.
    Sealed,
    /// Submissions are scored on the test items, as in the published benchmark; the best counts.
    Paper,
}

/// How the score of a task follows from those of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// It is their mean, which the server computes itself.
    Mean,
    /// It is the mean of the scores of several tasks that one model is graded on.
    Tasks,
    /// It is what the grader says, as with win rates that are fitted to all items.
    Reported,
}

/// How often an agent may submit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SubmissionLimits {
    /// Submissions that were accepted; `None` is no limit.
    pub submissions: Option<u64>,
    /// Submissions that were refused.
    pub refusals: u64,
    /// Time in grading as a share of the budget; `None` is no limit.
    pub grading_share: Option<f64>,
    /// Submissions that wait to be graded.
    pub waiting: u64,
}

/// What a run is of, from its first line on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// The task.
    pub task: TaskId,
    /// The hash of the suite's `suite.json`, which has the hash of every file.
    pub suite: Digest,
    /// The base model, as it is graded.
    pub base: Digest,
    /// What submissions are scored on.
    pub protocol: Protocol,
    /// Which scores are better.
    pub direction: Direction,
    /// The score of a run without a valid submission.
    pub failure_score: f64,
    /// How the score follows from those of the items.
    pub aggregate: Aggregate,
    /// The agent's time.
    pub budget: Budget,
    /// How often it may submit.
    pub limits: SubmissionLimits,
    /// The command line of the grader.
    pub grader: Vec<String>,
    /// The version of this program.
    pub program: String,
    /// Where on the clock of the machine the run was opened.
    pub origin: Origin,
}

/// A score and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// The score of the task.
    pub score: f64,
    /// Items that it is of.
    pub items: u64,
    /// The hash of the file with the score of each item.
    pub results: Digest,
    /// Time of the attempt that led to it.
    pub seconds: f64,
    /// Attempts; more than one after a fault of ours.
    pub attempts: u32,
}

/// What an agent asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestFacts {
    /// The folder, as the agent wrote it.
    pub model_path: String,
    /// What the agent says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Milliseconds of the budget that were used when the request arrived.
    pub used_ms: u64,
}

/// What intake found out about a submitted model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub struct ModelFacts {
    /// Every weight is that of the base.
    pub copy: bool,
    /// The weights have little to do with the base: the median cosine is below one half.
    pub foreign: bool,
    /// Share of the base's weights that were changed, 0 to 1.
    pub changed: f64,
    /// Median over matrices of the cosine with the base's, −1 to 1.
    pub cosine: f64,
    /// It was an adapter, and was merged into the base.
    pub adapter: bool,
    /// Its tokenizer or chat template is not the base's; the base's are used.
    pub other_tokenizer: bool,
    /// Files that are no part of a model and were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// A model that was accepted, and is to be graded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubmittedModel {
    /// Number of the submission, from 1.
    pub id: u64,
    /// What was asked for.
    pub request: RequestFacts,
    /// The hash of the snapshot.
    pub model: Digest,
    /// Its size in bytes.
    pub bytes: u64,
    /// What was found out about it.
    pub facts: ModelFacts,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The time was up.
    Time,
    /// The operator ended it.
    Operator,
    /// The agent was done before its time was up.
    Agent,
}

/// Which models are scored after the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The base.
    Base,
    /// The best submission by what the agent was shown.
    Best,
    /// The last valid submission.
    Last,
}

impl Which {
    /// All of them, in the order of their lines.
    pub const ALL: [Self; 3] = [Self::Base, Self::Best, Self::Last];
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run was opened; the first line.
    Opened(Box<RunFacts>),
    /// The base was scored, before the clock started.
    Baseline(Scored),
    /// The clock started, stopped, went on, or the server was started again.
    Budget(BudgetChange),
    /// A model was accepted.
    Submitted(SubmittedModel),
    /// A submission was scored.
    Graded {
        /// Its number.
        id: u64,
        /// Its score.
        #[serde(flatten)]
        scored: Scored,
    },
    /// A submission has the content of one that was scored before, or of the base.
    Cached {
        /// Its number.
        id: u64,
        /// The submission whose score it has; none for the base's.
        of: Option<u64>,
        /// Its score.
        score: f64,
    },
    /// A submission cannot be evaluated: with its request at intake, without one by the grader.
    Refused {
        /// Its number.
        id: u64,
        /// What was asked for, where the submission was not accepted before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<RequestFacts>,
        /// Why, and what to do.
        refusal: Refusal,
    },
    /// A submission could not be scored for a reason of ours. It counts for nothing.
    Failed {
        /// Its number.
        id: u64,
        /// What went wrong, for the operator.
        fault: String,
        /// The device was taken, perhaps by the agent's own training.
        busy: bool,
    },
    /// No more is submitted, and everything was graded.
    Ended {
        /// Why.
        why: EndReason,
    },
    /// A score after the end, on the test items.
    Final {
        /// Of what.
        which: Which,
        /// The submission; none for the base, and where there is no valid one.
        id: Option<u64>,
        /// Its score; none where there is no valid submission, which has the failure score.
        scored: Option<Scored>,
    },
}
