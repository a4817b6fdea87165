//! What a grader is asked, and how it is started.

use super::results::GraderOutput;
use crate::child::{ChildEnd, ChildHow, ChildJob};
use crate::fault::Fault;
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tasks::task::TaskId;
use worlds::Part;

/// The version of jobs.
const JOB_VERSION: u32 = 1;

/// The arguments with which `rl` grades, which is the grader if none is named.
pub const GRADER: [&str; 12] = [
    "eval",
    "--world",
    "{task}",
    "--part",
    "{part}",
    "--policy",
    "model={model}",
    "--device",
    "{device}",
    "--json",
    "--out",
    "{scratch}",
];

/// What a grader gets on standard input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its version.
    pub version: u32,
    /// The folder of the task, with its sealed half.
    pub task: Utf8PathBuf,
    /// The name of the task.
    pub id: TaskId,
    /// Which items.
    pub part: Part,
    /// How many there are.
    pub items: u64,
    /// The folder of the model.
    pub model: Utf8PathBuf,
    /// The device, as the grader calls it.
    pub device: String,
    /// An empty folder for the grader's own files, which is removed after it.
    pub scratch: Utf8PathBuf,
}

impl Job {
    /// A job.
    pub fn new(
        task: Utf8PathBuf,
        id: TaskId,
        part: Part,
        items: u64,
        model: Utf8PathBuf,
        device: String,
        scratch: Utf8PathBuf,
    ) -> Self {
        Self { version: JOB_VERSION, task, id, part, items, model, device, scratch }
    }
}

/// How a grader is started.
#[derive(Debug, Clone)]
pub struct GraderCommand {
    /// Program and arguments. `{task}`, `{part}`, `{model}`, `{device}` and `{scratch}` stand for those
    /// of the job.
    pub line: Vec<String>,
    /// Time that one attempt may take.
    pub limit: Duration,
    /// The program `posttrain`, which starts the grader so that it ends with the server.
    pub launcher: Utf8PathBuf,
}

impl GraderCommand {
    /// Program and arguments for a job.
    fn words(&self, job: &Job) -> Vec<String> {
        let fill = |word: &String| {
            word.replace("{task}", job.task.as_str())
                .replace("{part}", job.part.name())
                .replace("{model}", job.model.as_str())
                .replace("{device}", &job.device)
                .replace("{scratch}", job.scratch.as_str())
        };
        self.line.iter().map(fill).collect()
    }

    /// Runs the grader once.
    ///
    /// # Errors
    /// A [`Fault`]; [`Fault::Stopping`] once `stopping` is set.
    pub(super) fn run(&self, job: &Job, stopping: &AtomicBool) -> Result<GraderOutput, Fault> {
        let words = self.words(job);
        let input = serde_json::to_vec(job).map_err(std::io::Error::other)?;
        let child =
            ChildJob { launcher: &self.launcher, words: &words, input: &input, limit: self.limit };
        let ended = child.run(|| !stopping.load(Ordering::SeqCst));
        let program = child.program().to_owned();
        let ChildEnd { how, printed, said } =
            ended.map_err(|source| Fault::Spawn { program, source })?;
        match how {
            ChildHow::Stopped => return Err(Fault::Stopping),
            ChildHow::TimedOut => return Err(Fault::TimedOut(self.limit)),
            ChildHow::Ended(status) if !status.success() => {
                return Err(Fault::Ended { status, said });
            }
            ChildHow::Ended(_) => {}
        }
        let unusable = |why: String| Fault::Output { why, said: said.clone() };
        let printed = printed.map_err(|error| unusable(error.to_string()))?;
        serde_json::from_slice(&printed).map_err(|error| unusable(error.to_string()))
    }
}
