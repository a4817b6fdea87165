//! Kinds of task: what differs between independent rows, rankings, series and networks, from
//! their data to their files.
//!
//! The blueprint's layout decides the kind. Everything that all kinds share lies elsewhere and
//! asks [`TaskKind`], so that a new kind is one more layout and one more implementation.
//! Pictures with an answer of their own are implemented in the room of scenes.

mod generated;
mod kind;
mod nodes;
mod pandas;
mod ranking;
mod related;
mod rows;
mod series;

pub use generated::GeneratedView;
pub use kind::{ExtraFiles, RenderError, TaskKind};
