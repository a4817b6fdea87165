//! The settings of FT-Agent.

use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::time::Duration;
use tasks::units::{ByteSize, Span};

/// How models are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Adapters beside frozen weights.
    Lora,
    /// All weights.
    Full,
}

/// What an experiment may take.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `samples` | 2,000 | most samples that reach the trainer |
/// | `methods` | `lora`, `full` | ways of training |
/// | `learning_rate` | 0.1 | highest learning rate: above it nothing is learnt by any model |
/// | `coder_rounds` | 10 | drafts of one proposal |
/// | `planner_repairs` | 3 | times that a planner's answer is asked for again because it cannot be read |
/// | `debug_data` | 20 min | the debug run of a script |
/// | `mini_samples`, `mini_updates` | 32, 10 | size of the mini-run |
/// | `mini_run` | 30 min | the mini-run, its estimate included |
/// | `data` | 1 h | the full run of a script |
/// | `data_bytes` | 256 MiB | what a script may write |
/// | `script_memory` | 2 GiB | memory of a script |
/// | `teacher_questions`, `teacher_debug_questions` | 4,000, 100 | questions to a teacher in a full and in a debug run |
/// | `teacher_answer_tokens` | 4,096 | tokens of an answer of a teacher, thoughts included |
/// | `teacher_rounds` | 20 | times that a script is run again with new answers |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FtLimits {
    /// Most samples that reach the trainer; 1 to 1,000,000.
    pub samples: u32,
    /// Ways of training; at least one.
    pub methods: Vec<Method>,
    /// Highest learning rate; above 0.
    pub learning_rate: f64,
    /// Drafts of one proposal; at least 1.
    pub coder_rounds: u32,
    /// Times that an answer of a planner is asked for again because it cannot be read; at most 10.
    pub planner_repairs: u32,
    /// Time of the debug run of a script.
    pub debug_data: Span,
    /// Samples of the mini-run; at least 1.
    pub mini_samples: u32,
    /// Updates of the mini-run; at least 1.
    pub mini_updates: u32,
    /// Time of the mini-run, with its estimate.
    pub mini_run: Span,
    /// Time of the full run of a script.
    pub data: Span,
    /// Bytes that a script may write.
    pub data_bytes: ByteSize,
    /// Memory of a script.
    pub script_memory: ByteSize,
    /// Questions to a teacher in a full run of a script; 1 to 1,000,000.
    pub teacher_questions: u32,
    /// The same in a debug run; 1 to 1,000,000.
    pub teacher_debug_questions: u32,
    /// Tokens of an answer of a teacher, thoughts included; 1 to 1,000,000.
    pub teacher_answer_tokens: u32,
    /// Times that a script is run again with new answers; 1 to 1,000.
    pub teacher_rounds: u32,
}

impl Default for FtLimits {
    fn default() -> Self {
        Self {
            samples: 2000,
            methods: vec![Method::Lora, Method::Full],
            learning_rate: 0.1,
            coder_rounds: 10,
            planner_repairs: 3,
            debug_data: Span(Duration::from_mins(20)),
            mini_samples: 32,
            mini_updates: 10,
            mini_run: Span(Duration::from_mins(30)),
            data: Span(Duration::from_hours(1)),
            data_bytes: ByteSize::mib(256),
            script_memory: ByteSize::gib(2),
            teacher_questions: 4000,
            teacher_debug_questions: 100,
            teacher_answer_tokens: 4096,
            teacher_rounds: 20,
        }
    }
}

/// What the checks let pass.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `retention` | 0.2 | share of the samples that all filters together must keep |
/// | `duplicates` | 0.5 | share of the samples that may be there before |
/// | `reasoning_words` | 3 | words before the answer |
/// | `explosion` | 3 | times its start that a loss may reach |
/// | `over_long` | 0.5 | share of the samples that may be longer than the context |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FtChecks {
    /// Share that all filters together must keep, unless the proposal says that less is meant; 0 to 1.
    pub retention: f64,
    /// Share of samples that may be there before; 0 to 1.
    pub duplicates: f64,
    /// Words before the answer of a sample; 0 for no reasoning.
    pub reasoning_words: usize,
    /// Times its start that a loss may reach; above 1.
    pub explosion: f64,
    /// Share of samples that may be longer than the context; 0 to 1.
    pub over_long: f64,
}

impl Default for FtChecks {
    fn default() -> Self {
        Self { retention: 0.2, duplicates: 0.5, reasoning_words: 3, explosion: 3.0, over_long: 0.5 }
    }
}

/// What makes an experiment the best one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcceptRule {
    /// A higher primary metric on which enough resamples of the items agree.
    Bootstrap,
    /// A higher primary metric: the paper's rule.
    Primary,
}

/// When an experiment is accepted.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `rule` | `bootstrap` | see [`AcceptRule`] |
/// | `agree` | 0.8 | share of the resamples that must agree |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FtAccept {
    /// See [`AcceptRule`].
    pub rule: AcceptRule,
    /// Share of the resamples that must agree; 0 to 1.
    pub agree: f64,
}

impl Default for FtAccept {
    fn default() -> Self {
        Self { rule: AcceptRule::Bootstrap, agree: 0.8 }
    }
}

/// How a proposal comes to its scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workflow {
    /// FT-Agent: cheap checks come first, and the planner sees all earlier experiments.
    #[default]
    FailFast,
    /// What FT-Agent is compared with, a generalist with the same tools: all of the data, all of the
    /// training, then the scores. What fails goes back to the planner. Nothing is tried on a small scale
    /// beforehand, no loss is watched, and the planner sees no earlier experiment.
    Staged,
}

/// The settings of FT-Agent, as they are written.
///
/// # Examples
/// ```rust
/// use posttrain::ft::FtSettings;
///
/// let settings: FtSettings = toml::from_str("[limits]\nsamples = 500\nmini_run = \"5m\"")?;
/// assert_eq!(settings.check()?.limits.samples, 500);
/// let wrong: FtSettings = toml::from_str("[checks]\nretention = 20")?;
/// assert_eq!(
///     wrong.check().unwrap_err().to_string(),
///     "`checks.retention` is 20; it must be 0 to 1"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FtSettings {
    /// How a proposal comes to its scores.
    pub workflow: Workflow,
    /// What an experiment may take.
    pub limits: FtLimits,
    /// What the checks let pass.
    pub checks: FtChecks,
    /// When an experiment is accepted.
    pub accept: FtAccept,
}

/// Settings whose values are in their ranges.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedFtSettings(FtSettings);

/// A value that is out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` is {found}; it must be {expected}")]
pub struct FtSettingsError {
    /// The key.
    key: &'static str,
    /// The value.
    found: String,
    /// What is accepted.
    expected: &'static str,
}

impl FtSettings {
    /// Checks all ranges.
    ///
    /// # Errors
    /// [`FtSettingsError`] for the first value that is out of its range.
    pub fn check(self) -> Result<CheckedFtSettings, FtSettingsError> {
        let Self { workflow: _, limits, checks, accept } = &self;
        let counts = [
            ("limits.samples", limits.samples, 1_000_000),
            ("limits.coder_rounds", limits.coder_rounds, 100),
            ("limits.mini_samples", limits.mini_samples, 1_000),
            ("limits.mini_updates", limits.mini_updates, 1_000),
            ("limits.teacher_questions", limits.teacher_questions, 1_000_000),
            ("limits.teacher_debug_questions", limits.teacher_debug_questions, 1_000_000),
            ("limits.teacher_answer_tokens", limits.teacher_answer_tokens, 1_000_000),
            ("limits.teacher_rounds", limits.teacher_rounds, 1_000),
        ];
        for (key, found, most) in counts {
            let expected = match most {
                1_000_000 => "1 to 1000000",
                100 => "1 to 100",
                _ => "1 to 1000",
            };
            require((1..=most).contains(&found), key, &found, expected)?;
        }
        let repairs = limits.planner_repairs;
        require(repairs <= 10, "limits.planner_repairs", &repairs, "0 to 10")?;
        let shares = [
            ("checks.retention", checks.retention),
            ("checks.duplicates", checks.duplicates),
            ("checks.over_long", checks.over_long),
            ("accept.agree", accept.agree),
        ];
        for (key, found) in shares {
            require((0.0..=1.0).contains(&found), key, &found, "0 to 1")?;
        }
        let (rate, explosion) = (limits.learning_rate, checks.explosion);
        require(rate > 0.0 && rate.is_finite(), "limits.learning_rate", &rate, "above 0")?;
        require(explosion > 1.0, "checks.explosion", &explosion, "above 1")?;
        let methods = limits.methods.len();
        require(methods > 0, "limits.methods", &"empty", "a list of `lora` and `full`")?;
        Ok(CheckedFtSettings(self))
    }
}

impl Deref for CheckedFtSettings {
    type Target = FtSettings;
    fn deref(&self) -> &FtSettings {
        &self.0
    }
}

fn require(
    holds: bool,
    key: &'static str,
    found: &impl ToString,
    expected: &'static str,
) -> Result<(), FtSettingsError> {
    if holds { Ok(()) } else { Err(FtSettingsError { key, found: found.to_string(), expected }) }
}
