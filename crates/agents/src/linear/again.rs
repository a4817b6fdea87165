//! Turns of recorded runs, played again in a fresh work dir: whether a run could have gone without the
//! others.

use super::run::{SECTION, graded, turn_form};
use super::settings::LinearSettings;
use crate::guide::export::{PlayedAgain, PlaysAgain, ReplayFailure};
use crate::guide::ids::ConversationId;
use crate::guide::transcript::Transcript;
use crate::run::agent::{AgentRun, TaskView};
use crate::run::header::fingerprint;
use crate::run::journal::{journal_path, read_lines};
use crate::run::node::BlobHash;
use crate::run::python::PythonFacts;
use crate::run::recorded::RecordedAnswers;
use crate::run::state::RunState;
use crate::run::stop::AgentStop;
use crate::run::weights::PretrainedWeights;
use crate::search::samples::{SearchReadError, runs_in};
use camino::Utf8PathBuf;
use sandbox::env::{EpisodeFault, TaskSuite};
use std::collections::BTreeMap;
use tasks::task::TaskError;

/// Recorded runs that people could advise, by the names of their conversations.
#[derive(Debug, Default)]
pub struct RecordedRuns {
    runs: BTreeMap<ConversationId, (Utf8PathBuf, RunState)>,
}

impl RecordedRuns {
    /// Those in some folders, each that of a run or one with runs anywhere below. Runs that nobody could
    /// advise are passed over.
    ///
    /// # Errors
    /// [`SearchReadError`].
    pub fn read(folders: &[Utf8PathBuf]) -> Result<Self, SearchReadError> {
        let mut runs = BTreeMap::new();
        for folder in folders {
            for run in runs_in(folder)? {
                let path = journal_path(&run);
                let Some(state) = RunState::from_lines(&path, read_lines(&path)?)? else {
                    continue;
                };
                if let Some(conversation) = state.conversation.clone() {
                    runs.insert(conversation, (run, state));
                }
            }
        }
        Ok(Self { runs })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.runs.len()
    }
}

/// Plays turns of recorded runs again, each on its task and under its limits.
#[derive(Debug)]
pub struct RunsAgain<'a> {
    /// The runs.
    pub runs: &'a RecordedRuns,
    /// Their tasks, and a sandbox.
    pub suite: &'a TaskSuite,
    /// The Python of the sandbox.
    pub python: &'a PythonFacts,
    /// The pretrained weights of the sandbox.
    pub weights: Option<&'a PretrainedWeights>,
    /// Ends scripts from outside.
    pub stop: &'a AgentStop,
}

impl PlaysAgain for RunsAgain<'_> {
    fn play_again(
        &self,
        transcript: &Transcript,
        turns: &[u32],
    ) -> Result<PlayedAgain, ReplayFailure> {
        let unable = ReplayFailure::Unable;
        let (folder, state) = self.runs.runs.get(&transcript.id).ok_or(unable("no_run"))?;
        let header = &state.header;
        let task = self.suite.task(&header.task).ok_or(unable("other_task"))?;
        let public = fingerprint(task.public().path())
            .map_err(|error| EpisodeFault::Description(TaskError::Io(error)))?;
        if BlobHash::of(public.as_bytes()) != header.public {
            return Err(unable("task_changed"));
        }
        let settings = header.settings.get(SECTION).cloned();
        let settings = settings.and_then(|settings| serde_json::from_value(settings).ok());
        let settings: LinearSettings = settings.ok_or(unable("other_agent"))?;
        let config = header.episode();
        let view = TaskView::of(task, header.direction, &config.policy, self.python, self.weights);
        let view = view.map_err(EpisodeFault::Description)?;
        let player = RecordedAnswers::new(state, folder);
        let run = AgentRun {
            suite: self.suite,
            task,
            config: &config,
            scaffold: &header.scaffold,
            view: &view,
            player: &player,
            knowledge: &(),
            guide: &(),
            trials: None,
            seed: header.seed,
            folder,
            stop: self.stop,
            observer: &(),
        };
        let answers = turns.iter().map(|turn| transcript.turns[*turn as usize].report.text());
        Ok(take_again(run, &settings, answers)?)
    }
}

/// Carries out answers from a fresh work dir, until the episode ends. Nothing is written down.
fn take_again(
    run: AgentRun<'_>,
    settings: &LinearSettings,
    answers: impl Iterator<Item = String>,
) -> Result<PlayedAgain, EpisodeFault> {
    let mut form = turn_form(run, settings)?;
    let (mut observations, mut submission) = (Vec::new(), None);
    for answer in answers {
        let Ok(result) = form.take(&answer, true)? else {
            unreachable!("a last try is carried out, whatever it is")
        };
        result.counts.apply(&mut submission);
        let observation = result.reply.ok();
        let is_over = observation.is_none();
        observations.push(observation);
        if is_over {
            break;
        }
    }
    Ok(PlayedAgain { observations, result: graded(run, submission.as_deref())? })
}
