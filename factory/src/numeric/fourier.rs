//! Discrete Fourier transforms that give the same bits on every machine.
//!
//! `rustfft`'s scalar code is used: its vector kernels are chosen at run time and round
//! differently. Its factors are sines and cosines of the system's C library, which chooses
//! between variants with and without fused multiply-add; those can differ in the last bit. For
//! the lengths of pictures and frames that are written they agree, being correctly rounded in
//! both; a test compares their bits.

use rustfft::{Fft, FftPlannerScalar};
use std::f64::consts::TAU;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Remembers the plan of every length that was asked for.
static PLANNER: LazyLock<Mutex<FftPlannerScalar<f64>>> =
    LazyLock::new(|| Mutex::new(FftPlannerScalar::new()));

/// The forward transform of this length: Σ x(t) e^(-2πi ft / length), not scaled. It processes
/// every run of `length` values of a buffer whose size is a multiple of it.
pub(crate) fn forward(length: usize) -> Arc<dyn Fft<f64>> {
    // A planner whose caller panicked still holds whole plans.
    PLANNER.lock().unwrap_or_else(PoisonError::into_inner).plan_fft_forward(length)
}

/// Hann's window, periodic: `length` weights from 0 to 1.
pub(crate) fn hann(length: usize) -> Vec<f64> {
    (0..length).map(|t| 0.5 - 0.5 * libm::cos(TAU * t as f64 / length as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustfft::num_complex::Complex;

    /// Sides of pictures of surfaces, the frame of spectrograms, and the lengths that these
    /// transforms are put together from.
    const LENGTHS: [u32; 11] = [2, 3, 6, 7, 8, 16, 32, 48, 56, 64, 512];

    #[test]
    fn sines_of_the_lengths_in_use_have_the_bits_of_every_processor() {
        let mut bits = Vec::new();
        for length in LENGTHS {
            for index in 0..length {
                let angle = -TAU / f64::from(length) * f64::from(index);
                bits.extend(angle.cos().to_le_bytes());
                bits.extend(angle.sin().to_le_bytes());
            }
        }
        assert_eq!(blake3::hash(&bits).to_hex()[..16], *"063fb0200572def0");
    }

    #[test]
    fn the_transform_keeps_to_its_definition() {
        for length in [48, 512] {
            let values: Vec<Complex<f64>> = (0..length)
                .map(|t| Complex::new((t * t % 17) as f64, (t * t * t % 23) as f64))
                .collect();
            let mut fast = values.clone();
            forward(length).process(&mut fast);
            for bin in [0, 1, 7, length / 2, length - 1] {
                let turned = values.iter().enumerate().map(|(t, value)| {
                    let angle = -TAU * (t * bin % length) as f64 / length as f64;
                    value * Complex::new(libm::cos(angle), libm::sin(angle))
                });
                let slow: Complex<f64> = turned.sum();
                assert!((slow - fast[bin]).norm_sqr() < 1e-16, "{length} {bin}");
            }
        }
    }
}
