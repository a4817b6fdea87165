//! Sounds that are given, and what can be wrong with them.

use super::level::{RATE, squares};
use super::site::Site;
use super::spectrogram::spectrogram;
use super::{features, wav};
use crate::media::{Blemish, Format, ItemReader, Look, MediumError, Reading};
use crate::numeric::draws::Draws;

/// Mono sounds of any content, at 8 kHz.
#[derive(Debug)]
pub struct GivenSound;

/// Those of recordings; without a tone, strengths are relative to the sound as a whole.
const BLEMISHES: [Blemish; 4] = [
    Blemish { name: "hiss", low: 0.05, high: 0.3, means: "the microphone adds white noise" },
    Blemish { name: "echo", low: 0.06, high: 0.28, means: "the room answers with an echo" },
    Blemish { name: "hum", low: 0.05, high: 0.3, means: "the mains hum can be heard in the line" },
    Blemish {
        name: "clipping",
        low: 0.2,
        high: 0.5,
        means: "the loudest moments are cut off at a fixed level",
    },
];

impl ItemReader for GivenSound {
    fn blemishes(&self) -> &'static [Blemish] {
        &BLEMISHES
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Wav]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        let steps = decode(bytes)?;
        Ok(Reading {
            plain: features::plain(&steps),
            generic: features::generic(&steps, &spectrogram(&fractions(&steps))),
            estimates: Vec::new(),
        })
    }

    fn python(&self) -> &'static str {
        concat!(include_str!("given.py"), include_str!("features.py"))
    }
}

/// Makes sure that a sound can be written: it is as long as files may be.
pub(crate) fn check(steps: &[i16]) -> Result<(), MediumError> {
    if wav::RECORDING.lasts(steps.len()) {
        return Ok(());
    }
    let [least, most, step] = wav::SAMPLES;
    Err(MediumError(format!(
        "a sound of {} samples; give {least} to {most} samples, a multiple of {step}",
        steps.len()
    )))
}

/// The file of samples of 16 bits, with the blemishes in force. What becomes louder than 16 bits
/// hold is cut off.
pub(crate) fn write(steps: &[i16], look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
    let mut samples = fractions(steps);
    let level = (squares(&samples) / samples.len().max(1) as f64).sqrt();
    let site = Site::drawn(RATE, &mut Draws::new(look.stream.child("site")));
    site.worsen(&mut samples, level, look.blemishes, draws);
    wav::RECORDING.encode(&samples)
}

/// The samples of a file, of 16 bits.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<i16>, MediumError> {
    wav::RECORDING.decode(bytes)
}

/// Samples as fractions of full scale.
fn fractions(steps: &[i16]) -> Vec<f64> {
    steps.iter().map(|step| f64::from(*step) / wav::SCALE).collect()
}
