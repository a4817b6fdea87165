//! Qwen3 policies in libtorch: generation, SFT and trajectory-level GRPO.
//!
//! `trajectory -> advantage -> gradient`

pub mod advantage;
pub mod batch;
pub mod checkpoint;
pub mod cli;
pub mod device;
pub mod engine;
pub mod episodes;
pub mod eval;
pub mod grpo;
pub mod loss;
pub mod metrics;
pub mod model;
pub mod optim;
pub mod presets;
pub mod report;
pub mod rollout;
pub mod sample;
pub mod serve;
pub mod settings;
pub mod sft;
pub mod source;
pub mod template;
pub mod tokenizer;

/// An error with all its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
