//! Batched generation: ids in, ids out, one random stream per turn.
//!
//! A row is one conversation. It joins with [`Engine::admit`], generates one turn, and then waits
//! outside the batch, its past still cached, until [`Engine::extend`] brings the environment's
//! answer or [`Engine::release`] frees its place. Rows join and leave at every step (continuous
//! batching: Yu et al. 2022, "Orca", §3), so a conversation that waits for its script holds
//! memory and nobody's time.
//!
//! The cache grows with what conversations hold, up to a budget. Where that is too little for all
//! of them, some give way and are read again later (`room`); their turns go on where they were,
//! with the same draws.

mod error;
mod native;
mod scheduler;
mod turn;

pub use error::EngineError;
pub use native::{CacheUse, Engine};
pub(crate) use native::{PREFILL_PAIRS, PREFILL_TOKENS};
pub use turn::{Ending, Finished, RowId, Turn};
