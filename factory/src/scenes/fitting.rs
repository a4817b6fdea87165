//! Models over the pixels of pictures, and choosing between settings by the task's metric.

use crate::numeric::matrix::Matrix;
use ndarray::Array2;
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

/// The values of some pixels in every map, with their squares and products.
pub(super) fn expanded(
    maps: &[Array2<f64>],
    pixels: impl Iterator<Item = (usize, usize)>,
    into: &mut Matrix,
) {
    for pixel in pixels {
        for (index, map) in maps.iter().enumerate() {
            let value = map[pixel];
            into.values.push(value);
            for other in &maps[index..] {
                into.values.push(value * other[pixel]);
            }
        }
    }
    into.columns = maps.len() + maps.len() * (maps.len() + 1) / 2;
}
