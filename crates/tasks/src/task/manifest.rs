//! The manifest `task.json` of a task of the factory.

use super::data_source::DataSource;
use super::id::TaskId;
use crate::metrics::{Direction, Metric};
use crate::prediction::Prediction;
use crate::thresholds::Thresholds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of [`Manifest`] that this build reads and writes.
pub const MANIFEST_VERSION: u32 = 1;

/// What kind of data carries the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Modality {
    /// Tables of independent rows.
    Tabular,
    /// Values ordered in time, one or several series.
    TimeSeries,
    /// Picture files, one or more per row.
    Image,
    /// Texts, one or more per row.
    Text,
    /// Sound recordings, one or more per row.
    Audio,
    /// Graphs of nodes and edges.
    Graph,
    /// Items of another modality together with rows and columns.
    Multimodal,
}

impl Modality {
    /// The name as in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tabular => "tabular",
            Self::TimeSeries => "time_series",
            Self::Image => "image",
            Self::Text => "text",
            Self::Audio => "audio",
            Self::Graph => "graph",
            Self::Multimodal => "multimodal",
        }
    }
}

/// What is to be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Formulation {
    /// One of two classes.
    Binary,
    /// One of three or more classes.
    Multiclass,
    /// One real number per row.
    Regression,
    /// The next values of each series.
    Forecasting,
    /// Any number of labels per item.
    Multilabel,
    /// Several numbers per item.
    MultiTarget,
    /// The range in which one real number lies, as three of its quantiles.
    Quantiles,
    /// The order of the items of a query.
    Ranking,
    /// Whether two items belong together.
    Matching,
    /// The pixels that an object covers.
    Segmentation,
    /// Bounding boxes of the objects in a picture.
    Detection,
    /// An image without its damage.
    Reconstruction,
    /// What is written, in another form.
    Normalisation,
    /// A piece of a text, copied from it.
    Extraction,
    /// The known individual that an item is of.
    Retrieval,
    /// What someone chooses next, among known items.
    Recommendation,
    /// Numbers or a class for each position of a sequence.
    Positions,
}

impl Formulation {
    /// The name as in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Multiclass => "multiclass",
            Self::Regression => "regression",
            Self::Forecasting => "forecasting",
            Self::Multilabel => "multilabel",
            Self::MultiTarget => "multi_target",
            Self::Quantiles => "quantiles",
            Self::Ranking => "ranking",
            Self::Matching => "matching",
            Self::Segmentation => "segmentation",
            Self::Detection => "detection",
            Self::Reconstruction => "reconstruction",
            Self::Normalisation => "normalisation",
            Self::Extraction => "extraction",
            Self::Retrieval => "retrieval",
            Self::Recommendation => "recommendation",
            Self::Positions => "positions",
        }
    }
}

/// Whether tasks of this kind are trained on or held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// For SFT and GRPO.
    Train,
    /// Held out for validation and evaluation.
    Val,
}

/// The baseline ladder and the best that can be reached, as scores of the task's metric on
/// the private test rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baselines {
    /// R0 to R3: constant, simple, tuned generic, the rule's own transforms.
    pub ladder: [f64; 4],
    /// The score of the noise-free rule: what no model can be expected to pass. Real data has no
    /// such rule: there it is a point beyond all reference solvers, which good ones may pass.
    pub ceiling: f64,
}

impl Baselines {
    /// The share of the way from R0 to the ceiling that `score` goes, in [0, 1]: 0 for one that is
    /// no better than R0.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Direction;
    /// use tasks::task::Baselines;
    ///
    /// let baselines = Baselines { ladder: [10.0, 8.0, 6.0, 5.0], ceiling: 2.0 };
    /// assert_eq!(baselines.way(4.0, Direction::LowerIsBetter), 0.75);
    /// assert_eq!(baselines.way(12.0, Direction::LowerIsBetter), 0.0);
    /// ```
    pub fn way(&self, score: f64, direction: Direction) -> f64 {
        let start = direction.gain(self.ladder[0]);
        let whole = direction.gain(self.ceiling) - start;
        ((direction.gain(score) - start) / whole).clamp(0.0, 1.0)
    }
}

/// Sizes of a task's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowCounts {
    /// Number of rows of `train.csv`.
    pub train: usize,
    /// Rows of `test.csv`, which are the rows of a submission; where rows are sequences, a submission
    /// has a row for each of their positions.
    pub test: usize,
}

/// `task.json`: everything about a task that the agent must not know in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the format, [`MANIFEST_VERSION`].
    pub version: u32,
    /// Name of the task and of its folder.
    pub id: TaskId,
    /// A human title, as on the description page.
    pub title: String,
    /// The seed competition whose structure it derives from.
    pub seed_task: String,
    /// Application domain, such as `healthcare`.
    pub domain: String,
    /// Kind of data that agents get.
    pub modality: Modality,
    /// Kind of prediction that is asked for.
    pub formulation: Formulation,
    /// How it is scored.
    pub metric: Metric,
    /// The submission's row key.
    pub id_column: String,
    /// The submission's prediction columns.
    pub prediction: Prediction,
    /// Thresholds of the milestones, in units of the metric.
    pub thresholds: Thresholds,
    /// Scores of the baselines on the private test rows.
    pub baselines: Baselines,
    /// Numbers of training and test rows.
    pub rows: RowCounts,
    /// Training or held out.
    pub split: Split,
    /// Invented, as all tasks of corpora are, or real, as anchors are. Default: invented, and then
    /// it is not written.
    #[serde(default = "synthetic", skip_serializing_if = "is_synthetic")]
    pub data_source: DataSource,
    /// How it was made (DNA, mutations, blueprint, versions): the factory's own record, which
    /// no other part reads.
    pub provenance: serde_json::Value,
    /// BLAKE3 of every other file of the task, by path relative to the task directory.
    pub hashes: BTreeMap<String, String>,
}

fn synthetic() -> DataSource {
    DataSource::Synthetic
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_synthetic(source: &DataSource) -> bool {
    *source == DataSource::Synthetic
}

impl Manifest {
    /// Whether it is an anchor: made of real data, to be measured on and never trained on.
    pub fn is_anchor(&self) -> bool {
        self.data_source == DataSource::Real
    }

    /// Whether lower or higher scores are better.
    pub fn direction(&self) -> Direction {
        self.metric.direction()
    }
}

/// Python that the factory records with a task for scripted agents. It is in the manifest, which
/// no agent can read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskScripts {
    /// Defines `items(x)`, the items of the rows of a table, and `read(item)`, a pair of lists of
    /// numbers: plain ones for linear models and generic ones for trees. `None` where rows have no
    /// items.
    #[serde(default)]
    pub reader: Option<String>,
    /// The hidden rule, for the scripted agent that knows it.
    #[serde(default)]
    pub oracle: OracleScript,
}

/// The hidden rule of a task as Python.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OracleScript {
    /// Replaces the columns of the table `x` by the terms of the rule; `y` holds the targets, `n`
    /// the number of training rows, `t` the target's name. For pictures with an answer of their
    /// own, a function that measures them. Empty where the task has no typed rule.
    #[serde(default)]
    pub code: String,
    /// Whether it also takes the logarithm of the target.
    #[serde(default)]
    pub logarithmic: bool,
}

impl Manifest {
    /// The scripts that the factory recorded; empty ones for tasks from elsewhere.
    pub fn scripts(&self) -> TaskScripts {
        TaskScripts::deserialize(&self.provenance).unwrap_or_default()
    }
}
