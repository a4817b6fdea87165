//! An episode whose events are written to a record.

use super::episode::{Action, Episode, EpisodeConfig, EpisodeFault, EpisodeResult, StepResult};
use super::quota::Reservation;
use super::record::{CloseReason, Event, RECORD_VERSION, Recorder};
use super::suite::TaskSuite;
use camino::Utf8Path;
use jail::exec::Cancel;
use std::time::SystemTime;
use tasks::mlebench::report::timestamp;
use tasks::task::Task;

/// The name of an episode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Its name, as the record's header gives it.
    pub episode: String,
    /// The seed that the task was drawn with, if it was drawn at random.
    pub seed: Option<u64>,
}

/// An [`Episode`] with a record. A step is returned only after it has been written.
#[derive(Debug)]
pub struct Recorded {
    episode: Episode,
    recorder: Recorder,
}

impl Recorded {
    /// Sets up an episode as [`TaskSuite::reset`] does, and its record at `path`, which nothing
    /// bounds.
    ///
    /// # Errors
    /// An [`EpisodeFault`], also if there is a file at `path`.
    pub fn reset(
        suite: &TaskSuite,
        task: &Task,
        config: &EpisodeConfig,
        label: &Label,
        path: &Utf8Path,
    ) -> Result<Self, EpisodeFault> {
        Self::reset_within(suite, task, config, label, path, Reservation::unbounded())
    }

    /// Like [`Self::reset`], with a record of bounded size.
    ///
    /// # Errors
    /// An [`EpisodeFault`] as for [`Self::reset`].
    pub fn reset_within(
        suite: &TaskSuite,
        task: &Task,
        config: &EpisodeConfig,
        label: &Label,
        path: &Utf8Path,
        reservation: Reservation,
    ) -> Result<Self, EpisodeFault> {
        let episode = suite.reset(task, config)?;
        let header = Event::Header {
            version: RECORD_VERSION,
            episode: label.episode.clone(),
            task: task.id().clone(),
            config: Box::new(config.clone()),
            seed: label.seed,
            software: env!("CARGO_PKG_VERSION").to_owned(),
            started: timestamp(SystemTime::now()),
        };
        Ok(Self { episode, recorder: Recorder::create(path, reservation, &header)? })
    }

    /// A handle that ends a run in flight, as from [`Episode::cancel`].
    ///
    /// # Errors
    /// An [`EpisodeFault`] if the process has no file descriptors left.
    pub fn cancel(&mut self) -> Result<Cancel, EpisodeFault> {
        self.episode.cancel()
    }

    /// Carries out one action as [`Episode::step`] does.
    ///
    /// # Errors
    /// An [`EpisodeFault`], after which the episode should be [abandoned](Self::abandon), but for
    /// [`RecordError::Full`](super::RecordError::Full): then nothing was done, and
    /// [`Action::Answer`] still can be.
    ///
    /// # Panics
    /// After a step that was `done`.
    pub fn step(&mut self, action: &Action) -> Result<StepResult, EpisodeFault> {
        let turn = self.episode.turns() + 1;
        self.recorder.write_action(turn, action)?;
        let step = self.episode.step(action)?;
        self.recorder.write(&Event::Step {
            turn,
            observation: step.observation.text.clone(),
            feedback: step.feedback,
            outcome: step.outcome.as_ref().map(ToString::to_string),
            seconds: step.wall.as_secs_f64(),
            done: step.done,
        })?;
        Ok(step)
    }

    /// Actions taken so far.
    pub fn turns(&self) -> u32 {
        self.episode.turns()
    }

    /// Grades the submission as [`Episode::close`] does, and records the result.
    ///
    /// # Errors
    /// An [`EpisodeFault`]; the record then ends with [`CloseReason::Fault`].
    pub fn close(self) -> Result<EpisodeResult, EpisodeFault> {
        let Self { episode, recorder } = self;
        match episode.close() {
            Ok(finish) => {
                let graded =
                    Event::Finish { ending: CloseReason::Closed, finish: Some(finish.clone()) };
                recorder.finish(&graded)?;
                Ok(finish)
            }
            Err(fault) => {
                recorder.finish(&Event::Finish { ending: CloseReason::Fault, finish: None })?;
                Err(fault)
            }
        }
    }

    /// Ends the episode without a grade and records why.
    ///
    /// # Errors
    /// [`EpisodeFault::Record`] if the record cannot be written.
    pub fn abandon(self, ending: CloseReason) -> Result<(), EpisodeFault> {
        Ok(self.recorder.finish(&Event::Finish { ending, finish: None })?)
    }
}
