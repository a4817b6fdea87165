//! Puts drawn rows to a challenge's own rungs, in tests.

use super::challenge::{Answer, Cells, Challenge, DrawnRow, Material, gathered};
use crate::spec::scenario::{self, ChallengeColumn, Story};
use tasks::metrics::Metric;
use tasks::stream::Stream;
use tasks::task::Formulation;
use tasks::values::{self, Values};

/// The columns of each story that asks for something.
pub(super) fn columns(formulation: Formulation) -> Vec<Vec<ChallengeColumn>> {
    let told = scenario::all().unwrap().into_iter().filter_map(|scenario| match scenario.story {
        Story::Challenge(story) if story.formulation == formulation => Some(story.columns),
        _ => None,
    });
    told.collect()
}

/// The truth of rows, or what an oracle says of them.
pub(super) fn answers(rows: &[DrawnRow], part: fn(&DrawnRow) -> &Answer) -> Values {
    gathered(rows.iter().map(part).cloned().collect())
}

/// Rungs that were fitted to the first rows and scored on the others.
pub(super) struct Trial {
    /// Cells of the rows that the rungs were fitted to.
    pub(super) train: Vec<Cells>,
    /// The truth of the same rows.
    pub(super) known: Values,
    /// Scores of R0 to R3 and of the ceiling.
    pub(super) scores: [f64; 5],
}

impl Trial {
    pub(super) fn new(
        challenge: &dyn Challenge,
        metric: Metric,
        rows: &[DrawnRow],
        train: usize,
    ) -> Self {
        let (train, test) = rows.split_at(train);
        let cells = |rows: &[DrawnRow]| rows.iter().map(|row| row.cells.clone()).collect();
        let [known, hidden] = [train, test].map(|rows| answers(rows, |row| &row.truth));
        let ideal = answers(test, |row| &row.ideal);
        let material = Material {
            train: cells(train),
            test: cells(test),
            train_truth: &known,
            test_truth: &hidden,
            ideal: &ideal,
            metric,
            stream: Stream::root(0),
        };
        let rungs = challenge.climb(&material).unwrap();
        let score = |forecast| values::score(metric, &hidden, forecast).unwrap();
        let scores = rungs.forecasts.each_ref().map(score);
        Self { train: material.train, known, scores }
    }
}
