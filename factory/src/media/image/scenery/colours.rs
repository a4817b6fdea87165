//! What any solver computes of the colours of a picture.

use ndarray::{Array3, Axis};

/// Differences between a pixel's strongest and weakest channel above which it counts as coloured,
/// in steps of a byte.
const COLOURED: [i32; 2] = [60, 110];
/// The byte of white.
const WHITE: f64 = 255.0;

/// Mean and spread of the differences between the strongest and the weakest channel, in shares of
/// white; shares of pixels above each of [`COLOURED`]; and of those above the first one, the means
/// of where the middle channel lies between the others and of the weakest over the strongest.
pub(super) fn of(pixels: &Array3<u8>) -> [f64; 6] {
    let (mut sum, mut squares, mut above) = (0.0, 0.0, [0.0; 2]);
    let (mut between, mut pale) = (0.0, 0.0);
    for pixel in pixels.lanes(Axis(2)) {
        let mut levels = [i32::from(pixel[0]), i32::from(pixel[1]), i32::from(pixel[2])];
        levels.sort_unstable();
        let [weak, middle, strong] = levels;
        let apart = strong - weak;
        sum += f64::from(apart);
        squares += f64::from(apart * apart);
        for (count, least) in above.iter_mut().zip(COLOURED) {
            *count += f64::from(u8::from(apart > least));
        }
        if apart > COLOURED[0] {
            between += f64::from(middle - weak) / f64::from(apart);
            pale += f64::from(weak) / f64::from(strong);
        }
    }
    let count = (pixels.len() / 3) as f64;
    let mean = sum / count;
    let spread = (squares / count - mean * mean).max(0.0).sqrt();
    let coloured = above[0].max(1.0);
    [
        mean / WHITE,
        spread / WHITE,
        above[0] / count,
        above[1] / count,
        between / coloured,
        pale / coloured,
    ]
}
