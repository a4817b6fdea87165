//! A run: an agent in its box, a grading server beside it, and what came of it.
//!
//! ```text
//! run.toml          what was asked for; started again, a run must be asked for the same
//! workspace/ agent/ toolbox/ views/     what the agent sees ([`crate::workspace`])
//! agent.log         what it printed
//! uses.jsonl        its uses of the toolbox ([`crate::record`])
//! snapshots/        its code at each submission ([`crate::record`])
//! sealed/           ledger, snapshots of models, results; `agent.json` once the agent has ended
//! result.json       how it was kept apart, how it ended, scores, audit
//! ```
//!
//! Several runs, of tasks and seeds, are a folder of such folders ([`run_group`]).

mod folder;
mod group;
mod plan;
mod result;
mod settings;
mod story;
mod watch;

pub(crate) use folder::{AGENT_END, AgentEnd, LOG, SNAPSHOTS, USES};
pub use group::{RunGroup, run_group};
pub use plan::RunPlan;
pub use result::{IsolationReport, RunResult};
pub(crate) use settings::RunRecord;
pub use settings::RunSettings;
pub use story::{RunError, run};
