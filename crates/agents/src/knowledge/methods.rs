//! Published methods for a task: four aspects fetch their nearest. Source: AutoMind's release.

use super::base::Knowledge;
use super::card::{Method, TrickId};
use super::embed::{EmbedError, Embedder};
use super::jobs::{AskError, Job, JobFault, JobModel, ask};
use super::query::Query;
use super::words::{count_words, first_words};
use crate::fence::fenced;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Methods that one aspect fetches, and that stay of all.
const FETCHED: usize = 4;
/// Most words of a text that methods are asked for.
const WORDS: usize = 50;

/// What methods are asked for: a text of at most 50 words for each aspect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodQuery {
    /// The problem.
    pub task: String,
    /// The data.
    pub data: String,
    /// Where it comes from.
    pub domain: String,
    /// The part of a solution that is looked for.
    pub phase: String,
}

impl MethodQuery {
    /// From the statement of a task and its labels, without a model.
    pub fn by_rules(query: &Query) -> Self {
        let statement = first_words(&query.statement, WORDS);
        let labels = first_words(&query.labels.to_string(), WORDS);
        Self {
            task: format!("{labels}. {statement}"),
            data: statement.clone(),
            domain: statement,
            phase: "model and training".to_owned(),
        }
    }

    /// In the words of a model; by rules where its answers cannot be read.
    ///
    /// # Errors
    /// [`JobFault`] if nobody answers now.
    pub fn asked_for(model: &dyn JobModel, query: &Query) -> Result<Self, JobFault> {
        let task = fenced("text", &query.statement);
        let prompt = Job::Queries.prompt(&[("task", &task)]);
        let check = |fields: &Self| {
            let Self { task, data, domain, phase } = fields;
            let is_fine = |text: &String| (1..=WORDS).contains(&count_words(text));
            if [task, data, domain, phase].into_iter().all(is_fine) {
                Ok(())
            } else {
                Err(format!("each text has 1 to {WORDS} words"))
            }
        };
        match ask::<Self>(model, Job::Queries, &prompt, 0, check) {
            Ok(asked) => Ok(asked),
            Err(AskError::Fault(fault)) => Err(fault),
            Err(AskError::Unreadable { what }) => {
                tracing::warn!(what, "queries for papers cannot be read; rules write them");
                Ok(Self::by_rules(query))
            }
        }
    }
}

/// A method with the terms of its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankedMethod {
    /// Its name.
    pub id: TrickId,
    /// Sum of `aspects`.
    pub score: f64,
    /// 1 / (1 + L2 distance) of each aspect that fetched it.
    pub aspects: BTreeMap<String, f64>,
}

/// The best four methods: each aspect fetches its four nearest, and a method scores the sum of
/// 1 / (1 + L2 distance) over the aspects that fetched it, vectors having length 1.
///
/// # Errors
/// [`EmbedError`]; never with the base's own [`Knowledge::lexical`].
pub fn retrieve_methods(
    base: &Knowledge,
    query: &MethodQuery,
    embedder: &dyn Embedder,
) -> Result<Vec<RankedMethod>, EmbedError> {
    type Aspect = fn(&Method) -> &String;
    let aspects: [(&str, &String, Aspect); 4] = [
        ("task", &query.task, |method| &method.task),
        ("data", &query.data, |method| &method.data),
        ("domain", &query.domain, |method| &method.domain),
        ("phase", &query.phase, |method| &method.phase),
    ];
    let mut found: BTreeMap<&TrickId, BTreeMap<String, f64>> = BTreeMap::new();
    for (name, asked, aspect) in aspects {
        let texts: Vec<&str> =
            base.methods().iter().map(|method| aspect(method).as_str()).collect();
        let near = embedder.cosines(asked, &texts)?.into_iter().map(|cosine| {
            // Of vectors of length 1.
            1.0 / (1.0 + (2.0 - 2.0 * cosine).max(0.0).sqrt())
        });
        let mut near: Vec<(&TrickId, f64)> =
            base.methods().iter().map(|method| &method.id).zip(near).collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        for (id, near) in near.into_iter().take(FETCHED) {
            found.entry(id).or_default().insert(name.to_owned(), near);
        }
    }
    let mut ranked: Vec<RankedMethod> = found
        .into_iter()
        .map(|(id, aspects)| RankedMethod {
            id: id.clone(),
            score: aspects.values().sum(),
            aspects,
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    ranked.truncate(FETCHED);
    Ok(ranked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::fixture::base;

    #[test]
    fn methods_are_ranked_by_four_aspects() {
        let base = base();
        let query = MethodQuery {
            task: "regression".into(),
            data: "tables of regression".into(),
            domain: "farming 0".into(),
            phase: "training".into(),
        };
        let ranked = retrieve_methods(&base, &query, base.lexical()).unwrap();
        let ids: Vec<&str> = ranked.iter().map(|method| method.id.as_str()).collect();
        assert_eq!(ids[0], "method-0", "{ranked:?}");
        assert_eq!(ranked.len(), 4);
        assert!(ranked[0].aspects.values().all(|near| *near > 0.99), "{ranked:?}");
        assert!(ranked.windows(2).all(|pair| pair[0].score >= pair[1].score));
    }
}
