//! An episode of any [`Kind`](crate::Kind) as the rollout sees it: turns, records, limits.

use crate::kind::Episode;
use agents::play::{Closed, EpisodeFault, Play, Reply};
use agents::trajectory::{EpisodeEnding, Tool, TurnRecord};

/// An open episode with its limit of turns.
#[derive(Debug)]
pub(crate) struct Playing<E> {
    episode: E,
    limit: usize,
    turns: Vec<TurnRecord>,
    over: bool,
}

impl<E: Episode> Playing<E> {
    /// An episode that ends after `limit` turns at the latest.
    pub(crate) fn new(episode: E, limit: u32) -> Self {
        Self { episode, limit: limit as usize, turns: Vec::new(), over: false }
    }

    /// The state of the environment.
    pub(crate) fn episode(&self) -> &E {
        &self.episode
    }

    /// The same as [`Play::close`], without a box.
    pub(crate) fn finish(self) -> Closed {
        Closed::of_world(self.turns, self.episode.verdict())
    }
}

impl<E: Episode> Play for Playing<E> {
    fn respond(&mut self, text: &str) -> Result<Reply, EpisodeFault> {
        if self.over {
            return Err(EpisodeFault::Over);
        }
        let answer = self.episode.respond(text);
        self.turns.push(TurnRecord {
            tool: if answer.understood { Tool::Act } else { Tool::Malformed },
            has_thought: answer.thought,
            outcome: None,
            seconds: 0.0,
            cached: false,
        });
        self.over = answer.over || self.turns.len() >= self.limit;
        Ok(match (answer.over, self.over) {
            (true, _) => Reply::End(EpisodeEnding::Answered),
            (false, true) => Reply::End(EpisodeEnding::Budget),
            (false, false) => Reply::Observe(answer.observation),
        })
    }

    fn turns(&self) -> &[TurnRecord] {
        &self.turns
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn close(self: Box<Self>) -> Result<Closed, EpisodeFault> {
        Ok(self.finish())
    }
}
