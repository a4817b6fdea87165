//! What an export makes of guided runs.

use serde::{Deserialize, Serialize};
use tasks::thresholds::Milestone;

/// What the policy reads in a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleContext {
    /// All that the agent read: dropped turns and advice, too (APOLLO).
    #[default]
    Keep,
    /// Advice is left out of a share of samples: nobody advises in an evaluation.
    Quiet,
    /// Dropped turns, their observations and all advice are cut out, where what is left, played again,
    /// comes out as it was recorded; else as [`Self::Quiet`].
    Excise,
}

impl SampleContext {
    /// The name as in files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Quiet => "quiet",
            Self::Excise => "excise",
        }
    }
}

/// The settings of an export.
///
/// | field | meaning | default |
/// | --- | --- | --- |
/// | `context` | what the policy reads | `keep` |
/// | `guidance_dropout` | share of quiet samples without advice, 0 to 1 | 0 |
/// | `masked` | whether verdicts count; if not, every turn is trained on | yes |
/// | `thoughts` | whether thoughts are kept in the text | yes |
/// | `once` | whether a turn that several views of a summarised run show is trained on in the first alone | yes |
/// | `tier` | the tier that a run must reach to be a sample | none |
/// | `seed` | seed of the draws | 0 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExportSettings {
    /// What the policy reads.
    pub context: SampleContext,
    /// Share of quiet samples that have no advice. All advice of a sample is left out, or none.
    pub guidance_dropout: f64,
    /// Whether verdicts count.
    pub masked: bool,
    /// Whether thoughts are kept in the text. Without them turns are their actions alone, in what is
    /// read, too.
    pub thoughts: bool,
    /// Whether a turn is trained on once. A run whose conversation was summarised has several samples, and
    /// later ones show turns of earlier ones.
    pub once: bool,
    /// The tier that a run must reach.
    pub tier: Option<Milestone>,
    /// The seed of all draws.
    pub seed: u64,
}

impl Default for ExportSettings {
    fn default() -> Self {
        Self {
            context: SampleContext::Keep,
            guidance_dropout: 0.0,
            masked: true,
            thoughts: true,
            once: true,
            tier: None,
            seed: 0,
        }
    }
}
