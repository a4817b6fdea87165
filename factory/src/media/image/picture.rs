//! Square pictures in grey, and the files they travel in.
//!
//! In memory a picture is an array of shape `[down, across]`, with a third axis of channels where
//! it is coloured; the green channel of a coloured picture is the grey picture. PNG files are not
//! compressed: their size depends on the picture's side and nothing else.

use super::jpeg;
use crate::media::{Format, MediumError};
use crate::numeric::draws::floor;
use image::codecs::png::{CompressionType, FilterType, PngDecoder, PngEncoder};
use image::{
    ColorType, ExtendedColorType, ImageDecoder as _, ImageEncoder, ImageError, ImageResult, Limits,
};
use ndarray::{Array2, Array3, ArrayView3, Axis};
use std::io::Cursor;

/// The sides that a file may have: wider than what is drawn, so that cropped copies are read too.
pub(super) const SIDES: std::ops::RangeInclusive<u32> = 16..=256;
/// Bytes that reading a PNG file may allocate.
const MEMORY: u64 = 1 << 20;

/// A picture as a file holds it. All arrays have the shape `[down, across]`, in standard layout.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Picture {
    /// Grey values as bytes: sums of whole numbers are quick and exact.
    pub(crate) bytes: Array2<u8>,
    /// Grey values, from 0 (black) to 1 (white).
    pub(crate) grey: Array2<f64>,
    /// Whether a pixel was measured: one that is wholly black or wholly white was not.
    pub(crate) valid: Array2<bool>,
}

impl Picture {
    /// Of grey pixels of shape `[down, across]`, all of which count as measured unless they are
    /// wholly black or white.
    pub(crate) fn from_grey(bytes: Array2<u8>) -> Self {
        Self::from_pixels(&bytes.insert_axis(Axis(2)), 0)
    }

    /// Of pixels of shape `[down, across, 1 or 3]`; those within `margin` of the ends of the
    /// scale were not measured.
    fn from_pixels(pixels: &Array3<u8>, margin: u8) -> Self {
        let green = pixels.len_of(Axis(2)) / 2;
        let bytes = pixels.index_axis(Axis(2), green).as_standard_layout().into_owned();
        let inner = margin + 1..=u8::MAX - margin - 1;
        Self {
            grey: bytes.mapv(|byte| f64::from(byte) / 255.0),
            valid: bytes.mapv(|byte| inner.contains(&byte)),
            bytes,
        }
    }

    /// Pixels along an edge.
    pub(crate) fn side(&self) -> usize {
        self.bytes.nrows()
    }
}

/// The rows of an array, from the top.
///
/// # Panics
/// Unless the array is in standard layout, as all are that this module and its neighbours make.
pub(crate) fn rows<T>(array: &Array2<T>) -> impl ExactSizeIterator<Item = &[T]> {
    let rows = array.rows().into_iter();
    rows.map(|row| row.to_slice().expect("pictures are in standard layout"))
}

/// The rows of an array, from the top, to be written to. In loops over them, slices are quicker
/// than views, whose iterators ask at every step how they are laid out.
///
/// # Panics
/// As [`rows`].
pub(crate) fn rows_mut<T>(array: &mut Array2<T>) -> impl ExactSizeIterator<Item = &mut [T]> {
    let rows = array.rows_mut().into_iter();
    rows.map(|row| row.into_slice().expect("pictures are in standard layout"))
}

/// Half the sides, each value the sum of four; an odd last row and column are dropped.
pub(super) fn pooled(grid: &Array2<f64>) -> Array2<f64> {
    let (height, width) = grid.dim();
    Array2::from_shape_fn((height / 2, width / 2), |(y, x)| {
        let (y, x) = (2 * y, 2 * x);
        grid[(y, x)] + grid[(y, x + 1)] + grid[(y + 1, x)] + grid[(y + 1, x + 1)]
    })
}

/// The up to eight neighbours of a pixel, row and column, in a square of this side.
pub(crate) fn around(
    side: usize,
    (y, x): (usize, usize),
) -> impl Iterator<Item = (usize, usize)> + Clone {
    (y.saturating_sub(1)..(y + 2).min(side)).flat_map(move |row| {
        (x.saturating_sub(1)..(x + 2).min(side))
            .map(move |column| (row, column))
            .filter(move |near| *near != (y, x))
    })
}

/// A column or row as a coordinate from -1 to 1.
pub(crate) fn coordinate(position: usize, side: usize) -> f64 {
    2.0 * position as f64 / (side - 1) as f64 - 1.0
}

/// The coordinates of all columns or rows.
pub(crate) fn coordinates(side: usize) -> Vec<f64> {
    (0..side).map(|position| coordinate(position, side)).collect()
}

/// The byte of a grey value.
pub(crate) fn byte(value: f64) -> u8 {
    u8::try_from(floor((value * 255.0 + 0.5).clamp(0.0, 255.0))).unwrap_or(u8::MAX)
}

/// Writes pixels of shape `[down, across, 1 or 3]` as a file of a format of pictures.
pub(crate) fn encode(format: Format, pixels: ArrayView3<'_, u8>) -> Vec<u8> {
    let mut file = Vec::new();
    let written = if format == Format::Jpeg {
        write(jpeg::encoder(&mut file), pixels)
    } else {
        let stored = (CompressionType::Uncompressed, FilterType::NoFilter);
        write(PngEncoder::new_with_quality(&mut file, stored.0, stored.1), pixels)
    };
    assert!(written.is_ok(), "writing to memory fails only for other channels: {written:?}");
    file
}

/// Writes a grey picture of shape `[down, across]` as a PNG file.
pub(crate) fn encode_grey(pixels: &Array2<u8>) -> Vec<u8> {
    encode(Format::Png, pixels.view().insert_axis(Axis(2)))
}

fn write(encoder: impl ImageEncoder, pixels: ArrayView3<'_, u8>) -> ImageResult<()> {
    let (height, width, channels) = pixels.dim();
    let [width, height] = [width, height].map(|edge| u32::try_from(edge).unwrap_or(u32::MAX));
    let color = if channels == 3 { ExtendedColorType::Rgb8 } else { ExtendedColorType::L8 };
    let pixels = pixels.as_standard_layout();
    let bytes = pixels.as_slice().expect("the layout was made standard");
    encoder.write_image(bytes, width, height, color)
}

/// Reads a square PNG or JPEG file of one or three channels.
pub(crate) fn decode(bytes: &[u8]) -> Result<Picture, MediumError> {
    if jpeg::begins(bytes) {
        return Ok(Picture::from_pixels(&jpeg::decode(bytes)?, jpeg::MARGIN));
    }
    Ok(Picture::from_pixels(&decode_png(bytes)?, 0))
}

/// The pixels of a square PNG file, of shape `[down, across, channels]`.
pub(super) fn decode_png(bytes: &[u8]) -> Result<Array3<u8>, MediumError> {
    let wrong = |error: ImageError| MediumError(format!("not a PNG file: {error}"));
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MEMORY);
    let decoder = PngDecoder::with_limits(Cursor::new(bytes), limits).map_err(wrong)?;
    let (width, height) = decoder.dimensions();
    if width != height || !SIDES.contains(&width) {
        return Err(MediumError(format!("{width} x {height} pixels")));
    }
    // The decoder widens palettes and fewer bits. Bytes 24 and 25, in the header, say how many
    // bits a channel has and which channels there are (PNG specification, §11.2.1).
    let channels = match (bytes.get(24..26), decoder.color_type()) {
        (Some([8, 0]), ColorType::L8) => 1,
        (Some([8, 2]), ColorType::Rgb8) => 3,
        (header, color) => {
            return Err(MediumError(format!("{color:?} pixels, header {header:?}")));
        }
    };
    let side = width as usize;
    let mut pixels = vec![0; side * side * channels];
    decoder.read_image(&mut pixels).map_err(wrong)?;
    shaped(side, channels, pixels)
}

/// Pixels that were read, as an array of shape `[side, side, channels]`.
pub(super) fn shaped(
    side: usize,
    channels: usize,
    pixels: Vec<u8>,
) -> Result<Array3<u8>, MediumError> {
    Array3::from_shape_vec((side, side, channels), pixels)
        .map_err(|error| MediumError(format!("pixels are missing: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    use image::{DynamicImage, ImageFormat};

    fn file(picture: &DynamicImage) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        picture.write_to(&mut file, ImageFormat::Png).unwrap();
        file.into_inner()
    }

    #[test]
    fn png_of_one_or_three_bytes_a_pixel_comes_back() {
        for channels in [1, 3] {
            let level = |(y, x, c): (usize, usize, usize)| u8::try_from(y * 3 + x + c).unwrap();
            let pixels = Array3::from_shape_fn((48, 48, channels), level);
            let picture = decode(&encode(Format::Png, pixels.view())).unwrap();
            assert_eq!(picture.bytes, pixels.index_axis(Axis(2), channels / 2));
            assert!(!picture.valid[(0, 0)] || channels == 3);
            assert_eq!(picture.grey[(5, 7)], f64::from(picture.bytes[(5, 7)]) / 255.0);
        }
    }

    #[test]
    fn png_of_other_sides_or_channels_is_refused() {
        let grey = |width, height| DynamicImage::new_luma8(width, height);
        assert!(decode(&file(&grey(48, 48))).is_ok());
        for other in [
            grey(48, 40),
            grey(15, 15),
            grey(257, 257),
            DynamicImage::new_luma_a8(48, 48),
            DynamicImage::new_rgba8(48, 48),
            DynamicImage::new_luma16(48, 48),
            DynamicImage::new_rgb16(48, 48),
        ] {
            assert!(decode(&file(&other)).is_err(), "{:?}", other.color());
        }
    }

    #[test]
    fn png_of_a_bit_a_pixel_or_with_a_palette_is_refused() {
        // `PIL.Image.new(mode, (16, 16)).save(file, "PNG", compress_level=9)`, modes 1 and P.
        let (bits, palette) = (
            "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQAQAAAAA3iMLMAAAADElEQVR42mNgIA0AA\
             AAwAAEodEl9AAAAAElFTkSuQmCC",
            "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQAQMAAAAlPW0iAAAAA1BMVEUAAACnej3aA\
             AAADElEQVR42mNgIA0AAAAwAAEodEl9AAAAAElFTkSuQmCC",
        );
        for file in [bits, palette].map(|text| BASE64_STANDARD.decode(text).unwrap()) {
            let read = image::load_from_memory_with_format(&file, ImageFormat::Png).unwrap();
            assert!(matches!(read.color(), ColorType::L8 | ColorType::Rgb8));
            assert!(decode(&file).is_err());
        }
    }
}
