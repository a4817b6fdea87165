//! TIFF files: one strip of uncompressed pixels, eight bits each for red, green and blue.

use super::canvas::{Canvas, Channels};

/// Bytes of the header and of the picture's directory, which come first.
const ENTRIES: usize = 12;
const DIRECTORY: usize = 8 + 2 + 12 * ENTRIES + 4;
/// Bits per sample, three times, and two resolutions as fractions.
const VALUES: usize = 6 + 2 * 8;

/// Kinds of values in a directory.
const SHORT: u16 = 3;
const LONG: u16 = 4;
const RATIONAL: u16 = 5;

/// The picture as a TIFF file, the lower byte of each number first.
pub(super) fn encode(canvas: &Canvas) -> Vec<u8> {
    let [width, height] = canvas.size();
    let pixels = canvas.bytes(Channels::Rgb);
    let place = |offset: usize| u32::try_from(DIRECTORY + offset).expect("a small file");
    let length = u32::try_from(pixels.len()).expect("a small file");
    // Tag, kind, how many values, and the value or where it is; sorted by tag.
    let entries: [(u16, u16, u32, u32); ENTRIES] = [
        (256, LONG, 1, width),
        (257, LONG, 1, height),
        (258, SHORT, 3, place(0)),
        (259, SHORT, 1, 1),
        (262, SHORT, 1, 2),
        (273, LONG, 1, place(VALUES)),
        (277, SHORT, 1, 3),
        (278, LONG, 1, height),
        (279, LONG, 1, length),
        (282, RATIONAL, 1, place(6)),
        (283, RATIONAL, 1, place(14)),
        (296, SHORT, 1, 1),
    ];
    let mut file = b"II*\0\x08\0\0\0".to_vec();
    file.extend(u16::try_from(ENTRIES).expect("a few").to_le_bytes());
    for (tag, kind, count, value) in entries {
        file.extend(tag.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend(count.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    assert_eq!(file.len(), DIRECTORY);
    for bits in [8_u16, 8, 8] {
        file.extend(bits.to_le_bytes());
    }
    for part in [72_u32, 1, 72, 1] {
        file.extend(part.to_le_bytes());
    }
    file.extend(pixels);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_begins_with_its_directory_and_ends_with_the_pixels() {
        let canvas = Canvas::new(3, 2, [1.0, 2.0, 3.0]);
        let file = encode(&canvas);
        assert_eq!(file.len(), DIRECTORY + VALUES + 18);
        assert_eq!(file[..8], *b"II*\0\x08\0\0\0");
        assert_eq!(file[DIRECTORY + VALUES..], canvas.bytes(Channels::Rgb));
    }
}
