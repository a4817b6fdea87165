//! Things on an uneven ground, some of which are of a class that is asked for.
//!
//! All things stand out alike. The classes differ in the lean or width of their stripes and a
//! little in size; lookalikes are plain, or striped both ways at once. The ladder: R0 the mean
//! box of each class; R1 the pieces above a threshold, every class as likely as it is common;
//! R2 a forest over what is usually measured of a piece, which separates striped things from
//! plain ones and large from small; R3 the same with filters matched to each class's stripes.
//! Pieces never overlap, so non-maximum suppression is not needed. The ceiling is the score of the
//! boxes without the annotators' slips, with full confidence.

use super::canvas::{Bell, Outline, backdrop, exposed, places, slopes};
use super::fitting::all_pixels;
use super::scene::{Annotation, BLUR, Drawn, JITTER, Material, NOISE, Scene, Strengths, submitted};
use crate::baselines::ladder::LadderError;
use crate::baselines::rungs::{Rungs, best};
use crate::media::Blemish;
use crate::media::image::picture::around;
use crate::media::image::wave::Wave;
use crate::numeric::draws::Draws;
use crate::numeric::forest::{self, ForestError, ForestSettings};
use crate::numeric::matrix::from_rows;
use crate::spec::scene::{Class, Detection, Stripes};
use ndarray::Array2;
use std::f64::consts::PI;
use tasks::boxes::{Detection as Found, Object};
use tasks::prediction::Prediction;
use tasks::values::Values;

/// Things fit into a square arrangement of this many cells along an edge.
const CELLS: usize = 4;
/// Pieces of fewer pixels are noise.
const LEAST: usize = 20;
/// The intersection over union from which a piece is the thing in a box.
const SAME: f64 = 0.5;
/// Detections less likely than this are not worth submitting.
const UNLIKELY: f64 = 0.03;
/// Training pictures on which thresholds are chosen.
const TUNED: usize = 40;
/// Levels between ground and the brightest, to choose from.
const LEVELS: [f64; 3] = [0.35, 0.5, 0.62];
/// Pixels by which boxes are widened, to choose from.
const MARGINS: [f64; 3] = [-0.5, 0.0, 0.5];
const FOREST: ForestSettings = ForestSettings { trees: 40, tried: 4, leaf: 2 };

/// What a thing is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThingSurface {
    Class(usize),
    Plain,
    Crossed,
}

impl Detection {
    /// Draws the parameters of a task with this many classes.
    pub(super) fn plan(count: usize, draws: &mut Draws) -> Self {
        let two = |value: f64| (value * 100.0).round() / 100.0;
        let turn = draws.between(30.0, 60.0) + if draws.chance(0.5) { 90.0 } else { 0.0 };
        let first = Stripes { turn: two(turn), period: two(draws.between(3.2, 3.9)) };
        let wide = Stripes { turn: first.turn, period: two(first.period * 1.55) };
        let mut sizes = [0.92, 1.0, 1.08];
        draws.shuffle(&mut sizes);
        let classes = [first, first.mirrored(), wide]
            .into_iter()
            .zip(sizes)
            .take(count)
            .map(|(stripes, size)| Class { stripes, size })
            .collect();
        let side = *draws.pick(&[56, 60, 64]);
        let sign = if draws.chance(0.6) { 1.0 } else { -1.0 };
        Self {
            side,
            classes,
            radius: two(side as f64 / 4.0 * draws.between(0.34, 0.37)),
            tone: two(sign * draws.between(0.17, 0.21)),
            height: two(draws.between(0.045, 0.06)),
        }
    }

    /// The textures that tell the classes apart, and from what is crossed with the first.
    pub(super) fn textures(&self) -> Vec<Stripes> {
        let mut stripes: Vec<Stripes> = self.classes.iter().map(|class| class.stripes).collect();
        if stripes.len() == 1 {
            stripes.push(stripes[0].mirrored());
        }
        stripes
    }

    fn texture(&self, kind: ThingSurface, phase: f64) -> Vec<(f64, Wave)> {
        let wave = |stripes: Stripes| stripes.wave(self.side, phase);
        let half = std::f64::consts::FRAC_1_SQRT_2;
        match (kind, self.classes.first()) {
            (ThingSurface::Class(class), _) => vec![(1.0, wave(self.classes[class].stripes))],
            (ThingSurface::Crossed, Some(Class { stripes, .. })) => {
                vec![(half, wave(*stripes)), (half, wave(stripes.mirrored()))]
            }
            _ => Vec::new(),
        }
    }
}

impl Scene for Detection {
    fn side(&self) -> usize {
        self.side
    }

    fn blemishes(&self) -> &'static [Blemish] {
        &[JITTER, NOISE, BLUR]
    }

    fn prediction(&self, column: &str, classes: &[String]) -> Prediction {
        Prediction::Boxes { column: column.to_owned(), classes: classes.to_vec() }
    }

    fn draw(&self, strengths: &Strengths, draws: &mut Draws) -> Drawn {
        let side = self.side;
        let level = if self.tone > 0.0 { 0.4 } else { 0.6 };
        let mut grid = backdrop(side, level + draws.between(-0.06, 0.06), 0.02, draws);
        let count = draws.whole(1, 5);
        let mut kinds: Vec<ThingSurface> = (0..count)
            .map(|_| ThingSurface::Class(draws.whole(0, self.classes.len() - 1)))
            .collect();
        kinds.extend(vec![ThingSurface::Plain; draws.whole(1, 2)]);
        kinds.extend(vec![ThingSurface::Crossed; draws.whole(0, 2)]);
        let slip = strengths.get(JITTER.name).copied().unwrap_or(0.0);
        let (mut truth, mut ideal) = (Vec::new(), Vec::new());
        let spots = places(side, CELLS, 0.7, draws);
        for (kind, spot) in kinds.into_iter().zip(spots) {
            let size = match kind {
                ThingSurface::Class(class) => self.classes[class].size,
                _ => 1.0,
            };
            let radius = self.radius * size * draws.between(0.93, 1.07);
            let outline = Outline::new(spot, radius, 0.4, draws);
            let tone = self.tone * draws.between(0.85, 1.15);
            let height = self.height * draws.between(0.8, 1.2);
            let texture = self.texture(kind, draws.between(0.0, 2.0 * PI));
            let mut extent = (side, side, 0, 0);
            for (pixel, depth) in outline.pixels(side) {
                let (y, x) = pixel;
                let cover = (depth + 0.5).clamp(0.0, 1.0);
                let waves: f64 = texture.iter().map(|(share, wave)| share * wave.at(pixel).0).sum();
                grid[pixel] += cover * (tone + height * waves);
                if depth > 0.0 {
                    let (left, top, right, bottom) = extent;
                    extent = (left.min(x), top.min(y), right.max(x + 1), bottom.max(y + 1));
                }
            }
            // Draws are made for all things alike, so that the slips move nothing else.
            let mut slips = [0.0; 4];
            for value in &mut slips {
                *value = slip * draws.between(-1.5, 1.5);
            }
            if let ThingSurface::Class(class) = kind {
                let (left, top, right, bottom) = extent;
                let [left, top, right, bottom] = [left, top, right, bottom].map(|v| v as f64);
                let (x, y, w, h) = (left, top, right - left, bottom - top);
                ideal.push(Object { class, x, y, w, h });
                let tenth = |value: f64| (value * 10.0).round() / 10.0;
                truth.push(Object {
                    class,
                    x: tenth(x + slips[0]),
                    y: tenth(y + slips[1]),
                    w: tenth((w + slips[2]).max(2.0)),
                    h: tenth((h + slips[3]).max(2.0)),
                });
            }
        }
        let added = strengths.get(NOISE.name).copied().unwrap_or(0.0);
        let picture = exposed(grid, strengths.get(BLUR.name).copied(), added, draws);
        Drawn { picture, truth: Annotation::Objects(truth), ideal: Annotation::Objects(ideal) }
    }

    fn climb(&self, material: &Material<'_>) -> Result<Rungs, LadderError> {
        let task = DetectionBaselines { scene: self, material };
        let finder = task.finder();
        let find = |grids: &[Array2<f64>]| -> Vec<Vec<DetectedRegion>> {
            grids.iter().map(|grid| finder.pieces(grid)).collect()
        };
        let (train, test) = (find(&material.train), find(&material.test));
        let r1 = task.everything(&test);
        let usual = |grids: &[Array2<f64>], pieces: &[Vec<DetectedRegion>]| {
            let one = |(grid, pieces): (&Array2<f64>, &Vec<DetectedRegion>)| usual(grid, pieces);
            grids.iter().zip(pieces).map(one).collect::<Vec<_>>()
        };
        let matched = ThingFilters::new(self);
        let own = |grids: &[Array2<f64>], pieces: &[Vec<DetectedRegion>]| {
            let mut features = usual(grids, pieces);
            for ((grid, pieces), rows) in grids.iter().zip(pieces).zip(&mut features) {
                for (piece, row) in pieces.iter().zip(rows) {
                    row.extend(matched.powers(grid, piece));
                }
            }
            features
        };
        let generic = (usual(&material.train, &train), usual(&material.test, &test));
        let (r2, unseen) = task.forest(&train, &generic.0, &test, &generic.1, "generic")?;
        let matched = (own(&material.train, &train), own(&material.test, &test));
        let (r3, _) = task.forest(&train, &matched.0, &test, &matched.1, "matched")?;
        let forecasts = [task.constant(), r1, r2, r3, submitted(material.ideal)];
        Ok(Rungs { forecasts, start: None, unseen })
    }
}

/// A connected piece of a picture that stands out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DetectedRegion {
    /// Row and column of each.
    pub(super) pixels: Vec<(usize, usize)>,
    x: f64,
    y: f64,
    w: f64,
    h: f64,
}

impl DetectedRegion {
    fn object(&self, class: usize) -> Object {
        Object { class, x: self.x, y: self.y, w: self.w, h: self.h }
    }
}

/// How pieces are found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Finder {
    pub(super) bright: bool,
    pub(super) level: f64,
    pub(super) margin: f64,
}

impl Finder {
    pub(super) fn pieces(self, grid: &Array2<f64>) -> Vec<DetectedRegion> {
        let side = grid.nrows();
        let sign = if self.bright { 1.0 } else { -1.0 };
        let smooth = Bell::new(1.2).blur(grid) * sign;
        let mut sorted: Vec<f64> = smooth.iter().copied().collect();
        let mut quantile = |percent: usize| {
            let place = (sorted.len() - 1) * percent / 100;
            *sorted.select_nth_unstable_by(place, f64::total_cmp).1
        };
        // The ground is most of the picture, and things cover a few percent at least.
        let (ground, top) = (quantile(40), quantile(97));
        let level = ground + self.level * (top - ground);
        let mut free = smooth.mapv(|value| value > level);
        let mut pieces = Vec::new();
        for start in all_pixels(side) {
            if !std::mem::replace(&mut free[start], false) {
                continue;
            }
            let mut pixels = vec![start];
            let mut next = 0;
            while let Some(pixel) = pixels.get(next).copied() {
                next += 1;
                for other in around(side, pixel) {
                    if std::mem::replace(&mut free[other], false) {
                        pixels.push(other);
                    }
                }
            }
            if pixels.len() >= LEAST {
                pieces.push(self.piece(pixels));
            }
        }
        pieces
    }

    fn piece(self, pixels: Vec<(usize, usize)>) -> DetectedRegion {
        let bounds = |of: fn(&(usize, usize)) -> usize| {
            let low = pixels.iter().map(of).min().unwrap_or(0);
            let high = pixels.iter().map(of).max().unwrap_or(0);
            (low as f64 - self.margin, (high - low + 1) as f64 + 2.0 * self.margin)
        };
        let ((x, w), (y, h)) = (bounds(|(_, x)| *x), bounds(|(y, _)| *y));
        DetectedRegion { pixels, x, y, w, h }
    }
}

/// What is usually measured of a piece.
fn usual(grid: &Array2<f64>, pieces: &[DetectedRegion]) -> Vec<Vec<f64>> {
    let [across, down] = slopes(grid);
    let largest = pieces.iter().map(|piece| piece.pixels.len()).max().unwrap_or(1) as f64;
    let one = |piece: &DetectedRegion| {
        let n = piece.pixels.len() as f64;
        let mean =
            |grid: &Array2<f64>| piece.pixels.iter().map(|pixel| grid[*pixel]).sum::<f64>() / n;
        let level = mean(grid);
        let square = |pixel: &(usize, usize)| (grid[*pixel] - level) * (grid[*pixel] - level);
        let spread = (piece.pixels.iter().map(square).sum::<f64>() / n).sqrt();
        vec![
            n,
            piece.w,
            piece.h,
            n / (piece.w * piece.h),
            level,
            spread,
            mean(&across).sqrt(),
            mean(&down).sqrt(),
            n / largest,
            pieces.len() as f64,
        ]
    };
    pieces.iter().map(one).collect()
}

/// Filters matched to the textures.
pub(super) struct ThingFilters {
    waves: Vec<Wave>,
}

impl ThingFilters {
    pub(super) fn new(scene: &Detection) -> Self {
        let wave = |stripes: Stripes| stripes.wave(scene.side, 0.0);
        Self { waves: scene.textures().into_iter().map(wave).collect() }
    }

    /// The logarithm of each wave's power over a piece, and of the first two over each other.
    pub(super) fn powers(&self, grid: &Array2<f64>, piece: &DetectedRegion) -> Vec<f64> {
        let n = piece.pixels.len() as f64;
        let mean = piece.pixels.iter().map(|pixel| grid[*pixel]).sum::<f64>() / n;
        let power = |wave: &Wave| {
            let (mut a, mut b) = (0.0, 0.0);
            for pixel in &piece.pixels {
                let (sine, cosine) = wave.at(*pixel);
                let value = grid[*pixel] - mean;
                (a, b) = (a + value * sine, b + value * cosine);
            }
            libm::log((a * a + b * b) / (n * n) + 1e-6)
        };
        let mut powers: Vec<f64> = self.waves.iter().map(power).collect();
        let first = powers[0];
        let ratios: Vec<f64> = powers[1..].iter().map(|power| first - power).collect();
        powers.extend(ratios);
        powers
    }
}

/// The rungs of one task.
struct DetectionBaselines<'a> {
    scene: &'a Detection,
    material: &'a Material<'a>,
}

impl DetectionBaselines<'_> {
    fn objects(&self) -> &[Vec<Object>] {
        match self.material.train_truth {
            Values::Objects(rows) => rows,
            _ => &[],
        }
    }

    /// How common each class is among the training boxes.
    fn shares(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.scene.classes.len()];
        let all = self.objects().iter().flatten();
        all.for_each(|object| counts[object.class] += 1.0);
        let sum: f64 = counts.iter().sum();
        counts.iter().map(|count| count / sum.max(1.0)).collect()
    }

    /// The mean box of each class, as sure of it as the class is common.
    fn constant(&self) -> Values {
        let row: Vec<Found> = mean_boxes(self.objects(), self.scene.classes.len())
            .into_iter()
            .zip(self.shares())
            .map(|(object, share)| Found { object, confidence: rounded(share) })
            .collect();
        Values::Detections(vec![row; self.material.test.len()])
    }

    /// All pieces, as every class.
    fn everything(&self, pieces: &[Vec<DetectedRegion>]) -> Values {
        let shares = self.shares();
        let row = |pieces: &Vec<DetectedRegion>| -> Vec<Found> {
            let of = |piece: &DetectedRegion| -> Vec<Found> {
                let found = |(class, share): (usize, &f64)| Found {
                    object: piece.object(class),
                    confidence: rounded(*share),
                };
                shares.iter().enumerate().map(found).collect()
            };
            pieces.iter().flat_map(of).collect()
        };
        Values::Detections(pieces.iter().map(row).collect())
    }

    /// The direction and level that score best on some training pictures, then the margin.
    fn finder(&self) -> Finder {
        let rows: Vec<usize> = (0..self.material.train.len().min(TUNED)).collect();
        let truth = self.material.train_truth.take(&rows);
        let tried = |finder: Finder| {
            let grids = &self.material.train[..rows.len()];
            let pieces: Vec<Vec<DetectedRegion>> =
                grids.iter().map(|grid| finder.pieces(grid)).collect();
            (finder, self.everything(&pieces))
        };
        let start = Finder { bright: true, level: LEVELS[1], margin: 0.0 };
        let choose = |finders: Vec<Finder>| {
            best(self.material.metric, &truth, finders.into_iter().map(tried)).unwrap_or(start)
        };
        let bright = choose([true, false].map(|bright| Finder { bright, ..start }).to_vec());
        let level = choose(LEVELS.map(|level| Finder { level, ..bright }).to_vec());
        choose(MARGINS.map(|margin| Finder { margin, ..level }).to_vec())
    }

    /// Forests of each class over the pieces' features, and what they say of training pieces
    /// out of bag.
    fn forest(
        &self,
        train: &[Vec<DetectedRegion>],
        known: &[Vec<Vec<f64>>],
        test: &[Vec<DetectedRegion>],
        unknown: &[Vec<Vec<f64>>],
        purpose: &str,
    ) -> Result<(Values, Values), ForestError> {
        let (x, of_test) = (from_rows(&known.concat()), from_rows(&unknown.concat()));
        let (mut bags, mut forecasts) = (Vec::new(), Vec::new());
        for class in 0..self.scene.classes.len() {
            let is = |(piece, objects): (&DetectedRegion, &Vec<Object>)| {
                let found = piece.object(class);
                let same = |o: &Object| o.class == class && found.iou(o) >= SAME;
                f64::from(u8::from(objects.iter().any(same)))
            };
            let rows = train.iter().zip(self.objects());
            let y: Vec<f64> = rows
                .flat_map(|(pieces, objects)| pieces.iter().map(move |piece| is((piece, objects))))
                .collect();
            let seed = self.material.stream.child(purpose).index(class as u64).seed();
            let forest = forest::grow(&x, &y, FOREST, seed)?;
            bags.push(forest.out_of_bag(&x)?);
            forecasts.push(forest.predict(&of_test)?);
        }
        Ok((named(test, &forecasts), named(train, &bags)))
    }
}

/// The mean box of each class that has one.
pub(super) fn mean_boxes(objects: &[Vec<Object>], classes: usize) -> Vec<Object> {
    let mean = |class: usize| {
        let of: Vec<&Object> = objects.iter().flatten().filter(|o| o.class == class).collect();
        let n = of.len() as f64;
        let mean = |side: fn(&Object) -> f64| {
            rounded(of.iter().map(|object| side(object)).sum::<f64>() / n)
        };
        (!of.is_empty()).then(|| Object {
            class,
            x: mean(|o| o.x),
            y: mean(|o| o.y),
            w: mean(|o| o.w),
            h: mean(|o| o.h),
        })
    };
    (0..classes).filter_map(mean).collect()
}

/// Each piece as every class that is likely enough.
fn named(pieces: &[Vec<DetectedRegion>], classes: &[Vec<f64>]) -> Values {
    let mut place = 0;
    let row = |pieces: &Vec<DetectedRegion>| -> Vec<Found> {
        let mut row = Vec::new();
        for piece in pieces {
            for (class, chances) in classes.iter().enumerate() {
                if chances[place] > UNLIKELY {
                    let confidence = rounded(chances[place].min(1.0));
                    row.push(Found { object: piece.object(class), confidence });
                }
            }
            place += 1;
        }
        row
    };
    Values::Detections(pieces.iter().map(row).collect())
}

/// With four decimals: what is scored is what is written.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
