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
    /// Powers of shape `[frames, BINS]`, frame by frame.
    pub power: Vec<f64>,
}

impl Spectrogram {
    /// Of samples that last a frame or longer, Hann's window on each frame.
    pub(super) fn of(samples: &[f64]) -> Self {
        let frames = 2 * samples.len() / FRAME - 1;
        let mut power = Vec::with_capacity(frames * BINS);
        // Two real frames fit into one complex transform.
        for first in (0..frames).step_by(2) {
            let start = first * FRAME / 2;
            let next = samples.get(start + FRAME / 2..start + FRAME / 2 + FRAME);
            let (re, im) = PLAN.transformed(&samples[start..start + FRAME], next);
            // The first frame's spectrum is the half that mirrors into its conjugate.
            let pairs = || re[1..BINS].iter().zip(re[BINS - 1..].iter().rev());
            let pairs = || pairs().zip(im[1..BINS].iter().zip(im[BINS - 1..].iter().rev()));
            let square = |a: f64, b: f64| 0.25 * (a * a + b * b);
            power.push(re[0] * re[0]);
            power.extend(pairs().map(|((a, b), (c, d))| square(a + b, c - d)));
            if next.is_some() {
                power.push(im[0] * im[0]);
                power.extend(pairs().map(|((a, b), (c, d))| square(a - b, c + d)));
            }
        }
        Self { power }
    }

    /// The spectra, in order of time.
    pub(super) fn frames(&self) -> std::slice::ChunksExact<'_, f64> {
        self.power.chunks_exact(BINS)
    }
}

static PLAN: LazyLock<Plan> = LazyLock::new(Plan::new);

/// What all transforms have in common.
struct Plan {
    window: Vec<f64>,
    /// Where each value comes from: places with their bits reversed.
    order: Vec<usize>,
    /// Real and negative imaginary parts of the twiddles from the third stage on, stage by stage.
    twiddles: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Plan {
    fn new() -> Self {
        let shift = usize::BITS - FRAME.trailing_zeros();
        let stage = |half: usize| {
            let twiddles = || CIRCLE.iter().step_by(FRAME / (2 * half)).take(half);
            (twiddles().map(|point| point.re).collect(), twiddles().map(|point| point.im).collect())
        };
        Self {
            window: CIRCLE.iter().map(|point| 0.5 - 0.5 * point.re).collect(),
            order: (0..FRAME).map(|index| index.reverse_bits() >> shift).collect(),
            twiddles: (2..FRAME.trailing_zeros()).map(|place| stage(1 << place)).collect(),
        }
    }

    /// The discrete Fourier transform of two windowed frames, one as real and the other, if
    /// there is one, as imaginary parts (Cooley and Tukey 1965, radix 2).
    fn transformed(&self, real: &[f64], imaginary: Option<&[f64]>) -> ([f64; FRAME], [f64; FRAME]) {
        let (mut re, mut im) = ([0.0; FRAME], [0.0; FRAME]);
        for (value, from) in re.iter_mut().zip(&self.order) {
            *value = real[*from] * self.window[*from];
        }
        if let Some(imaginary) = imaginary {
            for (value, from) in im.iter_mut().zip(&self.order) {
                *value = imaginary[*from] * self.window[*from];
            }
        }
        // The first two stages only turn by whole quarters.
        for (re, im) in re.as_chunks_mut::<4>().0.iter_mut().zip(im.as_chunks_mut::<4>().0) {
            let ([a, b, c, d], [p, q, r, s]) = (*re, *im);
            *re = [(a + b) + (c + d), (a - b) + (r - s), (a + b) - (c + d), (a - b) - (r - s)];
            *im = [(p + q) + (r + s), (p - q) - (c - d), (p + q) - (r + s), (p - q) + (c - d)];
        }
        for (cosines, sines) in &self.twiddles {
            let half = cosines.len();
            let groups = re.chunks_exact_mut(2 * half).zip(im.chunks_exact_mut(2 * half));
            for (re, im) in groups {
                let ((left_re, right_re), (left_im, right_im)) =
                    (re.split_at_mut(half), im.split_at_mut(half));
                let right = right_re.iter_mut().zip(right_im);
                let left = left_re.iter_mut().zip(left_im);
                for (((left_re, left_im), (right_re, right_im)), (cosine, sine)) in
                    left.zip(right).zip(cosines.iter().zip(sines))
                {
                    let turned_re = *right_re * cosine + *right_im * sine;
                    let turned_im = *right_im * cosine - *right_re * sine;
                    *right_re = *left_re - turned_re;
                    *right_im = *left_im - turned_im;
                    *left_re += turned_re;
                    *left_im += turned_im;
                }
            }
        }
        (re, im)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_keeps_to_its_definition() {
        let real: Vec<f64> = (0..FRAME).map(|i| (i * i % 17) as f64).collect();
        let imaginary: Vec<f64> = (0..FRAME).map(|i| (i * i * i % 23) as f64).collect();
        let (re, im) = PLAN.transformed(&real, Some(&imaginary));
        for bin in [0, 1, 7, 255, 256, 300, 511] {
            let mut slow = Complex::default();
            for (index, weight) in PLAN.window.iter().enumerate() {
                let value = Complex { re: real[index], im: imaginary[index] };
                slow += value.scaled(*weight) * CIRCLE[index * bin % FRAME].conjugate();
            }
            let fast = Complex { re: re[bin], im: im[bin] };
            assert!((slow + fast.scaled(-1.0)).size() < 1e-8, "{bin}");
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
