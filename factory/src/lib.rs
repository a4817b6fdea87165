//! Seed tasks in, verified micro-scale ML task directories out.
//!
//! `seed -> dna -> blueprint -> assets -> thresholds -> task directory`; the story is told in
//! [`pipeline`].

pub mod assets;
pub mod audit;
pub mod blueprint;
pub mod config;
pub mod corpus;
pub mod dna;
pub mod draws;
mod embedded;
pub mod export;
pub mod gallery;
pub mod inspect;
pub mod labels;
pub mod ladder;
pub mod ledger;
pub mod media;
pub mod merge;
pub mod mix;
pub mod models;
pub mod mutation;
pub mod package;
mod pandas;
pub mod pipeline;
pub mod plan;
pub mod roles;
pub mod rule;
pub mod scenario;
pub mod scenes;
pub mod score;
pub mod seed;
pub mod seed_set;
pub mod shard;
pub mod stats;
pub mod table;
pub mod thresholds;
pub mod tree;
pub mod trial;
pub mod verify;
