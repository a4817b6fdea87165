//! Technical Writer: the description page, in varied words, never showing the rule.

use crate::assets::Assets;
use crate::blueprint::Blueprint;
use crate::draws::Draws;
use crate::mutation::{Mutation, SENTINEL};
use crate::scenario::{Scenario, SeriesScenario, Story, TableScenario};
use crate::table::Cells;
use sandbox::grade::Direction;
use sandbox::metrics::Metric;
use sandbox::task::{Formulation, Prediction};
use std::fmt::Write as _;

/// Writes `description.md`.
pub fn describe(blueprint: &Blueprint, scenario: &Scenario, assets: &Assets) -> String {
    let mut draws = Draws::new(blueprint.origin.stream("description"));
    let mut page = format!("# {}\n\n## Overview\n", blueprint.title);
    let (story, goal) = match &scenario.story {
        Story::Table(story) => (&story.story, table_goal(blueprint, story, &mut draws)),
        Story::Series(story) => (&story.story, series_goal(story, &mut draws)),
    };
    let _ = write!(page, "{story} {goal}\n\n");
    page.push_str(&at_a_glance(blueprint, assets));
    page.push_str(&data(blueprint, scenario, assets, &mut draws));
    page.push_str(&evaluation(blueprint, &mut draws));
    page.push_str(&submission(blueprint, assets, &mut draws));
    page.push_str(&files(blueprint));
    page
}

fn table_goal(blueprint: &Blueprint, story: &TableScenario, draws: &mut Draws) -> String {
    let target = blueprint.target();
    match blueprint.formulation {
        Formulation::Binary => {
            let (row, means) = (&story.row, &story.binary.means);
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
            let (row, classes) = (&story.row, quoted(&blueprint.classes));
            match draws.whole(0, 1) {
                0 => format!(
                    "Assign each {row} of the test set to one of the classes {classes} of \
                     `{target}`, which are listed here from low to high."
                ),
                _ => format!(
                    "The classes of `{target}` are, in rising order, {classes}. Predict the \
                     right one for every {row} in the test set."
                ),
            }
        }
        _ => {
            let (row, means) = (&story.row, &story.number.means);
            match draws.whole(0, 1) {
                0 => format!("Predict `{target}`, the {means}, for every {row} of the test set."),
                _ => format!("Each row is one {row}. You are asked for `{target}`: the {means}."),
            }
        }
    }
}

fn series_goal(story: &SeriesScenario, draws: &mut Draws) -> String {
    let (target, means, series) = (&story.target.name, &story.target.means, &story.series.name);
    match draws.whole(0, 1) {
        0 => format!(
            "Forecast `{target}` ({means}) for the steps that follow the training data, for \
             each `{series}`."
        ),
        _ => format!(
            "For each `{series}`, the history of `{target}` ({means}) ends at some step; predict \
             the steps after it."
        ),
    }
}

/// The short list that small policies are prompted with; its form is fixed.
fn at_a_glance(blueprint: &Blueprint, assets: &Assets) -> String {
    let task = match blueprint.formulation {
        Formulation::Binary => "binary classification",
        Formulation::Multiclass => "multiclass classification",
        Formulation::Regression => "regression",
        Formulation::Forecasting => "forecasting",
    };
    let form = match &blueprint.prediction {
        Prediction::Number { .. } => "number",
        Prediction::Probability { .. } => "probability of class 1",
        Prediction::Label { .. } => "label",
        Prediction::ClassProbabilities { .. } => "one probability column per class",
    };
    let columns: Vec<String> =
        assets.train.columns.iter().map(|column| format!("`{}`", column.name)).collect();
    format!(
        "## At a glance\n- Task: {task}\n- Target: `{}` ({form})\n- Metric: {} ({})\n\
         - Id: `{}`\n- Rows: {} train, {} test\n- Columns: {}\n\n",
        blueprint.target(),
        blueprint.metric,
        better(blueprint.metric),
        blueprint.id_column,
        blueprint.rows.train,
        blueprint.rows.test,
        columns.join(", "),
    )
}

fn better(metric: Metric) -> &'static str {
    match metric.direction() {
        Direction::HigherIsBetter => "higher is better",
        Direction::LowerIsBetter => "lower is better",
    }
}

fn data(blueprint: &Blueprint, scenario: &Scenario, assets: &Assets, draws: &mut Draws) -> String {
    let mut text = String::from("## Data\n");
    let opening = match &scenario.story {
        Story::Table(story) => format!(
            "{} {} rows with the target for training and {} rows without it for testing; each \
             row is one {}.",
            draws.pick(&["There are", "You get", "The files hold"]),
            blueprint.rows.train,
            blueprint.rows.test,
            story.row
        ),
        Story::Series(story) => format!(
            "The data is in long form: one row per `{}` and `{}`. The test rows continue each \
             series where its training rows end, and all other columns are known ahead. `{}` is \
             the position within a cycle of {} steps.",
            story.series.name, story.step, story.season, story.period
        ),
    };
    let _ = write!(text, "{opening}\n\n| column | kind | values |\n| --- | --- | --- |\n");
    let _ = writeln!(text, "| `{}` | id | opaque |", blueprint.id_column);
    for column in &assets.train.columns {
        let (kind, values) = match &column.cells {
            Cells::Numbers { values, .. } => ("number", summary(values)),
            Cells::Text(words) => {
                let mut known: Vec<String> =
                    words.iter().filter(|word| !word.is_empty()).cloned().collect();
                known.sort();
                known.dedup();
                ("category", known.join(" / "))
            }
        };
        let _ = writeln!(text, "| `{}` | {kind} | {values} |", column.name);
    }
    let _ = writeln!(text, "| `{}` | target | training file only |\n", blueprint.target());
    for mutation in &blueprint.mutations {
        let note = match mutation {
            Mutation::Sentinel { column, .. } => {
                format!("In `{column}`, {SENTINEL} means that nothing was measured.")
            }
            Mutation::Units { column, companion, factor, .. } => format!(
                "`{companion}` names the unit of `{column}`: rows marked `alt` are recorded in a \
                 unit {factor} times smaller than `std`."
            ),
            Mutation::Missing { column, .. } => match draws.whole(0, 1) {
                0 => format!("`{column}` is empty where it is not known."),
                _ => format!("Expect gaps in `{column}`."),
            },
            Mutation::Echo { column, name, .. } => {
                format!("`{name}` is a rough estimate of `{column}` from another source.")
            }
            Mutation::LabelNoise { .. } | Mutation::Imbalance { .. } => continue,
        };
        let _ = writeln!(text, "- {note}");
    }
    text.push('\n');
    text
}

/// The range of the written numbers without gaps and sentinels.
fn summary(values: &[f64]) -> String {
    let known = || values.iter().copied().filter(|v| !v.is_nan() && *v != SENTINEL);
    let low = known().fold(f64::INFINITY, f64::min);
    let high = known().fold(f64::NEG_INFINITY, f64::max);
    if low.is_finite() { format!("{low} to {high}") } else { "empty".to_owned() }
}

fn evaluation(blueprint: &Blueprint, draws: &mut Draws) -> String {
    let name = match blueprint.metric {
        Metric::Accuracy => "the share of rows with the right label",
        Metric::BalancedAccuracy => "the recall, averaged over the classes",
        Metric::F1 => "the F1 score of class 1",
        Metric::MacroF1 => "the F1 score, averaged over the classes without weights",
        Metric::Mcc => "Matthews' correlation coefficient between labels and truth",
        Metric::QuadraticKappa => "Cohen's kappa with quadratic weights",
        Metric::RocAuc => "the area under the ROC curve",
        Metric::AveragePrecision => "the average precision of class 1",
        Metric::LogLoss => "the logarithmic loss of the probabilities",
        Metric::Brier => "the Brier score, the mean squared error of the probability",
        Metric::Rmse => "the root mean squared error",
        Metric::Mae => "the mean absolute error",
        Metric::MedianAe => "the median absolute error",
        Metric::Rmsle => "the root mean squared difference of log(1 + value)",
        Metric::Mape => "the mean absolute error relative to the true value",
        Metric::Smape => "the symmetric mean absolute percentage error, from 0 to 2",
        Metric::R2 => "the coefficient of determination",
        Metric::Pearson => "Pearson's correlation",
        Metric::Spearman => "Spearman's rank correlation",
    };
    let opening = draws.pick(&["Submissions are scored by", "The score is", "We measure"]);
    format!(
        "## Evaluation\n{opening} {name} (`{}`) on the test rows; {}.\n\n",
        blueprint.metric,
        better(blueprint.metric)
    )
}

fn submission(blueprint: &Blueprint, assets: &Assets, draws: &mut Draws) -> String {
    let columns = blueprint.prediction.columns();
    let content = match &blueprint.prediction {
        Prediction::Number { .. } => "a number".to_owned(),
        Prediction::Probability { .. } => "the probability of class 1, from 0 to 1".to_owned(),
        Prediction::Label { classes, .. } => format!("one of {}", quoted(classes)),
        Prediction::ClassProbabilities { .. } => {
            "a probability per class; each row sums to 1".to_owned()
        }
    };
    let ask = draws.pick(&[
        "Write a CSV file with",
        "A submission is a CSV file with",
        "Submit a CSV file with",
    ]);
    let sample = example(&blueprint.prediction);
    let mut text = format!(
        "## Submission format\n{ask} a header and exactly one row for each id of `test.csv`: \
         `{}` and {content}.\n\n```\n{},{}\n",
        blueprint.id_column,
        blueprint.id_column,
        columns.join(",")
    );
    for id in assets.test_ids.iter().take(2) {
        let _ = writeln!(text, "{id},{}", sample.join(","));
    }
    text.push_str("```\n\n");
    text
}

fn files(blueprint: &Blueprint) -> String {
    format!(
        "## Files\n- `train.csv`: {} rows with the target\n- `test.csv`: {} rows without it\n\
         - `sample_submission.csv`: a valid submission that predicts the same for every row\n",
        blueprint.rows.train, blueprint.rows.test
    )
}

fn quoted(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// The prediction cells of an example row, of the right form and no particular value.
fn example(prediction: &Prediction) -> Vec<String> {
    match prediction {
        Prediction::Number { .. } => vec!["0.0".to_owned()],
        Prediction::Probability { .. } => vec!["0.5".to_owned()],
        Prediction::Label { classes, .. } => vec![classes[0].clone()],
        Prediction::ClassProbabilities { classes, .. } => (0..classes.len())
            .map(|class| if class == 0 { "1.0" } else { "0.0" }.to_owned())
            .collect(),
    }
}
