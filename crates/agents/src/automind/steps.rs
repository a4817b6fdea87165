//! The steps in which a plan is coded.

use super::answer::PlanStep;

/// Words of steps that train nothing yet, whatever their names say.
const NOT_YET: [&str; 7] =
    ["split", "prepare", "configure", "define", "download", "load", "set up"];

/// Whether a step trains a model, by its name.
fn trains(step: &PlanStep) -> bool {
    let name = step.step.to_lowercase();
    name.contains("train") && !NOT_YET.iter().any(|word| name.contains(word))
}

/// Merges steps: from the first that trains on, all later ones go into it, since a model that was
/// trained is of no use to a session that was lost; then all but the first `most - 1` into the
/// last.
pub fn merge(steps: Vec<PlanStep>, most: usize) -> Vec<PlanStep> {
    let mut merged: Vec<PlanStep> = Vec::new();
    let mut is_training = false;
    for step in steps {
        match merged.last_mut() {
            Some(last) if is_training => join(last, &step),
            _ => {
                is_training = trains(&step);
                merged.push(step);
            }
        }
    }
    let rest = merged.split_off(most.max(1).min(merged.len()));
    if let Some(last) = merged.last_mut() {
        for step in &rest {
            join(last, step);
        }
    }
    merged
}

fn join(last: &mut PlanStep, step: &PlanStep) {
    last.step = format!("{}; {}", last.step, step.step);
    last.details = format!("{}\n{}", last.details.trim_end(), step.details);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steps(names: &[&str]) -> Vec<PlanStep> {
        let step =
            |name: &&str| PlanStep { step: (*name).to_owned(), details: format!("<{name}>") };
        names.iter().map(step).collect()
    }

    #[test]
    fn steps_are_merged_as_the_table_says() {
        let cases: [(&[&str], &[&str]); 8] = [
            (&[], &[]),
            (&["load"], &["load"]),
            (&["load", "train"], &["load", "train"]),
            (
                &["load", "Train a model", "predict", "save"],
                &["load", "Train a model; predict; save"],
            ),
            // It only prepares for training.
            (
                &["load training data", "split into train and test", "predict"],
                &["load training data", "split into train and test", "predict"],
            ),
            (
                &["define the training loop", "train", "save"],
                &["define the training loop", "train; save"],
            ),
            (&["a", "b", "c", "d", "e", "f"], &["a", "b", "c", "d", "e", "f"]),
            (
                &["a", "b", "c", "d", "e", "f", "g", "train", "h"],
                &["a", "b", "c", "d", "e", "f; g; train; h"],
            ),
        ];
        for (given, expected) in cases {
            let merged = merge(steps(given), 6);
            let names: Vec<&str> = merged.iter().map(|step| step.step.as_str()).collect();
            assert_eq!(names, expected, "{given:?}");
        }
        assert_eq!(merge(steps(&["a", "b", "c"]), 1)[0].details, "<a>\n<b>\n<c>");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_changes_places(
            names in proptest::collection::vec("[a-z]{1,4}|train|split train", 1..12),
            most in 1usize..8,
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let merged = merge(steps(&names), most);
            prop_assert!(merged.len() <= most && !merged.is_empty());
            let joined: Vec<&str> = merged.iter().flat_map(|step| step.step.split("; ")).collect();
            prop_assert_eq!(joined, names);
        }
    }
}
