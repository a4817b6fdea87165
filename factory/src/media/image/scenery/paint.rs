//! From what is asked of a scene to its pixels.

use super::canvas::Canvas;
use super::figure::{Figure, Fill};
use super::ground::{Setting, Shadow};
use super::layout::{self, Thing, Wanted};
use super::path::Path;
use super::subject::Subject;
use crate::media::Look;
use crate::numeric::draws::{Draws, floor};
use ndarray::Array2;

/// Blue over red of the paint of things, before haze.
pub(super) const DEPTH: f64 = 0.12;
/// How much darker bands are.
const BANDED: f64 = 0.3;
/// How much darker the ground is in a shadow.
const SHADED: f64 = 0.8;
/// Weights of red, green and blue in brightness (ITU-R BT.601).
const LUMA: [f64; 3] = [0.299, 0.587, 0.114];

/// What all scenes of a task share.
#[derive(Debug)]
pub(super) struct Studio {
    /// Pixels along an edge.
    pub(super) side: usize,
    /// Whether red and blue change places in the end.
    pub(super) swapped: bool,
    /// Standard deviation of the noise that even a clean picture has.
    pub(super) grain: f64,
    figure: &'static Figure,
    setting: Setting,
    /// Red of the paint.
    paint: f64,
}

/// What is asked of a scene: its statistics, with the turn in radians and the size in shares of
/// the side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) daylight: f64,
    pub(super) light_tilt: f64,
    pub(super) hue: f64,
    pub(super) size: f64,
    pub(super) haze: f64,
    pub(super) count: f64,
    pub(super) elongation: f64,
    pub(super) tilt: f64,
    pub(super) right: f64,
    pub(super) bands: f64,
}

impl Studio {
    /// That of a task, with one of these sides.
    pub(super) fn of(look: &Look<'_>, sides: &[usize]) -> Self {
        let mut draws = Draws::new(look.stream.child("studio"));
        let side = *draws.pick(sides);
        let any = *draws.pick(&Subject::ALL);
        let figure = look.subject.unwrap_or(any).figure();
        let ground = *draws.pick(&figure.grounds);
        let swapped = draws.chance(0.4) && figure.swapped;
        let grain = draws.between(0.006, 0.014);
        let paint = draws.between(0.78, 0.88);
        let setting = Setting::of(ground, &mut draws);
        Self { side, swapped, grain, figure, setting, paint }
    }

    /// The picture of a scene, in the colours before red and blue change places.
    pub(super) fn scene(&self, asked: &Asked, draws: &mut Draws) -> Canvas {
        let mut canvas = Canvas::new(self.side);
        let horizon = self.setting.horizon(draws);
        let count = floor(asked.count + 0.5).max(1);
        let wanted = Wanted {
            side: self.side as f64,
            horizon,
            count,
            size: asked.size,
            ratio: asked.elongation,
            turn: asked.tilt,
            right: floor(asked.right * count as f64 + 0.5),
        };
        let things = layout::things(self.figure, wanted, draws);
        self.setting.paint(&mut canvas, horizon, draws);
        self.shadows(&mut canvas, &things, asked.light_tilt);
        let free = self.free(&things);
        self.light(&mut canvas, &free, asked.daylight, asked.light_tilt);
        let mean = things.iter().map(|thing| 0.6 + 0.8 * thing.depth).sum::<f64>() / count as f64;
        for thing in &things {
            let haze = asked.haze * (0.6 + 0.8 * thing.depth) / mean;
            self.draw(&mut canvas, thing, haze, asked);
        }
        if count > 1 && draws.chance(0.5) {
            let thing = &things[draws.whole(0, count - 2)];
            let high = 0.9 * thing.half.1;
            let aside = draws.between(-0.6, 0.6) * thing.half.0;
            let foot = (thing.middle.0 + aside, thing.middle.1 + thing.half.1 + 0.22 * high);
            self.setting.hide(&mut canvas, foot, high, draws);
        }
        canvas
    }

    /// Darkens the ground beside or below things, away from the light.
    fn shadows(&self, canvas: &mut Canvas, things: &[Thing], light_tilt: f64) {
        let before = canvas.clone();
        let shaded = |(x, y): (f64, f64), _: [f64; 3]| {
            before.at((floor(y), floor(x))).map(|level| level * SHADED)
        };
        for thing in things {
            let away = -light_tilt * 1.2 * thing.diameter;
            match self.setting.shadow() {
                Shadow::None => {}
                Shadow::Lying => {
                    let mut placed = thing.placed;
                    placed.shift.0 += away;
                    placed.shift.1 += 0.12 * thing.diameter;
                    for part in &self.figure.parts {
                        canvas.fill(&part.path, placed, shaded);
                    }
                }
                Shadow::Standing => {
                    let (wide, high) = (0.9 * thing.half.0, 0.14 * thing.half.1);
                    let foot = (thing.middle.0 + away, thing.middle.1 + thing.half.1 - 0.5 * high);
                    let placed =
                        super::figure::Placed { matrix: [wide, 0.0, 0.0, high], shift: foot };
                    canvas.fill(&Path::ellipse((0.0, 0.0), (1.0, 1.0)), placed, shaded);
                }
            }
        }
    }

    /// The pixels that no thing covers.
    fn free(&self, things: &[Thing]) -> Array2<bool> {
        let mut free = Array2::from_elem((self.side, self.side), true);
        for thing in things {
            for part in self.figure.parts.iter().filter(|part| matches!(part.fill, Fill::Body(_))) {
                part.path.covered(thing.placed, |(x, y), _| {
                    if x >= 0.0 && y >= 0.0 {
                        free.get_mut((floor(y), floor(x)))
                            .into_iter()
                            .for_each(|free| *free = false);
                    }
                });
            }
        }
        free
    }

    fn draw(&self, canvas: &mut Canvas, thing: &Thing, haze: f64, asked: &Asked) {
        let along = if self.figure.wide {
            (libm::cos(thing.turn), libm::sin(thing.turn))
        } else {
            (-libm::sin(thing.turn), libm::cos(thing.turn))
        };
        let middle = thing.placed.of(self.figure.outline.middle);
        let ahead = |(x, y): (f64, f64)| (x - middle.0) * along.0 + (y - middle.1) * along.1;
        let reach = self.figure.outline.edge.iter().map(|point| ahead(thing.placed.of(*point)));
        let (low, high) = reach.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| {
            (low.min(at), high.max(at))
        });
        let period = (high - low) / asked.bands;
        let side = self.side as f64;
        for part in &self.figure.parts {
            canvas.fill(&part.path, thing.placed, |(x, y), _| {
                let rise = (middle.1 - y) / thing.diameter;
                let lit = (x - middle.0) / thing.diameter;
                // Things are lit as the scene is, more so above and on the side of the light.
                let light = 1.0
                    + asked.light_tilt * (x / side - 0.5)
                    + 0.12 * rise
                    + 0.5 * asked.light_tilt * lit;
                match part.fill {
                    Fill::Plain(color) => {
                        color.map(|level| ((level + 0.5 * haze * (0.8 - level)) * light).min(0.97))
                    }
                    Fill::Body(tone) => {
                        let turns = (ahead((x, y)) - low) / period;
                        let off = (turns - turns.floor() - 0.5).abs();
                        let dark = ((0.25 - off) * period + 0.5).clamp(0.0, 1.0);
                        let red = (self.paint * tone * light).min(0.97) * (1.0 - BANDED * dark);
                        let blue = red * DEPTH;
                        let green = blue + (red - blue) * asked.hue / 60.0;
                        [red, green, blue].map(|level| level + haze * (red - level))
                    }
                }
            });
        }
    }

    /// Scales the light, more on one side, so that the brightness of the free pixels has this mean
    /// and rises by this much from the left edge to the right.
    fn light(&self, canvas: &mut Canvas, free: &Array2<bool>, mean: f64, rise: f64) {
        let side = canvas.side() as f64;
        let mut weights = LUMA;
        if self.swapped {
            weights.reverse();
        }
        let at = |x: usize| 2.0 * (x as f64 + 0.5) / side - 1.0;
        // Sums of u^k, and of u^k times the brightness.
        let (mut powers, mut levels) = ([0.0; 3], [0.0; 3]);
        for ((y, x), _) in free.indexed_iter().filter(|(_, free)| **free) {
            let luma: f64 =
                canvas.at((y, x)).iter().zip(weights).map(|(level, part)| level * part).sum();
            let u = at(x);
            for (power, term) in [1.0, u, u * u].into_iter().enumerate() {
                powers[power] += term;
                levels[power] += term * luma;
            }
        }
        // With the factor p + q u, the sums of the brightness and of u times it are as asked.
        let asked =
            (mean * powers[0] + rise / 2.0 * powers[1], mean * powers[1] + rise / 2.0 * powers[2]);
        let determinant = levels[0] * levels[2] - levels[1] * levels[1];
        if determinant <= 0.0 {
            return;
        }
        let p = (asked.0 * levels[2] - asked.1 * levels[1]) / determinant;
        let q = (asked.1 * levels[0] - asked.0 * levels[1]) / determinant;
        canvas.each(|(_, x), color| {
            let factor = p + q * at(x);
            *color = color.map(|level| (level * factor).clamp(0.02, 0.98));
        });
    }
}
