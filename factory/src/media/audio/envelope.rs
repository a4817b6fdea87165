//! Following the tone: its track, and the envelopes of its partials along it.

use super::level::{RATE, TINY, UNIT};
use super::oscillator::{LANES, Lanes, ONE, Oscillators, angle, size};
use super::spectrogram::FRAME;
use super::wav::LONGEST;
use crate::numeric::draws::floor;
use ndarray::{Array2, s};
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;
use std::sync::OnceLock;

/// Samples that are summed before the window is applied.
const BLOCK: usize = 16;
/// Blocks per window, and blocks from one window to the next: an envelope value per 64 samples,
/// each out of 128.
const WINDOW: usize = 8;
const HOP: usize = 4;
/// Samples from one envelope value to the next.
pub(super) const STEP: usize = BLOCK * HOP;
/// Seconds from one envelope value to the next.
pub(super) const INTERVAL: f64 = STEP as f64 / RATE;
/// The coarse search: its first pitch, the ratio of neighbours, how many there are.
const PITCHES: (f64, f64, usize) = (170.0, 1.02, 37);
/// The coarse search: distance of neighbouring chirps, and how many there are either side of 0.
const CHIRPS: (f64, i32) = (0.08, 4);
/// Weights of the partials in the coarse search: low ones stand out of the noise.
const COARSE_WEIGHTS: [f64; 4] = [1.0, 0.8, 0.64, 0.512];
/// Frequencies of the spectrogram that the coarse search looks at: up to the fourth partial of the
/// highest pitch at its highest.
const HEARD: usize = 104;
/// Parts of the recording in each of which the tone's drift against a track is measured.
const PARTS: usize = 8;
/// Envelope values either side over which the fundamental's phase is smoothed.
const SMOOTHING: usize = 4;
/// Partials whose common level is the tone's: the others are weak in dull tones.
const SHARED: usize = 3;

/// The complex envelope of every partial, the fundamental first.
pub(super) type Envelopes = Vec<Vec<Complex<f64>>>;

/// A pitch that glides in a straight line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Track {
    /// Pitch at the middle of the recording, in hertz.
    pub pitch: f64,
    /// Change from begin to end, relative to the middle.
    pub chirp: f64,
}

impl Track {
    /// The track on a grid along which the first partials are strongest.
    pub(super) fn coarse(spectrogram: &Array2<f64>) -> Self {
        let grid = SearchGrid::of(spectrogram.nrows());
        let heard = spectrogram.slice(s![.., ..HEARD]);
        let amplitudes: Vec<f64> = heard.iter().map(|power| power.sqrt()).collect();
        let mut best = (f64::NEG_INFINITY, Self { pitch: PITCHES.0, chirp: 0.0 });
        let size = amplitudes.len() / HEARD;
        for (track, places) in grid.tracks.iter().zip(grid.places.chunks_exact(size)) {
            let mut sums = [0.0; COARSE_WEIGHTS.len()];
            for places in places {
                for (sum, place) in sums.iter_mut().zip(places) {
                    *sum += amplitudes[usize::from(*place)];
                }
            }
            let score = sums.iter().zip(COARSE_WEIGHTS).map(|(sum, weight)| sum * weight).sum();
            if score > best.0 {
                best = (score, *track);
            }
        }
        best.1
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
                let pairs = envelope[start..=end].windows(2);
                let turn: Complex<f64> = pairs.map(|pair| pair[1] * pair[0].conj()).sum();
                let middle = 0.5 * (start + end) as f64 + 1.0;
                let u = middle / (count as f64 + 2.0) - 0.5;
                points.push((size(turn) * k * k, u, angle(turn) / (TAU * INTERVAL * k)));
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

/// The tracks of the coarse search.
#[derive(Debug)]
struct SearchGrid {
    tracks: Vec<Track>,
    /// Where the first partials' amplitudes stand, for every track (outer) and frame (inner), in
    /// a list of the first [`HEARD`] frequencies of every frame.
    places: Vec<[u16; COARSE_WEIGHTS.len()]>,
}

impl SearchGrid {
    /// The grid for recordings of so many frames, made once.
    fn of(frames: usize) -> &'static Self {
        static GRIDS: [OnceLock<SearchGrid>; 2 * LONGEST * UNIT / FRAME] =
            [const { OnceLock::new() }; 2 * LONGEST * UNIT / FRAME];
        GRIDS[frames].get_or_init(|| Self::new(frames))
    }

    fn new(frames: usize) -> Self {
        let (first, ratio, pitches) = PITCHES;
        let (step, side) = CHIRPS;
        let (mut tracks, mut places) = (Vec::new(), Vec::new());
        let mut pitch = first;
        for _ in 0..pitches {
            for chirp in -side..=side {
                let track = Track { pitch, chirp: step * f64::from(chirp) };
                tracks.push(track);
                places.extend((0..frames).map(|frame| {
                    let u = (frame as f64 + 1.0) / (frames as f64 + 1.0) - 0.5;
                    let pitch = track.pitch * (1.0 + track.chirp * u);
                    [1.0, 2.0, 3.0, 4.0].map(|k| {
                        let bin = floor(pitch * k * FRAME as f64 / RATE + 0.5);
                        assert!(bin < HEARD, "the highest track's fourth partial is heard");
                        u16::try_from(frame * HEARD + bin).unwrap_or(u16::MAX)
                    })
                }));
            }
            pitch *= ratio;
        }
        Self { tracks, places }
    }
}

/// The envelopes of the first partials of a tone along a track: each partial is turned back to
/// frequency 0 and smoothed with Hann's window, which the other partials do not pass.
pub(super) fn follow(samples: &[f64], track: Track, partials: usize) -> Envelopes {
    let mut oscillators = Oscillators::gliding(-track.pitch, track.chirp, samples.len());
    let mut blocks = vec![Vec::with_capacity(samples.len() / BLOCK); partials];
    for block in samples.as_chunks::<BLOCK>().0 {
        let mut units = [Lanes::default(); BLOCK / LANES];
        let mut turned = units;
        for ((unit, turned), samples) in
            units.iter_mut().zip(&mut turned).zip(block.as_chunks::<LANES>().0)
        {
            *unit = oscillators.next();
            *turned = unit.scaled(samples);
        }
        for blocks in &mut blocks {
            let mut sum = Lanes::default();
            for (turned, unit) in turned.iter_mut().zip(&units) {
                sum += *turned;
                *turned = *turned * *unit;
            }
            blocks.push(sum.sum());
        }
    }
    let window = smoothing_window().map(|weight| weight / (WINDOW as f64 / 2.0 * BLOCK as f64));
    let smoothed = |blocks: Vec<Complex<f64>>| -> Vec<Complex<f64>> {
        blocks.windows(WINDOW).step_by(HOP).map(|blocks| weighted(blocks, &window)).collect()
    };
    blocks.into_iter().map(smoothed).collect()
}

/// Hann's window over [`WINDOW`] blocks, symmetric; its sum is half their number.
pub(super) fn smoothing_window() -> [f64; WINDOW] {
    std::array::from_fn(|i| 0.5 - 0.5 * libm::cos(TAU * (i as f64 + 0.5) / WINDOW as f64))
}

/// The weighted sum of a window of blocks.
pub(super) fn weighted(blocks: &[Complex<f64>], window: &[f64; WINDOW]) -> Complex<f64> {
    blocks.iter().zip(window).map(|(block, weight)| block.scale(*weight)).sum()
}

/// The envelopes turned so that the tone is real and positive, and noise half imaginary.
///
/// The fundamental's own phase, smoothed, carries what is left of its drift; the k-th partial
/// drifts k times as fast, and is off by a constant angle.
pub(super) fn aligned(envelopes: &Envelopes) -> Envelopes {
    let Some(fundamental) = envelopes.first() else { return Vec::new() };
    let back: Vec<Complex<f64>> = (0..fundamental.len())
        .map(|index| {
            let start = index.saturating_sub(SMOOTHING);
            let end = (index + SMOOTHING + 1).min(fundamental.len());
            let sum: Complex<f64> = fundamental[start..end].iter().sum();
            sum.conj() / (size(sum) + TINY)
        })
        .collect();
    let mut turn = vec![ONE; back.len()];
    let mut aligned = Vec::with_capacity(envelopes.len());
    for envelope in envelopes {
        turn.iter_mut().zip(&back).for_each(|(turn, back)| *turn *= back);
        let steady: Vec<Complex<f64>> =
            envelope.iter().zip(&turn).map(|(value, turn)| value * turn).collect();
        let mean = steady.iter().sum::<Complex<f64>>() / steady.len() as f64;
        let constant = mean.conj() / (size(mean) + TINY);
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
