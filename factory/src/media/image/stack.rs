//! Stacks: the frames of a clip in one TIFF file, a grey picture of eight bits each.
//!
//! Frames are square, all of a size, and not compressed: a file's length depends on their side and
//! number and on nothing else.

use super::picture::SIDES;
use crate::media::MediumError;
use ndarray::Array2;
use std::io::Cursor;
use tiff::decoder::{Decoder, DecodingResult, Limits};
use tiff::encoder::TiffEncoder;
use tiff::encoder::colortype::Gray8;
use tiff::{ColorType, TiffError, TiffResult};

/// Frames that a file may have: more than are drawn.
pub(super) const FRAMES: std::ops::RangeInclusive<usize> = 2..=32;

/// The file of some frames, each of shape `[down, across]`, the first one first.
pub(crate) fn encode(frames: &[Array2<u8>]) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    let written = write(&mut file, frames);
    assert!(written.is_ok(), "writing to memory does not fail: {written:?}");
    file.into_inner()
}

fn write(file: &mut Cursor<Vec<u8>>, frames: &[Array2<u8>]) -> TiffResult<()> {
    let mut encoder = TiffEncoder::new(file)?;
    for frame in frames {
        let edge = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
        let (height, width) = (edge(frame.nrows()), edge(frame.ncols()));
        let pixels: Vec<u8> = frame.iter().copied().collect();
        encoder.write_image::<Gray8>(width, height, &pixels)?;
    }
    Ok(())
}

/// The frames of a file, each of shape `[down, across]`.
///
/// # Errors
/// [`MediumError`] unless it is what [`encode`] writes, byte for byte.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<Array2<u8>>, MediumError> {
    let frames =
        read(bytes).map_err(|error| MediumError(format!("not a stack of pictures: {error}")))?;
    // Readers of this format find their way through almost anything.
    if encode(&frames) != bytes {
        return Err(MediumError("a TIFF file with more in it than grey pixels".to_owned()));
    }
    Ok(frames)
}

fn read(bytes: &[u8]) -> TiffResult<Vec<Array2<u8>>> {
    let wrong = |fault: &str| TiffError::from(std::io::Error::other(fault.to_owned()));
    let mut limits = Limits::default();
    // Nothing in such a file is larger than a frame.
    let most = (*SIDES.end() as usize).pow(2);
    limits.decoding_buffer_size = most;
    limits.intermediate_buffer_size = most;
    limits.ifd_value_size = 1 << 12;
    let mut decoder = Decoder::new(Cursor::new(bytes))?.with_limits(limits);
    let mut frames: Vec<Array2<u8>> = Vec::new();
    loop {
        let (width, height) = decoder.dimensions()?;
        if width != height || !SIDES.contains(&width) {
            return Err(wrong("its frames are no squares of 16 to 256 pixels"));
        }
        if decoder.colortype()? != ColorType::Gray(8) {
            return Err(wrong("its frames are not 8-bit grey"));
        }
        let DecodingResult::U8(pixels) = decoder.read_image()? else {
            return Err(wrong("its frames are not 8-bit grey"));
        };
        let side = width as usize;
        let frame = Array2::from_shape_vec((side, side), pixels);
        frames.push(frame.map_err(|_| wrong("it has a frame without all its pixels"))?);
        if !decoder.more_images() {
            break;
        }
        if frames.len() == *FRAMES.end() {
            return Err(wrong("it has more than 32 frames"));
        }
        decoder.next_image()?;
    }
    if frames.len() < *FRAMES.start() || frames.iter().any(|one| one.dim() != frames[0].dim()) {
        return Err(wrong("it has no two frames of a size"));
    }
    Ok(frames)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::media::image) fn frames(sides: &[usize]) -> Vec<Array2<u8>> {
        let frame = |(place, side): (usize, &usize)| {
            let level = |(y, x)| u8::try_from((7 * y + 3 * x + 31 * place) % 256).unwrap();
            Array2::from_shape_fn((*side, *side), level)
        };
        sides.iter().enumerate().map(frame).collect()
    }

    #[test]
    fn frames_come_back_and_sizes_say_nothing() {
        let stack = frames(&[24; 8]);
        let file = encode(&stack);
        assert_eq!(decode(&file).unwrap(), stack);
        let dark: Vec<Array2<u8>> = stack.iter().map(|frame| frame.mapv(|_| 0)).collect();
        assert_eq!(encode(&dark).len(), file.len());
    }

    #[test]
    fn other_files_are_refused() {
        let fault = |file: &[u8]| decode(file).unwrap_err().to_string();
        let file = encode(&frames(&[24, 24]));
        assert!(fault(&encode(&frames(&[24]))).contains("no two frames"));
        assert!(fault(&encode(&frames(&[24, 32]))).contains("no two frames"));
        assert!(fault(&encode(&frames(&[8, 8]))).contains("no squares"));
        assert!(fault(&[file.as_slice(), b"x"].concat()).contains("more in it"));
        assert!(fault(&encode(&frames(&[16; 33]))).contains("more than 32"));
        assert!(fault(b"").contains("not a stack"));
    }
}
