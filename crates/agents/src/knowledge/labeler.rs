//! Who gives labels to tasks and posts: rules, or a model with five votes.

use super::jobs::{AskError, Job, JobFault, JobModel, ask};
use super::labels::{Label, LabelTree, TaskLabels};
use super::posts::Post;
use super::query::Query;
use super::task_labels::label_text;
use super::votes::majority;
use super::words::first_words;
use crate::fence::fenced;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::sync::Arc;

/// Votes of a model.
pub const VOTES: u64 = 5;
/// Words of a description that are shown.
const SHOWN: usize = 400;

/// What is labelled.
#[derive(Debug, Clone, Copy)]
pub struct LabelSubject<'a> {
    /// Its description.
    pub description: &'a str,
    /// The labels that rules give it.
    pub rules: &'a TaskLabels,
}

/// Labels, and how they came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// The labels; at least one.
    pub labels: TaskLabels,
    /// The votes that could be read, for a model's labels. Empty if the rules decided.
    pub votes: Vec<TaskLabels>,
}

/// Gives labels.
pub trait Labeler: Debug + Send + Sync {
    /// The labels of a task or a post.
    ///
    /// # Errors
    /// [`JobFault`] if nobody answers now.
    fn label(&self, subject: LabelSubject<'_>, tree: &LabelTree) -> Result<Labelled, JobFault>;
}

impl Query {
    /// The same question with the labels that `labeler` gives.
    ///
    /// # Errors
    /// [`JobFault`].
    pub fn labelled_by(self, labeler: &dyn Labeler, tree: &LabelTree) -> Result<Self, JobFault> {
        let subject = LabelSubject { description: &self.description, rules: &self.labels };
        let labels = labeler.label(subject, tree)?.labels;
        Ok(Self { labels, ..self })
    }
}

impl Post {
    /// The same post with the labels that `labeler` gives.
    ///
    /// # Errors
    /// [`JobFault`].
    pub fn labelled_by(self, labeler: &dyn Labeler, tree: &LabelTree) -> Result<Self, JobFault> {
        let rules = label_text(&format!("{}. {}", self.title, self.introduction));
        let description = format!("{}\n\n{}", self.title, self.introduction);
        let subject = LabelSubject { description: &description, rules: &rules };
        let labels = labeler.label(subject, tree)?.labels;
        Ok(Self { labels, ..self })
    }
}

/// The labels of the rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleLabeler;

impl Labeler for RuleLabeler {
    fn label(&self, subject: LabelSubject<'_>, _tree: &LabelTree) -> Result<Labelled, JobFault> {
        Ok(Labelled { labels: subject.rules.clone(), votes: Vec::new() })
    }
}

/// The labels that most of five votes of a model have. If fewer than three can be read, the rules
/// decide.
#[derive(Debug, Clone)]
pub struct ModelLabeler<'a> {
    model: Arc<dyn JobModel + 'a>,
}

impl<'a> ModelLabeler<'a> {
    /// Asks `model`.
    pub fn new(model: Arc<dyn JobModel + 'a>) -> Self {
        Self { model }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelFields {
    #[serde(rename = "why")]
    _why: String,
    labels: BTreeMap<String, Vec<String>>,
}

impl Labeler for ModelLabeler<'_> {
    fn label(&self, subject: LabelSubject<'_>, tree: &LabelTree) -> Result<Labelled, JobFault> {
        let mut list = String::new();
        for hard in tree.hard() {
            let _ = writeln!(list, "- {}: {}", hard.name, hard.soft.join(", "));
        }
        let text = fenced("text", &first_words(subject.description, SHOWN));
        let prompt = Job::Label.prompt(&[("labels", list.trim_end()), ("task", &text)]);
        let mut votes = Vec::new();
        for sample in 0..VOTES {
            let check = |fields: &LabelFields| known(fields, tree).map(|_| ());
            match ask::<LabelFields>(&*self.model, Job::Label, &prompt, sample, check) {
                Ok(fields) => votes.extend(known(&fields, tree)),
                Err(AskError::Unreadable { what }) => {
                    tracing::warn!(sample, what, "a vote on labels cannot be read");
                }
                Err(AskError::Fault(fault)) => return Err(fault),
            }
        }
        if 2 * (votes.len() as u64) <= VOTES {
            tracing::warn!("too few votes on labels can be read; the rules decide");
            return Ok(Labelled { labels: subject.rules.clone(), votes: Vec::new() });
        }
        Ok(Labelled { labels: majority(&votes, tree), votes })
    }
}

/// A vote in the tree's names. Soft labels in words of the model's own are kept.
fn known(fields: &LabelFields, tree: &LabelTree) -> Result<TaskLabels, String> {
    let mut labels = TaskLabels::default();
    for (hard, soft) in &fields.labels {
        let name = tree.find_hard(hard).ok_or_else(|| format!("there is no field `{hard}`"))?;
        labels.insert_hard(name);
        for soft in soft.iter().filter(|soft| !soft.trim().is_empty()) {
            let soft = tree.find_soft(name, soft).unwrap_or(soft.trim());
            labels.insert(Label { hard: name.to_owned(), soft: soft.to_owned() });
        }
    }
    if labels.is_empty() { Err("`labels` is empty".to_owned()) } else { Ok(labels) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::fixture::{ScriptedModel, TREE, query};

    const GRAPH: &str = r#"{"why": "", "labels": {"graph learning": ["link prediction"]}}"#;
    const OWN: &str =
        r#"{"why": "", "labels": {"Graph Learning": ["molecules", "Link Prediction"]}}"#;
    const WRONG: &str = r#"{"why": "", "labels": {"Painting": []}}"#;

    #[test]
    fn five_votes_decide_and_too_few_leave_it_to_rules() {
        let tree = LabelTree::parse("labels.toml", TREE).unwrap();
        let rules = ["General Machine Learning/Regression"];
        let label = |answers: &[&str]| {
            let model = Arc::new(ScriptedModel::new(answers));
            let labeler = ModelLabeler::new(model.clone());
            let labelled = query("t", &rules).labelled_by(&labeler, &tree).unwrap();
            (labelled.labels.to_string(), model.asked())
        };
        let link = "Graph Learning: Link Prediction";
        assert_eq!(label(&[GRAPH, GRAPH, OWN, OWN, GRAPH]), (link.to_owned(), 5));
        let both = "Graph Learning: Link Prediction, molecules";
        assert_eq!(label(&[OWN, WRONG, OWN, OWN, GRAPH, GRAPH]), (both.to_owned(), 6));
        let general = "General Machine Learning: Regression".to_owned();
        let unreadable = [WRONG; 9];
        assert_eq!(label(&[&unreadable[..], &[GRAPH, GRAPH]].concat()), (general.clone(), 11));
        let labelled = query("t", &rules).labelled_by(&RuleLabeler, &tree).unwrap();
        assert_eq!(labelled.labels.to_string(), general);
    }
}
