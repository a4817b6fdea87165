//! DICOM files of colour pictures: explicit value representations, lower bytes first, no
//! compression.

use super::canvas::{Canvas, Channels};

/// Secondary capture: a picture of any origin.
const CLASS: &str = "1.2.840.10008.5.1.4.1.1.7";
/// Explicit value representations, lower bytes first.
const TRANSFER: &str = "1.2.840.10008.1.2.1";

/// What the file says of a picture beside its pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct DicomHeader<'a> {
    /// Digits that no other file has; its unique identifier is made of them.
    pub(super) number: u64,
    /// Name of the patient's record.
    pub(super) patient: &'a str,
    /// `M`, `F`, or nothing.
    pub(super) sex: &'a str,
    /// Years, three digits and `Y`, or nothing.
    pub(super) age: &'a str,
    /// Part of the body.
    pub(super) part: &'a str,
}

/// The picture as a DICOM file.
pub(super) fn encode(canvas: &Canvas, header: DicomHeader<'_>) -> Vec<u8> {
    // Identifiers below 2.25 are numbers that anyone may choose.
    let name = format!("2.25.{}", header.number);
    let mut meta = Vec::new();
    long(&mut meta, [0x02, 0x01], *b"OB", &[0, 1]);
    short(&mut meta, [0x02, 0x02], *b"UI", CLASS);
    short(&mut meta, [0x02, 0x03], *b"UI", &name);
    short(&mut meta, [0x02, 0x10], *b"UI", TRANSFER);
    short(&mut meta, [0x02, 0x12], *b"UI", "2.25.1");

    let mut file = vec![0; 128];
    file.extend(b"DICM");
    let length = u32::try_from(meta.len()).expect("a short header");
    element(&mut file, [0x02, 0x00], *b"UL");
    file.extend(4_u16.to_le_bytes());
    file.extend(length.to_le_bytes());
    file.extend(meta);

    let [width, height] =
        canvas.size().map(|side| u16::try_from(side).expect("pictures are small"));
    short(&mut file, [0x08, 0x16], *b"UI", CLASS);
    short(&mut file, [0x08, 0x18], *b"UI", &name);
    short(&mut file, [0x08, 0x60], *b"CS", "XC");
    short(&mut file, [0x10, 0x20], *b"LO", header.patient);
    short(&mut file, [0x10, 0x40], *b"CS", header.sex);
    short(&mut file, [0x10, 0x1010], *b"AS", header.age);
    short(&mut file, [0x18, 0x15], *b"CS", header.part);
    number(&mut file, [0x28, 0x02], 3);
    short(&mut file, [0x28, 0x04], *b"CS", "RGB");
    number(&mut file, [0x28, 0x06], 0);
    number(&mut file, [0x28, 0x10], height);
    number(&mut file, [0x28, 0x11], width);
    number(&mut file, [0x28, 0x100], 8);
    number(&mut file, [0x28, 0x101], 8);
    number(&mut file, [0x28, 0x102], 7);
    number(&mut file, [0x28, 0x103], 0);
    long(&mut file, [0x7FE0, 0x10], *b"OB", &canvas.bytes(Channels::Rgb));
    file
}

fn element(file: &mut Vec<u8>, tag: [u16; 2], kind: [u8; 2]) {
    for part in tag {
        file.extend(part.to_le_bytes());
    }
    file.extend(kind);
}

/// A text, filled up to an even length: identifiers with a zero, others with a blank.
fn short(file: &mut Vec<u8>, tag: [u16; 2], kind: [u8; 2], text: &str) {
    let mut bytes = text.as_bytes().to_vec();
    if !bytes.len().is_multiple_of(2) {
        bytes.push(if kind == *b"UI" { 0 } else { b' ' });
    }
    element(file, tag, kind);
    file.extend(u16::try_from(bytes.len()).expect("a short text").to_le_bytes());
    file.extend(bytes);
}

fn number(file: &mut Vec<u8>, tag: [u16; 2], value: u16) {
    element(file, tag, *b"US");
    file.extend(2_u16.to_le_bytes());
    file.extend(value.to_le_bytes());
}

/// Bytes, with a length of 32 bits; filled up to an even number.
fn long(file: &mut Vec<u8>, tag: [u16; 2], kind: [u8; 2], bytes: &[u8]) {
    let length = bytes.len().next_multiple_of(2);
    element(file, tag, kind);
    file.extend([0, 0]);
    file.extend(u32::try_from(length).expect("a small picture").to_le_bytes());
    file.extend(bytes);
    file.resize(file.len() + length - bytes.len(), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_holds_its_header_and_ends_with_the_pixels() {
        let canvas = Canvas::new(4, 3, [9.0, 8.0, 7.0]);
        let header =
            DicomHeader { number: 77, patient: "IP_1", sex: "F", age: "045Y", part: "torso" };
        let file = encode(&canvas, header);
        assert_eq!(file[128..132], *b"DICM");
        // The length of the group that describes the file leads to the first element behind it.
        let length = u32::from_le_bytes(file[140..144].try_into().unwrap()) as usize;
        assert_eq!(file[144 + length..148 + length], [8, 0, 0x16, 0]);
        assert!(file.len().is_multiple_of(2));
        let pixels = canvas.bytes(Channels::Rgb);
        assert_eq!(file[file.len() - pixels.len()..], pixels);
        assert!(file.windows(6).any(|window| window == b"torso "));
    }
}
