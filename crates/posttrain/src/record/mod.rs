//! What a run writes down beside its ledger, in folders that a boxed agent cannot write to.
//!
//! ```text
//! snapshots/     the agent's code at each submission and at the end, and what changed
//! uses.jsonl     the uses of the toolbox's programs
//! ```
//!
//! Two kinds of evidence are kept apart. What the server and the host saw is *observed*: the ledger, the
//! content of the agent's code, the length of its log. What comes out of the box is *told*: uses are
//! reported by wrappers that the agent starts, and the files beside a checkpoint lie in the agent's folder.
//! An agent can leave such a report out, or invent one; it cannot change one that was written down.

mod changes;
mod snapshots;
mod trainer;
mod uses;

pub use changes::{CodeChange, changes};
pub use snapshots::{CodeFile, CodeSnapshot, CodeSnapshots, Moment};
pub use trainer::{TrainerFacts, beside, lineage};
pub use uses::{ToolUse, UseEnd, UseEvent, UseLog, out_of, read_uses};
