//! What ways of training an agent may use.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What ways of training an agent may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Whatever it likes.
    Free,
    /// Supervised losses alone.
    SftOnly,
    /// Updates by reward are to be the main means; a supervised warm-up is allowed.
    RlOriented,
    /// Whatever it likes, for one model that does all tasks.
    Multi,
}

/// What holds an agent to its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldBy {
    /// There is nothing to hold.
    Nothing,
    /// It is told so, and could do otherwise.
    Instructions,
    /// It is told so, and the toolbox has nothing else. What an agent writes itself is not held.
    Toolbox,
}

/// A word that is no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no mode; one of free, sft-only, rl-oriented, multi")]
pub struct UnknownMode(String);

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Free, Self::SftOnly, Self::RlOriented, Self::Multi];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::SftOnly => "sft-only",
            Self::RlOriented => "rl-oriented",
            Self::Multi => "multi",
        }
    }

    /// What holds an agent to it.
    pub fn held_by(self) -> HeldBy {
        match self {
            // One model is all that can be submitted.
            Self::Free | Self::Multi => HeldBy::Nothing,
            Self::SftOnly => HeldBy::Toolbox,
            Self::RlOriented => HeldBy::Instructions,
        }
    }

    /// The commands of `rl` that the toolbox refuses, and why, for the agent.
    pub fn refused_commands(self) -> Option<(&'static [&'static str], &'static str)> {
        match self {
            Self::SftOnly => Some((
                &["train", "prefer"],
                "this run is in the mode sft-only: supervised losses alone; use `rl sft`",
            )),
            Self::Free | Self::RlOriented | Self::Multi => None,
        }
    }

    /// What an agent is told of it.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Free => "Train in whatever way you like.",
            Self::SftOnly => {
                "Use supervised losses alone: fine-tuning on examples, your own successes among them. \
                 No policy gradient, no preference loss. `rl train` and `rl prefer` are refused."
            }
            Self::RlOriented => {
                "Updates driven by reward are to be the main means: rollouts by the current weights, a \
                 reward, a gradient, again. A supervised warm-up is allowed. Say in \
                 `reports/summary.md` where in your code that loop closes."
            }
            Self::Multi => {
                "Make one model that does all tasks. Each submission is graded on every task, and its score \
                 is the mean of its scores on them. Train in whatever way you like."
            }
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;
    fn from_str(given: &str) -> Result<Self, UnknownMode> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == given);
        found.ok_or_else(|| UnknownMode(given.to_owned()))
    }
}
