//! Oscillators that follow a gliding pitch, and complex numbers by angle.
//!
//! Sines, angles and sizes of `num_complex` come from the system's C library, which may round
//! differently on another processor; those here come from `libm`.

use super::level::RATE;
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;
use std::ops::{AddAssign, Mul};

/// Numbers that are computed side by side.
pub(super) const LANES: usize = 4;
/// The point at angle 0 on the unit circle.
pub(super) const ONE: Complex<f64> = Complex { re: 1.0, im: 0.0 };

/// The point at this angle on the circle of this radius.
pub(super) fn polar(radius: f64, angle: f64) -> Complex<f64> {
    Complex::new(radius * libm::cos(angle), radius * libm::sin(angle))
}

/// The distance from 0.
pub(super) fn size(point: Complex<f64>) -> f64 {
    point.norm_sqr().sqrt()
}

/// The angle of a point, from -π to π.
pub(super) fn angle(point: Complex<f64>) -> f64 {
    libm::atan2(point.im, point.re)
}

/// Turns with the pitch f(t) = pitch · (1 + chirp · (t/count − 1/2)), one value per sample.
///
/// Both the point and its step are rotated, so no sample costs a sine. Rounding adds up to less
/// than 1e-8 over a recording.
#[derive(Debug, Clone)]
pub(super) struct Oscillator {
    now: Complex<f64>,
    step: Complex<f64>,
    bend: Complex<f64>,
}

impl Oscillator {
    /// Begins at angle 0; a negative pitch turns backwards. Pitch and sampling rate are in hertz.
    pub(super) fn gliding([pitch, rate]: [f64; 2], chirp: f64, count: usize) -> Self {
        let first = TAU * pitch / rate;
        // The phase is first · (t (1 − chirp/2) + t² chirp / (2 count)).
        let curve = chirp / (2.0 * count as f64);
        Self {
            now: ONE,
            step: polar(1.0, first * (1.0 - chirp / 2.0 + curve)),
            bend: polar(1.0, first * 2.0 * curve),
        }
    }

    /// Begins at angle 0 and keeps one pitch. Pitch and sampling rate are in hertz.
    pub(super) fn steady(pitch: f64, rate: f64) -> Self {
        Self::gliding([pitch, rate], 0.0, 1)
    }

    /// The point, before it moves on.
    pub(super) fn next(&mut self) -> Complex<f64> {
        let now = self.now;
        self.now = now * self.step;
        self.step *= self.bend;
        now
    }
}

/// Complex numbers side by side, so that several are computed at once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lanes {
    re: [f64; LANES],
    im: [f64; LANES],
}

impl Lanes {
    fn each(of: impl Fn(usize) -> Complex<f64>) -> Self {
        let points: [Complex<f64>; LANES] = std::array::from_fn(of);
        Self { re: points.map(|point| point.re), im: points.map(|point| point.im) }
    }

    /// Each times a factor of its own.
    pub(super) fn scaled(self, factors: &[f64; LANES]) -> Self {
        let times = |values: [f64; LANES]| std::array::from_fn(|lane| values[lane] * factors[lane]);
        Self { re: times(self.re), im: times(self.im) }
    }

    /// The sum of all.
    pub(super) fn sum(self) -> Complex<f64> {
        let [re, im] = [self.re, self.im].map(|[a, b, c, d]| (a + b) + (c + d));
        Complex { re, im }
    }
}

impl AddAssign for Lanes {
    fn add_assign(&mut self, other: Self) {
        for lane in 0..LANES {
            self.re[lane] += other.re[lane];
            self.im[lane] += other.im[lane];
        }
    }
}

impl Mul for Lanes {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            re: std::array::from_fn(|lane| {
                self.re[lane] * other.re[lane] - self.im[lane] * other.im[lane]
            }),
            im: std::array::from_fn(|lane| {
                self.re[lane] * other.im[lane] + self.im[lane] * other.re[lane]
            }),
        }
    }
}

/// What [`Oscillator`] gives at the [`RATE`] of recordings, [`LANES`] values at a time.
#[derive(Debug, Clone)]
pub(super) struct Oscillators {
    now: Lanes,
    step: Lanes,
    bend: Lanes,
}

impl Oscillators {
    /// Begins at angle 0; a negative pitch turns backwards.
    pub(super) fn gliding(pitch: f64, chirp: f64, count: usize) -> Self {
        let first = TAU * pitch / RATE;
        let curve = chirp / (2.0 * count as f64);
        let angle = |t: usize| {
            let t = t as f64;
            first * (t * (1.0 - chirp / 2.0) + t * t * curve)
        };
        let stride = LANES as f64;
        Self {
            now: Lanes::each(|lane| polar(1.0, angle(lane))),
            step: Lanes::each(|lane| polar(1.0, angle(lane + LANES) - angle(lane))),
            bend: Lanes::each(|_| polar(1.0, first * 2.0 * curve * stride * stride)),
        }
    }

    /// The points, before they move on.
    #[inline]
    pub(super) fn next(&mut self) -> Lanes {
        let now = self.now;
        self.now = now * self.step;
        self.step = self.step * self.bend;
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oscillator_keeps_to_its_formula() {
        let (pitch, chirp, count) = (311.0, -0.2, 8000);
        let mut oscillator = Oscillator::gliding([pitch, RATE], chirp, count);
        let mut several = Oscillators::gliding(pitch, chirp, count);
        let mut points = Lanes::default();
        for t in 0..count {
            if t % LANES == 0 {
                points = several.next();
            }
            let beside = Complex { re: points.re[t % LANES], im: points.im[t % LANES] };
            let t = t as f64;
            let turns = pitch / RATE * t * (1.0 - chirp / 2.0 + chirp * t / (2.0 * count as f64));
            let expected = polar(1.0, TAU * turns);
            for found in [oscillator.next(), beside] {
                let error = size(found - expected);
                assert!(error < 1e-8, "{t}: {error}");
            }
        }
    }
}
