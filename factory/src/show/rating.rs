//! What ratings by solvers say of a corpus: groups that tasks are counted in, and levels.

use crate::corpus::folder;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use tasks::rating::{LevelSource, Ratings, TaskLevel};
use tasks::task::{Corpus, Manifest, Split, TaskDir};

/// In which respects held-out tasks are new.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// What training tasks have, by respect.
    trained: BTreeMap<&'static str, BTreeSet<String>>,
}

/// What a task has in the respects in which held-out ones can be new.
fn respects(manifest: &Manifest) -> [(&'static str, String); 2] {
    let medium = manifest.provenance["medium"].as_str().unwrap_or_default();
    [("family", folder::family(manifest).to_owned()), ("medium", medium.to_owned())]
}

impl Labels {
    /// From all tasks of a corpus.
    pub fn of(corpus: &Corpus) -> Self {
        Self::of_manifests(corpus.tasks().iter().map(TaskDir::manifest))
    }

    fn of_manifests<'a>(manifests: impl Iterator<Item = &'a Manifest>) -> Self {
        let mut labels = Self::default();
        for manifest in manifests.filter(|manifest| manifest.split == Split::Train) {
            for (respect, name) in respects(manifest) {
                labels.trained.entry(respect).or_default().insert(name);
            }
        }
        labels
    }

    /// The respects, `family` and `medium`, in which a held-out task is like no training task.
    pub fn new_in(&self, manifest: &Manifest) -> Vec<&'static str> {
        if manifest.split == Split::Train {
            return Vec::new();
        }
        let is_new = |(respect, name): &(&'static str, String)| {
            !name.is_empty() && !self.trained.get(respect).is_some_and(|known| known.contains(name))
        };
        respects(manifest).iter().filter(|one| is_new(one)).map(|(respect, _)| *respect).collect()
    }
}

/// A level in words: `3 of 5, by solvers`.
pub(crate) fn level_text(level: TaskLevel) -> String {
    let source = match level.source {
        LevelSource::Solvers => "by solvers",
        LevelSource::Ladder => "estimated from the ladder",
    };
    format!("{} of 5, {source}", level.level)
}

/// The ratings of a task, a line each; empty without any.
pub(crate) fn lines(ratings: &Ratings, manifest: &Manifest) -> String {
    let mut text = String::new();
    for rating in ratings.of(manifest) {
        let milestone = rating.milestone.map_or("-", |milestone| milestone.name());
        let score = match rating.score {
            Some(score) => format!("{score:>12.4}"),
            None => format!("{:>12}", "not valid"),
        };
        let (solver, way) = (rating.solver, rating.way);
        let _ = writeln!(
            text,
            "  {solver:<22}{score}  {milestone:<7} {:>5.1} % of the way",
            100.0 * way
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(id: &str, split: &str, family: &str, medium: &str) -> Manifest {
        let text = support::manifest::manifest(id, 400, [0.9, 0.8, 0.7, 0.6]);
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value["split"] = split.into();
        value["provenance"] = serde_json::json!({"family": family, "medium": medium});
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn only_held_out_tasks_can_be_new() {
        let tasks = [
            manifest("a", "train", "products", "stripes"),
            manifest("b", "val", "products", "blobs"),
            manifest("c", "val", "ratios", ""),
            manifest("d", "val", "products", "stripes"),
        ];
        let labels = Labels::of_manifests(tasks.iter());
        let found: Vec<_> = tasks.iter().map(|task| labels.new_in(task)).collect();
        assert_eq!(found, [vec![], vec!["medium"], vec!["family"], vec![]]);
    }
}
