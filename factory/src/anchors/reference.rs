//! The models of reference solvers: linear ones, forests, neighbours, and means of them.

use super::panel::PanelError;
use crate::baselines::features::Inputs;
use crate::baselines::ladder::{both, normalised};
use crate::data::labels::Truth;
use crate::data::score::Forecast;
use crate::numeric::draws::{floor, sigmoid};
use crate::numeric::forest::{self, ForestSettings};
use crate::numeric::linear::Linear;
use crate::numeric::logistic::Softmax;
use crate::numeric::matrix::from_columns;
use crate::numeric::moments::moments;
use ndarray::{Array2, concatenate, s};
use tasks::metrics::Metric;
use tasks::stream::Stream;

/// Trees of a forest.
const TREES: u16 = 60;
/// Best columns of which squares and products are taken.
const CROSSED: usize = 12;
/// What numbers are kept above before their logarithm is taken.
const LEAST: f64 = 1e-9;

/// What numbers are fitted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Plain,
    /// The logarithm, where errors count relative to the truth.
    Log,
    /// The logarithm of one more, where the metric takes it.
    Log1p,
}

impl Scale {
    /// The scale on which squared errors are nearest to a metric.
    pub(super) fn of(metric: Metric) -> Self {
        match metric {
            Metric::Mape | Metric::Smape => Self::Log,
            Metric::Rmsle => Self::Log1p,
            _ => Self::Plain,
        }
    }

    fn forth(self, value: f64) -> f64 {
        match self {
            Self::Plain => value,
            Self::Log => libm::log(value.max(LEAST)),
            Self::Log1p => libm::log1p(value.max(0.0)),
        }
    }

    fn back(self, value: f64) -> f64 {
        match self {
            Self::Plain => value,
            Self::Log => libm::exp(value),
            Self::Log1p => libm::expm1(value).max(0.0),
        }
    }
}

/// One target's values as columns to fit: the number, or an indicator per class (of two classes, of
/// the second).
fn columns(truth: &Truth, scale: Scale) -> Vec<Vec<f64>> {
    match truth {
        Truth::Classes { values, names } => {
            let classes = if names.len() == 2 { 1..2 } else { 0..names.len() };
            let indicator =
                |class| values.iter().map(|v| f64::from(u8::from(*v == class))).collect();
            classes.map(indicator).collect()
        }
        other => vec![other.as_numbers().into_iter().map(|value| scale.forth(value)).collect()],
    }
}

/// A forecast from fitted columns.
fn assembled(truth: &Truth, scale: Scale, columns: &[Vec<f64>]) -> Forecast {
    match truth {
        Truth::Classes { names, .. } if names.len() == 2 => normalised(both(&columns[0])),
        Truth::Classes { .. } => normalised(from_columns(columns[0].len(), columns)),
        _ => Forecast::Numbers(columns[0].iter().map(|value| scale.back(*value)).collect()),
    }
}

/// The same model for each target.
fn each(
    truth: &Truth,
    fit: impl Fn(usize, &Truth) -> Result<Forecast, PanelError>,
) -> Result<Forecast, PanelError> {
    let parts = truth.parts().iter().enumerate().map(|(at, part)| fit(at, part));
    Ok(Forecast::joined(parts.collect::<Result<_, _>>()?))
}

/// Ridge, logistic or softmax regression.
pub(super) fn linear(
    inputs: &Inputs,
    truth: &Truth,
    scale: Scale,
    penalty: f64,
) -> Result<Forecast, PanelError> {
    each(truth, |_, part| {
        if let Truth::Classes { values, names } = part
            && names.len() > 2
        {
            let softmax = Softmax::fit(&inputs.train, values, names.len(), penalty)?;
            return Ok(normalised(softmax.probabilities(&inputs.test)));
        }
        let y = columns(part, scale).swap_remove(0);
        let fitted = if matches!(part, Truth::Classes { .. }) {
            let odds = Linear::logistic(&inputs.train, &y, penalty)?.score(&inputs.test);
            odds.into_iter().map(sigmoid).collect()
        } else {
            Linear::ridge(&inputs.train, &y, penalty).score(&inputs.test)
        };
        Ok(assembled(part, scale, &[fitted]))
    })
}

/// A random forest.
pub(super) fn forest(
    inputs: &Inputs,
    truth: &Truth,
    scale: Scale,
    stream: Stream,
) -> Result<Forecast, PanelError> {
    let settings = |part: &Truth| {
        let columns = inputs.train.ncols();
        let (tried, leaf) = match part {
            Truth::Classes { .. } => (floor((columns as f64).sqrt()), 1),
            _ => (columns.div_ceil(3), 2),
        };
        ForestSettings { trees: TREES, tried: tried.max(1), leaf }
    };
    each(truth, |at, part| {
        let seed = stream.index(at as u64).seed();
        let grow = |y: &Vec<f64>| {
            forest::grow(&inputs.train, y, settings(part), seed)?.predict(&inputs.test)
        };
        let fitted: Result<Vec<_>, _> = columns(part, scale).iter().map(grow).collect();
        Ok(assembled(part, scale, &fitted?))
    })
}

/// The training rows that are nearest to each test row, the nearest first.
#[derive(Debug)]
pub(super) struct Neighbours(Vec<Vec<usize>>);

impl Neighbours {
    /// By Euclidean distance, all columns brought to one spread.
    pub(super) fn of(inputs: &Inputs, count: usize) -> Self {
        let scales: Vec<(f64, f64)> =
            inputs.train.columns().into_iter().map(|column| moments(&column.to_vec())).collect();
        let scaled = |x: &Array2<f64>| -> Vec<Vec<f64>> {
            let scale = |(value, (mean, spread)): (&f64, &(f64, f64))| {
                if *spread > 1e-12 { (value - mean) / spread } else { 0.0 }
            };
            x.rows().into_iter().map(|row| row.iter().zip(&scales).map(scale).collect()).collect()
        };
        let (train, test) = (scaled(&inputs.train), scaled(&inputs.test));
        let nearest = |row: &Vec<f64>| {
            let distance = |other: &Vec<f64>| -> f64 {
                row.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum()
            };
            let mut all: Vec<(f64, usize)> =
                train.iter().enumerate().map(|(at, other)| (distance(other), at)).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            all.into_iter().take(count).map(|(_, at)| at).collect()
        };
        Self(test.iter().map(nearest).collect())
    }

    /// The mean of the `count` nearest.
    pub(super) fn forecast(&self, truth: &Truth, scale: Scale, count: usize) -> Forecast {
        let of = |part: &Truth| {
            let mean = |y: &Vec<f64>| -> Vec<f64> {
                let of = |near: &Vec<usize>| {
                    let near = &near[..count.min(near.len())];
                    near.iter().map(|row| y[*row]).sum::<f64>() / near.len().max(1) as f64
                };
                self.0.iter().map(of).collect()
            };
            let fitted: Vec<Vec<f64>> = columns(part, scale).iter().map(mean).collect();
            assembled(part, scale, &fitted)
        };
        Forecast::joined(truth.parts().iter().map(of).collect())
    }
}

/// The mean of forecasts of one form.
pub(super) fn mean(forecasts: &[&Forecast]) -> Forecast {
    let count = forecasts.len() as f64;
    let average = |parts: Vec<&Vec<f64>>| -> Vec<f64> {
        let of = |at: usize| parts.iter().map(|part| part[at]).sum::<f64>() / count;
        (0..parts[0].len()).map(of).collect()
    };
    let values = |forecast: &&Forecast, at: usize| match &forecast.parts()[at] {
        Forecast::Numbers(values) | Forecast::Classes { values, .. } => values.clone(),
        // No anchor asks for any of these.
        Forecast::Quantiles(_) | Forecast::Several(_) | Forecast::Structured(_) => Vec::new(),
    };
    let part = |at: usize| {
        let parts: Vec<Vec<f64>> = forecasts.iter().map(|forecast| values(forecast, at)).collect();
        let values = average(parts.iter().collect());
        match &forecasts[0].parts()[at] {
            Forecast::Classes { classes, .. } => Forecast::Classes { values, classes: *classes },
            _ => Forecast::Numbers(values),
        }
    };
    Forecast::joined((0..forecasts[0].parts().len()).map(part).collect())
}

/// The share of the spread of a column that the target explains alone, in [0, 1], the mean over
/// the columns of the target: R² of a line, or of the means of a class and the rest.
fn strength(column: &[f64], targets: &[Vec<f64>]) -> f64 {
    let of = |y: &Vec<f64>| {
        let ((mx, sx), (my, sy)) = (moments(column), moments(y));
        let shared = column.iter().zip(y).map(|(a, b)| (a - mx) * (b - my)).sum::<f64>();
        let shared = shared / column.len().max(1) as f64;
        if sx > 1e-12 && sy > 1e-12 { (shared / sx / sy) * (shared / sx / sy) } else { 0.0 }
    };
    targets.iter().map(of).sum::<f64>() / targets.len().max(1) as f64
}

/// Columns by what each explains alone, the strongest first.
fn ranked(inputs: &Inputs, truth: &Truth) -> Vec<usize> {
    let targets: Vec<Vec<f64>> =
        truth.parts().iter().flat_map(|part| columns(part, Scale::Plain)).collect();
    let mut ranked: Vec<(f64, usize)> = (0..inputs.train.ncols())
        .map(|at| (strength(&inputs.train.column(at).to_vec(), &targets), at))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().map(|(_, at)| at).collect()
}

/// The strongest column alone.
pub(super) fn strongest(inputs: &Inputs, truth: &Truth) -> Inputs {
    let best: Vec<usize> = ranked(inputs, truth).into_iter().take(1).collect();
    let take = |x: &Array2<f64>| x.select(ndarray::Axis(1), &best);
    Inputs { train: take(&inputs.train), test: take(&inputs.test) }
}

/// All columns, with squares and products of the strongest.
pub(super) fn crossed(inputs: &Inputs, truth: &Truth) -> Inputs {
    let best: Vec<usize> = ranked(inputs, truth).into_iter().take(CROSSED).collect();
    // Around the mean: products of large values would all say the same.
    let means: Vec<f64> =
        best.iter().map(|at| moments(&inputs.train.column(*at).to_vec()).0).collect();
    let cross = |x: &Array2<f64>| {
        let mut products = Vec::new();
        for (first, at) in best.iter().enumerate() {
            for (second, other) in best.iter().enumerate().skip(first) {
                let pairs = x.column(*at).to_vec().into_iter().zip(x.column(*other).to_vec());
                products.push(
                    pairs
                        .map(|(a, b)| (a - means[first]) * (b - means[second]))
                        .collect::<Vec<f64>>(),
                );
            }
        }
        let products = from_columns(x.nrows(), &products);
        concatenate![ndarray::Axis(1), x.slice(s![.., ..]), products]
    };
    Inputs { train: cross(&inputs.train), test: cross(&inputs.test) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::draws::Draws;

    fn inputs(columns: usize) -> Inputs {
        let mut draws = Draws::new(Stream::root(3));
        let mut table = || Array2::from_shape_fn((120, columns), |_| draws.normal());
        Inputs { train: table(), test: table() }
    }

    fn numbers(x: &Array2<f64>, value: impl Fn(f64, f64) -> f64) -> Truth {
        let values = x.rows().into_iter().map(|row| value(row[0], row[1])).collect();
        Truth::Numbers { values, decimals: 6 }
    }

    fn error(forecast: &Forecast, truth: &Truth) -> f64 {
        let Forecast::Numbers(values) = forecast else { panic!("numbers were asked for") };
        let pairs = values.iter().zip(truth.as_numbers());
        pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / values.len() as f64
    }

    #[test]
    fn products_let_a_linear_model_fit_a_product() {
        let inputs = inputs(4);
        let product = |a: f64, b: f64| 0.3 * a + a * b;
        let (train, test) = (numbers(&inputs.train, product), numbers(&inputs.test, product));
        let plain = linear(&inputs, &train, Scale::Plain, 1.0).unwrap();
        let crossed = linear(&crossed(&inputs, &train), &train, Scale::Plain, 1.0).unwrap();
        assert!(error(&crossed, &test) < 0.05 * error(&plain, &test));
    }

    #[test]
    fn strongest_column_is_the_one_that_the_target_follows() {
        let inputs = inputs(5);
        let truth = numbers(&inputs.train, |a, b| 0.2 * a - 2.0 * b);
        assert_eq!(strongest(&inputs, &truth).train.column(0), inputs.train.column(1));
    }

    #[test]
    fn nearest_row_of_a_copy_is_itself_and_means_are_over_forecasts() {
        let mut inputs = inputs(3);
        inputs.test = inputs.train.clone();
        let values: Vec<usize> = (0..120).map(|row| row % 3).collect();
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let truth = Truth::Classes { values: values.clone(), names };
        let near = Neighbours::of(&inputs, 15);
        let one = near.forecast(&truth, Scale::Plain, 1);
        let Forecast::Classes { values: shares, classes } = &one else { panic!("classes") };
        assert_eq!(crate::data::score::argmax(shares, *classes), values);
        let wide = near.forecast(&truth, Scale::Plain, 15);
        let Forecast::Classes { values: both, .. } = mean(&[&one, &wide]) else {
            panic!("classes")
        };
        let Forecast::Classes { values: wide, .. } = wide else { panic!("classes") };
        assert!((both[4] - f64::midpoint(shares[4], wide[4])).abs() < 1e-15);
    }

    #[test]
    fn scales_return_what_they_were_given() {
        for scale in [Scale::Plain, Scale::Log, Scale::Log1p] {
            for value in [0.5, 3.0, 1e4] {
                assert!((scale.back(scale.forth(value)) - value).abs() < 1e-9 * value);
            }
        }
        assert_eq!(Scale::Log1p.back(Scale::Log1p.forth(0.0)), 0.0);
    }
}
