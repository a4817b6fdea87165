//! The episode: an agent's budget, its tools, and its final grade.
//!
//! The tools are those of SandMLE appendix D.1: `python` runs a script in the jail, `Score`
//! comments on the current `submission.csv`. Feedback and the final grade use disjoint test
//! rows, so asking for scores cannot be used to fit the rows that count.

use super::observation::Observation;
use super::record::RecordError;
use crate::graders::memory;
use jail::exec::{Cancel, Fault, Mode, Outcome, Run, Sandbox, Workspace};
use jail::limits::RunLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use tasks::grade::{Grade, GradeError, Grader};
use tasks::submission::{MOST_BYTES, Part};
use tasks::task::{Task, TaskError, TaskId};
use tasks::thresholds::Milestone;
use tasks::units::{ByteSize, Span};

/// The file an agent submits, in its working directory.
pub(super) const SUBMISSION: &str = "submission.csv";

/// How much the `Score` tool reveals. Written into every trajectory and report.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Feedback {
    /// Whether the submission is valid and why not; all MLE-bench allows.
    Validate,
    /// Also the tier that it reaches on the feedback rows.
    Tier,
    /// Also the score and the thresholds, as in the SandMLE paper.
    Full,
    /// The score on all test rows, those of the final grade, with the thresholds. For competitions
    /// only, where it repeats how the SandMLE release plays them; results with it are comparable
    /// with no others, and no policy is trained with it.
    Exposed,
}

impl Feedback {
    /// The name as in files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::Tier => "tier",
            Self::Full => "full",
            Self::Exposed => "exposed",
        }
    }
}

/// The budget of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Actions per episode, malformed ones included. Default 15 (SandMLE's training runs).
    pub turns: u32,
    /// Wall time of the whole episode, in seconds. Default 1200.
    pub wall_seconds: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { turns: 15, wall_seconds: 1200 }
    }
}

/// The rules of an episode.
///
/// # Examples
/// ```rust
/// use sandbox::env::{Budget, EpisodeConfig, Feedback};
///
/// let config: EpisodeConfig = serde_json::from_str(
///     r#"{"budget": {"turns": 8}, "feedback": "full", "policy": {"time_limit": "30s"}}"#,
/// )?;
/// assert_eq!(config.budget, Budget { turns: 8, wall_seconds: 1200 });
/// assert_eq!((config.feedback, config.feedback_share), (Feedback::Full, 0.3));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EpisodeConfig {
    /// Limits on the agent.
    pub budget: Budget,
    /// How much `Score` reveals.
    pub feedback: Feedback,
    /// Share of test rows that `Score` uses, in (0, 1); the final grade uses the others. With
    /// [`Feedback::Validate`] nothing is revealed, and both use all rows; so they do with
    /// [`Feedback::Exposed`].
    pub feedback_share: f64,
    /// Whether scripts share an interpreter or only the files of the work dir.
    pub mode: Mode,
    /// Size of the largest `submission.csv` that is read. Default: 64 MiB. Some competitions need
    /// more: a sample submission of denoising-dirty-documents has 80 MB.
    pub submission_limit: ByteSize,
    /// Limits on each script.
    pub policy: RunLimits,
}

impl Default for EpisodeConfig {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            feedback: Feedback::Tier,
            feedback_share: 0.3,
            mode: Mode::Script,
            submission_limit: ByteSize::new(MOST_BYTES),
            policy: RunLimits::default(),
        }
    }
}

impl EpisodeConfig {
    pub(super) fn feedback_part(&self) -> Part {
        match self.feedback {
            Feedback::Validate | Feedback::Exposed => Part::All,
            Feedback::Tier | Feedback::Full => Part::Feedback(self.feedback_share),
        }
    }

    pub(super) fn final_part(&self) -> Part {
        match self.feedback {
            Feedback::Validate | Feedback::Exposed => Part::All,
            Feedback::Tier | Feedback::Full => Part::Final(self.feedback_share),
        }
    }

    /// Whether `task` can be played with this feedback mode.
    ///
    /// # Errors
    /// [`EpisodeFault::WholeOnly`] and [`EpisodeFault::Hidden`].
    pub fn check_feedback(&self, task: &Task) -> Result<(), EpisodeFault> {
        match self.feedback {
            Feedback::Tier | Feedback::Full if !task.takes_parts() => {
                return Err(EpisodeFault::WholeOnly(task.id().clone()));
            }
            Feedback::Exposed if !task.is_competition() => {
                return Err(EpisodeFault::Hidden(task.id().clone()));
            }
            Feedback::Validate | Feedback::Tier | Feedback::Full | Feedback::Exposed => {}
        }
        Ok(())
    }
}

/// An error that is not the agent's: the episode ends without a grade. Its trajectory is dropped,
/// never rewarded with zero.
#[derive(Debug, thiserror::Error)]
pub enum EpisodeFault {
    /// The jail or the interpreter failed.
    #[error("failed to run the episode")]
    Execution(#[from] Fault),
    /// The task's answers, or its evaluator, are unusable.
    #[error("failed to grade the episode")]
    Answers(#[source] GradeError),
    /// The task's page cannot be read.
    #[error("failed to read the task's description")]
    Description(#[source] TaskError),
    /// A step was requested after the last one.
    #[error("the episode is over")]
    Over,
    /// The episode could not be written down.
    #[error("failed to record the episode")]
    Record(#[from] RecordError),
    /// The server that plays the episode failed, or the way to it, or it plays by other rules.
    #[error("failed to play the episode on a server")]
    Remote(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An environment other than an MLE task has no such item.
    #[error("the environment has no item {0}")]
    UnknownItem(TaskId),
    /// An environment judges programs and was given nothing to run them in.
    #[error(
        "item {0} is judged by a run of the policy's program, and its environment was given no \
         sandbox: start one and hand it in (`Environment::set_runner`)"
    )]
    NoRunner(TaskId),
    /// An environment judges programs that need a Python package which the sandbox has not.
    #[error(
        "item {item} is judged by a run of the policy's program, which may import `{module}`, and \
         the sandbox's Python has no such package; install it with `{install}`"
    )]
    MissingModule {
        /// The item.
        item: TaskId,
        /// The name that is imported.
        module: &'static str,
        /// The command that installs it.
        install: &'static str,
    },
    /// The scorer that a user wrote for a task failed, or said what is no score.
    #[error("the scorer of item {item} failed, which is no mistake of the policy: {why}")]
    Scorer {
        /// The item.
        item: TaskId,
        /// What happened.
        why: String,
    },
    /// What the scorer of a user makes of the scores of all items is no score, or it failed.
    #[error("the `aggregate` of the scorer of {task} failed: {why}")]
    Aggregate {
        /// The task.
        task: TaskId,
        /// What happened.
        why: String,
    },
    /// The task's grader takes whole submissions only.
    #[error(
        "task {0} is graded on all its test rows at once, so `Score` can only check \
         whether a submission is valid; play it with the feedback mode `validate`"
    )]
    WholeOnly(TaskId),
    /// A task whose final rows stay hidden from agents.
    #[error(
        "the feedback mode `exposed` tells scores on all test rows, which is for competitions of \
         MLE-bench and MLE-Dojo only, and {0} is none; play it with `validate`, `tier` or `full`"
    )]
    Hidden(TaskId),
}

/// What an agent does in one turn.
///
/// # Examples
/// ```rust
/// use sandbox::env::Action;
///
/// let action: Action = serde_json::from_str(r#"{"tool": "python", "code": "print(1)"}"#)?;
/// assert_eq!(action, Action::Python { code: "print(1)".to_owned() });
/// assert_eq!(serde_json::to_string(&Action::Score)?, r#"{"tool":"score"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tool", rename_all = "snake_case")]
pub enum Action {
    /// Run a script in the jail.
    Python {
        /// Python source code.
        code: String,
    },
    /// Check and score the current submission, as far as the feedback mode allows.
    Score,
    /// Stop; the current submission is final.
    Answer,
    /// A turn that could not be understood; the reason goes back to the agent.
    Malformed {
        /// Why it could not be parsed.
        reason: String,
    },
}

/// The result of one action.
#[derive(Debug)]
pub struct StepResult {
    /// The reply to the agent; empty after [`Action::Answer`].
    pub observation: Observation,
    /// The result of [`Action::Score`], as far as the feedback mode reveals it; `None` for other
    /// actions.
    pub feedback: Option<ScoreFeedback>,
    /// How the script ended, if one ran.
    pub outcome: Option<Outcome>,
    /// Wall time of the script; zero if none ran.
    pub wall: Duration,
    /// Whether the episode is over, so that no further action is accepted.
    pub done: bool,
    /// Whether the clock had a part in it, so that the same action may have another result at
    /// another time: the observation says how long the script took, or the wall time of the episode
    /// is over.
    pub depends_on_time: bool,
}

/// What [`Action::Score`] reveals to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreFeedback {
    /// Whether the submission is valid.
    pub valid: bool,
    /// The tier it reaches on the feedback rows; always `None` with [`Feedback::Validate`].
    pub tier: Option<Milestone>,
}

/// The end of an episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpisodeResult {
    /// The final grade; `None` without a valid submission.
    pub grade: Option<Grade>,
    /// Why there is no grade, in the words the agent would have seen.
    pub refusal: Option<String>,
}

/// An episode in progress. Dropping it removes its working directory.
#[derive(Debug)]
pub struct Episode {
    config: EpisodeConfig,
    grader: Box<dyn Grader>,
    workspace: Workspace,
    started: Instant,
    turns: u32,
    done: bool,
}

impl Episode {
    /// Sets up a fresh working directory for `task`, whose grader is `grader`.
    ///
    /// # Errors
    /// An [`EpisodeFault`]: the jail cannot be set up, or the task's grader cannot give the
    /// feedback asked for.
    pub fn reset(
        sandbox: &Sandbox,
        task: &Task,
        grader: Box<dyn Grader>,
        config: &EpisodeConfig,
    ) -> Result<Self, EpisodeFault> {
        config.check_feedback(task)?;
        let workspace = sandbox.workspace(task.id())?.in_mode(config.mode)?;
        let started = Instant::now();
        Ok(Self { config: config.clone(), grader, workspace, started, turns: 0, done: false })
    }

    /// Carries out one action.
    ///
    /// # Errors
    /// An [`EpisodeFault`]. Errors of the agent's script are part of the [`StepResult`].
    ///
    /// # Panics
    /// After a step that was `done`.
    pub fn step(&mut self, action: &Action) -> Result<StepResult, EpisodeFault> {
        assert!(!self.done, "step after the end of the episode");
        self.turns += 1;
        let mut step = match action {
            Action::Python { code } => self.run(code)?,
            Action::Score => self.score()?,
            Action::Answer => {
                StepResult { done: true, ..StepResult::reply(Observation::plain("")) }
            }
            Action::Malformed { reason } => {
                StepResult::reply(Observation::plain(format!("malformed turn: {reason}")))
            }
        };
        let budget = &self.config.budget;
        let out_of_time = self.started.elapsed() >= Duration::from_secs(budget.wall_seconds);
        step.done |= self.turns >= budget.turns;
        step.depends_on_time |= out_of_time && !step.done;
        step.done |= out_of_time;
        self.done = step.done;
        Ok(step)
    }

    /// A handle that ends a run in flight from another thread; the step then fails with
    /// [`Fault::Cancelled`].
    ///
    /// # Errors
    /// [`EpisodeFault::Execution`] if the process has no file descriptors left.
    pub fn cancel(&mut self) -> Result<Cancel, EpisodeFault> {
        Ok(self.workspace.cancel()?)
    }

    /// Sets the wall time that counts as used: for an episode that takes the place of one that was
    /// lost, after its actions were carried out again.
    pub fn set_elapsed(&mut self, elapsed: Duration) {
        let now = Instant::now();
        self.started = now.checked_sub(elapsed).unwrap_or(now);
        let budget = &self.config.budget;
        let out_of_time = elapsed >= Duration::from_secs(budget.wall_seconds);
        self.done = self.turns >= budget.turns || out_of_time;
    }

    /// The bytes of `submission.csv` as it is now, valid or not; `None` if there is none that can be
    /// read.
    pub fn submission(&self) -> Option<Vec<u8>> {
        let most = self.config.submission_limit.bytes();
        let size = self.workspace.look(SUBMISSION, most).ok()?;
        let _share = memory().acquire(size);
        self.workspace.collect(SUBMISSION, most).ok()
    }

    /// Actions taken so far.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// Grades `submission.csv` of the working directory, then removes the directory.
    ///
    /// # Errors
    /// An [`EpisodeFault`] if the task's answers or its evaluator cannot be used.
    pub fn close(self) -> Result<EpisodeResult, EpisodeFault> {
        Ok(match self.grade(self.config.final_part())? {
            Ok(grade) => EpisodeResult { grade: Some(grade), refusal: None },
            Err(refusal) => EpisodeResult { grade: None, refusal: Some(refusal.text) },
        })
    }

    fn run(&self, code: &str) -> Result<StepResult, EpisodeFault> {
        let budget = &self.config.budget;
        let left = Duration::from_secs(budget.wall_seconds).saturating_sub(self.started.elapsed());
        let mut policy = self.config.policy.clone();
        policy.time_limit = Span(policy.time_limit.0.min(left.max(Duration::from_secs(1))));
        let run: Run = self.workspace.run(code, &policy)?;
        let most = self.config.submission_limit.bytes();
        let has_submission = self.workspace.look(SUBMISSION, most).is_ok();
        let mut observation = Observation::from_run(&run, has_submission, policy.time_limit.0);
        if self.config.mode == Mode::Session && !run.kept {
            observation.interpreter_lost();
        }
        Ok(StepResult {
            depends_on_time: Observation::states_wall(&run, policy.time_limit.0),
            outcome: Some(run.outcome),
            wall: run.wall,
            ..StepResult::reply(observation)
        })
    }

    fn score(&self) -> Result<StepResult, EpisodeFault> {
        let feedback = |valid, tier| Some(ScoreFeedback { valid, tier });
        let grade = match self.grade(self.config.feedback_part())? {
            Ok(grade) => grade,
            Err(refusal) => {
                return Ok(StepResult {
                    feedback: feedback(false, None),
                    ..StepResult::reply(refusal)
                });
            }
        };
        let (observation, tier) = match self.config.feedback {
            Feedback::Validate => (Observation::valid(), None),
            Feedback::Tier => (Observation::tier(grade.tier), grade.tier),
            Feedback::Full | Feedback::Exposed => {
                let (thresholds, direction) = (self.grader.thresholds(), self.grader.direction());
                (Observation::full(&grade, &thresholds, direction), grade.tier)
            }
        };
        Ok(StepResult { feedback: feedback(true, tier), ..StepResult::reply(observation) })
    }

    /// The grade of the current submission, or the refusal in words for the agent.
    fn grade(&self, part: Part) -> Result<Result<Grade, Observation>, EpisodeFault> {
        // No file is read before the memory for it and for grading it is reserved.
        let share = |size| memory().acquire(self.grader.memory(size));
        let most = self.config.submission_limit.bytes();
        let collected = self
            .workspace
            .look(SUBMISSION, most)
            .map(share)
            .and_then(|share| Ok((share, self.workspace.collect(SUBMISSION, most)?)));
        let (_share, csv) = match collected {
            Ok(collected) => collected,
            Err(refusal) => {
                return Ok(Err(Observation::plain(format!("invalid submission: {refusal}"))));
            }
        };
        match self.grader.grade(&csv, part) {
            Ok(grade) => Ok(Ok(grade)),
            Err(error) if error.is_fault() => Err(EpisodeFault::Answers(error)),
            Err(error) => Ok(Err(Observation::refused(&error))),
        }
    }
}

impl StepResult {
    fn reply(observation: Observation) -> Self {
        Self {
            observation,
            feedback: None,
            outcome: None,
            wall: Duration::ZERO,
            done: false,
            depends_on_time: false,
        }
    }
}
