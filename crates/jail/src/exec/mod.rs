//! Running scripts: from a task and code to an outcome.
//!
//! [`Sandbox`] keeps a warmed interpreter in the outer box, [`Workspace`] is one episode's work
//! dir, [`Workspace::run`] makes one run in it. What a script can cause is an [`Outcome`]; what
//! goes wrong on our side is a [`Fault`], and the two never mix.

mod cancel;
mod capture;
mod fault;
mod host_folder;
mod outcome;
mod run;
mod sandbox;
mod setup;
mod wire;
mod workspace;
mod zygote;

pub use cancel::Cancel;
pub use capture::Captured;
pub use fault::{Fault, StartError};
pub use outcome::{Outcome, Run, UnknownOutcome};
pub use sandbox::{Options, Sandbox};
pub(crate) use setup::environment;
pub use workspace::{Mode, Workspace};
pub use zygote::LAUNCH;
