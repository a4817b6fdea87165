//! The settings of a linear agent.

use crate::prompt::PromptStyle;
use crate::run::player::LinearAgent;
use serde::{Deserialize, Serialize};

/// What happens when a conversation is longer than its bound, or than the model's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LongConversation {
    /// The run ends, and is graded as it stands.
    End,
    /// Turns that failed are left out, oldest first; then all but the last.
    Drop,
    /// The older half of the turns makes way for a summary that the agent writes of it (APOLLO §3.1).
    Summarise,
}

/// Everything that a linear agent is set to, but for the task, the player and the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinearSettings {
    /// Which agent. Default: `react`.
    pub agent: LinearAgent,
    /// Most turns. Default: 20.
    pub turns: u32,
    /// Most active time, in seconds. The script that is running then is ended. Default: 86,400.
    pub seconds: u64,
    /// How much of the task the prompt of `react` contains. Default: all of it. `brief` is for
    /// policies that were trained with it.
    pub prompt: PromptStyle,
    /// Sampling temperature, 0 to 2. Default: 0.6.
    pub temperature: f64,
    /// Nucleus sampling, above 0, at most 1. Default: 0.95.
    pub top_p: f64,
    /// Most tokens of an answer. Default: 8192.
    pub max_tokens: u32,
    /// What happens when the conversation is too long. Default: `drop`.
    pub overflow: LongConversation,
    /// Most tokens of a conversation, at four characters each; 0 for as many as the model takes.
    /// Default: 0.
    pub input_tokens: u32,
    /// Show this many of the latest turns only; 0 for all. No summary is written of the others. Default: 0.
    pub recent: u32,
    /// Times that an answer of `mle-agent` which is not in its form is asked for again. Default: 3.
    pub repairs: u32,
}

impl Default for LinearSettings {
    fn default() -> Self {
        Self {
            agent: LinearAgent::React,
            turns: 20,
            seconds: 86_400,
            prompt: PromptStyle::Full,
            temperature: 0.6,
            top_p: 0.95,
            max_tokens: 8192,
            overflow: LongConversation::Drop,
            input_tokens: 0,
            recent: 0,
            repairs: 3,
        }
    }
}
