//! JPEG files of square pictures in grey or colour.
//!
//! Both directions are whole-number code without vector instructions, so that the same pixels
//! give the same file, and the same file the same pixels, on every machine: `jpeg-encoder`
//! without its `simd` feature, and `zune-jpeg` without `x86` and `neon`. (`jpeg-decoder`
//! would do as well, but detects the processor's instructions unless a feature disables that.)

use super::grid::SIDES;
use crate::media::MediumError;
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// How a JPEG file begins and ends.
const START: &[u8] = &[0xFF, 0xD8, 0xFF];
const END: &[u8] = &[0xFF, 0xD9];

/// How much is kept, of 100. Single bright pixels need it: their power spreads over all
/// frequencies of a block, so what a surface's specks are estimated at, against what they are,
/// has an R² of 0.71 to 0.87 at 94, 0.83 to 0.91 at 96, and 0.88 to 0.94 at 97. The other
/// statistics come through at 94 as well, but for dead pixels among objects, which need 96.
const QUALITY: u8 = 97;

/// Bytes from either end of the scale within which a pixel of such a file counts as not
/// measured: what was wholly black or white comes back a few levels off.
pub(super) const MARGIN: u8 = 6;

/// Whether it looks like a JPEG file.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(START)
}

/// Writes pixels of one or three channels, with as many samples of colour as of brightness, and
/// no segments but those that make the picture.
pub(super) fn encode(side: usize, channels: usize, pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let edge = u16::try_from(side).unwrap_or(u16::MAX);
    let mut encoder = Encoder::new(&mut file, QUALITY);
    encoder.set_sampling_factor(SamplingFactor::F_1_1);
    let color = if channels == 3 { ColorType::Rgb } else { ColorType::Luma };
    let written = encoder.encode(pixels, edge, edge, color);
    debug_assert!(written.is_ok(), "writing to memory fails only for a wrong number of pixels");
    file
}

/// A file's side, number of channels and pixels.
pub(crate) fn decode(bytes: &[u8]) -> Result<(usize, usize, Vec<u8>), MediumError> {
    let wrong = |fault: &dyn std::fmt::Display| MediumError(format!("not a JPEG file: {fault}"));
    // Decoders of this format make something of anything; half a file is an error here.
    if !bytes.ends_with(END) {
        return Err(wrong(&"it has no end"));
    }
    let most = *SIDES.end() as usize;
    let options =
        DecoderOptions::default().set_strict_mode(true).set_max_width(most).set_max_height(most);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| wrong(&error))?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    if width != height || !SIDES.contains(&u32::try_from(width).unwrap_or(0)) {
        return Err(MediumError(format!("{width} x {height} pixels")));
    }
    let (channels, color) = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => (1, ColorSpace::Luma),
        Some(ColorSpace::YCbCr) => (3, ColorSpace::RGB),
        other => return Err(MediumError(format!("pixels of {other:?}"))),
    };
    decoder.set_options(options.jpeg_set_out_colorspace(color));
    let pixels = decoder.decode().map_err(|error| wrong(&error))?;
    if pixels.len() != width * height * channels {
        return Err(wrong(&"pixels are missing"));
    }
    Ok((width, channels, pixels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_comes_back_nearly() {
        for (side, channels) in [(48, 1), (64, 1), (56, 3)] {
            let level = |place: usize| u8::try_from(60 + place / channels % side * 2).unwrap();
            let pixels: Vec<u8> = (0..side * side * channels).map(level).collect();
            let file = encode(side, channels, &pixels);
            assert_eq!(file, encode(side, channels, &pixels));
            let (found, read, back) = decode(&file).unwrap();
            assert_eq!((found, read), (side, channels));
            let worst = pixels.iter().zip(&back).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            assert!(worst <= 3, "{side} {channels}: {worst}");
        }
    }

    #[test]
    fn other_shapes_are_refused() {
        let mut file = Vec::new();
        Encoder::new(&mut file, QUALITY).encode(&[9; 48 * 40], 48, 40, ColorType::Luma).unwrap();
        assert!(decode(&file).is_err());
        let cut = &encode(48, 1, &[90; 48 * 48]);
        assert!(decode(cut).is_ok());
        assert!(decode(&cut[..cut.len() - 1]).is_err());
        assert!(decode(&[START, END].concat()).is_err());
    }
}
