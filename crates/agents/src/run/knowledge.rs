//! What a run is given of a knowledge base: tricks that stand ready for its task.
//!
//! `source -> ready tricks -> journal's header`
//!
//! A run does not know how tricks are found. Whoever starts it hands it a [`KnowledgeSource`]; what
//! that gives is written into the journal, and a run goes on only with the same.

use super::journal::{Blobs, JournalError};
use super::node::BlobHash;
use crate::knowledge::{JobModel, Method, Snippet, Stage, TaskLabels, Trick};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt::{self, Debug};
use std::sync::Arc;
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

/// A published method that stands ready for drafts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadyMethod {
    /// Its id, which is unique.
    pub id: String,
    /// The title of the paper, with its source.
    pub title: String,
    /// What it is for and how it works, as prompts show it.
    pub text: String,
}

impl From<&Method> for ReadyMethod {
    fn from(method: &Method) -> Self {
        let Method { title, authors, venue, year, task, data, idea, inputs, when, .. } = method;
        Self {
            id: method.id.to_string(),
            title: format!("{title} ({authors}, {venue} {year})"),
            text: format!("Task: {task} Data: {data} Idea: {idea} Inputs: {inputs} When: {when}"),
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
    /// Published methods, the best first; empty where drafts use none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<ReadyMethod>,
    /// The labels that the task was given; empty where none are asked for.
    #[serde(default, skip_serializing_if = "TaskLabels::is_empty")]
    pub labels: TaskLabels,
    /// What the leak check excluded, each with its reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
    /// The provider's name of the model that compared texts; `None` for words alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// The hash of the record of earlier uses that decided ties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
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

impl KnowledgeFacts {
    /// Of `ready`, which is stored as `blob`.
    pub fn new(ready: &ReadyKnowledge, selection: KnowledgeSelection, blob: BlobHash) -> Self {
        Self {
            hash: ready.hash.clone(),
            selection,
            tricks: ready.tricks.iter().map(|trick| trick.id.clone()).collect(),
            ready: blob,
        }
    }
}

/// Who answers a question about a knowledge base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnsweredBy {
    /// Rules, without a model.
    #[default]
    Rules,
    /// The player, in the role of the retriever.
    Model,
}

/// What the tricks that stand ready are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TricksFrom {
    /// Cards as they are.
    #[default]
    Cards,
    /// What the player distils from solutions and fits to the task.
    Model,
}

/// How the knowledge of a run is found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KnowledgeSettings {
    /// Who labels the task: rules, or a model with five votes. Default: rules.
    pub labels: AnsweredBy,
    /// Whether a model is asked as well which posts are of the same competition. Default: rules
    /// alone.
    pub leaks: AnsweredBy,
    /// Who writes what published methods are asked for. Default: rules, from the statement of the task
    /// and its labels.
    pub queries: AnsweredBy,
    /// What tricks are. Default: cards.
    pub distil: TricksFrom,
    /// Whether entries of equal scores are ranked by how they fared in earlier runs. Default: no.
    pub learn: bool,
}

impl KnowledgeSettings {
    /// Whether a model is asked anything.
    pub fn asks(self) -> bool {
        let Self { labels, leaks, queries, distil, .. } = self;
        [labels, leaks, queries].contains(&AnsweredBy::Model) || distil == TricksFrom::Model
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a run wants of a knowledge base.
#[derive(Debug, Clone)]
pub struct WantedKnowledge<'a> {
    /// The task.
    pub task: &'a Task,
    /// Which tricks.
    pub selection: KnowledgeSelection,
    /// Most of them.
    pub most: usize,
    /// Whether published methods are wanted too.
    pub methods: bool,
    /// The seed of what is drawn.
    pub seed: u64,
    /// How they are found.
    pub settings: KnowledgeSettings,
    /// Who answers what `settings` ask a model for.
    pub jobs: Option<Arc<dyn JobModel + 'a>>,
}

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

    /// The same, found as a run's settings say. A source whose tricks are settled gives those.
    ///
    /// # Errors
    /// As [`KnowledgeSource::ready`], and if a model that is asked does not answer.
    fn find(&self, wanted: &WantedKnowledge<'_>) -> Result<ReadyKnowledge, KnowledgeFault> {
        self.ready(wanted.task, wanted.selection, wanted.most, wanted.seed)
    }
}

/// A run that asks for tricks has no knowledge base.
#[derive(Debug, thiserror::Error)]
#[error("`knowledge = \"{0}\"` needs a knowledge base, and this run has none")]
struct NoKnowledge(KnowledgeSelection);

/// Drafts that use published methods have no knowledge base.
#[derive(Debug, thiserror::Error)]
#[error(
    "`tricks.drafts` asks for published methods; they need a knowledge base, and this run has none"
)]
struct NoMethods;

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

    fn find(&self, wanted: &WantedKnowledge<'_>) -> Result<ReadyKnowledge, KnowledgeFault> {
        if wanted.methods {
            return Err(Box::new(NoMethods));
        }
        self.ready(wanted.task, wanted.selection, wanted.most, wanted.seed)
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
        Ok(Self { tricks, ..self.clone() })
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
