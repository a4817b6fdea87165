//! Many episodes against one engine.
//!
//! The calling thread owns the model and generates. Worker threads own the episodes: they run
//! scripts, return observations and grade. A conversation moves between the two as a message, so a
//! batch never waits for the slowest script.

mod conversation;
mod driver;
pub mod episodes;
pub mod fleet;
mod settings;
mod worker;

pub use driver::{
    EpisodeRequest, Policy, Rollout, RolloutContext, RolloutError, RolloutResult, rollout,
};
pub use settings::{ContextOverflow, RolloutSettings};
