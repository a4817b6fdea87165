//! The strongest wave in a picture.

use crate::numeric::draws::floor;
use crate::numeric::fourier::{forward, hann};
use ndarray::Array2;
use rustfft::num_complex::Complex;

/// The shortest and longest wavelength looked for, in pixels: a little wider than is drawn.
const PERIODS: (f64, f64) = (4.8, 12.5);
/// Keeps logarithms finite and divisors away from 0.
const TINY: f64 = 1e-12;

/// The frequency with the highest power, in cycles per side across (not negative) and down.
///
/// The transform is that of the picture under Hann's window, at whole frequencies; a parabola
/// through the logarithms of the power around its peak finds the fraction.
pub(super) fn strongest(rest: &Array2<f64>) -> (f64, f64) {
    let side = rest.nrows();
    let longest = floor(side as f64 / PERIODS.0) + 1;
    let middle = longest + 1;
    let power = power(rest, middle);
    let (low, high) = (side as f64 / PERIODS.1, side as f64 / PERIODS.0);
    let mut best = (0.0, 1, middle);
    for across in 0..=longest {
        for down in 1..2 * middle {
            let frequency = (across as f64, down as f64 - middle as f64);
            let square = frequency.0 * frequency.0 + frequency.1 * frequency.1;
            let inside = square >= low * low && square <= high * high;
            if inside && power[(across, down)] > best.0 {
                best = (power[(across, down)], across, down);
            }
        }
    }
    let (_, across, down) = best;
    let here = power[(across, down)];
    // The spectrum of real numbers is symmetric about its origin.
    let before =
        if across == 0 { power[(1, 2 * middle - down)] } else { power[(across - 1, down)] };
    let shift_across = summit(before, here, power[(across + 1, down)]);
    let shift_down = summit(power[(across, down - 1)], here, power[(across, down + 1)]);
    (across as f64 + shift_across, down as f64 - middle as f64 + shift_down)
}

/// Where the parabola through three logarithms of power has its top, from the middle one.
fn summit(before: f64, here: f64, after: f64) -> f64 {
    let [a, b, c] = [before, here, after].map(|power| libm::log(power + TINY));
    let bend = a - 2.0 * b + c;
    if bend > -TINY { 0.0 } else { (0.5 * (a - c) / bend).clamp(-0.5, 0.5) }
}

/// Power at frequencies `0..=most` across and `-most..=most` down: `[most + 1, 2 * most + 1]`.
fn power(rest: &Array2<f64>, most: usize) -> Array2<f64> {
    let side = rest.nrows();
    let (window, transform) = (hann(side), forward(side));
    let mut rows = Vec::with_capacity(side * side);
    for (row, own) in rest.rows().into_iter().zip(&window) {
        rows.extend(row.iter().zip(&window).map(|(value, w)| Complex::from(own * w * value)));
    }
    transform.process(&mut rows);
    // Of the rows' transforms, only the frequencies that are looked at go on.
    let mut columns = Vec::with_capacity((most + 1) * side);
    for across in 0..=most {
        columns.extend(rows.iter().skip(across).step_by(side));
    }
    transform.process(&mut columns);
    Array2::from_shape_fn((most + 1, 2 * most + 1), |(across, down)| {
        // Frequencies upwards stand behind those downwards.
        columns[across * side + (down + side - most) % side].norm_sqr()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn wave(side: usize, across: f64, down: f64) -> Array2<f64> {
        Array2::from_shape_fn((side, side), |(y, x)| {
            libm::cos(TAU * (across * x as f64 + down * y as f64) / side as f64)
        })
    }

    #[test]
    fn the_power_keeps_to_its_definition() {
        let (side, most) = (16, 5);
        let picture = Array2::from_shape_fn((side, side), |(y, x)| ((y * y + 3 * x) % 7) as f64);
        let (power, window) = (power(&picture, most), hann(side));
        for ((across, down), power) in power.indexed_iter() {
            let mut sum = Complex::new(0.0, 0.0);
            for ((y, x), value) in picture.indexed_iter() {
                let turns = across * x + (down + side - most) * y;
                let angle = -TAU * turns as f64 / side as f64;
                let turn = Complex::new(libm::cos(angle), libm::sin(angle));
                sum += turn * (window[y] * window[x] * value);
            }
            assert!((sum.norm_sqr() - power).abs() < 1e-9, "{across} {down}");
        }
    }

    #[test]
    fn a_wave_is_found_between_whole_frequencies() {
        for (across, down) in [(6.3, 4.2), (1.3, 7.4), (5.5, -6.1), (8.9, 0.2)] {
            let (found_across, found_down) = strongest(&wave(56, across, down));
            let error = (found_across - across).abs() + (found_down - down).abs();
            assert!(error < 0.2, "{across} {down}: {found_across} {found_down}");
        }
    }
}
