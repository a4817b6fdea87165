//! Pixels in red, green and blue, and how paths are filled on them.

use super::figure::Placed;
use super::path::Path;
use crate::numeric::draws::floor;
use ndarray::Array2;

/// A square picture: red, green and blue of each pixel, from 0 to 1, row by row.
#[derive(Debug, Clone)]
pub(super) struct Canvas {
    side: usize,
    pixels: Vec<[f64; 3]>,
}

impl Canvas {
    pub(super) fn new(side: usize) -> Self {
        Self { side, pixels: vec![[0.0; 3]; side * side] }
    }

    pub(super) fn side(&self) -> usize {
        self.side
    }

    /// The color of a pixel, by its row and column.
    pub(super) fn at(&self, (y, x): (usize, usize)) -> [f64; 3] {
        self.pixels[y * self.side + x]
    }

    /// Changes every pixel.
    pub(super) fn each(&mut self, mut change: impl FnMut((usize, usize), &mut [f64; 3])) {
        for (y, row) in self.pixels.chunks_exact_mut(self.side).enumerate() {
            for (x, color) in row.iter_mut().enumerate() {
                change((y, x), color);
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
        let most = self.side as f64;
        path.covered(placed, |(x, y), share| {
            if x < 0.0 || y < 0.0 || x >= most || y >= most {
                return;
            }
            let below = &mut self.pixels[floor(y) * self.side + floor(x)];
            let above = paint((x, y), *below);
            for (below, above) in below.iter_mut().zip(above) {
                *below += share * (above - *below);
            }
        });
    }

    /// Red, green and blue, each of shape `[down, across]`.
    pub(super) fn planes(&self) -> [Array2<f64>; 3] {
        [0, 1, 2].map(|channel: usize| {
            let values = self.pixels.iter().map(|color| color[channel]).collect();
            Array2::from_shape_vec((self.side, self.side), values)
                .expect("there is a color for each pixel")
        })
    }
}
