//! Powers over time and frequency, by a Fourier transform with twiddles from `libm`.

use super::complex::Complex;
use std::f64::consts::TAU;
use std::sync::LazyLock;

/// Samples per frame; frames overlap by half.
pub(super) const FRAME: usize = 512;
/// Frequencies per frame, from 0 to half the sampling rate.
pub(super) const BINS: usize = FRAME / 2 + 1;

/// The points of the unit circle, `FRAME` of them.
pub(super) static CIRCLE: LazyLock<Vec<Complex>> = LazyLock::new(|| {
    (0..FRAME).map(|i| Complex::polar(1.0, TAU * i as f64 / FRAME as f64)).collect()
});

/// The power of every frame at every frequency.
#[derive(Debug)]
pub(super) struct Spectrogram {
    /// `[frames, BINS]`.
    pub power: Vec<f64>,
}

impl Spectrogram {
    /// Of samples that last a frame or longer, Hann's window on each frame.
    pub(super) fn of(samples: &[f64]) -> Self {
        let frames = 2 * samples.len() / FRAME - 1;
        let mut power = Vec::with_capacity(frames * BINS);
        // Two real frames fit into one complex transform.
        for first in (0..frames).step_by(2) {
            let pair = transformed(&windowed(samples, first, first + 1 < frames));
            let split = |bin: usize, sign: f64| {
                let (here, mirrored) = (pair[bin], pair[(FRAME - bin) % FRAME].conjugate());
                0.25 * (here + mirrored.scaled(sign)).power()
            };
            power.extend((0..BINS).map(|bin| split(bin, 1.0)));
            if first + 1 < frames {
                power.extend((0..BINS).map(|bin| split(bin, -1.0)));
            }
        }
        Self { power }
    }

    /// The spectra, in order of time.
    pub(super) fn frames(&self) -> std::slice::ChunksExact<'_, f64> {
        self.power.chunks_exact(BINS)
    }
}

/// A frame as real and the next one, if there is one, as imaginary parts.
fn windowed(samples: &[f64], first: usize, both: bool) -> Vec<Complex> {
    let start = first * FRAME / 2;
    let next = if both { &samples[start + FRAME / 2..] } else { &[] };
    let mut frame: Vec<Complex> = samples[start..start + FRAME]
        .iter()
        .zip(CIRCLE.iter())
        .map(|(sample, point)| Complex { re: sample * (0.5 - 0.5 * point.re), im: 0.0 })
        .collect();
    for ((value, sample), point) in frame.iter_mut().zip(next).zip(CIRCLE.iter()) {
        value.im = sample * (0.5 - 0.5 * point.re);
    }
    frame
}

/// The discrete Fourier transform of `FRAME` values (Cooley and Tukey 1965, radix 2).
fn transformed(values: &[Complex]) -> Vec<Complex> {
    let shift = usize::BITS - FRAME.trailing_zeros();
    let mut values: Vec<Complex> =
        (0..FRAME).map(|index| values[index.reverse_bits() >> shift]).collect();
    let mut half = 1;
    while half < FRAME {
        let stride = FRAME / (2 * half);
        for group in values.chunks_exact_mut(2 * half) {
            let (left, right) = group.split_at_mut(half);
            let twiddles = CIRCLE.iter().step_by(stride);
            for ((left, right), twiddle) in left.iter_mut().zip(right).zip(twiddles) {
                let turned = *right * twiddle.conjugate();
                *right = *left + turned.scaled(-1.0);
                *left += turned;
            }
        }
        half *= 2;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_keeps_to_its_definition() {
        let values: Vec<Complex> = (0..FRAME)
            .map(|i| Complex { re: (i * i % 17) as f64, im: (i * i * i % 23) as f64 })
            .collect();
        let fast = transformed(&values);
        for bin in [0, 1, 7, 255, 256, 300, 511] {
            let mut slow = Complex::default();
            for (index, value) in values.iter().enumerate() {
                slow += *value * CIRCLE[index * bin % FRAME].conjugate();
            }
            assert!((slow + fast[bin].scaled(-1.0)).size() < 1e-8, "{bin}");
        }
    }

    #[test]
    fn a_sine_stands_in_its_own_bin_in_every_frame() {
        let samples: Vec<f64> = (0..3 * FRAME).map(|i| CIRCLE[i * 40 % FRAME].re).collect();
        let spectrogram = Spectrogram::of(&samples);
        assert_eq!(spectrogram.frames().len(), 5);
        for frame in spectrogram.frames() {
            assert!((frame[40].sqrt() - 128.0).abs() < 1e-9);
            assert!(frame[43..].iter().all(|power| *power < 1e-12));
        }
    }
}
