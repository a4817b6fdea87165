//! Soundscapes: 5 to 10 seconds at 16 kHz in which something calls again and again.
//!
//! A call is made of several notes; two callers of different pitch take part. Levels of background
//! and calls are heard by anyone, the colour and the swelling of the background are in spectrum and
//! quiet moments. How many calls there are, of how many notes, how notes slide, whether calls come
//! faster and how far apart the callers are only shows once calls are found.
//! `values -> field -> samples -> wav`, and back: `wav -> spectrogram -> calls -> readings`.

mod calls;
mod features;
mod field;
mod hearing;
mod place;
mod source;
#[cfg(test)]
mod tests;
mod voice;

pub use source::Source;

use super::level::{TINY, decibels, mean};
use super::wav::{SCALE, SOUNDSCAPE};
use crate::media::{
    Blemish, Format, ItemReader, Look, Medium, MediumError, Reach, Reading, Statistic,
};
use crate::numeric::draws::{Draws, floor};
use field::{Asked, Field};
use place::Weather;

/// Samples of one value of a [`course`]: 64 ms.
const MOMENT: usize = 1024;
/// Sampling rate, in samples per second.
const RATE: f64 = 16_000.0;

/// The medium of soundscapes.
#[derive(Debug)]
pub struct Soundscape;

const STATISTICS: [Statistic; 10] = [
    Statistic {
        name: "background",
        low: -56.0,
        high: -46.0,
        decimals: 1,
        reach: Reach::Plain,
        means: "level of the background in decibels of full scale",
    },
    Statistic {
        name: "loudness",
        low: -31.0,
        high: -19.0,
        decimals: 1,
        reach: Reach::Plain,
        means: "level of the calls halfway through in decibels of full scale",
    },
    Statistic {
        name: "approach",
        low: -6.0,
        high: 6.0,
        decimals: 1,
        reach: Reach::Plain,
        means: "rise of the calls' level from begin to end in decibels",
    },
    Statistic {
        name: "brightness",
        low: -17.0,
        high: -5.0,
        decimals: 1,
        reach: Reach::Generic,
        means: "level of the background's highs (4 to 7 kHz) against its lows (0.5 to 1.5 kHz) in \
                decibels",
    },
    Statistic {
        name: "gusts",
        low: 0.5,
        high: 4.5,
        decimals: 1,
        reach: Reach::Generic,
        means: "how far the background swells and ebbs to either side in decibels",
    },
    Statistic {
        name: "calls",
        low: 3.0,
        high: field::MOST_CALLS,
        decimals: 0,
        reach: Reach::Hidden,
        means: "number of calls",
    },
    Statistic {
        name: "notes",
        low: 2.0,
        high: field::MOST_NOTES,
        decimals: 0,
        reach: Reach::Hidden,
        means: "number of notes in each call",
    },
    Statistic {
        name: "quickening",
        low: -1.0,
        high: 1.0,
        decimals: 2,
        reach: Reach::Hidden,
        means: "how often the time between calls is halved from the first to the last",
    },
    Statistic {
        name: "slide",
        low: -5.0,
        high: 5.0,
        decimals: 1,
        reach: Reach::Hidden,
        means: "rise of the pitch from the first to the last note of a call in semitones",
    },
    Statistic {
        name: "interval",
        low: 0.0,
        high: 6.0,
        decimals: 1,
        reach: Reach::Hidden,
        means: "distance in pitch of the two callers in semitones",
    },
];

/// Strengths of noise and hum are relative to the background, that of an echo is the first one's,
/// and that of clipping is the share of the peak that is lost.
const BLEMISHES: [Blemish; 4] = [
    Blemish { name: "hiss", low: 0.04, high: 0.16, means: "the microphone adds white noise" },
    Blemish { name: "echo", low: 0.06, high: 0.28, means: "the room answers with an echo" },
    Blemish { name: "hum", low: 0.2, high: 1.0, means: "the mains hum can be heard in the line" },
    Blemish {
        name: "clipping",
        low: 0.1,
        high: 0.35,
        means: "the loudest moments are cut off at a fixed level",
    },
];

/// The level of a soundscape over time, in decibels, with mean 0 and squares that sum to 1: the sum of
/// the products of two courses is their correlation. Silence has zeros.
///
/// # Errors
/// [`MediumError`] if the bytes are not a soundscape.
pub(crate) fn course(bytes: &[u8]) -> Result<Vec<f64>, MediumError> {
    let steps = SOUNDSCAPE.decode(bytes)?;
    let level = |moment: &[i16]| {
        let squares = moment.iter().map(|step| i64::from(i32::from(*step) * i32::from(*step)));
        decibels(squares.sum::<i64>() as f64 / (SCALE * SCALE * MOMENT as f64))
    };
    let mut levels: Vec<f64> = steps.chunks_exact(MOMENT).map(level).collect();
    let mean = mean(levels.iter().copied());
    for level in &mut levels {
        *level -= mean;
    }
    let size = levels.iter().map(|level| level * level).sum::<f64>().sqrt() + TINY;
    for level in &mut levels {
        *level /= size;
    }
    Ok(levels)
}

impl ItemReader for Soundscape {
    fn blemishes(&self) -> &'static [Blemish] {
        &BLEMISHES
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Wav]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        let steps = SOUNDSCAPE.decode(bytes)?;
        let samples: Vec<f64> = steps.iter().map(|step| f64::from(*step) / SCALE).collect();
        let spectrogram = hearing::spectrogram(&samples);
        Ok(Reading {
            plain: features::plain(&samples),
            generic: features::generic(&samples, &spectrogram),
            estimates: hearing::estimates(&spectrogram),
        })
    }

    fn python(&self) -> &'static str {
        include_str!("soundscape/soundscape.py")
    }
}

impl Medium for Soundscape {
    fn statistics(&self) -> &'static [Statistic] {
        &STATISTICS
    }

    fn render(&self, values: &[f64], look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
        let &[
            level,
            loudness,
            approach,
            brightness,
            gusts,
            calls,
            notes,
            quickening,
            slide,
            interval,
        ] = values
        else {
            unreachable!("a value for each statistic")
        };
        let asked = Asked {
            weather: Weather { level, brightness, gusts },
            loudness,
            approach,
            calls: floor(calls + 0.5).max(3),
            notes: floor(notes + 0.5).max(2),
            quickening,
            slide,
            interval,
        };
        SOUNDSCAPE.encode(&Field::of(look).record(asked, look, draws))
    }
}
