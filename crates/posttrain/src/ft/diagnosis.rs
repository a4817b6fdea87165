//! How an experiment did, and what is thought about why.

use super::check::ErrorClass;
use crate::grade::ItemScore;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use worlds::score::Mistake;

/// Lost items that a planner is shown.
const FAILURES: usize = 10;
/// What verdicts say of lost items.
const MISTAKES: [Mistake; 5] =
    [Mistake::Format, Mistake::Empty, Mistake::Truncated, Mistake::Invalid, Mistake::Wrong];

/// The scores of a model on validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluated {
    /// The metric that decides.
    pub primary: f64,
    /// Further metrics by name: the share of items with each mistake.
    pub metrics: BTreeMap<String, f64>,
    /// The mean of each kind of item, and how many there are.
    pub by_subtask: BTreeMap<String, (f64, usize)>,
    /// The scores of the items by name, which comparisons are made on.
    pub items: BTreeMap<String, f64>,
    /// The first lost items, at most 10.
    pub failures: Vec<Failure>,
}

/// A lost item. Its content is sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Its kind.
    pub kinds: Vec<String>,
    /// What is wrong with the answer.
    pub mistake: String,
}

impl Evaluated {
    /// What follows from the score of a model and those of its items.
    pub fn new(primary: f64, items: &[ItemScore]) -> Self {
        let is_mistake = |tag: &String| MISTAKES.iter().any(|mistake| mistake.name() == tag);
        let mut kinds: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut metrics = BTreeMap::new();
        let mut failures = Vec::new();
        for item in items {
            let (mistakes, own): (Vec<&String>, Vec<&String>) =
                item.tags.iter().partition(|tag| is_mistake(tag));
            for kind in &own {
                kinds.entry((*kind).clone()).or_default().push(item.score);
            }
            let Some(mistake) = mistakes.first() else { continue };
            *metrics.entry((*mistake).clone()).or_insert(0.0) += 1.0 / items.len() as f64;
            if failures.len() < FAILURES {
                let kinds = own.into_iter().cloned().collect();
                failures.push(Failure { kinds, mistake: (*mistake).clone() });
            }
        }
        let mean = |(kind, scores): (String, Vec<f64>)| {
            let count = scores.len();
            (kind, (evals::statistics::mean(scores.into_iter()), count))
        };
        Self {
            primary,
            metrics,
            by_subtask: kinds.into_iter().map(mean).collect(),
            items: items.iter().map(|item| (item.id.to_string(), item.score)).collect(),
            failures,
        }
    }

    /// The share of items with this mistake, in [0, 1].
    pub fn share(&self, mistake: Mistake) -> f64 {
        self.metrics.get(mistake.name()).copied().unwrap_or(0.0)
    }
}

/// What is thought about an experiment. It may name patterns, and never an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// What happened.
    pub summary: String,
    /// What the model lacks.
    pub gaps: Vec<Gap>,
    /// Why it is thought so.
    pub reason: String,
    /// What to try next.
    pub next: String,
    /// What has to change, of an experiment that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_class: Option<ErrorClass>,
}

/// Something that the model lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// In which kind of items.
    pub dimension: String,
    /// What shows it.
    pub evidence: String,
    /// Of which kind.
    pub kind: GapKind,
}

/// The kinds of gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// Answers are not in the form that is asked for.
    Format,
    /// Steps are wrong.
    Reasoning,
    /// Something is not known.
    Knowledge,
    /// What was trained on is known by heart.
    Overfit,
    /// What was trained on is not learnt.
    Underfit,
    /// The data is wrong.
    Data,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use tasks::task::TaskId;

    /// Items with these scores, lost ones with this mistake.
    pub(in crate::ft) fn evaluated(scores: &[f64], mistake: &str) -> Evaluated {
        let item = |(place, score): (usize, &f64)| ItemScore {
            id: TaskId::new(&format!("aime-dev-{place:05}")).unwrap(),
            score: *score,
            tags: if *score < 1.0 {
                vec!["sums".to_owned(), mistake.to_owned()]
            } else {
                vec!["sums".to_owned()]
            },
        };
        let items: Vec<ItemScore> = scores.iter().enumerate().map(item).collect();
        Evaluated::new(evals::statistics::mean(scores.iter().copied()), &items)
    }

    #[test]
    fn scores_are_told_by_kind_and_mistake_and_failures_are_few() {
        let found = evaluated(&[1.0, 0.0, 0.0, 1.0], "format");
        assert_eq!(found.primary, 0.5);
        assert_eq!(found.share(Mistake::Format), 0.5);
        assert_eq!(found.share(Mistake::Wrong), 0.0);
        assert_eq!(found.by_subtask["sums"], (0.5, 4));
        assert_eq!(found.failures.len(), 2);
        assert_eq!(evaluated(&[0.0; 50], "wrong").failures.len(), FAILURES);
    }
}
