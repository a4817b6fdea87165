//! Reading scenes: finds things by their colour and measures them.

use super::paint::DEPTH;
use super::pieces::{holes, labelled};
use crate::media::image::picture::Picture;
use crate::numeric::draws::floor;
use ndarray::{Array2, Array3, Axis};
use std::f64::consts::PI;

/// How much redder than blue a pixel and its neighbours are together, at least, where there may be
/// a thing: 0.06 of white, times nine pixels, in steps of a byte.
const RED: i32 = 138;
/// Pieces of fewer pixels are noise, in shares of the picture.
const LEAST: f64 = 0.003;
/// The outline of a thing is where this share of its redness is left.
const EDGE: f64 = 0.55;
/// Pixels with this share of its redness are well within it.
const CORE: f64 = 0.85;
/// The variance of a position within a pixel.
const PIXEL: f64 = 1.0 / 12.0;
/// Holes of less than this share of a thing do not show where it faces.
const HOLE: f64 = 0.015;
/// Places along a thing at which its brightness is taken.
const PLACES: usize = 48;
/// Numbers of bands that are looked for.
const BANDS: std::ops::RangeInclusive<usize> = 2..=6;
/// The smallest size of what is divided by.
const TINY: f64 = 1e-9;

/// Sums over the pixels of a thing with its holes filled, and over its core.
#[derive(Debug, Clone, Copy, Default)]
struct Thing {
    pixels: f64,
    /// Of x, y, x², xy, y².
    moments: [f64; 5],
    /// Pixels of its holes, and their sums of x and y.
    holes: [f64; 3],
    /// Sums of red, green and blue of its core.
    colors: [f64; 3],
}

/// The form of a thing.
#[derive(Debug, Clone, Copy)]
struct Form {
    middle: (f64, f64),
    /// Variances along and across its long axis.
    axes: (f64, f64),
    /// Cosine and sine of twice the direction of its long axis.
    double: (f64, f64),
}

impl Thing {
    fn form(&self) -> Form {
        let [x, y, xx, xy, yy] = self.moments.map(|sum| sum / self.pixels.max(1.0));
        let (a, b, c) = (xx - x * x + PIXEL, xy - x * y, yy - y * y + PIXEL);
        let (half, apart) = (f64::midpoint(a, c), ((a - c) / 2.0 * ((a - c) / 2.0) + b * b).sqrt());
        Form {
            middle: (x, y),
            axes: (half + apart, (half - apart).max(PIXEL)),
            double: ((a - c) / 2.0 / apart.max(TINY), b / apart.max(TINY)),
        }
    }
}

/// The statistics of a scene, in the medium's order.
pub(super) fn measure(pixels: &Array3<u8>, grey: &Picture) -> Vec<f64> {
    let side = pixels.len_of(Axis(0));
    let (warm, cold) = channels(pixels);
    let difference =
        |(y, x): (usize, usize)| i32::from(pixels[(y, x, warm)]) - i32::from(pixels[(y, x, cold)]);
    let red = summed(&Array2::from_shape_fn((side, side), difference));
    let seen = red.mapv(|sum| sum > RED);
    let (labels, count) = labelled(&seen);
    let mut sizes = vec![0_usize; count + 1];
    let (mut first, mut second) = (vec![0.0; count + 1], vec![0.0; count + 1]);
    for (label, red) in labels.iter().zip(&red) {
        sizes[*label] += 1;
        first[*label] += f64::from(*red);
        second[*label] += f64::from(*red) * f64::from(*red);
    }
    let ground = first[0] / sizes[0].max(1) as f64;
    let least = floor(LEAST * (side * side) as f64);
    let strength: Vec<f64> = (0..=count)
        .map(|label| {
            let thing = label > 0 && sizes[label] >= least;
            if thing { second[label] / first[label] - ground } else { f64::INFINITY }
        })
        .collect();
    let share = |pixel: (usize, usize)| (f64::from(red[pixel]) - ground) / strength[labels[pixel]];
    let inside = Array2::from_shape_fn((side, side), |pixel| share(pixel) > EDGE);

    let mut things = vec![Thing::default(); count + 1];
    let mut filled = labels.clone();
    let add = |thing: &mut Thing, (y, x): (usize, usize)| {
        let (u, v) = (x as f64, y as f64);
        thing.pixels += 1.0;
        for (sum, term) in thing.moments.iter_mut().zip([u, v, u * u, u * v, v * v]) {
            *sum += term;
        }
    };
    for (pixel, _) in inside.indexed_iter().filter(|(_, inside)| **inside) {
        let thing = &mut things[labels[pixel]];
        add(thing, pixel);
        if share(pixel) > CORE {
            for (sum, channel) in thing.colors.iter_mut().zip([warm, 1, cold]) {
                *sum += f64::from(pixels[(pixel.0, pixel.1, channel)]);
            }
        }
    }
    for hole in holes(&inside) {
        let (y, x) = hole[0];
        let owner = labels[(y, x - 1)];
        let thing = &mut things[owner];
        for pixel in hole {
            add(thing, pixel);
            filled[pixel] = owner;
            let terms = [1.0, pixel.1 as f64, pixel.0 as f64];
            thing.holes.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
    }
    let around = lighting(grey, |pixel| filled[pixel] == 0);
    let found: Vec<usize> = (1..=count).filter(|label| things[*label].pixels > 0.0).collect();
    let Some(nearest) = found.iter().copied().reduce(|best, label| {
        if things[label].pixels > things[best].pixels { label } else { best }
    }) else {
        return vec![around.0, around.1, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.0];
    };
    let number = found.len() as f64;
    let mean = |of: &dyn Fn(&Thing) -> f64| {
        found.iter().map(|label| of(&things[*label])).sum::<f64>() / number
    };
    let total = |channel: usize| found.iter().map(|l| things[*l].colors[channel]).sum::<f64>();
    let (r, g, b) = (total(0), total(1), total(2));
    let hue = 60.0 * (g - b) / (r - b).max(1.0);
    let size = 100.0 / side as f64 * mean(&|thing| 2.0 * (thing.pixels / PI).sqrt());
    let pale = |thing: &Thing| {
        let ratio = thing.colors[2] / thing.colors[0].max(1.0);
        ((ratio - DEPTH) / (1.0 - DEPTH)).max(0.0)
    };
    let ratio = |thing: &Thing| {
        let (long, wide) = thing.form().axes;
        (long / wide).sqrt()
    };
    let tilt = tilt(found.iter().map(|label| &things[*label]));
    let right = facing(found.iter().map(|label| &things[*label]), tilt);
    let own = |pixel: (usize, usize)| inside[pixel] && labels[pixel] == nearest;
    let bands = bands(&things[nearest].form(), pixels, warm, own);
    vec![
        around.0,
        around.1,
        hue,
        size,
        mean(&pale),
        number,
        mean(&ratio),
        tilt.to_degrees(),
        right,
        bands,
    ]
}

/// The channel that is strong in things and the one that is weak: red and blue where the border of
/// the picture is rather blue than red.
fn channels(pixels: &Array3<u8>) -> (usize, usize) {
    let last = pixels.len_of(Axis(0)) - 1;
    let border = |(y, x): (usize, usize)| y == 0 || x == 0 || y == last || x == last;
    let places = (0..=last).flat_map(|y| (0..=last).map(move |x| (y, x)));
    let redder: i32 = places
        .filter(|pixel| border(*pixel))
        .map(|(y, x)| (i32::from(pixels[(y, x, 0)]) - i32::from(pixels[(y, x, 2)])).signum())
        .sum();
    if redder <= 0 { (0, 2) } else { (2, 0) }
}

/// The sums of three by three pixels; edges are repeated.
fn summed(grid: &Array2<i32>) -> Array2<i32> {
    let side = grid.nrows();
    let near = |at: usize| [at.saturating_sub(1), at, (at + 1).min(side - 1)];
    let rows = Array2::from_shape_fn((side, side), |(y, x)| {
        near(x).into_iter().map(|x| grid[(y, x)]).sum::<i32>()
    });
    Array2::from_shape_fn((side, side), |(y, x)| {
        near(y).into_iter().map(|y| rows[(y, x)]).sum::<i32>()
    })
}

/// Mean brightness of the chosen pixels, and how much brighter they are at the right edge than at
/// the left, on a straight line.
fn lighting(grey: &Picture, chosen: impl Fn((usize, usize)) -> bool) -> (f64, f64) {
    let side = grey.side() as f64;
    let mut sums = [0.0; 5];
    for (pixel, level) in grey.bytes.indexed_iter().filter(|(pixel, _)| chosen(*pixel)) {
        let (u, level) = (2.0 * (pixel.1 as f64 + 0.5) / side - 1.0, f64::from(*level) / 255.0);
        for (sum, term) in sums.iter_mut().zip([1.0, u, u * u, level, u * level]) {
            *sum += term;
        }
    }
    let [n, u, uu, level, product] = sums;
    let determinant = n * uu - u * u;
    if determinant <= TINY {
        return (0.0, 0.0);
    }
    let slope = (n * product - u * level) / determinant;
    ((level * uu - product * u) / determinant, 2.0 * slope)
}

/// The common turn, in radians: how far long axes are from level or upright, whichever is nearer.
fn tilt<'a>(things: impl Iterator<Item = &'a Thing>) -> f64 {
    // Four times an angle is the same for axes at a right angle.
    let (mut cosine, mut sine) = (0.0, 0.0);
    for thing in things {
        let (c, s) = thing.form().double;
        cosine += thing.pixels * (c * c - s * s);
        sine += thing.pixels * 2.0 * s * c;
    }
    libm::atan2(sine, cosine) / 4.0
}

/// The share of things whose holes lie to the right of their middle; a half if none has holes.
fn facing<'a>(things: impl Iterator<Item = &'a Thing>, turn: f64) -> f64 {
    let (cosine, sine) = (libm::cos(turn), libm::sin(turn));
    let (mut right, mut all) = (0.0, 0.0);
    for thing in things.filter(|thing| thing.holes[0] >= HOLE * thing.pixels) {
        let (x, y) = thing.form().middle;
        let [count, across, down] = thing.holes;
        let ahead = (across / count - x) * cosine + (down / count - y) * sine;
        all += 1.0;
        right += f64::from(u8::from(ahead > 0.0));
    }
    if all > 0.0 { right / all } else { 0.5 }
}

/// The number of bands across a thing: the one whose wave is strongest along its long axis.
fn bands(
    form: &Form,
    pixels: &Array3<u8>,
    warm: usize,
    own: impl Fn((usize, usize)) -> bool,
) -> f64 {
    let angle = libm::atan2(form.double.1, form.double.0) / 2.0;
    let (cosine, sine) = (libm::cos(angle), libm::sin(angle));
    let side = pixels.len_of(Axis(0));
    let mut points = Vec::new();
    for pixel in (0..side).flat_map(|y| (0..side).map(move |x| (y, x))).filter(|p| own(*p)) {
        let (x, y) = (pixel.1 as f64 - form.middle.0, pixel.0 as f64 - form.middle.1);
        points.push((x * cosine + y * sine, f64::from(pixels[(pixel.0, pixel.1, warm)])));
    }
    let low = points.iter().map(|(at, _)| *at).fold(f64::INFINITY, f64::min) - 0.5;
    let high = points.iter().map(|(at, _)| *at).fold(f64::NEG_INFINITY, f64::max) + 0.5;
    let (mut sums, mut counts) = ([0.0; PLACES], [0.0; PLACES]);
    for (at, level) in &points {
        let place = floor((at - low) / (high - low) * PLACES as f64).min(PLACES - 1);
        sums[place] += level;
        counts[place] += 1.0;
    }
    let mean = points.iter().map(|(_, level)| level).sum::<f64>() / points.len().max(1) as f64;
    let profile: Vec<f64> = (0..PLACES)
        .map(|place| if counts[place] > 0.0 { sums[place] / counts[place] - mean } else { 0.0 })
        .collect();
    let power = |cycles: usize| {
        let turn = 2.0 * PI * cycles as f64 / PLACES as f64;
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (place, level) in profile.iter().enumerate() {
            let phase = turn * (place as f64 + 0.5);
            real += level * libm::cos(phase);
            imaginary += level * libm::sin(phase);
        }
        real * real + imaginary * imaginary
    };
    let mut best = (0.0, 0.0);
    for cycles in BANDS {
        let power = power(cycles);
        if power > best.1 {
            best = (cycles as f64, power);
        }
    }
    best.0
}
