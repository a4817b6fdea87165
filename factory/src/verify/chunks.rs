//! What a file says besides its pixels, samples and lines: the chunks of PNG and WAV files, the
//! segments of JPEG files, the frames of TIFF files, the first line of a table, and the blanks of a text.

use crate::media::image::frames::SIGNATURE;
use crate::media::image::stack;

/// The bytes that all files of a folder must share: everything but data and lengths.
pub(super) type Head = Vec<u8>;

/// Reads bytes from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let Some((taken, rest)) = self.0.split_at_checked(count) else {
            return Err(format!("it ends {} bytes too soon", count - self.0.len()));
        };
        self.0 = rest;
        Ok(taken)
    }

    fn four(&mut self) -> Result<[u8; 4], String> {
        let bytes = self.take(4)?;
        Ok(std::array::from_fn(|index| bytes[index]))
    }
}

fn length(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn name(kind: [u8; 4]) -> String {
    kind.escape_ascii().to_string()
}

/// A PNG file's header and palette, the number of its data chunks and how their stream begins.
///
/// PNG specification, §5: signature, then chunks of length, name, data and checksum. Only
/// IHDR, PLTE, IDAT and IEND are allowed, and nothing after IEND.
pub(super) fn png(file: &[u8]) -> Result<Head, String> {
    let mut bytes = Bytes(file);
    if bytes.take(SIGNATURE.len())? != SIGNATURE {
        return Err("it is no PNG file".to_owned());
    }
    let mut head = Head::new();
    let mut parts = 0_u32;
    loop {
        let size = length(u32::from_be_bytes(bytes.four()?));
        let kind = bytes.four()?;
        let data = bytes.take(size)?;
        bytes.take(4)?;
        match &kind {
            b"IHDR" | b"PLTE" => {
                head.extend(kind);
                head.extend(data);
            }
            b"IDAT" => {
                if parts == 0 {
                    // The stream's own header: how hard it was compressed.
                    head.extend(data.iter().take(2));
                }
                parts += 1;
            }
            b"IEND" if data.is_empty() => break,
            b"IEND" => return Err(format!("its last chunk holds {size} bytes")),
            _ => return Err(format!("it has a chunk `{}`", name(kind))),
        }
    }
    head.extend(parts.to_be_bytes());
    if bytes.0.is_empty() { Ok(head) } else { Err(format!("{} bytes follow", bytes.0.len())) }
}

/// A JPEG file's segments: sizes, tables of steps and of codes.
///
/// ITU-T T.81, annex B: markers (255 and a kind), most with a length and data. Allowed are SOI,
/// APP0 with the 14 bytes of a JFIF header that has no thumbnail, DQT, SOF0, DHT, one SOS, and
/// EOI, with nothing between or behind them. Of what is coded only stuffed bytes are looked at:
/// restarts and fill bytes are markers too, and none of the allowed.
pub(super) fn jpeg(file: &[u8]) -> Result<Head, String> {
    let mut bytes = Bytes(file);
    if bytes.take(2)? != [0xFF, 0xD8] {
        return Err("it is no JPEG file".to_owned());
    }
    let mut head = Head::new();
    loop {
        let [mark, kind, high, low] = bytes.four()?;
        let size = usize::from(u16::from_be_bytes([high, low]));
        let data = bytes.take(size.checked_sub(2).ok_or("it has a segment of no length")?)?;
        let header = data.len() == 14 && data.starts_with(b"JFIF\0") && data.ends_with(&[0, 0]);
        match (mark, kind) {
            (0xFF, 0xE0) if header && head.is_empty() => {}
            (0xFF, 0xDB | 0xC0 | 0xC4 | 0xDA) if !head.is_empty() => {}
            _ => return Err(format!("it has a segment {mark:02X}{kind:02X}")),
        }
        head.extend([kind, high, low]);
        head.extend(data);
        if kind == 0xDA {
            break;
        }
    }
    loop {
        let coded = bytes.0.iter().take_while(|byte| **byte != 0xFF).count();
        bytes.take(coded)?;
        match bytes.take(2)?[1] {
            0 => {}
            0xD9 if bytes.0.is_empty() => return Ok(head),
            0xD9 => return Err(format!("{} bytes follow", bytes.0.len())),
            kind => return Err(format!("it has a marker FF{kind:02X} among its pixels")),
        }
    }
}

/// The number of frames of a TIFF file, and their size.
///
/// [`stack::decode`] takes nothing but what our own encoder writes, which is pixels and what is
/// needed to find them.
pub(super) fn tiff(file: &[u8]) -> Result<Head, String> {
    let frames = stack::decode(file).map_err(|error| error.to_string())?;
    Ok(format!("{} {}", frames.len(), frames[0].nrows()).into_bytes())
}

/// A WAV file's format. Only a `fmt ` and a `data` chunk are allowed, and nothing after them.
///
/// RIFF, name and length, form `WAVE`, then chunks of name, length and data; a chunk of odd
/// length is followed by a zero.
pub(super) fn wav(file: &[u8]) -> Result<Head, String> {
    let mut bytes = Bytes(file);
    let riff = bytes.four()?;
    let whole = length(u32::from_le_bytes(bytes.four()?));
    if riff != *b"RIFF" || bytes.four()? != *b"WAVE" {
        return Err("it is no WAV file".to_owned());
    }
    if whole != file.len() - 8 {
        return Err(format!("it says that it has {whole} bytes"));
    }
    let mut head = Head::new();
    for wanted in [*b"fmt ", *b"data"] {
        let kind = bytes.four()?;
        if kind != wanted {
            return Err(format!("it has a chunk `{}`", name(kind)));
        }
        let size = length(u32::from_le_bytes(bytes.four()?));
        let data = bytes.take(size)?;
        if size % 2 == 1 && bytes.take(1)? != [0] {
            return Err("it is padded with something".to_owned());
        }
        if wanted == *b"fmt " {
            head.extend(data);
        }
    }
    if bytes.0.is_empty() { Ok(head) } else { Err(format!("{} bytes follow", bytes.0.len())) }
}

/// A table's first line, and how its lines end.
pub(super) fn csv(file: &[u8]) -> Result<Head, String> {
    let header = file.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    let bare = |line: &&[u8]| line.is_empty() || line.ends_with(b"\r") || line.ends_with(b" ");
    let lines = file.strip_suffix(b"\n").ok_or("its last line does not end")?;
    match lines.split(|byte| *byte == b'\n').find(bare) {
        None => Ok(header.to_vec()),
        Some(_) => Err("it has a line that is empty or ends in a blank".to_owned()),
    }
}

/// A text has nothing beside its words: printable letters, single blanks between them, at most
/// one empty line between paragraphs, and none at either end.
pub(super) fn text(file: &[u8]) -> Result<Head, String> {
    let text = file.strip_suffix(b"\n").ok_or("its last line does not end")?;
    let odd = |byte: &&u8| !(byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n'));
    if let Some(byte) = text.iter().find(odd) {
        return Err(format!("it has a byte {byte}"));
    }
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let blank = |line: &&[u8]| {
        let around = line.starts_with(b" ") || line.ends_with(b" ");
        around || line.windows(2).any(|pair| pair == b"  ")
    };
    let at_an_end = [lines.first(), lines.last()].into_iter().flatten().any(|l| l.is_empty());
    let empty = at_an_end || lines.windows(2).any(|pair| pair.iter().all(|l| l.is_empty()));
    if empty || lines.iter().any(blank) {
        return Err("it has blanks or empty lines that part nothing".to_owned());
    }
    Ok(Head::new())
}
