//! What held-out tasks have that training tasks do not: families, media, skeletons of rules.

use super::groups::texts;
use crate::spec::mix::name;
use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tasks::task::Split;

/// What separates the names of a task that has several.
pub const JOIN: &str = " | ";

/// One respect in which held-out tasks can be new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// The respect, such as `skeletons of rules`.
    pub respect: String,
    /// Number of different ones in the corpus.
    pub distinct: usize,
    /// Number that training tasks have.
    pub trained: usize,
    /// Number that held-out tasks alone have.
    pub held_out: usize,
    /// Number of held-out tasks.
    pub tasks: usize,
    /// Held-out tasks of which training tasks have nothing in this respect.
    pub new_tasks: usize,
}

/// The table of tasks in every respect.
pub(super) fn held_out(tasks: &DataFrame) -> Vec<HeldOut> {
    [("families of rules", "family"), ("media", "medium"), ("skeletons of rules", "skeleton")]
        .map(|(respect, column)| of(respect, &texts(tasks, column), &texts(tasks, "split")))
        .to_vec()
}

/// `names` has the names of each task, joined; `splits` its split.
fn of(respect: &str, names: &[String], splits: &[String]) -> HeldOut {
    let held = name(&Split::Val);
    let parts = |text: &String| -> Vec<String> {
        text.split(JOIN).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let names: Vec<Vec<String>> = names.iter().map(parts).collect();
    let (mut trained, mut tested) = (BTreeSet::new(), BTreeSet::new());
    for (names, split) in names.iter().zip(splits) {
        let side = if *split == held { &mut tested } else { &mut trained };
        side.extend(names);
    }
    let of_held = names.iter().zip(splits).filter(|(_, split)| **split == held);
    let of_held: Vec<&Vec<String>> = of_held.map(|(names, _)| names).collect();
    let is_new = |names: &&&Vec<String>| {
        !names.is_empty() && names.iter().all(|name| !trained.contains(name))
    };
    HeldOut {
        respect: respect.to_owned(),
        distinct: trained.union(&tested).count(),
        trained: trained.len(),
        held_out: tested.difference(&trained).count(),
        tasks: of_held.len(),
        new_tasks: of_held.iter().filter(is_new).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_out_tasks_are_new_if_training_has_nothing_of_theirs() {
        let names = ["a | b", "b", "c", "a | c", ""].map(str::to_owned);
        let splits = ["train", "train", "val", "val", "val"].map(str::to_owned);
        let expected = HeldOut {
            respect: "skeletons of rules".to_owned(),
            distinct: 3,
            trained: 2,
            held_out: 1,
            tasks: 3,
            new_tasks: 1,
        };
        assert_eq!(of("skeletons of rules", &names, &splits), expected);
    }
}
