//! A run: one agent's work on one task, as an append-only journal that a killed run goes on from.
//!
//! `header -> (question -> answer -> node or turn)* -> finish`
//!
//! Searches write nodes, linear agents turns. Both ask a player, and pause where it is away.

pub mod agent;
pub(crate) mod ask_knowledge;
pub mod header;
pub mod job;
pub mod journal;
pub mod knowledge;
pub mod node;
pub mod node_facts;
pub(crate) mod open;
pub mod player;
pub mod python;
pub mod recorded;
pub mod role;
pub mod state;
pub mod stop;
pub mod trial;
pub mod turn;
pub mod weights;
