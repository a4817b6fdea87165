//! Pictures that are given, in grey or colour, and what can be wrong with them.

use super::camera::{BAR, COARSE_LEVELS, DEAD_PIXELS, NOISE, add_noise, coarsen, cover, stick};
use super::features;
use super::picture::{Picture, SIDES, byte, decode_png, encode};
use crate::media::{Blemish, Format, ItemReader, Look, MediumError, Reading};
use crate::numeric::draws::Draws;
use ndarray::{Array2, Array3, ArrayView3, Axis};

/// Parts of 2^16 of red, green and blue in brightness (ITU-R BT.601, as Pillow rounds them).
const LUMA: [u32; 3] = [19595, 38470, 7471];

/// Square pictures of any content, of one or three channels.
#[derive(Debug)]
pub struct GivenPicture;

impl ItemReader for GivenPicture {
    fn blemishes(&self) -> &'static [Blemish] {
        &[NOISE, DEAD_PIXELS, BAR, COARSE_LEVELS]
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Png]
    }

    /// Plain: a thumbnail of the brightness, and of coloured pictures the mean of each channel.
    /// Generic: features of the brightness, and of coloured pictures those of the tints.
    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        let pixels = decode(bytes)?;
        let grey = grey(&pixels);
        let (mut plain, mut generic) = (features::plain(&grey), features::generic(&grey));
        if pixels.len_of(Axis(2)) == 3 {
            plain.extend(features::channel_means(pixels.view()));
            generic.extend(features::tints(pixels.view()));
        }
        Ok(Reading { plain, generic, estimates: Vec::new() })
    }

    fn python(&self) -> &'static str {
        concat!(include_str!("given.py"), include_str!("features.py"))
    }
}

/// Makes sure that a picture can be written: it is a square of a fitting side, with one or three
/// channels.
pub(crate) fn check(pixels: ArrayView3<'_, u8>) -> Result<(), MediumError> {
    let (height, width, channels) = pixels.dim();
    let sides = *SIDES.start() as usize..=*SIDES.end() as usize;
    if height != width || !sides.contains(&width) || ![1, 3].contains(&channels) {
        return Err(MediumError(format!(
            "a picture of {height} x {width} pixels with {channels} channels; give a square of {} \
             to {} pixels a side with 1 or 3 channels",
            sides.start(),
            sides.end()
        )));
    }
    Ok(())
}

/// The file of pixels of shape `[down, across, 1 or 3]`, with the blemishes in force.
pub(crate) fn write(pixels: ArrayView3<'_, u8>, look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
    let strength = |blemish: &Blemish| look.blemishes.get(blemish.name).copied();
    let mut pixels = pixels.as_standard_layout().into_owned();
    for mut channel in pixels.axis_iter_mut(Axis(2)) {
        let level = |at: (usize, usize)| f64::from(channel[at]) / 255.0;
        let mut grid = Array2::from_shape_fn(channel.dim(), level);
        if let Some(sigma) = strength(&NOISE) {
            add_noise(&mut grid, sigma, draws);
        }
        if let Some(step) = strength(&COARSE_LEVELS) {
            coarsen(&mut grid, step);
        }
        channel.zip_mut_with(&grid, |level, value| *level = byte(*value));
    }
    if let Some(share) = strength(&DEAD_PIXELS) {
        stick(pixels.view_mut(), share, draws);
    }
    if let Some(share) = strength(&BAR) {
        cover(pixels.view_mut(), share, draws);
    }
    encode(look.format, pixels.view())
}

/// The pixels of a PNG file, of shape `[down, across, 1 or 3]`.
pub(crate) fn decode(bytes: &[u8]) -> Result<Array3<u8>, MediumError> {
    decode_png(bytes)
}

/// The brightness of a PNG file.
pub(crate) fn decode_grey(bytes: &[u8]) -> Result<Picture, MediumError> {
    Ok(grey(&decode(bytes)?))
}

/// The brightness of pixels of shape `[down, across, 1 or 3]`.
pub(super) fn grey(pixels: &Array3<u8>) -> Picture {
    if pixels.len_of(Axis(2)) == 1 {
        return Picture::from_grey(pixels.index_axis(Axis(2), 0).to_owned());
    }
    let luma = |(y, x): (usize, usize)| {
        let parts = LUMA.iter().zip(pixels.slice(ndarray::s![y, x, ..]));
        let sum: u32 = parts.map(|(part, level)| part * u32::from(*level)).sum();
        u8::try_from((sum + (1 << 15)) >> 16).unwrap_or(u8::MAX)
    };
    let (height, width, _) = pixels.dim();
    Picture::from_grey(Array2::from_shape_fn((height, width), luma))
}
