//! Checks a run after the fact: its ledger, the results that its scores are from, its metrics, and if asked
//! to, whether its models are graded the same again.

mod check;
pub mod metrics;
mod regrade;

pub(crate) use check::final_gains;
pub use check::{AuditError, AuditReport, Finding, audit};
pub use regrade::{Regrade, RegradeError, Regraded};
