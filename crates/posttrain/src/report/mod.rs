//! What runs say about themselves: from the ledger, the snapshots and the records alone.
//!
//! ```text
//! RUN/report/metrics.json, summary.md, summary.jsonl     of one run
//! OUT/index.html, results.csv, report.json               of all of them
//! ```
//!
//! It reads runs that go on, were interrupted, or never had a submission, and changes nothing about them.
//! What is observed and what is told ([`crate::record`]) is told apart in every finding.

mod files;
mod groups;
mod iteration;
mod page;
mod results;
mod run;
mod summary;
mod tables;
mod write;

pub use files::{ReportError, RunState};
pub use groups::{Group, groups};
pub use iteration::{Gain, Iteration};
pub use run::{Compliance, ReportMetrics, RunReport};
pub use tables::scores;
pub use write::{Written, find_runs, write};
