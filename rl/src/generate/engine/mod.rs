//! Batched generation: ids in, ids out, one random stream per turn.
//!
//! A row is one conversation. It joins with [`Engine::admit`], generates one turn, and then waits
//! outside the batch, its keys and values still cached, until [`Engine::extend`] appends the
//! observation or [`Engine::release`] frees its row. Rows join and leave at every step (continuous
//! batching: Yu et al. 2022, "Orca", §3), so a conversation that waits for its script takes memory
//! and no time.
//!
//! A server's engine keeps the rows of conversations that have ended, for requests that begin
//! alike (`kept`).
//!
//! The KV cache grows with the conversations, up to a budget. If that is too little for all of
//! them, some are preempted and prefilled again later (`scheduler`); their turns continue with the
//! same random draws.

mod capacity;
mod error;
mod kept;
mod native;
mod scheduler;
mod turn;

pub use capacity::Capacity;
pub use error::EngineError;
pub use native::{CacheUse, Engine};
pub(crate) use native::{PREFILL_PAIRS, PREFILL_TOKENS};
pub use turn::{Finished, RowId, TurnDetails, TurnEnd, TurnExtras, TurnOptions};
