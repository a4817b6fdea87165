//! What a device does with a model of some shape: whether its numbers are right, how fast it
//! generates and learns beside what it could do at best, and how much memory that takes.
//!
//! `shape -> case -> measurement -> table`
//!
//! Weights may be random: speed and memory do not depend on them. Each case runs in a process of
//! its own, started by `rl bench`, because a device that has run out of memory or failed
//! otherwise is of no use to the process that did it, and because libtorch never gives back
//! memory that it has once taken. So a case begins with an empty device, and its end is the end
//! of nothing else.

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
