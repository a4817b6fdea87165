//! Short clips of things that drift: cells in a dish, bubbles, droplets, floats on water.
//!
//! What a rule depends on is mostly between the frames: how fast and which way things drift, and
//! how they grow. `camera` exposes each frame, [`frames`] makes one file of them, or a folder.

use super::blobs::{self, Blobs};
use super::camera::{BLUR, Camera, NOISE, noise};
use super::picture::Picture;
use super::{features, frames};
use crate::media::{
    Blemish, Format, ItemReader, Look, Medium, MediumError, Reach, Reading, Statistic,
};
use crate::numeric::draws::{Draws, floor};
use ndarray::Array2;

const STATISTICS: [Statistic; 8] = [
    Statistic {
        name: "background",
        low: 0.34,
        high: 0.62,
        decimals: 3,
        reach: Reach::Plain,
        means: "mean grey value of the background, from 0 (black) to 1 (white)",
    },
    Statistic {
        name: "brightening",
        low: -0.1,
        high: 0.1,
        decimals: 3,
        reach: Reach::Generic,
        means: "what the background's grey value gains from the first frame to the last",
    },
    Statistic {
        name: "contrast",
        low: 0.12,
        high: 0.26,
        decimals: 3,
        reach: Reach::Generic,
        means: "difference in grey value between things and background",
    },
    Statistic {
        name: "count",
        low: 3.0,
        high: 9.0,
        decimals: 0,
        reach: Reach::Generic,
        means: "number of things",
    },
    Statistic {
        name: "radius",
        low: 3.2,
        high: 4.6,
        decimals: 2,
        reach: Reach::Generic,
        means: "mean radius of the things halfway through, in pixels",
    },
    Statistic {
        name: "speed",
        low: 0.4,
        high: 1.8,
        decimals: 2,
        reach: Reach::Hidden,
        means: "how far things drift, in pixels per frame",
    },
    Statistic {
        name: "heading",
        low: -80.0,
        high: 80.0,
        decimals: 1,
        reach: Reach::Hidden,
        means: "where things drift, in degrees clockwise from due right",
    },
    Statistic {
        name: "growth",
        low: 0.7,
        high: 1.5,
        decimals: 2,
        reach: Reach::Hidden,
        means: "radius of the things in the last frame over that in the first",
    },
];

/// The camera is not held still.
const SHAKE: Blemish = Blemish {
    name: "shake",
    low: 0.1,
    high: 0.4,
    means: "the camera shakes a little from frame to frame",
};
/// Frames that show nothing.
const LOST_FRAMES: Blemish =
    Blemish { name: "lost_frames", low: 0.05, high: 0.2, means: "some frames are black" };

/// Frames of a clip.
const FRAMES: usize = 8;
/// Sides of the frames.
const SIDES: [usize; 3] = [56, 60, 64];
/// Cells along an edge of the field in which things start; each holds at most one.
const CELLS: usize = 3;
/// Free pixels between a thing and its cell's edge.
const GAP: f64 = 1.0;
/// Share of a frame's pixels that must have been measured.
const SEEN: f64 = 0.5;
/// What stands for the estimates of a clip in which nothing is seen.
const NOTHING: [f64; STATISTICS.len()] = [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];

/// Things that drift.
#[derive(Debug)]
pub struct Clip;

impl ItemReader for Clip {
    fn blemishes(&self) -> &'static [Blemish] {
        &[NOISE, BLUR, SHAKE, LOST_FRAMES]
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Tiff, Format::Frames]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        let mut seen: Vec<(f64, Picture)> = Vec::new();
        for (time, frame) in frames::decode(bytes)?.into_iter().enumerate() {
            let picture = Picture::from_grey(frame);
            let measured = picture.valid.iter().filter(|valid| **valid).count();
            if measured as f64 >= SEEN * picture.valid.len() as f64 {
                seen.push((time as f64, picture));
            }
        }
        let Some((_, middle)) = seen.get(seen.len() / 2) else {
            let blank = Picture::from_grey(Array2::zeros((SIDES[0], SIDES[0])));
            return Ok(Reading {
                plain: features::plain(&blank),
                generic: [features::generic(&blank), vec![0.0; 2]].concat(),
                estimates: NOTHING.to_vec(),
            });
        };
        let (first, last) = (&seen[0].1.grey, &seen[seen.len() - 1].1.grey);
        let mean = |grey: &Array2<f64>| grey.sum() / grey.len() as f64;
        let moved = (last - first).mapv(f64::abs);
        let between = vec![mean(last) - mean(first), mean(&moved)];
        Ok(Reading {
            plain: features::plain(middle),
            generic: [features::generic(middle), between].concat(),
            estimates: estimates(&seen),
        })
    }

    fn python(&self) -> &'static str {
        concat!(
            include_str!("picture.py"),
            include_str!("features.py"),
            include_str!("plane.py"),
            include_str!("objects.py"),
            include_str!("clip.py")
        )
    }
}

impl Medium for Clip {
    fn statistics(&self) -> &'static [Statistic] {
        &STATISTICS
    }

    fn render(&self, values: &[f64], look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
        let camera = Camera::of(look, &SIDES);
        let &[background, brightening, contrast, count, radius, speed, heading, growth] = values
        else {
            unreachable!("a value for each statistic")
        };
        let turn = heading.to_radians();
        let step = (speed * libm::cos(turn), speed * libm::sin(turn));
        let things = drifters(camera.side, floor(count + 0.5), radius, draws);
        let shake = look.blemishes.get(SHAKE.name).copied().unwrap_or(0.0);
        let lost = look.blemishes.get(LOST_FRAMES.name).copied().unwrap_or(0.0);
        let drawn: Vec<Array2<u8>> = (0..FRAMES)
            .map(|frame| {
                // From -1/2 in the first frame to 1/2 in the last.
                let time = frame as f64 / (FRAMES - 1) as f64 - 0.5;
                let steps = time * (FRAMES - 1) as f64;
                let level = background + brightening * time;
                let mut scene = Array2::from_elem((camera.side, camera.side), level);
                let off = (shake * noise(draws), shake * noise(draws));
                let size = libm::pow(growth, time);
                for thing in &things {
                    let x = thing.middle.0 + steps * step.0 + off.0;
                    let y = thing.middle.1 + steps * step.1 + off.1;
                    disc(&mut scene, (x, y), thing.radius * size, contrast * thing.tone);
                }
                let bytes = camera.expose(scene, look, draws);
                if draws.chance(lost) { bytes.mapv(|_| 0) } else { bytes }
            })
            .collect();
        frames::encode(&drawn, look.format)
    }
}

/// A thing halfway through.
#[derive(Debug)]
struct Drifter {
    middle: (f64, f64),
    radius: f64,
    /// 1 for brighter than the background, -1 for darker.
    tone: f64,
}

/// Things in places where none leaves the picture or meets another, however they drift and grow:
/// where they are must not tell how fast they go.
fn drifters(side: usize, count: usize, radius: f64, draws: &mut Draws) -> Vec<Drifter> {
    let [.., most_radius, most_speed, _, most_growth] = STATISTICS.map(|statistic| statistic.high);
    // Half the way lies before the middle of the clip and half after it, as half the growth does.
    let margin = most_speed * (FRAMES - 1) as f64 / 2.0;
    let width = (side as f64 - 2.0 * margin) / CELLS as f64;
    let slack = (width / 2.0 - most_radius * most_growth.sqrt() - GAP).max(0.0);
    let mut cells: Vec<usize> = (0..CELLS * CELLS).collect();
    draws.shuffle(&mut cells);
    let along = |cell: usize, draws: &mut Draws| {
        margin + (cell as f64 + 0.5) * width - 0.5 + draws.between(-slack, slack)
    };
    let mut thing = |cell: usize| Drifter {
        middle: (along(cell % CELLS, draws), along(cell / CELLS, draws)),
        radius,
        tone: if draws.chance(0.5) { 1.0 } else { -1.0 },
    };
    cells.into_iter().take(count).map(&mut thing).collect()
}

/// Adds a tone to each pixel by the share of it that a disc covers: all within half a pixel of the
/// edge, none beyond it, and evenly between.
fn disc(scene: &mut Array2<f64>, (middle_x, middle_y): (f64, f64), radius: f64, tone: f64) {
    let last = (scene.nrows() - 1) as f64;
    let range = |middle: f64| {
        floor((middle - radius - 1.0).clamp(0.0, last))
            ..floor((middle + radius + 1.0).clamp(0.0, last)) + 1
    };
    for y in range(middle_y) {
        for x in range(middle_x) {
            let (u, v) = (x as f64 - middle_x, y as f64 - middle_y);
            let inside = (radius + 0.5 - (u * u + v * v).sqrt()).clamp(0.0, 1.0);
            scene[(y, x)] += tone * inside;
        }
    }
}

/// The statistics of a clip from its frames and their times.
fn estimates(seen: &[(f64, Picture)]) -> Vec<f64> {
    let measured: Vec<(f64, Blobs)> =
        seen.iter().map(|(time, picture)| (*time, blobs::measure(picture))).collect();
    let mut counts: Vec<f64> = measured.iter().map(|(_, blobs)| blobs.count).collect();
    counts.sort_by(f64::total_cmp);
    let count = counts[counts.len() / 2];
    // Where a thing was missed or taken for two, the mean place jumps.
    let whole: Vec<&(f64, Blobs)> =
        measured.iter().filter(|(_, blobs)| blobs.count == count && count > 0.0).collect();
    let times: Vec<f64> = whole.iter().map(|(time, _)| *time).collect();
    let of = |value: &dyn Fn(&Blobs) -> f64| -> Vec<f64> {
        whole.iter().map(|(_, blobs)| value(blobs)).collect()
    };
    let all: Vec<f64> = measured.iter().map(|(time, _)| *time).collect();
    let backgrounds: Vec<f64> = measured.iter().map(|(_, blobs)| blobs.background).collect();
    let length = (FRAMES - 1) as f64;
    let halfway = length / 2.0;
    let level = Course::of(&all, &backgrounds);
    let contrasts: Vec<f64> = measured.iter().map(|(_, blobs)| blobs.contrast).collect();
    let contrast = contrasts.iter().sum::<f64>() / contrasts.len() as f64;
    let [background, brightening] = [level.at(halfway), length * level.slope];
    if whole.is_empty() {
        return [&[background, brightening, contrast], &NOTHING[3..]].concat();
    }
    let across = Course::of(&times, &of(&|blobs| blobs.middle.0)).slope;
    let down = Course::of(&times, &of(&|blobs| blobs.middle.1)).slope;
    let size = Course::of(&times, &of(&|blobs| libm::log(blobs.radius)));
    vec![
        background,
        brightening,
        contrast,
        count,
        libm::exp(size.at(halfway)),
        libm::hypot(across, down),
        libm::atan2(down, across).to_degrees(),
        libm::exp(length * size.slope),
    ]
}

/// A straight line through values over time, by least squares.
#[derive(Debug)]
struct Course {
    mean: f64,
    /// The mean of the times.
    time: f64,
    slope: f64,
}

impl Course {
    fn of(times: &[f64], values: &[f64]) -> Self {
        let n = times.len() as f64;
        let (time, mean) = (times.iter().sum::<f64>() / n, values.iter().sum::<f64>() / n);
        let pairs = || times.iter().zip(values).map(|(t, value)| (t - time, value - mean));
        let spread: f64 = pairs().map(|(t, _)| t * t).sum();
        let together: f64 = pairs().map(|(t, value)| t * value).sum();
        Self { mean, time, slope: if spread > 0.0 { together / spread } else { 0.0 } }
    }

    fn at(&self, time: f64) -> f64 {
        self.mean + self.slope * (time - self.time)
    }
}
