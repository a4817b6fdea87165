//! The agent `react`: a chat model that works on a task with one tool a turn.
//!
//! `conversation -> chat model -> step -> tool -> observation -> conversation`
//!
//! It runs in the box, as any agent does: commands that a model makes up reach what the box has, and the
//! model is asked through the gateway, so there is no key to lose. A step is one JSON object
//! ([`Step`]); what cannot be read is told back and is a turn like any other. Every turn is written to the
//! transcript before the next one, from which an agent that was interrupted goes on.

mod limits;
mod prompt;
mod session;
mod step;
mod tools;
mod transcript;

pub use limits::ReactLimits;
pub use prompt::Briefing;
pub use session::{ReactEnd, Session};
pub use step::{BadStep, Step, Tool};
pub use tools::{GradingAccess, Workbench};
pub use transcript::{Transcript, Turn};
