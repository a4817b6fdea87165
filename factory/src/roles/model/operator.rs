//! `MLOps` Engineer, played by a chat model that writes a standalone evaluator in Python.

use super::prompt::{fill, refused_before};
use super::{Question, fenced};
use crate::page::measure;
use crate::roles::{RoleFeedback, RoleRefusal};
use crate::spec::blueprint::Blueprint;
use tasks::metrics::{Direction, Metric};
use tasks::prediction::{MOST_TEXT, Prediction};

/// The longest evaluator, in bytes.
const MOST_CODE: usize = 24 << 10;
const SYSTEM: &str = "\
You write Python that scores submissions to data science competitions. Answer with one Python file \
in one code fence, and nothing else.";
const EVALUATOR: &str = include_str!("prompts/evaluator.md");
/// The table of metrics, with what each is compared with and how it treats edge cases.
const METRICS: &str = include_str!("../../../../docs/METRICS.md");

/// Asks for an evaluator. `feedback` is why the last one was refused. A blueprint holds neither
/// answers nor thresholds, and nothing is said of its hidden rule.
///
/// # Panics
/// Never: a test finds every metric in its table.
pub(super) fn question(blueprint: &Blueprint, feedback: Option<&RoleFeedback>) -> Question {
    let (id, metric, prediction) = (&blueprint.id_column, blueprint.metric, &blueprint.prediction);
    let (lower, better) = match metric.direction() {
        Direction::LowerIsBetter => ("true", "Lower is better"),
        Direction::HigherIsBetter => ("false", "Higher is better"),
    };
    let with_id = |columns: Vec<&str>| listed(std::iter::once(id.as_str()).chain(columns));
    let definition = MetricDefinition::find(metric).expect("a test finds every metric");
    let details = match definition.details.as_str() {
        "" => String::new(),
        details => format!("Details: {details}."),
    };
    let prompt = fill(
        EVALUATOR,
        &[
            ("test", &blueprint.rows.test.to_string()),
            ("lower", lower),
            ("answer_columns", &with_id(prediction.answer_columns())),
            ("columns", &with_id(prediction.columns())),
            ("form", &form(prediction)),
            ("id", id),
            ("metric", metric.name()),
            ("measure", measure(metric)),
            ("better", better),
            ("range", &definition.range),
            ("source", &definition.source),
            ("details", &details),
            ("feedback", &refused_before(feedback)),
        ],
    );
    Question {
        name: "evaluator",
        system: SYSTEM.to_owned(),
        prompt,
        schema: None,
        temperature: 0.2,
        max_tokens: 6000,
        max_bytes: MOST_CODE,
    }
}

/// The code of an answer: what stands in its only code fence, or all of it if there is no fence.
///
/// # Errors
/// [`RoleRefusal`] with the code `answer_form`: several fences, no code, more than 24 KiB, or
/// characters that do not show.
pub(super) fn parse(answer: &str) -> Result<String, RoleRefusal> {
    fenced::file(answer, MOST_CODE)
}

/// A metric as `docs/METRICS.md` defines it, in ASCII.
struct MetricDefinition {
    range: String,
    /// What it agrees with, for example `scikit-learn`.
    source: String,
    /// Edge cases and conventions; may be empty.
    details: String,
}

impl MetricDefinition {
    /// The row of a metric in the table, with the details of the metric that it refers to; `None`
    /// if there is none.
    fn find(metric: Metric) -> Option<Self> {
        let mut found = Self::row(metric.name())?;
        let other = found.details.split_once("as `").and_then(|(_, rest)| rest.split_once('`'));
        if let Some((name, other)) = other.and_then(|(name, _)| Some((name, Self::row(name)?))) {
            found.details = format!("{} ({name}: {})", found.details, other.details);
        }
        Some(found)
    }

    fn row(name: &str) -> Option<Self> {
        let name = format!("`{name}`");
        METRICS.lines().find_map(|line| {
            let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
            let [names, _kinds, _direction, range, source, details] = cells[..] else {
                return None;
            };
            let details = details.trim_end_matches('|').trim();
            names.split(", ").any(|one| one == name).then(|| Self {
                range: in_ascii(range),
                source: in_ascii(source),
                details: in_ascii(details),
            })
        })
    }
}

/// Signs of the table as they are written in code.
fn in_ascii(text: &str) -> String {
    let signs =
        [("\u{221e}", "infinity"), ("\u{2264}", "<="), ("\u{2265}", ">="), ("\u{b2}", "^2")];
    let powers = text.replace("\u{207b}\u{2075}\u{b2}", "^-52");
    signs.iter().fold(powers, |text, (sign, word)| text.replace(sign, word))
}

/// Names in backquotes, with commas between them.
fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What the cells of a submission and of the answers hold.
fn form(prediction: &Prediction) -> String {
    let classes = |classes: &[String]| listed(classes.iter().map(String::as_str));
    match prediction {
        Prediction::Number { .. } => "Cells hold a finite number.".to_owned(),
        Prediction::Numbers { .. } => "Cells hold a finite number. The score is the metric of each \
                                       column, averaged over the columns."
            .to_owned(),
        Prediction::Quantiles { column, columns } => format!(
            "A submission has a finite number in each of {}: the quantiles 0.1, 0.5 and 0.9 of the \
             row's number, which the answers have in `{column}`. Quantiles of a row may be in any \
             order; each column is scored as it is.",
            listed(columns.iter().map(String::as_str))
        ),
        Prediction::Probability { .. } => {
            "A submission has a number from 0 to 1, the probability of class 1; the answers have 0 or \
             1."
            .to_owned()
        }
        Prediction::Probabilities { .. } => {
            "A submission has a number from 0 to 1 in each column, the probability of that label, \
             independent of the others; the answers have 0 or 1 in the same columns. The score is the \
             metric of each column, averaged over the columns."
                .to_owned()
        }
        Prediction::Label { classes: names, .. } => format!(
            "Cells hold one of {}; where a metric needs numbers, these are the classes 0, 1, ... in \
             this order. A class that is a whole number may also be written like `1.0`.",
            classes(names)
        ),
        Prediction::ClassProbabilities { column, classes: names } => format!(
            "A submission has a number from 0 to 1 in each column, the probability of the class of \
             that name, and each row sums to 1 with at most 1e-3 between; the answers have the name \
             of the class in `{column}`. Classes in order: {}.",
            classes(names)
        ),
        Prediction::Flags { labels, .. } => format!(
            "Cells hold the labels that hold, separated by spaces, each at most once, in any order; \
             an empty cell where none does. All labels: {}.",
            classes(labels)
        ),
        Prediction::Relevance { column, query } => format!(
            "A submission has a finite number, the score of the row; rows of a query are ranked by \
             it, the highest first. The answers have a whole grade from 0 in `{column}`, where 0 is \
             irrelevant, and the name of the row's query in `{query}`. The score is the mean over \
             all queries."
        ),
        Prediction::Mask { width, height, .. } => format!(
            "Cells hold the mask of a picture that is {width} pixels wide and {height} high: `start \
             length start length ...`, whole numbers separated by spaces, where pixel 1 is at the top \
             left and numbers run down the columns, then from left to right; an empty cell where no \
             pixel is set. Runs have at least one pixel, are in ascending order, do not overlap and \
             do not leave the picture."
        ),
        Prediction::Boxes { classes: names, .. } => format!(
            "A submission has any number of boxes up to 100, each `class confidence x y w h`, all \
             separated by spaces, the confidence from 0 to 1; an empty cell where there is none. \
             `x y` is the corner with the smallest coordinates, each from -1e6 to 1e6; `w h` are \
             from 1e-6 to 1e6. The answers leave the confidence out: `class x y w h`. Classes: {}.",
            classes(names)
        ),
        Prediction::Pixels { width, height, levels, .. } => format!(
            "Cells hold a picture of {width} x {height} pixels: exactly {} whole numbers from 0 to {}, \
             separated by spaces, row by row from the top.",
            width * height,
            levels - 1
        ),
        Prediction::Text { .. } => format!(
            "Cells hold a text of at most {MOST_TEXT} bytes in UTF-8 without control characters; \
             spaces around it do not count, and it may be empty."
        ),
        Prediction::Ids { most, .. } => format!(
            "A submission has up to {most} different identifiers, separated by spaces, the best \
             guess first; an empty cell where nothing is guessed. The answers have one or several \
             right identifiers in any order. The score is the mean over all rows."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::rendered_task::RenderedTask;
    use crate::roles::RoleName;
    use crate::spec::mix::Cell;
    use crate::verify;

    #[test]
    fn every_metric_is_found_in_its_table() {
        for metric in Metric::ALL {
            let found = MetricDefinition::find(metric).unwrap_or_else(|| panic!("{metric}"));
            assert!(!found.range.is_empty() && !found.source.is_empty(), "{metric}");
            let text = [found.range, found.source, found.details].concat();
            assert!(text.is_ascii() && !text.contains('|'), "{metric}: {text}");
        }
    }

    #[test]
    fn question_defines_the_score_and_says_nothing_of_rule_or_rows() {
        for cell in Cell::all() {
            let RenderedTask { blueprint, assets, .. } = RenderedTask::new(cell, 0);
            let prompt = question(&blueprint, None).prompt;
            assert!(prompt.is_ascii() && !prompt.contains("{{"), "{prompt}");
            verify::rule_is_not_on_page(&prompt, &blueprint).unwrap();
            let prediction = &blueprint.prediction;
            for column in prediction.columns().into_iter().chain(prediction.answer_columns()) {
                assert!(prompt.contains(&format!("`{column}`")), "{cell}: {column}");
            }
            assert!(assets.test_ids.iter().all(|id| !prompt.contains(id)), "{cell}");
            assert!(prompt.len() < 8000, "{cell}: {}", prompt.len());
        }
    }

    #[test]
    fn question_repeats_the_last_refusal() {
        let blueprint = RenderedTask::new("tabular/regression".parse().unwrap(), 0).blueprint;
        let detail = "on the sample it says 1, the grader 2".to_owned();
        let (role, code) = (RoleName::Operator, "evaluator_disagrees");
        let feedback = RoleFeedback { role, code, detail };
        let prompt = question(&blueprint, Some(&feedback)).prompt;
        assert!(prompt.contains("refused (evaluator_disagrees): on the sample it says 1"));
        insta::assert_snapshot!(question(&blueprint, None).prompt);
    }
}
