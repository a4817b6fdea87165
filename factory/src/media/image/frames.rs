//! The frames of a clip: in one TIFF file, or as PNG files in a folder of its own.
//!
//! As one piece of bytes, the files of a folder stand one after the other.

use super::picture::{decode_png, encode_grey};
use super::stack::{self, FRAMES};
use crate::media::{Format, MediumError};
use ndarray::{Array2, Axis};

/// What a PNG file begins with (PNG specification, 5.2).
pub(crate) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Bytes of a chunk beside its data: length, name and checksum.
const FRAMED: usize = 12;

/// The bytes of some frames, each of shape `[down, across]`, the first one first.
pub(crate) fn encode(frames: &[Array2<u8>], format: Format) -> Vec<u8> {
    match format {
        Format::Frames => frames.iter().flat_map(encode_grey).collect(),
        _ => stack::encode(frames),
    }
}

/// The frames of a clip, each of shape `[down, across]`.
///
/// # Errors
/// [`MediumError`] unless it is what [`encode`] writes, or the same in other compression.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<Array2<u8>>, MediumError> {
    if !bytes.starts_with(SIGNATURE) {
        return stack::decode(bytes);
    }
    let frame = |file: &[u8]| {
        let pixels = decode_png(file)?;
        if pixels.len_of(Axis(2)) > 1 {
            return Err(MediumError("a frame in colour".to_owned()));
        }
        Ok(pixels.index_axis_move(Axis(2), 0))
    };
    let frames: Vec<Array2<u8>> = files(bytes)?.into_iter().map(frame).collect::<Result<_, _>>()?;
    if !FRAMES.contains(&frames.len()) || frames.iter().any(|one| one.dim() != frames[0].dim()) {
        return Err(MediumError("not 2 to 32 frames of a size".to_owned()));
    }
    Ok(frames)
}

/// The PNG files that stand one after the other.
///
/// # Errors
/// [`MediumError`] if there is anything else.
pub(crate) fn files(bytes: &[u8]) -> Result<Vec<&[u8]>, MediumError> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let length = length(rest)
            .ok_or_else(|| MediumError(format!("not a PNG file: frame {}", found.len() + 1)))?;
        let (file, after) = rest.split_at(length);
        found.push(file);
        rest = after;
    }
    Ok(found)
}

/// The length of the PNG file that bytes begin with: its signature, and chunks up to the last one.
fn length(bytes: &[u8]) -> Option<usize> {
    let mut at = SIGNATURE.len();
    (bytes.get(..at)? == SIGNATURE).then_some(())?;
    loop {
        let head = bytes.get(at..at + 8)?;
        let data = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        at = at.checked_add(usize::try_from(data).ok()?)?.checked_add(FRAMED)?;
        if at > bytes.len() {
            return None;
        }
        if &head[4..] == b"IEND" {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::stack::tests::frames;
    use super::*;

    #[test]
    fn frames_come_back_in_both_forms() {
        let clip = frames(&[24; 8]);
        for format in [Format::Tiff, Format::Frames] {
            assert_eq!(decode(&encode(&clip, format)).unwrap(), clip, "{format:?}");
        }
        let one_by_one = encode(&clip, Format::Frames);
        let files = files(&one_by_one).unwrap();
        assert_eq!(files.len(), 8);
        assert!(files.iter().all(|file| file.len() == files[0].len()));
        assert_eq!(decode_png(files[3]).unwrap().index_axis_move(Axis(2), 0), clip[3]);
    }

    #[test]
    fn other_bytes_are_refused() {
        let fault = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
        let clip = encode(&frames(&[24, 24]), Format::Frames);
        assert!(fault(&clip[..clip.len() - 1]).contains("frame 2"));
        assert!(fault(&[&clip, &b"x"[..]].concat()).contains("frame 3"));
        assert!(fault(&encode(&frames(&[24]), Format::Frames)).contains("2 to 32 frames"));
        assert!(fault(&encode(&frames(&[24, 32]), Format::Frames)).contains("2 to 32 frames"));
        // A chunk that says it is longer than the file.
        let mut long = clip;
        long[8] = 0xFF;
        assert!(fault(&long).contains("frame 1"));
    }
}
