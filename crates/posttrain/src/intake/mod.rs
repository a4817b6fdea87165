//! From a path that an agent names to a sealed model that may be graded.
//!
//! `path -> folder -> files -> headers -> stream of weights -> snapshot`
//!
//! Nothing of a submission reaches a grader but the values of its weights. They are read once, checked
//! while they are read, and written into a private snapshot under the base's names and with the base's
//! configuration, tokenizer and chat template. So what was checked is what is graded, whatever becomes
//! of the agent's files meanwhile, and no file of an agent is ever loaded by anything that runs code.

mod adapter;
mod admit;
mod base;
mod compare;
mod config;
mod header;
mod names;
mod output_folder;
mod store;
mod stream;
mod values;

pub use admit::{Admitted, Intake, IntakeError};
pub use base::BaseModel;
pub use output_folder::OutputFolder;
pub use store::{ModelStore, SealedModel};
