//! The rungs: the symbol alone, a window of neighbours, the rule's own terms.

use super::sequence::Sequence;
use crate::baselines::ladder::LadderError;
use crate::baselines::rungs::best;
use crate::numeric::forest::{self, ForestSettings};
use crate::numeric::linear::Linear;
use crate::numeric::logistic::Softmax;
use crate::numeric::matrix::from_rows;
use crate::numeric::moments::median;
use crate::spec::positions::Positions;
use ndarray::{Array2, Axis, concatenate};
use tasks::metrics::Metric;
use tasks::stream::Stream;
use tasks::values::Values;

/// Penalty of linear models, as in scikit-learn's defaults.
const PENALTY: f64 = 1.0;
/// How many neighbours on either side a practised engineer looks at first.
const WINDOW: usize = 3;
/// Positions that a forest is grown of at most: whole sequences up to there.
const GROWN: usize = 4000;
/// The forest. Leaves are large enough that noise does not matter much.
const FOREST: ForestSettings = ForestSettings { trees: 30, tried: 5, leaf: 6 };
/// How far probabilities are divided by the shares of classes, where a metric counts classes alike.
const POWERS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];

/// What is known of the positions of some sequences, one after another.
#[derive(Debug)]
pub(super) struct Sides<'a> {
    pub(super) rule: &'a Positions,
    pub(super) train: &'a [Sequence],
    pub(super) test: &'a [Sequence],
    /// The truth of the positions of `train`.
    pub(super) truth: &'a Values,
    pub(super) metric: Metric,
}

/// Forecasts of the positions of both sides.
pub(super) type Forecasts = [Values; 2];

/// One row of numbers per position.
type Rows = [Array2<f64>; 2];

impl Sides<'_> {
    /// The best constant, for the test positions.
    pub(super) fn constant(&self) -> Values {
        let rows = self.test.iter().map(|sequence| sequence.symbols.len()).sum();
        let middle = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            if self.metric == Metric::Mae { median(values) } else { mean }
        };
        match self.truth {
            Values::Labels(labels) => {
                let known = labels.len();
                let constants =
                    (0..self.classes()).map(|class| (class, Values::Labels(vec![class; known])));
                let class = best(self.metric, self.truth, constants).unwrap_or(0);
                Values::Labels(vec![class; rows])
            }
            Values::Matrix { columns, .. } => {
                let row: Vec<f64> = self.columns().iter().map(|column| middle(column)).collect();
                Values::Matrix { values: row.repeat(rows), columns: *columns }
            }
            _ => Values::Numbers(vec![self.columns().first().map_or(0.0, |c| middle(c)); rows]),
        }
    }

    /// The symbol, the number and the word, by a linear model.
    pub(super) fn symbol(&self) -> Result<Forecasts, LadderError> {
        let symbols = self.rule.symbols.len();
        let row = |sequence: &Sequence, at: usize| {
            let mut row = vec![0.0; symbols];
            row[sequence.symbols[at]] = 1.0;
            row.extend(self.whole(sequence));
            row
        };
        self.linear(&self.rows(row))
    }

    /// The terms of the rule, by a linear model for each target.
    pub(super) fn terms(&self) -> Result<Forecasts, LadderError> {
        let of_target = |target: usize| {
            let terms = &self.rule.targets[target].terms;
            let part = |side: &[Sequence]| {
                let blocks: Vec<Array2<f64>> = side
                    .iter()
                    .map(|sequence| {
                        let columns: Vec<Vec<f64>> =
                            terms.iter().map(|term| sequence.standard(term)).collect();
                        Array2::from_shape_fn(
                            (sequence.symbols.len(), terms.len()),
                            |(at, term)| columns[term][at],
                        )
                    })
                    .collect();
                stacked(&blocks, terms.len())
            };
            [part(self.train), part(self.test)]
        };
        let inputs: Vec<Rows> = (0..self.rule.targets.len()).map(of_target).collect();
        if let Values::Labels(_) = self.truth {
            return self.linear(&inputs[0]);
        }
        let columns = self.columns().into_iter().zip(&inputs);
        let fitted: Vec<_> = columns.map(|(y, rows)| ridge(rows, &y)).collect();
        Ok(self.numbers(&fitted))
    }

    /// A forest of what stands around a position: for each place of a window, the mean answer to
    /// positions with such a symbol there; the position; the number and the word. Training positions
    /// are forecast by trees that have not seen them.
    pub(super) fn window(&self, stream: Stream) -> Result<Forecasts, LadderError> {
        if let Values::Labels(labels) = self.truth {
            let of_class = |class| {
                let y: Vec<f64> =
                    labels.iter().map(|label| f64::from(u8::from(*label == class))).collect();
                self.grown(&y, stream.index(class as u64))
            };
            let sides: Vec<[Vec<f64>; 2]> =
                (0..self.classes()).map(of_class).collect::<Result<_, _>>()?;
            let chances = |side: usize| {
                Array2::from_shape_fn((sides[0][side].len(), sides.len()), |(row, class)| {
                    sides[class][side][row]
                })
            };
            return Ok(self.labels(&[chances(0), chances(1)]));
        }
        let columns = self.columns().into_iter().enumerate();
        let fitted = columns.map(|(place, y)| self.grown(&y, stream.index(place as u64)));
        Ok(self.numbers(&fitted.collect::<Result<Vec<_>, _>>()?))
    }

    /// Number of classes.
    fn classes(&self) -> usize {
        match self.truth {
            Values::Labels(labels) => labels.iter().max().map_or(1, |most| most + 1),
            _ => 0,
        }
    }

    /// The truth of each target.
    fn columns(&self) -> Vec<Vec<f64>> {
        match self.truth {
            Values::Numbers(values) => vec![values.clone()],
            Values::Matrix { values, columns } => (0..*columns)
                .map(|place| values.iter().skip(place).step_by(*columns).copied().collect())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The number, and each word but the first, of a sequence.
    fn whole(&self, sequence: &Sequence) -> Vec<f64> {
        let words = 1..self.rule.words.len();
        let words = words.map(|word| f64::from(u8::from(word == sequence.word)));
        std::iter::once(sequence.number).chain(words).collect()
    }

    /// A row for each position of both sides.
    fn rows(&self, row: impl Fn(&Sequence, usize) -> Vec<f64>) -> Rows {
        [self.train, self.test].map(|side| {
            let rows: Vec<Vec<f64>> = side
                .iter()
                .flat_map(|sequence| (0..sequence.symbols.len()).map(|at| row(sequence, at)))
                .collect();
            from_rows(&rows)
        })
    }

    /// Numbers by ridge regression, classes by softmax regression.
    fn linear(&self, rows: &Rows) -> Result<Forecasts, LadderError> {
        if let Values::Labels(labels) = self.truth {
            let softmax = Softmax::fit(&rows[0], labels, self.classes(), PENALTY)?;
            return Ok(self.labels(&rows.each_ref().map(|rows| softmax.probabilities(rows))));
        }
        let fitted: Vec<_> = self.columns().iter().map(|y| ridge(rows, y)).collect();
        Ok(self.numbers(&fitted))
    }

    /// Forecasts of one target by a forest, of both sides.
    fn grown(&self, y: &[f64], stream: Stream) -> Result<[Vec<f64>; 2], LadderError> {
        let codes = self.codes(y);
        let [train, test] = self.rows(|sequence, at| {
            let mut row: Vec<f64> = around(sequence, at)
                .enumerate()
                .map(|(place, symbol)| codes[place][symbol.unwrap_or(self.rule.symbols.len())])
                .collect();
            row.extend([at as f64, (sequence.symbols.len() - at) as f64]);
            row.extend(self.whole(sequence));
            row
        });
        let mut known = 0;
        for sequence in self.train {
            if known < GROWN {
                known += sequence.symbols.len();
            }
        }
        let rows: Vec<usize> = (0..known).collect();
        let some = train.select(Axis(0), &rows);
        let forest = forest::grow(&some, &y[..known].to_vec(), FOREST, stream.seed())?;
        let mut unseen = forest.predict(&train)?;
        unseen[..known].copy_from_slice(&forest.out_of_bag(&some)?);
        Ok([unseen, forest.predict(&test)?])
    }

    /// For each place of the window and each symbol there, the mean of `y`; the last is that of
    /// places beyond an end.
    fn codes(&self, y: &[f64]) -> Vec<Vec<f64>> {
        let symbols = self.rule.symbols.len() + 1;
        let mean = y.iter().sum::<f64>() / y.len().max(1) as f64;
        let mut sums = vec![vec![mean; symbols]; 2 * WINDOW + 1];
        let mut counts = vec![vec![1.0; symbols]; 2 * WINDOW + 1];
        let positions =
            self.train.iter().flat_map(|one| (0..one.symbols.len()).map(move |at| (one, at)));
        for ((sequence, at), y) in positions.zip(y) {
            for (place, symbol) in around(sequence, at).enumerate() {
                let symbol = symbol.unwrap_or(symbols - 1);
                sums[place][symbol] += y;
                counts[place][symbol] += 1.0;
            }
        }
        for (sums, counts) in sums.iter_mut().zip(&counts) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum /= count);
        }
        sums
    }

    /// Fitted numbers of each target as forecasts of both sides.
    fn numbers(&self, fitted: &[[Vec<f64>; 2]]) -> Forecasts {
        [0, 1].map(|side| {
            if let (Values::Numbers(_), [only]) = (self.truth, fitted) {
                return Values::Numbers(only[side].clone());
            }
            let rows = fitted.first().map_or(0, |one| one[side].len());
            let values = (0..rows).flat_map(|row| fitted.iter().map(move |one| one[side][row]));
            Values::Matrix { values: values.collect(), columns: fitted.len() }
        })
    }

    /// The most probable classes, or where a metric counts classes alike, those that are probable
    /// beyond their share: as far as does best on the training positions.
    fn labels(&self, chances: &[Array2<f64>; 2]) -> Forecasts {
        let mut shares = vec![0.0; self.classes()];
        if let Values::Labels(labels) = self.truth {
            for label in labels {
                shares[*label] += 1.0 / labels.len() as f64;
            }
        }
        let chosen = |chances: &Array2<f64>, power: f64| {
            let weight = |class: usize| libm::pow(shares[class].max(1e-9), -power);
            let weights: Vec<f64> = (0..shares.len()).map(weight).collect();
            let row = |row: ndarray::ArrayView1<f64>| {
                let value = |class: usize| row[class] * weights[class];
                (1..weights.len())
                    .fold(0, |best, class| if value(class) > value(best) { class } else { best })
            };
            Values::Labels(chances.axis_iter(Axis(0)).map(row).collect())
        };
        let tries = POWERS.iter().map(|power| (*power, chosen(&chances[0], *power)));
        let power = match self.metric {
            Metric::Accuracy => 0.0,
            _ => best(self.metric, self.truth, tries).unwrap_or(0.0),
        };
        chances.each_ref().map(|chances| chosen(chances, power))
    }
}

/// The symbols in the window around a position, from the first place to the last; none beyond an end.
fn around(sequence: &Sequence, at: usize) -> impl Iterator<Item = Option<usize>> {
    let places = at..=at + 2 * WINDOW;
    places.map(|place| sequence.symbols.get(place.checked_sub(WINDOW)?).copied())
}

/// Ridge regression of one target: fitted values of both sides.
fn ridge(rows: &Rows, y: &[f64]) -> [Vec<f64>; 2] {
    let fitted = Linear::ridge(&rows[0], y, PENALTY);
    rows.each_ref().map(|rows| fitted.score(rows))
}

/// Blocks of rows one below the other.
fn stacked(blocks: &[Array2<f64>], columns: usize) -> Array2<f64> {
    let views: Vec<_> = blocks.iter().map(Array2::view).collect();
    concatenate(Axis(0), &views).unwrap_or_else(|_| Array2::zeros((0, columns)))
}
