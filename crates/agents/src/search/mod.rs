//! Agents that search: many scripts, each a node of a tree, and a policy that chooses what to try
//! next.
//!
//! `tree -> policy -> decision -> operator asks a player -> script -> trial -> node -> journal`
//!
//! A policy has no state of its own: what it needs it computes from the nodes, so that a search
//! that was killed goes on exactly where it was.

pub(crate) mod decide;
pub mod operator;
pub(crate) mod output;
pub mod policy;
pub mod run;
pub mod samples;
pub mod settings;
mod step;
pub mod tree;
pub mod world;
