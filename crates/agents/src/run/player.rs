//! Who answers the questions of an agent: a chat model, a recording, a script, a policy in training.

use super::job::AutoMindJob;
use super::node::{NodeId, Operator};
use crate::knowledge::Job;
use llm::{
    AnswerSchema, ChatError, ChatModel, Completion, Finish, Message, Purpose, Request, Usage,
};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};
use std::sync::Arc;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// A script.
    Script(Operator),
    /// A judgement of a run.
    Judgement,
    /// The next turn of a linear agent.
    Turn(LinearAgent),
    /// A summary of earlier turns, before the next one.
    Summary(LinearAgent),
    /// One of the many questions that `AutoMind` asks for a node.
    #[serde(rename = "automind")]
    AutoMind(AutoMindJob),
    /// A question about a knowledge base, before the first decision.
    Knowledge(Job),
}

impl Asked {
    /// Its name in records of calls.
    pub fn name(self) -> &'static str {
        match self {
            Self::Script(operator) => operator.name(),
            Self::Judgement => "judge",
            Self::Turn(_) => "turn",
            Self::Summary(_) => "summary",
            Self::AutoMind(job) => job.name(),
            Self::Knowledge(job) => job.name(),
        }
    }
}

/// The linear agents: what form their turns have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinearAgent {
    /// Thoughts and tool calls, as in the SandMLE paper.
    React,
    /// One JSON object a turn, as MLE-Dojo's agent.
    MleAgent,
}

/// A question to a player.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask<'a> {
    /// The node or turn that it is for.
    pub node: NodeId,
    /// What is asked for.
    pub what: Asked,
    /// 0 for the first try, more where an answer had no script. `AutoMind` counts its questions of a
    /// kind for a node, repairs included.
    pub attempt: u32,
    /// The conversation; the last message is the user's.
    pub messages: &'a [Message],
    /// The form of the answer; free text without one.
    pub schema: Option<&'a AnswerSchema>,
    /// Sampling temperature, 0 to 2.
    pub temperature: f64,
    /// Nucleus sampling, above 0, at most 1.
    pub top_p: f64,
    /// Most tokens of the answer.
    pub max_tokens: u32,
    /// For players that edit rather than write: the scripts of the decision's parents, in their
    /// order; for a turn, of those that are still shown, the one with the best validation score.
    pub parents: &'a [String],
}

/// A player's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens read and written.
    pub usage: Usage,
}

impl Answer {
    /// A whole answer of a player that counts no tokens.
    pub fn whole(text: impl Into<String>) -> Self {
        Self { text: text.into(), finish: Finish::Stop, usage: Usage::default() }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum PlayerFault {
    /// The question does not fit into the model's context. Less is shown then.
    #[error("the question does not fit into the context of the model: {said}")]
    ContextTooLong {
        /// The provider's message.
        said: String,
    },
    /// The model or its provider declined. The decision ends without a script.
    #[error("{0}")]
    Refused(String),
    /// The player cannot answer now. The search pauses.
    #[error("the player does not answer")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Answers the questions of agents. Any number of threads may share one.
pub trait Player: Debug + Send + Sync {
    /// Its name in headers and reports.
    fn name(&self) -> String;

    /// Answers `ask`.
    ///
    /// # Errors
    /// [`PlayerFault`].
    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault>;

    /// Which of several players answers `ask`; `None` where there is but one.
    fn answered_by(&self, _ask: &Ask<'_>) -> Option<String> {
        None
    }
}

/// A chat model as a player.
#[derive(Clone)]
pub struct ChatPlayer {
    chat: Arc<dyn ChatModel>,
    /// The provider's name of the model.
    model: String,
    /// The number of the run, for the record of calls, and so that runs of different seeds get
    /// answers of their own.
    run: u64,
}

impl ChatPlayer {
    /// The model that its provider calls `model`, for the run of number `run`.
    pub fn new(chat: Arc<dyn ChatModel>, model: impl Into<String>, run: u64) -> Self {
        Self { chat, model: model.into(), run }
    }
}

impl fmt::Debug for ChatPlayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, run, .. } = self;
        f.debug_struct("ChatPlayer").field("model", model).field("run", run).finish_non_exhaustive()
    }
}

impl Player for ChatPlayer {
    fn name(&self) -> String {
        self.model.clone()
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        let request = Request {
            schema: ask.schema.cloned(),
            temperature: Some(ask.temperature),
            top_p: (ask.top_p < 1.0).then_some(ask.top_p),
            // Two nodes may ask the same question, and are to get answers of their own.
            sample: (self.run << 32) | u64::from(ask.node.0),
            ..Request::new(&self.model, ask.messages.to_vec(), ask.max_tokens)
        };
        let purpose = Purpose {
            slot: self.run,
            role: ask.what.name().to_owned(),
            attempt: ask.node.0,
            repair: ask.attempt,
        };
        match self.chat.complete(&request, &purpose) {
            Ok(Completion { text, finish, usage, refusal, .. }) => match finish {
                Finish::Stop | Finish::Length => Ok(Answer { text, finish, usage }),
                Finish::Refusal | Finish::Filter => {
                    let category = refusal.unwrap_or_else(|| finish.name().to_owned());
                    Err(PlayerFault::Refused(format!("the model refused to answer ({category})")))
                }
            },
            Err(ChatError::ContextTooLong { said }) => Err(PlayerFault::ContextTooLong { said }),
            Err(error @ (ChatError::Refused { .. } | ChatError::Rejected { .. })) => {
                Err(PlayerFault::Refused(error.to_string()))
            }
            Err(error) => Err(PlayerFault::Unavailable(Box::new(error))),
        }
    }
}
