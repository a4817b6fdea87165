//! From a scene to a file: what a task's camera does to all its pictures, and what is wrong
//! with it.

use super::picture::{byte, coordinates, encode, rows, rows_mut};
use crate::media::{Blemish, Format, Look};
use crate::numeric::draws::{Draws, floor};
use ndarray::{Array2, Array3, ArrayViewMut3, Axis};

/// The sensor adds noise.
pub(crate) const NOISE: Blemish =
    Blemish { name: "noise", low: 0.01, high: 0.03, means: "the sensor adds noise to every pixel" };
/// Pixels that measure nothing.
pub(crate) const DEAD_PIXELS: Blemish = Blemish {
    name: "dead_pixels",
    low: 0.005,
    high: 0.04,
    means: "some pixels are stuck at black or white",
};
/// A part of the picture is hidden.
pub(crate) const BAR: Blemish = Blemish {
    name: "bar",
    low: 0.04,
    high: 0.1,
    means: "a black bar hides a strip of the picture somewhere",
};
/// The picture has few grey levels.
pub(crate) const COARSE_LEVELS: Blemish = Blemish {
    name: "coarse_levels",
    low: 0.02,
    high: 0.05,
    means: "brightness was stored in coarse steps",
};
/// The lens is out of focus.
pub(crate) const BLUR: Blemish =
    Blemish { name: "blur", low: 0.25, high: 0.55, means: "the lens is slightly out of focus" };
/// The light is uneven over the picture.
pub(crate) const SHADE: Blemish = Blemish {
    name: "shade",
    low: 0.04,
    high: 0.14,
    means: "the light falls in from one side, a different one each time",
};

/// How the channels of a file follow from the grey value.
#[derive(Debug, Clone, Copy)]
enum Tint {
    /// The file has one channel, the grey value.
    Grey,
    /// Offset and gain of red and of blue; green is the grey value.
    Colours { red: (f64, f64), blue: (f64, f64) },
}

/// What all pictures of a task share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Camera {
    /// Pixels along an edge.
    pub(crate) side: usize,
    tint: Tint,
    /// How much darker the corners are than the middle of the edges, about.
    vignette: f64,
    /// Standard deviation of the noise that even a clean picture has.
    grain: f64,
    /// What files it writes.
    format: Format,
}

impl Camera {
    /// The camera of a task, with one of these sides.
    pub(crate) fn of(look: &Look<'_>, sides: &[usize]) -> Self {
        let mut draws = Draws::new(look.stream.child("camera"));
        let side = *draws.pick(sides);
        let tint = if draws.chance(0.35) {
            Tint::Grey
        } else {
            let mut channel = || (draws.between(0.0, 0.3), draws.between(0.4, 0.7));
            Tint::Colours { red: channel(), blue: channel() }
        };
        let vignette = draws.between(0.0, 0.06);
        Self { side, tint, vignette, grain: draws.between(0.006, 0.014), format: look.format }
    }

    /// The file of a scene.
    pub(crate) fn photograph(
        &self,
        scene: Array2<f64>,
        look: &Look<'_>,
        draws: &mut Draws,
    ) -> Vec<u8> {
        self.develop(&self.expose(scene, look, draws))
    }

    /// The grey bytes of a scene, of shape `[down, across]`.
    pub(crate) fn expose(
        &self,
        scene: Array2<f64>,
        look: &Look<'_>,
        draws: &mut Draws,
    ) -> Array2<u8> {
        let strength = |blemish: &Blemish| look.blemishes.get(blemish.name).copied();
        let mut grid = scene;
        self.light(&mut grid, strength(&SHADE).unwrap_or(0.0), draws);
        if let Some(sigma) = strength(&BLUR) {
            grid = blurred(&grid, sigma);
        }
        let added = strength(&NOISE).unwrap_or(0.0);
        let sigma = (self.grain * self.grain + added * added).sqrt();
        add_noise(&mut grid, sigma, draws);
        if let Some(step) = strength(&COARSE_LEVELS) {
            coarsen(&mut grid, step);
        }
        // The two ends of the scale mark what was not measured.
        let mut bytes = grid.mapv(|value| byte(value).clamp(1, 254));
        if let Some(share) = strength(&DEAD_PIXELS) {
            stick(bytes.view_mut().insert_axis(Axis(2)), share, draws);
        }
        if let Some(share) = strength(&BAR) {
            cover(bytes.view_mut().insert_axis(Axis(2)), share, draws);
        }
        bytes
    }

    /// Darkens the corners and one side, leaving the mean as it is.
    fn light(&self, grid: &mut Array2<f64>, shade: f64, draws: &mut Draws) {
        let turn = draws.between(0.0, 2.0 * std::f64::consts::PI);
        let slope = (libm::cos(turn) * shade / 2.0, libm::sin(turn) * shade / 2.0);
        let along = coordinates(self.side);
        let mean = 2.0 * along.iter().map(|v| v * v).sum::<f64>() / self.side as f64;
        for (row, y) in rows_mut(grid).zip(&along) {
            for (value, x) in row.iter_mut().zip(&along) {
                *value += slope.0 * x + slope.1 * y - self.vignette * (x * x + y * y - mean);
            }
        }
    }

    /// Grey bytes as a file.
    fn develop(&self, bytes: &Array2<u8>) -> Vec<u8> {
        let Tint::Colours { red, blue } = self.tint else {
            return encode(self.format, bytes.view().insert_axis(Axis(2)));
        };
        let channel = |(offset, gain): (f64, f64), grey: u8| match grey {
            0 | 255 => grey,
            _ => byte(offset + gain * f64::from(grey) / 255.0),
        };
        let pixel = |grey: u8| [channel(red, grey), grey, channel(blue, grey)];
        let colours: Vec<[u8; 3]> = (0..=u8::MAX).map(pixel).collect();
        let pixels: Vec<u8> = bytes.iter().flat_map(|grey| colours[usize::from(*grey)]).collect();
        let pixels = Array3::from_shape_vec((self.side, self.side, 3), pixels)
            .expect("there are three bytes for each pixel");
        encode(self.format, pixels.view())
    }
}

/// Stores grey values in steps of this size.
pub(super) fn coarsen(grid: &mut Array2<f64>, step: f64) {
    grid.mapv_inplace(|value| ((value / step).floor() + 0.5) * step);
}

/// Makes a share of the pixels black or white, in all channels. Pixels have the shape
/// `[down, across, channels]`.
pub(super) fn stick(mut pixels: ArrayViewMut3<'_, u8>, share: f64, draws: &mut Draws) {
    for mut pixel in pixels.lanes_mut(Axis(2)) {
        if draws.chance(share) {
            pixel.fill(if draws.chance(0.5) { 0 } else { 255 });
        }
    }
}

/// Lays a black bar over a share of a square picture, across or along it. Pixels have the shape
/// `[down, across, channels]`.
pub(super) fn cover(mut pixels: ArrayViewMut3<'_, u8>, share: f64, draws: &mut Draws) {
    let side = pixels.len_of(Axis(0));
    let width = floor(share * side as f64 + 0.5).max(1);
    let from = draws.whole(0, side - width);
    let across = usize::from(draws.chance(0.5));
    pixels.slice_axis_mut(Axis(across), (from..from + width).into()).fill(0);
}

/// Adds noise of this standard deviation, nearly normal. A sum of three is close enough for a
/// sensor and an order of magnitude quicker than an exact quantile for every pixel.
pub(super) fn add_noise(grid: &mut Array2<f64>, sigma: f64, draws: &mut Draws) {
    let mut units = vec![0.0; 3 * grid.len()];
    draws.units(&mut units);
    let width = 3 * grid.ncols();
    for (row, units) in rows_mut(grid).zip(units.chunks_exact(width)) {
        for (value, [a, b, c]) in row.iter_mut().zip(units.as_chunks::<3>().0) {
            *value += sigma * (2.0 * (a + b + c - 1.5));
        }
    }
}

/// Mean 0 and variance 1, as nearly normal as what [`add_noise`] adds.
pub(crate) fn noise(draws: &mut Draws) -> f64 {
    2.0 * (draws.unit() + draws.unit() + draws.unit() - 1.5)
}

/// Convolved with a Gaussian bell; edges are repeated.
pub(super) fn blurred(grid: &Array2<f64>, sigma: f64) -> Array2<f64> {
    const REACH: usize = 3;
    let side = grid.nrows();
    let bell = |distance: usize| {
        let z = distance as f64 / sigma;
        libm::exp(-0.5 * z * z)
    };
    let weights: [f64; 2 * REACH + 1] = std::array::from_fn(|place| bell(place.abs_diff(REACH)));
    let sum: f64 = weights.iter().sum();
    // Rows, with their ends repeated and the first and last of them too.
    let mut across = Vec::with_capacity((side + 2 * REACH) * side);
    let mut padded = vec![0.0; side + 2 * REACH];
    for (y, row) in rows(grid).enumerate() {
        padded[..REACH].fill(row[0]);
        padded[REACH..REACH + side].copy_from_slice(row);
        padded[REACH + side..].fill(row[side - 1]);
        let times = if y == 0 || y + 1 == side { REACH + 1 } else { 1 };
        for _ in 0..times {
            weighted(&mut across, &padded, 1, side, &weights, sum);
        }
    }
    let mut values = Vec::with_capacity(side * side);
    for y in 0..side {
        weighted(&mut values, &across[y * side..], side, side, &weights, sum);
    }
    Array2::from_shape_vec((side, side), values).expect("there is a mean for each pixel")
}

/// Appends weighted means of values that are `stride` apart.
fn weighted<const N: usize>(
    means: &mut Vec<f64>,
    values: &[f64],
    stride: usize,
    count: usize,
    weights: &[f64; N],
    sum: f64,
) {
    let shifted: [&[f64]; N] = std::array::from_fn(|s| &values[s * stride..s * stride + count]);
    means.extend((0..count).map(|place| {
        let mut mean = 0.0;
        for (weight, values) in weights.iter().zip(shifted) {
            mean += weight * values[place];
        }
        mean / sum
    }));
}
