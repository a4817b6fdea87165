//! Plane waves on a grid.

use super::grid::Grid;

/// A wave of some frequency over a square grid, from tables: the sine of a sum needs no more
/// than the sines of its parts.
#[derive(Debug)]
pub(super) struct Wave {
    /// Sine and cosine of the phase along a row.
    across: Vec<(f64, f64)>,
    /// Sine and cosine of the phase down a column.
    down: Vec<(f64, f64)>,
}

impl Wave {
    /// With cycles per pixel across and down, and the phase at the first pixel.
    pub(super) fn new(side: usize, frequency: (f64, f64), phase: f64) -> Self {
        Self { across: table(side, frequency.0, phase), down: table(side, frequency.1, 0.0) }
    }

    /// Sine and cosine of the phase at a pixel.
    pub(super) fn at(&self, x: usize, y: usize) -> (f64, f64) {
        let ((sa, ca), (sb, cb)) = (self.across[x], self.down[y]);
        (sa * cb + ca * sb, ca * cb - sa * sb)
    }

    /// The grid shifted down by this frequency (multiplied by e^(-i phase)): real and imaginary
    /// parts, averaged over two by two pixels.
    pub(super) fn demodulated(&self, grid: &Grid) -> (Grid, Grid) {
        let side = grid.side;
        let (mut real, mut imaginary) = (Grid::zeros(side), Grid::zeros(side));
        for y in 0..side {
            for x in 0..side {
                let (sine, cosine) = self.at(x, y);
                let value = grid.at(x, y);
                real.values[y * side + x] = value * cosine;
                imaginary.values[y * side + x] = -value * sine;
            }
        }
        (real.halved(), imaginary.halved())
    }
}

fn table(side: usize, frequency: f64, phase: f64) -> Vec<(f64, f64)> {
    let turn = |position: usize| {
        let angle = phase + 2.0 * std::f64::consts::PI * frequency * position as f64;
        (libm::sin(angle), libm::cos(angle))
    };
    (0..side).map(turn).collect()
}
