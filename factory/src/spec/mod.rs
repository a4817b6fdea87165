//! The specification of a corpus: seeds, stories, shares of kinds of task, the plan of a corpus,
//! and the blueprint of one task.

pub mod blueprint;
mod blueprint_file;
pub mod challenge;
pub mod classes;
pub mod config;
pub mod dna;
pub(crate) mod embedded;
pub mod evaluation;
pub mod extraction;
pub mod generated;
pub mod layout;
pub mod levels;
pub mod limits;
pub mod mix;
pub mod mutation;
pub mod plan;
pub mod positions;
pub mod recommendation;
pub mod retrieval;
pub mod role_settings;
pub mod rule;
pub mod scenario;
pub mod scene;
pub mod seed;
pub mod seed_set;
pub mod shard;
pub mod structure;
