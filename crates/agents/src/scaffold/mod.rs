//! Ways of solving a task, one per file.

pub(crate) mod challenges;
mod composed;
mod facts;
pub mod fixed;
pub(crate) mod items;
pub mod mutator;
pub(crate) mod positions;
pub mod react;
pub(crate) mod recipe;
pub mod runner;
pub(crate) mod scenes;
pub mod scripted;

pub(crate) use facts::Facts;
