//! A policy in this process as the player of searches and linear agents: messages in, text out.
//!
//! Any number of runs ask at once. Each ask becomes a job of the one generator, which batches them
//! (`generate::jobs`), and the run waits for its answer.

use crate::generate::engine::{EngineError, TurnEnd, TurnExtras, TurnOptions};
use crate::generate::jobs::{GenerationJob, JobEvent, generate};
use crate::generate::sample::Sampling;
use crate::generate::{Capacity, NativeGenerator};
use crate::model::Qwen3;
use crate::text::template::{
    ChatMessage, ChatRole, ChatTemplate, ChatTemplateOptions, TemplateError,
};
use crate::text::tokenizer::{Tokenizer, TokenizerError};
use agents::run::player::{Answer, Ask, Player, PlayerFault};
use evals::bench::runner::{PlayerError, PlayerSource};
use llm::{Finish, Message, Role, Usage};
use std::sync::Arc;
use std::thread;
use tasks::metrics::Direction;
use tasks::stream::Stream;
use tasks::task::Task;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// How a policy answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlayerSettings {
    /// Sequences at a time, tokens of a prompt and its answer together, size of the KV cache.
    pub capacity: Capacity,
    /// Most tokens of an answer, whatever a scaffold allows.
    pub turn_tokens: usize,
    /// Tokens less likely than this, relative to the likeliest, are never drawn, in [0, 1].
    /// Temperature and top-p are the scaffold's.
    pub min_p: f64,
}

/// Why a policy cannot play.
#[derive(Debug, thiserror::Error)]
pub enum PolicyPlayerError {
    /// Its chat template cannot be used.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Generation failed.
    #[error("failed to generate")]
    Engine(#[from] EngineError),
}

/// Plays with a policy: calls `play` on a thread of its own while this thread generates what its
/// players ask for, and returns what `play` returned.
///
/// # Errors
/// [`PolicyPlayerError`].
pub fn with_policy<T: Send>(
    name: &str,
    model: &Qwen3,
    tokenizer: Tokenizer,
    settings: PlayerSettings,
    play: impl FnOnce(&PolicyPlayers) -> T + Send,
) -> Result<T, PolicyPlayerError> {
    let tokenizer = Arc::new(tokenizer);
    let template = Arc::new(ChatTemplate::new(Arc::clone(&tokenizer))?);
    let longest = usize::try_from(model.config().max_position_embeddings).unwrap_or(usize::MAX);
    let capacity =
        Capacity { context: settings.capacity.context.min(longest), ..settings.capacity };
    let settings = PlayerSettings { capacity, ..settings };
    let (jobs, receiver) = unbounded_channel();
    let players = PolicyPlayers(PolicyPlayer {
        name: name.to_owned(),
        tokenizer,
        template,
        settings,
        jobs,
        stream: Stream::root(0),
    });
    thread::scope(|scope| {
        // The players, and with them the last sender of jobs, are gone once `play` has returned.
        let played = scope.spawn(move || play(&players));
        let mut generator = NativeGenerator::new(model, capacity);
        let generated = generate(&mut generator, capacity.rows, receiver);
        match (played.join(), generated) {
            (Ok(played), Ok(())) => Ok(played),
            (Ok(_), Err(error)) => Err(error.into()),
            (Err(panic), _) => std::panic::resume_unwind(panic),
        }
    })
}

/// A policy as the player of every run of a benchmark.
#[derive(Debug)]
pub struct PolicyPlayers(PolicyPlayer);

impl PlayerSource for PolicyPlayers {
    fn player(&self, task: &Task, _: Direction, seed: u64) -> Result<Box<dyn Player>, PlayerError> {
        let stream = Stream::root(seed).child("player").child(task.id().as_str());
        Ok(Box::new(PolicyPlayer { stream, ..self.0.clone() }))
    }
}

/// The player of one run.
#[derive(Debug, Clone)]
struct PolicyPlayer {
    name: String,
    tokenizer: Arc<Tokenizer>,
    template: Arc<ChatTemplate<Arc<Tokenizer>>>,
    settings: PlayerSettings,
    jobs: UnboundedSender<GenerationJob>,
    /// The root of its draws: every ask has its own.
    stream: Stream,
}

/// The generator has ended before an answer did.
#[derive(Debug, thiserror::Error)]
#[error("generation ended")]
struct Ended;

impl Player for PolicyPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        let messages: Vec<ChatMessage> = ask.messages.iter().map(chat_message).collect();
        let ids = self
            .template
            .apply(&messages, &ChatTemplateOptions::default())
            .map_err(|error| PlayerFault::Unavailable(Box::new(error)))?;
        let context = self.settings.capacity.context;
        if ids.len() >= context {
            let said = format!("{} tokens, and {context} is the context length", ids.len());
            return Err(PlayerFault::ContextTooLong { said });
        }
        let draws = self.stream.child(ask.what.name()).index(u64::from(ask.node.0));
        let most = usize::try_from(ask.max_tokens).unwrap_or(usize::MAX);
        let turn = TurnOptions {
            sampling: Sampling {
                temperature: ask.temperature,
                top_p: ask.top_p,
                min_p: self.settings.min_p,
                top_k: 0,
            },
            stream: draws.index(u64::from(ask.attempt)),
            max_tokens: most.min(self.settings.turn_tokens).max(1),
            ignore_eos: false,
        };
        let input = ids.len() as u64;
        let (events, mut receiver) = unbounded_channel();
        let ended = || PlayerFault::Unavailable(Box::new(Ended));
        let job = GenerationJob { ids, turn, extras: TurnExtras::default(), events, permit: None };
        self.jobs.send(job).map_err(|_| ended())?;
        let mut sampled = Vec::new();
        let ending = loop {
            match receiver.blocking_recv().ok_or_else(ended)? {
                JobEvent::Prompt { .. } => (),
                JobEvent::Token { id, .. } => sampled.push(id),
                JobEvent::End(ending) => break ending,
                JobEvent::Refused(said) => return Err(PlayerFault::Unavailable(said.into())),
            }
        };
        Ok(Answer {
            text: self.text(&sampled).map_err(|error| PlayerFault::Unavailable(error.into()))?,
            finish: match ending {
                TurnEnd::EndOfTurn => Finish::Stop,
                TurnEnd::TurnLength | TurnEnd::ContextFull => Finish::Length,
            },
            usage: Usage { input, output: sampled.len() as u64, ..Usage::default() },
        })
    }
}

impl PolicyPlayer {
    /// The text of sampled tokens, without control tokens.
    fn text(&self, ids: &[i64]) -> Result<String, TokenizerError> {
        let text: Vec<i64> =
            ids.iter().copied().filter(|id| !self.tokenizer.is_control(*id)).collect();
        self.tokenizer.decode(&text)
    }
}

fn chat_message(message: &Message) -> ChatMessage {
    let role = match message.role {
        Role::System => ChatRole::System,
        Role::User => ChatRole::User,
        Role::Assistant => ChatRole::Assistant,
    };
    ChatMessage::new(role, &message.content)
}
