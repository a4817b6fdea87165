//! The facts of a task as a plain list, for a chat model that writes its page.

use super::columns::{self, unit};
use super::fixed::{better, target_names};
use super::measures::measure_of;
use crate::data::assets::Assets;
use crate::spec::blueprint::{Blueprint, Target};
use crate::spec::classes::ClassQuestion;
use crate::spec::scenario::{Scenario, Story};
use std::fmt::Write as _;
use tasks::task::Formulation;

/// The facts of a task, one per line: story, question, data, columns of the features in
/// alphabetical order. Nothing of the hidden rule, thresholds, seeds or the strength of noise.
pub fn facts(blueprint: &Blueprint, scenario: &Scenario, assets: &Assets) -> String {
    let mut text = format!(
        "- Working title: {}\n- Domain: {}\n- Story: {}\n- Question: {}\n- Data: {}\n- Rows: {} \
         for training, {} for testing\n- Id column: `{}`\n- Target: {}\n- Scored by: {} ({}); {}\n",
        blueprint.title,
        scenario.domain.replace('_', " "),
        scenario.story.text(),
        question(blueprint, scenario),
        blueprint.kind().made_of(blueprint),
        blueprint.rows.train,
        blueprint.rows.test,
        blueprint.id_column,
        target_names(blueprint),
        measure_of(blueprint.metric, &blueprint.prediction),
        blueprint.metric,
        better(blueprint.metric),
    );
    if blueprint.labels_in_names() {
        text.push_str(
            "- Training labels: before the first dot in the names of the training files, in no column\n",
        );
    }
    let mut features = columns::columns(blueprint, scenario, assets);
    features.retain(columns::ColumnFacts::is_feature);
    features.sort_by(|one, other| one.name.cmp(&other.name));
    text.push_str("- Columns:\n");
    let words = columns::TableWords::plain();
    for column in features {
        let (kind, values) = column.cells(&words);
        let unit = unit(&column.name).map(|unit| format!(", in {unit}")).unwrap_or_default();
        let _ = writeln!(text, "  - `{}`: {kind}, {values}{unit}", column.name);
    }
    text
}

/// What is to be predicted, in a sentence.
fn question(blueprint: &Blueprint, scenario: &Scenario) -> String {
    let target = target_names(blueprint);
    let story = match &scenario.story {
        Story::Series(story) => {
            return format!(
                "the next values of {target} ({}) of every `{}`, step by step in `{}`",
                story.target.means, story.series.name, story.step
            );
        }
        Story::Scene(story) => {
            return format!("for every {}, {target}: {}", story.row, story.means);
        }
        Story::Challenge(story) => {
            let row = match &story.positions {
                Some(told) => format!("{} of every {}", told.position, story.row),
                None => story.row.clone(),
            };
            return format!("for every {row}, {target}: {}", story.means);
        }
        Story::Table(story) => story,
    };
    let row = &story.row;
    let listed = |items: Vec<(&String, &String)>| {
        let items: Vec<String> =
            items.into_iter().map(|(name, means)| format!("`{name}` ({means})")).collect();
        items.join(", ")
    };
    match blueprint.formulation {
        Formulation::Multiclass if blueprint.targets.iter().any(Target::is_nominal) => {
            let column = blueprint.targets.first().map(|one| one.column.as_str());
            let means = column.and_then(ClassQuestion::meaning).unwrap_or_default();
            let classes = blueprint.targets.first().map(|one| one.classes.join(", "));
            format!(
                "for every {row}, {target}: {means}, one of these, which have no order: {}",
                classes.unwrap_or_default()
            )
        }
        Formulation::Multiclass => {
            let classes = blueprint.targets.first().map(|one| one.classes.join(", "));
            format!(
                "for every {row}, the class {target}, which is, from low to high, one of {}",
                classes.unwrap_or_default()
            )
        }
        Formulation::Multilabel => {
            let labels = story.labels.iter().map(|one| (&one.name, &one.means)).collect();
            format!("for every {row}, which of these hold, none or several: {}", listed(labels))
        }
        Formulation::MultiTarget => {
            let targets = story.targets.iter().map(|one| (&one.name, &one.means)).collect();
            format!("for every {row}, the numbers {}", listed(targets))
        }
        Formulation::Ranking => {
            let (query, means) =
                story.ranking.as_ref().map_or(("", ""), |one| (&*one.query, &*one.means));
            format!(
                "the order of every {row} within its `{query}`; {target} is a grade from 0 to 3: \
                 {means}"
            )
        }
        Formulation::Regression => format!("for every {row}, {target}: {}", story.number.means),
        Formulation::Quantiles => format!(
            "for every {row}, three quantiles (10 %, 50 %, 90 %) of {target}, since some rows are \
             surer than others: {}",
            story.number.means
        ),
        _ => format!("for every {row}, whether {} ({target} is 1, else 0)", story.binary.means),
    }
}
