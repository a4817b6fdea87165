//! What someone notes who listens: the background between the calls, and the calls one by one.

use super::RATE;
use super::calls::{Calls, ranked};
use super::place::BANDS;
use crate::media::audio::level::{TINY, decibels, mean};
use crate::media::audio::oscillator::polar;
use crate::media::audio::spectrogram::powers;
use crate::numeric::draws::floor;
use crate::numeric::fourier::hann;
use ndarray::{Array2, s};
use std::f64::consts::{LN_2, TAU};
use std::ops::RangeInclusive;

/// Samples per frame, 16 ms; frames overlap by half.
pub(super) const FRAME: usize = 256;
/// Frequencies per frame.
pub(super) const BINS: usize = FRAME / 2 + 1;
/// The first bin that is listened to: below are hum and rumble.
pub(super) const LOWEST: usize = 4;
/// The bin below which the swelling of the background is measured: white noise of a microphone,
/// which does not swell, is above.
const SWELLING: usize = 40;
/// How often a background may swell in a soundscape.
const SWELLS: RangeInclusive<usize> = 2..=4;
/// Frames before a call's first and after its last note that are not the background's.
const AROUND: (usize, usize) = (10, 20);
/// The fewest frames of which a background is measured.
const FEWEST: usize = 20;
/// Frames either side of a note's loudest one that belong to it.
const REACH: usize = 2;
/// How many times the background's power is taken off that of a note.
const TAKEN: f64 = 1.5;
/// The bins around a note's strongest one that its pitch is the mean of, as shares of it.
const AROUND_PITCH: (f64, f64) = (0.7, 1.4);
/// The fewest notes of which calls are measured.
const FEWEST_NOTES: usize = 3;
/// What stands for the estimates where there are fewer notes.
const NOTHING: [f64; 10] = [-51.0, -25.0, 0.0, -11.0, 2.5, 0.0, 0.0, 0.0, 0.0, 0.0];

/// Mean squares of the samples by frequency, of shape `[frames, BINS]`: those of a frame sum to its
/// mean square under the window.
pub(super) fn spectrogram(samples: &[f64]) -> Array2<f64> {
    let window = hann(FRAME);
    let squares: f64 = window.iter().map(|w| w * w).sum();
    let scale = 2.0 / (squares * FRAME as f64);
    let mut powers = powers(samples, &window);
    powers.map_inplace(|power| *power *= scale);
    powers
}

/// Estimates of the statistics, in the medium's order.
pub(super) fn estimates(spectrogram: &Array2<f64>) -> Vec<f64> {
    let found = Calls::found(spectrogram);
    if found.notes.len() < FEWEST_NOTES {
        return NOTHING.to_vec();
    }
    let background = Rest::between(&found, spectrogram);
    let notes: Vec<Heard> =
        found.notes.iter().map(|frame| Heard::at(*frame, spectrogram, &background.usual)).collect();
    let count = found.calls.len() as f64;
    let per_call = notes.len() as f64 / count;

    // Level over time.
    let frames = spectrogram.nrows() as f64;
    let (mut times, mut levels) = (Vec::new(), Vec::new());
    let (mut energies, mut pitches) = (Vec::new(), Vec::new());
    for call in &found.calls {
        let [first, last] = [found.notes[call.start], found.notes[call.end - 1]];
        times.push(0.5 * (first + last) as f64 / frames - 0.5);
        levels.push(mean(notes[call.clone()].iter().map(|note| note.level)));
        energies.push(mean(notes[call.clone()].iter().map(|note| note.energy)));
        pitches.push(mean(notes[call.clone()].iter().map(|note| note.pitch)));
    }
    // Where a note falls between frames, its level is lower and its energy is not.
    let approach = slope(&times, &energies);
    let loudness = mean(levels.iter().copied()) - approach * mean(times.iter().copied());

    // Pitch over the notes of each call.
    let (mut common, mut squares) = (0.0, TINY);
    for call in &found.calls {
        let middle = 0.5 * (call.len() as f64 - 1.0);
        for (place, note) in notes[call.clone()].iter().enumerate() {
            let off = place as f64 - middle;
            common += off * note.pitch;
            squares += off * off;
        }
    }
    let slide = common / squares * floor(per_call - 0.5) as f64;

    let starts = found.calls.iter().map(|call| found.notes[call.start]);
    vec![
        background.level,
        loudness,
        approach,
        background.brightness,
        background.gusts,
        count,
        per_call,
        quickening(&starts.collect::<Vec<_>>()),
        slide,
        distance(pitches),
    ]
}

/// The background where nothing calls.
#[derive(Debug)]
struct Rest {
    /// Its usual power at each frequency.
    usual: Vec<f64>,
    level: f64,
    brightness: f64,
    gusts: f64,
}

impl Rest {
    fn between(found: &Calls, spectrogram: &Array2<f64>) -> Self {
        let frames = spectrogram.nrows();
        let mut quiet = vec![true; frames];
        for call in &found.calls {
            let start = found.notes[call.start].saturating_sub(AROUND.0);
            let end = (found.notes[call.end - 1] + AROUND.1 + 1).min(frames);
            quiet[start..end].fill(false);
        }
        if quiet.iter().filter(|is| **is).count() < FEWEST {
            quiet.fill(true);
        }
        let times: Vec<usize> = (0..frames).filter(|frame| quiet[*frame]).collect();
        // The median of powers of noise is ln 2 times their mean.
        let usual: Vec<f64> = spectrogram
            .columns()
            .into_iter()
            .map(|powers| {
                let powers: Vec<f64> = times.iter().map(|frame| powers[*frame]).collect();
                ranked(powers, times.len() / 2) / LN_2 + TINY
            })
            .collect();
        let course: Vec<f64> = times
            .iter()
            .map(|frame| {
                let powers = spectrogram.slice(s![*frame, LOWEST..SWELLING]);
                let relative = powers.iter().zip(&usual[LOWEST..]).map(|(p, usual)| p / usual);
                decibels(relative.sum::<f64>() / (SWELLING - LOWEST) as f64)
            })
            .collect();
        let (middle, gusts) = swelling(&times, &course, frames);
        let band = |[from, to]: [f64; 2]| {
            let bins =
                (0..BINS).filter(|bin| (from..=to).contains(&(*bin as f64 * RATE / FRAME as f64)));
            let powers: Vec<f64> = bins.map(|bin| usual[bin]).collect();
            decibels(mean(powers.into_iter()))
        };
        let level = decibels(usual[LOWEST..].iter().sum()) + middle;
        Self { level, brightness: band(BANDS[1]) - band(BANDS[0]), gusts, usual }
    }
}

/// The mean of a curve that swings with a whole number of periods over all frames, and how far it
/// swings: least squares, with the number of periods that leaves least.
fn swelling(times: &[usize], curve: &[f64], frames: usize) -> (f64, f64) {
    let mut best = (f64::INFINITY, 0.0, 0.0);
    for swells in SWELLS {
        // Normal equations of a constant, a cosine and a sine, the values behind them.
        let mut equations = [[0.0; 4]; 3];
        let row = |time: usize| {
            let point = polar(1.0, TAU * (swells * time) as f64 / frames as f64);
            [1.0, point.re, point.im]
        };
        let mut squares = 0.0;
        for (time, value) in times.iter().zip(curve) {
            let row = row(*time);
            for (equation, a) in equations.iter_mut().zip(row) {
                equation.iter_mut().zip(row).for_each(|(sum, b)| *sum += a * b);
                equation[3] += a * value;
            }
            squares += value * value;
        }
        let right = equations.map(|equation| equation[3]);
        let found = solved(equations);
        let left = squares - found.iter().zip(right).map(|(a, b)| a * b).sum::<f64>();
        if left < best.0 {
            best = (left, found[0], (found[1] * found[1] + found[2] * found[2]).sqrt());
        }
    }
    (best.1, best.2)
}

/// The solution of three equations with a positive definite matrix (Gauss and Jordan).
fn solved(mut equations: [[f64; 4]; 3]) -> [f64; 3] {
    for pivot in 0..3 {
        let scale = equations[pivot][pivot] + TINY;
        equations[pivot].iter_mut().for_each(|value| *value /= scale);
        let own = equations[pivot];
        for (other, equation) in equations.iter_mut().enumerate() {
            if other != pivot {
                let factor = equation[pivot];
                equation.iter_mut().zip(own).for_each(|(value, own)| *value -= factor * own);
            }
        }
    }
    equations.map(|equation| equation[3])
}

/// What is heard of a note.
#[derive(Debug, Clone, Copy)]
struct Heard {
    /// Semitones above the first bin.
    pitch: f64,
    /// Decibels of full scale, in its loudest frame.
    level: f64,
    /// The same of all its frames together.
    energy: f64,
}

impl Heard {
    fn at(frame: usize, spectrogram: &Array2<f64>, usual: &[f64]) -> Self {
        let end = (frame + REACH + 1).min(spectrogram.nrows());
        let frames = spectrogram.slice(s![frame.saturating_sub(REACH)..end, ..]);
        let powers: Vec<f64> = frames.rows().into_iter().map(|frame| frame.sum()).collect();
        let rest: f64 = usual.iter().sum();
        let level = decibels((powers.iter().copied().fold(0.0, f64::max) - rest).max(0.0));
        let energy = powers.iter().sum::<f64>() - powers.len() as f64 * rest;
        let energy = decibels(energy.max(0.0));

        let taken = TAKEN * frames.nrows() as f64;
        let mut spectrum: Vec<f64> = frames
            .columns()
            .into_iter()
            .zip(usual)
            .map(|(powers, usual)| (powers.sum() - taken * usual).max(0.0))
            .collect();
        spectrum[..LOWEST].fill(0.0);
        let mut strongest = (LOWEST, 0.0);
        for bin in LOWEST..BINS {
            let above = spectrum.get(bin + 1).copied().unwrap_or(0.0);
            let around = 0.5 * (spectrum[bin - 1] + above) + spectrum[bin];
            if around > strongest.1 {
                strongest = (bin, around);
            }
        }
        let middle = strongest.0 as f64;
        let (low, high) = (AROUND_PITCH.0 * middle - 0.5, AROUND_PITCH.1 * middle + 0.5);
        let (mut sum, mut moment) = (TINY, TINY * middle);
        for (bin, power) in spectrum.iter().enumerate() {
            let place = bin as f64;
            if (low..=high).contains(&place) {
                sum += power;
                moment += place * power;
            }
        }
        Self { pitch: 12.0 * libm::log2(moment / sum), level, energy }
    }
}

/// The slope of the line through values at places; 0 where all places are one.
fn slope(places: &[f64], values: &[f64]) -> f64 {
    let [x, y] = [places, values].map(|values| mean(values.iter().copied()));
    let (mut common, mut squares) = (0.0, TINY);
    for (place, value) in places.iter().zip(values) {
        common += (place - x) * (value - y);
        squares += (place - x) * (place - x);
    }
    common / squares
}

/// How often the intervals between frames are halved from the first to the last, along a line.
fn quickening(starts: &[usize]) -> f64 {
    if starts.len() < 3 {
        return 0.0;
    }
    let intervals: Vec<f64> =
        starts.windows(2).map(|pair| libm::log2((pair[1] - pair[0]) as f64)).collect();
    let last = (intervals.len() - 1) as f64;
    let places: Vec<f64> = (0..intervals.len()).map(|place| place as f64 / last).collect();
    -slope(&places, &intervals)
}

/// How far two groups of pitches are apart that are divided at the widest gap.
fn distance(mut pitches: Vec<f64>) -> f64 {
    pitches.sort_by(f64::total_cmp);
    let mut widest = (0, f64::NEG_INFINITY);
    for (place, pair) in pitches.windows(2).enumerate() {
        if pair[1] - pair[0] > widest.1 {
            widest = (place + 1, pair[1] - pair[0]);
        }
    }
    if widest.0 == 0 {
        return 0.0;
    }
    let (low, high) = pitches.split_at(widest.0);
    mean(high.iter().copied()) - mean(low.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tone_has_its_mean_square_and_its_pitch() {
        let samples: Vec<f64> =
            (0..20 * FRAME).map(|t| 0.1 * libm::cos(TAU * 0.06 * t as f64)).collect();
        let spectrogram = spectrogram(&samples);
        assert!((spectrogram.row(5).sum() - 0.005).abs() < 1e-6);
        let note = Heard::at(9, &spectrogram, &[0.0; BINS]);
        assert!((note.level - 10.0 * libm::log10(0.005)).abs() < 0.01, "{note:?}");
        assert!((note.pitch - 12.0 * libm::log2(0.06 * FRAME as f64)).abs() < 0.05, "{note:?}");
    }

    #[test]
    fn a_swelling_is_found_with_half_of_its_frames() {
        let frames = 700;
        let times: Vec<usize> = (0..frames).filter(|time| time % 90 < 45).collect();
        let curve: Vec<f64> = times
            .iter()
            .map(|time| 1.5 + 3.0 * libm::cos(0.4 + TAU * 3.0 * *time as f64 / 700.0))
            .collect();
        let (middle, gusts) = swelling(&times, &curve, frames);
        assert!((middle - 1.5).abs() < 1e-9 && (gusts - 3.0).abs() < 1e-9, "{middle} {gusts}");
    }

    #[test]
    fn intervals_and_pitches_are_compared() {
        assert!((quickening(&[0, 80, 120, 140]) - 2.0).abs() < 1e-9);
        assert!((distance(vec![4.0, 1.0, 4.2, 0.8]) - 3.2).abs() < 1e-9);
        assert!(distance(vec![4.0]).abs() < 1e-9);
    }
}
