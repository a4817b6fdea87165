//! An episode that is played for real only as far as its turns are new.

use super::cache::{Answer, Claim, Lookup, ScriptCache};
use super::key::Key;
use crate::play::{Closed, Play, Reply, World};
use crate::trajectory::{EpisodeEnding, Tool, TurnRecord};
use sandbox::env::EpisodeFault;
use std::time::Instant;
use tasks::task::TaskId;

/// An episode with recorded replies where there are any.
#[derive(Debug)]
pub(super) struct CachedPlay<'a> {
    world: &'a dyn World,
    cache: &'a ScriptCache,
    item: TaskId,
    started: Instant,
    /// The key of the turns so far. `None` from the first reply on that is not recorded: then the
    /// real episode has all turns, and nothing more is looked up or recorded.
    key: Option<Key>,
    /// The turns so far, as long as there is a key.
    played: Vec<PlayedTurn>,
    /// The records of all turns.
    turns: Vec<TurnRecord>,
    /// The real episode, after some of the turns or all; `None` while none is needed.
    real: Option<RealEpisode<'a>>,
    /// The result, if the real episode was closed together with its last turn.
    closed: Option<Closed>,
}

/// A turn, the key after it, and the reply that the agent got.
#[derive(Debug)]
struct PlayedTurn {
    text: String,
    key: Key,
    reply: Reply,
}

#[derive(Debug)]
struct RealEpisode<'a> {
    play: Box<dyn Play + 'a>,
    is_over: bool,
}

/// Why a turn is run for real.
enum RunReason<'a> {
    /// Its reply is not known.
    New(Key, Claim<'a>),
    /// Its reply is known, and was drawn to be compared.
    Check(Key, Reply, TurnRecord),
    /// Its reply is not recorded.
    Varies,
}

impl<'a> CachedPlay<'a> {
    /// An episode on `item` of `world`; `key` is that of the episode without turns.
    pub(super) fn new(
        world: &'a dyn World,
        cache: &'a ScriptCache,
        item: &TaskId,
        key: Key,
    ) -> Self {
        Self {
            world,
            cache,
            item: item.clone(),
            started: Instant::now(),
            key: Some(key),
            played: Vec::new(),
            turns: Vec::new(),
            real: None,
            closed: None,
        }
    }

    /// The reply to a turn, with its record.
    fn answer(&mut self, text: &str) -> Result<(Reply, TurnRecord), EpisodeFault> {
        let Some(before) = self.key else { return self.run(text, RunReason::Varies) };
        let key = before.turn(&self.world.turn_cache_key(text));
        match self.cache.look_up(key) {
            Lookup::Known { answer: Answer::Turn(reply, record), is_drawn: false } => {
                self.played.push(PlayedTurn { text: text.to_owned(), key, reply: reply.clone() });
                self.key = Some(key);
                Ok((reply, TurnRecord { cached: true, ..record }))
            }
            Lookup::Known { answer: Answer::Turn(reply, record), is_drawn: true } => {
                self.run(text, RunReason::Check(key, reply, record))
            }
            Lookup::Unknown(claim) => self.run(text, RunReason::New(key, claim)),
            Lookup::Known { .. } | Lookup::Varies => self.run(text, RunReason::Varies),
        }
    }

    /// Runs a turn in the real episode.
    fn run(
        &mut self,
        text: &str,
        reason: RunReason<'a>,
    ) -> Result<(Reply, TurnRecord), EpisodeFault> {
        let mut real = self.caught_up()?;
        let (reply, record) = real.respond(text)?;
        // The key under which the reply is, or will be, recorded. There is none if running the
        // earlier turns has shown that these vary.
        let known = match &reason {
            _ if self.key.is_none() => None,
            RunReason::New(key, _) => real.play.is_repeatable().then_some(*key),
            RunReason::Check(key, seen, of_seen) => {
                self.cache.count_check();
                let is_same = *seen == reply && of_seen.outcome == record.outcome;
                if !is_same {
                    self.forget(*key);
                }
                is_same.then_some(*key)
            }
            RunReason::Varies => None,
        };
        if let Some(key) = known {
            self.played.push(PlayedTurn { text: text.to_owned(), key, reply: reply.clone() });
        }
        let was_known = self.key.is_some();
        self.key = known;
        match known {
            // Graded at once, so that others with the same turns find the grade with the reply.
            Some(key) if real.is_over => self.closed = Some(self.grade(real, key)?),
            _ => self.real = Some(real),
        }
        if let RunReason::New(_, claim) = reason {
            match known {
                Some(_) => claim.settle(Answer::Turn(reply.clone(), record.clone())),
                None if was_known => claim.settle(Answer::Varies),
                None => drop(claim),
            }
        }
        Ok((reply, record))
    }

    /// The real episode after all turns so far, taken out of its place. Turns that were answered
    /// from the cache are run now, and their replies compared with those that the agent got.
    fn caught_up(&mut self) -> Result<RealEpisode<'a>, EpisodeFault> {
        let mut real = match self.real.take() {
            Some(real) => real,
            None => RealEpisode { play: self.world.open(&self.item)?, is_over: false },
        };
        for index in real.play.turns().len()..self.played.len() {
            let PlayedTurn { text, key, reply: seen } = &self.played[index];
            let (reply, record) = real.respond(text)?;
            let is_same = *seen == reply && self.turns[index].outcome == record.outcome;
            if self.key.is_some() && !is_same {
                self.forget(*key);
                self.key = None;
            }
            if self.key.is_none() {
                // What the agent saw was recorded; what is graded is the real state.
                self.turns[index] = TurnRecord { cached: true, ..record };
            }
        }
        Ok(real)
    }

    /// A real run has shown that the reply or the reward at `key` varies.
    fn forget(&self, key: Key) {
        tracing::warn!(
            task = %self.item,
            "a script that was run again had another reply or reward; it is not cached any more"
        );
        self.cache.forget(key);
    }

    /// Closes the real episode, whose turns have this key, and records or compares its result.
    fn grade(&self, real: RealEpisode<'a>, key: Key) -> Result<Closed, EpisodeFault> {
        let closed = real.play.close()?;
        let key = key.closing();
        match self.cache.known_reward(key) {
            Some(reward) if reward != closed.reward => self.forget(key),
            Some(_) => (),
            None => self.cache.insert(key, Answer::closed(&closed)),
        }
        Ok(closed)
    }

    /// The result of the episode: the recorded one, or that of the real episode.
    fn result(&mut self) -> Result<Closed, EpisodeFault> {
        if let Some(closed) = self.closed.take() {
            return Ok(closed);
        }
        let Some(key) = self.key else { return self.caught_up()?.play.close() };
        // A real episode that has all turns is closed for real, which costs no more than a grade.
        if let Some(real) = self.real.take_if(|real| real.play.turns().len() == self.turns.len()) {
            return self.grade(real, key);
        }
        match self.cache.look_up(key.closing()) {
            Lookup::Known { answer: Answer::Closed(closed), .. } => Ok(*closed),
            Lookup::Unknown(claim) => {
                let closed = self.caught_up()?.play.close()?;
                if self.key.is_some() {
                    claim.settle(Answer::closed(&closed));
                }
                Ok(closed)
            }
            Lookup::Known { .. } | Lookup::Varies => self.caught_up()?.play.close(),
        }
    }
}

impl Play for CachedPlay<'_> {
    fn respond(&mut self, text: &str) -> Result<Reply, EpisodeFault> {
        let (reply, record) = self.answer(text)?;
        if record.tool == Tool::Python {
            self.cache.count_script(record.cached);
        }
        self.turns.push(record);
        let is_late = self.started.elapsed() >= self.world.wall_limit();
        Ok(match reply {
            Reply::Observe(_) if is_late => Reply::End(EpisodeEnding::Budget),
            reply => reply,
        })
    }

    fn turns(&self) -> &[TurnRecord] {
        &self.turns
    }

    fn close(mut self: Box<Self>) -> Result<Closed, EpisodeFault> {
        let closed = self.result()?;
        Ok(Closed { turns: self.turns, ..closed })
    }
}

impl RealEpisode<'_> {
    /// Carries out a turn; returns the reply and the record of it.
    ///
    /// # Errors
    /// An [`EpisodeFault`], also if the episode is over: its wall time ended while turns were run
    /// again.
    fn respond(&mut self, text: &str) -> Result<(Reply, TurnRecord), EpisodeFault> {
        if self.is_over {
            return Err(EpisodeFault::Over);
        }
        let reply = self.play.respond(text)?;
        self.is_over = matches!(reply, Reply::End(_));
        let record = self.play.turns().last().expect("an episode has a record of each turn");
        Ok((reply, record.clone()))
    }
}
