//! What solvers compute of any picture without knowing what it shows.
//!
//! Everything is summed over bytes, in whole numbers: no order of summation changes a bit, and
//! rows are quick to go through. Only means and what follows from them are fractions.

use super::picture::{Picture, coordinates, rows};
use crate::numeric::draws::floor;
use ndarray::{Array2, ArrayView2, ArrayView3, Axis, azip, s};

/// Cells along an edge of the thumbnail.
const THUMBNAIL: usize = 5;
/// Shares of the sorted pixels at which quantiles are taken.
const QUANTILES: [f64; 6] = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99];
/// Squared slopes, in steps of a byte, above which a pixel counts as an edge: slopes of 0.06 and
/// 0.15 grey values.
const EDGES: [i32; 2] = [234, 1463];
/// Pixels between those whose likeness is measured.
const LAGS: [usize; 3] = [2, 4, 6];
/// Spreads below this count as none.
const TINY: f64 = 1e-9;
/// The byte of white.
const WHITE: f64 = 255.0;

/// The means of a 5 by 5 thumbnail.
pub(crate) fn plain(picture: &Picture) -> Vec<f64> {
    let side = picture.side();
    let span = |cell: usize| {
        let start = |cell: usize| (cell * side).div_ceil(THUMBNAIL);
        start(cell)..start(cell + 1)
    };
    let cells = (0..THUMBNAIL).flat_map(|down| (0..THUMBNAIL).map(move |across| (down, across)));
    cells
        .map(|(down, across)| {
            let cell = picture.bytes.slice(s![span(down), span(across)]);
            let sum = cell.fold(0, |sum, byte| sum + u32::from(*byte));
            f64::from(sum) / (WHITE * cell.len() as f64)
        })
        .collect()
}

/// Histogram moments and quantiles, slopes, curvature, spread at four scales, likeness of
/// neighbours, and where the light is.
pub(crate) fn generic(picture: &Picture) -> Vec<f64> {
    let side = picture.side();
    let histogram = histogram(&picture.bytes);
    let (mean, spread, skew, peak) = shape(&histogram, picture.bytes.len());
    let mut features = vec![mean / WHITE, spread / WHITE, skew, peak];
    features.extend(quantiles(&histogram, picture.bytes.len()).map(|byte| byte / WHITE));

    let pairs = ((side - 1) * (side - 1)) as f64;
    let ([across, down], edges) = slopes(&picture.bytes);
    features.extend([across, down].map(|sum| f64::from(sum) / WHITE / pairs));
    features.extend(edges.map(|count| f64::from(count) / pairs));

    let whole = picture.bytes.mapv(i32::from);
    let halves = halved(&whole);
    let quarters = halved(&halves);
    let eighths = halved(&quarters);
    let curved = Sums::of(&curvature(&whole));
    features.extend([curved.spread() / WHITE, curved.peak()]);
    features.push(Sums::of(&curvature(&halves)).spread() / (4.0 * WHITE));
    for (levels, scale) in [(&halves, 4.0), (&quarters, 16.0), (&eighths, 64.0)] {
        features.push(Sums::of(levels).spread() / (scale * WHITE));
    }

    let down = whole.sum_axis(Axis(1)).to_vec();
    let across = whole.sum_axis(Axis(0)).to_vec();
    let variance = (spread / WHITE * (spread / WHITE)).max(TINY);
    for lag in LAGS {
        let lines = || rows(&picture.bytes);
        let beside = lines().map(|row| dot(&row[lag..], row)).sum();
        let below = lines().skip(lag).zip(lines()).map(|(below, above)| dot(below, above)).sum();
        features.push(likeness(beside, &across, lag) / variance);
        features.push(likeness(below, &down, lag) / variance);
    }
    features.extend([lean(&across), lean(&down)]);
    features
}

/// The mean of each channel, from 0 to 1, of pixels of shape `[down, across, channels]`.
pub(super) fn channel_means(pixels: ArrayView3<'_, u8>) -> Vec<f64> {
    let mean = |channel: ArrayView2<'_, u8>| {
        let sum: u32 = channel.iter().map(|byte| u32::from(*byte)).sum();
        f64::from(sum) / (WHITE * channel.len() as f64)
    };
    pixels.axis_iter(Axis(2)).map(mean).collect()
}

/// Mean and spread of red less green and of blue less green, in shares of white, of pixels of
/// shape `[down, across, 3]`.
pub(super) fn tints(pixels: ArrayView3<'_, u8>) -> Vec<f64> {
    let channel = |channel: usize| pixels.index_axis(Axis(2), channel).mapv(i32::from);
    let green = channel(1);
    let tint = |other: usize| {
        let sums = Sums::of(&(channel(other) - &green));
        [sums.mean() / WHITE, sums.spread() / WHITE]
    };
    [0, 2].map(tint).concat()
}

/// The sum of the products of two runs of bytes.
fn dot(left: &[u8], right: &[u8]) -> u64 {
    let products = left.iter().zip(right).map(|(a, b)| u32::from(*a) * u32::from(*b));
    u64::from(products.sum::<u32>())
}

/// How often each byte stands in a picture.
fn histogram(bytes: &Array2<u8>) -> [u32; 256] {
    // Two tables, because equal bytes in a row would wait for each other.
    let mut tables = [[0; 256]; 2];
    for row in rows(bytes) {
        for pair in row.chunks(2) {
            for (table, byte) in tables.iter_mut().zip(pair) {
                table[usize::from(*byte)] += 1;
            }
        }
    }
    let [mut histogram, second] = tables;
    histogram.iter_mut().zip(second).for_each(|(count, more)| *count += more);
    histogram
}

/// Mean, standard deviation (ddof 0), skewness and excess kurtosis, in steps of a byte.
fn shape(histogram: &[u32; 256], count: usize) -> (f64, f64, f64, f64) {
    let n = count as f64;
    let levels = || histogram.iter().enumerate().map(|(byte, count)| (byte as f64, *count));
    let mean = levels().map(|(byte, count)| byte * f64::from(count)).sum::<f64>() / n;
    let mut sums = [0.0; 3];
    for (byte, count) in levels().filter(|(_, count)| *count > 0) {
        let (d, count) = (byte - mean, f64::from(count));
        let square = d * d;
        sums[0] += count * square;
        sums[1] += count * square * d;
        sums[2] += count * square * square;
    }
    let [second, third, fourth] = sums.map(|sum| sum / n);
    let spread = second.sqrt();
    if spread < TINY {
        return (mean, 0.0, 0.0, 0.0);
    }
    (mean, spread, third / (second * spread), fourth / (second * second) - 3.0)
}

/// The bytes below which the shares of [`QUANTILES`] lie.
fn quantiles(histogram: &[u32; 256], count: usize) -> [f64; QUANTILES.len()] {
    QUANTILES.map(|share| {
        let place = floor(share * (count - 1) as f64);
        let mut below = 0;
        let reached = histogram.iter().position(|count| {
            below += *count as usize;
            below > place
        });
        reached.unwrap_or(255) as f64
    })
}

/// Sums of the sizes of the slopes across and down, and the number of [`EDGES`].
fn slopes(bytes: &Array2<u8>) -> ([u32; 2], [u32; 2]) {
    let (mut sizes, mut edges) = ([0; 2], [0; 2]);
    for (row, below) in rows(bytes).zip(rows(bytes).skip(1)) {
        for ((here, right), under) in row.iter().zip(&row[1..]).zip(below) {
            let across = i32::from(*right) - i32::from(*here);
            let down = i32::from(*under) - i32::from(*here);
            sizes[0] += across.unsigned_abs();
            sizes[1] += down.unsigned_abs();
            let steepness = across * across + down * down;
            edges[0] += u32::from(steepness > EDGES[0]);
            edges[1] += u32::from(steepness > EDGES[1]);
        }
    }
    (sizes, edges)
}

/// Half the side, each value the sum of four; an odd last row and column are dropped.
fn halved(levels: &Array2<i32>) -> Array2<i32> {
    let half = levels.nrows() / 2;
    let mut sums = Vec::with_capacity(half * half);
    for lines in rows(levels).collect::<Vec<_>>().chunks_exact(2) {
        let (upper, lower) = (lines[0].as_chunks::<2>().0, lines[1].as_chunks::<2>().0);
        sums.extend(upper.iter().zip(lower).map(|([a, b], [c, d])| a + b + c + d));
    }
    Array2::from_shape_vec((half, half), sums).expect("a sum for each two by two")
}

/// Laplace's operator on inner pixels.
fn curvature(levels: &Array2<i32>) -> Array2<i32> {
    let inner = levels.nrows() - 2;
    let moved = |y: usize, x: usize| levels.slice(s![y..y + inner, x..x + inner]);
    let mut curved = moved(1, 1).mapv(|here| -4 * here);
    azip!((sum in &mut curved, left in moved(1, 0), right in moved(1, 2), above in moved(0, 1),
           below in moved(2, 1)) *sum += left + right + above + below);
    curved
}

/// How many whole numbers there were, and the sums of their powers from the first to the fourth.
struct Sums {
    count: i128,
    powers: [i64; 3],
    /// Of large pictures it is more than 64 bits hold.
    fourth: i128,
}

impl Sums {
    fn of(values: &Array2<i32>) -> Self {
        let (mut powers, mut fourth) = ([0; 3], 0);
        for value in values {
            let value = i64::from(*value);
            let square = value * value;
            powers[0] += value;
            powers[1] += square;
            powers[2] += square * value;
            fourth += i128::from(square * square);
        }
        Self { count: values.len() as i128, powers, fourth }
    }

    fn mean(&self) -> f64 {
        self.powers[0] as f64 / self.count as f64
    }

    /// The variance (ddof 0).
    fn variance(&self) -> f64 {
        let n = self.count as f64;
        let [first, second, _] = self.powers.map(i128::from);
        (self.count * second - first * first) as f64 / (n * n)
    }

    /// The standard deviation of the values, in their unit.
    fn spread(&self) -> f64 {
        self.variance().sqrt()
    }

    /// The excess kurtosis, or 0 without a spread.
    fn peak(&self) -> f64 {
        let count = self.count as f64;
        let [first, second, third] = self.powers.map(|sum| sum as f64 / count);
        let fourth = self.fourth as f64 / count;
        let variance = self.variance();
        if variance < TINY {
            return 0.0;
        }
        let central = fourth - first * (4.0 * third - first * (6.0 * second - 3.0 * first * first));
        central / (variance * variance) - 3.0
    }
}

/// Covariance of pixels that are `lag` lines apart, from the sum of their products and the sums
/// of the lines.
fn likeness(products: u64, lines: &[i32], lag: usize) -> f64 {
    let count = (lines.len() * lines.len()) as i128;
    let sum = |lines: &[i32]| lines.iter().map(|line| i128::from(*line)).sum::<i128>();
    let whole = sum(lines);
    let ends = sum(&lines[lag..]) + sum(&lines[..lines.len() - lag]);
    let pairs = ((lines.len() - lag) * lines.len()) as i128;
    // Σ (a - m)(b - m) = Σ ab - m Σ (a + b) + n m², times the square of the number of pixels.
    let scaled =
        count * count * i128::from(products) - count * whole * ends + pairs * whole * whole;
    scaled as f64 / (count * count * pairs) as f64 / (WHITE * WHITE)
}

/// How much brighter one end is than the other, from the sums of lines.
fn lean(lines: &[i32]) -> f64 {
    let sums = lines.iter().zip(coordinates(lines.len()));
    let n = (lines.len() * lines.len()) as f64;
    sums.map(|(sum, u)| f64::from(*sum) * u).sum::<f64>() / (WHITE * n)
}
