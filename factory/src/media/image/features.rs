//! What solvers compute of any picture without knowing what it shows.
//!
//! Everything is summed over bytes, in whole numbers: no order of summation changes a bit, and
//! rows are quick to go through. Only means and what follows from them are fractions.

use super::grid::{Picture, coordinates};
use crate::numeric::draws::floor;

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
    let side = picture.grey.side;
    let start = |cell: usize| (cell * side).div_ceil(THUMBNAIL);
    let mut means = Vec::with_capacity(THUMBNAIL * THUMBNAIL);
    for down in 0..THUMBNAIL {
        let rows = &picture.bytes[start(down) * side..start(down + 1) * side];
        for across in 0..THUMBNAIL {
            let columns = start(across)..start(across + 1);
            let sum: u32 = rows.chunks_exact(side).map(|row| sum(&row[columns.clone()])).sum();
            let count = columns.len() * (rows.len() / side);
            means.push(f64::from(sum) / (WHITE * count as f64));
        }
    }
    means
}

/// Histogram moments and quantiles, slopes, curvature, spread at four scales, likeness of
/// neighbours, and where the light is.
pub(crate) fn generic(picture: &Picture) -> Vec<f64> {
    let side = picture.grey.side;
    let histogram = histogram(&picture.bytes);
    let (mean, spread, skew, peak) = shape(&histogram, picture.bytes.len());
    let mut features = vec![mean / WHITE, spread / WHITE, skew, peak];
    features.extend(quantiles(&histogram, picture.bytes.len()).map(|byte| byte / WHITE));

    let pairs = ((side - 1) * (side - 1)) as f64;
    let ([across, down], edges) = slopes(&picture.bytes, side);
    features.extend([across, down].map(|sum| f64::from(sum) / WHITE / pairs));
    features.extend(edges.map(|count| f64::from(count) / pairs));

    let whole = Levels::of(picture);
    let halves = whole.halved();
    let quarters = halves.halved();
    let eighths = quarters.halved();
    let curved = Sums::of(&whole.curvature());
    features.extend([curved.spread() / WHITE, curved.peak()]);
    features.push(Sums::of(&halves.curvature()).spread() / (4.0 * WHITE));
    for (levels, scale) in [(&halves, 4.0), (&quarters, 16.0), (&eighths, 64.0)] {
        features.push(Sums::of(&levels.values).spread() / (scale * WHITE));
    }

    let rows: Vec<u32> = picture.bytes.chunks_exact(side).map(sum).collect();
    let mut columns = vec![0; side];
    for row in picture.bytes.chunks_exact(side) {
        columns.iter_mut().zip(row).for_each(|(sum, byte)| *sum += u32::from(*byte));
    }
    let variance = (spread / WHITE * (spread / WHITE)).max(TINY);
    for lag in LAGS {
        let across = picture.bytes.chunks_exact(side).map(|row| dot(&row[lag..], row)).sum();
        let down = dot_rows(&picture.bytes, lag * side, side);
        features.push(likeness(across, &columns, lag) / variance);
        features.push(likeness(down, &rows, lag) / variance);
    }
    features.extend([lean(&columns), lean(&rows)]);
    features
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| u32::from(*byte)).sum()
}

/// The sum of the products of two runs of bytes.
fn dot(left: &[u8], right: &[u8]) -> u64 {
    let products = left.iter().zip(right).map(|(a, b)| u32::from(*a) * u32::from(*b));
    u64::from(products.sum::<u32>())
}

/// The sum of the products of rows that are `offset` apart.
fn dot_rows(bytes: &[u8], offset: usize, side: usize) -> u64 {
    let later = bytes[offset..].chunks_exact(side);
    later.zip(bytes.chunks_exact(side)).map(|(below, above)| dot(below, above)).sum()
}

/// How often each byte stands in a picture.
fn histogram(bytes: &[u8]) -> [u32; 256] {
    // Two tables, because equal bytes in a row would wait for each other.
    let mut tables = [[0; 256]; 2];
    let (pairs, rest) = bytes.as_chunks::<2>();
    for [first, second] in pairs {
        tables[0][usize::from(*first)] += 1;
        tables[1][usize::from(*second)] += 1;
    }
    for byte in rest {
        tables[0][usize::from(*byte)] += 1;
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
fn slopes(bytes: &[u8], side: usize) -> ([u32; 2], [u32; 2]) {
    let (mut sizes, mut edges) = ([0; 2], [0; 2]);
    for (row, below) in bytes.chunks_exact(side).zip(bytes[side..].chunks_exact(side)) {
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

/// A square of whole numbers, row by row: bytes, or sums of bytes.
struct Levels {
    side: usize,
    values: Vec<i32>,
}

impl Levels {
    fn of(picture: &Picture) -> Self {
        let values = picture.bytes.iter().map(|byte| i32::from(*byte)).collect();
        Self { side: picture.grey.side, values }
    }

    /// Half the side, each value the sum of four; an odd last row and column are dropped.
    fn halved(&self) -> Self {
        let side = self.side / 2;
        let mut values = Vec::with_capacity(side * side);
        for rows in self.values.chunks_exact(2 * self.side) {
            let (upper, lower) = rows.split_at(self.side);
            let pairs = upper.as_chunks::<2>().0.iter().zip(lower.as_chunks::<2>().0);
            values.extend(pairs.map(|([a, b], [c, d])| a + b + c + d));
        }
        Self { side, values }
    }

    /// Laplace's operator on inner pixels.
    fn curvature(&self) -> Vec<i32> {
        let side = self.side;
        let inner = side - 2;
        let mut values = Vec::with_capacity(inner * inner);
        for y in 1..=inner {
            let row = &self.values[y * side..(y + 1) * side];
            let above = &self.values[(y - 1) * side + 1..y * side];
            let below = &self.values[(y + 1) * side + 1..(y + 2) * side];
            let (left, here, right) = (&row[..inner], &row[1..], &row[2..]);
            values
                .extend((0..inner).map(|x| left[x] + right[x] + above[x] + below[x] - 4 * here[x]));
        }
        values
    }
}

/// How many whole numbers there were, and the sums of their powers from the first to the fourth.
struct Sums {
    count: i128,
    powers: [i64; 4],
}

impl Sums {
    fn of(values: &[i32]) -> Self {
        let mut powers = [0; 4];
        for value in values {
            let value = i64::from(*value);
            let square = value * value;
            powers[0] += value;
            powers[1] += square;
            powers[2] += square * value;
            powers[3] += square * square;
        }
        Self { count: values.len() as i128, powers }
    }

    /// The variance (ddof 0).
    fn variance(&self) -> f64 {
        let n = self.count as f64;
        let [first, second, ..] = self.powers.map(i128::from);
        (self.count * second - first * first) as f64 / (n * n)
    }

    /// The standard deviation of the values, in their unit.
    fn spread(&self) -> f64 {
        self.variance().sqrt()
    }

    /// The excess kurtosis, or 0 without a spread.
    fn peak(&self) -> f64 {
        let [first, second, third, fourth] = self.powers.map(|sum| sum as f64 / self.count as f64);
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
fn likeness(products: u64, lines: &[u32], lag: usize) -> f64 {
    let count = (lines.len() * lines.len()) as i128;
    let sum = |lines: &[u32]| lines.iter().map(|line| i128::from(*line)).sum::<i128>();
    let whole = sum(lines);
    let ends = sum(&lines[lag..]) + sum(&lines[..lines.len() - lag]);
    let pairs = ((lines.len() - lag) * lines.len()) as i128;
    // Σ (a - m)(b - m) = Σ ab - m Σ (a + b) + n m², times the square of the number of pixels.
    let scaled =
        count * count * i128::from(products) - count * whole * ends + pairs * whole * whole;
    scaled as f64 / (count * count * pairs) as f64 / (WHITE * WHITE)
}

/// How much brighter one end is than the other, from the sums of lines.
fn lean(lines: &[u32]) -> f64 {
    let sums = lines.iter().zip(coordinates(lines.len()));
    let n = (lines.len() * lines.len()) as f64;
    sums.map(|(sum, u)| f64::from(*sum) * u).sum::<f64>() / (WHITE * n)
}
