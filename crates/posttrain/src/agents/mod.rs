//! Agents: a folder each, with `agent.toml` and a start script. Some are shipped with the program.
//!
//! An agent is started in its box with the environment that [`crate::workspace`] describes. What it is
//! told to do is in `instructions.md`; a [`Mode`] is part of that, and held by the toolbox where that can
//! hold it.

mod folder;
mod mode;
mod shipped;
mod spec;

pub use folder::{AgentError, AgentFolder};
pub use mode::{HeldBy, Mode};
pub use shipped::{ShippedAgent, shipped};
pub use spec::{ANY_MODEL, AgentSpec, Need, SpecError};
