//! The settings of a search.

use super::policy::PolicySettings;
use serde::{Deserialize, Serialize};

/// Everything that a search is set to, but for the task, the player and the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchSettings {
    /// What is tried next.
    pub policy: PolicySettings,
    /// What a prompt shows and how an answer is sampled.
    pub operators: OperatorSettings,
    /// Most decisions. Default: 20.
    pub steps: u32,
    /// Most active time, in seconds. The script that is running then is ended. Default: 86,400.
    pub seconds: u64,
    /// Scripts in the making at once, at least 1. Default: 1. A decision sees the results of all
    /// decisions but the last `workers - 1`, whichever of them are in.
    pub workers: u32,
    /// Decisions in a row without a script after which a search ends. Default: 10.
    pub most_refused: u32,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            policy: PolicySettings::default(),
            operators: OperatorSettings::default(),
            steps: 20,
            seconds: 86_400,
            workers: 1,
            most_refused: 10,
        }
    }
}

/// What earlier scripts a prompt tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// All good ones, as AIDE does.
    Good,
    /// The siblings of the script that is to be made, as ML-Master does.
    Siblings,
    /// None.
    None,
}

/// What prompts show and how answers are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OperatorSettings {
    /// What earlier scripts a prompt tells of. Default: all good ones.
    pub memory: Memory,
    /// Whether prompts for improvements show the data and the output of the script, as AIRA's do.
    /// Default: no.
    pub rich_improve: bool,
    /// Whether prompts for repairs show the whole chain of failed scripts, as AIRA's do. Default:
    /// no.
    pub failed_chain: bool,
    /// Whether the player judges each run. Default: no.
    pub judge: bool,
    /// Sampling temperature of scripts, 0 to 2. Default: 0.6, which is AIRA's.
    pub temperature: f64,
    /// Nucleus sampling of scripts. Default: 0.95, which is AIRA's.
    pub top_p: f64,
    /// Sampling temperature of judgements and crossovers. Default: 0.5.
    pub judge_temperature: f64,
    /// Most tokens of an answer. Default: 8192.
    pub max_tokens: u32,
    /// Answers that are asked for until one has a script, at least 1. Default: 3.
    pub tries: u32,
}

impl Default for OperatorSettings {
    fn default() -> Self {
        Self {
            memory: Memory::Good,
            rich_improve: false,
            failed_chain: false,
            judge: false,
            temperature: 0.6,
            top_p: 0.95,
            judge_temperature: 0.5,
            max_tokens: 8192,
            tries: 3,
        }
    }
}
