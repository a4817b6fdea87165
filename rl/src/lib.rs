//! Qwen3 policies in libtorch: generation, SFT and trajectory-level GRPO.
//!
//! `trajectory -> advantage -> gradient`

pub mod advantage;
pub mod batch;
pub mod bench;
pub mod checkpoint;
pub mod cli;
pub mod device;
pub mod engine;
pub mod episodes;
pub mod eval;
pub mod grpo;
mod heap;
pub mod loss;
pub mod metrics;
pub mod model;
pub mod optim;
pub mod plan;
pub mod policy;
pub mod presets;
pub mod recipes;
pub mod report;
pub mod rollout;
pub mod sample;
pub mod serve;
pub mod settings;
pub mod sft;
pub mod source;
pub mod stop;
pub mod template;
pub mod tensorboard;
pub mod tokenizer;
pub mod view;
pub mod watchdog;

/// An error with all its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// libtorch counts in i64. Counts of tokens, rows and weights are far below its limit.
fn signed(count: usize) -> i64 {
    i64::try_from(count).expect("a count fits in i64")
}
