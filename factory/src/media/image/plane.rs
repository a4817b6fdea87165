//! Least-squares planes through grids.

use super::picture::{coordinates, rows, rows_mut};
use ndarray::Array2;

/// Sums that are kept side by side, so that additions need not wait for each other.
const LANES: usize = 4;
/// Pivots below this are none.
const TINY: f64 = 1e-12;

/// A plane's value in the middle, and its slopes across and down per half side.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Plane {
    /// In the middle of the grid.
    pub(super) middle: f64,
    /// From the middle to the right edge.
    pub(super) across: f64,
    /// From the middle to the bottom edge.
    pub(super) down: f64,
}

impl Plane {
    /// The least-squares plane through a grid. The function gives every pixel of a row its
    /// weight, 0 or 1: it is handed the row's number and values, and room for the weights.
    pub(super) fn through(
        grid: &Array2<f64>,
        mut weigh: impl FnMut(usize, &[f64], &mut [f64]),
    ) -> Self {
        let along = coordinates(grid.nrows());
        let mut weights = vec![0.0; along.len()];
        // Normal equations, as an augmented matrix.
        let mut equations = [[0.0; 4]; 3];
        for (y, values) in rows(grid).enumerate() {
            weigh(y, values, &mut weights);
            let [n, u, uu, g, gu] = sums(&along, values, &weights);
            let v = along[y];
            let terms = [[n, u, n * v, g], [u, uu, u * v, gu], [n * v, u * v, n * v * v, g * v]];
            for (row, terms) in equations.iter_mut().zip(terms) {
                row.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            }
        }
        solved(equations)
    }

    /// What a grid has above the plane.
    pub(super) fn below(&self, grid: &Array2<f64>) -> Array2<f64> {
        let along = coordinates(grid.nrows());
        let mut rest = grid.clone();
        for (row, v) in rows_mut(&mut rest).zip(&along) {
            let level = self.middle + self.down * v;
            for (value, u) in row.iter_mut().zip(&along) {
                *value -= level + self.across * u;
            }
        }
        rest
    }
}

/// Sums over a row of the weights, of them times u, times u², times the values, and times both.
fn sums(along: &[f64], values: &[f64], weights: &[f64]) -> [f64; 5] {
    let mut lanes = [[0.0; LANES]; 5];
    let mut add = |lane: usize, u: f64, value: f64, weight: f64| {
        let (weighted, turned) = (weight * value, weight * u);
        lanes[0][lane] += weight;
        lanes[1][lane] += turned;
        lanes[2][lane] += turned * u;
        lanes[3][lane] += weighted;
        lanes[4][lane] += weighted * u;
    };
    let (u, u_rest) = along.as_chunks::<LANES>();
    let (g, g_rest) = values.as_chunks::<LANES>();
    let (w, w_rest) = weights.as_chunks::<LANES>();
    for ((u, g), w) in u.iter().zip(g).zip(w) {
        for lane in 0..LANES {
            add(lane, u[lane], g[lane], w[lane]);
        }
    }
    for ((u, g), w) in u_rest.iter().zip(g_rest).zip(w_rest) {
        add(0, *u, *g, *w);
    }
    lanes.map(|[a, b, c, d]| (a + b) + (c + d))
}

/// Solves the normal equations by elimination.
fn solved(mut rows: [[f64; 4]; 3]) -> Plane {
    for pivot in 0..3 {
        // Too few pixels leave a slope undetermined: none is assumed.
        if rows[pivot][pivot] < TINY {
            continue;
        }
        let own = rows[pivot];
        for (index, row) in rows.iter_mut().enumerate() {
            if index != pivot {
                let factor = row[pivot] / own[pivot];
                row.iter_mut().zip(own).for_each(|(value, own)| *value -= factor * own);
            }
        }
    }
    let solution = |index: usize| {
        let [.., right] = rows[index];
        if rows[index][index] < TINY { 0.0 } else { right / rows[index][index] }
    };
    Plane { middle: solution(0), across: solution(1), down: solution(2) }
}
