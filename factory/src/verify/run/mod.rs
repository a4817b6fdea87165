//! `factory verify --run`: what can only be known by running Python on a task.
//!
//! Every task's own evaluator must agree with the native grader (`agreement`), and a
//! reference script, written as a strong engineer would who knows the public files alone, must
//! submit something valid within [`BUDGET`] (`reference`). Both run in the real sandbox. So does
//! the trial of an evaluator that a chat model wrote, before it becomes part of a task
//! ([`JailedTrial`]).

mod agreement;
mod jailed_trial;
mod reference;
mod report;
mod submissions;
mod trial;
mod verdict;

pub use jailed_trial::JailedTrial;
pub(crate) use reference::script as reference_script;
pub use report::{Attempt, Ending, Tally, Trials};
pub use trial::{BUDGET, TrialError, TrialSettings, rehearse, run};
