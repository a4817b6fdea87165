//! Benchmarks of a device with a model of some shape: whether its numbers agree with the CPU's, how
//! fast it generates and trains beside the floor, and how much memory that needs.
//!
//! `shape -> case -> measurement -> table`
//!
//! Weights may be random: speed and memory do not depend on them. Each case runs in a process of
//! its own, started by `rl bench`: a process that ran out of memory, or whose device failed, cannot
//! use the device any more, and libtorch never returns memory to it. So every case begins with an
//! empty device, and a case that fails does not end the others.

mod args;
mod decode;
mod floor;
mod grpo;
mod job;
mod machine;
mod parity;
mod report;
mod sft;
mod sizes;

pub use args::DeviceBenchArgs;
pub use floor::{DecodeStep, Speed, UpdateShape, reading};
pub use job::{BenchCase, BenchError, BenchJob, ModelSource};
pub use machine::{Machine, MemoryUse};
pub use parity::Check;
pub use report::{BenchReport, BenchReportError, CaseResult, Figures, Measurement};
pub use sizes::{BUILT_IN, BenchSizes, shape};
