//! Where recordings are made: what the place and the device do to any sound.

use super::oscillator::{Oscillator, polar};
use crate::numeric::draws::{Draws, floor};
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// Seconds to the first echo, at least and at most.
const DELAY: (f64, f64) = (0.04, 0.06);
/// Where later echoes come, as multiples of the first one's delay; each is weaker by the same
/// factor as the first.
const ECHOES: [f64; 3] = [1.0, 1.6, 2.2];
/// The mains and their octave: level and multiple.
const MAINS: [(f64, f64); 2] = [(1.2, 1.0), (0.7, 2.0)];

/// What the place and the device of a task have in common for all its recordings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    /// Samples per second.
    rate: f64,
    /// Samples to the first echo.
    delay: f64,
    /// Frequency of the mains.
    mains: f64,
}

impl Site {
    /// Draws the site of a task whose sounds have so many samples per second.
    pub(super) fn drawn(rate: f64, draws: &mut Draws) -> Self {
        Self {
            rate,
            delay: draws.between(DELAY.0 * rate, DELAY.1 * rate),
            mains: if draws.chance(0.5) { 50.0 } else { 60.0 },
        }
    }

    /// Adds the blemishes in force to a sound whose root mean square is `level`, in the order in
    /// which the sound meets them.
    pub(super) fn worsen(
        self,
        samples: &mut [f64],
        level: f64,
        blemishes: &BTreeMap<String, f64>,
        draws: &mut Draws,
    ) {
        let strength = |name: &str| blemishes.get(name).copied();
        if let Some(strength) = strength("echo") {
            self.add_echoes(samples, strength);
        }
        if let Some(strength) = strength("hiss") {
            add_noise(samples, strength * level, 0.0, draws);
        }
        if let Some(strength) = strength("hum") {
            for (part, multiple) in MAINS {
                add_drone(
                    samples,
                    [multiple * self.mains, self.rate],
                    part * strength * level,
                    draws,
                );
            }
        }
        if let Some(strength) = strength("clipping") {
            clip(samples, 1.0 - strength);
        }
    }

    fn add_echoes(&self, samples: &mut [f64], strength: f64) {
        let dry = samples.to_vec();
        let mut factor = 1.0;
        for multiple in ECHOES {
            factor *= strength;
            let late = samples.iter_mut().skip(floor(multiple * self.delay));
            late.zip(&dry).for_each(|(sample, dry)| *sample += factor * dry);
        }
    }
}

/// Noise of this root mean square; `color` is how much of the last sample is taken
/// away from the next: 0 is white.
pub(super) fn add_noise(samples: &mut [f64], level: f64, color: f64, draws: &mut Draws) {
    // Uniform draws have variance 1/12; the filter multiplies it by 1 + color².
    let factor = level * (12.0 / (1.0 + color * color)).sqrt();
    let mut units = vec![0.0; samples.len()];
    draws.units(&mut units);
    let mut last = 0.0;
    for (sample, unit) in samples.iter_mut().zip(units) {
        let fresh = unit - 0.5;
        *sample += factor * (fresh - color * last);
        last = fresh;
    }
}

/// A steady sine of this root mean square, from its pitch and the sampling rate, in hertz.
pub(super) fn add_drone(
    samples: &mut [f64],
    [pitch, rate]: [f64; 2],
    level: f64,
    draws: &mut Draws,
) {
    let mut oscillator = Oscillator::steady(pitch, rate);
    let start = polar(level * std::f64::consts::SQRT_2, draws.between(0.0, TAU));
    for sample in samples {
        *sample += (oscillator.next() * start).re;
    }
}

/// Cuts everything above this share of the peak.
fn clip(samples: &mut [f64], share: f64) {
    let limit = share * samples.iter().fold(0.0, |peak: f64, sample| peak.max(sample.abs()));
    for sample in samples {
        *sample = sample.clamp(-limit, limit);
    }
}
