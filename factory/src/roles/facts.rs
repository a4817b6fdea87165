//! What is known of a task in types, beside the bytes of its files.

use crate::baselines::ladder::Ladder;
use crate::data::assets::Assets;
use crate::generator::GeneratedRows;
use crate::spec::blueprint::Blueprint;
use tasks::thresholds::Thresholds;

/// What the ML developer hands over, built in or played by a model. The files of the task are
/// written from it, and verification takes from it what files do not hold.
#[derive(Debug, Clone)]
pub struct TaskFacts {
    /// How the task is built: question, metric, prediction, sizes, and the hidden rule.
    pub blueprint: Blueprint,
    /// The rows that a generator drew, before labels, noise, mutations and encoding; `None` where
    /// the blueprint has rules.
    pub generated: Option<GeneratedRows>,
    /// The rows as they were rendered: ids, order, truth, noise-free scores of the test rows,
    /// written features, items with their readings, links.
    ///
    /// Verification needs them in memory for the bootstrap of the ladder, for the probes of
    /// single columns and readings (`trivial`), for the probes of ids, order, sizes and links,
    /// and for duplicates, near copies and copies of items. Reading them back from the files
    /// would mean to decode every item a second time.
    pub assets: Assets,
    /// Scores and forecasts of the baselines R0 to R3 and of the ceiling.
    pub ladder: Ladder,
    /// Scores of the milestones: median, bronze, silver, gold.
    pub thresholds: Thresholds,
}
