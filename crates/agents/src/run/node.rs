//! One script of a search, with where it came from and what it was worth.

use super::node_facts::AutoMindFacts;
use jail::exec::Outcome;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of a node: 0 for the first decision of a search, in the order of decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Its place in a list of all nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// How a script is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// From the task alone.
    Draft,
    /// One idea more on a script that works.
    Improve,
    /// A script that failed, repaired.
    Debug,
    /// The best of two scripts that work.
    Crossover,
}

impl Operator {
    /// Its name in journals and prompts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Improve => "improve",
            Self::Debug => "debug",
            Self::Crossover => "crossover",
        }
    }
}

/// What is to be tried next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// How the script is made.
    pub operator: Operator,
    /// From which nodes: none for a draft, two for a crossover, else one.
    pub parents: Vec<NodeId>,
}

impl Decision {
    /// A script from the task alone.
    pub fn draft() -> Self {
        Self { operator: Operator::Draft, parents: Vec::new() }
    }

    /// One idea more on `parent`.
    pub fn improve(parent: NodeId) -> Self {
        Self { operator: Operator::Improve, parents: vec![parent] }
    }

    /// A repair of `parent`.
    pub fn debug(parent: NodeId) -> Self {
        Self { operator: Operator::Debug, parents: vec![parent] }
    }

    /// The best of two.
    pub fn crossover(one: NodeId, other: NodeId) -> Self {
        Self { operator: Operator::Crossover, parents: vec![one, other] }
    }
}

/// BLAKE3 of a text or a file that is stored once, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlobHash(pub String);

impl BlobHash {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }
}

/// Facts about the run of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFacts {
    /// How it ended, as [`Outcome`] is written.
    #[serde(with = "outcome_text")]
    pub outcome: Outcome,
    /// Wall time, in seconds.
    pub wall: f64,
    /// Processor time, in seconds.
    pub processor: f64,
    /// Bytes of the largest resident set.
    pub peak_memory: u64,
    /// Whether an equal script ran before, and these are the facts of that run. Left out of files
    /// if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

/// What a judge makes of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Whether the script failed or does not do what it says.
    pub is_bug: bool,
    /// The run in two or three sentences.
    pub summary: String,
    /// The validation score that the output reports.
    pub metric: Option<f64>,
}

/// Why a script is of no use as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "bug", rename_all = "snake_case")]
pub enum Bug {
    /// It did not run to its end.
    NotFinished,
    /// It reports no validation score, or none that is a finite number.
    NoMetric,
    /// It left no submission.
    NoSubmission,
    /// Its submission is not valid.
    InvalidSubmission,
    /// A judge says so.
    Judged,
    /// A judge reads another validation score in the output than the script reports.
    Disputed,
    /// A judge says that validation is far behind training.
    Overfitting,
    /// A script that is written step by step was given up at this step, counted from 1.
    StepFailed {
        /// The step.
        step: u32,
    },
}

/// What became of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum NodeState {
    /// It ran, has a metric, and its submission is valid.
    Good,
    /// It is of no use as it is, and may be repaired.
    Buggy(Bug),
    /// The player gave no script.
    Refused {
        /// Why not.
        reason: String,
    },
}

/// One decision and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its number.
    pub id: NodeId,
    /// What was decided.
    pub decision: Decision,
    /// The plan, in the player's words; empty without one.
    pub plan: String,
    /// The script; `None` if the player gave none.
    pub code: Option<BlobHash>,
    /// What the script printed, and what the grader said of an invalid submission.
    pub output: Option<BlobHash>,
    /// Facts about its run.
    pub run: Option<RunFacts>,
    /// The validation score that it printed.
    pub metric: Option<f64>,
    /// What a judge made of it, where there is one.
    pub judged: Option<Verdict>,
    /// What it is good for.
    pub state: NodeState,
    /// Its submission, valid or not.
    pub submission: Option<BlobHash>,
    /// Why there is no valid submission, in the words that the player sees.
    pub invalid: Option<String>,
    /// Active seconds of the search when it ended.
    pub ended_at: f64,
    /// What `AutoMind` notes besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub automind: Option<Box<AutoMindFacts>>,
}

impl Node {
    /// What a decision begins with: no script, and refused for no reason yet.
    pub(crate) fn empty(id: NodeId, decision: Decision) -> Self {
        Self {
            id,
            decision,
            plan: String::new(),
            code: None,
            output: None,
            run: None,
            metric: None,
            judged: None,
            state: NodeState::Refused { reason: String::new() },
            submission: None,
            invalid: None,
            ended_at: 0.0,
            automind: None,
        }
    }

    /// Whether it ran, has a metric and a valid submission.
    pub fn is_good(&self) -> bool {
        self.state == NodeState::Good
    }

    /// Whether it may be repaired.
    pub fn is_buggy(&self) -> bool {
        matches!(self.state, NodeState::Buggy(_))
    }

    /// Whether its submission is one that a grader takes, of a good script or not.
    pub fn is_valid(&self) -> bool {
        self.submission.is_some() && self.invalid.is_none()
    }
}

/// An [`Outcome`] as its text.
mod outcome_text {
    use super::Outcome;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(outcome: &Outcome, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(outcome)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Outcome, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}
