//! Recordings: a player and a spectrogram each.

use super::GalleryError;
use super::parts::data_uri;
use super::pictures::Picture;
use super::task::{Items, Task};
use crate::numeric::draws::floor;
use fs_err as fs;
use maud::{Markup, html};
use png::ColorType;
use std::f64::consts::TAU;
use web::chart::short;

/// Recordings of a task.
const COUNT: usize = 4;
/// Samples per frame of a spectrogram.
const FRAME: usize = 256;
/// Samples from one frame to the next, in short recordings.
const HOP: usize = 48;
/// Approximate limit of the frames of a spectrogram; long recordings get a longer hop.
const FRAMES: usize = 240;
/// Decibels from black to the brightest colour.
const RANGE: f64 = 66.0;
/// Powers below this are silence.
const SILENCE: f64 = 1e-12;

/// Samples of the first channel, from -1 to 1.
#[derive(Debug)]
struct Recording {
    rate: u32,
    samples: Vec<f64>,
}

/// The recordings of the example rows; fails if a file is unreadable.
pub(super) fn show(task: &Task, items: Items) -> Result<Markup, GalleryError> {
    let mut figures = Vec::new();
    for row in task.examples(COUNT) {
        let name = &task.train.rows[row][items.column];
        let path = task.item_path(name)?;
        let bytes = fs::read(&path)?;
        let recording = parsed(&bytes).ok_or_else(|| GalleryError::Unreadable {
            path,
            fault: "it is not a WAV file of 16-bit samples".to_owned(),
        })?;
        let seconds = recording.samples.len() as f64 / f64::from(recording.rate.max(1));
        figures.push(html! {
            figure {
                img.spectrogram alt=(format!("spectrogram of {name}"))
                    src=(spectrogram(&recording.samples).uri());
                audio controls aria-label=(name) src=(data_uri("audio/wav", &bytes)) {}
                figcaption {
                    (task.label(row)) br;
                    small { (name) ", " (short(seconds)) " s, 0 to " (recording.rate / 2) " Hz" }
                }
            }
        });
    }
    Ok(html! { div.cards.wide { @for figure in figures { (figure) } } })
}

/// The samples of a WAV file with 16 bits each.
fn parsed(bytes: &[u8]) -> Option<Recording> {
    let word = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let long = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.get(..4)? != b"RIFF" || bytes.get(8..12)? != b"WAVE" {
        return None;
    }
    let (mut at, mut form) = (12, None);
    loop {
        let name = bytes.get(at..at + 4)?;
        let length = usize::try_from(long(at + 4)?).ok()?;
        if name == b"fmt " && word(at + 8)? == 1 && word(at + 22)? == 16 {
            form = Some((usize::from(word(at + 10)?), long(at + 12)?));
        }
        if name == b"data" {
            let (channels, rate) = form.filter(|(channels, _)| *channels > 0)?;
            let data = bytes.get(at + 8..(at + 8).checked_add(length)?)?;
            let sample = |pair: &[u8]| f64::from(i16::from_le_bytes([pair[0], pair[1]])) / 32768.0;
            let samples = data.chunks_exact(2).step_by(channels).map(sample).collect();
            return Some(Recording { rate, samples });
        }
        // Chunks are padded to whole words.
        at = at.checked_add(8 + length + length % 2)?;
    }
}

/// Time from left to right, frequency from bottom to top, decibels as brightness.
fn spectrogram(samples: &[f64]) -> Picture {
    let bins = FRAME / 2;
    let hop = HOP.max(samples.len() / FRAMES);
    let frames = samples.len().saturating_sub(FRAME) / hop + 1;
    let circle: Vec<(f64, f64)> =
        (0..FRAME).map(|i| libm::sincos(TAU * i as f64 / FRAME as f64)).collect();
    let mut powers = vec![0.0; frames * bins];
    for frame in 0..frames {
        // Hann's window.
        let cut: Vec<f64> = samples
            .iter()
            .skip(frame * hop)
            .take(FRAME)
            .zip(&circle)
            .map(|(sample, (_, cos))| sample * (0.5 - 0.5 * cos))
            .collect();
        for bin in 0..bins {
            let (mut re, mut im) = (0.0, 0.0);
            for (index, value) in cut.iter().enumerate() {
                let (sin, cos) = circle[index * bin % FRAME];
                re += value * cos;
                im += value * sin;
            }
            powers[(bins - 1 - bin) * frames + frame] = re * re + im * im;
        }
    }
    let most = powers.iter().copied().fold(SILENCE, f64::max);
    let shade = |power: &f64| {
        let decibels = 10.0 * libm::log10(power.max(SILENCE) / most);
        u8::try_from(floor((1.0 + decibels / RANGE).clamp(0.0, 1.0) * 255.0)).unwrap_or(u8::MAX)
    };
    Picture {
        width: frames,
        height: bins,
        color: ColorType::Indexed,
        pixels: powers.iter().map(shade).collect(),
        palette: Some(heat()),
    }
}

/// From black over purple and orange to a light yellow.
fn heat() -> Vec<u8> {
    const STOPS: [[f64; 3]; 5] = [
        [4.0, 4.0, 16.0],
        [78.0, 18.0, 110.0],
        [186.0, 54.0, 86.0],
        [249.0, 142.0, 9.0],
        [252.0, 255.0, 190.0],
    ];
    let mut palette = Vec::with_capacity(3 * 256);
    for index in 0..256_u32 {
        let place = f64::from(index) / 255.0 * (STOPS.len() - 1) as f64;
        let below = floor(place).min(STOPS.len() - 2);
        let share = place - below as f64;
        for (from, to) in STOPS[below].iter().zip(STOPS[below + 1]) {
            palette.push(u8::try_from(floor(from + share * (to - from))).unwrap_or(u8::MAX));
        }
    }
    palette
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tone_is_a_bright_line_at_its_height() {
        let samples: Vec<f64> =
            (0..2000).map(|i| libm::sin(TAU * f64::from(i) * 32.0 / FRAME as f64)).collect();
        let picture = spectrogram(&samples);
        assert_eq!((picture.width, picture.height), ((2000 - FRAME) / HOP + 1, FRAME / 2));
        let row = |row: usize| &picture.pixels[row * picture.width..][..picture.width];
        assert!(row(FRAME / 2 - 1 - 32).iter().all(|shade| *shade > 250));
        assert!(row(10).iter().all(|shade| *shade < 5));
    }

    #[test]
    fn broken_files_are_told_from_recordings() {
        let mut file = b"RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x04\0\0\0".to_vec();
        file.extend([0, 64, 0, 192]);
        let recording = parsed(&file).unwrap();
        assert_eq!((recording.rate, recording.samples), (8000, vec![0.5, -0.5]));
        for length in 0..file.len() {
            assert!(parsed(&file[..length]).is_none(), "{length}");
        }
    }
}
