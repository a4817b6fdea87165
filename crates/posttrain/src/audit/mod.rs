//! Checks a run after the fact: its ledger, the results that its scores are from, and its metrics.

mod check;
pub mod metrics;

pub(crate) use check::final_gains;
pub use check::{AuditError, AuditReport, Finding, audit};
