//! Generated environments for post-training benchmarks: items, episodes, solvers, suites on disk.
//!
//! `(suite, scale, seed) -> task folders -> items -> episodes -> verdicts`
//!
//! Every environment implements [`Kind`] and is played as an `agents::play::World`, so rollouts,
//! training and evaluation need no code of their own for it. Nothing here opens a socket or starts
//! a process: an environment that judges programs runs them in the [`Runner`] that it is given.
//! What is written is the same bytes on any machine and any number of threads.

pub mod arithmetic;
mod base_text;
mod bm25;
pub mod chemistry;
pub mod custom;
mod decimal;
mod demonstrate;
pub mod finance;
mod folder;
mod generate;
pub mod grams;
pub mod household;
pub mod human_eval;
pub mod import;
pub mod instructions;
mod kind;
pub mod mathematics;
mod name;
mod part;
pub mod patents;
mod playing;
mod pool;
pub mod programs;
mod protocols;
mod runner;
pub mod score;
pub mod search;
pub mod shop;
mod single;
mod spec;
mod suite;
pub mod tables;
mod world;

pub use base_text::{BaseTextError, BaseTextSettings, Document, DocumentKind, base_text};
pub use demonstrate::{DemonstrationError, demonstrate};
pub use folder::{FolderError, SealedDir, TaskFolder};
pub use generate::GenerateError;
pub use kind::{Aggregate, Answer, Episode, Kind, Outline, Scale, Sizes};
pub use name::WorldName;
pub use part::{Part, item_id};
pub use pool::{PoolSource, RawRow};
pub use runner::{ProgramRules, ProgramRun, PythonModule, Runner};
pub use single::{Judgement, Question, Single, SingleEpisode};
pub use spec::{
    Direction, Limits, Sampling, Source, SpecError, TaskKind, TaskSpec, TaskWorld, UnknownWorld,
};
pub use suite::{Suite, SuiteEntry, SuiteError, SuiteName, SuiteRequest};
pub use world::{Environment, GeneratedWorld};
