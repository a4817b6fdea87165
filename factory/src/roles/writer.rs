//! Technical Writer: the description page, in varied words, never showing the rule.

use crate::data::assets::Assets;
use crate::data::table::Cells;
use crate::kinds::quoted;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::mutation::{Mutation, SENTINEL};
use crate::spec::scenario::Scenario;
use std::fmt::Write as _;
use tasks::metrics::{Direction, Metric};
use tasks::prediction::Prediction;
use tasks::task::Formulation;

/// The text of `description.md`, the task's page for solvers.
pub fn describe(blueprint: &Blueprint, scenario: &Scenario, assets: &Assets) -> String {
    let mut draws = Draws::new(blueprint.origin.stream("description"));
    let mut page = format!("# {}\n\n## Overview\n", blueprint.title);
    let kind = blueprint.kind();
    let (story, goal) = (scenario.story.text(), kind.goal(blueprint, &scenario.story, &mut draws));
    let _ = write!(page, "{story} {goal}\n\n");
    page.push_str(&at_a_glance(blueprint, assets));
    page.push_str(&data(blueprint, scenario, assets, &mut draws));
    page.push_str(&evaluation(blueprint, &mut draws));
    page.push_str(&submission(blueprint, assets, &mut draws));
    page.push_str(&files(blueprint, assets));
    page
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The short list that small policies are prompted with; its form is fixed.
fn at_a_glance(blueprint: &Blueprint, assets: &Assets) -> String {
    let task = match blueprint.formulation {
        Formulation::Binary => "binary classification",
        Formulation::Multiclass => "multiclass classification",
        Formulation::Multilabel => "multilabel classification",
        Formulation::Regression => "regression",
        Formulation::MultiTarget => "multi-target regression",
        Formulation::Ranking => "ranking",
        Formulation::Forecasting => "forecasting",
        Formulation::Matching => "pair matching",
        Formulation::Segmentation => "segmentation",
        Formulation::Detection => "object detection",
        Formulation::Reconstruction => "reconstruction",
    };
    let form = match &blueprint.prediction {
        Prediction::Number { .. } => "number",
        Prediction::Probability { .. } => "probability of class 1",
        Prediction::Label { .. } => "label",
        Prediction::ClassProbabilities { .. } => "one probability column per class",
        Prediction::Numbers { .. } => "a number each",
        Prediction::Probabilities { .. } => "a probability each",
        Prediction::Flags { .. } => "the labels that hold",
        Prediction::Relevance { .. } => "a score to rank by",
        Prediction::Mask { .. } => "a mask",
        Prediction::Boxes { .. } => "boxes",
        Prediction::Pixels { .. } => "an image",
    };
    let columns: Vec<String> = blueprint
        .kind()
        .item_columns(blueprint)
        .into_iter()
        .chain(assets.train.columns().iter().map(|column| column.name().to_string()))
        .map(|name| format!("`{name}`"))
        .collect();
    format!(
        "## At a glance\n- Task: {task}\n- Data: {}\n- Target: {} ({form})\n- Metric: {} ({})\n\
         - Id: `{}`\n- Rows: {} train, {} test\n- Columns: {}\n\n",
        blueprint.kind().made_of(blueprint),
        target_names(blueprint),
        blueprint.metric,
        better(blueprint.metric),
        blueprint.id_column,
        blueprint.rows.train,
        blueprint.rows.test,
        columns.join(", "),
    )
}

/// The targets' columns in the training file.
fn target_names(blueprint: &Blueprint) -> String {
    if let Prediction::Flags { column, .. } = &blueprint.prediction {
        return format!("`{column}`");
    }
    let names = blueprint.kind().target_columns(blueprint);
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn better(metric: Metric) -> &'static str {
    match metric.direction() {
        Direction::HigherIsBetter => "higher is better",
        Direction::LowerIsBetter => "lower is better",
    }
}

fn data(blueprint: &Blueprint, scenario: &Scenario, assets: &Assets, draws: &mut Draws) -> String {
    let mut text = String::from("## Data\n");
    let opening = blueprint.kind().opening(blueprint, &scenario.story, draws);
    let _ = write!(text, "{opening}\n\n| column | kind | values |\n| --- | --- | --- |\n");
    let _ = writeln!(text, "| `{}` | id | opaque |", blueprint.id_column);
    text.push_str(&blueprint.kind().column_lines(blueprint, &scenario.story));
    for column in assets.train.columns() {
        let (kind, values) = match Cells::from_column(column) {
            Cells::Numbers(values) => ("number", summary(&values)),
            Cells::Text(mut words) => {
                words.retain(|word| !word.is_empty());
                words.sort_unstable();
                words.dedup();
                ("category", words.join(" / "))
            }
        };
        let _ = writeln!(text, "| `{}` | {kind} | {values} |", column.name());
    }
    if let Prediction::Flags { column, .. } = &blueprint.prediction {
        let _ =
            writeln!(text, "| `{column}` | target: the labels that hold | training file only |");
    } else {
        for target in &blueprint.targets {
            let _ = writeln!(text, "| `{}` | target | training file only |", target.column);
        }
    }
    text.push('\n');
    text.push_str(&blueprint.kind().notes(blueprint, &scenario.story, draws));
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
            Mutation::Blemish { name, .. } => {
                let known = blueprint.kind().blemishes(blueprint);
                let means = known.iter().find(|b| b.name == name).map(|b| b.means);
                match means {
                    Some(means) => format!("{}.", capitalised(means)),
                    None => continue,
                }
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

/// What a metric is, in words.
fn measures(metric: Metric) -> &'static str {
    match metric {
        Metric::Accuracy => "the share of rows that are exactly right",
        Metric::BalancedAccuracy => "the recall, averaged over the classes",
        Metric::F1 => "the F1 score of class 1",
        Metric::MacroF1 => "the F1 score, averaged over the classes or labels without weights",
        Metric::MicroF1 => "the F1 score of all labels' counts together",
        Metric::WeightedF1 => "the F1 score, averaged over the classes by how often they occur",
        Metric::SamplesF1 => "the F1 score of each row's labels, averaged over the rows",
        Metric::MacroJaccard => "the Jaccard index, averaged over the classes or labels",
        Metric::SamplesJaccard => "the Jaccard index of each row's labels, averaged over the rows",
        Metric::Mcc => "Matthews' correlation coefficient between labels and truth",
        Metric::QuadraticKappa => "Cohen's kappa with quadratic weights",
        Metric::RocAuc => "the area under the ROC curve",
        Metric::OvrAuc => "the area under the ROC curve of each class against the rest, averaged",
        Metric::MeanColumnAuc => "the area under the ROC curve, averaged over the columns",
        Metric::AveragePrecision => "the average precision of class 1",
        Metric::LogLoss => "the logarithmic loss of the probabilities",
        Metric::Brier => "the Brier score, the mean squared error of the probability",
        Metric::Rmse => "the root mean squared error",
        Metric::Mcrmse => "the root mean squared error, averaged over the columns",
        Metric::Mae => "the mean absolute error",
        Metric::MedianAe => "the median absolute error",
        Metric::Rmsle => "the root mean squared difference of log(1 + value)",
        Metric::Mape => "the mean absolute error relative to the true value",
        Metric::Smape => "the symmetric mean absolute percentage error, from 0 to 2",
        Metric::R2 => "the coefficient of determination",
        Metric::Pearson => "Pearson's correlation",
        Metric::Spearman => "Spearman's rank correlation",
        Metric::MapAt5 => "the mean average precision of the first 5 rows of each query",
        Metric::MapAt10 => "the mean average precision of the first 10 rows of each query",
        Metric::NdcgAt5 => "the normalised discounted cumulative gain of each query's first 5 rows",
        Metric::NdcgAt10 => {
            "the normalised discounted cumulative gain of each query's first 10 rows"
        }
        Metric::Mrr => "one over the rank of the first relevant row, averaged over the queries",
        Metric::Dice => "the Dice coefficient of the masks, averaged over the rows",
        Metric::Iou => "the intersection over union of the masks, averaged over the rows",
        Metric::MeanIou => "the share of thresholds that the masks' intersection over union passes",
        Metric::BoxMap50 => "the mean average precision of boxes at intersection over union 0.5",
        Metric::BoxMap50To95 => "the mean average precision of boxes from 0.5 to 0.95",
        Metric::Psnr => "the peak signal-to-noise ratio in decibels, averaged over the images",
        Metric::Ssim => "the structural similarity, averaged over the images",
    }
}

fn evaluation(blueprint: &Blueprint, draws: &mut Draws) -> String {
    let name = measures(blueprint.metric);
    let opening = draws.pick(&[
        "Submissions are scored by",
        "The score is",
        "We measure",
        "What counts is",
        "Rows are graded by",
    ]);
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
        Prediction::Numbers { .. } => "a number in each column".to_owned(),
        Prediction::Probabilities { .. } => {
            "a probability in each column, independent of the others".to_owned()
        }
        Prediction::Flags { labels, .. } => format!(
            "the labels that hold, separated by spaces (nothing if none does), out of {}",
            quoted(labels)
        ),
        Prediction::Relevance { .. } => "a score, the higher the earlier in its query".to_owned(),
        Prediction::Mask { .. } | Prediction::Boxes { .. } | Prediction::Pixels { .. } => {
            blueprint.kind().cell(&blueprint.prediction, draws)
        }
    };
    let ask = draws.pick(&[
        "Write a CSV file with",
        "A submission is a CSV file with",
        "Submit a CSV file with",
        "We expect a CSV file with",
        "Your answer is a CSV file with",
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

fn files(blueprint: &Blueprint, assets: &Assets) -> String {
    let mut text = format!(
        "## Files\n- `train.csv`: {} rows with the target\n- `test.csv`: {} rows without it\n\
         - `sample_submission.csv`: a valid submission that knows nothing of the rows\n",
        blueprint.rows.train, blueprint.rows.test
    );
    text.push_str(&blueprint.kind().file_lines(blueprint, assets));
    text
}

/// The prediction cells of an example row, of the right form and no particular value.
fn example(prediction: &Prediction) -> Vec<String> {
    match prediction {
        Prediction::Number { .. } | Prediction::Relevance { .. } => vec!["0.0".to_owned()],
        Prediction::Probability { .. } => vec!["0.5".to_owned()],
        Prediction::Label { classes, .. } => vec![classes[0].clone()],
        Prediction::ClassProbabilities { classes, .. } => (0..classes.len())
            .map(|class| if class == 0 { "1.0" } else { "0.0" }.to_owned())
            .collect(),
        Prediction::Numbers { columns } => vec!["0.0".to_owned(); columns.len()],
        Prediction::Probabilities { columns } => vec!["0.5".to_owned(); columns.len()],
        Prediction::Flags { labels, .. } => vec![labels[0].clone()],
        Prediction::Mask { .. } => vec!["1 3".to_owned()],
        Prediction::Boxes { classes, .. } => vec![format!("{} 0.9 1 1 8 8", classes[0])],
        Prediction::Pixels { .. } => vec!["0 0 0 ...".to_owned()],
    }
}
