//! Ways of training: which one led to a submission, and by what evidence.
//!
//! Each rule is a function of what stands in the ledger, in the snapshots of the agent's code and in the
//! record of the toolbox. The strongest evidence counts: what the ledger says of the weights, then the
//! files that a trainer left beside the model, then the uses of the toolbox, then the code, and the
//! agent's own note last.

mod code;
mod kind;
mod online;
mod rules;
mod signs;

pub use kind::Route;
pub use online::closes_its_loop;
pub use rules::{Attempt, Evidence, RouteFinding, adopted, attempted, find};
pub(crate) use signs::lines_with;
pub use signs::{in_code, in_words, key_lines};
