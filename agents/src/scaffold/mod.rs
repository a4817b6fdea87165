//! Ways of solving a task, one per file.

pub mod ladder;
pub mod react;
mod recipe;
mod scenes;
pub mod scripted;
