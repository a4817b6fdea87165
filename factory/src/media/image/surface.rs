//! Close views of a striped surface: cloth, wood, brushed metal, muscle fibres, furrows.

use super::camera::{BAR, COARSE_LEVELS, Camera, DEAD_PIXELS, NOISE};
use super::picture::{around, coordinates, decode};
use super::wave::Wave;
use super::{features, stripes};
use crate::media::{
    Blemish, Format, ItemReader, Look, Medium, MediumError, Reach, Reading, Statistic,
};
use crate::numeric::draws::{Draws, floor};
use ndarray::Array2;
use std::f64::consts::PI;

const STATISTICS: [Statistic; 7] = [
    Statistic {
        name: "brightness",
        low: 0.28,
        high: 0.52,
        decimals: 3,
        reach: Reach::Plain,
        means: "mean grey value, from 0 (black) to 1 (white)",
    },
    Statistic {
        name: "light_tilt",
        low: -0.2,
        high: 0.2,
        decimals: 3,
        reach: Reach::Plain,
        means: "how much brighter the right edge is than the left",
    },
    Statistic {
        name: "contrast",
        low: 0.05,
        high: 0.14,
        decimals: 3,
        reach: Reach::Generic,
        means: "height of the stripes above their mean grey value",
    },
    Statistic {
        name: "specks",
        low: 2.0,
        high: 12.0,
        decimals: 1,
        reach: Reach::Generic,
        means: "single bright points per thousand pixels",
    },
    Statistic {
        name: "grain_angle",
        low: 15.0,
        high: 165.0,
        decimals: 1,
        reach: Reach::Hidden,
        means: "direction of most stripes, in degrees clockwise from level",
    },
    Statistic {
        name: "grain_period",
        low: 5.5,
        high: 11.0,
        decimals: 2,
        reach: Reach::Generic,
        means: "distance from stripe to stripe, in pixels",
    },
    Statistic {
        name: "crossed_share",
        low: 0.04,
        high: 0.32,
        decimals: 2,
        reach: Reach::Hidden,
        means: "share of the area where stripes run across the main direction",
    },
];

/// Sides of the pictures; whole eighths, so that halving thrice loses nothing.
const SIDES: [usize; 3] = [48, 56, 64];
/// How much brighter a speck is than what is below it.
const SPECK_HEIGHT: f64 = 0.24;

/// Striped surfaces, seen closely.
#[derive(Debug)]
pub struct Surface;

impl ItemReader for Surface {
    fn blemishes(&self) -> &'static [Blemish] {
        &[NOISE, DEAD_PIXELS, BAR, COARSE_LEVELS]
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Png, Format::Jpeg]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        let picture = decode(bytes)?;
        let found = stripes::measure(&picture);
        Ok(Reading {
            plain: features::plain(&picture),
            generic: features::generic(&picture),
            estimates: vec![
                found.brightness,
                found.tilt,
                found.contrast,
                found.specks,
                found.angle,
                found.period,
                found.crossed,
            ],
        })
    }

    fn python(&self) -> &'static str {
        concat!(
            include_str!("picture.py"),
            include_str!("features.py"),
            include_str!("plane.py"),
            include_str!("surface.py")
        )
    }
}

impl Medium for Surface {
    fn statistics(&self) -> &'static [Statistic] {
        &STATISTICS
    }

    fn render(&self, values: &[f64], look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
        let camera = Camera::of(look, &SIDES);
        let &[brightness, tilt, contrast, specks, angle, period, crossed] = values else {
            unreachable!("a value for each statistic")
        };
        let side = camera.side;
        let profile = Profile::of(look);
        let angle = angle * PI / 180.0;
        // The wave vector stands at a right angle to the stripes.
        let frequency = (libm::sin(angle) / period, -libm::cos(angle) / period);
        let main = Wave::new(side, frequency, draws.between(0.0, 2.0 * PI));
        let other = Wave::new(side, (-frequency.1, frequency.0), draws.between(0.0, 2.0 * PI));
        let patch = patch(side, crossed, draws);
        let light: Vec<f64> =
            coordinates(side).iter().map(|u| brightness + tilt / 2.0 * u).collect();
        let mut scene = Array2::from_shape_fn((side, side), |(y, x)| {
            let wave = if patch[(y, x)] { &other } else { &main };
            light[x] + contrast * profile.height(wave.at((y, x)))
        });
        scatter(&mut scene, specks, draws);
        camera.photograph(scene, look, draws)
    }
}

/// The cross-section of a task's stripes: a sine and its first overtone.
#[derive(Debug, Clone, Copy)]
struct Profile {
    /// Weights of the overtone's sine and cosine.
    overtone: (f64, f64),
}

impl Profile {
    fn of(look: &Look<'_>) -> Self {
        let mut draws = Draws::new(look.stream.child("profile"));
        let (height, phase) = (draws.between(0.0, 0.3), draws.between(0.0, 2.0 * PI));
        Self { overtone: (height * libm::cos(phase), height * libm::sin(phase)) }
    }

    /// The height at a phase that is given by its sine and cosine.
    fn height(self, (sine, cosine): (f64, f64)) -> f64 {
        let doubled = (2.0 * sine * cosine, 1.0 - 2.0 * sine * sine);
        sine + self.overtone.0 * doubled.0 + self.overtone.1 * doubled.1
    }
}

/// Marks an exact share of the pixels, in one or few large pieces: the highest ones of a slowly
/// waving field.
fn patch(side: usize, share: f64, draws: &mut Draws) -> Array2<bool> {
    let waves: Vec<Wave> = (0..3)
        .map(|_| {
            let turn = draws.between(0.0, 2.0 * PI);
            let cycles = draws.between(0.3, 0.8) / side as f64;
            let frequency = (cycles * libm::cos(turn), cycles * libm::sin(turn));
            Wave::new(side, frequency, draws.between(0.0, 2.0 * PI))
        })
        .collect();
    let mut field = Array2::zeros((side, side));
    for wave in &waves {
        wave.add_sines(&mut field);
    }
    let outside = floor((1.0 - share) * field.len() as f64).min(field.len() - 1);
    let mut sorted: Vec<f64> = field.iter().copied().collect();
    let (_, threshold, _) = sorted.select_nth_unstable_by(outside, f64::total_cmp);
    field.mapv(|value| value >= *threshold)
}

/// Brightens single pixels, no two of which touch.
fn scatter(scene: &mut Array2<f64>, per_thousand: f64, draws: &mut Draws) {
    let side = scene.nrows();
    let mut taken = Array2::from_elem(scene.dim(), false);
    let wanted = floor(per_thousand * scene.len() as f64 / 1000.0 + 0.5);
    for _ in 0..wanted {
        // Even at the highest density nine pixels in ten are free.
        for _ in 0..50 {
            let (x, y) = (draws.whole(0, side - 1), draws.whole(0, side - 1));
            if !taken[(y, x)] {
                scene[(y, x)] += SPECK_HEIGHT;
                taken[(y, x)] = true;
                around(side, (y, x)).for_each(|near| taken[near] = true);
                break;
            }
        }
    }
}
