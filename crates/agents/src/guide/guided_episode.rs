//! The end of a conversation that an episode in memory has: of a rollout, whose turns are in no journal of
//! its own.

use super::channel::GuideLink;
use super::guidance::DeliveredGuidance;
use super::guided_run::{GuidedRun, Interrupted};
use super::ids::ConversationId;
use super::turn::{End, Opening, TurnReport};

/// A guided episode in memory.
#[derive(Debug)]
pub struct GuidedEpisode {
    id: ConversationId,
    /// The most turns.
    turns: u32,
    run: GuidedRun,
    /// The turns so far.
    reports: Vec<TurnReport>,
}

impl GuidedEpisode {
    /// An episode that tells its turns in the new conversation `id`. Nothing is sent yet.
    pub fn new(link: GuideLink, id: ConversationId, opening: Opening) -> Self {
        let turns = opening.turns;
        let run = GuidedRun::new(link, id.clone(), opening, []);
        Self { id, turns, run, reports: Vec::new() }
    }

    /// The name of the conversation.
    pub fn id(&self) -> &ConversationId {
        &self.id
    }

    /// The most turns that the episode can have.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// Takes note of the next turn, and tells it if the episode goes on after it, which it does where the
    /// turn has an observation. Returns the guidance that came; [`Self::wrote_down`] acknowledges it.
    /// Waits as [`GuidedRun::listen`] does.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn exchange(
        &mut self,
        report: TurnReport,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Vec<DeliveredGuidance>, Interrupted> {
        let goes_on = report.observation.is_some();
        self.reports.push(report);
        if !goes_on {
            return Ok(Vec::new());
        }
        let reports = &self.reports;
        self.run.listen(count(reports) - 1, &|turn| Ok(reports[turn as usize].clone()), is_stopped)
    }

    /// Notes that the policy reads pieces, so that they are not late.
    pub fn wrote_down(&mut self, pieces: &[DeliveredGuidance]) {
        self.run.wrote_down(pieces);
    }

    /// Tells the end, and all turns that were not told.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn finish(&mut self, end: &End, is_stopped: &dyn Fn() -> bool) -> Result<(), Interrupted> {
        let reports = &self.reports;
        let told = |turn: u32| Ok(reports[turn as usize].clone());
        self.run.finish(count(reports), end, &told, is_stopped).map(drop)
    }
}

fn count(reports: &[TurnReport]) -> u32 {
    u32::try_from(reports.len()).expect("fewer than 2^32 turns")
}
