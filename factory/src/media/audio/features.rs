//! What solvers compute who have not listened.

use super::level::{TINY, decibels, mean};
use super::spectrogram::{BINS, FRAME};
use super::wav::SCALE;
use crate::numeric::moments::moments;
use ndarray::{Array1, Array2, Axis, s};
use std::f64::consts::TAU;
use std::sync::LazyLock;

/// Segments of the plain features.
const SEGMENTS: usize = 8;
/// Edges of the frequency bands, in bins of the spectrogram: 31 Hz to 4 kHz.
const EDGES: [usize; 11] = [2, 5, 9, 14, 21, 32, 48, 74, 112, 168, BINS];
/// Lags of the autocorrelation in samples: pitches from 167 to 500 Hz.
const LAGS: std::ops::RangeInclusive<usize> = 16..=48;
/// The share of the power below the rolloff.
const ROLLOFF: f64 = 0.85;

/// Levels and zero crossings of the whole and of eight segments, the peak, and the mean sizes
/// of samples and of their differences. Steps are whole numbers, so their sums are exact.
pub(super) fn plain(steps: &[i16]) -> Vec<f64> {
    let segments = steps.chunks_exact(steps.len() / SEGMENTS);
    let crossings: Vec<f64> = segments
        .clone()
        .map(|segment| {
            let pairs = segment.iter().zip(&segment[1..]);
            let crossed: u32 = pairs.map(|(a, b)| u32::from((a ^ b) < 0)).sum();
            f64::from(crossed) / (segment.len() - 1) as f64
        })
        .collect();
    let mut features = vec![decibels(power(steps))];
    features.extend(segments.map(|segment| decibels(power(segment))));
    features.push(mean(crossings.iter().copied()));
    features.extend(crossings);
    features.push(peak(steps));
    let pairs = steps.iter().zip(&steps[1..]);
    let turns: u32 = pairs.map(|(a, b)| (i32::from(*b) - i32::from(*a)).unsigned_abs()).sum();
    features.push(f64::from(turns) / SCALE / (steps.len() - 1) as f64);
    let sizes: u32 = steps.iter().map(|step| u32::from(step.unsigned_abs())).sum();
    features.push(f64::from(sizes) / SCALE / steps.len() as f64);
    features
}

/// Profile of the spectrum, its unrest over time, centre, rolloff and flatness, the level's
/// course, and the strongest lag; from a spectrogram of shape `[frames, BINS]`.
pub(super) fn generic(steps: &[i16], spectrogram: &Array2<f64>) -> Vec<f64> {
    let bands = bands(spectrogram);
    let mut features = Vec::with_capacity(32);

    // Levels of the bands against each other, and how restless every other one is.
    let averages: Vec<f64> = bands.iter().map(|band| mean(band.iter().copied())).collect();
    let center = mean(averages.iter().copied());
    features.extend(averages.iter().map(|average| average - center));
    features.extend(bands.iter().skip(1).step_by(2).map(|band| moments(band).1));

    // Course over thirds of the recording.
    let frames = spectrogram.nrows();
    let spectrum =
        |start: usize, end: usize| spectrogram.slice(s![start..end, ..]).sum_axis(Axis(0));
    let thirds = [0, 1, 2].map(|third| spectrum(third * frames / 3, (third + 1) * frames / 3));
    let totals = thirds.each_ref().map(|third| third.sum() + TINY);
    for (third, total) in thirds.iter().zip(&totals) {
        features.push(third.iter().enumerate().map(|(bin, p)| bin as f64 * p).sum::<f64>() / total);
    }
    features.extend(totals[1..].iter().map(|total| decibels(*total) - decibels(totals[0])));

    // The spectrum as a whole.
    let whole = spectrum(0, frames) / frames as f64 + TINY;
    let total = whole.sum();
    features.push(rolloff(&whole, total));
    features.extend(strongest_lag(&whole, total));
    let flatness = mean(whole.iter().map(|p| libm::log(*p))) - libm::log(total / BINS as f64);
    features.push(flatness);
    let unrest = |band: &Vec<f64>| mean(band.windows(2).map(|pair| (pair[1] - pair[0]).abs()));
    features.push(mean(bands.iter().map(unrest)));
    features.push(decibels(power(steps)));
    features.push(decibels(peak(steps) * peak(steps)));
    features
}

/// The level of every band (outer) in every frame (inner).
fn bands(spectrogram: &Array2<f64>) -> Vec<Vec<f64>> {
    let level = |edges: &[usize]| -> Vec<f64> {
        let band = spectrogram.slice(s![.., edges[0]..edges[1]]);
        band.sum_axis(Axis(1)).into_iter().map(decibels).collect()
    };
    EDGES.windows(2).map(level).collect()
}

/// The number of bins that lie below the rolloff.
fn rolloff(spectrum: &Array1<f64>, total: f64) -> f64 {
    let mut sum = 0.0;
    let reached = spectrum.iter().position(|power| {
        sum += power;
        sum >= ROLLOFF * total
    });
    reached.unwrap_or(BINS) as f64
}

/// Cosines of every lag at every frequency: `[lags, BINS]`.
static COSINES: LazyLock<Array2<f64>> = LazyLock::new(|| {
    Array2::from_shape_fn((LAGS.count(), BINS), |(row, bin)| {
        libm::cos(TAU * ((LAGS.start() + row) * bin % FRAME) as f64 / FRAME as f64)
    })
});

/// The lag at which the recording is most like itself, and how much it is.
fn strongest_lag(spectrum: &Array1<f64>, total: f64) -> [f64; 2] {
    let mut best = [0.0, f64::NEG_INFINITY];
    for (lag, cosines) in LAGS.zip(COSINES.rows()) {
        // A product of two vectors has one order of summation; one with a matrix might not.
        let likeness = cosines.dot(spectrum) / total;
        if likeness > best[1] {
            best = [lag as f64, likeness];
        }
    }
    best
}

fn power(steps: &[i16]) -> f64 {
    let squares = steps.iter().map(|step| i64::from(i32::from(*step) * i32::from(*step)));
    squares.sum::<i64>() as f64 / (SCALE * SCALE) / steps.len() as f64
}

fn peak(steps: &[i16]) -> f64 {
    f64::from(steps.iter().map(|step| step.unsigned_abs()).max().unwrap_or(0)) / SCALE
}
