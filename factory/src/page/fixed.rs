//! The sections of a page whose form is fixed: the short list, the table of columns, evaluation,
//! submission, files.

use super::columns::{ColumnFacts, TableWords};
use super::definition::definition;
use super::english::quoted;
use super::measures::measure_of;
use super::phrases::Phrases;
use crate::data::assets::Assets;
use crate::kinds::ExtraFiles;
use crate::spec::blueprint::Blueprint;
use std::fmt::Write as _;
use tasks::description::GLANCE;
use tasks::metrics::{Direction, Metric};
use tasks::prediction::{MOST_TEXT, Prediction};
use tasks::task::Formulation;

/// The short list that small policies are prompted with; its form never changes.
pub(super) fn glance(blueprint: &Blueprint, assets: &Assets) -> String {
    let task = match blueprint.formulation {
        Formulation::Binary => "binary classification",
        Formulation::Multiclass => "multiclass classification",
        Formulation::Multilabel => "multilabel classification",
        Formulation::Regression => "regression",
        Formulation::MultiTarget => "multi-target regression",
        Formulation::Quantiles => "quantile regression",
        Formulation::Ranking => "ranking",
        Formulation::Forecasting => "forecasting",
        Formulation::Matching => "pair matching",
        Formulation::Segmentation => "segmentation",
        Formulation::Detection => "object detection",
        Formulation::Reconstruction => "reconstruction",
        Formulation::Normalisation => "text normalisation",
        Formulation::Extraction => "span extraction",
        Formulation::Retrieval => "re-identification",
        Formulation::Recommendation => "recommendation",
        Formulation::Positions => "an answer per position of a sequence",
    };
    let form = match &blueprint.prediction {
        Prediction::Number { .. } => "number",
        Prediction::Probability { .. } => "probability of class 1",
        Prediction::Label { .. } => "label",
        Prediction::ClassProbabilities { .. } => "one probability column per class",
        Prediction::Numbers { .. } => "a number each",
        Prediction::Quantiles { .. } => "three quantiles",
        Prediction::Probabilities { .. } => "a probability each",
        Prediction::Flags { .. } => "the labels that hold",
        Prediction::Relevance { .. } => "a score to rank by",
        Prediction::Mask { .. } => "a mask",
        Prediction::Boxes { .. } => "boxes",
        Prediction::Pixels { .. } => "an image",
        Prediction::Text { .. } => "a text",
        Prediction::Ids { .. } => "identifiers",
    };
    let columns: Vec<String> = blueprint
        .kind()
        .item_columns(blueprint)
        .into_iter()
        .chain(assets.train.columns().iter().map(|column| column.name().to_string()))
        .map(|name| format!("`{name}`"))
        .collect();
    let place = if blueprint.labels_in_names() { " in the names of training files" } else { "" };
    format!(
        "{GLANCE}\n- Task: {task}\n- Data: {}\n- Target: {}{place} ({form})\n- Metric: {} ({})\n\
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

/// The targets' columns in the training file, quoted.
pub(super) fn target_names(blueprint: &Blueprint) -> String {
    if let Prediction::Flags { column, .. } = &blueprint.prediction {
        return format!("`{column}`");
    }
    let names = blueprint.kind().target_columns(blueprint);
    quoted(&names)
}

/// Which way a metric improves, in words.
pub(super) fn better(metric: Metric) -> &'static str {
    match metric.direction() {
        Direction::HigherIsBetter => "higher is better",
        Direction::LowerIsBetter => "lower is better",
    }
}

/// The table of columns. What solvers must be able to look up stands here: the order of classes,
/// units, the columns of series, the number of intensities. Ranges are those of the training file.
pub(super) fn table(columns: &[ColumnFacts], phrases: &mut Phrases) -> String {
    let [column, kind, values] =
        ["head_column", "head_kind", "head_values"].map(|symbol| phrases.text(symbol));
    let mut text = format!("| {column} | {kind} | {values} |\n| --- | --- | --- |\n");
    let words = TableWords::draw(phrases);
    for column in columns {
        let (kind, values) = column.cells(&words);
        let _ = writeln!(text, "| `{}` | {kind} | {values} |", column.name);
    }
    text.push('\n');
    text
}

/// How submissions are scored: a sentence, and the definition of the metric.
///
/// # Panics
/// Never: a test finds a definition for each metric and kind of prediction.
pub(super) fn evaluation(blueprint: &Blueprint, phrases: &mut Phrases) -> String {
    phrases.set("measure", measure_of(blueprint.metric, &blueprint.prediction));
    phrases.set("metric", blueprint.metric.to_string());
    let better = match blueprint.metric.direction() {
        Direction::HigherIsBetter => "higher_better",
        Direction::LowerIsBetter => "lower_better",
    };
    let better = phrases.text(better);
    phrases.set("better", better);
    let definition = definition(blueprint.metric, &blueprint.prediction);
    let definition = definition.expect("a test finds every metric");
    let symbol = match blueprint.along() {
        Some(_) => "evaluation_positions",
        None => "evaluation",
    };
    format!("## Evaluation\n{}\n\n{definition}\n\n", phrases.sentences(symbol))
}

/// What a submission holds, with an example.
pub(super) fn submission(blueprint: &Blueprint, assets: &Assets, phrases: &mut Phrases) -> String {
    let content = content(&blueprint.prediction, phrases);
    phrases.set("content", content);
    let ask = phrases.sentences("submission");
    let columns = blueprint.prediction.columns();
    let mut text = format!(
        "## Submission format\n{ask}\n\n```\n{},{}\n",
        blueprint.id_column,
        columns.join(",")
    );
    let sample = example(&blueprint.prediction);
    for id in assets.test_ids.iter().take(2) {
        let _ = writeln!(text, "{id},{}", sample.join(","));
    }
    text.push_str("```\n\n");
    text
}

/// What the cells of a prediction hold.
fn content(prediction: &Prediction, phrases: &mut Phrases) -> String {
    match prediction {
        Prediction::Number { .. } => "a number".to_owned(),
        Prediction::Probability { .. } => "the probability of class 1, from 0 to 1".to_owned(),
        Prediction::Label { classes, .. } => format!("one of {}", quoted(classes)),
        Prediction::ClassProbabilities { .. } => {
            "a probability per class; each row sums to 1".to_owned()
        }
        Prediction::Numbers { .. } => "a number in each column".to_owned(),
        Prediction::Quantiles { column, .. } => {
            phrases.set("target", format!("`{column}`"));
            phrases.text("cell_quantiles")
        }
        Prediction::Probabilities { .. } => {
            "a probability in each column, independent of the others".to_owned()
        }
        Prediction::Flags { labels, .. } => format!(
            "the labels that hold, separated by spaces (nothing if none does), out of {}",
            quoted(labels)
        ),
        Prediction::Relevance { .. } => "a score, the higher the earlier in its query".to_owned(),
        Prediction::Mask { width, height, .. } => {
            phrases.set("pixels", (width * height).to_string());
            phrases.set("second", (height + 1).to_string());
            phrases.text("cell_mask")
        }
        Prediction::Boxes { classes, .. } => {
            let one_class = match &classes[..] {
                [only] => format!("always `{only}`"),
                several => format!("one of {}", quoted(several)),
            };
            phrases.set("classes", quoted(classes));
            phrases.set("one_class", one_class);
            phrases.text("cell_boxes")
        }
        Prediction::Pixels { width, height, levels, .. } => {
            phrases.set("pixels", (width * height).to_string());
            phrases.set("top", (levels - 1).to_string());
            phrases.text("cell_pixels")
        }
        Prediction::Text { .. } => {
            phrases.set("bytes", MOST_TEXT.to_string());
            phrases.text("cell_text")
        }
        Prediction::Ids { most, .. } => {
            phrases.set("most", most.to_string());
            phrases.text("cell_ids")
        }
    }
}

/// The files of the public folder.
pub(super) fn files(blueprint: &Blueprint, assets: &Assets, phrases: &mut Phrases) -> String {
    let tables = match &assets.sequences {
        Some(_) => ["file_sequences", "file_more_sequences"],
        None if blueprint.labels_in_names() => ["file_named", "file_more_named"],
        None => ["file_train", "file_test"],
    };
    if let Some(column) = blueprint.file_column().filter(|_| blueprint.labels_in_names()) {
        phrases.set("column", format!("`{column}`"));
    }
    let [train, test] = tables.map(|symbol| phrases.text(symbol));
    let sample = phrases.text("file_sample");
    let mut text = format!(
        "## Files\n- `train.csv`: {train}\n- `test.csv`: {test}\n- `sample_submission.csv`: {sample}\n"
    );
    for extra in blueprint.kind().extra_files(blueprint, assets) {
        let (path, note) = match extra {
            ExtraFiles::Items { folder, extension, column, labelled, form } => {
                phrases.set("extension", format!("`.{extension}`"));
                phrases.set("column", format!("`{column}`"));
                phrases.set("form", form);
                let symbol = if labelled { "file_labelled" } else { "file_items" };
                (format!("{folder}/"), phrases.text(symbol))
            }
            ExtraFiles::Folders { folder, column, form } => {
                phrases.set("column", format!("`{column}`"));
                phrases.set("form", form);
                (format!("{folder}/"), phrases.text("file_folders"))
            }
            ExtraFiles::Other { path, note } => (path, note),
        };
        let _ = writeln!(text, "- `{path}`: {note}");
    }
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
        Prediction::Quantiles { .. } => ["-1.0", "0.0", "1.0"].map(str::to_owned).to_vec(),
        Prediction::Probabilities { columns } => vec!["0.5".to_owned(); columns.len()],
        Prediction::Flags { labels, .. } => vec![labels[0].clone()],
        Prediction::Mask { .. } => vec!["1 3".to_owned()],
        Prediction::Boxes { classes, .. } => vec![format!("{} 0.9 1 1 8 8", classes[0])],
        Prediction::Pixels { .. } => vec!["0 0 0 ...".to_owned()],
        Prediction::Text { .. } => vec!["some words".to_owned()],
        Prediction::Ids { most, .. } => {
            let letters = ('a'..='z').take((*most).min(3)).map(|letter| format!("id_{letter}"));
            vec![letters.collect::<Vec<_>>().join(" ")]
        }
    }
}
