//! One answer at each position of a sequence.
//!
//! A row is a sequence of symbols, with a number and a word that go with all of it. Each of its
//! positions has an answer: a number, several numbers, or a class. What it is follows from the
//! symbol there and from others by a hidden rule: a sum of terms, some of which look at neighbours
//! and some far along the sequence, and which the number or the word makes stronger or weaker. The
//! ladder: R0 the best constant; R1 the mean answer of a symbol, with the number and the word; R2 a
//! forest of the symbols in a window around the position; R3 the terms of the rule, by a linear model.
//! The ceiling is the rule without its noise.

mod plan;
mod rungs;
mod sequence;
#[cfg(test)]
mod tests;

use super::challenge::{Answer, Cells, Challenge, DrawnRow, Material, Strengths, nothing};
use crate::baselines::ladder::LadderError;
use crate::baselines::rungs::Rungs;
use crate::data::labels::Truth;
use crate::media::{Blemish, Reading};
use crate::numeric::draws::{Draws, sigmoid};
use crate::numeric::rounding::round;
use crate::spec::challenge::Wording;
use crate::spec::positions::{PositionAnswer, PositionTarget, Positions};
use crate::spec::scenario::ChallengeScenario;
use rungs::Sides;
use sequence::Sequence;
use std::collections::BTreeSet;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::{RowCounts, Split};
use tasks::values::Values;

/// Python that answers by the rule.
const ALONG: &str = include_str!("positions.py");

impl Positions {
    /// Draws a rule for a story, with forms of its own if the task is held out.
    pub(super) fn plan(story: &ChallengeScenario, split: Split, draws: &mut Draws) -> Self {
        plan::plan(story, split, draws)
    }

    /// How many sequences to train and to test on.
    pub(super) fn rows(draws: &mut Draws) -> RowCounts {
        RowCounts { train: draws.whole(80, 130), test: draws.whole(100, 150) }
    }

    /// Metrics that suit what is asked for.
    pub(super) fn metrics(&self) -> &'static [Metric] {
        match &self.targets[..] {
            [PositionTarget { answer: PositionAnswer::Class { .. }, .. }] => {
                &[Metric::Accuracy, Metric::MacroF1]
            }
            [_] => &[Metric::Rmse, Metric::Mae],
            _ => &[Metric::Mcrmse],
        }
    }

    /// Values of positions as the truth of the targets.
    pub(super) fn truth(&self, values: &Values) -> Truth {
        let part = |place: usize, target: &PositionTarget| match (values, &target.answer) {
            (Values::Labels(labels), PositionAnswer::Class { classes, .. }) => {
                Truth::Classes { values: labels.clone(), names: sorted(classes) }
            }
            (Values::Matrix { values, columns }, PositionAnswer::Number { decimals, .. }) => {
                let values = values.iter().skip(place).step_by(*columns).copied().collect();
                Truth::Numbers { values, decimals: *decimals }
            }
            (Values::Numbers(values), PositionAnswer::Number { decimals, .. }) => {
                Truth::Numbers { values: values.clone(), decimals: *decimals }
            }
            _ => Truth::Structured(values.clone()),
        };
        let targets = self.targets.iter().enumerate();
        Truth::joined(targets.map(|(place, target)| part(place, target)).collect())
    }

    /// The truth of a sequence's positions, and what is expected without noise.
    fn answers(&self, sequence: &Sequence, draws: &mut Draws) -> [Answer; 2] {
        if let [PositionTarget { terms, noise, answer, .. }] = &self.targets[..]
            && let PositionAnswer::Class { classes, cuts } = answer
        {
            let names = sorted(classes);
            let place = |grade: usize| names.iter().position(|name| *name == classes[grade]);
            let (mut truth, mut ideal) = (Vec::new(), Vec::new());
            for sum in sequence.sum(terms) {
                let noisy = sum + noise * draws.logistic();
                let grade = cuts.iter().filter(|cut| noisy > **cut).count();
                truth.push(place(grade).unwrap_or(0));
                ideal.push(place(likeliest(sum, cuts, *noise)).unwrap_or(0));
            }
            return [truth, ideal].map(|labels| Answer::Each(Values::Labels(labels)));
        }
        let sums: Vec<Vec<f64>> =
            self.targets.iter().map(|target| sequence.sum(&target.terms)).collect();
        let (mut truth, mut ideal) = (Vec::new(), Vec::new());
        for at in 0..sequence.symbols.len() {
            for (target, sums) in self.targets.iter().zip(&sums) {
                truth.push(target.number(sums[at] + target.noise * draws.normal()));
                ideal.push(target.number(sums[at]));
            }
        }
        let columns = self.targets.len();
        let values = |values: Vec<f64>| match columns {
            1 => Values::Numbers(values),
            _ => Values::Matrix { values, columns },
        };
        [truth, ideal].map(|numbers| Answer::Each(values(numbers)))
    }
}

impl PositionTarget {
    /// The number that a sum of terms stands for.
    fn number(&self, sum: f64) -> f64 {
        let PositionAnswer::Number { center, scale, range: [low, high], decimals } = self.answer
        else {
            return sum;
        };
        round((center + scale * sum).clamp(low, high), decimals)
    }
}

/// Names in the order in which submissions have them.
fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort();
    names
}

/// The class that a sum of terms most likely becomes once noise is added.
fn likeliest(sum: f64, cuts: &[f64], noise: f64) -> usize {
    let below = |cut: Option<&f64>| cut.map_or(1.0, |cut| sigmoid((cut - sum) / noise));
    let chance = |grade: usize| {
        let under = if grade == 0 { 0.0 } else { below(cuts.get(grade - 1)) };
        below(cuts.get(grade)) - under
    };
    (1..=cuts.len()).fold(0, |best, grade| if chance(grade) > chance(best) { grade } else { best })
}

impl Challenge for Positions {
    fn prediction(&self, _column: &str) -> Prediction {
        let columns = || self.targets.iter().map(|target| target.column.clone());
        match &self.targets[..] {
            [PositionTarget { column, answer: PositionAnswer::Class { classes, .. }, .. }] => {
                Prediction::Label { column: column.clone(), classes: sorted(classes) }
            }
            [PositionTarget { column, .. }] => Prediction::Number { column: column.clone() },
            _ => Prediction::Numbers { columns: columns().collect() },
        }
    }

    fn metric(&self) -> Metric {
        self.metrics()[0]
    }

    fn blemishes(&self) -> &'static [Blemish] {
        &[]
    }

    fn draw(
        &self,
        _wording: &Wording,
        _strengths: &Strengths,
        rows: RowCounts,
        draws: &mut Draws,
    ) -> Vec<DrawnRow> {
        let mut seen = BTreeSet::new();
        let mut drawn = Vec::new();
        while drawn.len() < rows.train + rows.test {
            let (cells, sequence) = Sequence::draw(self, draws);
            let [truth, ideal] = self.answers(&sequence, draws);
            if seen.insert(cells[0].clone()) {
                drawn.push(DrawnRow { cells, truth, ideal });
            }
        }
        drawn
    }

    fn read(&self, cells: &[String]) -> Reading {
        let Some(sequence) = Sequence::read(self, cells) else {
            return Reading { plain: Vec::new(), generic: Vec::new(), estimates: Vec::new() };
        };
        let length = sequence.symbols.len() as f64;
        let word = |word| f64::from(u8::from(word == sequence.word));
        let mut plain = vec![length, sequence.number];
        plain.extend((1..self.words.len()).map(word));
        let share =
            |symbol| sequence.symbols.iter().filter(|one| **one == symbol).count() as f64 / length;
        let generic = plain.iter().copied().chain((0..self.symbols.len()).map(share)).collect();
        Reading { plain, generic, estimates: Vec::new() }
    }

    fn climb(&self, material: &Material<'_>) -> Result<Rungs, LadderError> {
        let read = |rows: &[Cells]| -> Option<Vec<Sequence>> {
            rows.iter().map(|cells| Sequence::read(self, cells)).collect()
        };
        let (Some(train), Some(test)) = (read(&material.train), read(&material.test)) else {
            return Ok(nothing(material));
        };
        let (truth, metric) = (material.train_truth, material.metric);
        let sides = Sides { rule: self, train: &train, test: &test, truth, metric };
        let [_, symbol] = sides.symbol()?;
        let [unseen, window] = sides.window(material.stream)?;
        let [_, terms] = sides.terms()?;
        let forecasts = [sides.constant(), symbol, window, terms, material.ideal.clone()];
        Ok(Rungs { forecasts, start: None, unseen })
    }

    fn oracle(&self) -> String {
        let rule = serde_json::to_string(self).unwrap_or_default();
        format!("{ALONG}RULE = json.loads(r'''{rule}''')\n")
    }

    fn made_of(&self) -> &'static str {
        "sequences of symbols"
    }
}
