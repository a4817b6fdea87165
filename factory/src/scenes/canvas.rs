//! What scenes are drawn and read with: outlines, stripes, uneven light, and Gaussian bells.

use crate::media::image::camera::noise;
use crate::media::image::picture::{coordinate, rows, rows_mut};
use crate::media::image::wave::Wave;
use crate::numeric::draws::{Draws, floor};
use crate::spec::scene::Stripes;
use ndarray::Array2;
use std::f64::consts::PI;

/// Orders of the waves along an outline, from two bulges on.
const ORDERS: usize = 5;
/// Noise that even a clean picture has.
const GRAIN: f64 = 0.012;

impl Stripes {
    /// Cycles per pixel across and down.
    pub(super) fn cycles(self) -> (f64, f64) {
        let (turn, cycles) = (self.turn * PI / 180.0, 1.0 / self.period);
        (cycles * libm::cos(turn), cycles * libm::sin(turn))
    }

    /// The wave of the stripes over a picture.
    pub(super) fn wave(self, side: usize, phase: f64) -> Wave {
        Wave::new(side, self.cycles(), phase)
    }

    /// The same stripes, leaning the other way.
    pub(super) fn mirrored(self) -> Self {
        Self { turn: 180.0 - self.turn, period: self.period }
    }
}

/// A Gaussian convolution; edges are repeated.
#[derive(Debug, Clone)]
pub(super) struct Bell {
    weights: Vec<f64>,
}

impl Bell {
    pub(super) fn new(sigma: f64) -> Self {
        let reach = floor((2.5 * sigma).ceil()).max(1);
        let weight = |place: usize| {
            let z = place.abs_diff(reach) as f64 / sigma;
            libm::exp(-0.5 * z * z)
        };
        let mut weights: Vec<f64> = (0..=2 * reach).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum;
        }
        Self { weights }
    }

    pub(super) fn blur(&self, grid: &Array2<f64>) -> Array2<f64> {
        let (side, reach) = (grid.nrows(), self.weights.len() / 2);
        let mut across = Array2::zeros((side, side));
        let mut padded = vec![0.0; side + 2 * reach];
        for (row, out) in rows(grid).zip(rows_mut(&mut across)) {
            padded[..reach].fill(row[0]);
            padded[reach..reach + side].copy_from_slice(row);
            padded[reach + side..].fill(row[side - 1]);
            for (shift, weight) in self.weights.iter().enumerate() {
                for (out, value) in out.iter_mut().zip(&padded[shift..]) {
                    *out += weight * value;
                }
            }
        }
        let mut blurred = Array2::zeros((side, side));
        let across: Vec<&[f64]> = rows(&across).collect();
        for (y, out) in rows_mut(&mut blurred).enumerate() {
            for (shift, weight) in self.weights.iter().enumerate() {
                let from = across[(y + shift).saturating_sub(reach).min(side - 1)];
                out.iter_mut().zip(from).for_each(|(out, value)| *out += weight * value);
            }
        }
        blurred
    }
}

/// Squared slopes across and down.
pub(super) fn slopes(grid: &Array2<f64>) -> [Array2<f64>; 2] {
    let last = grid.nrows() - 1;
    let square = |a: f64, b: f64| (a - b) * (a - b);
    [
        Array2::from_shape_fn(grid.dim(), |(y, x)| {
            square(grid[(y, (x + 1).min(last))], grid[(y, x.saturating_sub(1))])
        }),
        Array2::from_shape_fn(grid.dim(), |(y, x)| {
            square(grid[((y + 1).min(last), x)], grid[(y.saturating_sub(1), x)])
        }),
    ]
}

/// An irregular closed outline around a middle.
#[derive(Debug, Clone)]
pub(super) struct Outline {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) radius: f64,
    /// Amplitudes in pixels of the cosine and sine waves along it, from order two.
    waves: [(f64, f64); ORDERS],
}

impl Outline {
    pub(super) fn new((x, y): (f64, f64), radius: f64, wobble: f64, draws: &mut Draws) -> Self {
        let plain = Self { x, y, radius, waves: [(0.0, 0.0); ORDERS] };
        plain.wandering(wobble, draws)
    }

    /// The outline with waves added that are this many pixels high, root mean square.
    pub(super) fn wandering(&self, height: f64, draws: &mut Draws) -> Self {
        let scale = height / (ORDERS as f64).sqrt();
        let mut outline = self.clone();
        for (cosine, sine) in &mut outline.waves {
            *cosine += scale * draws.normal();
            *sine += scale * draws.normal();
        }
        outline
    }

    /// How far inside a point is, in pixels along the ray from the middle.
    pub(super) fn depth(&self, x: f64, y: f64) -> f64 {
        let (dx, dy) = (x - self.x, y - self.y);
        let distance = (dx * dx + dy * dy).sqrt();
        if distance < 1e-9 {
            return self.radius;
        }
        // The waves need the cosine and sine of multiples of the ray's angle, which are powers
        // of the ray as a complex number.
        let (cosine, sine) = (dx / distance, dy / distance);
        let (mut real, mut imaginary) = (cosine, sine);
        let mut reach = self.radius;
        for (along, off) in self.waves {
            (real, imaginary) =
                (real * cosine - imaginary * sine, real * sine + imaginary * cosine);
            reach += along * real + off * imaginary;
        }
        reach - distance
    }

    /// The pixels that it may touch, as row and column, and how deep inside each lies.
    pub(super) fn pixels(&self, side: usize) -> Vec<((usize, usize), f64)> {
        let swing: f64 = self.waves.iter().map(|(c, s)| c.abs() + s.abs()).sum();
        let reach = self.radius + swing + 1.0;
        let last = (side - 1) as f64;
        let range = |middle: f64| {
            floor((middle - reach).clamp(0.0, last))..floor((middle + reach).clamp(0.0, last)) + 1
        };
        let mut pixels = Vec::new();
        for y in range(self.y) {
            for x in range(self.x) {
                let depth = self.depth(x as f64, y as f64);
                if depth > -1.0 {
                    pixels.push(((y, x), depth));
                }
            }
        }
        pixels
    }
}

/// A level with light from one side and a faint large pattern.
pub(super) fn backdrop(side: usize, level: f64, shade: f64, draws: &mut Draws) -> Array2<f64> {
    let turn = draws.between(0.0, 2.0 * PI);
    let slope = (shade * libm::cos(turn), shade * libm::sin(turn));
    let large = Stripes { turn: draws.between(0.0, 180.0), period: draws.between(18.0, 40.0) };
    let wave = large.wave(side, draws.between(0.0, 2.0 * PI));
    Array2::from_shape_fn((side, side), |(y, x)| {
        let light = slope.0 * coordinate(x, side) + slope.1 * coordinate(y, side);
        level + light + shade * wave.at((y, x)).0 / 2.0
    })
}

/// Blurs by a strength, if there is one, and adds noise.
pub(super) fn exposed(
    grid: Array2<f64>,
    blur: Option<f64>,
    added: f64,
    draws: &mut Draws,
) -> Array2<f64> {
    let mut grid = match blur {
        Some(sigma) => Bell::new(sigma).blur(&grid),
        None => grid,
    };
    let sigma = (GRAIN * GRAIN + added * added).sqrt();
    grid.mapv_inplace(|value| value + sigma * noise(draws));
    grid
}

/// Middles of some cells of a square arrangement, in random order, moved a little.
pub(super) fn places(side: usize, cells: usize, sway: f64, draws: &mut Draws) -> Vec<(f64, f64)> {
    let mut order: Vec<usize> = (0..cells * cells).collect();
    draws.shuffle(&mut order);
    let width = side as f64 / cells as f64;
    let mut along = |cell: usize| (cell as f64 + 0.5) * width - 0.5 + draws.between(-sway, sway);
    order.into_iter().map(|cell| (along(cell % cells), along(cell / cells))).collect()
}

/// The grey value that splits a picture's values into two groups that differ most (Otsu 1979,
/// over 48 bins).
pub(super) fn otsu(grid: &Array2<f64>) -> f64 {
    const BINS: usize = 48;
    let low = grid.iter().copied().fold(f64::INFINITY, f64::min);
    let high = grid.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = ((high - low) / BINS as f64).max(1e-9);
    let mut counts = [0.0; BINS];
    for value in grid {
        counts[floor((value - low) / width).min(BINS - 1)] += 1.0;
    }
    let n = grid.len() as f64;
    let whole: f64 = counts.iter().enumerate().map(|(bin, count)| bin as f64 * count).sum();
    let (mut below, mut sum, mut best) = (0.0, 0.0, (0.0, 0));
    for (bin, count) in counts.iter().enumerate() {
        below += count;
        sum += bin as f64 * count;
        if below <= 0.0 || below >= n {
            continue;
        }
        let gap = sum / below - (whole - sum) / (n - below);
        let between = below * (n - below) * gap * gap;
        if between > best.0 {
            best = (between, bin);
        }
    }
    low + (best.1 + 1) as f64 * width
}
