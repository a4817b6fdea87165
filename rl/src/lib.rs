//! Qwen3 and Qwen2.5 policies in libtorch: generation, SFT and trajectory-level GRPO.
//!
//! `trajectory -> advantage -> gradient`

pub mod bench;
pub mod checkpoint;
pub mod cli;
pub mod eval;
pub mod generate;
pub mod model;
pub mod optim;
pub mod remote;
pub mod report;
pub mod rollout;
pub mod run;
pub mod serve;
pub mod text;
pub mod train;
pub mod world;
