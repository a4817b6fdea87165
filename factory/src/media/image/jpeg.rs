//! JPEG files of square pictures in grey or colour.
//!
//! Both directions give the same bytes on every machine. `image` writes with whole numbers, and
//! with single-precision divisions whose results are rounded to whole numbers. It would read
//! leniently, so its decoder, `zune-jpeg`, is called here, in strict mode. That decoder chooses
//! vector instructions at run time; for 4:4:4 files they compute in the same whole numbers as its
//! scalar code, and so give the same pixels.

use super::picture::{SIDES, shaped};
use crate::media::MediumError;
use image::codecs::jpeg::JpegEncoder;
use ndarray::Array3;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// How a JPEG file begins and ends.
const START: &[u8] = &[0xFF, 0xD8, 0xFF];
const END: &[u8] = &[0xFF, 0xD9];

/// How much is kept, of 100. Single bright pixels need it: their power spreads over all
/// frequencies of a block, so what a surface's specks are estimated at, against what they are,
/// has an R² of 0.89 to 0.94 at 97 and of 0.93 to 0.96 at 98 in clean pictures of five tasks. 99
/// is no better and 100 worse, at 0.89 to 0.93, because the encoder cuts off fractions of a
/// frequency's strength before it divides by the step. The other statistics come through at 97.
const QUALITY: u8 = 98;

/// Bytes from either end of the scale within which a pixel of such a file counts as not
/// measured: what was wholly black or white comes back a few levels off.
pub(super) const MARGIN: u8 = 6;

/// Whether it looks like a JPEG file.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(START)
}

/// What writes JPEG files: with as many samples of colour as of brightness (4:4:4), and no
/// segments but a JFIF header and those that make the picture.
pub(super) fn encoder(file: &mut Vec<u8>) -> JpegEncoder<&mut Vec<u8>> {
    JpegEncoder::new_with_quality(file, QUALITY)
}

/// A file's pixels, of shape `[down, across, 1 or 3]`.
///
/// # Errors
/// [`MediumError`] unless it is the whole file of a square picture in grey or colour.
pub(crate) fn decode(bytes: &[u8]) -> Result<Array3<u8>, MediumError> {
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
    shaped(width, channels, pixels)
}

#[cfg(test)]
mod tests {
    use super::super::picture::encode;
    use super::*;
    use crate::media::Format;
    use image::ExtendedColorType;

    fn flat(grey: u8) -> Vec<u8> {
        encode(Format::Jpeg, Array3::from_elem((48, 48, 1), grey).view())
    }

    #[test]
    fn what_is_written_comes_back_nearly() {
        for (side, channels) in [(48, 1), (64, 1), (56, 3)] {
            let level = |(_, x, _): (usize, usize, usize)| u8::try_from(60 + x * 2).unwrap();
            let pixels = Array3::from_shape_fn((side, side, channels), level);
            let file = encode(Format::Jpeg, pixels.view());
            assert_eq!(file, encode(Format::Jpeg, pixels.view()));
            let back = decode(&file).unwrap();
            assert_eq!(back.dim(), pixels.dim());
            let worst = pixels.iter().zip(&back).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            assert!(worst <= 3, "{side} {channels}: {worst}");
        }
    }

    #[test]
    fn other_shapes_are_refused() {
        let mut file = Vec::new();
        encoder(&mut file).encode(&[9; 48 * 40], 48, 40, ExtendedColorType::L8).unwrap();
        assert!(decode(&file).is_err());
        assert!(decode(&[START, END].concat()).is_err());
    }

    #[test]
    fn a_file_without_its_end_is_refused() {
        let whole = flat(90);
        assert!(decode(&whole).is_ok());
        assert!(decode(&whole[..whole.len() - 1]).is_err());
    }

    #[test]
    fn a_file_with_a_code_that_is_in_no_table_is_refused() {
        let level = |(y, x, _): (usize, usize, usize)| u8::try_from(x * y % 251).unwrap();
        let whole = encode(Format::Jpeg, Array3::from_shape_fn((48, 48, 1), level).view());
        assert!(decode(&whole).is_ok());
        // No code consists of ones alone; each stuffed zero makes a coded byte of the one before.
        let (head, rest) = whole.split_at(whole.len() / 2);
        let broken = [head, &[0, 0xFF, 0, 0xFF, 0, 0xFF, 0], rest].concat();
        assert!(image::load_from_memory(&broken).is_ok());
        assert!(decode(&broken).is_err());
    }
}
