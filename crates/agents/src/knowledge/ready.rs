//! The tricks that a run of `AutoMind` has: retrieved for its task, or others for comparison.

use super::base::Knowledge;
use super::card::TrickId;
use super::leak::check_leaks;
use super::query::Query;
use super::retrieve::{RetrievalSettings, retrieve};
use super::same_task::NobodyAsked;
use super::selection::{random_tricks, wrong_label_tricks};
use crate::run::knowledge::{
    KnowledgeFault, KnowledgeSelection, KnowledgeSource, ReadyKnowledge, ReadyTrick,
};
use tasks::stream::Stream;
use tasks::task::Task;

/// Cards as they are, labels by rules, texts compared by their words. Others than the retrieved ones
/// are as many as these, so that runs differ in which tricks they have and in nothing else.
impl KnowledgeSource for Knowledge {
    fn ready(
        &self,
        task: &Task,
        selection: KnowledgeSelection,
        most: usize,
        seed: u64,
    ) -> Result<ReadyKnowledge, KnowledgeFault> {
        if selection == KnowledgeSelection::None {
            return Ok(ReadyKnowledge::default());
        }
        let query = Query::from_task(task)?;
        let settings = RetrievalSettings::default();
        let exclusions = check_leaks(self, &query, &NobodyAsked, &settings, self.lexical())?;
        let ranked = retrieve(self, &query, &exclusions, &settings, self.lexical())?;
        let retrieved = ranked.ready(self, most);
        let (count, stream) = (retrieved.len(), Stream::root(seed).child(task.id().as_str()));
        let ids: Vec<TrickId> = match selection {
            KnowledgeSelection::None => Vec::new(),
            KnowledgeSelection::Retrieved => retrieved,
            KnowledgeSelection::Random => random_tricks(self, &exclusions, count, stream),
            KnowledgeSelection::WrongLabels => {
                wrong_label_tricks(self, &query.labels, &exclusions, count, stream)
            }
        };
        let tricks = ids.iter().filter_map(|id| self.trick(id)).map(ReadyTrick::from).collect();
        Ok(ReadyKnowledge { hash: self.hash().to_owned(), tricks })
    }
}
