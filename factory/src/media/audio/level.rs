//! Sampling, and levels in decibels.

/// Sampling rate, in samples per second.
pub(super) const RATE: f64 = 8000.0;
/// Recordings last whole multiples of this many samples, so that segments, frames and blocks
/// all fit.
pub(super) const UNIT: usize = 256;
/// Added to powers before logarithms and divisions: far below the rounding of 16 bits.
pub(super) const TINY: f64 = 1e-12;

/// The level of a power in decibels.
pub(super) fn decibels(power: f64) -> f64 {
    10.0 * libm::log10(power + TINY)
}

/// The amplitude that is this many decibels above 1.
pub(super) fn amplitude(decibels: f64) -> f64 {
    libm::exp(decibels * (std::f64::consts::LN_10 / 20.0))
}

/// The mean of values of which there is one at least.
pub(super) fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// The sum of the squares, in four running sums that need not wait for each other.
pub(super) fn squares(samples: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    for four in samples.as_chunks::<4>().0 {
        sums.iter_mut().zip(four).for_each(|(sum, sample)| *sum += sample * sample);
    }
    sums.iter().sum()
}
