//! The tone's level over time: a straight line and one swinging, in decibels.

use super::envelope::{INTERVAL, STEP};
use super::level::{TINY, UNIT, decibels, mean};
use super::oscillator::{ONE, polar};
use super::wav::LONGEST;
use std::f64::consts::TAU;
use std::sync::OnceLock;

/// The search's first rate, the distance of neighbours and their number.
const RATES: (f64, f64, usize) = (4.0, 0.5, 26);
/// Distance of the rates of the second, finer search.
const FINE: f64 = 0.15;
/// Moments at which the tone is weaker than this share of its mean are noise.
const FAINT: f64 = 0.05;

/// How the tone's level moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tremolo {
    /// Decibels from begin to end.
    pub swell: f64,
    /// Decibels to either side.
    pub depth: f64,
    /// Rate of the tremolo, in hertz.
    pub rate: f64,
}

/// Two coefficients fitted by least squares, and how much of the variation they explain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    /// Coefficient of the first regressor.
    pub first: f64,
    /// Coefficient of the second regressor.
    pub second: f64,
    /// What the sum of squares loses.
    explained: f64,
}

impl Fit {
    /// Fits `values` by two regressors. Levels and trends must have been taken out.
    pub(super) fn of(values: &[f64], first: &[f64], second: &[f64]) -> Self {
        Swing::new(first.to_vec(), second.to_vec()).fit(values)
    }
}

/// Two regressors, and what of their fit does not depend on the values.
#[derive(Debug)]
struct Swing {
    first: Vec<f64>,
    second: Vec<f64>,
    /// Sums of squares of either and of products.
    squares: [f64; 3],
}

impl Swing {
    fn new(first: Vec<f64>, second: Vec<f64>) -> Self {
        let (mut aa, mut bb, mut ab) = (TINY, TINY, 0.0);
        for (a, b) in first.iter().zip(&second) {
            aa += a * a;
            bb += b * b;
            ab += a * b;
        }
        Self { first, second, squares: [aa, bb, ab] }
    }

    fn fit(&self, values: &[f64]) -> Fit {
        let [aa, bb, ab] = self.squares;
        let (mut ay, mut by) = (0.0, 0.0);
        for ((y, a), b) in values.iter().zip(&self.first).zip(&self.second) {
            ay += a * y;
            by += b * y;
        }
        let determinant = aa * bb - ab * ab;
        let first = (bb * ay - ab * by) / determinant;
        let second = (aa * by - ab * ay) / determinant;
        Fit { first, second, explained: first * ay + second * by }
    }
}

/// Least squares on line, cosine and sine; the rate is the one that explains most.
pub(super) fn fitted(amplitude: &[f64]) -> Tremolo {
    let faintest = FAINT * mean(amplitude.iter().copied());
    let mut level: Vec<f64> = amplitude.iter().map(|a| 2.0 * decibels(a.max(faintest))).collect();
    let time = Time::of(level.len());
    let mean = mean(level.iter().copied());
    for value in &mut level {
        *value -= mean;
    }
    let mut rest = level.clone();
    time.flatten(&mut rest);

    let explained = |rate: f64| time.swing(&rest, rate).explained;
    let (first, step, count) = RATES;
    let at = |index: usize| first + step * index as f64;
    let powers: Vec<f64> = time.swings.iter().map(|swing| swing.fit(&rest).explained).collect();
    let mut best = 1;
    for index in 2..count - 1 {
        if powers[index] > powers[best] {
            best = index;
        }
    }
    let coarse = at(best) + step * vertex([powers[best - 1], powers[best], powers[best + 1]]);
    let near = [coarse - FINE, coarse, coarse + FINE].map(explained);
    let rate = coarse + FINE * vertex(near);

    let Fit { first, second, .. } = time.swing(&rest, rate);
    // The line is what is left without the swinging.
    for (index, value) in level.iter_mut().enumerate() {
        let turn = TAU * rate * INTERVAL * index as f64;
        *value -= first * libm::cos(turn) + second * libm::sin(turn);
    }
    let swell = time.slope(&level) * (level.len() + 1) as f64;
    Tremolo { swell, depth: (first * first + second * second).sqrt(), rate }
}

/// Where the parabola through three neighbours peaks, in steps from the middle one.
fn vertex([left, middle, right]: [f64; 3]) -> f64 {
    let bend = left - 2.0 * middle + right;
    if bend > -TINY { 0.0 } else { (0.5 * (left - right) / bend).clamp(-1.0, 1.0) }
}

/// Positions of envelope values, in steps from their middle.
#[derive(Debug)]
struct Time {
    positions: Vec<f64>,
    square: f64,
    /// At the rates of the first search.
    swings: Vec<Swing>,
}

impl Time {
    /// For so many values, made once for as many as recordings give.
    fn of(count: usize) -> &'static Self {
        static TIMES: [OnceLock<Time>; LONGEST * UNIT / STEP] =
            [const { OnceLock::new() }; LONGEST * UNIT / STEP];
        TIMES[count].get_or_init(|| Self::new(count))
    }

    fn new(count: usize) -> Self {
        let middle = 0.5 * (count as f64 - 1.0);
        let positions: Vec<f64> = (0..count).map(|index| index as f64 - middle).collect();
        let square = positions.iter().map(|u| u * u).sum();
        let mut time = Self { positions, square, swings: Vec::new() };
        let (first, step, rates) = RATES;
        time.swings = (0..rates).map(|index| time.swinging(first + step * index as f64)).collect();
        time
    }

    /// The slope of the line through values.
    fn slope(&self, values: &[f64]) -> f64 {
        values.iter().zip(&self.positions).map(|(value, u)| value * u).sum::<f64>() / self.square
    }

    /// Takes the mean and the line out.
    fn flatten(&self, values: &mut [f64]) {
        let mean = mean(values.iter().copied());
        let slope = self.slope(values);
        for (value, u) in values.iter_mut().zip(&self.positions) {
            *value -= mean + slope * u;
        }
    }

    /// The swinging of flattened values at a rate.
    fn swing(&self, rest: &[f64], rate: f64) -> Fit {
        self.swinging(rate).fit(rest)
    }

    /// Flattened cosine and sine of a rate.
    fn swinging(&self, rate: f64) -> Swing {
        let turn = polar(1.0, TAU * rate * INTERVAL);
        let mut point = ONE;
        let count = self.positions.len();
        let (mut cosine, mut sine) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for _ in 0..count {
            cosine.push(point.re);
            sine.push(point.im);
            point *= turn;
        }
        self.flatten(&mut cosine);
        self.flatten(&mut sine);
        Swing::new(cosine, sine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::audio::level::amplitude;

    #[test]
    fn a_line_and_a_swing_are_told_apart() {
        for (swell, depth, rate) in [(4.0, 2.0, 5.3), (-6.0, 1.0, 14.8), (0.0, 5.0, 9.1)] {
            let count = 90_u8;
            let level: Vec<f64> = (0..count)
                .map(|index| {
                    let t = f64::from(index);
                    let line = swell * t / (f64::from(count) + 1.0);
                    amplitude(line + depth * libm::cos(1.0 + TAU * rate * INTERVAL * t))
                })
                .collect();
            let found = fitted(&level);
            assert!((found.swell - swell).abs() < 0.1, "{found:?}");
            assert!((found.depth - depth).abs() < 0.1, "{found:?}");
            assert!((found.rate - rate).abs() < 0.1, "{found:?}");
        }
    }
}
