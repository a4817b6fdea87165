//! The scene of a task, and the recordings made in it.

use super::level::{RATE, UNIT, amplitude, squares};
use super::oscillator::{Oscillator, polar};
use super::site::{Site, add_drone, add_noise};
use crate::numeric::draws::{Draws, floor};
use rustfft::num_complex::Complex;
use std::collections::BTreeMap;
use std::f64::consts::TAU;
use tasks::stream::Stream;

/// Samples between the points at which the tone's level is computed; it is straight between
/// them, and even the quickest tremolo takes sixteen of them per swing.
const GAIN_STEP: usize = 32;
/// Least distance between clicks in samples: ears and the reader keep them apart.
const CLICK_GAP: f64 = 576.0;
/// Samples before the first click and after the last one has begun.
const CLICK_MARGIN: [f64; 2] = [60.0, 280.0];
/// What the recordings of a task have in common.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    /// Number of samples per recording.
    count: usize,
    /// Partials of the tone.
    partials: usize,
    /// Level of the hiss of this place against the tone, in decibels.
    hiss: f64,
    /// How much of the last sample the hiss takes away from the next: 0 is white.
    color: f64,
    /// Frequency of the drone of this place.
    drone_hertz: f64,
    /// Amplitude of the drone against the tone's level.
    drone: f64,
    /// Frequency of the clicks, above all partials.
    click_hertz: f64,
    /// Their level against the tone, in decibels.
    click: f64,
    /// How long they ring, in samples.
    ring: f64,
    /// Where the recordings are made.
    site: Site,
}

/// The statistics of one recording, by name.
#[derive(Debug, Clone, Copy)]
struct Tone {
    loudness: f64,
    swell: f64,
    pitch: f64,
    falloff: f64,
    depth: f64,
    rate: f64,
    chirp: f64,
    clicks: usize,
    hollowness: f64,
}

impl Scene {
    /// Draws the scene of the task that owns `stream`.
    pub(super) fn of(stream: Stream) -> Self {
        let mut draws = Draws::new(stream.child("scene"));
        Self {
            count: UNIT * draws.whole(22, 31),
            partials: draws.whole(5, 7),
            hiss: draws.between(-14.0, -8.0),
            color: draws.between(0.0, 0.35),
            drone_hertz: draws.between(60.0, 125.0),
            drone: amplitude(draws.between(-30.0, -12.0)),
            click_hertz: draws.between(3050.0, 3350.0),
            click: draws.between(10.5, 12.5),
            ring: draws.between(40.0, 64.0),
            site: Site::drawn(RATE, &mut draws),
        }
    }

    /// The samples of a recording with these statistics, in the medium's order.
    pub(super) fn record(
        &self,
        values: &[f64],
        blemishes: &BTreeMap<String, f64>,
        draws: &mut Draws,
    ) -> Vec<f64> {
        let value = |index: usize| values.get(index).copied().unwrap_or_default();
        let tone = Tone {
            loudness: value(0),
            swell: value(1),
            pitch: value(2),
            falloff: value(3),
            depth: value(4),
            rate: value(5),
            chirp: value(6) / 100.0,
            clicks: floor(value(7) + 0.5),
            hollowness: value(8),
        };
        let mut samples = self.tone(tone, draws);
        self.add_background(&mut samples, draws);
        self.add_clicks(&mut samples, tone.clicks, draws);

        self.site.worsen(&mut samples, 1.0, blemishes, draws);
        let gain = amplitude(tone.loudness);
        for sample in &mut samples {
            *sample *= gain;
        }
        samples
    }

    /// The tone alone, with a mean square of 1.
    fn tone(&self, tone: Tone, draws: &mut Draws) -> Vec<f64> {
        // Amplitude and phase of each partial.
        let partials: Vec<Complex<f64>> = (1..=self.partials)
            .map(|k| {
                let even = if k % 2 == 0 { tone.hollowness } else { 0.0 };
                let level = -tone.falloff * libm::log2(k as f64) - even;
                polar(amplitude(level), draws.between(0.0, TAU))
            })
            .collect();
        let gain = self.gain(tone, draws);
        let mut oscillator = Oscillator::gliding([tone.pitch, RATE], tone.chirp, self.count);
        let mut samples = Vec::with_capacity(self.count);
        for ends in gain.windows(2) {
            let rise = (ends[1] - ends[0]) / GAIN_STEP as f64;
            let (mut re, mut im) = ([0.0; GAIN_STEP], [0.0; GAIN_STEP]);
            for (re, im) in re.iter_mut().zip(&mut im) {
                let point = oscillator.next();
                (*re, *im) = (point.re, point.im);
            }
            let (mut turned_re, mut turned_im) = ([1.0; GAIN_STEP], [0.0; GAIN_STEP]);
            let mut sums = [0.0; GAIN_STEP];
            for partial in &partials {
                for (step, sum) in sums.iter_mut().enumerate() {
                    let (a, b) = (turned_re[step], turned_im[step]);
                    turned_re[step] = a * re[step] - b * im[step];
                    turned_im[step] = a * im[step] + b * re[step];
                    *sum += turned_re[step] * partial.re - turned_im[step] * partial.im;
                }
            }
            let gains = (0..GAIN_STEP).map(|step| ends[0] + rise * step as f64);
            samples.extend(sums.iter().zip(gains).map(|(sum, gain)| sum * gain));
        }
        let level = (squares(&samples) / samples.len() as f64).sqrt();
        for sample in &mut samples {
            *sample /= level;
        }
        samples
    }

    /// The tone's level, one value per [`GAIN_STEP`]: straight and swinging in decibels.
    fn gain(&self, tone: Tone, draws: &mut Draws) -> Vec<f64> {
        let start = draws.between(0.0, TAU);
        let turn = TAU * tone.rate / RATE;
        (0..=self.count / GAIN_STEP)
            .map(|point| {
                let t = (point * GAIN_STEP) as f64;
                let rise = tone.swell * (t / self.count as f64 - 0.5);
                amplitude(rise + tone.depth * libm::cos(start + turn * t))
            })
            .collect()
    }

    /// The hiss, a little different each time, and the drone.
    fn add_background(&self, samples: &mut [f64], draws: &mut Draws) {
        let level = amplitude(self.hiss + draws.between(-5.0, 5.0));
        add_noise(samples, level, self.color, draws);
        add_drone(samples, [self.drone_hertz, RATE], self.drone, draws);
    }

    /// Adds clicks at random places. Their loudness and their duration differ between recordings,
    /// so that their number does not follow from their energy.
    fn add_clicks(&self, samples: &mut [f64], clicks: usize, draws: &mut Draws) {
        let [before, after] = CLICK_MARGIN;
        let free = samples.len() as f64 - before - after - CLICK_GAP * clicks as f64;
        let mut places: Vec<f64> = (0..clicks).map(|_| draws.between(0.0, free.max(0.0))).collect();
        places.sort_by(f64::total_cmp);
        let level = amplitude(self.click + draws.between(-4.5, 4.5));
        let fade = libm::exp(-1.0 / (self.ring * draws.between(0.6, 1.8)));
        let turn = polar(fade, TAU * self.click_hertz / RATE);
        for (index, place) in places.iter().enumerate() {
            let start = floor(before + place + CLICK_GAP * index as f64);
            let strength = level * draws.between(0.85, 1.15);
            let mut ping = polar(strength, draws.between(0.0, TAU));
            for sample in samples.iter_mut().skip(start).take(floor(CLICK_GAP)) {
                *sample += ping.re;
                ping *= turn;
            }
        }
    }
}
