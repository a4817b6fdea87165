//! An episode on a server of a fleet.

use super::answer::RemoteStep;
use super::connection::{Broken, Connection};
use super::error::RemoteError;
use super::world::RemoteWorld;
use crate::play::{Closed, Play, Reply, World as _};
use crate::reward::reward;
use crate::trajectory::{EpisodeEnding, EpisodeOutcome, Tool, Trajectory, TurnRecord};
use jail::exec::Outcome;
use sandbox::env::{Action, EpisodeFault, EpisodeResult};
use std::sync::atomic::Ordering;
use std::time::Instant;
use tasks::task::Task;

/// How often an episode is begun anew after its server was lost.
const REPETITIONS: u32 = 3;

/// An episode whose environment is on a server.
#[derive(Debug)]
pub(super) struct RemotePlay<'a> {
    world: RemoteWorld<'a>,
    task: &'a Task,
    started: Instant,
    /// `None` between the loss of a server and the next turn.
    connection: Option<Connection>,
    /// What was played so far, to be repeated on another server.
    played: Vec<PlayedAction>,
    turns: Vec<TurnRecord>,
    timed_out: bool,
    is_repeatable: bool,
    /// The result, once the last step was answered.
    finish: Option<EpisodeResult>,
    /// How often its server was lost.
    losses: u32,
}

/// An action and what came of it.
#[derive(Debug)]
struct PlayedAction {
    action: Action,
    text: String,
    outcome: Option<Outcome>,
}

impl PlayedAction {
    /// Whether a repetition had the same reply.
    fn is_repeated_by(&self, step: &RemoteStep) -> bool {
        self.text == step.text && self.outcome == step.outcome && !step.done
    }
}

impl<'a> RemotePlay<'a> {
    pub(super) fn new(world: RemoteWorld<'a>, task: &'a Task, connection: Connection) -> Self {
        Self {
            world,
            task,
            started: Instant::now(),
            connection: Some(connection),
            played: Vec::new(),
            turns: Vec::new(),
            timed_out: false,
            is_repeatable: false,
            finish: None,
            losses: 0,
        }
    }

    /// Carries out an action; on another server, after all actions before it, if its own is lost.
    fn act(&mut self, action: &Action) -> Result<RemoteStep, RemoteError> {
        let deadline = self.started + self.world.wall_limit();
        loop {
            let (mut connection, is_new) = match self.connection.take() {
                Some(connection) => (connection, false),
                None => (self.world.begin(self.task)?, true),
            };
            let repeated = if is_new { self.repeat(&mut connection, deadline) } else { Ok(()) };
            match repeated.and_then(|()| connection.step(action, deadline)) {
                Ok(step) => {
                    if is_new {
                        self.world.fleet.state().redone.fetch_add(1, Ordering::Relaxed);
                    }
                    let (text, outcome) = (step.text.clone(), step.outcome.clone());
                    self.played.push(PlayedAction { action: action.clone(), text, outcome });
                    self.connection = Some(connection);
                    return Ok(step);
                }
                Err(Broken::Refused(error)) => return Err(error),
                Err(Broken::Full) => self.lose(&connection, "it has no room".to_owned())?,
                Err(Broken::Ended(why)) => self.lose(&connection, why)?,
                Err(Broken::Lost(why)) => {
                    self.world.fleet.state().note_down(connection.lease().at, &why);
                    self.lose(&connection, why)?;
                }
            }
        }
    }

    /// Carries out the actions so far on a server that is new to the episode. All replies must be
    /// those that the agent has seen.
    fn repeat(&self, connection: &mut Connection, deadline: Instant) -> Result<(), Broken> {
        for (index, played) in self.played.iter().enumerate() {
            let step = connection.step(&played.action, deadline)?;
            if !played.is_repeated_by(&step) {
                let (server, turn) = (connection.lease().server(), index + 1);
                return Err(Broken::Refused(RemoteError::Diverged { server, turn }));
            }
        }
        Ok(())
    }

    /// Takes note that the episode is gone from its server.
    fn lose(&mut self, connection: &Connection, why: String) -> Result<(), RemoteError> {
        let server = connection.lease().server();
        self.world.fleet.state().lost.fetch_add(1, Ordering::Relaxed);
        self.losses += 1;
        if self.losses > REPETITIONS {
            return Err(RemoteError::Lost { times: self.losses, server, why });
        }
        let (task, turns) = (self.task.id(), self.played.len());
        tracing::warn!(%task, turns, server, why, "an episode was lost; it is played again");
        Ok(())
    }
}

impl Play for RemotePlay<'_> {
    fn respond(&mut self, text: &str) -> Result<Reply, EpisodeFault> {
        let turn = self.world.rules.tool_call_format.parse(text);
        if self.finish.is_some() {
            return Err(EpisodeFault::Over);
        }
        let step = self.act(&turn.action)?;
        self.timed_out |= matches!(step.outcome, Some(Outcome::TimedOut));
        let record = TurnRecord {
            tool: Tool::of(&turn.action),
            has_thought: turn.has_thought,
            outcome: step.outcome,
            seconds: step.seconds,
            cached: false,
        };
        self.is_repeatable = record.ended_by_itself() && !step.depends_on_time;
        self.turns.push(record);
        self.finish = step.finish;
        // The server's clock began anew with a repetition; this one did not.
        let is_late = self.losses > 0 && self.started.elapsed() >= self.world.wall_limit();
        self.is_repeatable &= !is_late;
        Ok(match (&turn.action, step.done || is_late) {
            (Action::Answer, _) => Reply::End(EpisodeEnding::Answered),
            (_, true) => Reply::End(EpisodeEnding::Budget),
            (_, false) => Reply::Observe(step.text),
        })
    }

    fn turns(&self) -> &[TurnRecord] {
        &self.turns
    }

    fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    fn close(mut self: Box<Self>) -> Result<Closed, EpisodeFault> {
        let finish = if let Some(finish) = self.finish.take() {
            finish
        } else {
            // The conversation ended before the episode: the submission is graded as it is.
            let step = self.act(&Action::Answer)?;
            step.finish.ok_or_else(|| RemoteError::Protocol {
                server: self.world.fleet.state().states(),
                why: "the last step has no grade".to_owned(),
            })?
        };
        let (rules, way) = (self.world.rules, self.task.beyond_gold());
        let format_share = Trajectory::format_share(&self.turns);
        Ok(Closed {
            reward: reward(&rules.reward, format_share, finish.grade.as_ref(), way.as_ref()),
            turns: self.turns,
            timed_out: self.timed_out,
            feedback: Some(rules.episode.feedback),
            outcome: EpisodeOutcome::Mle(finish),
        })
    }
}
