//! The strongest wave in a picture.

use super::grid::Grid;
use crate::numeric::draws::floor;

/// The shortest and longest wavelength looked for, in pixels: a little wider than is drawn.
const PERIODS: (f64, f64) = (4.8, 12.5);
/// Keeps logarithms finite and divisors away from 0.
const TINY: f64 = 1e-12;

/// The frequency with the highest power, in cycles per side across (not negative) and down.
///
/// The transform is that of the picture under Hann's window, at whole frequencies; a parabola
/// through the logarithms of the power around its peak finds the fraction.
pub(super) fn strongest(rest: &Grid) -> (f64, f64) {
    let side = rest.side;
    let longest = floor(side as f64 / PERIODS.0) + 1;
    let power = power(rest, longest + 1);
    let (low, high) = (side as f64 / PERIODS.1, side as f64 / PERIODS.0);
    let mut best = (0.0, 1, longest + 1);
    for (across, powers) in power.iter().enumerate().take(longest + 1) {
        for (down, power) in powers.iter().enumerate().take(2 * longest + 2).skip(1) {
            let frequency = (across as f64, down as f64 - (longest + 1) as f64);
            let square = frequency.0 * frequency.0 + frequency.1 * frequency.1;
            let inside = square >= low * low && square <= high * high;
            if inside && *power > best.0 {
                best = (*power, across, down);
            }
        }
    }
    let (_, across, down) = best;
    let middle = longest + 1;
    // The spectrum of real numbers is symmetric about its origin.
    let before = if across == 0 { power[1][2 * middle - down] } else { power[across - 1][down] };
    let here = power[across][down];
    let shift_across = summit(before, here, power[across + 1][down]);
    let shift_down = summit(power[across][down - 1], here, power[across][down + 1]);
    (across as f64 + shift_across, down as f64 - middle as f64 + shift_down)
}

/// Where the parabola through three logarithms of power has its top, from the middle one.
fn summit(before: f64, here: f64, after: f64) -> f64 {
    let [a, b, c] = [before, here, after].map(|power| libm::log(power + TINY));
    let bend = a - 2.0 * b + c;
    if bend > -TINY { 0.0 } else { (0.5 * (a - c) / bend).clamp(-0.5, 0.5) }
}

/// Power at frequencies `0..=most` across (outer) and `-most..=most` down (inner).
///
/// Positions k and side - k have the same cosine and opposite sines, so rows, and then columns,
/// are first folded into sums and differences of such pairs: half the products do.
fn power(rest: &Grid, most: usize) -> Vec<Vec<f64>> {
    let circle = Circle::of(rest.side, most);
    let mut power = vec![vec![0.0; 2 * most + 1]; most + 1];
    let (even, odd) = folded_rows(rest, &circle);
    for down in 0..=most {
        // The transform of every column at this frequency is cosines - i sines.
        let cosines = combined(&even, circle.cosines(down), rest.side);
        let sines = combined(&odd, circle.sines(down), rest.side);
        let [cc, cs] = circle.transformed(&cosines);
        let [sc, ss] = circle.transformed(&sines);
        for across in 0..=most {
            let (a, b, c, d) = (cc[across], cs[across], sc[across], ss[across]);
            // (a - i b) - i (c - i d), and with + for the frequency upwards.
            power[across][most + down] = (a - d) * (a - d) + (b + c) * (b + c);
            power[across][most - down] = (a + d) * (a + d) + (b - c) * (b - c);
        }
    }
    power
}

/// Sums of rows that mirror each other and their differences, under the window: one row per
/// position from 0 to the middle.
fn folded_rows(rest: &Grid, circle: &Circle) -> (Vec<f64>, Vec<f64>) {
    let side = rest.side;
    let window = circle.window();
    let row = |y: usize| &rest.values[y * side..(y + 1) * side];
    let (mut even, mut odd) = (Vec::new(), Vec::new());
    for y in 0..circle.half {
        let mirrored = (side - y) % side;
        // Positions that are their own mirror images count once.
        let other = if mirrored == y { 0.0 } else { window[y] };
        let pairs = || row(y).iter().zip(row(mirrored)).zip(&window);
        even.extend(pairs().map(|((a, b), w)| w * (window[y] * a + other * b)));
        odd.extend(pairs().map(|((a, b), w)| w * (window[y] * a - other * b)));
    }
    (even, odd)
}

/// The sum of rows, each times its factor.
fn combined(rows: &[f64], factors: &[f64], side: usize) -> Vec<f64> {
    let mut sums = vec![0.0; side];
    for (row, factor) in rows.chunks_exact(side).zip(factors) {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += factor * value);
    }
    sums
}

/// Cosines and sines of whole frequencies at positions from 0 to the middle.
struct Circle {
    side: usize,
    /// Positions up to the middle.
    half: usize,
    /// Number of frequencies, which begin at 0.
    count: usize,
    /// `[count, half]`, and the same transposed.
    cosines: [Vec<f64>; 2],
    /// `[count, half]`, and the same transposed.
    sines: [Vec<f64>; 2],
}

impl Circle {
    /// For frequencies up to `most`.
    fn of(side: usize, most: usize) -> Self {
        let turn = 2.0 * std::f64::consts::PI / side as f64;
        let points: Vec<(f64, f64)> = (0..side)
            .map(|step| (libm::sin(turn * step as f64), libm::cos(turn * step as f64)))
            .collect();
        let (half, count) = (side / 2 + 1, most + 1);
        let at = |frequency: usize, position: usize| points[frequency * position % side];
        let outer = || (0..count).flat_map(|f| (0..half).map(move |p| (f, p)));
        let inner = || (0..half).flat_map(|p| (0..count).map(move |f| (f, p)));
        Self {
            side,
            half,
            count,
            cosines: [
                outer().map(|(f, p)| at(f, p).1).collect(),
                inner().map(|(f, p)| at(f, p).1).collect(),
            ],
            sines: [
                outer().map(|(f, p)| at(f, p).0).collect(),
                inner().map(|(f, p)| at(f, p).0).collect(),
            ],
        }
    }

    fn cosines(&self, frequency: usize) -> &[f64] {
        &self.cosines[0][frequency * self.half..(frequency + 1) * self.half]
    }

    fn sines(&self, frequency: usize) -> &[f64] {
        &self.sines[0][frequency * self.half..(frequency + 1) * self.half]
    }

    /// Hann's window: one weight per pixel along an edge.
    fn window(&self) -> Vec<f64> {
        let first = self.cosines(1);
        (0..self.side).map(|p| 0.5 - 0.5 * first[p.min(self.side - p)]).collect()
    }

    /// Sums of values times cosines, and times sines, for every frequency.
    fn transformed(&self, values: &[f64]) -> [Vec<f64>; 2] {
        let mut sums = [vec![0.0; self.count], vec![0.0; self.count]];
        let [cosines, sines] =
            [&self.cosines[1], &self.sines[1]].map(|t| t.chunks_exact(self.count));
        for (position, (cosines, sines)) in cosines.zip(sines).enumerate() {
            let mirrored = (self.side - position) % self.side;
            let other = if mirrored == position { 0.0 } else { values[mirrored] };
            let (even, odd) = (values[position] + other, values[position] - other);
            sums[0].iter_mut().zip(cosines).for_each(|(sum, cosine)| *sum += even * cosine);
            sums[1].iter_mut().zip(sines).for_each(|(sum, sine)| *sum += odd * sine);
        }
        sums
    }
}
