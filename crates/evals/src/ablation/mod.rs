//! Ablations: several arms on the same tasks with the same seeds, and what tells them apart.
//!
//! `arms file -> arms -> benchmark runs of each -> cells by task and seed -> paired differences`
//!
//! An arm is a scaffold with its settings, or the runs of another arm as if they had ended earlier.
//! Runs are those of [`bench`](crate::bench); what is here names the arms, pairs their runs and says
//! how sure the differences are.

pub mod arms;
pub mod cell;
pub mod coding;
pub mod facts;
pub mod output;
pub mod pair;
pub mod summary;
mod tables;
#[cfg(test)]
mod tests;
