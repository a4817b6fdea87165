//! The description page of an anchor. It says what the data is, but not where it is published.

use super::catalogue::AnchorSpec;
use super::extract::{Pictures, RawData};
use super::task::{ID, PICTURE};
use crate::page::measure;
use std::fmt::Write as _;
use tasks::metrics::{Direction, Metric};
use tasks::prediction::Prediction;
use tasks::task::RowCounts;

/// Lines of the sample submission on the page.
const SAMPLE_LINES: usize = 4;

/// What a page is written from.
pub(super) struct PageFacts<'a> {
    pub(super) spec: &'a AnchorSpec,
    pub(super) data: &'a RawData,
    pub(super) prediction: &'a Prediction,
    pub(super) rows: RowCounts,
    /// The sample submission, as it is in the file.
    pub(super) sample: &'a str,
    /// Whether public tables have empty cells.
    pub(super) has_gaps: bool,
}

/// The page in Markdown.
pub(super) fn page(facts: &PageFacts<'_>) -> String {
    let PageFacts { spec, data, prediction, rows, sample, has_gaps } = facts;
    let targets = listed(&spec.targets);
    let mut text = format!("# {}\n\n{}\n\n{}\n\n", spec.title, spec.about.trim(), spec.task.trim());
    let _ = write!(
        text,
        "## Files\n\n\
         - `train.csv`: {} rows, with {targets}.\n\
         - `test.csv`: {} rows of the same form, without {}.\n\
         - `sample_submission.csv`: a submission in the right form, which says the same of every row.\n",
        rows.train,
        rows.test,
        if spec.targets.len() > 1 { "them" } else { "it" },
    );
    if let Some(Pictures { height, width, channels, .. }) = &data.pictures {
        let colour = if *channels == 1 { "8-bit grey" } else { "8-bit RGB" };
        let _ = writeln!(
            text,
            "- `images/`: a picture for each row of both tables, PNG, {width} x {height} pixels, {colour}."
        );
    }
    text.push_str("\nThe data is real: it was measured or collected, not invented for this task. ");
    if *has_gaps {
        text.push_str("An empty cell means that nothing is known. ");
    }
    text.push_str(
        "Rows are in random order.\n\n## Columns\n\n| column | what it holds |\n| --- | --- |\n",
    );
    let _ = writeln!(text, "| `{ID}` | name of the row, which says nothing |");
    if data.pictures.is_some() {
        let _ = writeln!(text, "| `{PICTURE}` | path of the row's picture |");
    }
    for (names, holds) in &spec.columns {
        let names: Vec<String> = names.split(", ").map(quoted).collect();
        let _ = writeln!(text, "| {} | {holds} |", names.join(", "));
    }
    let _ = writeln!(text, "| {targets} | what is asked for; in `train.csv` only |");
    let _ = write!(text, "\n## Submission\n\n{}\n\n```text\n", form(spec, prediction));
    for line in sample.lines().take(SAMPLE_LINES) {
        let _ = writeln!(text, "{line}");
    }
    let _ = write!(text, "```\n\n## Evaluation\n\n{}\n", evaluation(spec.metric));
    text
}

/// Names of columns as code, but not the words between them.
fn quoted(names: &str) -> String {
    let parts: Vec<String> = names.split(" to ").map(|name| format!("`{name}`")).collect();
    parts.join(" to ")
}

/// Names as code, listed.
fn listed(names: &[String]) -> String {
    let code: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match code.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => code.join(""),
    }
}

/// What a submission holds.
fn form(spec: &AnchorSpec, prediction: &Prediction) -> String {
    let target = &spec.targets[0];
    let rest = match prediction {
        Prediction::Probability { .. } => format!("`{target}`, the probability of 1, from 0 to 1"),
        Prediction::ClassProbabilities { classes, .. } => format!(
            "a column for each class ({}) with its probability; the probabilities of a row sum to 1",
            listed(classes)
        ),
        Prediction::Probabilities { .. } => {
            "a column for each label with the probability that it holds, from 0 to 1".to_owned()
        }
        Prediction::Label { classes, .. } => format!("`{target}`, one of {}", listed(classes)),
        _ => format!("`{target}`, a number"),
    };
    format!(
        "Write `submission.csv` with a header and one line for each row of `test.csv`, in any order: \
         `{ID}` and {rest}."
    )
}

/// How submissions are scored, exactly.
fn evaluation(metric: Metric) -> String {
    let way = match metric.direction() {
        Direction::HigherIsBetter => "Higher is better",
        Direction::LowerIsBetter => "Lower is better",
    };
    let detail = match metric {
        Metric::LogLoss => {
            " It is the mean over the rows of −ln p, where p is the probability that was given to the \
             true class, kept at least 2.2·10⁻¹⁶ away from 0 and 1."
        }
        Metric::RocAuc | Metric::MeanColumnAuc => {
            " It is the probability that a row of class 1 is given a higher value than a row of class \
             0; equal values count one half."
        }
        Metric::MacroF1 => {
            " F1 of a class is 2·TP / (2·TP + FP + FN); classes that occur in the truth or in the \
             submission count the same."
        }
        Metric::BalancedAccuracy => {
            " The recall of a class is the share of its rows that are named right."
        }
        Metric::QuadraticKappa => {
            " It is 1 − Σ w·O / Σ w·E over pairs of true and given class, with w the squared \
             difference of their places, O the counts, and E those expected if both were independent."
        }
        Metric::Rmsle => {
            " Logarithms are natural: √(mean of (ln(1 + y) − ln(1 + p))²). Values below 0 are refused by it."
        }
        Metric::Mape => " It is the mean of |y − p| / |y|.",
        Metric::R2 => " It is 1 − Σ (y − p)² / Σ (y − ȳ)², ȳ being the mean of the test rows.",
        Metric::Rmse => " It is √(mean of (y − p)²).",
        Metric::Mae => " It is the mean of |y − p|.",
        _ => "",
    };
    format!("The score is {}.{detail} {way}.", measure(metric))
}
