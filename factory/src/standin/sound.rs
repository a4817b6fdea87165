//! Recordings: tones, noise, and files as WAV.

use crate::numeric::draws::{Draws, floor};
use hound::{SampleFormat, WavSpec, WavWriter};
use std::f64::consts::TAU;
use std::io::Cursor;

/// A tone that glides from one frequency to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Glide {
    /// Seconds from the start of the recording.
    pub(super) start: f64,
    /// Its duration in seconds.
    pub(super) duration: f64,
    /// Frequencies at its start and its end in hertz.
    pub(super) hertz: [f64; 2],
    /// Its largest amplitude; 1 is full scale.
    pub(super) level: f64,
}

/// Uniform noise within `level` to either side, `count` samples of it.
pub(super) fn noise(draws: &mut Draws, count: usize, level: f64) -> Vec<f64> {
    let mut samples = vec![0.0; count];
    draws.units(&mut samples);
    for sample in &mut samples {
        *sample = (2.0 * *sample - 1.0) * level;
    }
    samples
}

/// Adds a tone, which swells and fades; what lies behind the recording's end is cut off.
pub(super) fn add(samples: &mut [f64], rate: f64, tone: Glide) {
    let first = floor(tone.start * rate);
    let count = floor(tone.duration * rate).max(1);
    for (place, sample) in samples.iter_mut().skip(first).take(count).enumerate() {
        let part = place as f64 / count as f64;
        let seconds = place as f64 / rate;
        let mean = tone.hertz[0] + 0.5 * (tone.hertz[1] - tone.hertz[0]) * part;
        let swell = libm::sin(0.5 * TAU * part);
        *sample += tone.level * swell * libm::sin(TAU * mean * seconds);
    }
}

/// A sample in [-1, 1] in steps of 16 bits; louder ones are cut off.
#[expect(clippy::cast_possible_truncation, reason = "within 16 bits by then")]
pub(super) fn step(sample: f64) -> i16 {
    libm::floor(sample * 32_768.0 + 0.5).clamp(-32_768.0, 32_767.0) as i16
}

/// The WAV file of one channel of 16 bits.
pub(super) fn wav(samples: &[f64], rate: u32) -> Vec<u8> {
    let spec = WavSpec {
        channels: 1,
        sample_rate: rate,
        bits_per_sample: 16,
        sample_format: SampleFormat::Int,
    };
    let mut file = Cursor::new(Vec::new());
    let mut writer = WavWriter::new(&mut file, spec).expect("writing to memory does not fail");
    for sample in samples {
        writer.write_sample(step(*sample)).expect("a short recording");
    }
    writer.finalize().expect("a short recording");
    file.into_inner()
}
