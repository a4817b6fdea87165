//! Episodes of the expert on training items, as trajectories to train on.

use crate::world::Environment;
use agents::play::{Conversation, EpisodeFault, EpisodeKey, Play, Reply};
use agents::prompt::PromptError;
use agents::trajectory::{EpisodeEnding, Segment, Source, Trajectory};
use tasks::task::TaskId;

/// Why there is no demonstration.
#[derive(Debug, thiserror::Error)]
pub enum DemonstrationError {
    /// Sealed items are not demonstrated.
    #[error("`{0}` is no training item: demonstrations are made of training items alone")]
    NotTrain(TaskId),
    /// The prompt could not be written.
    #[error("failed to write the prompt")]
    Prompt(#[from] PromptError),
    /// The episode could not be played.
    #[error("failed to play the expert's turns")]
    Play(#[from] EpisodeFault),
}

/// The expert's episode on a training item. It knows no more than the prompt and the replies.
///
/// # Errors
/// [`DemonstrationError`].
pub fn demonstrate(
    world: &dyn Environment,
    item: &TaskId,
) -> Result<Trajectory, DemonstrationError> {
    let turns = world.expert(item).ok_or_else(|| DemonstrationError::NotTrain(item.clone()))?;
    let Played { segments, ending, play } = play_turns(world, item, turns)?;
    let key = EpisodeKey { task: item, agent: "expert", number: 0 };
    let (omissions, summaries) = (Vec::new(), Vec::new());
    let conversation = Conversation { segments, omissions, guidance: None, summaries, ending };
    Ok(play.close()?.trajectory(key, conversation))
}

/// An episode after some turns.
pub(crate) struct Played<'a> {
    pub(crate) segments: Vec<Segment>,
    pub(crate) ending: EpisodeEnding,
    pub(crate) play: Box<dyn Play + 'a>,
}

/// The messages that open an episode.
///
/// # Errors
/// [`DemonstrationError::Prompt`].
pub(crate) fn opening(
    world: &dyn Environment,
    item: &TaskId,
) -> Result<Vec<Segment>, DemonstrationError> {
    let prompt = world.prompt(item)?;
    Ok([prompt.system, prompt.user].map(|text| Segment::text(Source::Prompt, text)).to_vec())
}

/// Plays turns until they or the episode are over.
///
/// # Errors
/// [`DemonstrationError`].
pub(crate) fn play_turns<'a>(
    world: &'a dyn Environment,
    item: &TaskId,
    turns: Vec<String>,
) -> Result<Played<'a>, DemonstrationError> {
    let mut segments = opening(world, item)?;
    let mut play = world.open(item)?;
    let mut ending = EpisodeEnding::Budget;
    for turn in turns {
        let reply = play.respond(&turn)?;
        segments.push(Segment::text(Source::Model, turn));
        match reply {
            Reply::Observe(observation) => {
                segments.push(Segment::text(Source::Environment, observation));
            }
            Reply::End(end) => {
                ending = end;
                break;
            }
        }
    }
    Ok(Played { segments, ending, play })
}
