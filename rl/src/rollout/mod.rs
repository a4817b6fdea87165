//! Many episodes against one engine.
//!
//! The calling thread owns the model and generates. Worker threads own the episodes: they run
//! scripts, return observations and grade. A conversation moves between the two as a message, so a
//! batch never waits for the slowest script.
//!
//! In a guided rollout a worker also tells each turn to the people who read along, before it hands over
//! the observation, and brings what they advise (`guided`).

mod conversation;
mod driver;
pub mod episodes;
mod error;
pub mod fleet;
mod guided;
mod result;
mod settings;
mod worker;

pub use driver::{EpisodeRequest, Policy, RolloutContext, rollout};
pub use error::RolloutError;
pub use guided::{GuideSettings, RolloutGuide};
pub use result::{Rollout, RolloutResult};
pub use settings::{ContextOverflow, RolloutSettings};

/// Token ids as trajectories have them.
fn unsigned(ids: &[i64]) -> Vec<u32> {
    ids.iter()
        .map(|&id| u32::try_from(id).expect("ids of a vocabulary are small and not negative"))
        .collect()
}
