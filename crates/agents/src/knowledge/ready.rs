//! The tricks that a run of `AutoMind` has: retrieved for its task, or others for comparison.

use super::base::Knowledge;
use super::card::TrickId;
use super::distil::{Distiller, ModelDistiller, PlainCards};
use super::embed::{Embedder, ProviderEmbedder};
use super::exclusions::{ExclusionReason, Exclusions};
use super::labeler::ModelLabeler;
use super::leak::check_leaks;
use super::methods::{MethodQuery, retrieve_methods};
use super::query::Query;
use super::record::TrickRecord;
use super::retrieve::{Ranked, RetrievalSettings, retrieve};
use super::same_task::{ModelSameTask, NobodyAsked, SameTask};
use super::selection::{random_tricks, wrong_label_tricks};
use crate::run::knowledge::{
    AnsweredBy, KnowledgeFault, KnowledgeSelection, KnowledgeSettings, KnowledgeSource,
    ReadyKnowledge, ReadyMethod, ReadyTrick, TricksFrom, WantedKnowledge,
};
use tasks::stream::Stream;
use tasks::task::Task;

/// A knowledge base with what runs may use besides it: a provider's vectors, and how tricks fared in
/// earlier runs.
#[derive(Debug, Clone, Copy)]
pub struct KnowledgeDesk<'a> {
    /// The base.
    pub base: &'a Knowledge,
    /// Whose vectors texts are compared by; without one, their words are compared.
    pub embedder: Option<&'a ProviderEmbedder>,
    /// Earlier uses of tricks, for runs that learn from them.
    pub record: Option<&'a TrickRecord>,
}

/// What settings ask for is not there.
#[derive(Debug, thiserror::Error)]
enum NotGiven {
    #[error(
        "`automind.knowledge.learn` needs a record of earlier uses of tricks; name a file or a \
         folder of runs with `--uses`"
    )]
    Record,
    #[error("`automind.knowledge` asks for a model, and there is none to ask")]
    Model,
}

impl KnowledgeDesk<'_> {
    fn embedder(&self) -> &dyn Embedder {
        match self.embedder {
            Some(embedder) => embedder,
            None => self.base.lexical(),
        }
    }

    fn ranked(
        &self,
        query: &Query,
        same_task: &dyn SameTask,
        settings: KnowledgeSettings,
    ) -> Result<(Ranked, Exclusions), KnowledgeFault> {
        let (base, embedder) = (self.base, self.embedder());
        let terms = RetrievalSettings::default();
        let exclusions = check_leaks(base, query, same_task, &terms, embedder)?;
        let ranked = retrieve(base, query, &exclusions, &terms, embedder)?;
        let ranked = match (settings.learn, self.record) {
            (false, _) => ranked,
            (true, Some(record)) => ranked.learned(record, &query.labels),
            (true, None) => return Err(NotGiven::Record.into()),
        };
        Ok((ranked, exclusions))
    }
}

/// Others than the retrieved tricks are as many as these, and cards as they are, so that runs differ in
/// which tricks they have and in nothing else.
impl KnowledgeSource for KnowledgeDesk<'_> {
    fn ready(
        &self,
        task: &Task,
        selection: KnowledgeSelection,
        most: usize,
        seed: u64,
    ) -> Result<ReadyKnowledge, KnowledgeFault> {
        let (settings, methods) = (KnowledgeSettings::default(), false);
        let wanted = WantedKnowledge { task, selection, most, methods, seed, settings, jobs: None };
        self.find(&wanted)
    }

    fn find(&self, wanted: &WantedKnowledge<'_>) -> Result<ReadyKnowledge, KnowledgeFault> {
        let WantedKnowledge { task, selection, most, methods, seed, settings, ref jobs } = *wanted;
        if selection == KnowledgeSelection::None && !methods {
            return Ok(ReadyKnowledge::default());
        }
        let asked = || jobs.clone().ok_or(NotGiven::Model);
        let base = self.base;
        let mut query = Query::from_task(task)?;
        if settings.labels == AnsweredBy::Model {
            query = query.labelled_by(&ModelLabeler::new(asked()?), base.labels())?;
        }
        let (ranked, exclusions) = match settings.leaks {
            AnsweredBy::Rules => self.ranked(&query, &NobodyAsked, settings)?,
            AnsweredBy::Model => self.ranked(&query, &ModelSameTask::new(asked()?), settings)?,
        };
        let stream = Stream::root(seed).child(task.id().as_str());
        let count = ranked.ready(base, most).len();
        let cards = |ids: Vec<TrickId>| -> Vec<ReadyTrick> {
            ids.iter().filter_map(|id| base.trick(id)).map(ReadyTrick::from).collect()
        };
        let tricks = match (selection, settings.distil) {
            (KnowledgeSelection::None, _) => Vec::new(),
            (KnowledgeSelection::Retrieved, TricksFrom::Cards) => {
                PlainCards.ready(base, &ranked, &query, most)?
            }
            (KnowledgeSelection::Retrieved, TricksFrom::Model) => {
                ModelDistiller::new(asked()?).ready(base, &ranked, &query, most)?
            }
            (KnowledgeSelection::Random, _) => {
                cards(random_tricks(base, &exclusions, count, stream))
            }
            (KnowledgeSelection::WrongLabels, _) => {
                cards(wrong_label_tricks(base, &query.labels, &exclusions, count, stream))
            }
        };
        let methods = if methods {
            let asked_for = match settings.queries {
                AnsweredBy::Rules => MethodQuery::by_rules(&query),
                AnsweredBy::Model => MethodQuery::asked_for(&*asked()?, &query)?,
            };
            let found = retrieve_methods(base, &asked_for, self.embedder())?;
            let allowed = found.iter().filter(|method| !exclusions.has(&method.id));
            allowed.filter_map(|method| base.method(&method.id)).map(ReadyMethod::from).collect()
        } else {
            Vec::new()
        };
        let reasons = |reasons: &[ExclusionReason]| {
            reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        Ok(ReadyKnowledge {
            hash: base.hash().to_owned(),
            tricks,
            methods,
            labels: query.labels,
            excluded: exclusions.iter().map(|(id, of)| format!("{id}: {}", reasons(of))).collect(),
            embedder: self.embedder.map(|embedder| embedder.model().to_owned()),
            record: self.record.filter(|_| settings.learn).map(TrickRecord::hash),
        })
    }
}

/// Texts compared by their words, and nothing learned.
impl KnowledgeSource for Knowledge {
    fn ready(
        &self,
        task: &Task,
        selection: KnowledgeSelection,
        most: usize,
        seed: u64,
    ) -> Result<ReadyKnowledge, KnowledgeFault> {
        KnowledgeDesk::from(self).ready(task, selection, most, seed)
    }

    fn find(&self, wanted: &WantedKnowledge<'_>) -> Result<ReadyKnowledge, KnowledgeFault> {
        KnowledgeDesk::from(self).find(wanted)
    }
}

impl<'a> From<&'a Knowledge> for KnowledgeDesk<'a> {
    fn from(base: &'a Knowledge) -> Self {
        Self { base, embedder: None, record: None }
    }
}
