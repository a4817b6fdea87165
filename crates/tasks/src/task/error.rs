//! Errors of opening and checking the folder of a task.

use super::id::TaskId;
use super::kind::TaskFolderKind;
use super::manifest::MANIFEST_VERSION;
use crate::mlebench::grading::GradingError;
use camino::Utf8PathBuf;

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
        /// Path of the manifest.
        path: Utf8PathBuf,
        /// The error of the JSON parser.
        #[source]
        source: serde_json::Error,
    },
    /// The rules of a competition do not have the form they must have.
    #[error(
        "`{path}` is no rules of a competition: expected a JSON object with `metric`, `id_column`, \
         `prediction` and `thresholds`"
    )]
    Rules {
        /// Path of the rules.
        path: Utf8PathBuf,
        /// The error of the JSON parser.
        #[source]
        source: serde_json::Error,
    },
    /// Made by another version of this software.
    #[error("`{path}` has manifest version {found}; this build reads version {MANIFEST_VERSION}")]
    Version {
        /// Path of the manifest.
        path: Utf8PathBuf,
        /// The version that the manifest states; 0 if it states none.
        found: u64,
    },
    /// The folder's name and the manifest's id differ.
    #[error("the folder `{folder}` holds a task that calls itself `{id}`")]
    NameMismatch {
        /// Path of the task's folder.
        folder: Utf8PathBuf,
        /// The id in the manifest.
        id: TaskId,
    },
    /// A file differs from what the manifest promises.
    #[error(
        "task `{task}` is damaged: `{file}` {fault}; restore it, or make the corpus again with `factory generate`"
    )]
    Damaged {
        /// Name of the damaged task.
        task: TaskId,
        /// The file, relative to the task's folder.
        file: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A folder that is no task.
    #[error(
        "`{0}` is no task: give the folder that holds `task.json`, or one with \
         `prepared/public` and `prepared/private` as MLE-bench prepares them, or a released \
         bundle with `evaluator.py` and `answer.csv` in `prepared/public`, or a competition of \
         MLE-Dojo with `data/private/test_answer.csv`"
    )]
    NoTask(Utf8PathBuf),
    /// A folder that is half a task.
    #[error("`{path}` is no complete task: it has no `{missing}`")]
    Incomplete {
        /// Path of the task's folder.
        path: Utf8PathBuf,
        /// What is not there, relative to the folder.
        missing: String,
    },
    /// A task of another kind than the one that is needed.
    #[error(
        "`{path}` is a {kind}; `sandbox` runs, grades and serves those, nothing else can use them"
    )]
    OtherKind {
        /// Path of the task's folder.
        path: Utf8PathBuf,
        /// The kind of task that it holds.
        kind: TaskFolderKind,
    },
    /// A competition that cannot be graded.
    #[error("`{path}` cannot be opened as a competition of MLE-bench")]
    Competition {
        /// Path of the competition's folder.
        path: Utf8PathBuf,
        /// Why its answers or thresholds cannot be found.
        #[source]
        source: GradingError,
    },
    /// A competition of MLE-Dojo, and no checkout of it.
    #[error(
        "`{0}` is a competition of MLE-Dojo, whose metric is in a checkout of it; name that with \
         `--mledojo DIR`"
    )]
    NoMledojo(Utf8PathBuf),
    /// A competition that the checkout does not have.
    #[error(
        "`{checkout}` has no metric of `{competition}`; expected \
         `mledojo/competitions/{competition}/utils/metric.py` in it"
    )]
    NoMetric {
        /// The checkout.
        checkout: Utf8PathBuf,
        /// The competition.
        competition: String,
    },
    /// A file that was not fetched.
    #[error("`{0}` is a Git LFS pointer; fetch the file itself with `git lfs pull`")]
    LfsPointer(Utf8PathBuf),
    /// A `stand-in.json` that does not say that data is invented.
    #[error(
        "`{path}` does not say how the competition's data was invented, in the form \
         `{{\"stand_in\": true, \"seed\": 0, \"differences\": []}}`; restore it, or remove it if \
         the data is real"
    )]
    StandIn {
        /// Path of the file.
        path: Utf8PathBuf,
        /// The error of the JSON parser.
        #[source]
        source: serde_json::Error,
    },
    /// Something that is neither a file nor a folder in what an agent is to see.
    #[error("`{0}` is neither a file, a link to one, nor a folder; a task holds nothing else")]
    Odd(Utf8PathBuf),
    /// Two folders whose names become the same id.
    #[error("two folders of `{path}` would both be called `{id}`; rename one")]
    SameName {
        /// The folder of tasks.
        path: Utf8PathBuf,
        /// The name that two tasks share.
        id: TaskId,
    },
    /// A task of real data where tasks to train on are needed.
    #[error(
        "`{0}` is an anchor, a task of real data to measure policies on; it is never trained on, so \
         name a corpus of `factory generate`"
    )]
    Anchor(TaskId),
    /// A corpus folder without any task.
    #[error("`{0}` holds no task; `factory generate --out {0}` makes some")]
    EmptyCorpus(Utf8PathBuf),
    /// A corpus folder without tasks of our own.
    #[error(
        "`{0}` holds no task of our own, only competitions or bundles, which `sandbox serve` \
         can open; `factory generate` makes tasks of our own"
    )]
    ForeignCorpus(Utf8PathBuf),
    /// A corpus folder that does not exist.
    #[error("`{0}` is not a folder; `factory generate --out {0}` makes a corpus there")]
    NoCorpus(Utf8PathBuf),
}
