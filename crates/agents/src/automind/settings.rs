//! The settings of `AutoMind`.

use super::policy::AutoMindPolicy;
use crate::run::knowledge::{KnowledgeSelection, KnowledgeSettings};
use crate::search::policy::setting;
use serde::{Deserialize, Serialize};

/// Everything that a run is set to, but for the task, the player and the seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AutoMindSettings {
    /// What is tried next.
    pub policy: AutoMindPolicy,
    /// Which tricks stand ready, and how they are used.
    pub tricks: TrickSettings,
    /// How the knowledge of the run is found.
    #[serde(skip_serializing_if = "KnowledgeSettings::is_default")]
    pub knowledge: KnowledgeSettings,
    /// How plans become scripts.
    pub coder: CoderSettings,
    /// How runs are judged.
    pub verifier: VerifierSettings,
    /// How answers are sampled.
    pub sampling: SamplingSettings,
    /// Which node is submitted. Default: that of the best metric.
    pub select: SelectBy,
    /// Most decisions. Default: 500.
    pub steps: u32,
    /// Questions to the player after which no step begins, for comparisons at equal cost; the step
    /// that asks the last of them is finished. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// Most active time, in seconds. Default: 86,400. A script is ended then, and none begins when
    /// less than a tenth of a script's time limit is left.
    pub seconds: u64,
    /// Scripts in the making at once, at least 1. Default: 1.
    pub workers: u32,
    /// Decisions in a row without a script after which a run ends. Default: 10.
    pub most_refused: u32,
}

impl Default for AutoMindSettings {
    fn default() -> Self {
        Self {
            policy: AutoMindPolicy::default(),
            tricks: TrickSettings::default(),
            knowledge: KnowledgeSettings::default(),
            coder: CoderSettings::default(),
            verifier: VerifierSettings::default(),
            sampling: SamplingSettings::default(),
            select: SelectBy::Best,
            steps: 500,
            calls: None,
            seconds: 86_400,
            workers: 1,
            most_refused: 10,
        }
    }
}

/// Which tricks stand ready, and how they are used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrickSettings {
    /// Which stand ready. Default: none.
    pub knowledge: KnowledgeSelection,
    /// Most that stand ready. Default: 12.
    pub ready: usize,
    /// Probability that an improvement tries one. Default: 0.8.
    #[serde(deserialize_with = "setting::share")]
    pub probability: f64,
    /// What the prompts of drafts show. Default: none.
    pub drafts: DraftKnowledge,
    /// When a trick that was tried counts as of no use for this run. Default: any.
    pub mark: MarkTrick,
}

impl Default for TrickSettings {
    fn default() -> Self {
        Self {
            knowledge: KnowledgeSelection::None,
            ready: 12,
            probability: 0.8,
            drafts: DraftKnowledge::None,
            mark: MarkTrick::Any,
        }
    }
}

/// What knowledge the prompts of drafts show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DraftKnowledge {
    /// None.
    None,
    /// The tricks that stand ready.
    Tricks,
    /// Two published methods, from which the draft is planned in stages.
    Papers,
    /// Both: where the stages give no plan, the tricks that stand ready are shown.
    Both,
}

impl DraftKnowledge {
    /// Whether tricks are shown.
    pub fn shows_tricks(self) -> bool {
        matches!(self, Self::Tricks | Self::Both)
    }

    /// Whether drafts are planned from published methods.
    pub fn uses_papers(self) -> bool {
        matches!(self, Self::Papers | Self::Both)
    }
}

/// When a trick that was tried counts as of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkTrick {
    /// Whenever the script with it is not better than the one without.
    Any,
    /// When it is worse by more than a standard error of its folds; without folds, as `any`.
    Significant,
}

/// How plans become scripts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoderSettings {
    /// How drafts and repairs are coded. Default: adaptive.
    pub mode: CodingMode,
    /// How improvements are coded. Default: one-pass, as the release of the paper does.
    pub improve: CodingMode,
    /// Plans of a higher complexity than this, 1 to 5, are coded step by step. Default: 3.5.
    #[serde(deserialize_with = "setting::not_negative")]
    pub threshold: f64,
    /// Most steps of a plan; what follows becomes part of the last. Default: 6.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub steps: usize,
    /// Times that a step is written before the node is given up. Default: 3.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub tries: usize,
    /// Answers that are asked for until one compiles. Default: 3.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub answers: usize,
    /// Whether a script that was written step by step is run once more as a whole. Default: yes.
    pub rejoin: bool,
}

impl Default for CoderSettings {
    fn default() -> Self {
        Self {
            mode: CodingMode::Adaptive,
            improve: CodingMode::OnePass,
            threshold: 3.5,
            steps: 6,
            tries: 3,
            answers: 3,
            rejoin: true,
        }
    }
}

/// How a plan becomes a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodingMode {
    /// By its complexity.
    Adaptive,
    /// In one piece.
    OnePass,
    /// Step by step.
    Stepwise,
}

/// How runs are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VerifierSettings {
    /// Which runs the player is asked about. Default: those in which a program finds no fault.
    pub ask: VerifyRuns,
}

impl Default for VerifierSettings {
    fn default() -> Self {
        Self { ask: VerifyRuns::Good }
    }
}

/// Which runs the player is asked to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyRuns {
    /// None: rules judge all.
    None,
    /// Those in which a program finds no fault.
    Good,
    /// All.
    All,
}

/// How answers are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingSettings {
    /// Sampling temperature of plans and scripts, 0 to 2. Default: 0.5.
    pub temperature: f64,
    /// Sampling temperature of judgements. Default: 0.
    pub judge_temperature: f64,
    /// Nucleus sampling, above 0, at most 1. Default: 1.
    pub top_p: f64,
    /// Most tokens of an answer. Default: 8192.
    pub max_tokens: u32,
    /// Times that an answer which cannot be read is asked for again. Default: 2.
    pub repairs: u32,
}

impl Default for SamplingSettings {
    fn default() -> Self {
        Self { temperature: 0.5, judge_temperature: 0.0, top_p: 1.0, max_tokens: 8192, repairs: 2 }
    }
}

/// Which node is submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelectBy {
    /// That of the best metric.
    Best,
    /// That of the best metric less one standard error of its folds, where a script reports
    /// folds: the best of many on few rows is inflated.
    LowerBound,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_written_and_unknown_ones_are_refused() {
        let settings = AutoMindSettings::default();
        let text = toml::to_string(&settings).unwrap();
        assert_eq!(toml::from_str::<AutoMindSettings>(&text).unwrap(), settings);
        assert_eq!(toml::from_str::<AutoMindSettings>("").unwrap(), settings);
        for wrong in [
            "step = 3",
            "coder.threshold = -1.0",
            "coder.tries = 0",
            "tricks.probability = 1.5",
            "tricks.knowledge = \"all\"",
            "policy.greedy_probability = 2.0",
            "policy.drafts = 0",
            "knowledge.labels = \"votes\"",
        ] {
            assert!(toml::from_str::<AutoMindSettings>(wrong).is_err(), "{wrong}");
        }
    }
}
