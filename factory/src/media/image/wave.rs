//! Plane waves on a grid.

use super::picture::{rows, rows_mut};
use ndarray::Array2;

/// A wave of some frequency over a square grid, from tables: the sine of a sum needs no more
/// than the sines of its parts.
#[derive(Debug)]
pub(crate) struct Wave {
    /// Sine and cosine of the phase along a row.
    across: Vec<(f64, f64)>,
    /// Sine and cosine of the phase down a column.
    down: Vec<(f64, f64)>,
}

impl Wave {
    /// With cycles per pixel across and down, and the phase at the first pixel.
    pub(crate) fn new(side: usize, frequency: (f64, f64), phase: f64) -> Self {
        Self { across: table(side, frequency.0, phase), down: table(side, frequency.1, 0.0) }
    }

    /// Sine and cosine of the phase at a pixel, given as row and column.
    pub(crate) fn at(&self, (y, x): (usize, usize)) -> (f64, f64) {
        let ((sa, ca), (sb, cb)) = (self.across[x], self.down[y]);
        (sa * cb + ca * sb, ca * cb - sa * sb)
    }

    /// Adds the sines of the phases to a grid.
    pub(crate) fn add_sines(&self, grid: &mut Array2<f64>) {
        for (row, (sine, cosine)) in rows_mut(grid).zip(&self.down) {
            for (value, (own_sine, own_cosine)) in row.iter_mut().zip(&self.across) {
                *value += own_sine * cosine + own_cosine * sine;
            }
        }
    }

    /// The grid shifted down by this frequency (multiplied by e^(-i phase)): real and imaginary
    /// parts, summed over two by two pixels.
    pub(crate) fn demodulated(&self, grid: &Array2<f64>) -> [Array2<f64>; 2] {
        let half = grid.nrows() / 2;
        let [mut real, mut imaginary] = [(); 2].map(|()| Array2::zeros((half, half)));
        let turns = self.across.as_chunks::<2>().0;
        let mut lines = rows(grid).zip(&self.down);
        for (real, imaginary) in rows_mut(&mut real).zip(rows_mut(&mut imaginary)) {
            for (row, (sine, cosine)) in lines.by_ref().take(2) {
                let pairs = row.as_chunks::<2>().0.iter().zip(turns);
                for (([a, b], [(sa, ca), (sb, cb)]), (real, imaginary)) in
                    pairs.zip(real.iter_mut().zip(&mut *imaginary))
                {
                    let (across, against) = (a * ca + b * cb, a * sa + b * sb);
                    *real += across * cosine - against * sine;
                    *imaginary -= against * cosine + across * sine;
                }
            }
        }
        [real, imaginary]
    }
}

fn table(side: usize, frequency: f64, phase: f64) -> Vec<(f64, f64)> {
    let turn = |position: usize| {
        let angle = phase + 2.0 * std::f64::consts::PI * frequency * position as f64;
        (libm::sin(angle), libm::cos(angle))
    };
    (0..side).map(turn).collect()
}
