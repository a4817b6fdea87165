//! Ways of solving a task, one per file.

mod items;
pub mod ladder;
pub mod react;
mod recipe;
mod scenes;
pub mod scripted;
