//! What solvers compute of any picture without knowing what it shows.

use super::grid::{Grid, coordinate};
use crate::draws::floor;

/// Cells along an edge of the thumbnail.
const THUMBNAIL: usize = 5;
/// Shares of the sorted pixels at which quantiles are taken.
const QUANTILES: [f64; 6] = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99];
/// Slopes above which a pixel counts as an edge.
const EDGES: [f64; 2] = [0.06, 0.15];
/// Pixels between those whose likeness is measured.
const LAGS: [usize; 3] = [2, 4, 6];
/// Spreads below this count as none.
const TINY: f64 = 1e-9;

/// The means of a 5 by 5 thumbnail.
pub(super) fn plain(grid: &Grid) -> Vec<f64> {
    let mut sums = [0.0; THUMBNAIL * THUMBNAIL];
    let mut counts = [0.0; THUMBNAIL * THUMBNAIL];
    let cell = |position: usize| position * THUMBNAIL / grid.side;
    for y in 0..grid.side {
        for x in 0..grid.side {
            let place = cell(y) * THUMBNAIL + cell(x);
            sums[place] += grid.at(x, y);
            counts[place] += 1.0;
        }
    }
    sums.iter().zip(&counts).map(|(sum, count)| sum / count).collect()
}

/// Histogram moments and quantiles, slopes, curvature, spread at four scales, likeness of
/// neighbours, and where the light is.
pub(super) fn generic(grid: &Grid) -> Vec<f64> {
    let side = grid.side;
    let (mean, spread, skew, peak) = shape(&grid.values);
    let mut features = vec![mean, spread, skew, peak];

    let mut sorted = grid.values.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = (sorted.len() - 1) as f64;
    features.extend(QUANTILES.map(|share| sorted[floor(share * last)]));

    let mut slopes = (0.0, 0.0);
    let mut edges = EDGES.map(|_| 0.0);
    for y in 0..side - 1 {
        for x in 0..side - 1 {
            let here = grid.at(x, y);
            let (across, down) = (grid.at(x + 1, y) - here, grid.at(x, y + 1) - here);
            slopes = (slopes.0 + across.abs(), slopes.1 + down.abs());
            let steepness = across * across + down * down;
            for (count, edge) in edges.iter_mut().zip(EDGES) {
                *count += f64::from(u8::from(steepness > edge * edge));
            }
        }
    }
    let pairs = ((side - 1) * (side - 1)) as f64;
    features.extend([slopes.0 / pairs, slopes.1 / pairs]);
    features.extend(edges.map(|count| count / pairs));

    let halves = grid.halved();
    let (_, roughness, _, spikes) = shape(&curvature(grid));
    features.extend([roughness, spikes, shape(&curvature(&halves)).1]);
    let quarters = halves.halved();
    let eighths = quarters.halved();
    features.extend([&halves, &quarters, &eighths].map(|grid| shape(&grid.values).1));

    for lag in LAGS {
        features.extend(likeness(grid, lag, mean, spread));
    }
    features.extend(lean(grid));
    features
}

/// Mean, standard deviation (ddof 0), skewness and excess kurtosis.
fn shape(values: &[f64]) -> (f64, f64, f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let mut sums = [0.0; 3];
    for value in values {
        let d = value - mean;
        let square = d * d;
        sums = [sums[0] + square, sums[1] + square * d, sums[2] + square * square];
    }
    let [second, third, fourth] = sums.map(|sum| sum / n);
    let spread = second.sqrt();
    if spread < TINY {
        return (mean, 0.0, 0.0, 0.0);
    }
    (mean, spread, third / (second * spread), fourth / (second * second) - 3.0)
}

/// Laplace's operator on inner pixels.
fn curvature(grid: &Grid) -> Vec<f64> {
    let inner = 1..grid.side - 1;
    inner
        .clone()
        .flat_map(|y| inner.clone().map(move |x| (x, y)))
        .map(|(x, y)| {
            let sides =
                grid.at(x - 1, y) + grid.at(x + 1, y) + grid.at(x, y - 1) + grid.at(x, y + 1);
            sides - 4.0 * grid.at(x, y)
        })
        .collect()
}

/// Correlation of pixels `lag` apart, across and down.
fn likeness(grid: &Grid, lag: usize, mean: f64, spread: f64) -> [f64; 2] {
    let side = grid.side;
    let (mut across, mut down) = (0.0, 0.0);
    for y in 0..side {
        for x in 0..side - lag {
            across += (grid.at(x, y) - mean) * (grid.at(x + lag, y) - mean);
            down += (grid.at(y, x) - mean) * (grid.at(y, x + lag) - mean);
        }
    }
    let scale = (side * (side - lag)) as f64 * (spread * spread).max(TINY);
    [across / scale, down / scale]
}

/// How much brighter the right is than the left, and the bottom than the top.
fn lean(grid: &Grid) -> [f64; 2] {
    let side = grid.side;
    let (mut across, mut down) = (0.0, 0.0);
    for y in 0..side {
        for x in 0..side {
            across += grid.at(x, y) * coordinate(x, side);
            down += grid.at(x, y) * coordinate(y, side);
        }
    }
    let n = (side * side) as f64;
    [across / n, down / n]
}
