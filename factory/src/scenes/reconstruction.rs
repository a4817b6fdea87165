//! Pictures that were damaged the same way, to be brought back.
//!
//! Every picture of a task went through the same blur and lost the same kind of pixels. The
//! ladder: R0 the mean training picture; R1 a Gaussian filter, or none; R2 a ridge regression
//! over 3 by 3 pixels of the picture and of its median filtered copy; R3 lost pixels filled from
//! those around them, then a ridge regression over a patch that holds the whole blur: Wiener's
//! filter, fitted instead of derived. A perfect copy has 100 dB or no error at all, which no
//! model reaches, so the ceiling is the score of an oracle. It gets the same blurred pictures,
//! but without lost pixels and with `NOISE_LEFT` of the noise, and fits its filter to their own
//! clean copies. A solver can improve on a filter, with trees fitted to its residuals and a
//! linear model for each pattern of lost pixels, but gains less than the oracle's better input
//! does.

use super::canvas::{Bell, Outline, backdrop};
use super::fitting::all_pixels;
use super::scene::{Annotation, Drawn, Material, Scene, Strengths};
use crate::baselines::ladder::LadderError;
use crate::baselines::rungs::{Rungs, best};
use crate::media::Blemish;
use crate::media::image::camera::noise;
use crate::media::image::picture::around;
use crate::numeric::draws::{Draws, floor};
use crate::numeric::linear::Linear;
use crate::spec::scene::{Damage, Reconstruction, Stripes};
use ndarray::{Array2, ArrayViewMut1, azip};
use std::f64::consts::PI;
use tasks::metrics::images::ImageFormat;
use tasks::prediction::Prediction;
use tasks::values::Values;

/// The sensor adds noise.
const NOISE: Blemish = Blemish {
    name: "noise",
    low: 0.008,
    high: 0.02,
    means: "the sensor added noise to every pixel",
};
/// Reach of the top rung's patches and of the oracle's.
const REACH: usize = 4;
/// Share of the sensor's noise that the oracle sees. With a third of it, the best solvers came up
/// to the oracle in structural similarity, which its squared errors do not aim at.
const NOISE_LEFT: f64 = 0.2;
/// Patches that a regression is fitted to.
const PATCHES: usize = 9000;
/// Penalty of the regressions.
const PENALTY: f64 = 1.0;
/// Rows that a repeated pattern of lost rows spans.
const LOST_EVERY: std::ops::RangeInclusive<usize> = 4..=6;

impl Reconstruction {
    /// Draws the parameters of a task.
    pub(super) fn plan(draws: &mut Draws) -> Self {
        let two = |value: f64| (value * 100.0).round() / 100.0;
        let damage = match draws.whole(0, 2) {
            0 => Damage::None,
            1 => Damage::Lines { every: draws.whole(*LOST_EVERY.start(), *LOST_EVERY.end()) },
            _ => Damage::Scratches { count: draws.whole(2, 3) },
        };
        Self {
            side: *draws.pick(&[24, 26, 28]),
            levels: *draws.pick(&[32, 64]),
            length: two(draws.between(3.6, 5.6)),
            turn: two(draws.between(0.0, 180.0)),
            focus: two(draws.between(0.55, 0.8)),
            damage,
            things: draws.whole(4, 7),
        }
    }

    /// The picture before anything happened to it.
    fn clean(&self, draws: &mut Draws) -> Array2<f64> {
        let side = self.side;
        let mut grid = backdrop(side, draws.between(0.35, 0.65), 0.08, draws);
        for _ in 0..draws.whole(self.things - 1, self.things + 1) {
            let last = side as f64 - 1.0;
            let spot = (draws.between(0.0, last), draws.between(0.0, last));
            let outline = Outline::new(spot, draws.between(1.5, 5.5), 0.4, draws);
            let sign = if draws.chance(0.5) { 1.0 } else { -1.0 };
            let tone = sign * draws.between(0.12, 0.3);
            let stripes =
                Stripes { turn: draws.between(0.0, 180.0), period: draws.between(3.5, 7.0) };
            let height = if draws.chance(0.4) { 0.12 } else { 0.0 };
            let wave = stripes.wave(side, draws.between(0.0, 2.0 * PI));
            for (pixel, depth) in outline.pixels(side) {
                let cover = (depth + 0.5).clamp(0.0, 1.0);
                let texture = height * wave.at(pixel).0;
                grid[pixel] += cover * (tone + texture);
            }
        }
        grid.mapv_inplace(|value| value.clamp(0.03, 0.97));
        grid
    }

    /// Blurred by the motion: the mean of points along it, each read between pixels.
    fn moved(&self, grid: &Array2<f64>) -> Array2<f64> {
        const POINTS: usize = 9;
        let side = grid.nrows();
        let turn = self.turn * PI / 180.0;
        let (dx, dy) = (self.length * libm::cos(turn), self.length * libm::sin(turn));
        let last = (side - 1) as f64;
        let between = |x: f64, y: f64| {
            let (x, y) = (x.clamp(0.0, last), y.clamp(0.0, last));
            let (left, top) = (floor(x), floor(y));
            let (right, bottom) = ((left + 1).min(side - 1), (top + 1).min(side - 1));
            let (u, v) = (x - left as f64, y - top as f64);
            let upper = grid[(top, left)] * (1.0 - u) + grid[(top, right)] * u;
            let lower = grid[(bottom, left)] * (1.0 - u) + grid[(bottom, right)] * u;
            upper * (1.0 - v) + lower * v
        };
        Array2::from_shape_fn((side, side), |(y, x)| {
            let point = |index: usize| {
                let share = index as f64 / (POINTS - 1) as f64 - 0.5;
                between(x as f64 + share * dx, y as f64 + share * dy)
            };
            (0..POINTS).map(point).sum::<f64>() / POINTS as f64
        })
    }

    /// Blurred by the motion and the lens, as the sensor would have it without noise.
    fn blurred(&self, clean: &Array2<f64>) -> Array2<f64> {
        Bell::new(self.focus).blur(&self.moved(clean))
    }

    /// What the oracle sees of a damaged picture whose clean copy it knows.
    fn unveiled(&self, seen: &Array2<f64>, clean: &Array2<f64>) -> Array2<f64> {
        let mut grid = self.blurred(clean);
        azip!((value in &mut grid, seen in seen) if !lost(*seen) {
            *value += NOISE_LEFT * (seen - *value);
        });
        grid
    }

    /// Marks what is lost: black rows, or white lines from edge to edge.
    fn damaged(&self, grid: &mut Array2<f64>, draws: &mut Draws) {
        let side = grid.nrows();
        match self.damage {
            Damage::None => {}
            Damage::Lines { every } => {
                let first = draws.whole(0, every - 1);
                for y in (first..side).step_by(every) {
                    grid.row_mut(y).fill(0.0);
                }
            }
            Damage::Scratches { count } => {
                for _ in 0..count {
                    let (from, to) = (draws.between(0.0, 1.0), draws.between(0.0, 1.0));
                    let upright = draws.chance(0.5);
                    for along in 0..side {
                        let share = along as f64 / (side - 1) as f64;
                        let off = floor((from + (to - from) * share) * (side - 1) as f64 + 0.5);
                        let pixel = if upright { (along, off) } else { (off, along) };
                        grid[pixel] = 1.0;
                    }
                }
            }
        }
    }

    fn image(&self, grid: &Array2<f64>) -> Vec<u16> {
        let top = f64::from(self.levels) - 1.0;
        let level = |value: &f64| {
            u16::try_from(floor((value * top + 0.5).clamp(0.0, top))).unwrap_or(u16::MAX)
        };
        grid.iter().map(level).collect()
    }

    fn grid(&self, image: &[u16]) -> Array2<f64> {
        let top = f64::from(self.levels) - 1.0;
        let values = image.iter().map(|value| f64::from(*value) / top).collect();
        Array2::from_shape_vec((self.side, self.side), values).expect("an image has its sides")
    }
}

impl Scene for Reconstruction {
    fn side(&self) -> usize {
        self.side
    }

    fn levels(&self) -> u32 {
        self.levels
    }

    fn blemishes(&self) -> &'static [Blemish] {
        &[NOISE]
    }

    fn prediction(&self, column: &str, _: &[String]) -> Prediction {
        let ImageFormat { width, height, levels } = self.frame();
        Prediction::Pixels { column: column.to_owned(), width, height, levels }
    }

    fn draw(&self, strengths: &Strengths, draws: &mut Draws) -> Drawn {
        let image = self.image(&self.clean(draws));
        let mut grid = self.blurred(&self.grid(&image));
        let sigma = strengths.get(NOISE.name).copied().unwrap_or(NOISE.low);
        // The two ends of the scale mark what is lost.
        grid.mapv_inplace(|v| (v + sigma * noise(draws)).clamp(1.0 / 255.0, 254.0 / 255.0));
        self.damaged(&mut grid, draws);
        let truth = Annotation::Image(image);
        Drawn { picture: grid, ideal: truth.clone(), truth }
    }

    fn climb(&self, material: &Material<'_>) -> Result<Rungs, LadderError> {
        let task = ReconstructionBaselines { scene: self, material };
        let clean = |values: &Values| -> Vec<Array2<f64>> {
            match values {
                Values::Images { images, .. } => images.iter().map(|i| self.grid(i)).collect(),
                _ => Vec::new(),
            }
        };
        let known = clean(material.train_truth);
        let seen = pairs(&material.train);
        let half = known.len() / 2;
        let (first, second) = seen.split_at(half);
        let r2 = task.regression(&seen, &known, 1).restored(&pairs(&material.test));
        // Each half by what was fitted to the other.
        let of_second = task.regression(first, &known[..half], 1).restored(second);
        let of_first = task.regression(second, &known[half..], 1).restored(first);
        let unseen = task.images(of_first.iter().chain(&of_second));

        let filled = |grids: &[Array2<f64>]| -> Vec<Vec<Array2<f64>>> {
            grids.iter().map(|grid| vec![filled(grid)]).collect()
        };
        let (train, test) = (filled(&material.train), filled(&material.test));
        let r3 = task.regression(&train, &known, REACH);
        let ideal = clean(material.test_truth);
        let pictures = material.test.iter().zip(&ideal);
        let better: Vec<Vec<Array2<f64>>> =
            pictures.map(|(seen, clean)| vec![self.unveiled(seen, clean)]).collect();
        let oracle = task.regression(&better, &ideal, REACH);
        let forecasts = [
            task.constant(&known),
            task.filter(),
            task.images(&r2),
            task.images(&r3.restored(&test)),
            task.images(&oracle.restored(&better)),
        ];
        Ok(Rungs { forecasts, start: None, unseen })
    }
}

/// Whether this is one of the two ends of the scale, which mark what is lost.
fn lost(value: f64) -> bool {
    value <= 0.0 || value >= 1.0
}

/// Lost pixels replaced by the mean of the nearest ones that are left, nearer ones counting
/// more.
pub(super) fn filled(grid: &Array2<f64>) -> Array2<f64> {
    Array2::from_shape_fn(grid.dim(), |(y, x)| {
        let value = grid[(y, x)];
        if !lost(value) {
            return value;
        }
        for reach in 1..4 {
            let (mut sum, mut weights) = (0.0, 0.0);
            for row in y.saturating_sub(reach)..(y + reach + 1).min(grid.nrows()) {
                for column in x.saturating_sub(reach)..(x + reach + 1).min(grid.ncols()) {
                    let other = grid[(row, column)];
                    if !lost(other) {
                        let distance = column.abs_diff(x).pow(2) + row.abs_diff(y).pow(2);
                        let weight = 1.0 / (distance * distance) as f64;
                        (sum, weights) = (sum + weight * other, weights + weight);
                    }
                }
            }
            if weights > 0.0 {
                return sum / weights;
            }
        }
        0.5
    })
}

/// The median of each pixel's neighbourhood.
fn median(grid: &Array2<f64>) -> Array2<f64> {
    Array2::from_shape_fn(grid.dim(), |pixel| {
        let mut values: Vec<f64> = around(grid.nrows(), pixel).map(|near| grid[near]).collect();
        values.push(grid[pixel]);
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    })
}

/// A linear filter over patches.
struct Filter {
    model: Linear,
    reach: usize,
}

impl Filter {
    /// Each picture, given as one or more layers of the same size.
    fn restored(&self, pictures: &[Vec<Array2<f64>>]) -> Vec<Array2<f64>> {
        let one = |layers: &Vec<Array2<f64>>| {
            let (rows, columns) = layers[0].dim();
            let mut x = Array2::zeros((rows * columns, patch_size(layers.len(), self.reach)));
            for (pixel, row) in all_pixels(rows).zip(x.rows_mut()) {
                patch(layers, pixel, self.reach, row);
            }
            Array2::from_shape_vec((rows, columns), self.model.score(&x))
                .expect("a score for each pixel")
        };
        pictures.iter().map(one).collect()
    }
}

/// Each picture beside its median filtered copy.
fn pairs(grids: &[Array2<f64>]) -> Vec<Vec<Array2<f64>>> {
    grids.iter().map(|grid| vec![grid.clone(), median(grid)]).collect()
}

/// Number of values that [`patch`] gives for so many layers.
fn patch_size(layers: usize, reach: usize) -> usize {
    layers * (2 * reach + 1) * (2 * reach + 1)
}

/// The pixels around one in every layer as a row; edges are repeated.
fn patch(
    layers: &[Array2<f64>],
    (y, x): (usize, usize),
    reach: usize,
    mut row: ArrayViewMut1<f64>,
) {
    let last = layers[0].nrows() - 1;
    let inside = |middle: usize, shift: usize| (middle + shift).saturating_sub(reach).min(last);
    let width = 2 * reach + 1;
    for (index, value) in row.iter_mut().enumerate() {
        let (across, down) = (index % width, index / width % width);
        *value = layers[index / (width * width)][(inside(y, down), inside(x, across))];
    }
}

/// The rungs of one task.
struct ReconstructionBaselines<'a> {
    scene: &'a Reconstruction,
    material: &'a Material<'a>,
}

impl ReconstructionBaselines<'_> {
    fn images<'g>(&self, grids: impl IntoIterator<Item = &'g Array2<f64>>) -> Values {
        let images = grids.into_iter().map(|grid| self.scene.image(grid)).collect();
        Values::Images { images, frame: self.scene.frame() }
    }

    fn constant(&self, known: &[Array2<f64>]) -> Values {
        let mut mean = Array2::zeros((self.scene.side, self.scene.side));
        for grid in known {
            mean += &(grid / known.len() as f64);
        }
        self.images(&vec![mean; self.material.test.len()])
    }

    fn filter(&self) -> Values {
        let filtered = |grids: &[Array2<f64>], which: usize| {
            let one = |grid: &Array2<f64>| match which {
                0 => grid.clone(),
                _ => Bell::new([0.5, 0.8, 1.2][which - 1]).blur(grid),
            };
            self.images(&grids.iter().map(one).collect::<Vec<_>>())
        };
        let candidates = (0..4).map(|which| (which, filtered(&self.material.train, which)));
        let chosen = best(self.material.metric, self.material.train_truth, candidates);
        filtered(&self.material.test, chosen.unwrap_or(0))
    }

    fn regression(
        &self,
        pictures: &[Vec<Array2<f64>>],
        clean: &[Array2<f64>],
        reach: usize,
    ) -> Filter {
        let mut draws = Draws::new(self.material.stream.child("patches"));
        let layers = pictures.first().map_or(0, Vec::len);
        let mut x = Array2::zeros((PATCHES, patch_size(layers, reach)));
        let mut y = Vec::with_capacity(PATCHES);
        for (index, row) in x.rows_mut().into_iter().enumerate() {
            let picture = index % pictures.len();
            let place = draws.whole(0, self.scene.side * self.scene.side - 1);
            let pixel = (place / self.scene.side, place % self.scene.side);
            patch(&pictures[picture], pixel, reach, row);
            y.push(clean[picture][pixel]);
        }
        Filter { model: Linear::ridge(&x, &y, PENALTY), reach }
    }
}
