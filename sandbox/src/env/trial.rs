//! One script in a work dir of its own, for agents that search: what it printed, and whether the
//! submission that it left is valid.

use super::episode::{EpisodeConfig, EpisodeFault, Feedback, SUBMISSION};
use super::observation::Observation;
use super::suite::TaskSuite;
use crate::graders::memory;
use jail::exec::{Cancel, Mode, Run, Workspace};
use std::time::Duration;
use tasks::collect::CollectError;
use tasks::grade::{Grade, Grader};
use tasks::submission::Part;
use tasks::task::Task;
use tasks::units::Span;

/// What a script left.
#[derive(Debug, Clone)]
pub struct TrialResult {
    /// How the script ended, and what it printed.
    pub run: Run,
    /// The bytes of its `submission.csv`, if there is one that can be read.
    pub submission: Option<Vec<u8>>,
    /// Whether the submission is valid; if there is none or it is not, what the agent is told.
    pub validity: Result<(), String>,
    /// What the feedback mode tells of a valid submission beyond that it is valid; nothing with
    /// [`Feedback::Validate`].
    pub told: Option<String>,
    /// Its score, where the feedback mode tells it.
    pub score: Option<f64>,
}

/// Runs `code` on `task` in a new work dir, which is removed afterwards. Of `config`, the limits of
/// a run and the feedback mode are used; the time limit is `time_limit` where that is less.
/// `started` gets what ends the run from another thread.
///
/// # Errors
/// An [`EpisodeFault`]: the jail, the interpreter or the grader failed. What the script does is
/// part of the [`TrialResult`].
pub fn try_script(
    suite: &TaskSuite,
    task: &Task,
    config: &EpisodeConfig,
    code: &str,
    time_limit: Duration,
    started: &dyn Fn(Cancel),
) -> Result<TrialResult, EpisodeFault> {
    let trial = TrialDir::open(suite, task, config, Mode::Script, started)?;
    let run = trial.run(code, time_limit)?;
    trial.result(run)
}

/// A work dir of its own for the scripts of one trial, for agents that run several in it or want
/// other files than the submission.
#[derive(Debug)]
pub struct TrialDir<'a> {
    suite: &'a TaskSuite,
    task: &'a Task,
    config: &'a EpisodeConfig,
    workspace: Workspace,
}

impl<'a> TrialDir<'a> {
    /// A new one, whose runs are in `mode`. Of `config`, the limits of a run and the feedback mode
    /// are used. `started` gets what ends its runs from another thread.
    ///
    /// # Errors
    /// An [`EpisodeFault`]; [`Fault::NoSessions`](jail::exec::Fault::NoSessions) where `mode` is a
    /// session and the sandbox has none.
    pub fn open(
        suite: &'a TaskSuite,
        task: &'a Task,
        config: &'a EpisodeConfig,
        mode: Mode,
        started: &dyn Fn(Cancel),
    ) -> Result<Self, EpisodeFault> {
        config.check_feedback(task)?;
        let mut workspace = suite.sandbox().workspace(task.id())?.in_mode(mode)?;
        started(workspace.cancel()?);
        Ok(Self { suite, task, config, workspace })
    }

    /// Runs `code` in it, for `time_limit` at most where that is less than the limit of a run, but
    /// for a second at least.
    ///
    /// # Errors
    /// An [`EpisodeFault`]. What the script does is part of the [`Run`].
    pub fn run(&self, code: &str, time_limit: Duration) -> Result<Run, EpisodeFault> {
        let mut policy = self.config.policy.clone();
        policy.time_limit = Span(policy.time_limit.0.min(time_limit.max(Duration::from_secs(1))));
        Ok(self.workspace.run(code, &policy)?)
    }

    /// The bytes of the file `name` in it; `None` if it cannot be read or has more than `most`.
    pub fn file(&self, name: &str, most: u64) -> Option<Vec<u8>> {
        self.workspace.collect(name, most).ok()
    }

    /// What its last run, `run`, left.
    ///
    /// # Errors
    /// An [`EpisodeFault`] if the grader failed.
    pub fn result(&self, run: Run) -> Result<TrialResult, EpisodeFault> {
        let Self { suite, task, config, workspace } = self;
        let grader = suite.grader(task)?;
        let most = config.submission_limit.bytes();
        // No file is read before the memory for it and for grading it is reserved.
        let share = |size| memory().acquire(grader.memory(size));
        let collected = workspace
            .look(SUBMISSION, most)
            .map(share)
            .and_then(|share| Ok((share, workspace.collect(SUBMISSION, most)?)));
        let (_share, csv) = match collected {
            Ok(collected) => collected,
            Err(refusal) => {
                let told = match refusal {
                    CollectError::Missing { .. } => {
                        "the script left no `submission.csv`".to_owned()
                    }
                    refusal => format!("invalid submission: {refusal}"),
                };
                return Ok(TrialResult {
                    run,
                    submission: None,
                    validity: Err(told),
                    told: None,
                    score: None,
                });
            }
        };
        let graded = grade(&*grader, &csv, config.feedback_part())?;
        let told = match &graded {
            Ok(grade) => told(grade, config.feedback, &*grader),
            Err(_) => None,
        };
        let score = match (&graded, config.feedback) {
            (Ok(grade), Feedback::Full | Feedback::Exposed) => Some(grade.score),
            _ => None,
        };
        Ok(TrialResult { run, submission: Some(csv), validity: graded.map(drop), told, score })
    }
}

/// What a feedback mode tells of a valid submission beyond that it is valid.
fn told(grade: &Grade, feedback: Feedback, grader: &dyn Grader) -> Option<String> {
    match feedback {
        Feedback::Validate => None,
        Feedback::Tier => Some(Observation::tier(grade.tier).text),
        Feedback::Full | Feedback::Exposed => {
            Some(Observation::full(grade, &grader.thresholds(), grader.direction()).text)
        }
    }
}

/// The final grade of a submission, on the rows that count; `Err` with a text for people if it is
/// not valid.
///
/// # Errors
/// An [`EpisodeFault`] if the task's answers or its evaluator cannot be used.
pub fn grade_submission(
    suite: &TaskSuite,
    task: &Task,
    config: &EpisodeConfig,
    csv: &[u8],
) -> Result<Result<Grade, String>, EpisodeFault> {
    let grader = suite.grader(task)?;
    let _share = memory().acquire(grader.memory(csv.len() as u64));
    grade(&*grader, csv, config.final_part())
}

fn grade(
    grader: &dyn Grader,
    csv: &[u8],
    part: Part,
) -> Result<Result<Grade, String>, EpisodeFault> {
    match grader.grade(csv, part) {
        Ok(grade) => Ok(Ok(grade)),
        Err(error) if error.is_fault() => Err(EpisodeFault::Answers(error)),
        Err(error) => Ok(Err(Observation::refused(&error).text)),
    }
}
