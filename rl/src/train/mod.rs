//! Training: demonstrations to SFT, pairs to DPO, and trajectories to advantages, a loss and a gradient.

pub mod advantage;
pub mod batch;
mod choice;
pub mod grpo;
mod harness;
pub mod learner;
pub mod loss;
pub mod native;
mod offline;
pub mod plan;
pub mod prefer;
pub mod presets;
pub mod publisher;
mod records;
pub mod schema;
pub mod sft;
pub mod tinker;

pub use choice::NothingHeldOut;
pub use records::{RecordError, RecordsError};
