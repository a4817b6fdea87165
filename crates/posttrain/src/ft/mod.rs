//! FT-Agent: an agent that fine-tunes a model on raw data that it has to choose, clean and bring into
//! form itself (FT-Dojo).
//!
//! `describe the pool -> propose -> implement -> checks -> full data -> train -> submit -> diagnose`
//!
//! What makes it quick is that nothing dear is done before cheap checks have passed ([`Chain`]). What a
//! planner writes is never trusted: proposals and settings are checked by code, scripts run in the jail,
//! and what counts as better is decided by scores. It must never see a sealed item.

mod accept;
mod agent;
mod answer;
mod check;
mod diagnosis;
mod experiment;
mod fault;
mod form;
mod journal;
mod manual;
mod model;
mod plan;
mod planner;
mod proposal;
mod run;
mod sample;
mod schema;
mod script;
mod scripted;
mod settings;
mod summary;
mod teacher;
mod trainer;
mod validate;

pub use accept::{Acceptance, OtherItems, accept};
pub use agent::{Arena, FtRun, FtRunError};
pub use answer::{read_answer, read_block, refuse_repeated};
pub use check::{Check, CheckOutcome, ErrorClass, Rejection, Stage};
pub use diagnosis::{Diagnosis, Evaluated, Failure, Gap, GapKind};
pub use experiment::{Experiment, ExperimentOutcome, best_of};
pub use fault::{FtFault, StageError};
pub use form::{AnswerForm, FormExample};
pub use journal::{FtEvent, FtState, Journal, JournalError, OpenExperiment};
pub use manual::Manual;
pub use model::ModelPlanner;
pub use plan::{Draft, Plan};
pub use planner::{Briefing, Opinion, Planner, Revision};
pub use proposal::{
    BadProposal, DataProposal, Focus, Proposal, ProposalBounds, SamplingRule, SourceShare,
    Synthesis, Teacher,
};
pub use sample::{DATA, Sample, read_samples};
pub use schema::{BaseFacts, TrainConfig, TrainerChoice, TrainerSchema, TrainerSetting};
pub use script::{ScriptBox, ScriptRun};
pub use scripted::Scripted;
pub use settings::{
    AcceptRule, CheckedFtSettings, FtAccept, FtChecks, FtLimits, FtSettings, FtSettingsError,
    Method, Workflow,
};
pub use summary::{DataSummary, FilterCount, SUMMARY};
pub use teacher::{Asked, TeacherModel, Teachers};
pub use trainer::Trainer;
pub use validate::{Chain, LossCurve, UpdateLoss, Validated, Validation};
