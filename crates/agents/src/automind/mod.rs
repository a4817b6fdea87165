//! `AutoMind`: a tree search over whole solutions, led by tricks of a knowledge base.
//!
//! `decision -> plan -> complexity -> script, in one pass or step by step -> run -> verdict -> node`
//!
//! Ou et al. 2025, "`AutoMind`: Adaptive Knowledgeable Agent for Automated Data Science". The search
//! itself is that of [`search`](crate::search); what is here makes a node of a decision. A node asks
//! many questions, each written down before anything depends on its answer, so that a run that was
//! killed asks none of them twice.

pub mod answer;
mod asker;
mod coder;
pub mod complexity;
pub mod engineer;
mod memory;
pub mod metric;
mod papers;
mod plan;
mod policy;
mod prompt;
pub mod run;
pub mod settings;
mod step;
pub mod steps;
mod stepwise;
pub mod tricks;
mod verifier;

pub use policy::{AutoMindPolicy, Explore, PolicyRule};
