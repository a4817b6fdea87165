//! Submissions that two graders are compared on.

use crate::numeric::draws::Draws;
use crate::verify::Refusal;
use crate::verify::disk::{broken, malformed, submitted};
use fs_err as fs;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tasks::prediction::Prediction;
use tasks::stream::Stream;
use tasks::task::TaskDir;

/// Share of rows that trade their predictions in the exchanged submission.
const EXCHANGED: f64 = 0.3;

/// A submission with its name in messages.
#[derive(Debug)]
pub(super) struct TrialSubmission {
    /// What messages call it, such as `the sample`.
    pub(super) what: &'static str,
    /// Its text, as CSV with a header.
    pub(super) csv: String,
}

/// What submissions to a task are made from.
#[derive(Debug)]
pub(super) struct SubmissionSource<'a> {
    /// Name of the task.
    pub(super) task: &'a str,
    /// Name of the id column.
    pub(super) id_column: &'a str,
    /// What the columns of a submission hold.
    pub(super) prediction: &'a Prediction,
    /// The text of `sample_submission.csv`.
    pub(super) sample: String,
    /// The text of `answer.csv`.
    pub(super) answers: String,
}

impl<'a> SubmissionSource<'a> {
    /// Reads what a task's folder holds.
    pub(super) fn open(task: &'a TaskDir) -> Result<Self, Refusal> {
        let read = |path: &str| {
            let bytes = fs::read(task.path().join(path))
                .map_err(|error| Refusal::Contract(error.to_string()))?;
            Ok::<_, Refusal>(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Self {
            task: task.id().as_str(),
            id_column: &task.manifest().id_column,
            prediction: &task.manifest().prediction,
            sample: read("prepared/public/sample_submission.csv")?,
            answers: read("prepared/private/answer.csv")?,
        })
    }

    /// The sample, the truth, three submissions between them with scores of their own, and two
    /// that no grader may accept.
    pub(super) fn submissions(&self) -> Vec<TrialSubmission> {
        let perfect = submitted(&self.answers, self.id_column, self.prediction);
        let (truth, sample) = (SubmissionRows::of(&perfect), SubmissionRows::of(&self.sample));
        let all = [
            ("the sample", self.sample.clone()),
            ("the perfect submission", perfect.clone()),
            ("the perfect submission with rows exchanged", truth.exchanged(self.task)),
            ("the mean of sample and truth", truth.halfway(&sample, self.prediction)),
            ("the perfect submission backwards", truth.backwards()),
            ("a submission without its last row", truth.shortened()),
            ("a cell of the wrong form", truth.broken(self.prediction)),
        ];
        all.into_iter().map(|(what, csv)| TrialSubmission { what, csv }).collect()
    }

    /// What verification shows the native grader and no grader may accept.
    pub(super) fn malformed(&self) -> Vec<TrialSubmission> {
        let all = malformed(&self.sample, self.prediction);
        all.into_iter().map(|(what, csv)| TrialSubmission { what, csv }).collect()
    }
}

/// A submission's header, ids and cells.
#[derive(Debug)]
struct SubmissionRows<'a> {
    header: &'a str,
    ids: Vec<&'a str>,
    /// A row's cells, with the commas between them.
    cells: Vec<&'a str>,
}

impl<'a> SubmissionRows<'a> {
    fn of(csv: &'a str) -> Self {
        let mut lines = csv.lines();
        let header = lines.next().unwrap_or_default();
        let (ids, cells) = lines.map(|line| line.split_once(',').unwrap_or((line, ""))).unzip();
        Self { header, ids, cells }
    }

    fn csv<'b>(&self, rows: impl Iterator<Item = (&'b str, &'b str)>) -> String {
        let mut csv = format!("{}\n", self.header);
        for (id, cells) in rows {
            let _ = writeln!(csv, "{id},{cells}");
        }
        csv
    }

    /// Some rows hand their cells to the next of them. The lines also stand in reverse, which
    /// must not matter.
    fn exchanged(&self, task: &str) -> String {
        let mut draws = Draws::new(Stream::root(0).child("trial").child(task));
        let chosen: Vec<usize> = (0..self.ids.len()).filter(|_| draws.chance(EXCHANGED)).collect();
        let mut cells = self.cells.clone();
        for (place, row) in chosen.iter().enumerate() {
            cells[*row] = self.cells[chosen[(place + 1) % chosen.len()]];
        }
        self.csv(self.ids.iter().copied().zip(cells).rev())
    }

    /// Every number half way to that of `other`; where cells are no numbers, every other row's.
    fn halfway(&self, other: &SubmissionRows<'_>, prediction: &Prediction) -> String {
        let others: BTreeMap<&str, &str> =
            other.ids.iter().copied().zip(other.cells.iter().copied()).collect();
        let numeric = matches!(
            prediction,
            Prediction::Number { .. }
                | Prediction::Numbers { .. }
                | Prediction::Quantiles { .. }
                | Prediction::Probability { .. }
                | Prediction::Probabilities { .. }
                | Prediction::ClassProbabilities { .. }
                | Prediction::Relevance { .. }
        );
        let mixed: Vec<String> = self
            .ids
            .iter()
            .zip(&self.cells)
            .enumerate()
            .map(|(row, (id, cells))| {
                let theirs = others.get(id).copied().unwrap_or_default();
                match (numeric, row % 2) {
                    (true, _) => means(cells, theirs),
                    (false, 0) => theirs.to_owned(),
                    (false, _) => (*cells).to_owned(),
                }
            })
            .collect();
        self.csv(self.ids.iter().copied().zip(mixed.iter().map(String::as_str)))
    }

    fn backwards(&self) -> String {
        self.csv(self.ids.iter().copied().zip(self.cells.iter().rev().copied()))
    }

    fn shortened(&self) -> String {
        let all = self.ids.len();
        self.csv(self.ids.iter().copied().zip(self.cells.iter().copied()).take(all.max(1) - 1))
    }

    fn broken(&self, prediction: &Prediction) -> String {
        let cell = broken(prediction);
        let cells = std::iter::once(cell.as_str()).chain(self.cells.iter().copied().skip(1));
        self.csv(self.ids.iter().copied().zip(cells))
    }
}

fn means(a: &str, b: &str) -> String {
    let mean = |(a, b): (&str, &str)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => f64::midpoint(a, b).to_string(),
        _ => a.to_owned(),
    };
    a.split(',').zip(b.split(',')).map(mean).collect::<Vec<_>>().join(",")
}
