//! A challenge: what draws rows together with their answers, and fits the rungs to them.

use crate::baselines::ladder::{Ladder, LadderError};
use crate::baselines::rungs::{self, Rungs};
use crate::data::assets::{self, Assets};
use crate::data::items::Item;
use crate::media::{Blemish, Reading};
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::challenge::{ChallengeLayout, ChallengeRule, Wording};
use std::collections::BTreeMap;
use std::fmt;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::RowCounts;
use tasks::values::Values;

/// Those who wrote the answers down slipped at times.
pub(super) const SLIPS: Blemish = Blemish {
    name: "slips",
    low: 0.02,
    high: 0.05,
    means: "those who wrote the answers down slipped here and there",
};

/// Strengths of a task's blemishes, by name.
pub type Strengths = BTreeMap<String, f64>;

/// The cells of a row, in the order of the layout's columns. None has a line break in it.
pub type Cells = Vec<String>;

/// What a challenge fits its rungs to.
pub type Material<'a> = rungs::Material<'a, Cells>;

impl ChallengeRule {
    /// What draws and solves it.
    pub fn challenge(&self) -> &dyn Challenge {
        match self {
            Self::Normalisation(challenge) => challenge,
            Self::Extraction(challenge) => challenge,
            Self::Retrieval(challenge) => challenge,
            Self::Recommendation(challenge) => challenge,
            Self::Positions(challenge) => challenge,
        }
    }
}

/// The answer to one row.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A text.
    Text(String),
    /// Identifiers, the best guess first.
    Ids(Vec<String>),
    /// An answer to each position of a sequence: numbers, rows of numbers, or classes.
    Each(Values),
}

impl Answer {
    /// How many positions it answers to.
    fn positions(&self) -> usize {
        match self {
            Self::Text(_) | Self::Ids(_) => 1,
            Self::Each(values) => values.len(),
        }
    }
}

/// A row with its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnRow {
    /// What the tables show.
    pub(super) cells: Cells,
    /// The answer that is to be predicted.
    pub(super) truth: Answer,
    /// The best possible answer: the truth without slips.
    pub(super) ideal: Answer,
}

/// A kind of row with an answer of its own, and the rungs that solve it. Displayed, it is the
/// hidden conventions as a line.
pub trait Challenge: fmt::Debug + fmt::Display + Sync {
    /// What a submission holds.
    fn prediction(&self, column: &str) -> Prediction;

    /// What submissions are scored by.
    fn metric(&self) -> Metric;

    /// How rows and answers can be worse than clean.
    fn blemishes(&self) -> &'static [Blemish];

    /// All rows, the training rows first. Training and test rows come from one distribution, and
    /// no test row is a training row.
    fn draw(
        &self,
        wording: &Wording,
        strengths: &Strengths,
        rows: RowCounts,
        draws: &mut Draws,
    ) -> Vec<DrawnRow>;

    /// What the cells of a row are for solvers that do not know the challenge.
    fn read(&self, cells: &[String]) -> Reading;

    /// Fits the rungs to the training rows.
    ///
    /// # Errors
    /// [`LadderError`] if a model cannot be fitted.
    fn climb(&self, material: &Material<'_>) -> Result<Rungs, LadderError>;

    /// Cells of constant rows worth trying, beside the most frequent answers.
    fn constants(&self, _train: &Values) -> Vec<String> {
        Vec::new()
    }

    /// Python that defines `answers(a, b, t)`: the answers to the rows of the table `b`, given the
    /// training table `a` and the name `t` of its target column.
    fn oracle(&self) -> String;

    /// What the page calls a row's data, in the plural.
    fn made_of(&self) -> &'static str;
}

/// Forecasts of no rows, where the truth is of another kind than this challenge's.
pub(super) fn nothing(material: &Material<'_>) -> Rungs {
    let none = || material.ideal.take(&[]);
    Rungs { forecasts: [none(), none(), none(), none(), none()], start: None, unseen: none() }
}

/// Draws a task's rows.
pub(super) fn render(blueprint: &Blueprint, layout: &ChallengeLayout) -> Assets {
    let stream = blueprint.origin.stream("assets");
    let challenge = layout.rule.challenge();
    let mut draws = Draws::new(stream.child("rows"));
    let strengths = blueprint.blemishes();
    let rows = challenge.draw(&layout.wording, &strengths, blueprint.rows, &mut draws);
    let (mut items, mut truths, mut ideals) = (Vec::new(), Vec::new(), Vec::new());
    for DrawnRow { cells, truth, ideal } in rows {
        let reading = challenge.read(&cells);
        items.push(Item::new(cells.join("\n").into_bytes(), reading));
        truths.push(truth);
        ideals.push(ideal);
    }
    if let ChallengeRule::Positions(rule) = &layout.rule {
        let lengths: Vec<usize> = truths.iter().map(Answer::positions).collect();
        let truth = rule.truth(&gathered(truths));
        let names = [&rule.sequence, &rule.place].map(String::clone);
        return assets::of_sequences(
            blueprint,
            items,
            &lengths,
            names,
            &truth,
            &gathered(ideals),
            stream,
        );
    }
    assets::structured(blueprint, items, &gathered(truths), &gathered(ideals), stream)
}

/// The cells of an item.
pub(super) fn cells(bytes: &[u8]) -> Cells {
    String::from_utf8_lossy(bytes).split('\n').map(str::to_owned).collect()
}

/// The answers to several rows of one challenge.
pub(super) fn gathered(answers: Vec<Answer>) -> Values {
    let (mut texts, mut ids, mut each) = (Vec::new(), Vec::new(), None);
    for answer in answers {
        match answer {
            Answer::Text(text) => texts.push(text),
            Answer::Ids(names) => ids.push(names),
            Answer::Each(values) => each = Some(joined(each, values)),
        }
    }
    match each {
        Some(values) => values,
        None if ids.is_empty() => Values::Texts(texts),
        None => Values::Ids(ids),
    }
}

/// Answers to the positions of several sequences, and those of one more. Answers of another kind,
/// which no challenge mixes, are left out.
fn joined(known: Option<Values>, more: Values) -> Values {
    match (known, more) {
        (None, more) => more,
        (Some(Values::Numbers(mut known)), Values::Numbers(more)) => {
            known.extend(more);
            Values::Numbers(known)
        }
        (Some(Values::Matrix { mut values, columns }), Values::Matrix { values: more, .. }) => {
            values.extend(more);
            Values::Matrix { values, columns }
        }
        (Some(Values::Labels(mut known)), Values::Labels(more)) => {
            known.extend(more);
            Values::Labels(known)
        }
        (Some(known), _) => known,
    }
}

/// Fits and scores all rungs of a challenge.
///
/// # Errors
/// [`LadderError`].
pub(super) fn climb(
    blueprint: &Blueprint,
    layout: &ChallengeLayout,
    assets: &Assets,
) -> Result<Ladder, LadderError> {
    let row = |item: &Item| Some(cells(&item.bytes));
    rungs::climb(blueprint, assets, row, |material| layout.rule.challenge().climb(material))
}
