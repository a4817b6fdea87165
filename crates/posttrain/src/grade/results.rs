//! What a grader found out, item by item.

use super::grading::GradedTask;
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
    /// The tasks, where the model is graded on several: its score is the mean of theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskScore>,
    /// The items, by name.
    pub items: Vec<ItemScore>,
}

/// The score of a model on one of several tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskScore {
    /// The task.
    pub task: TaskId,
    /// Its score.
    pub score: f64,
    /// Whether it is the mean of its items.
    pub is_mean: bool,
}

impl Results {
    /// Checks what a grader printed: each item of the part once, and the score that follows from them.
    ///
    /// # Errors
    /// What is wrong, as a clause.
    pub(super) fn check(
        model: Digest,
        (task, part, count): (&TaskId, Part, u64),
        is_mean: bool,
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
        let score = if is_mean {
            let mean = mean(&items);
            if (mean - score).abs() > TOLERANCE {
                return Err(format!("its score is {score}, and the mean of its items {mean}"));
            }
            mean
        } else {
            score
        };
        let tasks = Vec::new();
        let (seconds, attempts) = (0.0, 0);
        Ok(Self { version: RESULTS_VERSION, model, part, score, seconds, attempts, tasks, items })
    }

    /// The results of a model on a part of several tasks: its score is the mean of theirs. Those on one
    /// task stay as they are, and there are none of none.
    pub(super) fn join(all: Vec<(&GradedTask, Self)>) -> Option<Self> {
        let is_one = all.len() == 1;
        let score = |(task, results): &(&GradedTask, Self)| TaskScore {
            task: task.id.clone(),
            score: results.score,
            is_mean: task.is_mean,
        };
        let tasks: Vec<TaskScore> = all.iter().map(score).collect();
        let mut all = all.into_iter().map(|(_, results)| results);
        let mut joined = all.next()?;
        if is_one {
            return Some(joined);
        }
        for more in all {
            joined.items.extend(more.items);
            joined.seconds += more.seconds;
            joined.attempts = joined.attempts.max(more.attempts);
        }
        joined.items.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
        joined.score = mean_of_tasks(&tasks);
        joined.tasks = tasks;
        Some(joined)
    }

    /// Whether the score follows from what else is there.
    pub(crate) fn adds_up(&self, aggregate: Aggregate) -> bool {
        match aggregate {
            Aggregate::Mean => self.score == mean(&self.items),
            Aggregate::Reported => true,
            Aggregate::Tasks => {
                let mut items: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
                for item in &self.items {
                    items.entry(task_of(&item.id)).or_default().push(item.score);
                }
                let of_task = |task: &TaskScore| {
                    let scores = items.get(task.task.as_str());
                    scores.is_some_and(|scores| {
                        let mean = evals::statistics::mean(scores.iter().copied());
                        !task.is_mean || task.score == mean
                    })
                };
                items.len() == self.tasks.len()
                    && self.tasks.iter().all(of_task)
                    && self.score == mean_of_tasks(&self.tasks)
            }
        }
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

/// The score over several tasks.
fn mean_of_tasks(tasks: &[TaskScore]) -> f64 {
    evals::statistics::mean(tasks.iter().map(|task| task.score))
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
    use worlds::Sizes;

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
        Results::check(Digest::ZERO, (&task, Part::Dev, count), true, score, items)
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
        let task = |name: &str, is_mean: bool| GradedTask {
            folder: Utf8PathBuf::new(),
            id: TaskId::new(name).unwrap(),
            sizes: Sizes { train: 0, dev: 0, test: 0 },
            is_mean,
        };
        let results = |task: &GradedTask, score: f64, scores: &[f64]| {
            let id = |number| item_id(&task.id, Part::Dev, number).unwrap();
            let item = |(number, score): (usize, &f64)| ItemScore {
                id: id(number),
                score: *score,
                tags: Vec::new(),
            };
            let items: Vec<ItemScore> = scores.iter().enumerate().map(item).collect();
            let of = (&task.id, Part::Dev, scores.len() as u64);
            Results::check(Digest::ZERO, of, task.is_mean, score, items).unwrap()
        };
        let [shop, shifts] = [task("shop", true), task("day-shifts", true)];
        // A win rate is no mean of the preferences.
        let texts = task("texts", false);
        let joined = Results::join(vec![
            (&shop, results(&shop, 1.0, &[1.0])),
            (&shifts, results(&shifts, 0.25, &[0.0, 0.0, 1.0, 0.0])),
            (&texts, results(&texts, 0.4, &[0.5, 0.7])),
        ]);
        let joined = joined.unwrap();
        assert_eq!(joined.score, (1.0 + 0.25 + 0.4) / 3.0);
        let scores: Vec<f64> = joined.tasks.iter().map(|task| task.score).collect();
        assert_eq!((scores, joined.items.len()), (vec![1.0, 0.25, 0.4], 7));
        assert!(joined.adds_up(Aggregate::Tasks) && joined.adds_up(Aggregate::Reported));
        assert!(!joined.adds_up(Aggregate::Mean));
        let changed = |change: &dyn Fn(&mut Results)| {
            let mut changed = joined.clone();
            change(&mut changed);
            changed.adds_up(Aggregate::Tasks)
        };
        assert!(!changed(&|results| results.score += 0.1));
        assert!(!changed(&|results| results.tasks[1].score += 0.1));
        assert!(!changed(&|results| results.items[0].score += 0.1));
        assert!(!changed(&|results| results.tasks.truncate(2)));
        let one = results(&texts, 0.4, &[0.5, 0.7]);
        assert_eq!(Results::join(vec![(&texts, one.clone())]), Some(one));
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
