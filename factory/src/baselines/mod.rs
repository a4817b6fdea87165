//! The baselines R0 to R3 and the ceiling, and the milestones between them.

pub mod features;
pub mod ladder;
mod quantiles;
pub mod rungs;
pub mod thresholds;
