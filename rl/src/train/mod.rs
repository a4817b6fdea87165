//! Training: demonstrations to SFT, and trajectories to advantages, a loss and a gradient.

pub mod advantage;
pub mod batch;
pub mod grpo;
mod harness;
pub mod learner;
pub mod loss;
pub mod native;
pub mod plan;
pub mod presets;
pub mod publisher;
pub mod sft;
pub mod tinker;
