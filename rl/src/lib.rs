//! Qwen3 policies in libtorch: generation, SFT and trajectory-level GRPO.
//!
//! `trajectory -> advantage -> gradient`

pub mod advantage;
pub mod batch;
pub mod checkpoint;
pub mod device;
pub mod engine;
pub mod loss;
pub mod model;
pub mod optim;
pub mod sample;
pub mod template;
pub mod tokenizer;
