//! What is in an export, in numbers.

use super::settings::ExportSettings;
use crate::guide::guidance::GuidanceState;
use crate::guide::transcript::Transcript;
use crate::guide::verdicts::Funnel;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of [`Manifest`] that this build writes.
pub const MANIFEST_VERSION: u32 = 1;

/// `manifest.json` of an export. It holds no time and no path: the same store and the same settings give
/// the same bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the format, [`MANIFEST_VERSION`] in this build.
    pub version: u32,
    /// What was asked for.
    pub settings: ExportSettings,
    /// BLAKE3 of `samples.jsonl`, in hexadecimal.
    pub samples_hash: String,
    /// Conversations of the store.
    pub conversations: u64,
    /// Conversations that are no sample, by why: `not_over`, `no_example` (the player ended it, or it has
    /// no turn), `below_tier`, `nothing_trained`.
    pub left_out: BTreeMap<String, u64>,
    /// Samples.
    pub samples: u64,
    /// Those of them that are summaries.
    #[serde(default)]
    pub summaries: u64,
    /// What their contexts are.
    pub contexts: ContextCounts,
    /// What of their turns is trained on.
    pub turns: TurnCounts,
    /// Verdicts on all turns of the runs that became samples, whether or not they count in this export.
    pub verdicts: Funnel,
    /// Cohen's kappa of people against rules and judge; `null` where there is nothing to compare.
    pub kappa: Option<f64>,
    /// What the guidance of these runs cost.
    pub guidance: GuidanceCost,
}

/// Samples by context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextCounts {
    /// With everything.
    pub keep: u64,
    /// Quiet ones that have their advice.
    pub quiet_with_advice: u64,
    /// Quiet ones without.
    pub quiet_without_advice: u64,
    /// Excised ones of which no turn was cut: their actions are those that were recorded.
    pub excise_as_recorded: u64,
    /// Excised ones whose remaining turns came out as before when they were played again.
    pub excise_confirmed: u64,
    /// Those that were to be excised and are quiet, by why: `other_observation`, `ended_early` and
    /// `other_grade` of the replay; `no_run`, `other_task`, `task_changed` and `other_agent` where there
    /// was nothing to replay with; `left_out`, where the context lost turns.
    pub excise_fell_back: BTreeMap<String, u64>,
}

/// Turns of samples by what of them is trained on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnCounts {
    /// All.
    pub whole: u64,
    /// Thought or action alone.
    pub in_part: u64,
    /// Nothing: context.
    pub nothing: u64,
    /// Turns that were cut out.
    pub cut: u64,
}

/// What guidance cost people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuidanceCost {
    /// Pieces that were posted and not taken back.
    pub pieces: u64,
    /// Those that the agent read.
    pub heard: u64,
    /// Their words.
    pub words: u64,
    /// Verdicts that people gave.
    pub verdicts: u64,
}

impl GuidanceCost {
    /// Counts a run.
    pub(super) fn add(&mut self, transcript: &Transcript) {
        for piece in &transcript.guidance {
            if piece.state != GuidanceState::Retracted {
                self.pieces += 1;
                self.words += piece.what.text.split_whitespace().count() as u64;
            }
        }
        let heard = transcript.turns.iter().map(|turn| turn.heard.len() as u64);
        self.heard += heard.sum::<u64>();
        self.verdicts += transcript.verdicts.len() as u64;
    }
}
