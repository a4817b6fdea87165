//! Proof that a run could have gone without some of its turns: what is left is played again.

use crate::guide::defuse::defused;
use crate::guide::transcript::Transcript;
use crate::guide::turn::End;
use crate::play::{Reply, World};
use crate::trajectory::EpisodeOutcome;
use sandbox::env::{EpisodeFault, EpisodeResult, without_time};
use std::fmt;

/// What turns came to when they were played again.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayedAgain {
    /// What each turn was answered; `None` of one that ended the episode.
    pub observations: Vec<Option<String>>,
    /// How the episode was graded.
    pub result: EpisodeResult,
}

/// Why turns could not be played again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayFailure {
    /// There is nothing to play them with; a word for the manifest, such as `no_run`.
    #[error("`{0}`")]
    Unable(&'static str),
    /// The sandbox or the grader failed, which says nothing of the turns.
    #[error("turns could not be played again")]
    Fault(#[from] EpisodeFault),
}

/// Plays turns of recorded runs again.
pub trait PlaysAgain: fmt::Debug {
    /// Carries out some turns of a run, by number and in order, from a fresh work dir, under the rules of
    /// the run.
    ///
    /// # Errors
    /// [`ReplayFailure`].
    fn play_again(
        &self,
        transcript: &Transcript,
        turns: &[u32],
    ) -> Result<PlayedAgain, ReplayFailure>;
}

/// In what turns came out otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Different {
    /// An observation.
    Observation,
    /// The episode ended before all were taken.
    Ended,
    /// The grade.
    Grade,
}

impl Different {
    /// The name as in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Observation => "other_observation",
            Self::Ended => "ended_early",
            Self::Grade => "other_grade",
        }
    }
}

/// Plays turns of episodes again in the environment that they were played in, by its rules.
#[derive(Debug, Clone, Copy)]
pub struct WorldAgain<'a>(pub &'a dyn World);

impl PlaysAgain for WorldAgain<'_> {
    fn play_again(
        &self,
        transcript: &Transcript,
        turns: &[u32],
    ) -> Result<PlayedAgain, ReplayFailure> {
        let mut play = self.0.open(&transcript.opening.task)?;
        let mut observations = Vec::with_capacity(turns.len());
        for turn in turns {
            match play.respond(&transcript.turns[*turn as usize].report.text())? {
                Reply::Observe(text) => observations.push(Some(text)),
                Reply::End(_) => {
                    observations.push(None);
                    break;
                }
            }
        }
        match play.close()?.outcome {
            EpisodeOutcome::Mle(result) => Ok(PlayedAgain { observations, result }),
            EpisodeOutcome::World(_) => Err(ReplayFailure::Unable("no_grade")),
        }
    }
}

/// Whether some turns of an episode that is over, by number and in order, come out as they did when they
/// are played by themselves.
///
/// # Errors
/// [`ReplayFailure`].
pub fn is_confirmed(
    again: &dyn PlaysAgain,
    transcript: &Transcript,
    turns: &[u32],
) -> Result<bool, ReplayFailure> {
    let played = again.play_again(transcript, turns)?;
    let end = transcript.end.as_ref();
    Ok(end.is_some_and(|end| difference(transcript, turns, end, &played).is_none()))
}

/// In what turns that were played again differ from what was recorded, times aside. The last observation
/// of a run that was ended after it is not recorded, and is not compared.
pub(super) fn difference(
    transcript: &Transcript,
    turns: &[u32],
    end: &End,
    again: &PlayedAgain,
) -> Option<Different> {
    for (at, number) in turns.iter().enumerate() {
        let recorded = transcript.turns[*number as usize].report.observation.as_deref();
        let Some(recorded) = recorded else { continue };
        match again.observations.get(at) {
            // Scripts of guided runs cannot speak as a person.
            Some(Some(text)) if without_time(&defused(text)) == without_time(recorded) => {}
            Some(Some(_)) => return Some(Different::Observation),
            Some(None) | None => return Some(Different::Ended),
        }
    }
    if again.observations.len() < turns.len() {
        return Some(Different::Ended);
    }
    let recorded = EpisodeResult { grade: end.grade, refusal: end.refusal.clone() };
    (again.result != recorded).then_some(Different::Grade)
}
