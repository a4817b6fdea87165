//! Operators: from what a search knows to a question, and from the answer to a script.

mod answer;
mod prompt;
mod view;

pub use answer::{
    Proposal, Unreadable, read_script, read_verdict, validation_score, verdict_schema,
};
pub use prompt::{judge_messages, script_messages};
pub use view::{MemoryEntry, ParentView, Shortening, View};
