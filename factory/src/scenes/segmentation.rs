//! Regions on an uneven ground, some of which belong to a mask.
//!
//! All regions stand out alike. Plain ones have no texture; lookalikes have stripes that lean
//! the other way or are of another width than those of the regions that belong. The ladder:
//! R0 the best constant mask; R1 Otsu's threshold, in the direction that suits the training
//! masks; R2 a logistic regression over means, spreads and slopes of each pixel's surroundings,
//! which separates textured regions from plain ones; R3 the same over filters matched to both
//! textures, smoothed and cut as suits the training masks. The ceiling is the mask without the
//! annotators' slips.

use super::canvas::{Bell, Outline, backdrop, difference, exposed, otsu, places, product, slopes};
use super::fitting::{best, expand, terms};
use super::scene::{Annotation, BLUR, Drawn, JITTER, Material, NOISE, Rungs, Scene, Strengths};
use crate::baselines::ladder::LadderError;
use crate::media::Blemish;
use crate::media::image::grid::Grid;
use crate::media::image::wave::Wave;
use crate::numeric::draws::Draws;
use crate::numeric::linear::Linear;
use crate::numeric::logistic::LogisticError;
use crate::spec::scene::{Segmentation, Stripes};
use ndarray::Array2;
use std::f64::consts::PI;
use tasks::mask::Mask;
use tasks::prediction::Prediction;
use tasks::values::Values;

/// Pixels of each training picture that the regressions see.
const SAMPLED: usize = 45;
/// Log odds from which a pixel belongs, to choose from.
const CUTS: [f64; 7] = [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5];
/// Smoothings of the top rung's log odds, to choose from.
const SMOOTHINGS: [f64; 3] = [0.7, 1.2, 2.0];
/// Spread of the surroundings that the top rung looks at, to be sharp and to be sure.
const REACHES: [f64; 2] = [1.7, 2.8];

/// What a region is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Belongs,
    Lookalike,
    Plain,
}

impl Segmentation {
    /// Draws the parameters of a task.
    pub(super) fn plan(draws: &mut Draws) -> Self {
        let two = |value: f64| (value * 100.0).round() / 100.0;
        let side = *draws.pick(&[40, 44, 48]);
        let turn = two(draws.between(28.0, 62.0) + if draws.chance(0.5) { 90.0 } else { 0.0 });
        let period = two(draws.between(3.2, 4.6));
        let belongs = Stripes { turn, period };
        // Mirrored stripes have the same slopes across and down; wider ones the same spread.
        let lookalike = if draws.chance(0.65) {
            belongs.mirrored()
        } else {
            Stripes { turn, period: two(period * draws.between(1.5, 1.7)) }
        };
        let sign = if draws.chance(0.6) { 1.0 } else { -1.0 };
        Self {
            side,
            cells: 3,
            belongs,
            lookalike,
            radius: two(side as f64 / 3.0 * draws.between(0.40, 0.46)),
            tone: two(sign * draws.between(0.13, 0.17)),
            height: two(draws.between(0.07, 0.09)),
        }
    }

    /// Maps of means, spreads and slopes around each pixel.
    fn surroundings(grid: &Grid) -> Vec<Grid> {
        let (near, far) = (Bell::new(1.0), Bell::new(2.2));
        let (mean, wide) = (near.blur(grid), far.blur(grid));
        let rest = difference(grid, &wide);
        let spread = root(&far.blur(&product(&rest, &rest)));
        let [across, down] = slopes(grid);
        vec![mean, wide, spread, root(&far.blur(&across)), root(&far.blur(&down))]
    }
}

/// Filters matched to the two textures of a task.
pub(super) struct Matched {
    waves: [Wave; 2],
    bells: [Bell; 2],
    ground: Bell,
    near: Bell,
}

impl Matched {
    pub(super) fn new(scene: &Segmentation) -> Self {
        Self {
            waves: [scene.belongs, scene.lookalike].map(|stripes| stripes.wave(scene.side, 0.0)),
            bells: REACHES.map(Bell::new),
            ground: Bell::new(3.0),
            near: Bell::new(1.0),
        }
    }

    /// Brightness, and the logarithm of each texture's power at either reach.
    pub(super) fn maps(&self, grid: &Grid) -> Vec<Grid> {
        let rest = difference(grid, &self.ground.blur(grid));
        let mut maps = vec![self.near.blur(grid)];
        for wave in &self.waves {
            let at = |index: usize| wave.at(index % grid.side, index / grid.side);
            let part = |part: fn((f64, f64)) -> f64| Grid {
                side: grid.side,
                values: rest.values.iter().enumerate().map(|(i, v)| v * part(at(i))).collect(),
            };
            let (sine, cosine) = (part(|(sine, _)| sine), part(|(_, cosine)| cosine));
            for bell in &self.bells {
                let (a, b) = (bell.blur(&sine), bell.blur(&cosine));
                let power = |(a, b): (&f64, &f64)| libm::log(a * a + b * b + 1e-5);
                let values = a.values.iter().zip(&b.values).map(power).collect();
                maps.push(Grid { side: grid.side, values });
            }
        }
        maps
    }
}

fn root(grid: &Grid) -> Grid {
    Grid {
        side: grid.side,
        values: grid.values.iter().map(|value| value.max(0.0).sqrt()).collect(),
    }
}

impl Scene for Segmentation {
    fn side(&self) -> usize {
        self.side
    }

    fn blemishes(&self) -> &'static [Blemish] {
        &[JITTER, NOISE, BLUR]
    }

    fn prediction(&self, column: &str, _: &[String]) -> Prediction {
        Prediction::Mask { column: column.to_owned(), width: self.side, height: self.side }
    }

    fn draw(&self, strengths: &Strengths, draws: &mut Draws) -> Drawn {
        let side = self.side;
        let level = if self.tone > 0.0 { 0.4 } else { 0.6 };
        let mut grid = backdrop(side, level + draws.between(-0.06, 0.06), 0.03, draws);
        let mut kinds = vec![Kind::Belongs; draws.whole(1, 2)];
        kinds.extend(vec![Kind::Lookalike; draws.whole(1, 2)]);
        kinds.extend(vec![Kind::Plain; draws.whole(1, 2)]);
        let slip = strengths.get(JITTER.name).copied().unwrap_or(0.0);
        let (mut truth, mut ideal) = (vec![false; side * side], vec![false; side * side]);
        let spots = places(side, self.cells, 0.8, draws);
        for (kind, spot) in kinds.into_iter().zip(spots) {
            let outline = Outline::new(spot, self.radius * draws.between(0.85, 1.1), 0.7, draws);
            let slipped = outline.wandering(slip, draws);
            let tone = self.tone * draws.between(0.8, 1.2);
            let height = self.height * draws.between(0.75, 1.25);
            let phase = draws.between(0.0, 2.0 * PI);
            let stripes = if kind == Kind::Lookalike { self.lookalike } else { self.belongs };
            let height = if kind == Kind::Plain { 0.0 } else { height };
            let wave = stripes.wave(side, phase);
            for (pixel, depth) in outline.pixels(side) {
                let cover = (depth + 0.5).clamp(0.0, 1.0);
                let texture = height * wave.at(pixel % side, pixel / side).0;
                grid.values[pixel] += cover * (tone + texture);
                ideal[pixel] |= kind == Kind::Belongs && depth > 0.0;
            }
            for (pixel, depth) in slipped.pixels(side) {
                truth[pixel] |= kind == Kind::Belongs && depth > 0.0;
            }
        }
        let added = strengths.get(NOISE.name).copied().unwrap_or(0.0);
        let picture = exposed(grid, strengths.get(BLUR.name).copied(), added, draws);
        let mask = |pixels: &[bool]| Annotation::Mask(Mask::from_pixels(pixels, side, side));
        Drawn { picture, truth: mask(&truth), ideal: mask(&ideal) }
    }

    fn climb(&self, material: &Material<'_>) -> Result<Rungs, LadderError> {
        let task = Task { scene: self, material };
        let near: Vec<Vec<Grid>> = material.train.iter().map(Self::surroundings).collect();
        let all: Vec<usize> = (0..near.len()).collect();
        let (even, odd): (Vec<usize>, Vec<usize>) = all.iter().partition(|row| **row % 2 == 0);
        let train = |rows: &[usize]| -> Vec<Vec<Grid>> {
            rows.iter().map(|row| near[*row].clone()).collect()
        };
        let test: Vec<Vec<Grid>> = material.test.iter().map(Self::surroundings).collect();
        let r2 = task.regression(&near, &all, &test, &[])?;
        // Each half by what was fitted to the other.
        let of_odd = masks_of(task.regression(&train(&even), &even, &train(&odd), &[])?);
        let of_even = masks_of(task.regression(&train(&odd), &odd, &train(&even), &[])?);
        let (mut of_even, mut of_odd) = (of_even.into_iter(), of_odd.into_iter());
        let next = |row: usize| if row.is_multiple_of(2) { of_even.next() } else { of_odd.next() };
        let unseen = Values::Masks(all.iter().copied().filter_map(next).collect());

        let matched = Matched::new(self);
        let maps = |grids: &[Grid]| -> Vec<Vec<Grid>> {
            grids.iter().map(|grid| matched.maps(grid)).collect()
        };
        let (train, test) = (maps(&material.train), maps(&material.test));
        let r3 = task.regression(&train, &all, &test, &SMOOTHINGS)?;
        let forecasts = [task.constant(), task.threshold(), r2, r3, material.ideal.clone()];
        Ok(Rungs { forecasts, unseen })
    }
}

fn masks_of(values: Values) -> Vec<Mask> {
    match values {
        Values::Masks(masks) => masks,
        _ => Vec::new(),
    }
}

/// The rungs of one task.
struct Task<'a> {
    scene: &'a Segmentation,
    material: &'a Material<'a>,
}

impl Task<'_> {
    fn mask(&self, grid: &Grid, belongs: impl Fn(f64) -> bool) -> Mask {
        let pixels: Vec<bool> = grid.values.iter().map(|value| belongs(*value)).collect();
        Mask::from_pixels(&pixels, self.scene.side, self.scene.side)
    }

    fn truth(&self, row: usize) -> Vec<bool> {
        let side = self.scene.side;
        match self.material.train_truth {
            Values::Masks(masks) => masks[row].pixels(side, side),
            _ => vec![false; side * side],
        }
    }

    /// The share of training masks that hold a pixel, cut where it scores best.
    fn constant(&self) -> Values {
        let side = self.scene.side;
        let rows = self.material.train.len();
        let mut shares = Grid::zeros(side);
        for row in 0..rows {
            for (share, set) in shares.values.iter_mut().zip(self.truth(row)) {
                *share += f64::from(u8::from(set)) / rows as f64;
            }
        }
        let smooth = Bell::new(2.0).blur(&shares);
        let most = smooth.values.iter().copied().fold(0.0, f64::max);
        let candidate = |step: u32| {
            let mask = self.mask(&smooth, |share| share >= most * f64::from(step) / 10.0);
            (mask.clone(), Values::Masks(vec![mask; rows]))
        };
        let chosen = best(self.material.metric, self.material.train_truth, (0..10).map(candidate));
        Values::Masks(vec![chosen.unwrap_or_default(); self.material.test.len()])
    }

    /// Everything on one side of each picture's own threshold.
    fn threshold(&self) -> Values {
        let cut = |grids: &[Grid], (sigma, bright): (f64, bool)| {
            let bell = Bell::new(sigma);
            let one = |grid: &Grid| {
                let smooth = bell.blur(grid);
                let level = otsu(&smooth);
                self.mask(&smooth, |value| (value > level) == bright)
            };
            Values::Masks(grids.iter().map(one).collect())
        };
        let settings = [(0.8, true), (0.8, false), (1.4, true), (1.4, false)];
        let candidates = settings.map(|setting| (setting, cut(&self.material.train, setting)));
        let chosen = best(self.material.metric, self.material.train_truth, candidates);
        cut(&self.material.test, chosen.unwrap_or((0.8, true)))
    }

    /// A logistic regression over maps of the training pictures in `rows`, smoothed by one of
    /// `smoothings` or not at all, and cut.
    fn regression(
        &self,
        train: &[Vec<Grid>],
        rows: &[usize],
        test: &[Vec<Grid>],
        smoothings: &[f64],
    ) -> Result<Values, LogisticError> {
        let side = self.scene.side;
        let mut draws = Draws::new(self.material.stream.child("pixels"));
        let columns = train.first().map_or(0, |maps| terms(maps.len()));
        let mut x = Array2::zeros((train.len() * SAMPLED, columns));
        let mut y = Vec::with_capacity(x.nrows());
        let mut into = x.rows_mut().into_iter();
        for (maps, row) in train.iter().zip(rows) {
            let truth = self.truth(*row);
            for into in into.by_ref().take(SAMPLED) {
                let pixel = draws.whole(0, side * side - 1);
                y.push(f64::from(u8::from(truth[pixel])));
                expand(maps, pixel, into);
            }
        }
        let model = Linear::logistic(&x, &y, 1.0)?;
        let odds = |maps: &Vec<Grid>| {
            let mut x = Array2::zeros((side * side, columns));
            x.rows_mut().into_iter().enumerate().for_each(|(pixel, row)| expand(maps, pixel, row));
            Grid { side, values: model.score(&x) }
        };
        let known: Vec<Grid> = train.iter().map(odds).collect();
        let smooth = |grids: &[Grid], sigma: Option<f64>| -> Vec<Grid> {
            let Some(bell) = sigma.map(Bell::new) else { return grids.to_vec() };
            // Certain pixels must not outvote their surroundings.
            let bounded = |grid: &Grid| Grid {
                side,
                values: grid.values.iter().map(|odds| odds.clamp(-4.0, 4.0)).collect(),
            };
            grids.iter().map(|grid| bell.blur(&bounded(grid))).collect()
        };
        let truth = self.material.train_truth.take(rows);
        let cut = |grids: &[Grid], cut: f64| {
            Values::Masks(grids.iter().map(|grid| self.mask(grid, |odds| odds > cut)).collect())
        };
        let mut candidates = Vec::new();
        for sigma in std::iter::once(None).chain(smoothings.iter().copied().map(Some)) {
            let grids = smooth(&known, sigma);
            candidates.extend(CUTS.map(|level| ((sigma, level), cut(&grids, level))));
        }
        let chosen = best(self.material.metric, &truth, candidates);
        let (sigma, level) = chosen.unwrap_or((None, 0.0));
        let unknown: Vec<Grid> = test.iter().map(odds).collect();
        Ok(cut(&smooth(&unknown, sigma), level))
    }
}
