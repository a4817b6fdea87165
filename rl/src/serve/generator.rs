//! The thread that owns the engine: jobs in, tokens out.

use crate::generate::engine::{Ending, EngineError, Turn};
use crate::generate::{ConversationId, Generator};
use crate::run::watchdog::Heartbeat;
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// One answer to generate. Whoever drops the receiving end of `events` gives it up.
#[derive(Debug)]
pub(super) struct Job {
    /// The token ids of the prompt.
    pub(super) ids: Vec<i64>,
    pub(super) turn: Turn,
    /// Bounded by the longest turn, and so never in need of another bound.
    pub(super) events: UnboundedSender<Event>,
    /// Its place among the answers in work or waiting.
    pub(super) place: OwnedSemaphorePermit,
}

/// What happens to a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    /// A token was sampled.
    Token {
        /// The id of the token.
        id: i64,
        /// Its log-probability, as [`Generated`](crate::generate::Generated) has it.
        log_prob: f32,
    },
    /// The answer is complete; the last event.
    End(Ending),
    /// The engine refused the job; the last event.
    Refused(String),
}

/// A job that has a row.
struct Speaker {
    job: Job,
    /// Tokens told so far.
    told: usize,
}

impl Speaker {
    fn tell(&mut self, ids: &[i64], log_probs: &[f32]) {
        for (&id, &log_prob) in ids.iter().zip(log_probs).skip(self.told) {
            // Nobody listens to a job that was given up; its row is freed before the next step.
            let _ = self.job.events.send(Event::Token { id, log_prob });
        }
        self.told = ids.len();
    }
}

/// Generates until the last sender of jobs is gone and every job has ended or was given up.
///
/// # Errors
/// What the engine says when it cannot go on: the weights are broken.
pub(super) fn generate(
    generator: &mut dyn Generator,
    rows: usize,
    mut jobs: UnboundedReceiver<Job>,
) -> Result<(), EngineError> {
    let mut waiting: VecDeque<Job> = VecDeque::new();
    let mut speaking: BTreeMap<ConversationId, Speaker> = BTreeMap::new();
    let rows = generator.begin(rows)?;
    let heartbeat = Heartbeat::default();
    let mut jobs_so_far = 0;
    loop {
        if waiting.is_empty() && speaking.is_empty() {
            match jobs.blocking_recv() {
                Some(job) => waiting.push_back(job),
                None => return Ok(()),
            }
        }
        while let Ok(job) = jobs.try_recv() {
            waiting.push_back(job);
        }
        waiting.retain(|job| !job.events.is_closed());
        let left: Vec<ConversationId> = speaking
            .iter()
            .filter(|(_, speaker)| speaker.job.events.is_closed())
            .map(|(conversation, _)| *conversation)
            .collect();
        for conversation in left {
            speaking.remove(&conversation);
            generator.end(conversation)?;
        }
        while speaking.len() < rows
            && let Some(job) = waiting.pop_front()
        {
            let conversation = ConversationId(jobs_so_far);
            jobs_so_far += 1;
            match generator.start(conversation, &job.ids, job.turn) {
                Ok(()) => {
                    speaking.insert(conversation, Speaker { job, told: 0 });
                }
                Err(error) => {
                    let _ = job.events.send(Event::Refused(error.to_string()));
                }
            }
        }
        let finished = generator.poll(&heartbeat)?;
        for (conversation, speaker) in &mut speaking {
            let (ids, log_probs) = generator.said(*conversation)?;
            if !ids.is_empty() {
                speaker.tell(ids, log_probs);
            }
        }
        for turn in finished {
            if let Some(mut speaker) = speaking.remove(&turn.conversation) {
                speaker.tell(&turn.ids, &turn.log_probs);
                let Job { events, place, .. } = speaker.job;
                generator.end(turn.conversation)?;
                // Who reads the end may ask again at once, and must find the place free.
                drop(place);
                let _ = events.send(Event::End(turn.ending));
            }
        }
    }
}
