//! Episodes on tasks: scripts run in a jail, submissions are graded outside of it.
//!
//! `(task, actions) -> observations -> grade`

pub mod env;
pub mod graders;
pub mod reward;
#[cfg(feature = "serve")]
pub mod serve;
