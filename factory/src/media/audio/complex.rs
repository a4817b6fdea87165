//! Complex numbers, and the oscillator that follows a gliding pitch.

use super::level::RATE;
use std::f64::consts::TAU;
use std::ops::{Add, AddAssign, Mul};

/// Numbers that are computed side by side.
pub(super) const LANES: usize = 4;

/// A complex number in double precision.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Complex {
    /// Real part of the number.
    pub re: f64,
    /// Imaginary part of the number.
    pub im: f64,
}

impl Complex {
    pub(super) const ONE: Self = Self { re: 1.0, im: 0.0 };

    /// The point at this angle on the circle of this radius.
    pub(super) fn polar(radius: f64, angle: f64) -> Self {
        Self { re: radius * libm::cos(angle), im: radius * libm::sin(angle) }
    }

    pub(super) fn conjugate(self) -> Self {
        Self { re: self.re, im: -self.im }
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { re: self.re * factor, im: self.im * factor }
    }

    pub(super) fn power(self) -> f64 {
        self.re * self.re + self.im * self.im
    }

    pub(super) fn size(self) -> f64 {
        self.power().sqrt()
    }

    pub(super) fn angle(self) -> f64 {
        libm::atan2(self.im, self.re)
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl AddAssign for Complex {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

/// Turns with the pitch f(t) = pitch · (1 + chirp · (t/count − 1/2)), one value per sample.
///
/// Both the point and its step are rotated, so no sample costs a sine. Rounding adds up to less
/// than 1e-8 over a recording.
#[derive(Debug, Clone)]
pub(super) struct Oscillator {
    now: Complex,
    step: Complex,
    bend: Complex,
}

impl Oscillator {
    /// Begins at angle 0; a negative pitch turns backwards.
    pub(super) fn gliding(pitch: f64, chirp: f64, count: usize) -> Self {
        let first = TAU * pitch / RATE;
        // The phase is first · (t (1 − chirp/2) + t² chirp / (2 count)).
        let curve = chirp / (2.0 * count as f64);
        Self {
            now: Complex::ONE,
            step: Complex::polar(1.0, first * (1.0 - chirp / 2.0 + curve)),
            bend: Complex::polar(1.0, first * 2.0 * curve),
        }
    }

    /// Begins at angle 0 and keeps one pitch, in hertz.
    pub(super) fn steady(pitch: f64) -> Self {
        Self::gliding(pitch, 0.0, 1)
    }

    /// The point, before it moves on.
    pub(super) fn next(&mut self) -> Complex {
        let now = self.now;
        self.now = now * self.step;
        self.step = self.step * self.bend;
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
    fn each(of: impl Fn(usize) -> Complex) -> Self {
        let points: [Complex; LANES] = std::array::from_fn(of);
        Self { re: points.map(|point| point.re), im: points.map(|point| point.im) }
    }

    /// Each times a factor of its own.
    pub(super) fn scaled(self, factors: &[f64; LANES]) -> Self {
        let times = |values: [f64; LANES]| std::array::from_fn(|lane| values[lane] * factors[lane]);
        Self { re: times(self.re), im: times(self.im) }
    }

    /// The sum of all.
    pub(super) fn sum(self) -> Complex {
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

/// What [`Oscillator`] gives, [`LANES`] values at a time.
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
            now: Lanes::each(|lane| Complex::polar(1.0, angle(lane))),
            step: Lanes::each(|lane| Complex::polar(1.0, angle(lane + LANES) - angle(lane))),
            bend: Lanes::each(|_| Complex::polar(1.0, first * 2.0 * curve * stride * stride)),
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
        let mut oscillator = Oscillator::gliding(pitch, chirp, count);
        let mut several = Oscillators::gliding(pitch, chirp, count);
        let mut points = Lanes::default();
        for t in 0..count {
            if t % LANES == 0 {
                points = several.next();
            }
            let beside = Complex { re: points.re[t % LANES], im: points.im[t % LANES] };
            let t = t as f64;
            let turns = pitch / RATE * t * (1.0 - chirp / 2.0 + chirp * t / (2.0 * count as f64));
            let expected = Complex::polar(1.0, TAU * turns);
            let error = oscillator.next() + expected.scaled(-1.0);
            assert!(error.size() < 1e-8, "{t}: {}", error.size());
            let error = beside + expected.scaled(-1.0);
            assert!(error.size() < 1e-8, "{t}: {}", error.size());
        }
    }
}
