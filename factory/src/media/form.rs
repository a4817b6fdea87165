//! How items are written, in words, from their bytes: sizes, rates, columns, lengths.

use super::image::frames;
use super::{Format, MediumError};
use hound::WavReader;
use image::{ColorType, ImageDecoder, ImageReader};
use ndarray::Array2;
use std::collections::BTreeSet;
use std::io::Cursor;

/// How files of one format are written, as a page states it, such as `8-bit grey, 48 x 48 pixels`;
/// what differs between files is given as a range.
///
/// # Errors
/// [`MediumError`] if a file is not of that format.
pub fn of_files<'a>(
    format: Format,
    files: impl Iterator<Item = &'a [u8]>,
) -> Result<String, MediumError> {
    match format {
        Format::Png | Format::Jpeg => of_pictures(files),
        Format::Tiff | Format::Frames => of_clips(files),
        Format::Wav => of_sounds(files),
        Format::Csv => of_links(files),
        Format::Text | Format::Cells => {
            let texts: Vec<&str> = files.map(utf8).collect::<Result<_, _>>()?;
            Ok(of_texts(texts.into_iter()))
        }
    }
}

/// How long texts are.
pub fn of_texts<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let words = texts.map(|text| text.split_whitespace().count());
    format!("UTF-8, {} words", range(words))
}

fn of_pictures<'a>(files: impl Iterator<Item = &'a [u8]>) -> Result<String, MediumError> {
    let wrong = |error: image::ImageError| MediumError(format!("not a picture: {error}"));
    let (mut modes, mut widths, mut heights) = (BTreeSet::new(), Vec::new(), Vec::new());
    for file in files {
        let reader = ImageReader::new(Cursor::new(file))
            .with_guessed_format()
            .map_err(|error| MediumError(error.to_string()))?;
        let decoder = reader.into_decoder().map_err(wrong)?;
        let (width, height) = decoder.dimensions();
        widths.push(width as usize);
        heights.push(height as usize);
        modes.insert(match decoder.color_type() {
            ColorType::L8 => "8-bit grey",
            ColorType::L16 => "16-bit grey",
            ColorType::Rgb8 => "RGB with 8 bits per channel",
            other => return Err(MediumError(format!("pages have no word for {other:?}"))),
        });
    }
    let modes = modes.into_iter().collect::<Vec<_>>().join(" or ");
    Ok(format!("{modes}, {} x {} pixels", range(widths), range(heights)))
}

fn of_clips<'a>(files: impl Iterator<Item = &'a [u8]>) -> Result<String, MediumError> {
    let (mut counts, mut sides) = (BTreeSet::new(), BTreeSet::new());
    for file in files {
        let frames = frames::decode(file)?;
        counts.insert(frames.len());
        sides.extend(frames.iter().map(Array2::nrows));
    }
    let (counts, sides) = (range(counts), range(sides));
    Ok(format!("{counts} frames in the order of time, 8-bit grey, {sides} x {sides} pixels"))
}

fn of_sounds<'a>(files: impl Iterator<Item = &'a [u8]>) -> Result<String, MediumError> {
    let (mut formats, mut lengths) = (BTreeSet::new(), Vec::new());
    for file in files {
        let reader = WavReader::new(file)
            .map_err(|error| MediumError(format!("not a WAV file: {error}")))?;
        let spec = reader.spec();
        let channels = match spec.channels {
            1 => "mono".to_owned(),
            2 => "stereo".to_owned(),
            several => format!("{several} channels"),
        };
        formats.insert(format!(
            "{}-bit PCM, {channels}, {} samples per second",
            spec.bits_per_sample, spec.sample_rate
        ));
        lengths.push(f64::from(reader.duration()) / f64::from(spec.sample_rate));
    }
    let formats = formats.into_iter().collect::<Vec<_>>().join(" or ");
    let low = lengths.iter().copied().fold(f64::INFINITY, f64::min);
    let high = lengths.iter().copied().fold(0.0, f64::max);
    let (low, high) = (format!("{low:.2}"), format!("{high:.2}"));
    let seconds = if low == high { low } else { format!("{low} to {high}") };
    Ok(format!("{formats}, {seconds} seconds long"))
}

/// Files of links: the header, and how many links there are.
fn of_links<'a>(files: impl Iterator<Item = &'a [u8]>) -> Result<String, MediumError> {
    let (mut headers, mut links) = (BTreeSet::new(), Vec::new());
    for file in files {
        let text = utf8(file)?;
        let mut lines = text.lines();
        headers.extend(lines.next());
        links.push(lines.count());
    }
    let mut columns: Vec<String> = Vec::new();
    for header in headers {
        columns.extend(header.split(',').map(|column| format!("`{column}`")));
    }
    let columns = columns.join(", ");
    Ok(format!("a header ({columns}) and one line per directed link, {} lines", range(links)))
}

fn utf8(bytes: &[u8]) -> Result<&str, MediumError> {
    std::str::from_utf8(bytes).map_err(|_| MediumError("it is not UTF-8".to_owned()))
}

/// `low to high`, or the only number there is.
fn range(numbers: impl IntoIterator<Item = usize>) -> String {
    let numbers: BTreeSet<usize> = numbers.into_iter().collect();
    match (numbers.first(), numbers.last()) {
        (Some(low), Some(high)) if low == high => low.to_string(),
        (Some(low), Some(high)) => format!("{low} to {high}"),
        _ => "no".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::image::picture::encode_grey;
    use hound::{SampleFormat, WavSpec, WavWriter};

    fn silence(samples: u32) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        let spec = WavSpec {
            channels: 1,
            sample_rate: 8000,
            bits_per_sample: 16,
            sample_format: SampleFormat::Int,
        };
        let mut writer = WavWriter::new(&mut file, spec).unwrap();
        (0..samples).for_each(|_| writer.write_sample(0_i16).unwrap());
        writer.finalize().unwrap();
        file.into_inner()
    }

    #[test]
    fn forms_say_sizes_rates_columns_and_lengths() {
        let pictures = [32, 48].map(|side| encode_grey(&Array2::from_elem((side, side), 7)));
        let of =
            |format, files: &[Vec<u8>]| of_files(format, files.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(of(Format::Png, &pictures[..1]), "8-bit grey, 32 x 32 pixels");
        assert_eq!(of(Format::Png, &pictures), "8-bit grey, 32 to 48 x 32 to 48 pixels");
        let clip = [1, 2].map(|level| Array2::from_elem((24, 24), level));
        let expected = "2 frames in the order of time, 8-bit grey, 24 x 24 pixels";
        for format in [Format::Tiff, Format::Frames] {
            assert_eq!(of(format, &[frames::encode(&clip, format)]), expected);
        }
        let sounds = [6400, 8000].map(silence);
        let expected = "16-bit PCM, mono, 8000 samples per second, 0.80 to 1.00 seconds long";
        assert_eq!(of(Format::Wav, &sounds), expected);
        let links = ["source,target,weight\na,b,1\nb,c,2\n", "source,target,weight\na,b,1\n"];
        let expected =
            "a header (`source`, `target`, `weight`) and one line per directed link, 1 to 2 lines";
        assert_eq!(of(Format::Csv, &links.map(|text| text.as_bytes().to_vec())), expected);
        assert_eq!(of(Format::Text, &[b"One two\nthree.".to_vec()]), "UTF-8, 3 words");
        assert!(of_files(Format::Png, [&b"no"[..]].into_iter()).is_err());
        assert!(of_files(Format::Wav, [&b"no"[..]].into_iter()).is_err());
    }
}
