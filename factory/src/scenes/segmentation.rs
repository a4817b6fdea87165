//! Regions on an uneven ground, some of which belong to a mask.
//!
//! All regions stand out alike. Plain ones have no texture; lookalikes have stripes that lean
//! the other way or are of another width than those of the regions that belong. The ladder:
//! R0 the best constant mask; R1 Otsu's threshold, in the direction that suits the training
//! masks; R2 a logistic regression over means, spreads and slopes of each pixel's surroundings,
//! which separates textured regions from plain ones; R3 the same over filters matched to both
//! textures, smoothed and cut as suits the training masks. The ceiling is the mask without the
//! annotators' slips.

use super::canvas::{Bell, Outline, backdrop, exposed, otsu, places, slopes};
use super::fitting::{all_pixels, expand, terms};
use super::scene::{Annotation, BLUR, Drawn, JITTER, Material, NOISE, Scene, Strengths};
use crate::baselines::ladder::LadderError;
use crate::baselines::rungs::{Rungs, best};
use crate::media::Blemish;
use crate::media::image::wave::Wave;
use crate::numeric::draws::Draws;
use crate::numeric::linear::Linear;
use crate::numeric::logistic::LogisticError;
use crate::spec::scene::{Segmentation, Stripes};
use ndarray::{Array2, Zip};
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
enum RegionSurface {
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
    fn surroundings(grid: &Array2<f64>) -> Vec<Array2<f64>> {
        let (near, far) = (Bell::new(1.0), Bell::new(2.2));
        let (mean, wide) = (near.blur(grid), far.blur(grid));
        let rest = grid - &wide;
        let spread = root(&far.blur(&(&rest * &rest)));
        let [across, down] = slopes(grid);
        vec![mean, wide, spread, root(&far.blur(&across)), root(&far.blur(&down))]
    }
}

/// Filters matched to the two textures of a task.
pub(super) struct RegionFilters {
    waves: [Wave; 2],
    bells: [Bell; 2],
    ground: Bell,
    near: Bell,
}

impl RegionFilters {
    pub(super) fn new(scene: &Segmentation) -> Self {
        Self {
            waves: [scene.belongs, scene.lookalike].map(|stripes| stripes.wave(scene.side, 0.0)),
            bells: REACHES.map(Bell::new),
            ground: Bell::new(3.0),
            near: Bell::new(1.0),
        }
    }

    /// Brightness, and the logarithm of each texture's power at either reach.
    pub(super) fn maps(&self, grid: &Array2<f64>) -> Vec<Array2<f64>> {
        let rest = grid - &self.ground.blur(grid);
        let mut maps = vec![self.near.blur(grid)];
        for wave in &self.waves {
            let part = |part: fn((f64, f64)) -> f64| {
                let turn = |pixel| part(wave.at(pixel));
                &rest * &Array2::from_shape_fn(rest.dim(), turn)
            };
            let (sine, cosine) = (part(|(sine, _)| sine), part(|(_, cosine)| cosine));
            for bell in &self.bells {
                let power = |a: &f64, b: &f64| libm::log(a * a + b * b + 1e-5);
                maps.push(Zip::from(&bell.blur(&sine)).and(&bell.blur(&cosine)).map_collect(power));
            }
        }
        maps
    }
}

fn root(grid: &Array2<f64>) -> Array2<f64> {
    grid.mapv(|value| value.max(0.0).sqrt())
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
        let mut kinds = vec![RegionSurface::Belongs; draws.whole(1, 2)];
        kinds.extend(vec![RegionSurface::Lookalike; draws.whole(1, 2)]);
        kinds.extend(vec![RegionSurface::Plain; draws.whole(1, 2)]);
        let slip = strengths.get(JITTER.name).copied().unwrap_or(0.0);
        let [mut truth, mut ideal] = [(); 2].map(|()| Array2::from_elem((side, side), false));
        let spots = places(side, self.cells, 0.8, draws);
        for (kind, spot) in kinds.into_iter().zip(spots) {
            let outline = Outline::new(spot, self.radius * draws.between(0.85, 1.1), 0.7, draws);
            let slipped = outline.wandering(slip, draws);
            let tone = self.tone * draws.between(0.8, 1.2);
            let height = self.height * draws.between(0.75, 1.25);
            let phase = draws.between(0.0, 2.0 * PI);
            let stripes =
                if kind == RegionSurface::Lookalike { self.lookalike } else { self.belongs };
            let height = if kind == RegionSurface::Plain { 0.0 } else { height };
            let wave = stripes.wave(side, phase);
            for (pixel, depth) in outline.pixels(side) {
                let cover = (depth + 0.5).clamp(0.0, 1.0);
                let texture = height * wave.at(pixel).0;
                grid[pixel] += cover * (tone + texture);
                ideal[pixel] |= kind == RegionSurface::Belongs && depth > 0.0;
            }
            for (pixel, depth) in slipped.pixels(side) {
                truth[pixel] |= kind == RegionSurface::Belongs && depth > 0.0;
            }
        }
        let added = strengths.get(NOISE.name).copied().unwrap_or(0.0);
        let picture = exposed(grid, strengths.get(BLUR.name).copied(), added, draws);
        let mask = |pixels: &Array2<bool>| Annotation::Mask(mask_of(pixels));
        Drawn { picture, truth: mask(&truth), ideal: mask(&ideal) }
    }

    fn climb(&self, material: &Material<'_>) -> Result<Rungs, LadderError> {
        let task = SegmentationBaselines { scene: self, material };
        let near: Vec<Vec<Array2<f64>>> = material.train.iter().map(Self::surroundings).collect();
        let all: Vec<usize> = (0..near.len()).collect();
        let (even, odd): (Vec<usize>, Vec<usize>) = all.iter().partition(|row| **row % 2 == 0);
        let train = |rows: &[usize]| -> Vec<Vec<Array2<f64>>> {
            rows.iter().map(|row| near[*row].clone()).collect()
        };
        let test: Vec<Vec<Array2<f64>>> = material.test.iter().map(Self::surroundings).collect();
        let r2 = task.regression(&near, &all, &test, &[])?;
        // Each half by what was fitted to the other.
        let of_odd = masks_of(task.regression(&train(&even), &even, &train(&odd), &[])?);
        let of_even = masks_of(task.regression(&train(&odd), &odd, &train(&even), &[])?);
        let (mut of_even, mut of_odd) = (of_even.into_iter(), of_odd.into_iter());
        let next = |row: usize| if row.is_multiple_of(2) { of_even.next() } else { of_odd.next() };
        let unseen = Values::Masks(all.iter().copied().filter_map(next).collect());

        let matched = RegionFilters::new(self);
        let maps = |grids: &[Array2<f64>]| -> Vec<Vec<Array2<f64>>> {
            grids.iter().map(|grid| matched.maps(grid)).collect()
        };
        let (train, test) = (maps(&material.train), maps(&material.test));
        let r3 = task.regression(&train, &all, &test, &SMOOTHINGS)?;
        let forecasts = [task.constant(), task.threshold(), r2, r3, material.ideal.clone()];
        Ok(Rungs { forecasts, start: None, unseen })
    }
}

/// The mask of the pixels that are set.
fn mask_of(pixels: &Array2<bool>) -> Mask {
    let (height, width) = pixels.dim();
    Mask::from_pixels(pixels.as_slice().expect("pictures are in standard layout"), width, height)
}

fn masks_of(values: Values) -> Vec<Mask> {
    match values {
        Values::Masks(masks) => masks,
        _ => Vec::new(),
    }
}

/// The rungs of one task.
struct SegmentationBaselines<'a> {
    scene: &'a Segmentation,
    material: &'a Material<'a>,
}

impl SegmentationBaselines<'_> {
    fn truth(&self, row: usize) -> Array2<bool> {
        let side = self.scene.side;
        match self.material.train_truth {
            Values::Masks(masks) => {
                Array2::from_shape_vec((side, side), masks[row].pixels(side, side))
                    .expect("a mask has the sides of its picture")
            }
            _ => Array2::from_elem((side, side), false),
        }
    }

    /// The share of training masks that hold a pixel, cut where it scores best.
    fn constant(&self) -> Values {
        let side = self.scene.side;
        let rows = self.material.train.len();
        let mut shares = Array2::zeros((side, side));
        for row in 0..rows {
            for (share, set) in shares.iter_mut().zip(self.truth(row)) {
                *share += f64::from(u8::from(set)) / rows as f64;
            }
        }
        let smooth = Bell::new(2.0).blur(&shares);
        let most = smooth.iter().copied().fold(0.0, f64::max);
        let candidate = |step: u32| {
            let mask = mask_of(&smooth.mapv(|share| share >= most * f64::from(step) / 10.0));
            (mask.clone(), Values::Masks(vec![mask; rows]))
        };
        let chosen = best(self.material.metric, self.material.train_truth, (0..10).map(candidate));
        Values::Masks(vec![chosen.unwrap_or_default(); self.material.test.len()])
    }

    /// Everything on one side of each picture's own threshold.
    fn threshold(&self) -> Values {
        let cut = |grids: &[Array2<f64>], (sigma, bright): (f64, bool)| {
            let bell = Bell::new(sigma);
            let one = |grid: &Array2<f64>| {
                let smooth = bell.blur(grid);
                let level = otsu(&smooth);
                mask_of(&smooth.mapv(|value| (value > level) == bright))
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
        train: &[Vec<Array2<f64>>],
        rows: &[usize],
        test: &[Vec<Array2<f64>>],
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
                let place = draws.whole(0, side * side - 1);
                let pixel = (place / side, place % side);
                y.push(f64::from(u8::from(truth[pixel])));
                expand(maps, pixel, into);
            }
        }
        let model = Linear::logistic(&x, &y, 1.0)?;
        let odds = |maps: &Vec<Array2<f64>>| {
            let mut x = Array2::zeros((side * side, columns));
            all_pixels(side).zip(x.rows_mut()).for_each(|(pixel, row)| expand(maps, pixel, row));
            Array2::from_shape_vec((side, side), model.score(&x)).expect("a score for each pixel")
        };
        let known: Vec<Array2<f64>> = train.iter().map(odds).collect();
        let smooth = |grids: &[Array2<f64>], sigma: Option<f64>| -> Vec<Array2<f64>> {
            let Some(bell) = sigma.map(Bell::new) else { return grids.to_vec() };
            // Certain pixels must not outvote their surroundings.
            let bounded = |grid: &Array2<f64>| grid.mapv(|odds| odds.clamp(-4.0, 4.0));
            grids.iter().map(|grid| bell.blur(&bounded(grid))).collect()
        };
        let truth = self.material.train_truth.take(rows);
        let cut = |grids: &[Array2<f64>], cut: f64| {
            let one = |grid: &Array2<f64>| mask_of(&grid.mapv(|odds| odds > cut));
            Values::Masks(grids.iter().map(one).collect())
        };
        let mut candidates = Vec::new();
        for sigma in std::iter::once(None).chain(smoothings.iter().copied().map(Some)) {
            let grids = smooth(&known, sigma);
            candidates.extend(CUTS.map(|level| ((sigma, level), cut(&grids, level))));
        }
        let chosen = best(self.material.metric, &truth, candidates);
        let (sigma, level) = chosen.unwrap_or((None, 0.0));
        let unknown: Vec<Array2<f64>> = test.iter().map(odds).collect();
        Ok(cut(&smooth(&unknown, sigma), level))
    }
}
