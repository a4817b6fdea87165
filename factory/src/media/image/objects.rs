//! Scattered things on a background: cells, grains, droplets, parts on a belt.

use super::blobs::{self, HOLE};
use super::camera::{BLUR, Camera, DEAD_PIXELS, NOISE, SHADE};
use super::features;
use super::picture::decode;
use super::wave::Wave;
use crate::media::{
    Blemish, Format, ItemReader, Look, Medium, MediumError, Reach, Reading, Statistic,
};
use crate::numeric::draws::{Draws, floor};
use ndarray::Array2;
use std::f64::consts::PI;

const STATISTICS: [Statistic; 8] = [
    Statistic {
        name: "background",
        low: 0.34,
        high: 0.62,
        decimals: 3,
        reach: Reach::Plain,
        means: "grey value of the background, from 0 (black) to 1 (white)",
    },
    Statistic {
        name: "contrast",
        low: 0.14,
        high: 0.28,
        decimals: 3,
        reach: Reach::Generic,
        means: "difference in grey value between things and background",
    },
    Statistic {
        name: "count",
        low: 4.0,
        high: 14.0,
        decimals: 0,
        reach: Reach::Generic,
        means: "number of things",
    },
    Statistic {
        name: "radius",
        low: 3.2,
        high: 4.4,
        decimals: 2,
        reach: Reach::Hidden,
        means: "mean radius of the things, in pixels",
    },
    Statistic {
        name: "dark_share",
        low: 0.1,
        high: 0.9,
        decimals: 2,
        reach: Reach::Generic,
        means: "share of things that are darker than the background",
    },
    Statistic {
        name: "ring_share",
        low: 0.0,
        high: 1.0,
        decimals: 2,
        reach: Reach::Generic,
        means: "share of things that are hollow",
    },
    Statistic {
        name: "elongation",
        low: 1.3,
        high: 1.8,
        decimals: 2,
        reach: Reach::Hidden,
        means: "mean length of the things over their width",
    },
    Statistic {
        name: "heading",
        low: 15.0,
        high: 165.0,
        decimals: 1,
        reach: Reach::Hidden,
        means: "direction in which most things lie, in degrees clockwise from level",
    },
];

/// Sides of the pictures; whole eighths, so that halving thrice loses nothing.
const SIDES: [usize; 2] = [56, 64];
/// Cells along an edge; each holds at most one thing.
const CELLS: usize = 4;
/// Free pixels between a thing and its cell's edge.
const GAP: f64 = 0.6;
/// Degrees by which a thing may lie off the common direction.
const SWAY: f64 = 20.0;
/// Points of a pixel at which its cover is tested, from its middle.
const OFFSETS: [(f64, f64); 9] = {
    const THIRD: f64 = 1.0 / 3.0;
    [
        (-THIRD, -THIRD),
        (0.0, -THIRD),
        (THIRD, -THIRD),
        (-THIRD, 0.0),
        (0.0, 0.0),
        (THIRD, 0.0),
        (-THIRD, THIRD),
        (0.0, THIRD),
        (THIRD, THIRD),
    ]
};

/// Things scattered on a background.
#[derive(Debug)]
pub struct Objects;

impl ItemReader for Objects {
    fn blemishes(&self) -> &'static [Blemish] {
        &[NOISE, BLUR, DEAD_PIXELS, SHADE]
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Png, Format::Jpeg]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        let picture = decode(bytes)?;
        let found = blobs::measure(&picture);
        Ok(Reading {
            plain: features::plain(&picture),
            generic: features::generic(&picture),
            estimates: vec![
                found.background,
                found.contrast,
                found.count,
                found.radius,
                found.dark,
                found.hollow,
                found.elongation,
                found.heading,
            ],
        })
    }

    fn python(&self) -> &'static str {
        concat!(
            include_str!("picture.py"),
            include_str!("features.py"),
            include_str!("plane.py"),
            include_str!("objects.py")
        )
    }
}

impl Medium for Objects {
    fn statistics(&self) -> &'static [Statistic] {
        &STATISTICS
    }

    fn render(&self, values: &[f64], look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
        let camera = Camera::of(look, &SIDES);
        let &[background, contrast, count, radius, dark, rings, elongation, heading] = values
        else {
            unreachable!("a value for each statistic")
        };
        let mut scene = Backdrop::of(look, camera.side).scene(background);
        let shape = ThingOutline::of(look);
        let mut cells: Vec<usize> = (0..CELLS * CELLS).collect();
        draws.shuffle(&mut cells);
        cells.truncate(floor(count + 0.5));
        let things = cells.len();
        // The shares are met as well as whole things can; which ones is chance.
        let is_dark = chosen(things, dark, draws);
        let is_ring = chosen(things, rings, draws);
        let sizes = around_one(things, 0.06, draws);
        let lengths = around_one(things, 0.04, draws);
        for (index, cell) in cells.into_iter().enumerate() {
            let stretch = (elongation * lengths[index]).sqrt();
            let mean = radius * sizes[index] * shape.scale();
            let thing = Thing {
                half_axes: (mean * stretch, mean / stretch),
                turn: (heading + draws.between(-SWAY, SWAY)) * PI / 180.0,
                hole: if is_ring[index] { HOLE } else { 0.0 },
                shape,
                tone: if is_dark[index] { -contrast } else { contrast },
            };
            let width = camera.side as f64 / CELLS as f64;
            let slack = (width / 2.0 - thing.reach() - GAP).max(0.0);
            let mut along =
                |cell: usize| (cell as f64 + 0.5) * width - 0.5 + draws.between(-slack, slack);
            let middle = (along(cell % CELLS), along(cell / CELLS));
            thing.draw(&mut scene, middle);
        }
        camera.photograph(scene, look, draws)
    }
}

/// The faint pattern behind the things of a task.
#[derive(Debug)]
struct Backdrop {
    waves: [Wave; 2],
    height: f64,
    side: usize,
}

impl Backdrop {
    fn of(look: &Look<'_>, side: usize) -> Self {
        let mut draws = Draws::new(look.stream.child("backdrop"));
        let height = draws.between(0.0, 0.008);
        let mut wave = || {
            let turn = draws.between(0.0, PI);
            let cycles = 1.0 / draws.between(6.0, 20.0);
            let frequency = (cycles * libm::cos(turn), cycles * libm::sin(turn));
            Wave::new(side, frequency, draws.between(0.0, 2.0 * PI))
        };
        Self { waves: [wave(), wave()], height, side }
    }

    fn scene(&self, level: f64) -> Array2<f64> {
        let mut scene = Array2::zeros((self.side, self.side));
        for wave in &self.waves {
            wave.add_sines(&mut scene);
        }
        scene.mapv_inplace(|value| level + self.height * value);
        scene
    }
}

/// The outline of a task's things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThingOutline {
    /// x² + y² = 1
    Round,
    /// x⁴ + y⁴ = 1
    Blocky,
}

impl ThingOutline {
    fn of(look: &Look<'_>) -> Self {
        *Draws::new(look.stream.child("shape")).pick(&[Self::Round, Self::Blocky])
    }

    /// The half-axis that gives the same spread as a disc of radius one.
    fn scale(self) -> f64 {
        match self {
            Self::Round => 1.0,
            // The mean of x² over x⁴ + y⁴ <= 1 is 0.2995, that over the unit disc 1/4.
            Self::Blocky => 0.9136,
        }
    }

    /// How far its corners are from the middle, in half-axes.
    fn corner(self) -> f64 {
        match self {
            Self::Round => 1.0,
            Self::Blocky => 1.06,
        }
    }

    /// Whether a point is within the outline enlarged by a factor.
    fn holds(self, x: f64, y: f64, factor: f64) -> bool {
        let (x, y, edge) = (x * x, y * y, factor * factor);
        match self {
            Self::Round => x + y <= edge,
            Self::Blocky => x * x + y * y <= edge * edge,
        }
    }
}

/// Form, direction and tone of one drawn thing.
#[derive(Debug, Clone, Copy)]
struct Thing {
    half_axes: (f64, f64),
    turn: f64,
    /// Size of the hole over its own; 0 for none.
    hole: f64,
    shape: ThingOutline,
    /// Added to the background.
    tone: f64,
}

impl Thing {
    /// No point is farther from the middle than this.
    fn reach(&self) -> f64 {
        self.half_axes.0 * self.shape.corner()
    }

    /// Adds its tone to each pixel by the share that it covers.
    fn draw(&self, scene: &mut Array2<f64>, (middle_x, middle_y): (f64, f64)) {
        let (sine, cosine) = (libm::sin(self.turn), libm::cos(self.turn));
        let (reach, last) = (self.reach() + 1.0, (scene.nrows() - 1) as f64);
        let range = |middle: f64| {
            floor((middle - reach).clamp(0.0, last))..floor((middle + reach).clamp(0.0, last)) + 1
        };
        // Beyond these distances along its own axes no point of a pixel is covered.
        let (length, width) = self.half_axes;
        let (far, wide) = (self.reach() + 0.75, width * self.shape.corner() + 0.75);
        for y in range(middle_y) {
            for x in range(middle_x) {
                let (u, v) = (x as f64 - middle_x, y as f64 - middle_y);
                if (u * cosine + v * sine).abs() > far || (v * cosine - u * sine).abs() > wide {
                    continue;
                }
                let covered: u8 = OFFSETS
                    .iter()
                    .map(|(right, below)| {
                        let (u, v) = (u + right, v + below);
                        let along = (u * cosine + v * sine) / length;
                        let across = (v * cosine - u * sine) / width;
                        let inside = self.shape.holds(along, across, 1.0)
                            && !(self.hole > 0.0 && self.shape.holds(along, across, self.hole));
                        u8::from(inside)
                    })
                    .sum();
                let share = f64::from(covered) / OFFSETS.len() as f64;
                scene[(y, x)] += self.tone * share;
            }
        }
    }
}

/// Marks a share of `count` things, as exactly as whole things allow.
fn chosen(count: usize, share: f64, draws: &mut Draws) -> Vec<bool> {
    let marked = floor(share * count as f64 + 0.5);
    let mut flags: Vec<bool> = (0..count).map(|index| index < marked).collect();
    draws.shuffle(&mut flags);
    flags
}

/// Factors within `spread` of one, whose mean is one.
fn around_one(count: usize, spread: f64, draws: &mut Draws) -> Vec<f64> {
    let factors: Vec<f64> = (0..count).map(|_| draws.between(1.0 - spread, 1.0 + spread)).collect();
    let mean = factors.iter().sum::<f64>() / count.max(1) as f64;
    factors.iter().map(|factor| factor / mean).collect()
}
