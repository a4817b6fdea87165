//! The loop that owns an engine: jobs of any number of threads in, tokens out.

use super::engine::{EngineError, TurnDetails, TurnEnd, TurnExtras, TurnOptions};
use super::sample::{ScoredToken, TopToken};
use super::{ConversationId, Generator as _, NativeGenerator};
use crate::run::watchdog::Heartbeat;
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// One choice to generate. Dropping the receiving end of `events` cancels it.
#[derive(Debug)]
pub(crate) struct GenerationJob {
    /// The token ids of the prompt.
    pub(crate) ids: Vec<i64>,
    pub(crate) turn: TurnOptions,
    pub(crate) extras: TurnExtras,
    /// Unbounded, because a turn has a largest number of tokens.
    pub(crate) events: UnboundedSender<JobEvent>,
    /// Counts the job among those that run or wait, where somebody counts them.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}

/// The progress of a job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JobEvent {
    /// The prompt was read; the first event.
    Prompt {
        /// How many of its tokens were cached already.
        cached_tokens: usize,
        /// The scores of its tokens from the second on, if the job asks for them.
        scores: Vec<ScoredToken>,
    },
    /// A token was sampled.
    Token {
        /// The id of the token.
        id: i64,
        /// Its log-probability, as [`Generated`](super::Generated) has it.
        log_prob: f32,
        /// The likeliest tokens in its place, as many as the job asks for.
        top: Vec<TopToken>,
    },
    /// The turn is complete; the last event.
    End(TurnEnd),
    /// The engine refused the job or could not go on with it; the last event.
    Refused(String),
}

/// A job that has a row of the engine.
struct RunningJob {
    job: GenerationJob,
    /// Tokens sent so far; before the first, what is known of the prompt.
    sent: usize,
}

impl RunningJob {
    /// Sends the tokens that were not sent yet; the slices hold all tokens of the turn so far.
    fn send(&mut self, ids: &[i64], log_probs: &[f32], details: &TurnDetails) {
        // Sending fails if the job was cancelled; its row is freed before the next step.
        if self.sent == 0 {
            let (cached_tokens, scores) = (details.cached_tokens, details.prompt.clone());
            let _ = self.job.events.send(JobEvent::Prompt { cached_tokens, scores });
        }
        for (index, (&id, &log_prob)) in ids.iter().zip(log_probs).enumerate().skip(self.sent) {
            let top = details.top.get(index).cloned().unwrap_or_default();
            let _ = self.job.events.send(JobEvent::Token { id, log_prob, top });
        }
        self.sent = ids.len();
    }
}

/// Generates until the last sender of jobs is dropped and every job has ended or was cancelled.
///
/// # Errors
/// An [`EngineError`] after which generation cannot continue, such as logits that are not finite.
pub(crate) fn generate(
    generator: &mut NativeGenerator<'_>,
    rows: usize,
    mut jobs: UnboundedReceiver<GenerationJob>,
) -> Result<(), EngineError> {
    let mut waiting: VecDeque<GenerationJob> = VecDeque::new();
    let mut running: BTreeMap<ConversationId, RunningJob> = BTreeMap::new();
    let rows = generator.begin(rows)?;
    let heartbeat = Heartbeat::default();
    let mut jobs_so_far = 0;
    loop {
        if waiting.is_empty() && running.is_empty() {
            match jobs.blocking_recv() {
                Some(job) => waiting.push_back(job),
                None => return Ok(()),
            }
        }
        while let Ok(job) = jobs.try_recv() {
            waiting.push_back(job);
        }
        waiting.retain(|job| !job.events.is_closed());
        let cancelled: Vec<ConversationId> = running
            .iter()
            .filter(|(_, running)| running.job.events.is_closed())
            .map(|(conversation, _)| *conversation)
            .collect();
        for conversation in cancelled {
            running.remove(&conversation);
            generator.end(conversation)?;
        }
        while running.len() < rows
            && let Some(job) = waiting.pop_front()
        {
            let conversation = ConversationId(jobs_so_far);
            jobs_so_far += 1;
            match generator.start_request(conversation, &job.ids, job.turn, job.extras.clone()) {
                Ok(()) => {
                    running.insert(conversation, RunningJob { job, sent: 0 });
                }
                Err(error) => {
                    let _ = job.events.send(JobEvent::Refused(error.to_string()));
                }
            }
        }
        let finished = generator.poll(&heartbeat)?;
        for (conversation, job) in &mut running {
            let (ids, log_probs) = generator.partial_turn(*conversation)?;
            if !ids.is_empty() {
                job.send(ids, log_probs, generator.details(*conversation)?);
            }
        }
        for turn in finished {
            if let Some(mut running) = running.remove(&turn.conversation) {
                let details = generator.details(turn.conversation)?;
                running.send(&turn.ids, &turn.log_probs, details);
                let failure = details.failure.clone();
                let GenerationJob { events, permit, .. } = running.job;
                generator.end(turn.conversation)?;
                // A client that reads the end may send another request at once, so the permit
                // must be free by then.
                drop(permit);
                let last = failure.map_or(JobEvent::End(turn.ending), JobEvent::Refused);
                let _ = events.send(last);
            }
        }
    }
}
