//! Scenes in colour: several things of one kind at different depths, on a ground, in some light.
//!
//! What is shown is painted in red to yellow, and everything else in colours that are no redder
//! than they are blue, or in a task's pictures the other way round. Readers find things by that
//! alone, without knowing what they are; everything else they measure of their outlines.

mod canvas;
mod colours;
mod figure;
mod ground;
mod layout;
mod paint;
mod path;
mod pieces;
mod sighting;
mod subject;
#[cfg(test)]
mod tests;

pub use subject::Subject;

use super::camera::{BLUR, COARSE_LEVELS, NOISE, add_noise, blurred, coarsen};
use super::picture::{byte, decode_png, encode};
use super::{features, given, jpeg};
use crate::media::{
    Blemish, Format, ItemReader, Look, Medium, MediumError, Reach, Reading, Statistic,
};
use crate::numeric::draws::Draws;
use canvas::Canvas;
use ndarray::{Array3, Axis};
use paint::Studio;

const STATISTICS: [Statistic; 10] = [
    Statistic {
        name: "daylight",
        low: 0.4,
        high: 0.66,
        decimals: 3,
        reach: Reach::Plain,
        means: "mean brightness of the surroundings, from 0 (black) to 1 (white)",
    },
    Statistic {
        name: "light_tilt",
        low: -0.24,
        high: 0.24,
        decimals: 3,
        reach: Reach::Plain,
        means: "how much brighter the surroundings are at the right edge than at the left",
    },
    Statistic {
        name: "hue",
        low: 4.0,
        high: 54.0,
        decimals: 1,
        reach: Reach::Generic,
        means: "hue of the things, in degrees from red to yellow, or from blue to cyan",
    },
    Statistic {
        name: "size",
        low: 14.0,
        high: 18.0,
        decimals: 2,
        reach: Reach::Hidden,
        means: "mean diameter of the things in per cent of the picture's side",
    },
    Statistic {
        name: "haze",
        low: 0.05,
        high: 0.4,
        decimals: 3,
        reach: Reach::Generic,
        means: "how pale the things look for haze, from 0 (not at all) to 1 (white)",
    },
    Statistic {
        name: "count",
        low: 3.0,
        high: 8.0,
        decimals: 0,
        reach: Reach::Generic,
        means: "number of things",
    },
    Statistic {
        name: "elongation",
        low: 1.3,
        high: 1.9,
        decimals: 2,
        reach: Reach::Hidden,
        means: "mean length of the things over their width",
    },
    Statistic {
        name: "tilt",
        low: -20.0,
        high: 20.0,
        decimals: 1,
        reach: Reach::Hidden,
        means: "by how many degrees most things are turned clockwise",
    },
    Statistic {
        name: "facing_right",
        low: 0.0,
        high: 1.0,
        decimals: 2,
        reach: Reach::Hidden,
        means: "share of things that face right",
    },
    Statistic {
        name: "bands",
        low: 2.0,
        high: 6.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "number of dark bands across the nearest thing",
    },
];

/// Sides of the pictures; whole eighths, so that halving thrice loses nothing.
const SIDES: [usize; 4] = [112, 128, 144, 160];
/// Which of the features of the brightness are among the generic ones: all but the likeness of
/// neighbours.
const BRIGHTNESS: [std::ops::Range<usize>; 2] = [0..20, 26..28];

/// Scenes of several things of one kind.
#[derive(Debug)]
pub struct Scenery;

impl ItemReader for Scenery {
    fn blemishes(&self) -> &'static [Blemish] {
        &[NOISE, BLUR, COARSE_LEVELS]
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Jpeg, Format::Png]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        let pixels = decode(bytes)?;
        let grey = given::grey(&pixels);
        let brightness = features::generic(&grey);
        let mut generic: Vec<f64> =
            BRIGHTNESS.into_iter().flat_map(|range| brightness[range].to_vec()).collect();
        generic.extend(features::tints(pixels.view()));
        generic.extend(colours::of(&pixels));
        let estimates = sighting::measure(&pixels, &grey);
        Ok(Reading { plain: features::plain(&grey), generic, estimates })
    }

    fn python(&self) -> &'static str {
        concat!(include_str!("scenery/scenery.py"), include_str!("features.py"))
    }
}

/// Pixels of shape `[down, across, 3]`; grey pictures have three equal channels.
fn decode(bytes: &[u8]) -> Result<Array3<u8>, MediumError> {
    let pixels = if jpeg::begins(bytes) { jpeg::decode(bytes)? } else { decode_png(bytes)? };
    if pixels.len_of(Axis(2)) == 3 {
        return Ok(pixels);
    }
    let (height, width, _) = pixels.dim();
    Ok(Array3::from_shape_fn((height, width, 3), |(y, x, _)| pixels[(y, x, 0)]))
}

impl Medium for Scenery {
    fn statistics(&self) -> &'static [Statistic] {
        &STATISTICS
    }

    fn render(&self, values: &[f64], look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
        let &[daylight, light_tilt, hue, size, haze, count, elongation, tilt, right, bands] =
            values
        else {
            unreachable!("a value for each statistic")
        };
        let studio = Studio::of(look, &SIDES);
        let asked = paint::Asked {
            daylight,
            light_tilt,
            hue,
            size: size / 100.0,
            haze,
            count,
            elongation,
            tilt: tilt.to_radians(),
            right,
            bands,
        };
        let canvas = studio.scene(&asked, draws);
        photograph(&canvas, &studio, look, draws)
    }
}

/// The file of a scene.
fn photograph(canvas: &Canvas, studio: &Studio, look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
    let strength = |blemish: &Blemish| look.blemishes.get(blemish.name).copied();
    let added = strength(&NOISE).unwrap_or(0.0);
    let sigma = (studio.grain * studio.grain + added * added).sqrt();
    let mut planes = canvas.planes();
    for plane in &mut planes {
        if let Some(sigma) = strength(&BLUR) {
            *plane = blurred(plane, sigma);
        }
        add_noise(plane, sigma, draws);
        if let Some(step) = strength(&COARSE_LEVELS) {
            coarsen(plane, step);
        }
    }
    if studio.swapped {
        planes.swap(0, 2);
    }
    let side = studio.side;
    let pixels =
        Array3::from_shape_fn((side, side, 3), |(y, x, channel)| byte(planes[channel][(y, x)]));
    encode(look.format, pixels.view())
}
