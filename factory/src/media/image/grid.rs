//! Square pictures in grey, and the files they travel in.
//!
//! PNG files are not compressed: their size depends on the picture's side and nothing else.
//! The green channel of a coloured picture is the grey picture.

use super::jpeg;
use crate::media::{Format, MediumError};
use crate::numeric::draws::floor;
use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Limits, Transformations};
use std::io::Cursor;

/// The sides that a file may have: wider than what is drawn, so that cropped copies are read too.
pub(super) const SIDES: std::ops::RangeInclusive<u32> = 16..=256;

/// A square of numbers, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    /// Pixels along an edge.
    pub(crate) side: usize,
    /// `side * side` values; a picture's are between 0 (black) and 1 (white).
    pub(crate) values: Vec<f64>,
}

impl Grid {
    /// A grid of `side * side` zeros.
    pub(crate) fn zeros(side: usize) -> Self {
        Self { side, values: vec![0.0; side * side] }
    }

    /// From a function of column and row.
    pub(crate) fn from_fn(side: usize, mut value: impl FnMut(usize, usize) -> f64) -> Self {
        let mut values = Vec::with_capacity(side * side);
        for y in 0..side {
            values.extend((0..side).map(|x| value(x, y)));
        }
        Self { side, values }
    }

    /// The value in a column and a row.
    pub(crate) fn at(&self, x: usize, y: usize) -> f64 {
        self.values[y * self.side + x]
    }

    /// Half the side, each value the sum of four; an odd last row and column are dropped.
    pub(crate) fn pooled(&self) -> Self {
        Self::from_fn(self.side / 2, |x, y| {
            let (x, y) = (2 * x, 2 * y);
            self.at(x, y) + self.at(x + 1, y) + self.at(x, y + 1) + self.at(x + 1, y + 1)
        })
    }

    /// The eight neighbours of a pixel that exist.
    pub(crate) fn around(&self, x: usize, y: usize) -> impl Iterator<Item = usize> {
        let side = self.side;
        (y.saturating_sub(1)..(y + 2).min(side)).flat_map(move |row| {
            (x.saturating_sub(1)..(x + 2).min(side))
                .filter(move |column| (*column, row) != (x, y))
                .map(move |column| row * side + column)
        })
    }
}

/// A column or row as a coordinate from -1 to 1.
pub(crate) fn coordinate(position: usize, side: usize) -> f64 {
    2.0 * position as f64 / (side - 1) as f64 - 1.0
}

/// The coordinates of all columns or rows.
pub(crate) fn coordinates(side: usize) -> Vec<f64> {
    (0..side).map(|position| coordinate(position, side)).collect()
}

/// A picture as a file holds it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Picture {
    /// Grey values as bytes, row by row: sums of whole numbers are quick and exact.
    pub(crate) bytes: Vec<u8>,
    /// Grey values, from 0 (black) to 1 (white).
    pub(crate) grey: Grid,
    /// Whether a pixel was measured: one that is wholly black or wholly white was not.
    pub(crate) valid: Vec<bool>,
}

impl Picture {
    /// Of pixels of one or three channels; those within `margin` of the ends of the scale were
    /// not measured.
    fn of(side: usize, channels: usize, pixels: Vec<u8>, margin: u8) -> Self {
        let bytes: Vec<u8> = match channels {
            1 => pixels,
            _ => pixels.as_chunks::<3>().0.iter().map(|pixel| pixel[1]).collect(),
        };
        let values = bytes.iter().map(|byte| f64::from(*byte) / 255.0).collect();
        let inner = margin + 1..=u8::MAX - margin - 1;
        let valid = bytes.iter().map(|byte| inner.contains(byte)).collect();
        Self { bytes, grey: Grid { side, values }, valid }
    }
}

/// The byte of a grey value.
pub(crate) fn byte(value: f64) -> u8 {
    u8::try_from(floor((value * 255.0 + 0.5).clamp(0.0, 255.0))).unwrap_or(u8::MAX)
}

/// Writes pixels of one or three channels as a PNG file.
pub(crate) fn encode(side: usize, channels: usize, pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let edge = u32::try_from(side).unwrap_or(u32::MAX);
    let mut encoder = Encoder::new(&mut file, edge, edge);
    encoder.set_color(if channels == 3 { ColorType::Rgb } else { ColorType::Grayscale });
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::NoCompression);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(pixels)?;
        writer.finish()
    });
    debug_assert!(written.is_ok(), "writing to memory fails only for a wrong number of pixels");
    file
}

/// Writes pixels of one or three channels as a file of a format of pictures.
pub(super) fn encode_as(format: Format, side: usize, channels: usize, pixels: &[u8]) -> Vec<u8> {
    match format {
        Format::Jpeg => jpeg::encode(side, channels, pixels),
        _ => encode(side, channels, pixels),
    }
}

/// Reads a square PNG or JPEG file of one or three channels.
pub(crate) fn decode(bytes: &[u8]) -> Result<Picture, MediumError> {
    if jpeg::begins(bytes) {
        let (side, channels, pixels) = jpeg::decode(bytes)?;
        return Ok(Picture::of(side, channels, pixels, jpeg::MARGIN));
    }
    let wrong = |error: png::DecodingError| MediumError(format!("not a PNG file: {error}"));
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: 1 << 20 });
    decoder.set_transformations(Transformations::IDENTITY);
    let mut reader = decoder.read_info().map_err(wrong)?;
    let info = reader.info();
    if info.width != info.height || !SIDES.contains(&info.width) {
        return Err(MediumError(format!("{} x {} pixels", info.width, info.height)));
    }
    let channels = match (info.color_type, info.bit_depth) {
        (ColorType::Grayscale, BitDepth::Eight) => 1,
        (ColorType::Rgb, BitDepth::Eight) => 3,
        (color, depth) => return Err(MediumError(format!("{color:?} pixels of {depth:?} bits"))),
    };
    let side = info.width as usize;
    let mut pixels = vec![0; side * side * channels];
    reader.next_frame(&mut pixels).map_err(wrong)?;
    Ok(Picture::of(side, channels, pixels, 0))
}
