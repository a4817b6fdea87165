//! Policies: which script to try next, as a function of the tree.

mod branches;
mod drafts;
mod evolution;
#[cfg(test)]
mod fixture;
mod gains;
mod greedy;
#[cfg(test)]
mod laws;
mod mcts;
mod ml_master;
mod population;
mod repairs;
pub(crate) mod setting;
mod settings;
#[cfg(test)]
mod stateful;

pub use drafts::Drafts;
pub use evolution::Evolution;
pub use greedy::Greedy;
pub use mcts::Mcts;
pub use ml_master::MlMaster;
pub use settings::PolicySettings;

use super::tree::Tree;
use crate::run::node::Decision;
use rand_chacha::ChaCha8Rng;
use std::fmt::Debug;

/// How much of its budget a search has used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Steps taken over steps allowed, in [0, 1].
    pub steps: f64,
    /// Active time over time allowed, in [0, 1].
    pub time: f64,
}

impl Progress {
    /// The larger share.
    pub fn share(self) -> f64 {
        self.steps.max(self.time)
    }
}

/// Chooses what to try next.
///
/// A policy is a pure function: of the tree, of how much of the budget is used, and of `draws`,
/// which begin anew at every step. With several workers the tree also has decisions whose nodes
/// are still being worked on.
pub trait Policy: Debug + Send + Sync {
    /// The next decision; `None` if there is nothing left to try.
    fn next(&self, tree: &Tree, progress: Progress, draws: &mut ChaCha8Rng) -> Option<Decision>;
}
