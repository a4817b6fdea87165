//! The ledger of a run: everything that bears on its scores, one line an event, each with the hash of
//! the line before it. The state of a run is a fold over these lines and nothing else.
//!
//! ```text
//! ledger.jsonl    {version, seq, elapsed_ms, time, event, .., prev, hash}, appended and synced
//! head.json       the number and hash of the last line, so that lines dropped at the end are missed
//! lock            held by the server
//! ```

mod book;
mod entry;
mod event;
mod state;
mod submission;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use book::replay;
pub use book::{Ledger, LedgerError, read_lines};
pub use entry::{Entry, LEDGER_VERSION, LineError, SealedEntry};
pub use event::{
    Aggregate, EndReason, Event, ModelFacts, Protocol, RequestFacts, RunFacts, Scored,
    SubmissionLimits, SubmittedModel, Which,
};
pub use state::{State, StateError};
pub use submission::{FinalScore, Outcome, Submission};
