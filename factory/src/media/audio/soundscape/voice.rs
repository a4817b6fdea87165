//! Notes: glides, croaks, knocks and bursts of noise.

use super::RATE;
use crate::media::audio::level::amplitude;
use crate::media::audio::oscillator::{Oscillator, polar};
use crate::numeric::draws::{Draws, floor};
use serde::Deserialize;
use std::f64::consts::{LN_2, PI, TAU};

/// Samples that are summed before the loudest moment is looked for.
const BLOCK: usize = 16;
/// Blocks of the window in which a note's level is measured: 16 ms, as the reader's frames.
const WINDOW: usize = 16;
/// The highest pitch of a partial, in hertz; higher ones are left out.
const HIGHEST: f64 = 7600.0;
/// Samples in which a knock reaches its full strength.
const ATTACK: f64 = 16.0;
/// Samples of noise before a burst, in which its resonances settle.
const SETTLING: usize = 256;
/// Ring times after which a knock ends.
const RINGS: f64 = 6.0;

/// What notes are made of; `sources.toml` has the units.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Voice {
    /// A gliding tone.
    Tone { length: f64, bend: f64, second: f64, third: f64 },
    /// A tone in pulses.
    Croak { length: f64, rate: f64, second: f64, third: f64 },
    /// Something that is hit and rings.
    Knock { ring: f64, second: f64 },
    /// Noise around a pitch.
    Burst { length: f64, width: f64, second: f64 },
}

/// One note to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Note {
    /// Its pitch in the middle, in hertz.
    pub(super) pitch: f64,
    /// How much it rises per period, in semitones.
    pub(super) rise: f64,
    /// Seconds to the next note of its call.
    pub(super) period: f64,
    /// How many times as long as usual it is.
    pub(super) stretch: f64,
}

impl Voice {
    /// The samples of a note; in its loudest 16 ms, their mean square is 1.
    pub(super) fn sing(self, note: Note, draws: &mut Draws) -> Vec<f64> {
        let mut samples = match self {
            Self::Tone { length, bend, second, third } => {
                tone(note, length, bend, [second, third], draws)
            }
            Self::Croak { length, rate, second, third } => {
                let mut samples = tone(note, length, 0.0, [second, third], draws);
                let mut pulse = Oscillator::steady(rate, RATE);
                for sample in &mut samples {
                    *sample *= 0.5 - 0.5 * pulse.next().re;
                }
                samples
            }
            Self::Knock { ring, second } => knock(note, ring, second, draws),
            Self::Burst { length, width, second } => burst(note, length, width, second, draws),
        };
        let level = loudest(&samples).sqrt();
        for sample in &mut samples {
            *sample /= level;
        }
        samples
    }
}

/// The number of samples of a note that lasts this share of its period.
fn count(note: Note, length: f64, draws: &mut Draws) -> usize {
    floor(length * note.stretch * note.period * RATE * draws.between(0.92, 1.08)).max(2 * BLOCK)
}

fn tone(note: Note, length: f64, bend: f64, levels: [f64; 2], draws: &mut Draws) -> Vec<f64> {
    let count = count(note, length, draws);
    let glide = bend + note.rise * length * note.stretch;
    let mut oscillator = Oscillator::gliding([note.pitch, RATE], glide * LN_2 / 12.0, count);
    let start = polar(1.0, draws.between(0.0, TAU));
    let partial = |k: f64, level: f64| {
        if k * note.pitch < HIGHEST { amplitude(level) } else { 0.0 }
    };
    let [second, third] = [partial(2.0, levels[0]), partial(3.0, levels[1])];
    let sample = |place: usize| {
        let point = start * oscillator.next();
        let square = point * point;
        let u = place as f64 / count as f64;
        let swell = smooth(u / 0.6) * smooth((1.0 - u) / 0.6);
        swell * (point.re + second * square.re + third * (square * point).re)
    };
    (0..count).map(sample).collect()
}

fn knock(note: Note, ring: f64, second: f64, draws: &mut Draws) -> Vec<f64> {
    let ring = ring * note.stretch * draws.between(0.95, 1.05);
    let count = floor((RINGS * ring).min(0.9 * note.period) * RATE);
    let fade = libm::exp(-1.0 / (ring * RATE));
    let octave = if 2.0 * note.pitch < HIGHEST { amplitude(second) } else { 0.0 };
    let mut parts = [(1.0, 1.0), (2.0, octave)].map(|(k, level)| {
        let turn = polar(fade, TAU * k * note.pitch / RATE);
        (polar(level, draws.between(0.0, TAU)), turn)
    });
    let sample = |place: usize| {
        let mut sum = 0.0;
        for (point, turn) in &mut parts {
            sum += point.re;
            *point *= *turn;
        }
        sum * (place as f64 / ATTACK).min(1.0)
    };
    (0..count).map(sample).collect()
}

fn burst(note: Note, length: f64, width: f64, second: f64, draws: &mut Draws) -> Vec<f64> {
    let count = count(note, length, draws);
    let octave = if 2.0 * note.pitch < HIGHEST { amplitude(second) } else { 0.0 };
    let fade = libm::exp(-PI * width * note.pitch / RATE);
    let mut sum = vec![0.0; count];
    for (k, level) in [(1.0, 1.0), (2.0, octave)] {
        let mut units = vec![0.0; SETTLING + count];
        draws.units(&mut units);
        // Two poles: y = a·y₁ − b·y₂ + x, whose variance is (1 + b) / ((1 − b)((1 + b)² − a²)).
        let (a, b) = (2.0 * fade * libm::cos(TAU * k * note.pitch / RATE), fade * fade);
        let spread = ((1.0 + b) / ((1.0 - b) * ((1.0 + b) * (1.0 + b) - a * a))).sqrt();
        let (mut last, mut before) = (0.0, 0.0);
        for (place, unit) in units.iter().enumerate() {
            let fresh = a * last - b * before + unit - 0.5;
            (before, last) = (last, fresh);
            if let Some(sample) = place.checked_sub(SETTLING).and_then(|at| sum.get_mut(at)) {
                *sample += level * fresh / spread;
            }
        }
    }
    let fall = libm::exp(-2.2 / count as f64);
    let mut strength = 1.0;
    for (place, sample) in sum.iter_mut().enumerate() {
        let u = place as f64 / count as f64;
        *sample *= strength * (u / 0.12).min(1.0) * ((1.0 - u) / 0.2).min(1.0);
        strength *= fall;
    }
    sum
}

/// From 0 to 1 and no further, without a corner.
fn smooth(u: f64) -> f64 {
    let u = u.clamp(0.0, 1.0);
    u * u * (3.0 - 2.0 * u)
}

/// The mean square of the loudest 16 ms, under Hann's window.
fn loudest(samples: &[f64]) -> f64 {
    let energies: Vec<f64> = samples
        .chunks(BLOCK)
        .map(|block| block.iter().map(|sample| sample * sample).sum::<f64>() / BLOCK as f64)
        .collect();
    let weight = |place: usize| {
        let turn = TAU * (place as f64 + 0.5) / WINDOW as f64;
        (1.0 - libm::cos(turn)) / WINDOW as f64
    };
    let weights: [f64; WINDOW] = std::array::from_fn(weight);
    // The window may begin before the note and end after it.
    let padded: Vec<f64> = [vec![0.0; WINDOW - 1], energies, vec![0.0; WINDOW - 1]].concat();
    let under = |window: &[f64]| window.iter().zip(&weights).map(|(e, w)| e * w).sum::<f64>();
    padded.windows(WINDOW).map(under).fold(f64::MIN_POSITIVE, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;
    use tasks::stream::Stream;

    #[test]
    fn notes_of_every_source_are_equally_loud_and_end_before_the_next() {
        let mut draws = Draws::new(Stream::root(1));
        for source in Source::ALL {
            let manner = source.manner();
            let note =
                Note { pitch: manner.pitch, rise: 2.0, period: manner.period, stretch: 1.14 };
            let samples = manner.voice.sing(note, &mut draws);
            assert!((loudest(&samples) - 1.0).abs() < 1e-9, "{source:?}");
            assert!((samples.len() as f64) < manner.period * RATE, "{source:?}");
        }
    }
}
