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
    let frames = 2 * samples.len() / FRAME - 1;
    let mut spectra = Vec::with_capacity(frames * FRAME);
    for frame in samples.windows(FRAME).step_by(FRAME / 2) {
        spectra.extend(frame.iter().zip(&*WINDOW).map(|(sample, w)| Complex::from(w * sample)));
    }
    forward(FRAME).process(&mut spectra);
    let powers = |frame: &[Complex<f64>]| frame[..BINS].iter().map(Complex::norm_sqr).collect();
    let powers: Vec<Vec<f64>> = spectra.chunks_exact(FRAME).map(powers).collect();
    Array2::from_shape_vec((frames, BINS), powers.concat()).expect("whole frames follow each other")
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
