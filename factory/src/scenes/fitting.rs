//! Models over the pixels of pictures, and choosing between settings by the task's metric.

use ndarray::{Array2, ArrayViewMut1};
use tasks::metrics::Metric;
use tasks::values::{self, Values};

/// The candidate whose forecast of the truth scores best; the first of equals.
pub(super) fn best<T>(
    metric: Metric,
    truth: &Values,
    candidates: impl IntoIterator<Item = (T, Values)>,
) -> Option<T> {
    let mut chosen: Option<(f64, T)> = None;
    for (candidate, forecast) in candidates {
        let Ok(score) = values::score(metric, truth, &forecast) else { continue };
        let gain = metric.direction().gain(score);
        if chosen.as_ref().is_none_or(|(best, _)| gain > *best) {
            chosen = Some((gain, candidate));
        }
    }
    chosen.map(|(_, candidate)| candidate)
}

/// Row and column of every pixel of a square, row by row.
pub(super) fn all_pixels(side: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..side).flat_map(move |y| (0..side).map(move |x| (y, x)))
}

/// Number of values that [`expand`] gives for so many maps.
pub(super) fn terms(maps: usize) -> usize {
    maps + maps * (maps + 1) / 2
}

/// The values of a pixel in every map, with their squares and products, as one row.
pub(super) fn expand(maps: &[Array2<f64>], pixel: (usize, usize), mut row: ArrayViewMut1<f64>) {
    let values = maps.iter().enumerate().flat_map(|(index, map)| {
        let value = map[pixel];
        let products = maps[index..].iter().map(move |other| value * other[pixel]);
        std::iter::once(value).chain(products)
    });
    row.iter_mut().zip(values).for_each(|(into, value)| *into = value);
}
