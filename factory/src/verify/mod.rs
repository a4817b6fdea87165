//! Verification: what a task must hold before anyone trains on it.
//!
//! Each check is a small function with its own [`Refusal`]; [`verify`] is the only way to a
//! [`Verified`] task. Scores are recomputed from the files on disk by the sandbox's grader,
//! never taken from the maker.

mod checks;
mod chunks;
pub(crate) mod copies;
pub mod corpus;
pub(crate) mod disk;
pub(crate) mod files;
mod ladder;
pub(crate) mod leaks;
mod printed;
pub(crate) mod probe;
mod refusal;
mod regenerate;
pub mod run;
pub(crate) mod suspects;

pub use checks::{Rebuild, Verified, VerifyError, check, check_all, rebuilds, verify};
pub use files::fix_times;
pub(crate) use printed::rule_is_not_on_page;
pub use refusal::Refusal;
pub use regenerate::{RegenerateFault, Regenerated, RegeneratedCorpus, regenerate_all};
pub use suspects::Carrier;
