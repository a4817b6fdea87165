//! What every run of an agent is given, and how it comes to rest.

use super::header::{JOURNAL_VERSION, RunHeader, changed_files, fingerprint};
use super::journal::{AgentEnd, Blobs, Journal, JournalError, JournalLine, journal_path};
use super::knowledge::{KnowledgeFacts, KnowledgeFault, KnowledgeSource};
use super::node::NodeId;
use super::player::Player;
use super::python::PythonFacts;
use super::state::RunState;
use super::stop::AgentStop;
use super::trial::TrialCache;
use super::weights::PretrainedWeights;
use crate::guide::channel::GuideSource;
use crate::overview::DataOverview;
use camino::Utf8Path;
use jail::limits::{Gpus, RunLimits};
use sandbox::env::{EpisodeConfig, EpisodeFault, TaskSuite};
use serde_json::Value;
use std::fmt::Debug;
use tasks::metrics::Direction;
use tasks::task::{Task, TaskError};

/// What the prompts of a run say of its task.
#[derive(Debug, Clone)]
pub struct TaskView {
    /// The text of the task's page.
    pub page: String,
    /// The public files, in short.
    pub overview: String,
    /// Which way the metric improves.
    pub direction: Direction,
    /// Limits on each script.
    pub limits: RunLimits,
    /// The Python that scripts run with.
    pub python: PythonFacts,
    /// Pretrained weights that scripts find in `models/`.
    pub weights: Option<PretrainedWeights>,
}

impl TaskView {
    /// Of `task`, whose scripts run under `limits` and find `weights`, which the sandbox must
    /// have been started with.
    ///
    /// # Errors
    /// [`TaskError`] if its page cannot be read.
    pub fn of(
        task: &Task,
        direction: Direction,
        limits: &RunLimits,
        python: &PythonFacts,
        weights: Option<&PretrainedWeights>,
    ) -> Result<Self, TaskError> {
        Ok(Self {
            page: task.description()?,
            overview: DataOverview::of(task.public().path()),
            direction,
            limits: limits.clone(),
            python: python.clone(),
            weights: weights.cloned(),
        })
    }
}

/// The GPUs that scripts may use, in words.
pub fn gpus_in_words(gpus: &Gpus) -> String {
    match gpus {
        Gpus::None => "no GPU".to_owned(),
        Gpus::All => "all GPUs of the machine".to_owned(),
        Gpus::Only(indices) => format!("{} GPU(s)", indices.len()),
    }
}

/// The processors that scripts may use, in words: those of the machine without a limit.
pub(crate) fn processors_in_words(limits: &RunLimits) -> String {
    let processors = limits.cpus.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from),
        |cpus| cpus.get() as usize,
    );
    format!("{processors} processor(s)")
}

/// An agent at work on one task.
#[derive(Debug, Clone, Copy)]
pub struct AgentRun<'a> {
    /// The task's sandbox and grader.
    pub suite: &'a TaskSuite,
    /// The task.
    pub task: &'a Task,
    /// Limits on scripts, and the feedback mode.
    pub config: &'a EpisodeConfig,
    /// Name of the scaffold, as in reports.
    pub scaffold: &'a str,
    /// What prompts say of the task.
    pub view: &'a TaskView,
    /// Who answers.
    pub player: &'a dyn Player,
    /// Where a scaffold that uses tricks gets them; `&()` without a knowledge base.
    pub knowledge: &'a dyn KnowledgeSource,
    /// Where a linear agent gets the channel to people who advise it; `&()` for an unguided run.
    pub guide: &'a dyn GuideSource,
    /// Recalls what scripts of other runs left; `None` where every script is run.
    pub trials: Option<&'a TrialCache>,
    /// The seed of every draw.
    pub seed: u64,
    /// The folder of the run.
    pub folder: &'a Utf8Path,
    /// Ends it from outside.
    pub stop: &'a AgentStop,
    /// Is told of each line of the journal.
    pub observer: &'a dyn AgentObserver,
}

/// Is told of each line of a journal once it is on the disk, for progress bars.
pub trait AgentObserver: Debug + Sync {
    /// A line was written.
    fn line(&self, line: &JournalLine);
}

/// Nobody.
impl AgentObserver for () {
    fn line(&self, _: &JournalLine) {}
}

/// How a run came to rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentRest {
    /// It is over. The submission of the chosen node or turn, if there is one, is
    /// `submission.csv` in the folder of the run.
    Finished {
        /// The node or turn whose submission counts.
        chosen: Option<NodeId>,
        /// Why it ended.
        why: AgentEnd,
    },
    /// It can go on: the player does not answer, or it was stopped.
    Paused {
        /// Why.
        why: String,
    },
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum AgentRunError {
    /// Its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file could not be read or written.
    #[error("failed to write down a run")]
    Io(#[from] std::io::Error),
    /// The jail, the interpreter or the grader failed. Nothing of it counts; what was written
    /// down before is kept.
    #[error("a script could not be tried")]
    Fault(#[from] EpisodeFault),
    /// The public files of the task are not those that the run began with.
    #[error("the task's files were changed since the run began: {}", .0.join(", "))]
    TaskChanged(Vec<String>),
    /// Pretrained weights are not those that the run began with.
    #[error("pretrained weights were changed since the run began: {}", .0.join(", "))]
    WeightsChanged(Vec<String>),
    /// There are no tricks where the settings ask for some.
    #[error("there is no knowledge for the task")]
    Knowledge(#[source] KnowledgeFault),
    /// People are to advise a scaffold that has no place for it.
    #[error("only linear agents, such as `react`, take guidance; leave the guide out")]
    NoGuidance,
    /// There is no guide, and the run is not to go on without.
    #[error("failed to keep the conversation of a guided run")]
    Guide(#[source] std::io::Error),
    /// The first question cannot be written.
    #[error("the agent cannot be told of the task")]
    Prompt(#[from] crate::prompt::PromptError),
}

/// What the folder of a run holds when it is taken up.
pub(crate) struct TakenUp {
    pub(crate) journal: Journal,
    pub(crate) blobs: Blobs,
    pub(crate) state: RunState,
    /// Whether it had begun before.
    pub(crate) is_old: bool,
}

impl AgentRun<'_> {
    /// Opens the run's journal; a new one gets a header, and one that is there must have the same.
    /// `settings` are the scaffold's.
    pub(crate) fn take_up(&self, settings: Value) -> Result<TakenUp, AgentRunError> {
        self.begin(settings, false, |_| Ok(None))
    }

    /// The same for a linear agent, which people may advise if it `is_guided`.
    pub(crate) fn take_up_guided(
        &self,
        settings: Value,
        is_guided: bool,
    ) -> Result<TakenUp, AgentRunError> {
        self.begin(settings, is_guided, |_| Ok(None))
    }

    /// The same for a scaffold that uses tricks: `knowledge` writes them down.
    pub(crate) fn take_up_with(
        &self,
        settings: Value,
        knowledge: impl FnOnce(&Blobs) -> Result<Option<KnowledgeFacts>, AgentRunError>,
    ) -> Result<TakenUp, AgentRunError> {
        self.begin(settings, false, knowledge)
    }

    fn begin(
        &self,
        settings: Value,
        guided: bool,
        knowledge: impl FnOnce(&Blobs) -> Result<Option<KnowledgeFacts>, AgentRunError>,
    ) -> Result<TakenUp, AgentRunError> {
        self.config.check_feedback(self.task)?;
        let (mut journal, lines) = Journal::open(self.folder)?;
        let blobs = Blobs::new(self.folder);
        let header =
            RunHeader { knowledge: knowledge(&blobs)?, guided, ..self.header(settings, &blobs)? };
        let state = RunState::from_lines(&journal_path(self.folder), lines)?;
        if let Some(state) = state {
            self.check(&state.header, &header, &blobs)?;
            return Ok(TakenUp { journal, blobs, state, is_old: true });
        }
        journal.append(&JournalLine::Header(Box::new(header.clone())))?;
        Ok(TakenUp { journal, blobs, state: RunState::new(header), is_old: false })
    }

    fn header(&self, settings: Value, blobs: &Blobs) -> Result<RunHeader, AgentRunError> {
        let public = fingerprint(self.task.public().path())?;
        let weights = self.view.weights.as_ref();
        let weights = weights.map(|weights| blobs.put(weights.fingerprint().as_bytes()));
        Ok(RunHeader {
            version: JOURNAL_VERSION,
            task: self.task.id().clone(),
            direction: self.view.direction,
            public: blobs.put(public.as_bytes())?,
            scaffold: self.scaffold.to_owned(),
            settings,
            player: self.player.name(),
            seed: self.seed,
            feedback: self.config.feedback,
            data: self.task.data_source(),
            limits: self.config.policy.clone(),
            submission_limit: self.config.submission_limit,
            tier: self.suite.sandbox().tier(),
            python: self.view.python.clone(),
            weights: weights.transpose()?,
            knowledge: None,
            guided: false,
        })
    }

    /// Whether a run that began with `old` may go on with `new`.
    fn check(&self, old: &RunHeader, new: &RunHeader, blobs: &Blobs) -> Result<(), AgentRunError> {
        if old.public != new.public {
            let changed = changed_files(&blobs.text(&old.public)?, &blobs.text(&new.public)?);
            return Err(AgentRunError::TaskChanged(changed));
        }
        if let (Some(then), Some(now)) = (&old.weights, &new.weights)
            && then != now
        {
            let changed = changed_files(&blobs.text(then)?, &blobs.text(now)?);
            return Err(AgentRunError::WeightsChanged(changed));
        }
        let differences = old.differences(new);
        if differences.is_empty() {
            return Ok(());
        }
        Err(JournalError::OtherRun { path: self.folder.to_owned(), differences }.into())
    }
}
