//! Ways of solving a task, one per file.

mod challenges;
mod composed;
mod facts;
pub mod fixed;
mod items;
pub mod mutator;
mod positions;
pub mod react;
mod recipe;
pub mod runner;
mod scenes;
pub mod scripted;

pub(crate) use facts::Facts;
