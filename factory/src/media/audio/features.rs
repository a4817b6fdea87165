//! What solvers compute who have not listened.

use super::spectrogram::{BINS, CIRCLE, FRAME, Spectrogram};
use super::{TINY, decibels, mean};
use crate::rule::moments;

/// Segments of the plain features.
const SEGMENTS: usize = 8;
/// Edges of the frequency bands, in bins of the spectrogram: 31 Hz to 4 kHz.
const EDGES: [usize; 11] = [2, 5, 9, 14, 21, 32, 48, 74, 112, 168, BINS];
/// Lags of the autocorrelation in samples: pitches from 167 to 500 Hz.
const LAGS: std::ops::RangeInclusive<usize> = 16..=48;
/// The share of the power below the rolloff.
const ROLLOFF: f64 = 0.85;

/// Levels and zero crossings of the whole and of eight segments, the peak, and the mean sizes
/// of samples and of their differences.
pub(super) fn plain(samples: &[f64]) -> Vec<f64> {
    let segments = samples.chunks_exact(samples.len() / SEGMENTS);
    let crossings: Vec<f64> = segments
        .clone()
        .map(|segment| mean(segment.windows(2).map(|w| share((w[0] < 0.0) != (w[1] < 0.0)))))
        .collect();
    let mut features = vec![decibels(power(samples))];
    features.extend(segments.map(|segment| decibels(power(segment))));
    features.push(mean(crossings.iter().copied()));
    features.extend(crossings);
    features.push(peak(samples));
    features.push(mean(samples.windows(2).map(|pair| (pair[1] - pair[0]).abs())));
    features.push(mean(samples.iter().map(|sample| sample.abs())));
    features
}

/// Profile of the spectrum, its unrest over time, centre, rolloff and flatness, the level's
/// course, and the strongest lag.
pub(super) fn generic(samples: &[f64], spectrogram: &Spectrogram) -> Vec<f64> {
    let bands = bands(spectrogram);
    let mut features = Vec::with_capacity(32);

    // Levels of the bands against each other, and how restless every other one is.
    let averages: Vec<f64> = bands.iter().map(|band| mean(band.iter().copied())).collect();
    let center = mean(averages.iter().copied());
    features.extend(averages.iter().map(|average| average - center));
    features.extend(bands.iter().skip(1).step_by(2).map(|band| moments(band).1));

    // Course over thirds of the recording.
    let frames = spectrogram.frames().len();
    let thirds: Vec<Vec<f64>> = (0..3)
        .map(|third| spectrum(spectrogram, third * frames / 3, (third + 1) * frames / 3))
        .collect();
    let totals: Vec<f64> = thirds.iter().map(|third| third.iter().sum::<f64>() + TINY).collect();
    for (third, total) in thirds.iter().zip(&totals) {
        features.push(third.iter().enumerate().map(|(bin, p)| bin as f64 * p).sum::<f64>() / total);
    }
    features.extend(totals[1..].iter().map(|total| decibels(*total) - decibels(totals[0])));

    // The spectrum as a whole.
    let whole: Vec<f64> =
        spectrum(spectrogram, 0, frames).iter().map(|p| p / frames as f64 + TINY).collect();
    let total: f64 = whole.iter().sum();
    features.push(rolloff(&whole, total));
    features.extend(strongest_lag(&whole, total));
    let flatness = mean(whole.iter().map(|p| libm::log(*p))) - libm::log(total / BINS as f64);
    features.push(flatness);
    let steps = |band: &Vec<f64>| mean(band.windows(2).map(|pair| (pair[1] - pair[0]).abs()));
    features.push(mean(bands.iter().map(steps)));
    features.push(decibels(power(samples)));
    features.push(decibels(peak(samples) * peak(samples)));
    features
}

/// The level of every band (outer) in every frame (inner).
fn bands(spectrogram: &Spectrogram) -> Vec<Vec<f64>> {
    let level = |edges: &[usize]| -> Vec<f64> {
        spectrogram.frames().map(|f| decibels(f[edges[0]..edges[1]].iter().sum())).collect()
    };
    EDGES.windows(2).map(level).collect()
}

/// The sum of the spectra of some frames.
fn spectrum(spectrogram: &Spectrogram, start: usize, end: usize) -> Vec<f64> {
    let mut sums = vec![0.0; BINS];
    for frame in spectrogram.frames().skip(start).take(end - start) {
        sums.iter_mut().zip(frame).for_each(|(sum, power)| *sum += power);
    }
    sums
}

/// The number of bins that lie below the rolloff.
fn rolloff(spectrum: &[f64], total: f64) -> f64 {
    let mut sum = 0.0;
    let reached = spectrum.iter().position(|power| {
        sum += power;
        sum >= ROLLOFF * total
    });
    reached.unwrap_or(BINS) as f64
}

/// The lag at which the recording is most like itself, and how much it is.
fn strongest_lag(spectrum: &[f64], total: f64) -> [f64; 2] {
    let mut best = [0.0, f64::NEG_INFINITY];
    for lag in LAGS {
        let powers = spectrum.iter().enumerate();
        let sum: f64 = powers.map(|(bin, power)| CIRCLE[lag * bin % FRAME].re * power).sum();
        if sum / total > best[1] {
            best = [lag as f64, sum / total];
        }
    }
    best
}

fn power(samples: &[f64]) -> f64 {
    mean(samples.iter().map(|sample| sample * sample))
}

fn peak(samples: &[f64]) -> f64 {
    samples.iter().fold(0.0, |peak, sample| peak.max(sample.abs()))
}

fn share(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}
