//! Models over the pixels of pictures.

use ndarray::{Array2, ArrayViewMut1};

/// Row and column of every pixel of a square, row by row.
pub(super) fn all_pixels(side: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..side).flat_map(move |y| (0..side).map(move |x| (y, x)))
}

/// Number of values that [`expand`] gives for so many maps.
pub(super) fn terms(maps: usize) -> usize {
    maps + maps * (maps + 1) / 2
}

/// The values of a pixel in every map, with their squares and products, as one row.
pub(super) fn expand(maps: &[Array2<f64>], pixel: (usize, usize), mut row: ArrayViewMut1<f64>) {
    let values = maps.iter().enumerate().flat_map(|(index, map)| {
        let value = map[pixel];
        let products = maps[index..].iter().map(move |other| value * other[pixel]);
        std::iter::once(value).chain(products)
    });
    row.iter_mut().zip(values).for_each(|(into, value)| *into = value);
}
