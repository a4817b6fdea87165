//! The optimizer: `AdamW`, how its moments are kept, and the schedule of the learning rate.

mod adamw;
mod moments;
mod schedule;

pub(crate) use adamw::PIECE;
pub use adamw::{AdamConfig, AdamW, OptimError};
pub use moments::MomentStore;
pub use schedule::{Decay, Schedule};
