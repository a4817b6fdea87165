//! Reading scattered things: what stands out from the background, piece by piece.

use super::picture::{Picture, around, coordinates};
use super::plane::Plane;
use crate::numeric::draws::floor;
use ndarray::{Array2, s};

/// Distances from the background within which a pixel counts as background, pass by pass.
const NEAR: [f64; 3] = [0.1, 0.06, 0.05];
/// Where in the sorted distances from the background the brightest pieces surely are.
const PEAK_QUANTILE: f64 = 0.99;
/// Pieces of fewer pixels are noise.
const LEAST: usize = 10;
/// Pieces less compact than this are hollow: full ellipses have 1, rings with a hole of
/// [`HOLE`] have (1 - h²)² / (1 + h²)², about 0.4.
const COMPACT: f64 = 0.65;
/// The radius of a ring's hole over its own.
pub(super) const HOLE: f64 = 0.5;
/// Pixels that differ from the background by more than this share of the contrast belong to
/// things: low enough for thin walls to hold together.
const INSIDE: f64 = 0.45;
/// The variance of a position within a pixel.
const PIXEL: f64 = 1.0 / 12.0;
/// Steps to the eight neighbours, each one more than it is.
const AROUND: [(usize, usize); 8] =
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)];
/// Half-axes that differ by less have no direction.
const TINY: f64 = 1e-12;

/// What is measured of scattered things.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blobs {
    /// Grey value of the background, at the middle.
    pub(super) background: f64,
    /// Distance of things from the background in grey values.
    pub(super) contrast: f64,
    /// Number of things in the picture.
    pub(super) count: f64,
    /// Mean radius in pixels.
    pub(super) radius: f64,
    /// Share of things that are darker than the background.
    pub(super) dark: f64,
    /// Share of things that are hollow.
    pub(super) hollow: f64,
    /// Mean of length over width.
    pub(super) elongation: f64,
    /// Mean direction of their length, in degrees clockwise from level.
    pub(super) heading: f64,
    /// Mean place of the things, in pixels from the left and from above.
    pub(super) middle: (f64, f64),
}

/// The form of one piece.
#[derive(Debug, Clone, Copy)]
struct BlobForm {
    /// Radius of the disc of the same spread.
    radius: f64,
    /// Length of the piece over its width.
    elongation: f64,
    hollow: bool,
    /// Cosine and sine of twice the direction of its length: a half turn changes nothing.
    heading: (f64, f64),
}

/// Sums over the pixels of one connected piece.
#[derive(Debug, Clone, Copy, Default)]
struct BlobSums {
    pixels: f64,
    /// Sums of x, y, x², xy, y².
    sums: [f64; 5],
    /// Sum of the differences from the background.
    difference: f64,
}

/// Measures the things of a picture and their background.
pub(super) fn measure(picture: &Picture) -> Blobs {
    let grey = filled(picture);
    let (background, difference) = without_background(&grey);
    let contrast = contrast(&difference);
    let pieces = pieces(&difference, INSIDE * contrast);
    let mut blobs = Blobs {
        background,
        contrast,
        count: pieces.len() as f64,
        radius: 0.0,
        dark: 0.0,
        hollow: 0.0,
        elongation: 1.0,
        heading: 90.0,
        middle: (0.0, 0.0),
    };
    if pieces.is_empty() {
        return blobs;
    }
    let mut heading = (0.0, 0.0);
    blobs.elongation = 0.0;
    for piece in &pieces {
        let form = piece.form();
        blobs.radius += form.radius / blobs.count;
        blobs.elongation += form.elongation / blobs.count;
        blobs.hollow += f64::from(u8::from(form.hollow)) / blobs.count;
        blobs.dark += f64::from(u8::from(piece.difference < 0.0)) / blobs.count;
        blobs.middle.0 += piece.sums[0] / piece.pixels / blobs.count;
        blobs.middle.1 += piece.sums[1] / piece.pixels / blobs.count;
        heading = (heading.0 + form.heading.0, heading.1 + form.heading.1);
    }
    let turn = libm::atan2(heading.1, heading.0).to_degrees() / 2.0;
    blobs.heading = if turn < 0.0 { turn + 180.0 } else { turn };
    blobs
}

impl BlobSums {
    /// From the second moments of its pixels.
    fn form(&self) -> BlobForm {
        let [x, y, xx, xy, yy] = self.sums.map(|sum| sum / self.pixels);
        let (a, b, c) = (xx - x * x + PIXEL, xy - x * y, yy - y * y + PIXEL);
        let determinant = a * c - b * b;
        // A full ellipse of half-axes r and s has area πrs and determinant r²s²/16.
        let pi = std::f64::consts::PI;
        let compactness = self.pixels * self.pixels / (16.0 * pi * pi * determinant);
        let hollow = compactness < COMPACT;
        let spread = determinant.sqrt().sqrt();
        let radius = 2.0 * spread / if hollow { (1.0 + HOLE * HOLE).sqrt() } else { 1.0 };
        let middle = f64::midpoint(a, c);
        let apart = (middle * middle - determinant).max(0.0).sqrt();
        let elongation = ((middle + apart) / (middle - apart)).sqrt();
        // The axes' difference and the mixed moment are `apart` times cosine and sine.
        let heading = ((a - c) / 2.0 / apart.max(TINY), b / apart.max(TINY));
        BlobForm { radius, elongation, hollow, heading }
    }
}

/// The picture with the mean of the measured neighbours where nothing was measured, or middle
/// grey if there is none.
fn filled(picture: &Picture) -> Array2<f64> {
    let mut grey = picture.grey.clone();
    for (pixel, value) in grey.indexed_iter_mut() {
        if picture.valid[pixel] {
            continue;
        }
        let known = around(picture.side(), pixel).filter(|near| picture.valid[*near]);
        *value = match known.clone().count() {
            0 => 0.5,
            count => known.map(|near| picture.grey[near]).sum::<f64>() / count as f64,
        };
    }
    grey
}

/// The background's level at the middle, and what is left without its least-squares plane.
fn without_background(grey: &Array2<f64>) -> (f64, Array2<f64>) {
    let mut values: Vec<f64> = grey.iter().copied().collect();
    let middle = values.len() / 2;
    let (_, median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let mut level = Plane { middle: *median, ..Plane::default() };
    let along = coordinates(grey.nrows());
    for near in NEAR {
        let last = level;
        level = Plane::through(grey, |y, values, weights| {
            let start = last.middle + last.down * along[y];
            for ((weight, value), u) in weights.iter_mut().zip(values).zip(&along) {
                let distance = (value - (start + last.across * u)).abs();
                *weight = if distance < near { 1.0 } else { 0.0 };
            }
        });
    }
    (level.middle, level.below(grey))
}

/// How far things are from the background: the mean of the greatest distances.
fn contrast(difference: &Array2<f64>) -> f64 {
    let distances: Vec<f64> = difference.iter().map(|value| value.abs()).collect();
    let place = floor(PEAK_QUANTILE * (distances.len() - 1) as f64);
    let mut sorted = distances.clone();
    let (_, peak, _) = sorted.select_nth_unstable_by(place, f64::total_cmp);
    let (mut sum, mut count) = (0.0, 0.0);
    for distance in distances.iter().filter(|distance| **distance >= 0.75 * *peak) {
        sum += distance;
        count += 1.0;
    }
    sum / count
}

/// Connected pieces (by sides and corners) that differ by more than the threshold either way.
fn pieces(difference: &Array2<f64>, threshold: f64) -> Vec<BlobSums> {
    let side = difference.nrows();
    // With a border all around, every pixel has eight neighbours.
    let mut open = Array2::from_elem((side + 2, side + 2), false);
    open.slice_mut(s![1..=side, 1..=side]).assign(&difference.mapv(|v| v.abs() > threshold));
    let mut pieces = Vec::new();
    let mut stack = Vec::new();
    for start in (0..side).flat_map(|y| (0..side).map(move |x| (y, x))) {
        if !std::mem::replace(&mut open[(start.0 + 1, start.1 + 1)], false) {
            continue;
        }
        stack.push(start);
        let mut piece = BlobSums::default();
        let mut pixels = 0;
        while let Some((y, x)) = stack.pop() {
            let (u, v) = (x as f64, y as f64);
            for (sum, term) in piece.sums.iter_mut().zip([u, v, u * u, u * v, v * v]) {
                *sum += term;
            }
            piece.difference += difference[(y, x)];
            pixels += 1;
            for (down, across) in AROUND {
                // In the bordered array, the pixel itself stands at (y + 1, x + 1).
                let near = (y + down, x + across);
                if std::mem::replace(&mut open[near], false) {
                    stack.push((near.0 - 1, near.1 - 1));
                }
            }
        }
        if pixels >= LEAST {
            piece.pixels = pixels as f64;
            pieces.push(piece);
        }
    }
    pieces
}
