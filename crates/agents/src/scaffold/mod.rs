//! Ways of solving a task, one per file.

mod challenges;
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
