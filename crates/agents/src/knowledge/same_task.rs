//! Whether a post is about the competition or the data of a task, in a model's judgement.

use super::jobs::{AskError, Job, JobFault, JobModel, ask};
use super::posts::Post;
use super::query::Query;
use super::words::first_words;
use crate::fence::fenced;
use serde::Deserialize;
use std::fmt::Debug;
use std::sync::Arc;

/// Words of a description that are shown.
const SHOWN: usize = 400;

/// A judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SameAnswer {
    /// It is the same competition or data.
    Yes {
        /// Why.
        why: String,
    },
    /// It is another one.
    No,
    /// The answer cannot be understood.
    Unreadable {
        /// What is wrong with it.
        what: String,
    },
}

/// Judges whether a post is about the competition or the data of a task.
pub trait SameTask: Debug + Send + Sync {
    /// The judgement of one post.
    ///
    /// # Errors
    /// [`JobFault`] if nobody answers now.
    fn same(&self, query: &Query, post: &Post) -> Result<SameAnswer, JobFault>;

    /// Whether it judges at all.
    fn asks(&self) -> bool {
        true
    }
}

/// Judges nothing: the rules of the leak check stand alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyAsked;

impl SameTask for NobodyAsked {
    fn same(&self, _query: &Query, _post: &Post) -> Result<SameAnswer, JobFault> {
        Ok(SameAnswer::No)
    }

    fn asks(&self) -> bool {
        false
    }
}

/// A chat model that judges.
#[derive(Debug, Clone)]
pub struct ModelSameTask<'a> {
    model: Arc<dyn JobModel + 'a>,
}

impl<'a> ModelSameTask<'a> {
    /// Asks `model`.
    pub fn new(model: Arc<dyn JobModel + 'a>) -> Self {
        Self { model }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SameFields {
    why: String,
    same: bool,
}

impl SameTask for ModelSameTask<'_> {
    fn same(&self, query: &Query, post: &Post) -> Result<SameAnswer, JobFault> {
        let theirs = format!("{}\n\n{}", post.title, first_words(&post.introduction, SHOWN));
        let prompt = Job::SameTask.prompt(&[
            ("task", &fenced("text", &first_words(&query.description, SHOWN))),
            ("post", &fenced("text", &theirs)),
        ]);
        match ask::<SameFields>(&*self.model, Job::SameTask, &prompt, 0, |_| Ok(())) {
            Ok(SameFields { why, same: true }) => Ok(SameAnswer::Yes { why }),
            Ok(SameFields { same: false, .. }) => Ok(SameAnswer::No),
            Err(AskError::Unreadable { what }) => Ok(SameAnswer::Unreadable { what }),
            Err(AskError::Fault(fault)) => Err(fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::fixture::{ScriptedModel, post, query};

    #[test]
    fn judgement_is_yes_no_or_unreadable() {
        for (answers, expected) in [
            (vec![r#"{"why": "same whales", "same": true}"#], "Yes { why: \"same whales\" }"),
            (vec!["```json\n{\"why\": \"\", \"same\": false}\n```"], "No"),
            (vec!["no", r#"{"same": false}"#, "yes"], "Unreadable"),
            (vec!["hm", r#"{"why": "", "same": false}"#], "No"),
        ] {
            let model = Arc::new(ScriptedModel::new(&answers));
            let judge = ModelSameTask::new(Arc::clone(&model) as Arc<dyn JobModel>);
            let answer = judge.same(&query("t", &[]), &post("o", "text")).unwrap();
            assert!(format!("{answer:?}").starts_with(expected), "{answer:?}");
            assert_eq!(model.asked(), answers.len());
        }
    }
}
