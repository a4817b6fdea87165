//! Reading stripes: their light, specks, direction, wavelength, and the share of the area where
//! they run across.

use super::grid::{Grid, Picture, coordinate};
use super::wave::Wave;
use crate::draws::floor;

/// A pixel this much brighter than all its neighbours is a speck.
const SPECK_HEIGHT: f64 = 0.08;
/// The shortest and longest wavelength looked for, in pixels: a little wider than is drawn.
const PERIODS: (f64, f64) = (4.8, 12.5);
/// Cells on either side in the averages of local strength; two passes make a triangle.
const REACH: usize = 2;
/// Cells with less than this share of measured pixels around them are left out.
const MEASURED: f64 = 0.4;
/// Where between the weakest and the strongest cell the stripes' height is taken: borders
/// between directions weaken both.
const HEIGHT_QUANTILE: f64 = 0.7;
/// Keeps logarithms and quotients finite.
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
    /// Wavelength in pixels.
    pub(super) period: f64,
    /// Share of the area where stripes run at a right angle to most.
    pub(super) crossed: f64,
}

/// Measures a picture.
pub(super) fn measure(picture: &Picture) -> Stripes {
    let (brightness, tilt, mut rest) = flattened(picture);
    let specks = without_specks(picture, &mut rest);
    let (across, down) = strongest(&rest);
    let side = rest.side as f64;
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
fn flattened(picture: &Picture) -> (f64, f64, Grid) {
    let side = picture.grey.side;
    let plane = plane(&picture.grey, &picture.valid);
    let rest = Grid::from_fn(side, |x, y| {
        let level = plane[0] + plane[1] * coordinate(x, side) + plane[2] * coordinate(y, side);
        if picture.valid[y * side + x] { picture.grey.at(x, y) - level } else { 0.0 }
    });
    (plane[0], 2.0 * plane[1], rest)
}

/// Middle, slope across and slope down (per half side) of the least-squares plane through the
/// marked pixels.
pub(super) fn plane(grid: &Grid, marked: &[bool]) -> [f64; 3] {
    let side = grid.side;
    // Normal equations, as an augmented matrix.
    let mut rows = [[0.0; 4]; 3];
    for y in 0..side {
        for x in 0..side {
            if marked[y * side + x] {
                let terms = [1.0, coordinate(x, side), coordinate(y, side), grid.at(x, y)];
                for (row, left) in rows.iter_mut().zip(terms) {
                    row.iter_mut().zip(terms).for_each(|(sum, right)| *sum += left * right);
                }
            }
        }
    }
    for pivot in 0..3 {
        // Too few pixels leave a slope undetermined: none is assumed.
        if rows[pivot][pivot] < TINY {
            continue;
        }
        let own = rows[pivot];
        for (index, row) in rows.iter_mut().enumerate() {
            if index != pivot {
                let factor = row[pivot] / own[pivot];
                row.iter_mut().zip(own).for_each(|(value, own)| *value -= factor * own);
            }
        }
    }
    [0, 1, 2].map(
        |index| {
            if rows[index][index] < TINY { 0.0 } else { rows[index][3] / rows[index][index] }
        },
    )
}

/// Counts specks per thousand measured pixels, and levels them to their neighbours' mean.
fn without_specks(picture: &Picture, rest: &mut Grid) -> f64 {
    let side = rest.side;
    let mut found = Vec::new();
    for y in 0..side {
        for x in 0..side {
            let place = y * side + x;
            let known = || rest.around(x, y).filter(|near| picture.valid[*near]);
            let highest = known().map(|near| picture.grey.values[near]).fold(0.0, f64::max);
            if picture.valid[place] && picture.grey.values[place] - highest > SPECK_HEIGHT {
                let sum: f64 = known().map(|near| rest.values[near]).sum();
                found.push((place, sum / known().count().max(1) as f64));
            }
        }
    }
    let measured = picture.valid.iter().filter(|valid| **valid).count().max(1);
    let density = 1000.0 * found.len() as f64 / measured as f64;
    for (place, level) in found {
        rest.values[place] = level;
    }
    density
}

/// The frequency with the highest power, in cycles per side across (not negative) and down.
///
/// The transform is that of the picture under Hann's window, at whole frequencies; a parabola
/// through the logarithms of the power around its peak finds the fraction.
fn strongest(rest: &Grid) -> (f64, f64) {
    let side = rest.side;
    let longest = floor(side as f64 / PERIODS.0) + 1;
    let power = power(rest, longest + 1);
    let (low, high) = (side as f64 / PERIODS.1, side as f64 / PERIODS.0);
    let mut best = (0.0, 1, longest + 1);
    for (across, powers) in power.iter().enumerate().take(longest + 1) {
        for (down, power) in powers.iter().enumerate().take(2 * longest + 2).skip(1) {
            let frequency = (across as f64, down as f64 - (longest + 1) as f64);
            let square = frequency.0 * frequency.0 + frequency.1 * frequency.1;
            let inside = square >= low * low && square <= high * high;
            if inside && *power > best.0 {
                best = (*power, across, down);
            }
        }
    }
    let (_, across, down) = best;
    let middle = longest + 1;
    // The spectrum of real numbers is symmetric about its origin.
    let before = if across == 0 { power[1][2 * middle - down] } else { power[across - 1][down] };
    let here = power[across][down];
    let shift_across = summit(before, here, power[across + 1][down]);
    let shift_down = summit(power[across][down - 1], here, power[across][down + 1]);
    (across as f64 + shift_across, down as f64 - middle as f64 + shift_down)
}

/// Power at frequencies `0..=most` across (outer) and `-most..=most` down (inner).
fn power(rest: &Grid, most: usize) -> Vec<Vec<f64>> {
    let side = rest.side;
    let turn = 2.0 * std::f64::consts::PI / side as f64;
    let circle: Vec<(f64, f64)> = (0..side)
        .map(|step| (libm::sin(turn * step as f64), libm::cos(turn * step as f64)))
        .collect();
    let window: Vec<f64> = circle.iter().map(|(_, cosine)| 0.5 - 0.5 * cosine).collect();
    // [across][row]: the transform of each row.
    let mut rows = vec![vec![(0.0, 0.0); side]; most + 1];
    for y in 0..side {
        let row: Vec<f64> = (0..side).map(|x| rest.at(x, y) * window[x] * window[y]).collect();
        for (across, transformed) in rows.iter_mut().enumerate() {
            let (mut real, mut imaginary) = (0.0, 0.0);
            for (x, value) in row.iter().enumerate() {
                let (sine, cosine) = circle[across * x % side];
                real += value * cosine;
                imaginary -= value * sine;
            }
            transformed[y] = (real, imaginary);
        }
    }
    let column = |row: &Vec<(f64, f64)>, down: usize| {
        // Negative frequencies are the ones from the other end of the circle.
        let down = (down + side - most) % side;
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (y, (re, im)) in row.iter().enumerate() {
            let (sine, cosine) = circle[down * y % side];
            real += re * cosine + im * sine;
            imaginary += im * cosine - re * sine;
        }
        real * real + imaginary * imaginary
    };
    rows.iter().map(|row| (0..=2 * most).map(|down| column(row, down)).collect()).collect()
}

/// Where the parabola through three logarithms of power has its top, from the middle one.
fn summit(before: f64, here: f64, after: f64) -> f64 {
    let [a, b, c] = [before, here, after].map(|power| libm::log(power + TINY));
    let bend = a - 2.0 * b + c;
    if bend > -TINY { 0.0 } else { (0.5 * (a - c) / bend).clamp(-0.5, 0.5) }
}

/// The height of the stripes, and the share of the area where those at a right angle to
/// `frequency` (cycles per pixel) are the stronger ones.
fn strengths(rest: &Grid, valid: &[bool], frequency: (f64, f64)) -> (f64, f64) {
    let side = rest.side;
    let seen =
        Grid { side, values: valid.iter().map(|valid| f64::from(u8::from(*valid))).collect() };
    let seen = smoothed(&seen.halved());
    let strength = |frequency: (f64, f64)| -> Vec<f64> {
        let (real, imaginary) = Wave::new(side, frequency, 0.0).demodulated(rest);
        let (real, imaginary) = (smoothed(&real), smoothed(&imaginary));
        real.values.iter().zip(&imaginary.values).map(|(re, im)| re * re + im * im).collect()
    };
    let along = strength(frequency);
    let across = strength((-frequency.1, frequency.0));
    let mut heights = Vec::new();
    let mut crossed = 0.0;
    for ((along, across), seen) in along.iter().zip(&across).zip(&seen.values) {
        if *seen > MEASURED {
            heights.push(along.max(*across).sqrt() / seen);
            crossed += f64::from(u8::from(across > along));
        }
    }
    if heights.is_empty() {
        return (0.0, 0.0);
    }
    heights.sort_unstable_by(f64::total_cmp);
    let height = heights[floor(HEIGHT_QUANTILE * (heights.len() - 1) as f64)];
    // A wave of height 1 has strength one half at its own frequency.
    (2.0 * height, crossed / heights.len() as f64)
}

/// Averaged twice over squares; beyond the edges there is nothing.
fn smoothed(grid: &Grid) -> Grid {
    let side = grid.side;
    let width = (2 * REACH + 1) as f64;
    let mut result = grid.clone();
    for _ in 0..2 {
        for upright in [false, true] {
            let from = result.clone();
            result = Grid::from_fn(side, |x, y| {
                let position = if upright { y } else { x };
                let near = position.saturating_sub(REACH)..(position + REACH + 1).min(side);
                let value = |near| if upright { from.at(x, near) } else { from.at(near, y) };
                near.map(value).sum::<f64>() / width
            });
        }
    }
    result
}
