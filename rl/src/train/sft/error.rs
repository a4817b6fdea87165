//! Errors that end a run of `rl sft`.

use crate::checkpoint::CheckpointError;
use crate::checkpoint::policy::PolicyError;
use crate::text::template::TemplateError;
use crate::text::tokenizer::TokenizerError;
use crate::train::choice::NothingHeldOut;
use crate::train::learner::LearnerError;
use crate::train::records::RecordsError;
use crate::world::WorldError;
use agents::guide::export::SampleError;
use agents::scaffold::runner::ScriptedError;
use agents::script_cache::ScriptCacheError;
use agents::search::samples::SearchReadError;
use agents::trajectory::TrajectoryError;
use camino::Utf8PathBuf;
use sandbox::env::SuiteError;
use worlds::DemonstrationError;

/// Errors that end a run of `rl sft`.
#[derive(Debug, thiserror::Error)]
pub enum SftError {
    /// No place to play.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The folder of the script cache cannot be used.
    #[error(transparent)]
    ScriptCache(#[from] ScriptCacheError),
    /// The agents could not play.
    #[error(transparent)]
    Scripted(#[from] ScriptedError<Halt>),
    /// Searches could not be read.
    #[error(transparent)]
    Searches(#[from] SearchReadError),
    /// No answer of a search is one to imitate.
    #[error("none of {all} answers of the searches is a good one on a training task of the corpus")]
    NothingToImitate {
        /// Answers in all.
        all: usize,
    },
    /// The task of a suite cannot be used.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A training item could not be demonstrated.
    #[error("failed to demonstrate a training item")]
    Demonstration(#[from] DemonstrationError),
    /// The user's data cannot be read.
    #[error(transparent)]
    Data(#[from] RecordsError),
    /// Too few examples for two parts.
    #[error(transparent)]
    NothingHeldOut(#[from] NothingHeldOut),
    /// Samples of guided runs could not be read.
    #[error(transparent)]
    Samples(#[from] SampleError),
    /// No sample of guided runs is on a training task.
    #[error(
        "none of {all} samples is on a training task of the corpus; give the corpus that the guided \
         runs played"
    )]
    NoSamples {
        /// Samples in all.
        all: usize,
    },
    /// A folder without episodes.
    #[error("`{0}` has no episodes; give the folder of a run of `rl eval` or `rl train`")]
    NoEpisodes(Utf8PathBuf),
    /// No episode of the policy is one to imitate.
    #[error("none of {all} episodes on training tasks earned a reward")]
    NoReward {
        /// Episodes in all.
        all: usize,
    },
    /// Episodes to imitate write their calls in another format than the settings say.
    #[error(
        "the scripts to imitate stand in calls of the format `{found}`, and `rules.tool_call_format` \
         is `{set}`; set it to `{found}`, or give other episodes"
    )]
    OtherFormat {
        /// The format in the settings.
        set: &'static str,
        /// The format of the episodes.
        found: &'static str,
    },
    /// Episodes could not be stored.
    #[error(transparent)]
    Trajectories(#[from] TrajectoryError),
    /// Too many episodes broke.
    #[error("{faults} of {episodes} demonstrations broke; the last error: {last}")]
    Faults {
        /// The number of episodes that an infrastructure error ended.
        faults: usize,
        /// The number of all episodes.
        episodes: usize,
        /// The last error.
        last: String,
    },
    /// The vocabulary could not be made.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// A demonstration could not be laid out.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A checkpoint could not be read or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The update could not be made.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// A file of the run could not be written.
    #[error("failed to write the run's files")]
    Io(#[from] std::io::Error),
    /// Every example is longer than the context.
    #[error(
        "no example to train on, or none to validate on, fits into `context = {0}` tokens; set a larger \
         `context`, or give shorter examples"
    )]
    NothingFits(usize),
}

/// Why demonstrations were not played to the last.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// One could not be stored.
    #[error(transparent)]
    Trajectories(#[from] TrajectoryError),
    /// The user asked the run to stop.
    #[error("stopped on request")]
    Stopped,
}
