//! An episode of any [`Kind`](crate::Kind) as the rollout sees it: turns, records, limits.

use crate::kind::Episode;
use crate::runner::{ProgramRules, Runner};
use agents::play::{Closed, EpisodeFault, Play, Reply};
use agents::trajectory::{EpisodeEnding, Tool, TurnRecord};

/// An open episode with its limit of turns.
#[derive(Debug)]
pub(crate) struct Playing<'a, E> {
    episode: E,
    runner: Option<(&'a dyn Runner, ProgramRules)>,
    limit: usize,
    turns: Vec<TurnRecord>,
    over: bool,
    /// Whether a run had an end that it might not have again.
    unrepeatable: bool,
}

impl<'a, E: Episode> Playing<'a, E> {
    /// An episode that ends after `limit` turns at the latest. One with a script needs a runner.
    pub(crate) fn new(
        episode: E,
        runner: Option<(&'a dyn Runner, ProgramRules)>,
        limit: u32,
    ) -> Self {
        let (turns, limit) = (Vec::new(), limit as usize);
        Self { episode, runner, limit, turns, over: false, unrepeatable: false }
    }

    /// The state of the environment.
    pub(crate) fn episode(&self) -> &E {
        &self.episode
    }

    /// Runs the script of an episode that is over, if it has one.
    fn run(&mut self) -> Result<(), EpisodeFault> {
        let (Some(script), Some((runner, rules))) = (self.episode.script(), self.runner) else {
            return Ok(());
        };
        let run = runner.run(&script, &rules)?;
        self.unrepeatable = !run.is_repeatable();
        if let Some(turn) = self.turns.last_mut() {
            turn.outcome = Some(run.outcome.clone());
            turn.seconds = run.wall.as_secs_f64();
        }
        self.episode.take_run(&run);
        Ok(())
    }

    /// The same as [`Play::close`], without a box.
    pub(crate) fn finish(self) -> Closed {
        Closed::of_world(self.turns, self.episode.verdict())
    }
}

impl<E: Episode> Play for Playing<'_, E> {
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
        if self.over {
            self.run()?;
        }
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
        !self.unrepeatable
    }

    fn close(self: Box<Self>) -> Result<Closed, EpisodeFault> {
        Ok(self.finish())
    }
}
