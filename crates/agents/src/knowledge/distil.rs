//! From ranked entries to the tricks that stand ready for a task: the cards as they are, or what a model
//! distils from solutions and fits to the task.

use super::base::Knowledge;
use super::card::{Stage, TrickId};
use super::jobs::{AskError, Job, JobFault, JobModel, ask};
use super::query::Query;
use super::retrieve::{MOST_READY, Ranked};
use super::words::{count_words, first_words};
use crate::fence::fenced;
use crate::run::knowledge::ReadyTrick;
use serde::Deserialize;
use std::fmt::{Debug, Write as _};
use std::sync::Arc;

/// Solutions that are distilled together.
const SOLUTIONS: usize = 5;
/// Words of a solution that are shown.
const SHOWN: usize = 600;
/// Most words of a distilled trick.
const MOST_WORDS: usize = 160;

/// Makes ranked entries ready.
pub trait Distiller: Debug + Send + Sync {
    /// At most `most` tricks for the task, and at most [`MOST_READY`].
    ///
    /// # Errors
    /// [`JobFault`] if nobody answers now.
    fn ready(
        &self,
        base: &Knowledge,
        ranked: &Ranked,
        query: &Query,
        most: usize,
    ) -> Result<Vec<ReadyTrick>, JobFault>;
}

/// The best cards as they are. Posts are passed over.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainCards;

impl Distiller for PlainCards {
    fn ready(
        &self,
        base: &Knowledge,
        ranked: &Ranked,
        _query: &Query,
        most: usize,
    ) -> Result<Vec<ReadyTrick>, JobFault> {
        let tricks = ranked.ready(base, most);
        Ok(tricks.iter().filter_map(|id| base.trick(id)).map(ReadyTrick::from).collect())
    }
}

/// What a model distils from the best five solutions, and then fits to the task. Where there are fewer
/// solutions, the best cards take their places. Unreadable answers leave the cards as they are.
#[derive(Debug, Clone)]
pub struct ModelDistiller<'a> {
    model: Arc<dyn JobModel + 'a>,
}

impl<'a> ModelDistiller<'a> {
    /// Asks `model`.
    pub fn new(model: Arc<dyn JobModel + 'a>) -> Self {
        Self { model }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TricksFields {
    tricks: Vec<TrickFields>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrickFields {
    stage: Stage,
    text: String,
    from: Vec<String>,
}

impl Distiller for ModelDistiller<'_> {
    fn ready(
        &self,
        base: &Knowledge,
        ranked: &Ranked,
        query: &Query,
        most: usize,
    ) -> Result<Vec<ReadyTrick>, JobFault> {
        let solutions = solutions(base, ranked);
        let names: Vec<&TrickId> = solutions.iter().map(|(id, _)| id).collect();
        let plain = || PlainCards.ready(base, ranked, query, most);
        if solutions.is_empty() {
            return plain();
        }
        let mut shown = String::new();
        for (id, text) in &solutions {
            let _ = writeln!(
                shown,
                "Solution `{id}`:\n{}\n",
                fenced("text", &first_words(text, SHOWN))
            );
        }
        let prompt = Job::Distil.prompt(&[("solutions", shown.trim_end())]);
        let check = |fields: &TricksFields| check(fields, &names, 1);
        let distilled = match ask::<TricksFields>(&*self.model, Job::Distil, &prompt, 0, check) {
            Ok(fields) => fields.tricks,
            Err(AskError::Fault(fault)) => return Err(fault),
            Err(AskError::Unreadable { what }) => {
                tracing::warn!(what, "no tricks could be distilled; the cards stay as they are");
                return plain();
            }
        };
        let task = fenced("text", &query.statement);
        let tricks = fenced("text", &list(&distilled));
        let prompt = Job::Fit.prompt(&[("task", &task), ("tricks", &tricks)]);
        let check = |fields: &TricksFields| self::check(fields, &names, 0);
        let fitted = match ask::<TricksFields>(&*self.model, Job::Fit, &prompt, 0, check) {
            Ok(fields) => fields.tricks,
            Err(AskError::Fault(fault)) => return Err(fault),
            Err(AskError::Unreadable { what }) => {
                tracing::warn!(what, "tricks could not be fitted to the task; all of them stay");
                distilled
            }
        };
        let most = most.min(MOST_READY);
        let ready = fitted.into_iter().take(most).enumerate().map(|(index, fields)| ReadyTrick {
            id: format!("distilled-{}", index + 1),
            title: format!("Of {}", fields.from.join(", ")),
            stage: fields.stage,
            text: fields.text,
            excludes: Vec::new(),
            snippet: None,
            from: fields.from,
        });
        Ok(ready.collect())
    }
}

/// The first five solutions of ranked posts, then cards.
fn solutions(base: &Knowledge, ranked: &Ranked) -> Vec<(TrickId, String)> {
    let posts = ranked.entries.iter().filter_map(|entry| base.post(&entry.id));
    let of_posts = posts
        .flat_map(|post| post.solutions.values().map(|text| (post.id.clone(), text.clone())))
        .filter(|(_, text)| !text.trim().is_empty());
    let of_cards = ranked.ready(base, MOST_READY).into_iter().filter_map(|id| {
        let text = ReadyTrick::from(base.trick(&id)?).text;
        Some((id, text))
    });
    of_posts.chain(of_cards).take(SOLUTIONS).collect()
}

fn check(fields: &TricksFields, names: &[&TrickId], least: usize) -> Result<(), String> {
    let count = fields.tricks.len();
    if !(least..=MOST_READY).contains(&count) {
        return Err(format!("it has {count} tricks, and may have {least} to {MOST_READY}"));
    }
    for TrickFields { text, from, .. } in &fields.tricks {
        let words = count_words(text);
        if !(1..=MOST_WORDS).contains(&words) {
            return Err(format!("a text has {words} words, and may have 1 to {MOST_WORDS}"));
        }
        if let Some(name) = from.iter().find(|name| names.iter().all(|id| id.as_str() != *name)) {
            return Err(format!("`from` names `{name}`, which is no solution"));
        }
    }
    Ok(())
}

fn list(tricks: &[TrickFields]) -> String {
    let line = |trick: &TrickFields| {
        format!("- {} (from {}): {}", trick.stage, trick.from.join(", "), trick.text)
    };
    tricks.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::exclusions::Exclusions;
    use crate::knowledge::fixture::{ScriptedModel, base, query};
    use crate::knowledge::retrieve::{RetrievalSettings, retrieve};

    fn ready(answers: &[&str]) -> (Vec<ReadyTrick>, usize) {
        let base = base();
        let query = query("Predict the yield.", &["General Machine Learning/Regression"]);
        let settings = RetrievalSettings::default();
        let ranked =
            retrieve(&base, &query, &Exclusions::default(), &settings, base.lexical()).unwrap();
        let model = Arc::new(ScriptedModel::new(answers));
        let distiller = ModelDistiller::new(model.clone());
        (distiller.ready(&base, &ranked, &query, 12).unwrap(), model.asked())
    }

    #[test]
    fn tricks_are_distilled_and_fitted() {
        let two = r#"{"tricks": [{"stage": "model", "text": "A forest.", "from": ["same"]},
                      {"stage": "post", "text": "Clip.", "from": []}]}"#;
        let one = r#"{"tricks": [{"stage": "post", "text": "Clip.", "from": ["same"]}]}"#;
        let (tricks, asked) = ready(&[two, one]);
        assert_eq!((tricks.len(), asked), (1, 2));
        assert_eq!((tricks[0].id.as_str(), tricks[0].stage), ("distilled-1", Stage::Post));
        assert_eq!(tricks[0].from, ["same"]);
        // What cannot be fitted stays as it was distilled.
        assert_eq!(ready(&[two, "x", "x", "x"]).0.len(), 2);
        assert!(ready(&[two, r#"{"tricks": []}"#]).0.is_empty());
    }

    #[test]
    fn unreadable_answers_leave_the_cards() {
        let unknown = r#"{"tricks": [{"stage": "post", "text": "Clip.", "from": ["nope"]}]}"#;
        let (tricks, asked) = ready(&[unknown, r#"{"tricks": []}"#, "no"]);
        assert_eq!(asked, 3);
        assert_eq!(tricks.len(), MOST_READY);
        assert_eq!(tricks[0].id.as_str(), "same");
        assert!(tricks[0].text.contains("When: "));
    }
}
