//! Where soundscapes are recorded: shaped noise that swells and ebbs, and steady tones.

use super::RATE;
use crate::media::audio::level::amplitude;
use crate::media::audio::oscillator::polar;
use crate::media::audio::site::add_drone;
use crate::numeric::draws::Draws;
use rustfft::num_complex::Complex;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::sync::LazyLock;

/// Corner of the high part of the noise, in hertz.
const HIGH_CORNER: f64 = 1500.0;
/// The bands of which a statistic says how strong the second is against the first, in hertz.
pub(super) const BANDS: [[f64; 2]; 2] = [[500.0, 1500.0], [4000.0, 7000.0]];
/// From which pitch on the level of a place is measured, in hertz: below are hum and rumble.
pub(super) const LOWEST: f64 = 250.0;
/// Pitches at which the response of filters is summed, and their distance in hertz.
const PITCHES: (usize, f64) = (128, 62.5);
/// How many times as strong an impulse is as other samples.
const IMPULSE: f64 = 6.0;
/// Samples between the points at which the swelling is computed; it is straight between them.
const STEP: usize = 64;

/// A place, by its name in `places.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    Wind,
    Rain,
    Sea,
    Stream,
    Night,
    Room,
    Hall,
    Engine,
    Traffic,
}

/// What is heard at a place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sounds {
    corner: f64,
    drops: f64,
    lines: Vec<[f64; 2]>,
    swells: [usize; 2],
}

/// The place of a task.
#[derive(Debug)]
pub(super) struct Background {
    /// What of the last two samples the low part keeps.
    low: f64,
    drops: f64,
    lines: &'static [[f64; 2]],
    /// How often the background swells in a soundscape.
    swells: usize,
}

/// What a statistic says of one background.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weather {
    /// Level above [`LOWEST`], in decibels of full scale.
    pub(super) level: f64,
    /// Level of the second of [`BANDS`] against the first, per hertz, in decibels.
    pub(super) brightness: f64,
    /// How far it swells and ebbs, in decibels either side.
    pub(super) gusts: f64,
}

impl Background {
    /// Draws the background of a task.
    pub(super) fn of(place: Place, draws: &mut Draws) -> Self {
        static PLACES: LazyLock<BTreeMap<Place, Sounds>> = LazyLock::new(|| {
            toml::from_str(include_str!("places.toml")).expect("tests read the embedded places")
        });
        let sounds = PLACES.get(&place).expect("a test sets soundscapes at every place");
        let corner = sounds.corner * draws.between(0.85, 1.15);
        Self {
            low: kept(corner),
            drops: sounds.drops,
            lines: &sounds.lines,
            swells: draws.whole(sounds.swells[0], sounds.swells[1]),
        }
    }

    /// So many samples of it.
    pub(super) fn heard(&self, count: usize, weather: Weather, draws: &mut Draws) -> Vec<f64> {
        let [low, high] = self.parts(weather.brightness);
        let mut units = vec![0.0; 2 * count];
        draws.units(&mut units);
        // Impulses leave the variance as it is.
        let even = (12.0 / (1.0 + self.drops * (IMPULSE * IMPULSE - 1.0))).sqrt();
        let (keep, keep_high) = (self.low, kept(HIGH_CORNER));
        let gain = low * (1.0 - keep) * (1.0 - keep);
        let (mut first, mut second, mut bright, mut last) = (0.0, 0.0, 0.0, 0.0);
        let mut samples = Vec::with_capacity(count);
        for pair in units.as_chunks::<2>().0 {
            // Where an impulse falls, the first draw is small, so the second makes both parts.
            let (strength, one, other) = if pair[0] < self.drops {
                (IMPULSE * even, pair[1] - 0.5, pair[1] - 0.5)
            } else {
                (even, (pair[0] - self.drops) / (1.0 - self.drops) - 0.5, pair[1] - 0.5)
            };
            first = keep * first + strength * one;
            second = keep * second + first;
            let fresh = strength * other;
            bright = keep_high * bright + fresh - last;
            last = fresh;
            samples.push(gain * second + high * bright);
        }
        for [pitch, level] in self.lines {
            add_drone(&mut samples, [*pitch, RATE], amplitude(*level), draws);
        }
        self.swell(&mut samples, weather, draws);
        samples
    }

    /// Amplitudes of the low and the high part with which the whole has a level of 1 and this
    /// brightness.
    fn parts(&self, brightness: f64) -> [f64; 2] {
        let (count, step) = PITCHES;
        let pitches = (0..count).map(|place| place as f64 * step);
        let responses: Vec<[f64; 3]> = pitches
            .map(|pitch| {
                let turn = polar(1.0, -TAU * pitch / RATE);
                let pole = |keep: f64| (Complex::from(1.0) - turn.scale(keep)).norm_sqr();
                let low = (1.0 - self.low) * (1.0 - self.low) / pole(self.low);
                [pitch, low * low, pole(1.0) / pole(kept(HIGH_CORNER))]
            })
            .collect();
        let mean = |[from, to]: [f64; 2], part: usize| {
            let within = responses.iter().filter(|response| (from..=to).contains(&response[0]));
            let (sum, count) = within
                .fold((0.0, 0.0), |(sum, count), response| (sum + response[part], count + 1.0));
            sum / count
        };
        let ratio = amplitude(2.0 * brightness);
        let [dull, bright] = BANDS;
        // Below what the low part has itself, the high part vanishes.
        let share = (ratio * mean(dull, 1) - mean(bright, 1)).max(0.0)
            / (mean(bright, 2) - ratio * mean(dull, 2));
        let heard = responses.iter().filter(|response| response[0] >= LOWEST);
        let power = heard.map(|response| response[1] + share * response[2]).sum::<f64>();
        let low = (count as f64 / power).sqrt();
        [low, low * share.sqrt()]
    }

    /// Gives the background its level, and lets it swell and ebb.
    fn swell(&self, samples: &mut [f64], weather: Weather, draws: &mut Draws) {
        let start = draws.between(0.0, TAU);
        let turn = TAU * self.swells as f64 / samples.len() as f64;
        let gain = |place: usize| {
            let swing = libm::sin(start + turn * (place * STEP) as f64);
            amplitude(weather.level + weather.gusts * swing)
        };
        let mut from = gain(0);
        for (place, samples) in samples.chunks_mut(STEP).enumerate() {
            let to = gain(place + 1);
            let rise = (to - from) / STEP as f64;
            for (step, sample) in samples.iter_mut().enumerate() {
                *sample *= from + rise * step as f64;
            }
            from = to;
        }
    }
}

/// What a filter of one pole with this corner keeps of the last sample.
fn kept(corner: f64) -> f64 {
    libm::exp(-TAU * corner / RATE)
}
