//! Tasks on disk: the contract between the factory, which makes tasks, agents and graders.
//!
//! Four kinds of folder are opened by the same code, [`Task::open`]:
//! ```text
//! ours         <task-id>/task.json          Manifest: what is asked, how it is graded
//!              <task-id>/prepared/public/   all an agent sees
//!              <task-id>/prepared/private/  answer.csv, threshold.json; read by graders only
//!              <task-id>/source/            how the task was made
//! competition  <competition>/prepared/{public,private}/   as MLE-bench prepares them
//!              <competition>/stand-in.json   only where the data is invented
//! bundle       <task>/prepared/public/      as SandMLE was released: data, answer.csv and
//!                                           evaluator.py side by side
//! MLE-Dojo     <competition>/data/{public,private}/   as MLE-Dojo prepares them; their metrics are
//!                                           Python classes in a checkout of it
//! ```
//! A jail can mount only a [`PublicDir`], and answers can be opened only from a [`PrivateDir`].
//! A bundle's public folder is never mounted for an agent: it gets a [`View`] without the answers.

mod bundle;
mod collection;
mod competition;
mod competition_rules;
mod corpus;
mod data_source;
mod dir;
mod dojo;
mod error;
mod id;
mod kind;
mod manifest;
mod open;
mod public;
mod view;

pub use bundle::{ANSWERS, Bundle, EVALUATOR, SAMPLE};
pub use collection::Collection;
pub use competition::Competition;
pub use competition_rules::CompetitionRules;
pub use corpus::Corpus;
pub use data_source::{DataSource, StandIn};
pub use dir::TaskDir;
pub use dojo::{DOJO_ANSWERS, DojoCompetition};
pub use error::TaskError;
pub use id::TaskId;
pub use kind::TaskFolderKind;
pub use manifest::{
    Baselines, Formulation, MANIFEST_VERSION, Manifest, Modality, OracleScript, RowCounts, Split,
    TaskScripts,
};
pub use open::{GraderSource, Opening, Task};
pub use public::{PrivateDir, PublicDir};
pub use view::View;
