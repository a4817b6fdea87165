//! How episodes are played.

use crate::generate::Capacity;
use crate::generate::sample::Sampling;
use crate::run::settings::{SettingsError, require};
use serde::{Deserialize, Serialize};
use tasks::units::ByteSize;

/// How episodes are played.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `rows` | 64 | conversations at once |
/// | `context` | 1536 | tokens of one conversation |
/// | `cache` | what the device has left; else room for all rows | memory for keys and values |
/// | `turn_tokens` | 640 | tokens of one turn |
/// | `trajectory_tokens` | 0 | tokens of all turns of one conversation together; 0 for no limit |
/// | `overflow` | `stop`; in `rl eval` `drop` | what happens when the context is full |
/// | `lockstep` | `false` | conversations wait for each other, so that runs are equal to the bit |
/// | `workers` | twice the processors | threads that run scripts and grade |
/// | `threads` | 1 for tiny policies, else all | threads that generate |
/// | `sampling` | temperature 1; tiny: and min-p 0.02 | how tokens are drawn |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutSettings {
    /// Conversations at once.
    pub rows: usize,
    /// Tokens of one conversation.
    pub context: usize,
    /// Memory for the keys and values of all conversations. Where it is too little for all of
    /// them, some give way and are read again later, which changes nothing but speed and
    /// rounding. At least one of full length must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<ByteSize>,
    /// Tokens of one turn.
    pub turn_tokens: usize,
    /// Tokens of all turns of one conversation together; 0 for no limit but the context.
    pub trajectory_tokens: usize,
    /// What happens when the context is full.
    pub overflow: Overflow,
    /// Whether all conversations end their turns, and then all scripts, before anybody goes on.
    /// Who shares a batch changes rounding, and it depends on how long scripts take; in lockstep
    /// it depends on nothing but the seed, and two runs on one machine with the same threads are
    /// equal to the bit. Slower: every turn waits for the slowest script.
    pub lockstep: bool,
    /// Threads that run scripts and grade.
    pub workers: usize,
    /// Threads that generate. A tiny policy's operations are too small to share, and threads that
    /// wait for each other suffer most when scripts keep the processors busy.
    pub threads: usize,
    /// How tokens are drawn.
    pub sampling: Sampling,
}

/// What happens when there is no room in the context for an answer of the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// The episode ends. Training knows nothing else: a conversation that was changed is no single
    /// sequence that the policy could be trained on.
    Stop,
    /// Turns that failed are taken out together with what the environment said of them, the oldest
    /// first, until there is room for another turn (a quarter of the context, if turns may be
    /// longer). If that is not enough, nothing but the prompt and the last turn stays (SandMLE
    /// §5.4 and its release).
    Drop,
}

impl RolloutSettings {
    /// What an engine is to hold.
    pub fn capacity(&self) -> Capacity {
        Capacity { rows: self.rows, context: self.context, cache: self.cache }
    }

    /// How much room a conversation should have before a turn, or it is shortened.
    pub(super) fn turn_room(&self) -> usize {
        self.turn_tokens.min(self.context / 4)
    }

    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`SettingsError::Range`] naming the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        require(self.rows > 0, "rollout.rows", &self.rows, "at least 1")?;
        require(self.turn_tokens > 0, "rollout.turn_tokens", &self.turn_tokens, "at least 1")?;
        require(
            self.context > self.turn_tokens,
            "rollout.context",
            &self.context,
            "above `rollout.turn_tokens`: a turn must fit beside its prompt",
        )?;
        require(
            self.sampling.check().is_ok(),
            "rollout.sampling",
            &format!("{:?}", self.sampling),
            "within the ranges of its fields",
        )
    }
}
