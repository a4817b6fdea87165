//! Pixels in red, green and blue, and how paths are filled on them.

use super::figure::Placed;
use super::path::Path;
use crate::numeric::draws::floor;
use ndarray::Array2;

/// A square picture: a plane for each of red, green and blue, from 0 to 1, of shape
/// `[down, across]`.
#[derive(Debug)]
pub(super) struct Canvas {
    pub(super) planes: [Array2<f64>; 3],
}

impl Canvas {
    pub(super) fn new(side: usize) -> Self {
        Self { planes: [(); 3].map(|()| Array2::zeros((side, side))) }
    }

    pub(super) fn side(&self) -> usize {
        self.planes[0].nrows()
    }

    pub(super) fn at(&self, pixel: (usize, usize)) -> [f64; 3] {
        [0, 1, 2].map(|channel: usize| self.planes[channel][pixel])
    }

    pub(super) fn set(&mut self, pixel: (usize, usize), color: [f64; 3]) {
        for (plane, level) in self.planes.iter_mut().zip(color) {
            plane[pixel] = level;
        }
    }

    /// Changes every pixel.
    pub(super) fn each(&mut self, mut change: impl FnMut((usize, usize), &mut [f64; 3])) {
        for y in 0..self.side() {
            for x in 0..self.side() {
                let mut color = self.at((y, x));
                change((y, x), &mut color);
                self.set((y, x), color);
            }
        }
    }

    /// Fills a path with what `paint` makes of a point (across and down, in pixels) and of the
    /// color there.
    pub(super) fn fill(
        &mut self,
        path: &Path,
        placed: Placed,
        mut paint: impl FnMut((f64, f64), [f64; 3]) -> [f64; 3],
    ) {
        let most = self.side() as f64;
        path.covered(placed, |(x, y), share| {
            if x < 0.0 || y < 0.0 || x >= most || y >= most {
                return;
            }
            let pixel = (floor(y), floor(x));
            let below = self.at(pixel);
            let above = paint((x, y), below);
            self.set(pixel, [0, 1, 2].map(|c: usize| below[c] + share * (above[c] - below[c])));
        });
    }
}
