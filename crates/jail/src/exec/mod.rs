//! Running scripts: from a task and code to an outcome.
//!
//! [`Sandbox`] keeps a warmed interpreter in the outer box, [`Workspace`] is one episode's work
//! dir, [`Workspace::run`] makes one run in it. An [`Outcome`] is caused by the
//! script, a [`Fault`] by the sandbox or the host; the two are separate types.

mod cancel;
mod capture;
mod fault;
mod host_folder;
mod outcome;
mod place;
mod run;
mod sandbox;
mod setup;
mod storage;
pub(crate) mod wire;
mod workspace;
mod zygote;

pub use cancel::Cancel;
pub use capture::Captured;
pub use fault::{Fault, StartError};
pub use outcome::{Outcome, Run, UnknownOutcome};
pub use place::PlaceError;
pub use sandbox::{Sandbox, SandboxOptions};
pub(crate) use setup::environment;
pub use storage::WorkDirStorage;
pub use workspace::{Mode, Workspace};
pub use zygote::LAUNCH;
