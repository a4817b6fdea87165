//! What an agent finds: its workspace, its toolbox, its environment.
//!
//! ```text
//! workspace/code, output, reports     its own; it starts in `code`
//! workspace/data/                     the task without its sealed half: task.toml, description.md, public/
//! workspace/data/TASK/                the same of each task, in the mode `multi`
//! workspace/models/BASE               the base model
//! workspace/description.md            the task, for people
//! workspace/instructions.md           what counts, the server's routes, what is forbidden
//! workspace/views/                    run_meta.json and scores.json, written by the server
//! agent/                              the agent's own folder
//! toolbox/bin/                        rl, posttrain, timer
//! ```
//!
//! In a box all of it is read-only but the first three; without one it is the same tree on the host.

mod environment;
mod instructions;
mod layout;
mod toolbox;

pub use environment::{AgentPlaces, ChatAccess, RunInfo, environment};
pub use instructions::Instructions;
pub use layout::Workspace;
pub use toolbox::{REFUSED, TOOL, Toolbox, ToolboxError};
