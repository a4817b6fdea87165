//! The audit of cards: none repeats words or names of a task.

use super::base::Knowledge;
use super::card::TrickId;
use super::card_code::code_reads;
use super::query::columns;
use super::words::{runs, words};
use std::collections::BTreeSet;
use tasks::task::{Task, TaskError};

/// Words of a run.
const RUN: usize = 5;

/// Names that look like a column's and are everybody's.
const COMMON: [&str; 24] = [
    "row_id",
    "image_id",
    "file_name",
    "train_id",
    "test_id",
    "user_id",
    "item_id",
    "query_id",
    "group_id",
    "random_state",
    "n_jobs",
    "n_estimators",
    "max_features",
    "min_samples_leaf",
    "sample_submission",
    "fit_transform",
    "read_csv",
    "max_iter",
    "get_dummies",
    "value_counts",
    "train_test_split",
    "class_weight",
    "max_depth",
    "learning_rate",
];

/// A card that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFinding {
    /// The card.
    pub card: TrickId,
    /// The task, if it is about one.
    pub task: Option<String>,
    /// What the card has.
    pub what: String,
}

/// The cards of a base that reach outside the public files, or share a run of 5 words or the name of a
/// column with one of the tasks; in the order of cards.
///
/// # Errors
/// [`TaskError`] if a description cannot be read.
pub fn audit(base: &Knowledge, tasks: &[Task]) -> Result<Vec<AuditFinding>, TaskError> {
    let mut pages = Vec::new();
    for task in tasks {
        let page = words(&task.description()?);
        pages.push((task.id().as_str(), page, columns(task.public().path())));
    }
    let runs: Vec<BTreeSet<&[String]>> = pages.iter().map(|(_, page, _)| page_runs(page)).collect();
    let mut findings = Vec::new();
    for trick in base.tricks() {
        if let Some(what) = code_reads(trick) {
            findings.push(AuditFinding { card: trick.id.clone(), task: None, what });
        }
    }
    let tricks = base.tricks().iter().map(|trick| (&trick.id, trick.prose().to_vec()));
    let methods = base.methods().iter().map(|method| (&method.id, method.prose().to_vec()));
    for (card, prose) in tricks.chain(methods) {
        for ((task, _, columns), page) in pages.iter().zip(&runs) {
            if let Some(what) = shared_text(&prose, page, columns) {
                let (card, task) = (card.clone(), Some((*task).to_owned()));
                findings.push(AuditFinding { card, task, what });
            }
        }
    }
    findings.sort_by(|a, b| (&a.card, &a.task).cmp(&(&b.card, &b.task)));
    Ok(findings)
}

/// The runs of a task's page that [`shared_text`] looks for; made once, for many cards.
pub(super) fn page_runs(page: &[String]) -> BTreeSet<&[String]> {
    runs(page, RUN)
}

/// A run of 5 words that one of the texts shares with the page of a task, or the name of a column that
/// one has. Only names that are no plain words count: with an underscore or a digit, or of two words.
pub(super) fn shared_text(
    texts: &[&str],
    page: &BTreeSet<&[String]>,
    columns: &BTreeSet<String>,
) -> Option<String> {
    for text in texts {
        let words = words(text);
        if let Some(run) = words.windows(RUN).find(|run| page.contains(run)) {
            return Some(run.join(" "));
        }
        let names: BTreeSet<&str> =
            text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let shared = columns.iter().find(|column| {
            let is_distinct = column.contains('_')
                || column.chars().any(|c| c.is_ascii_digit())
                    && column.chars().any(char::is_alphabetic)
                    && column.len() > 3
                || column.chars().skip(1).any(char::is_uppercase)
                    && column.chars().any(char::is_lowercase);
            is_distinct
                && !COMMON.contains(&column.to_lowercase().as_str())
                && names.contains(column.as_str())
        });
        if let Some(column) = shared {
            return Some(column.clone());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_words_and_names_are_found() {
        let page = words("The buyer of used bikes pays by the state of the frame.");
        let columns: BTreeSet<String> =
            ["frame_state", "age", "row_id", "PassengerId", "PM10"].map(str::to_owned).into();
        let shared = |text: &str| shared_text(&["Nothing.", text], &page_runs(&page), &columns);
        assert_eq!(
            shared("See what a Buyer of, used bikes pays!").as_deref(),
            Some("buyer of used bikes pays")
        );
        assert_eq!(shared("buyer of used bikes"), None);
        assert_eq!(shared("divide by frame_state first").as_deref(), Some("frame_state"));
        assert_eq!(shared("count PassengerId").as_deref(), Some("PassengerId"));
        assert_eq!(shared("PM10 and row_id").as_deref(), Some("PM10"));
        // Plain words and everybody's names are no leak.
        assert_eq!(shared("the age, by row_id"), None);
    }
}
