//! What a grader found out, item by item.

use crate::digest::Digest;
use crate::fault::Fault;
use crate::ledger::{Aggregate, Scored};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use tasks::files;
use tasks::task::TaskId;
use worlds::{Part, item_id};

/// The version of files of results.
const RESULTS_VERSION: u32 = 1;
/// By how much a grader's mean may differ from ours, for another order of summation.
const TOLERANCE: f64 = 1e-9;

/// What a grader prints: a score, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GraderOutput {
    /// The model was graded.
    Scored {
        /// The score of the task.
        score: f64,
        /// The scores of its items.
        items: Vec<ItemScore>,
    },
    /// The model cannot be loaded or run, through its own fault.
    Refused {
        /// Why, for the agent.
        refused: String,
    },
    /// The device is taken.
    Busy {
        /// By what, for the agent.
        busy: String,
    },
}

/// The score of one item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemScore {
    /// The item.
    pub id: TaskId,
    /// Its score; finite.
    pub score: f64,
    /// What kind of item it is, and why it was lost.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// The results of a model on a part, as they are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    version: u32,
    /// The model.
    pub model: Digest,
    /// Which items.
    pub part: Part,
    /// The score of the task.
    pub score: f64,
    /// Time of the attempt that led to it.
    pub seconds: f64,
    /// Attempts.
    pub attempts: u32,
    /// The items, by name.
    pub items: Vec<ItemScore>,
}

impl Results {
    /// Checks what a grader printed: each item of the part once, and the score that follows from them.
    ///
    /// # Errors
    /// What is wrong, as a clause.
    pub(super) fn check(
        model: Digest,
        (task, part, count): (&TaskId, Part, u64),
        aggregate: Aggregate,
        score: f64,
        mut items: Vec<ItemScore>,
    ) -> Result<Self, String> {
        items.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
        let count = usize::try_from(count).map_err(|_| "there are too many items".to_owned())?;
        if items.len() != count {
            return Err(format!("it has {} items, and the part has {count}", items.len()));
        }
        for (number, item) in items.iter().enumerate() {
            let expected = item_id(task, part, number).map_err(|error| error.to_string())?;
            if item.id != expected {
                return Err(format!("`{expected}` is missing, or there is one beside it"));
            }
            if !item.score.is_finite() {
                return Err(format!("the score of `{expected}` is not finite"));
            }
        }
        if !score.is_finite() {
            return Err("its score is not finite".to_owned());
        }
        let score = match aggregate {
            Aggregate::Mean | Aggregate::Tasks => {
                let mean = mean(&items);
                if (mean - score).abs() > TOLERANCE {
                    return Err(format!("its score is {score}, and the mean of its items {mean}"));
                }
                mean
            }
            Aggregate::Reported => score,
        };
        Ok(Self { version: RESULTS_VERSION, model, part, score, seconds: 0.0, attempts: 0, items })
    }

    /// The results of a model on a part of several tasks: its score is the mean of theirs. Those on one
    /// task stay as they are, and there are none of none.
    pub(super) fn join(mut all: Vec<Self>) -> Option<Self> {
        let mut joined = all.pop()?;
        if all.is_empty() {
            return Some(joined);
        }
        for more in all {
            joined.items.extend(more.items);
            joined.seconds += more.seconds;
            joined.attempts = joined.attempts.max(more.attempts);
        }
        joined.items.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
        joined.score = evals::statistics::mean(task_scores(&joined.items).into_values());
        Some(joined)
    }

    /// Where the results of a model on a part are kept.
    pub fn path(folder: &Utf8Path, part: Part, model: Digest) -> Utf8PathBuf {
        folder.join(format!("{part}-{model}.json"))
    }

    /// Writes them down.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub(super) fn write(&self, folder: &Utf8Path) -> Result<Scored, Fault> {
        let path = Self::path(folder, self.part, self.model);
        files::write_json(&path, self)?;
        Ok(self.scored(Digest::of(&fs::read(&path)?)))
    }

    /// Reads those of a model on a part, if they were written down.
    ///
    /// # Errors
    /// [`Fault::Results`] if they are not those of this model and part.
    pub fn read(
        folder: &Utf8Path,
        part: Part,
        model: Digest,
    ) -> Result<Option<(Self, Scored)>, Fault> {
        let path = Self::path(folder, part, model);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let results: Option<Self> = serde_json::from_slice(&bytes).ok();
        let results = results.filter(|results| {
            let is_this = results.model == model && results.part == part;
            is_this && results.version == RESULTS_VERSION
        });
        let results = results.ok_or(Fault::Results(path))?;
        let scored = results.scored(Digest::of(&bytes));
        Ok(Some((results, scored)))
    }

    fn scored(&self, results: Digest) -> Scored {
        Scored {
            score: self.score,
            items: self.items.len() as u64,
            results,
            seconds: self.seconds,
            attempts: self.attempts,
        }
    }
}

/// The mean of the items of each task, where a model is graded on several.
pub(crate) fn task_scores(items: &[ItemScore]) -> BTreeMap<&str, f64> {
    let mut tasks: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for item in items {
        tasks.entry(task_of(&item.id)).or_default().push(item.score);
    }
    let mean = |scores: Vec<f64>| evals::statistics::mean(scores.into_iter());
    tasks.into_iter().map(|(task, scores)| (task, mean(scores))).collect()
}

/// The task that an item is of: what stands before its part and number.
pub(crate) fn task_of(item: &TaskId) -> &str {
    item.as_str().rsplitn(3, '-').nth(2).unwrap_or(item.as_str())
}

/// The mean over items, in their order; 0 without any.
pub(crate) fn mean(items: &[ItemScore]) -> f64 {
    evals::statistics::mean(items.iter().map(|item| item.score))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items(scores: &[f64]) -> Vec<ItemScore> {
        let task = TaskId::new("shop").unwrap();
        let item = |(number, score): (usize, &f64)| ItemScore {
            id: item_id(&task, Part::Dev, number).unwrap(),
            score: *score,
            tags: Vec::new(),
        };
        scores.iter().enumerate().map(item).collect()
    }

    fn check(score: f64, items: Vec<ItemScore>, count: u64) -> Result<Results, String> {
        let task = TaskId::new("shop").unwrap();
        Results::check(Digest::ZERO, (&task, Part::Dev, count), Aggregate::Mean, score, items)
    }

    proptest! {
        #[test]
        fn score_does_not_depend_on_the_order_of_items(
            scores in proptest::collection::vec(0.0..1.0_f64, 1..40), seed in any::<u64>()
        ) {
            let all = items(&scores);
            let score = mean(&all);
            let mut other = all.clone();
            let turn = usize::try_from(seed % all.len() as u64).unwrap();
            other.rotate_left(turn);
            other.reverse();
            let count = all.len() as u64;
            prop_assert_eq!(check(score, all, count), check(score, other, count));
        }
    }

    #[test]
    fn results_that_are_not_of_the_part_or_do_not_add_up_are_refused() {
        let good = items(&[0.0, 1.0]);
        assert!(check(0.5, good.clone(), 2).is_ok());
        let mut twice = good.clone();
        twice[1] = twice[0].clone();
        for (score, items, count) in [
            (0.5, good.clone(), 3),
            (0.25, good.clone(), 2),
            (f64::NAN, good.clone(), 2),
            (0.0, twice, 2),
            (f64::NAN, items(&[f64::NAN, 1.0]), 2),
        ] {
            assert!(check(score, items, count).is_err());
        }
    }

    #[test]
    fn score_over_tasks_is_the_mean_of_theirs_however_many_items_they_have() {
        let results = |task: &str, scores: &[f64]| {
            let task = TaskId::new(task).unwrap();
            let id = |number| item_id(&task, Part::Dev, number).unwrap();
            let item = |(number, score): (usize, &f64)| ItemScore {
                id: id(number),
                score: *score,
                tags: Vec::new(),
            };
            let items: Vec<ItemScore> = scores.iter().enumerate().map(item).collect();
            let of = (&task, Part::Dev, scores.len() as u64);
            Results::check(Digest::ZERO, of, Aggregate::Tasks, mean(&items), items).unwrap()
        };
        let joined = Results::join(vec![
            results("shop", &[1.0]),
            results("day-shifts", &[0.0, 0.0, 1.0, 0.0]),
        ]);
        let joined = joined.unwrap();
        assert_eq!(joined.score, 0.625);
        let scores = task_scores(&joined.items);
        assert_eq!(scores, BTreeMap::from([("day-shifts", 0.25), ("shop", 1.0)]));
        assert_eq!(joined.items.len(), 5);
        assert_eq!(Results::join(Vec::new()), None);
    }

    #[test]
    fn each_form_of_a_graders_output_is_told_apart() {
        let read = |text: &str| serde_json::from_str::<GraderOutput>(text);
        let scored =
            r#"{"score": 1, "items": [{"id": "a", "score": 1.0, "turns": 4}], "policy": "p"}"#;
        assert!(matches!(read(scored), Ok(GraderOutput::Scored { .. })));
        assert!(matches!(read(r#"{"refused": "no"}"#), Ok(GraderOutput::Refused { .. })));
        assert!(matches!(read(r#"{"busy": "gpu"}"#), Ok(GraderOutput::Busy { .. })));
        assert!(read(r#"{"score": 1}"#).is_err());
    }
}
