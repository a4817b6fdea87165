//! Reading stripes: their light, specks, direction, wavelength, and the share of the area where
//! they run across.

use super::picture::{Picture, around, pooled, rows, rows_mut};
use super::plane::Plane;
use super::spectrum::strongest;
use super::wave::Wave;
use crate::numeric::draws::floor;
use ndarray::{Array2, azip, s};

/// A pixel this much brighter than all its neighbours, in steps of a byte, is a speck: 0.08 grey
/// values.
const SPECK_HEIGHT: u8 = 20;
/// Cells on either side in the averages of local strength; two passes make a triangle.
const REACH: usize = 2;
/// Cells with less than this share of measured pixels around them are left out.
const MEASURED: f64 = 0.4;
/// Pixels, times their weights, that go into a cell's sum: two passes over squares of four.
const WEIGHT: f64 = 4.0 * 625.0;
/// Where between the weakest and the strongest cell the stripes' height is taken: borders
/// between directions weaken both.
const HEIGHT_QUANTILE: f64 = 0.7;
/// Lower bound of denominators, which keeps quotients finite.
const TINY: f64 = 1e-12;

/// What is measured of a striped surface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stripes {
    /// Grey value at the middle.
    pub(super) brightness: f64,
    /// How much brighter the right edge is than the left.
    pub(super) tilt: f64,
    /// Height of the stripes over their mean.
    pub(super) contrast: f64,
    /// Isolated bright pixels per thousand.
    pub(super) specks: f64,
    /// Direction in which most stripes run, in degrees clockwise from level.
    pub(super) angle: f64,
    /// Wavelength of the stripes, in pixels.
    pub(super) period: f64,
    /// Share of the area where stripes run at a right angle to most.
    pub(super) crossed: f64,
}

/// Measures the stripes of a picture and its light.
pub(super) fn measure(picture: &Picture) -> Stripes {
    let (brightness, tilt, mut rest) = flattened(picture);
    let specks = without_specks(picture, &mut rest);
    let (across, down) = strongest(&rest);
    let side = picture.side() as f64;
    let frequency = (across / side, down / side);
    let length = (frequency.0 * frequency.0 + frequency.1 * frequency.1).sqrt().max(TINY);
    // Stripes run at a right angle to their wave vector.
    let angle = libm::atan2(across, -down).to_degrees();
    let (contrast, crossed) = strengths(&rest, &picture.valid, frequency);
    let (angle, crossed) = if crossed > 0.5 {
        // The peak was that of the smaller part.
        (if angle < 90.0 { angle + 90.0 } else { angle - 90.0 }, 1.0 - crossed)
    } else {
        (angle, crossed)
    };
    Stripes { brightness, tilt, contrast, specks, angle, period: 1.0 / length, crossed }
}

/// The least-squares plane of measured pixels: its middle, its rise from left to right, and
/// what it leaves, which is zero where nothing was measured.
fn flattened(picture: &Picture) -> (f64, f64, Array2<f64>) {
    let plane = Plane::through(&picture.grey, |y, _, weights| {
        let valid = picture.valid.row(y);
        weights.iter_mut().zip(valid).for_each(|(weight, valid)| *weight = share(*valid));
    });
    let mut rest = plane.below(&picture.grey);
    azip!((value in &mut rest, valid in &picture.valid) if !valid { *value = 0.0 });
    (plane.middle, 2.0 * plane.across, rest)
}

fn share(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// Counts specks per thousand measured pixels, and levels them to their neighbours' mean.
fn without_specks(picture: &Picture, rest: &mut Array2<f64>) -> f64 {
    let mut found = Vec::new();
    let highest = highest_around(picture);
    for ((pixel, byte), highest) in picture.bytes.indexed_iter().zip(highest) {
        if byte.saturating_sub(highest) > SPECK_HEIGHT && picture.valid[pixel] {
            let known = around(picture.side(), pixel).filter(|near| picture.valid[*near]);
            let sum: f64 = known.clone().map(|near| rest[near]).sum();
            found.push((pixel, sum / known.count().max(1) as f64));
        }
    }
    let measured = picture.valid.iter().filter(|valid| **valid).count().max(1);
    let density = 1000.0 * found.len() as f64 / measured as f64;
    for (pixel, level) in found {
        rest[pixel] = level;
    }
    density
}

/// The highest byte among the measured neighbours of every pixel, 0 if there is none.
fn highest_around(picture: &Picture) -> Array2<u8> {
    let side = picture.side();
    // With a border all around, every pixel has eight neighbours.
    let mut known = Array2::zeros((side + 2, side + 2));
    let measured = picture.bytes.mapv(|byte| if byte < u8::MAX { byte } else { 0 });
    known.slice_mut(s![1..=side, 1..=side]).assign(&measured);
    let mut highest = Array2::zeros((side, side));
    let known: Vec<&[u8]> = rows(&known).collect();
    for (highest, near) in rows_mut(&mut highest).zip(known.windows(3)) {
        let (above, here, below) = (near[0], near[1], near[2]);
        for (x, highest) in highest.iter_mut().enumerate() {
            let upper = above[x].max(above[x + 1]).max(above[x + 2]);
            let lower = below[x].max(below[x + 1]).max(below[x + 2]);
            *highest = upper.max(lower).max(here[x]).max(here[x + 2]);
        }
    }
    highest
}

/// The height of the stripes, and the share of the area where those at a right angle to
/// `frequency` (cycles per pixel) are the stronger ones.
fn strengths(rest: &Array2<f64>, valid: &Array2<bool>, frequency: (f64, f64)) -> (f64, f64) {
    // Sums over the same pixels with the same weights: their quotients are means.
    let seen = smoothed(pooled(&valid.mapv(share)));
    let strength = |frequency: (f64, f64)| {
        let [real, imaginary] = Wave::new(rest.nrows(), frequency, 0.0).demodulated(rest);
        let (mut power, imaginary) = (smoothed(real), smoothed(imaginary));
        azip!((real in &mut power, i in &imaginary) *real = *real * *real + i * i);
        power
    };
    let along = strength(frequency);
    let across = strength((-frequency.1, frequency.0));
    let mut heights = Vec::with_capacity(seen.len());
    let mut crossed = 0;
    for ((seen, along), across) in seen.iter().zip(&along).zip(&across) {
        if *seen > MEASURED * WEIGHT {
            heights.push(along.max(*across) / (seen * seen));
            crossed += usize::from(across > along);
        }
    }
    if heights.is_empty() {
        return (0.0, 0.0);
    }
    let share = crossed as f64 / heights.len() as f64;
    let place = floor(HEIGHT_QUANTILE * (heights.len() - 1) as f64);
    let (_, height, _) = heights.select_nth_unstable_by(place, f64::total_cmp);
    // A wave of height 1 has strength one half at its own frequency.
    (2.0 * height.sqrt(), share)
}

/// Summed twice over squares; beyond the edges there is nothing.
fn smoothed(mut grid: Array2<f64>) -> Array2<f64> {
    let side = grid.nrows();
    let mut padded = vec![0.0; side + 2 * REACH];
    let mut summed = vec![0.0; (side + 2 * REACH) * side];
    for _ in 0..2 {
        for (sums, row) in summed[REACH * side..].chunks_exact_mut(side).zip(rows(&grid)) {
            padded[REACH..REACH + side].copy_from_slice(row);
            add_up(sums, &padded, 1);
        }
        for (y, sums) in rows_mut(&mut grid).enumerate() {
            add_up(sums, &summed[y * side..(y + 2 * REACH + 1) * side], side);
        }
    }
    grid
}

/// The sums of five values that are `stride` apart, the first of them at the same place.
fn add_up(sums: &mut [f64], values: &[f64], stride: usize) {
    let count = sums.len();
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|step| &values[step * stride..step * stride + count]);
    for (place, sum) in sums.iter_mut().enumerate() {
        *sum = a[place] + b[place] + c[place] + d[place] + e[place];
    }
}
