//! Powers over time and frequency.

use crate::numeric::fourier::{forward, hann};
use ndarray::Array2;
use rustfft::num_complex::Complex;
use std::sync::LazyLock;

/// Samples per frame; frames overlap by half.
pub(super) const FRAME: usize = 512;
/// Frequencies per frame, from 0 to half the sampling rate.
pub(super) const BINS: usize = FRAME / 2 + 1;

/// Hann's window on a frame.
static WINDOW: LazyLock<Vec<f64>> = LazyLock::new(|| hann(FRAME));

/// The powers of samples that last a frame or longer, of shape `[frames, BINS]`, with Hann's
/// window on each frame.
pub(super) fn spectrogram(samples: &[f64]) -> Array2<f64> {
    powers(samples, &WINDOW)
}

/// The same with a window of any even length, of shape `[frames, length / 2 + 1]`.
pub(super) fn powers(samples: &[f64], window: &[f64]) -> Array2<f64> {
    let (length, bins) = (window.len(), window.len() / 2 + 1);
    let frames: Vec<&[f64]> = samples.windows(length).step_by(length / 2).collect();
    let silence = vec![0.0; length];
    // Two real frames fit into one complex transform, as real and as imaginary parts.
    let mut spectra = Vec::with_capacity(frames.len().div_ceil(2) * length);
    for pair in frames.chunks(2) {
        let imaginary = pair.get(1).copied().unwrap_or(&silence);
        let values = pair[0].iter().zip(imaginary).zip(window);
        spectra.extend(values.map(|((re, im), w)| Complex::new(w * re, w * im)));
    }
    forward(length).process(&mut spectra);
    let mut powers = Vec::with_capacity(2 * spectra.len());
    for spectrum in spectra.chunks_exact(length) {
        // Real values have a spectrum that mirrors into its conjugate; that of i times real values
        // mirrors into the negative of it.
        let pairs = (0..bins).map(|bin| (spectrum[bin], spectrum[(length - bin) % length].conj()));
        powers.extend(pairs.clone().map(|(here, mirrored)| 0.25 * (here + mirrored).norm_sqr()));
        powers.extend(pairs.map(|(here, mirrored)| 0.25 * (here - mirrored).norm_sqr()));
    }
    powers.truncate(frames.len() * bins);
    Array2::from_shape_vec((frames.len(), bins), powers).expect("a power for each frequency")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn a_sine_stands_in_its_own_bin_in_every_frame() {
        let sample = |i: usize| libm::cos(TAU * (i * 40 % FRAME) as f64 / FRAME as f64);
        let samples: Vec<f64> = (0..3 * FRAME).map(sample).collect();
        let powers = spectrogram(&samples);
        assert_eq!(powers.dim(), (5, BINS));
        for frame in powers.rows() {
            assert!((frame[40].sqrt() - 128.0).abs() < 1e-9);
            assert!(frame.iter().skip(43).all(|power| *power < 1e-12));
        }
    }
}
