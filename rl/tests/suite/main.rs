//! The crate against the outside: transformers on the same weights, and itself on other paths.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "tests: sizes are tiny and a failure should stop the test"
)]

mod bench;
mod corpus;
mod damaged;
mod engines;
mod example;
mod faulted;
mod fleet;
mod foreign;
mod generation;
mod guide_server;
mod guided;
mod kept_scripts;
mod killed;
mod log_run;
mod loops;
mod masks;
mod merged;
mod offline;
mod operators;
mod prefixes;
mod published;
mod roles;
mod rollout;
mod scale;
mod serve;
mod serve_base;
mod serve_engines;
mod serve_logprobs;
mod serve_prefixes;
mod serve_sampling;
mod serve_structured;
mod server;
mod stopped;
mod stuck;
mod summaries;
mod template;
mod tensorboard;
mod tinker;
mod tinker_double;
mod tool_calls;
mod transformers;
mod trl;
mod trl_environment;
mod worlds;
