//! Recordings: a player and a spectrogram each.

use super::GalleryError;
use super::parts::data_uri;
use super::pictures::GalleryPicture;
use super::task::{GalleryTask, ItemColumn};
use crate::numeric::draws::floor;
use crate::numeric::fourier::{forward, hann};
use fs_err as fs;
use hound::{SampleFormat, WavReader};
use image::ColorType;
use maud::{Markup, html};
use ndarray::Array2;
use rustfft::num_complex::Complex;
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
struct PcmRecording {
    rate: u32,
    samples: Vec<f64>,
}

/// The recordings of the example rows; fails if a file is unreadable.
pub(super) fn show(task: &GalleryTask, items: ItemColumn) -> Result<Markup, GalleryError> {
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
                    src=(painted(&shades(&recording.samples)).uri());
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
fn parsed(bytes: &[u8]) -> Option<PcmRecording> {
    let mut reader = WavReader::new(bytes).ok()?;
    let spec = reader.spec();
    if (spec.sample_format, spec.bits_per_sample) != (SampleFormat::Int, 16) {
        return None;
    }
    let all = reader.samples().collect::<Result<Vec<i16>, _>>().ok()?;
    let first = all.iter().step_by(usize::from(spec.channels));
    let samples = first.map(|sample| f64::from(*sample) / 32768.0).collect();
    Some(PcmRecording { rate: spec.sample_rate, samples })
}

/// A spectrogram: time from left to right, frequency from bottom to top, decibels as brightness.
fn shades(samples: &[f64]) -> Array2<u8> {
    let bins = FRAME / 2;
    let hop = HOP.max(samples.len() / FRAMES);
    let frames = samples.len().saturating_sub(FRAME) / hop + 1;
    let window = hann(FRAME);
    let mut spectra = vec![Complex::default(); frames * FRAME];
    for (frame, values) in spectra.chunks_exact_mut(FRAME).enumerate() {
        for ((value, sample), w) in values.iter_mut().zip(&samples[frame * hop..]).zip(&window) {
            *value = Complex::from(sample * w);
        }
    }
    forward(FRAME).process(&mut spectra);
    let power = |(row, frame): (usize, usize)| spectra[frame * FRAME + bins - 1 - row].norm_sqr();
    let powers = Array2::from_shape_fn((bins, frames), power);
    let most = powers.iter().copied().fold(SILENCE, f64::max);
    powers.mapv(|power| {
        let decibels = 10.0 * libm::log10(power.max(SILENCE) / most);
        u8::try_from(floor((1.0 + decibels / RANGE).clamp(0.0, 1.0) * 255.0)).unwrap_or(u8::MAX)
    })
}

/// Shades as colours, from black over purple and orange to a light yellow.
fn painted(shades: &Array2<u8>) -> GalleryPicture {
    let (height, width) = shades.dim();
    let pixels = shades.iter().flat_map(|shade| heat(*shade)).collect();
    GalleryPicture { width, height, color: ColorType::Rgb8, pixels }
}

/// Red, green and blue of a shade.
fn heat(shade: u8) -> [u8; 3] {
    const STOPS: [[f64; 3]; 5] = [
        [4.0, 4.0, 16.0],
        [78.0, 18.0, 110.0],
        [186.0, 54.0, 86.0],
        [249.0, 142.0, 9.0],
        [252.0, 255.0, 190.0],
    ];
    let place = f64::from(shade) / 255.0 * (STOPS.len() - 1) as f64;
    let below = floor(place).min(STOPS.len() - 2);
    let share = place - below as f64;
    std::array::from_fn(|channel| {
        let (from, to) = (STOPS[below][channel], STOPS[below + 1][channel]);
        u8::try_from(floor(from + share * (to - from))).unwrap_or(u8::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn a_tone_is_a_bright_line_at_its_height() {
        let samples: Vec<f64> =
            (0..2000).map(|i| libm::sin(TAU * f64::from(i) * 32.0 / FRAME as f64)).collect();
        let shades = shades(&samples);
        assert_eq!(shades.dim(), (FRAME / 2, (2000 - FRAME) / HOP + 1));
        assert!(shades.row(FRAME / 2 - 1 - 32).iter().all(|shade| *shade > 250));
        assert!(shades.row(10).iter().all(|shade| *shade < 5));
        let picture = painted(&shades);
        assert_eq!(picture.pixels.len(), 3 * picture.width * picture.height);
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
