//! What came of a run.

use crate::agents::{HeldBy, Mode};
use crate::audit::Finding;
use crate::audit::metrics::Metrics;
use crate::contamination::ContaminationScan;
use crate::digest::Digest;
use crate::gateway::GatewayTotals;
use jail::isolation::{IsolationLevel, Protection};
use jail::program::ProgramReport;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The version of `result.json`.
pub(super) const VERSION: u32 = 1;

/// What came of a run, as `result.json` has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    pub(super) version: u32,
    /// The task.
    pub task: String,
    /// The agent, and the hash of its folder.
    pub agent: (String, Digest),
    /// How it might train.
    pub mode: Mode,
    /// What held it to that.
    pub mode_held_by: HeldBy,
    /// What the agent got as `SEED`.
    pub seed: u64,
    /// How it was kept apart from the host.
    pub isolation: IsolationReport,
    /// How it ended; none if it was not started before the time was over.
    pub ended: Option<ProgramReport>,
    /// The scores.
    pub metrics: Option<Metrics>,
    /// The 95 % interval of the improvement on the test items.
    pub interval: Option<(f64, f64)>,
    /// What the audit found; empty if nothing.
    pub findings: Vec<Finding>,
    /// Sealed items in the agent's texts; none if they were not searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contamination: Option<ContaminationScan>,
    /// The hash of the ledger's last line.
    pub head: Option<Digest>,
    /// What it took from chat models; none for an agent that asks none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<GatewayTotals>,
}

impl RunResult {
    /// Whether the audit found nothing, and no sealed item is in the agent's texts.
    pub fn has_no_findings(&self) -> bool {
        let found = self.contamination.as_ref().map_or(0, |scan| scan.found.len());
        self.findings.is_empty() && found == 0
    }
}

/// How an agent was kept apart from the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IsolationReport {
    /// What was asked for: the weakest tier that was accepted, or `none`.
    pub asked: String,
    /// The tier that the host offered; none without a box.
    pub tier: Option<IsolationLevel>,
    /// The layers.
    pub layers: Option<Protection>,
}

impl IsolationReport {
    /// Of a box with these layers, or of none.
    pub(super) fn new(asked: String, layers: Option<&Protection>) -> Self {
        let tier = layers.and_then(Protection::tier);
        Self { asked, tier, layers: layers.cloned() }
    }
}

impl fmt::Display for IsolationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tier {
            Some(tier) => write!(f, "tier {tier}"),
            None => f.write_str("none: the agent could reach the server's files"),
        }
    }
}
