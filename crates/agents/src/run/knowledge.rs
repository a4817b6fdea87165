//! What a run is given of a knowledge base: tricks that stand ready for its task.
//!
//! `source -> ready tricks -> journal's header`
//!
//! A run does not know how tricks are found. Whoever starts it hands it a [`KnowledgeSource`]; what
//! that gives is written into the journal, and a run goes on only with the same.

use super::journal::{Blobs, JournalError};
use super::node::BlobHash;
use crate::knowledge::{Snippet, Stage, Trick};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt::{self, Debug};
use tasks::task::Task;

/// Which tricks stand ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnowledgeSelection {
    /// None.
    #[default]
    None,
    /// As many as would be retrieved, drawn at random.
    Random,
    /// Those that are retrieved for the task.
    Retrieved,
    /// Those of labels that are not the task's.
    WrongLabels,
}

impl fmt::Display for KnowledgeSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Random => "random",
            Self::Retrieved => "retrieved",
            Self::WrongLabels => "wrong-labels",
        })
    }
}

/// A trick that stands ready for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadyTrick {
    /// Its id, which is unique.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The part of the pipeline that it is about.
    pub stage: Stage,
    /// When it helps, how it is done, why, and what may go wrong, as prompts show it.
    pub text: String,
    /// Ids of tricks that it does not go with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// Its code and the place of that, where it has code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Snippet>,
    /// The entries that a model made it of; empty for a card as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
}

impl From<&Trick> for ReadyTrick {
    fn from(trick: &Trick) -> Self {
        let Trick { title, when, how, why, risk, .. } = trick;
        Self {
            id: trick.id.to_string(),
            title: title.clone(),
            stage: trick.stage,
            text: format!("When: {when} How: {how} Why: {why} Risk: {risk}"),
            excludes: trick.excludes.iter().map(ToString::to_string).collect(),
            snippet: trick.snippet.clone(),
            from: Vec::new(),
        }
    }
}

/// What stands ready for a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadyKnowledge {
    /// The hash of the knowledge base; empty without one.
    pub hash: String,
    /// Tricks in the order of a retrieval, the best first.
    pub tricks: Vec<ReadyTrick>,
}

/// What the header of a journal says of a run's knowledge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeFacts {
    /// The hash of the knowledge base; empty without one.
    pub hash: String,
    /// Which tricks stand ready.
    pub selection: KnowledgeSelection,
    /// Their ids.
    pub tricks: Vec<String>,
    /// All of [`ReadyKnowledge`], as JSON.
    pub ready: BlobHash,
}

/// Why there is no knowledge for a task.
pub type KnowledgeFault = Box<dyn Error + Send + Sync>;

/// Gives tricks for tasks. Equal arguments must have equal answers.
pub trait KnowledgeSource: Debug + Sync {
    /// At most `most` tricks for `task`.
    ///
    /// # Errors
    /// Why there are none, where that is no answer.
    fn ready(
        &self,
        task: &Task,
        selection: KnowledgeSelection,
        most: usize,
        seed: u64,
    ) -> Result<ReadyKnowledge, KnowledgeFault>;
}

/// A run that asks for tricks has no knowledge base.
#[derive(Debug, thiserror::Error)]
#[error("`knowledge = \"{0}\"` needs a knowledge base, and this run has none")]
struct NoKnowledge(KnowledgeSelection);

/// No knowledge base.
impl KnowledgeSource for () {
    fn ready(
        &self,
        _: &Task,
        selection: KnowledgeSelection,
        _: usize,
        _: u64,
    ) -> Result<ReadyKnowledge, KnowledgeFault> {
        match selection {
            KnowledgeSelection::None => Ok(ReadyKnowledge::default()),
            other => Err(Box::new(NoKnowledge(other))),
        }
    }
}

/// The same tricks for every task.
impl KnowledgeSource for ReadyKnowledge {
    fn ready(
        &self,
        _: &Task,
        _: KnowledgeSelection,
        most: usize,
        _: u64,
    ) -> Result<ReadyKnowledge, KnowledgeFault> {
        let tricks = self.tricks.iter().take(most).cloned().collect();
        Ok(Self { hash: self.hash.clone(), tricks })
    }
}

impl ReadyKnowledge {
    /// What the run had whose header says `facts`.
    ///
    /// # Errors
    /// [`JournalError::Blob`] if that is missing or was changed.
    pub fn recorded(facts: &KnowledgeFacts, blobs: &Blobs) -> Result<Self, JournalError> {
        let bytes = blobs.get(&facts.ready)?;
        serde_json::from_slice(&bytes).map_err(|source| JournalError::Knowledge { source })
    }

    /// The trick of that id.
    pub fn trick(&self, id: &str) -> Option<&ReadyTrick> {
        self.tricks.iter().find(|trick| trick.id == id)
    }
}
