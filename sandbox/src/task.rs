//! The task directory: the contract between who makes tasks and who solves and grades them.
//!
//! ```text
//! <task-id>/
//!   task.json          Manifest: what is asked, how it is graded; never shown to an agent
//!   prepared/public/   all an agent sees
//!   prepared/private/  answer.csv, threshold.json; read by graders only
//!   source/            how the task was made
//! ```
//! [`TaskDir`] splits into [`PublicDir`] and [`PrivateDir`]: a jail can mount only the first,
//! and answers can be opened only from the second.

use crate::grade::{Direction, Thresholds};
use crate::metrics::Metric;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;

/// The version of [`Manifest`] that this build reads and writes.
pub const MANIFEST_VERSION: u32 = 1;

/// The name of a task, which is also its folder's name: lower-case letters, digits and dashes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskId(String);

impl TaskId {
    /// Checks and wraps a name.
    ///
    /// # Errors
    /// [`TaskError::BadId`] unless it is 1 to 100 lower-case letters, digits and inner dashes.
    pub fn new(name: &str) -> Result<Self, TaskError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let valid = (1..=100).contains(&name.len())
            && name.chars().all(plain)
            && !name.starts_with('-')
            && !name.ends_with('-');
        if valid { Ok(Self(name.to_owned())) } else { Err(TaskError::BadId(name.to_owned())) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TaskId {
    type Error = TaskError;
    fn try_from(name: String) -> Result<Self, TaskError> {
        Self::new(&name)
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> Self {
        id.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What kind of data carries the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Modality {
    /// Rows and columns.
    Tabular,
    /// Values ordered in time, one or several series.
    TimeSeries,
    /// Pictures.
    Image,
    /// Words.
    Text,
    /// Sound.
    Audio,
    /// Nodes and edges.
    Graph,
    /// Items of another modality together with rows and columns.
    Multimodal,
}

/// What is to be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Formulation {
    /// One of two classes.
    Binary,
    /// One of three or more classes.
    Multiclass,
    /// One number.
    Regression,
    /// The next values of each series.
    Forecasting,
    /// Any number of labels per item.
    Multilabel,
    /// Several numbers per item.
    MultiTarget,
    /// The order of the items of a query.
    Ranking,
    /// Whether two items belong together.
    Matching,
    /// The pixels that an object covers.
    Segmentation,
    /// Boxes around objects.
    Detection,
    /// An image without its damage.
    Reconstruction,
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

/// What a submission's prediction columns hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Prediction {
    /// One column of real numbers.
    Number {
        /// Its name.
        column: String,
    },
    /// One column that holds the probability of the class `1`, in [0, 1].
    Probability {
        /// Its name.
        column: String,
    },
    /// One column that holds one of `classes`.
    Label {
        /// Its name.
        column: String,
        /// All admissible values, sorted.
        classes: Vec<String>,
    },
    /// One probability column per class, each in [0, 1] and each row summing to 1 (± 1e-3).
    /// The answers hold the class's name in `column`.
    ClassProbabilities {
        /// The answer column.
        column: String,
        /// Class names, sorted; the submission has a column per class, named like it.
        classes: Vec<String>,
    },
    /// Several columns of real numbers, `[rows, columns]`.
    Numbers {
        /// Their names.
        columns: Vec<String>,
    },
    /// One probability column per label, each in [0, 1] and independent of the others. The
    /// answers hold 0 or 1 in the same columns.
    Probabilities {
        /// Label names, which name the columns.
        columns: Vec<String>,
    },
    /// One column with the names of the labels that hold, each at most once, separated by
    /// spaces; an empty cell where none holds.
    Flags {
        /// Its name.
        column: String,
        /// All admissible labels, sorted, without spaces in them.
        labels: Vec<String>,
    },
    /// One column of real scores that rank the items of each query, the highest first. The
    /// answers hold each row's grade (0, 1, 2, ...; 0 is irrelevant) in `column` and name its
    /// query in `query`, a column that submissions do not have.
    Relevance {
        /// The column of scores, and of grades in the answers.
        column: String,
        /// The column of queries, in the answers only.
        query: String,
    },
    /// One column with a binary mask of `width` x `height` pixels, run-length encoded as on
    /// Kaggle: `start length start length ...`, where pixel 1 is at the top left and numbers run
    /// down the columns, then from left to right; an empty cell where no pixel is set.
    Mask {
        /// Its name.
        column: String,
        /// Pixels from left to right.
        width: usize,
        /// Pixels from top to bottom.
        height: usize,
    },
    /// One column with any number of boxes (at most [`MAX_BOXES`](crate::boxes::MAX_BOXES)),
    /// each `class confidence x y w h`, separated by spaces; an empty cell where there is none.
    /// `x y` is the corner with the smallest coordinates. The answers leave the confidence out.
    Boxes {
        /// Its name.
        column: String,
        /// All admissible classes, sorted, without spaces in them.
        classes: Vec<String>,
    },
    /// One column with an image of `width` x `height` pixels: whole numbers in [0, levels),
    /// separated by spaces, row by row from the top.
    Pixels {
        /// Its name.
        column: String,
        /// Pixels from left to right.
        width: usize,
        /// Pixels from top to bottom.
        height: usize,
        /// Number of intensities, 2 to 65536.
        levels: u32,
    },
}

impl Prediction {
    /// The prediction columns that a submission must have, in the sample's order.
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Self::Number { column }
            | Self::Probability { column }
            | Self::Label { column, .. }
            | Self::Flags { column, .. }
            | Self::Relevance { column, .. }
            | Self::Mask { column, .. }
            | Self::Boxes { column, .. }
            | Self::Pixels { column, .. } => vec![column],
            Self::ClassProbabilities { classes: columns, .. }
            | Self::Numbers { columns }
            | Self::Probabilities { columns } => columns.iter().map(String::as_str).collect(),
        }
    }

    /// The columns of `answer.csv` that hold the truth: that of the target first.
    pub fn answer_columns(&self) -> Vec<&str> {
        match self {
            Self::ClassProbabilities { column, .. } => vec![column],
            Self::Relevance { column, query } => vec![column, query],
            _ => self.columns(),
        }
    }
}

/// The baseline ladder and the best that can be reached, as scores of the task's metric on
/// the private test rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baselines {
    /// R0 to R3: constant, simple, tuned generic, the rule's own transforms.
    pub ladder: [f64; 4],
    /// The score of the noise-free rule: what no model can be expected to pass.
    pub ceiling: f64,
}

/// Sizes of a task's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowCounts {
    /// Rows of `train.csv`.
    pub train: usize,
    /// Rows of `test.csv`, which are the rows of a submission.
    pub test: usize,
}

/// `task.json`: everything about a task that the agent must not know in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`MANIFEST_VERSION`].
    pub version: u32,
    /// The task's name.
    pub id: TaskId,
    /// A human title, as on the description page.
    pub title: String,
    /// The seed competition whose structure it derives from.
    pub seed_task: String,
    /// Application domain, such as `healthcare`.
    pub domain: String,
    /// Kind of data.
    pub modality: Modality,
    /// Kind of prediction.
    pub formulation: Formulation,
    /// How it is scored.
    pub metric: Metric,
    /// The submission's row key.
    pub id_column: String,
    /// The submission's prediction columns.
    pub prediction: Prediction,
    /// Milestones.
    pub thresholds: Thresholds,
    /// Measured baselines.
    pub baselines: Baselines,
    /// Table sizes.
    pub rows: RowCounts,
    /// Training or held out.
    pub split: Split,
    /// How it was made (DNA, mutations, blueprint, versions): the factory's own record, which
    /// no other part reads.
    pub provenance: serde_json::Value,
    /// BLAKE3 of every other file of the task, by path relative to the task directory.
    pub hashes: BTreeMap<String, String>,
}

impl Manifest {
    /// Whether lower or higher scores are better.
    pub fn direction(&self) -> Direction {
        self.metric.direction()
    }
}

/// Why a task directory could not be used.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// Not a valid task name.
    #[error(
        "`{0}` is not a task id (1 to 100 lower-case letters, digits and dashes, no dash at either end)"
    )]
    BadId(String),
    /// A file of the contract is missing or unreadable.
    #[error("failed to read a file of the task")]
    Io(#[from] std::io::Error),
    /// A JSON file does not have the form it must have.
    #[error("`{path}` is damaged; restore it, or make the corpus again with `factory generate`")]
    Json {
        /// The file.
        path: Utf8PathBuf,
        /// What serde found.
        #[source]
        source: serde_json::Error,
    },
    /// Made by another version of this software.
    #[error("`{path}` has manifest version {found}; this build reads version {MANIFEST_VERSION}")]
    Version {
        /// The file.
        path: Utf8PathBuf,
        /// Its version.
        found: u64,
    },
    /// The folder's name and the manifest's id differ.
    #[error("the folder `{folder}` holds a task that calls itself `{id}`")]
    NameMismatch {
        /// The folder.
        folder: Utf8PathBuf,
        /// The id in the manifest.
        id: TaskId,
    },
    /// A file differs from what the manifest promises.
    #[error(
        "task `{task}` is damaged: `{file}` {fault}; restore it, or make the corpus again with `factory generate`"
    )]
    Damaged {
        /// The task.
        task: TaskId,
        /// The file, relative to the task's folder.
        file: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A corpus folder without any task.
    #[error("`{0}` holds no task; `factory generate --out {0}` makes some")]
    EmptyCorpus(Utf8PathBuf),
    /// A corpus folder that does not exist.
    #[error("`{0}` is not a folder; `factory generate --out {0}` makes a corpus there")]
    NoCorpus(Utf8PathBuf),
}

/// What an agent may see of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicDir(Utf8PathBuf);

impl PublicDir {
    /// The folder.
    pub fn path(&self) -> &Utf8Path {
        &self.0
    }
}

/// What only a grader may read of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateDir(Utf8PathBuf);

impl PrivateDir {
    /// The folder.
    pub fn path(&self) -> &Utf8Path {
        &self.0
    }

    /// The truth for every test row.
    pub fn answers(&self) -> Utf8PathBuf {
        self.0.join("answer.csv")
    }
}

/// One task on disk.
#[derive(Debug, Clone)]
pub struct TaskDir {
    path: Utf8PathBuf,
    manifest: Manifest,
}

impl TaskDir {
    /// Opens the task in `path` and reads its manifest.
    ///
    /// # Errors
    /// [`TaskError`] if the manifest is missing, malformed, of another version or does not
    /// belong to this folder.
    pub fn open(path: &Utf8Path) -> Result<Self, TaskError> {
        let manifest = path.join("task.json");
        let text = fs::read(&manifest)?;
        let parse = |source| TaskError::Json { path: manifest.clone(), source };
        // The version is looked at first: a manifest of another version may differ anywhere.
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(parse)?;
        let found = value.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if found != u64::from(MANIFEST_VERSION) {
            return Err(TaskError::Version { path: manifest, found });
        }
        let manifest: Manifest = serde_json::from_value(value).map_err(parse)?;
        if path.file_name().is_some_and(|name| name != manifest.id.as_str()) {
            return Err(TaskError::NameMismatch { folder: path.to_owned(), id: manifest.id });
        }
        Ok(Self { path: path.to_owned(), manifest })
    }

    /// Compares every file that the manifest lists with its hash (BLAKE3).
    ///
    /// # Errors
    /// [`TaskError::Damaged`] naming the first file that is missing or differs.
    pub fn check_files(&self) -> Result<(), TaskError> {
        for (file, expected) in &self.manifest.hashes {
            let fault = match fs::read(self.path.join(file)) {
                Ok(bytes) if blake3::hash(&bytes).to_hex().as_str() == expected => continue,
                Ok(_) => "is not what the manifest says",
                Err(error) if error.kind() == ErrorKind::NotFound => "is missing",
                Err(error) => return Err(error.into()),
            };
            let task = self.manifest.id.clone();
            return Err(TaskError::Damaged { task, file: file.clone(), fault });
        }
        Ok(())
    }

    /// The task's folder.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// The task's manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The task's name.
    pub fn id(&self) -> &TaskId {
        &self.manifest.id
    }

    /// The half an agent sees.
    pub fn public(&self) -> PublicDir {
        PublicDir(self.path.join("prepared/public"))
    }

    /// The half only graders read.
    pub fn private(&self) -> PrivateDir {
        PrivateDir(self.path.join("prepared/private"))
    }
}

/// A folder of tasks.
#[derive(Debug, Clone)]
pub struct Corpus {
    path: Utf8PathBuf,
    tasks: Vec<TaskDir>,
}

impl Corpus {
    /// Opens every task below `path`, in order of their names. Hidden folders are unfinished
    /// work and are passed over, as are folders without a `task.json`.
    ///
    /// # Errors
    /// [`TaskError`] for the first task that is broken, or if there is none.
    pub fn open(path: &Utf8Path) -> Result<Self, TaskError> {
        if !path.is_dir() {
            return Err(TaskError::NoCorpus(path.to_owned()));
        }
        let mut folders = Vec::new();
        for entry in path.read_dir_utf8()? {
            let entry = entry?;
            if !entry.file_name().starts_with('.') && entry.path().join("task.json").is_file() {
                folders.push(entry.into_path());
            }
        }
        folders.sort();
        if folders.is_empty() {
            return Err(TaskError::EmptyCorpus(path.to_owned()));
        }
        let tasks = folders.iter().map(|folder| TaskDir::open(folder)).collect::<Result<_, _>>()?;
        Ok(Self { path: path.to_owned(), tasks })
    }

    /// The corpus folder.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// All tasks, sorted by name.
    pub fn tasks(&self) -> &[TaskDir] {
        &self.tasks
    }

    /// The tasks of one split, sorted by name.
    pub fn split(&self, split: Split) -> Vec<&TaskDir> {
        self.tasks.iter().filter(|task| task.manifest.split == split).collect()
    }
}
