//! Which turns a policy should learn from: verdicts of people, of rules and of a judge on single turns of
//! a run, and the loss mask that follows from them.
//!
//! `transcript -> rules, judge, people -> effective verdicts -> what of each turn is trained on`
//!
//! A verdict never changes a trajectory or a journal. Those of people are events of the journal, those of
//! a judge lines of a file beside it, those of rules are worked out again wherever they are needed. The
//! mask is made when a sample is made and stored nowhere else.

mod agreement;
mod effective;
mod file;
mod funnel;
mod proposal;
pub(crate) mod python;
mod record;
mod rules;

pub use agreement::Agreement;
pub use effective::{Effective, Trained, Verdicts};
pub(in crate::guide) use file::copy_judged;
pub use file::{JudgedError, JudgedFile, read_judged};
pub use funnel::Funnel;
pub use proposal::{Proposal, Proposals, is_blind};
pub use record::{TrajectoryKey, VERDICTS_VERSION, VerdictRecord, VerdictSource};
#[cfg(test)]
pub(crate) use rules::fixture;
pub(crate) use rules::told_before;
pub use rules::{Finding, Rule};
