//! The knowledge base: tricks of practitioners and published methods as cards, labels of tasks,
//! retrieval with every term of a score, the leak check, and imported posts.
//!
//! ```text
//! task ─ Query::from_task ─► Query ─ check_leaks ─► Exclusions ─ retrieve ─► Ranked ─ Distiller ─► tricks
//! ```
//! Nothing here starts a process or opens a connection: models and providers come in through
//! [`JobModel`] and [`Embedder`]. Source: AutoMind, section 3.1. See `docs/KNOWLEDGE.md`.

mod audit;
mod base;
mod card;
mod card_code;
mod card_file;
mod compared_page;
mod distil;
mod embed;
mod exclusions;
mod families;
#[cfg(test)]
mod fixture;
mod jobs;
mod labeler;
mod labels;
mod leak;
mod lexical;
mod methods;
mod posts;
mod query;
mod ready;
mod record;
mod retrieve;
mod same_task;
mod selection;
#[cfg(test)]
mod shipped;
mod source;
mod statement;
mod task_labels;
mod votes;
mod words;

pub use audit::{AuditFinding, audit};
pub use base::{Knowledge, KnowledgeError};
pub use card::{
    CODE_LINES, CardCost, Method, Slot, Snippet, Stage, TRICK_WORDS, Trick, TrickId, TrickIdError,
};
pub use distil::{Distiller, ModelDistiller, PlainCards};
pub use embed::{EmbedError, Embedder, ProviderEmbedder};
pub use exclusions::{ExclusionReason, Exclusions};
pub use families::Families;
pub use jobs::{ChatJobs, Job, JobFault, JobModel};
pub use labeler::{LabelSubject, Labeler, Labelled, ModelLabeler, RuleLabeler, VOTES};
pub use labels::{GENERAL, HardLabel, Label, LabelFormError, LabelTree, TaskLabels};
pub use leak::{LeakError, check_leaks};
pub use lexical::{LEXICAL_PLACES, Lexical};
pub use methods::{MethodQuery, RankedMethod, retrieve_methods};
pub use posts::{Post, PostError, parse_posts};
pub use query::Query;
pub use ready::KnowledgeDesk;
pub use record::{TRICK_USES, TrickRecord, TrickRecordError, TrickUse};
pub use retrieve::{
    EntryKind, LabelTerm, MOST_READY, Ranked, RankedEntry, RetrievalSettings, retrieve,
};
pub use same_task::{ModelSameTask, NobodyAsked, SameAnswer, SameTask};
pub use selection::{random_tricks, wrong_label_tricks};
pub use source::CardError;
pub use statement::{STATEMENT_WORDS, statement};
pub(crate) use task_labels::label_text;
pub use votes::majority;
