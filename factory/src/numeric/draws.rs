//! Draws from a stream, with the same bits on every platform.
//!
//! Transcendental functions come from `libm`, never from the platform's mathematics library.

use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use tasks::stream::Stream;

/// A generator with the few distributions that the factory needs.
#[derive(Debug, Clone)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// Starts at the beginning of `stream`.
    pub fn new(stream: Stream) -> Self {
        Self(stream.rng())
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0.random::<f64>()
    }

    /// As many draws of [`Draws::unit`] as there is room for, quicker than one by one.
    pub fn units(&mut self, room: &mut [f64]) {
        const CHUNK: usize = 64;
        // The top 53 bits of a word, as `unit` takes them.
        const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
        let mut bytes = [0; 8 * CHUNK];
        for room in room.chunks_mut(CHUNK) {
            let bytes = &mut bytes[..8 * room.len()];
            self.0.fill_bytes(bytes);
            for (value, word) in room.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *value = (u64::from_le_bytes(*word) >> 11) as f64 * SCALE;
            }
        }
    }

    /// Uniform in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A whole number in `low..=high`.
    pub fn whole(&mut self, low: usize, high: usize) -> usize {
        let width = (high - low + 1) as f64;
        low + floor(self.unit() * width).min(high - low)
    }

    /// A draw from the normal distribution with mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        // Keeps clear of the two infinities.
        normal_quantile(self.unit().clamp(1e-12, 1.0 - 1e-12))
    }

    /// A draw from the logistic distribution with mean 0 and scale 1.
    pub fn logistic(&mut self) -> f64 {
        let u = self.unit().clamp(1e-12, 1.0 - 1e-12);
        libm::log(u / (1.0 - u))
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.whole(0, items.len() - 1)]
    }

    /// An index, with probability proportional to its weight.
    pub fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        for (index, weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return index;
            }
        }
        weights.len() - 1
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.whole(0, last));
        }
    }
}

/// The whole part of a value that is known to be small and not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and positions, far below 2^53; a float cast saturates"
)]
pub fn floor(value: f64) -> usize {
    value as usize
}

/// The standard normal distribution function.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// The logistic function 1 / (1 + e^-x).
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// The inverse of [`normal_cdf`] by Newton steps.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    // The logistic approximation is close enough to start from.
    let mut z = libm::log(p / (1.0 - p)) / 1.702;
    for _ in 0..50 {
        let density = libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * std::f64::consts::PI);
        if density < 1e-300 {
            break;
        }
        let step = (normal_cdf(z) - p) / density;
        z -= step.clamp(-1.0, 1.0);
        if step.abs() < 1e-13 {
            break;
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_inverts_the_distribution() {
        for p in [1e-9, 0.001, 0.2, 0.5, 0.9, 0.999_999] {
            assert!((normal_cdf(normal_quantile(p)) / p - 1.0).abs() < 1e-9, "{p}");
        }
    }

    #[test]
    fn many_units_are_those_drawn_one_by_one() {
        let mut single = Draws::new(Stream::root(3));
        let mut several = single.clone();
        for count in [1, 200, 64, 7] {
            let mut room = vec![0.0; count];
            several.units(&mut room);
            assert!(room.iter().all(|value| *value == single.unit()));
        }
    }

    #[test]
    fn normals_have_mean_zero_and_unit_variance() {
        let mut draws = Draws::new(Stream::root(1));
        let values: Vec<f64> = (0..20_000).map(|_| draws.normal()).collect();
        let mean = values.iter().sum::<f64>() / 20_000.0;
        let square = values.iter().map(|v| v * v).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.04);
    }

    #[test]
    fn whole_numbers_cover_their_range() {
        let mut draws = Draws::new(Stream::root(2));
        let mut seen = [false; 4];
        (0..200).for_each(|_| seen[draws.whole(3, 6) - 3] = true);
        assert_eq!(seen, [true; 4]);
    }
}
