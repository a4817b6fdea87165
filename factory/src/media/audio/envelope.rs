//! Following the tone: its track, and the envelopes of its partials along it.

use super::complex::{Complex, Oscillator};
use super::spectrogram::{BINS, FRAME, Spectrogram};
use super::{PARTIALS, RATE, TINY};
use crate::draws::floor;
use std::f64::consts::TAU;

/// Samples that are summed before the window is applied.
const BLOCK: usize = 16;
/// Blocks per window, and blocks from one window to the next: an envelope value per 64 samples,
/// each out of 128.
const WINDOW: usize = 8;
const HOP: usize = 4;
/// Seconds from one envelope value to the next.
pub(super) const INTERVAL: f64 = (BLOCK * HOP) as f64 / RATE;
/// The coarse search: its first pitch, the ratio of neighbours, how many there are.
const PITCHES: (f64, f64, usize) = (170.0, 1.02, 37);
/// The coarse search: distance of neighbouring chirps, and how many there are either side of 0.
const CHIRPS: (f64, i32) = (0.08, 4);
/// Weights of the partials in the coarse search: low ones stand out of the noise.
const COARSE_WEIGHTS: [f64; 4] = [1.0, 0.8, 0.64, 0.512];
/// Parts of the recording in each of which the tone's drift against a track is measured.
const PARTS: usize = 8;
/// Envelope values either side over which the fundamental's phase is smoothed.
const SMOOTHING: usize = 4;
/// Partials whose common level is the tone's: the others are weak in dull tones.
const SHARED: usize = 3;

/// The complex envelope of every partial, the fundamental first.
pub(super) type Envelopes = Vec<Vec<Complex>>;

/// A pitch that glides in a straight line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Track {
    /// Hertz at mid-recording.
    pub pitch: f64,
    /// Change from begin to end, relative to the middle.
    pub chirp: f64,
}

impl Track {
    /// The track on a grid along which the first partials are strongest.
    pub(super) fn coarse(spectrogram: &Spectrogram) -> Self {
        let (first, ratio, pitches) = PITCHES;
        let (step, side) = CHIRPS;
        let amplitudes: Vec<f64> = spectrogram.power.iter().map(|power| power.sqrt()).collect();
        let mut best = (f64::NEG_INFINITY, Self { pitch: first, chirp: 0.0 });
        let mut pitch = first;
        for _ in 0..pitches {
            for chirp in -side..=side {
                let track = Self { pitch, chirp: step * f64::from(chirp) };
                let score = track.strength(&amplitudes);
                if score > best.0 {
                    best = (score, track);
                }
            }
            pitch *= ratio;
        }
        best.1
    }

    /// The weighted sum of the first partials' amplitudes along the track.
    fn strength(self, amplitudes: &[f64]) -> f64 {
        let count = (amplitudes.len() / BINS + 1) as f64;
        let mut sums = [0.0; COARSE_WEIGHTS.len()];
        for (index, frame) in amplitudes.chunks_exact(BINS).enumerate() {
            let u = (index as f64 + 1.0) / count - 0.5;
            let pitch = self.pitch * (1.0 + self.chirp * u);
            for (k, sum) in (1..).zip(&mut sums) {
                let bin = floor(pitch * f64::from(k) * FRAME as f64 / RATE + 0.5);
                *sum += frame.get(bin).copied().unwrap_or_default();
            }
        }
        sums.iter().zip(COARSE_WEIGHTS).map(|(sum, weight)| sum * weight).sum()
    }

    /// The track that the partials really take, from how they turn against this one.
    ///
    /// The angle between neighbouring envelope values is the k-th partial's distance from the
    /// track (the pulse-pair estimator, Miller and Rochwarger 1972). A line through its means
    /// over parts of the recording, each weighted by its strength and its precision k², gives
    /// the corrections.
    pub(super) fn refined(self, envelopes: &Envelopes) -> Self {
        // (weight, u, hertz)
        let mut points: Vec<(f64, f64, f64)> = Vec::with_capacity(envelopes.len() * PARTS);
        for (k, envelope) in (1..).map(f64::from).zip(envelopes) {
            let count = envelope.len() - 1;
            for part in 0..PARTS {
                let [start, end] = [part, part + 1].map(|part| (part * count).div_ceil(PARTS));
                let mut turn = Complex::default();
                for pair in envelope[start..=end].windows(2) {
                    turn += pair[1] * pair[0].conjugate();
                }
                let middle = 0.5 * (start + end) as f64 + 1.0;
                let u = middle / (count as f64 + 2.0) - 0.5;
                points.push((turn.size() * k * k, u, turn.angle() / (TAU * INTERVAL * k)));
            }
        }
        let total = points.iter().map(|(weight, ..)| weight).sum::<f64>() + TINY * TINY;
        let center = |of: fn(&(f64, f64, f64)) -> f64| -> f64 {
            points.iter().map(|point| point.0 * of(point)).sum::<f64>() / total
        };
        let (mean_u, mean) = (center(|point| point.1), center(|point| point.2));
        let (mut spread, mut common) = (TINY * TINY, 0.0);
        for (weight, u, hertz) in &points {
            spread += weight * (u - mean_u) * (u - mean_u);
            common += weight * (u - mean_u) * (hertz - mean);
        }
        let slope = common / spread;
        let pitch = self.pitch + mean - slope * mean_u;
        Self { pitch, chirp: (self.pitch * self.chirp + slope) / pitch }
    }
}

/// The envelopes of the first partials of a tone along a track: each partial is turned back to
/// frequency 0 and smoothed with Hann's window, which the other partials do not pass.
pub(super) fn follow(samples: &[f64], track: Track, partials: usize) -> Envelopes {
    let mut oscillator = Oscillator::gliding(-track.pitch, track.chirp, samples.len());
    let mut blocks = vec![Vec::with_capacity(samples.len() / BLOCK); partials];
    for block in samples.chunks_exact(BLOCK) {
        let mut sums = [Complex::default(); PARTIALS];
        for sample in block {
            let unit = oscillator.next();
            let mut turned = unit.scaled(*sample);
            for sum in &mut sums[..partials] {
                *sum += turned;
                turned = turned * unit;
            }
        }
        blocks.iter_mut().zip(sums).for_each(|(blocks, sum)| blocks.push(sum));
    }
    let window = smoothing_window().map(|weight| weight / (WINDOW as f64 / 2.0 * BLOCK as f64));
    let smoothed = |blocks: Vec<Complex>| -> Vec<Complex> {
        blocks.windows(WINDOW).step_by(HOP).map(|blocks| weighted(blocks, &window)).collect()
    };
    blocks.into_iter().map(smoothed).collect()
}

/// Hann's window over [`WINDOW`] blocks, symmetric; its sum is half their number.
pub(super) fn smoothing_window() -> [f64; WINDOW] {
    std::array::from_fn(|i| 0.5 - 0.5 * libm::cos(TAU * (i as f64 + 0.5) / WINDOW as f64))
}

/// The weighted sum of a window of blocks.
pub(super) fn weighted(blocks: &[Complex], window: &[f64; WINDOW]) -> Complex {
    let mut sum = Complex::default();
    for (block, weight) in blocks.iter().zip(window) {
        sum += block.scaled(*weight);
    }
    sum
}

/// The envelopes turned so that the tone is real and positive, and noise half imaginary.
///
/// The fundamental's own phase, smoothed, carries what is left of its drift; the k-th partial
/// drifts k times as fast, and is off by a constant angle.
pub(super) fn aligned(envelopes: &Envelopes) -> Envelopes {
    let Some(fundamental) = envelopes.first() else { return Vec::new() };
    let back: Vec<Complex> = (0..fundamental.len())
        .map(|index| {
            let start = index.saturating_sub(SMOOTHING);
            let end = (index + SMOOTHING + 1).min(fundamental.len());
            let mut sum = Complex::default();
            for value in &fundamental[start..end] {
                sum += *value;
            }
            sum.conjugate().scaled(1.0 / (sum.size() + TINY))
        })
        .collect();
    let mut turn = vec![Complex::ONE; back.len()];
    let mut aligned = Vec::with_capacity(envelopes.len());
    for envelope in envelopes {
        turn.iter_mut().zip(&back).for_each(|(turn, back)| *turn = *turn * *back);
        let steady: Vec<Complex> =
            envelope.iter().zip(&turn).map(|(value, turn)| *value * *turn).collect();
        let mut sum = Complex::default();
        for value in &steady {
            sum += *value;
        }
        let mean = sum.scaled(1.0 / steady.len() as f64);
        let constant = mean.conjugate().scaled(1.0 / (mean.size() + TINY));
        aligned.push(steady.into_iter().map(|value| value * constant).collect());
    }
    aligned
}

/// The amplitude that the first partials have together, from aligned envelopes: noise adds
/// nothing to its mean.
pub(super) fn shared(aligned: &Envelopes) -> Vec<f64> {
    let mut level = vec![0.0; aligned.first().map_or(0, Vec::len)];
    for envelope in aligned.iter().take(SHARED) {
        level.iter_mut().zip(envelope).for_each(|(sum, value)| *sum += value.re);
    }
    level
}
