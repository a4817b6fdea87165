//! Sentences that several kinds of task share: what is asked for, and how many rows there are.

use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::scenario::TableScenario;
use tasks::task::Formulation;

/// The sentence of the description that states what to predict for the rows of a table.
pub(super) fn table_goal(
    blueprint: &Blueprint,
    story: &TableScenario,
    draws: &mut Draws,
) -> String {
    let target = blueprint.targets.first().map_or("", |target| target.column.as_str());
    let row = &story.row;
    let first = draws.chance(0.5);
    match blueprint.formulation {
        Formulation::Binary | Formulation::Matching => {
            let means = &story.binary.means;
            match draws.whole(0, 2) {
                0 => format!(
                    "Your task: for every {row} of the test set, predict `{target}`, which is 1 \
                     when {means} and 0 otherwise."
                ),
                1 => format!(
                    "Build a model that tells when {means} (`{target}` = 1). Each row describes \
                     one {row}."
                ),
                _ => format!(
                    "One row stands for one {row}. The column `{target}` says whether {means} \
                     (1) or not (0); it is what you predict."
                ),
            }
        }
        Formulation::Multiclass => {
            let classes = quoted(&blueprint.targets[0].classes);
            if first {
                format!(
                    "Assign each {row} of the test set to one of the classes {classes} of \
                     `{target}`, which are listed here from low to high."
                )
            } else {
                format!(
                    "The classes of `{target}` are, in rising order, {classes}. Predict the \
                     right one for every {row} in the test set."
                )
            }
        }
        Formulation::Multilabel => {
            let mut labels: Vec<String> = story
                .labels
                .iter()
                .map(|label| format!("`{}` ({})", label.name, label.means))
                .collect();
            draws.shuffle(&mut labels);
            let labels = labels.join(", ");
            match draws.whole(0, 3) {
                0 => format!("Say of every {row} which of these hold; any number may: {labels}."),
                1 => format!(
                    "Several things can be true of one {row} at once. Predict each: {labels}."
                ),
                2 => format!(
                    "For each {row} of the test set, decide label by label, since they may come \
                     together or not at all: {labels}."
                ),
                _ => format!(
                    "The labels are {labels}. A {row} can have none, one or several of them, and \
                     you predict which."
                ),
            }
        }
        Formulation::MultiTarget => {
            let targets: Vec<String> = story
                .targets
                .iter()
                .map(|target| format!("`{}` ({})", target.name, target.means))
                .collect();
            format!("For every {row} of the test set, predict {}.", targets.join(", "))
        }
        Formulation::Ranking => {
            let (query, means) =
                story.ranking.as_ref().map_or(("", ""), |ranking| (&ranking.query, &ranking.means));
            format!(
                "Rows that share a `{query}` compete with each other; each row is one {row}. Give \
                 every test row a score, higher for those that come first. `{target}` is the \
                 grade from 0 to 3 that training rows got: {means}."
            )
        }
        _ => {
            let means = &story.number.means;
            if first {
                format!("Predict `{target}`, the {means}, for every {row} of the test set.")
            } else {
                format!("Each row is one {row}. You are asked for `{target}`: the {means}.")
            }
        }
    }
}

/// How many rows there are, and what one is.
pub(crate) fn rows(blueprint: &Blueprint, row: &str, target: &str, draws: &mut Draws) -> String {
    let (train, test) = (blueprint.rows.train, blueprint.rows.test);
    match draws.whole(0, 4) {
        0 => format!(
            "There are {train} rows with the {target} for training and {test} rows without it for \
             testing; each row is one {row}."
        ),
        1 => format!("You train on {train} rows and are tested on {test}. A row is one {row}."),
        2 => format!(
            "Of all rows, {train} come with the {target} and {test} wait for yours; one row, one \
             {row}."
        ),
        3 => format!(
            "Each row is one {row}: {train} in the training file, where the {target} is given, and \
             {test} in the test file, where it is not."
        ),
        _ => format!(
            "`train.csv` lists {train} rows, one per {row}, with the {target}. The {test} rows of \
             `test.csv` lack it."
        ),
    }
}

/// Words in backquotes, separated by commas.
pub(crate) fn quoted(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}
