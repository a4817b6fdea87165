//! The medium itself: its statistics, its blemishes, and the order of the work.

#[cfg(test)]
mod tests;

use super::envelope::{self, Track};
use super::scene::Scene;
use super::spectrogram::spectrogram;
use super::{clicks, features, timbre, tremolo, wav};
use crate::media::{
    Blemish, Format, ItemReader, Look, Medium, MediumError, Reach, Reading, Statistic,
};
use crate::numeric::draws::Draws;
use ndarray::Array2;

/// Partials that the reader follows.
const PARTIALS: usize = 6;

/// The medium of short mono recordings of a tone.
#[derive(Debug)]
pub struct Recording;

const STATISTICS: [Statistic; 9] = [
    Statistic {
        name: "loudness",
        low: -38.0,
        high: -22.0,
        decimals: 1,
        reach: Reach::Plain,
        means: "level of the tone in decibels of full scale",
    },
    Statistic {
        name: "swell",
        low: -6.0,
        high: 6.0,
        decimals: 1,
        reach: Reach::Plain,
        means: "rise of the tone's level from begin to end in decibels",
    },
    Statistic {
        name: "pitch",
        low: 180.0,
        high: 340.0,
        decimals: 0,
        reach: Reach::Generic,
        means: "fundamental frequency at mid-recording in hertz",
    },
    Statistic {
        name: "falloff",
        low: 2.0,
        high: 9.0,
        decimals: 1,
        reach: Reach::Generic,
        means: "fall of the partials' level in decibels per octave",
    },
    Statistic {
        name: "tremolo_depth",
        low: 1.0,
        high: 5.0,
        decimals: 1,
        reach: Reach::Generic,
        means: "how far the tone's level swings to either side in decibels",
    },
    Statistic {
        name: "tremolo_rate",
        low: 5.0,
        high: 15.0,
        decimals: 1,
        reach: Reach::Hidden,
        means: "swings of the tone's level per second",
    },
    Statistic {
        name: "chirp",
        low: -25.0,
        high: 25.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "glide of the pitch from begin to end in per cent of its middle",
    },
    Statistic {
        name: "clicks",
        low: 1.0,
        high: 8.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "number of short high pings",
    },
    Statistic {
        name: "hollowness",
        low: 0.0,
        high: 8.0,
        decimals: 1,
        reach: Reach::Hidden,
        means: "how far the even partials lie below the odd ones in decibels",
    },
];

/// Strengths of noise and hum are relative to the tone, that of an echo is the first one's, and that
/// of clipping is the share of the peak that is lost.
const BLEMISHES: [Blemish; 4] = [
    Blemish { name: "hiss", low: 0.1, high: 0.5, means: "the microphone adds white noise" },
    Blemish { name: "echo", low: 0.06, high: 0.28, means: "the room answers with an echo" },
    Blemish { name: "hum", low: 0.1, high: 0.6, means: "the mains hum can be heard in the line" },
    Blemish {
        name: "clipping",
        low: 0.3,
        high: 0.8,
        means: "the loudest moments are cut off at a fixed level",
    },
];

impl ItemReader for Recording {
    fn blemishes(&self) -> &'static [Blemish] {
        &BLEMISHES
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Wav]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        let steps = wav::RECORDING.decode(bytes)?;
        let samples: Vec<f64> = steps.iter().map(|step| f64::from(*step) / wav::SCALE).collect();
        let spectrogram = spectrogram(&samples);
        Ok(Reading {
            plain: features::plain(&steps),
            generic: features::generic(&steps, &spectrogram),
            estimates: estimates(&samples, &spectrogram),
        })
    }

    fn python(&self) -> &'static str {
        concat!(include_str!("recording.py"), include_str!("features.py"), include_str!("tone.py"))
    }
}

impl Medium for Recording {
    fn statistics(&self) -> &'static [Statistic] {
        &STATISTICS
    }

    fn render(&self, values: &[f64], look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
        wav::RECORDING.encode(&Scene::of(look.stream).record(values, look.blemishes, draws))
    }
}

/// Follows the tone, lines its partials up and measures them one against the other.
fn estimates(samples: &[f64], spectrogram: &Array2<f64>) -> Vec<f64> {
    // A second pass starts close enough for the higher partials to join in.
    let coarse = Track::coarse(spectrogram);
    let near = coarse.refined(&envelope::follow(samples, coarse, 3));
    let partials = envelope::follow(samples, near, PARTIALS);
    let track = near.refined(&partials);
    let partials = envelope::aligned(&partials);

    let level = envelope::shared(&partials);
    let tremolo = tremolo::fitted(&level);
    let timbre = timbre::measured(&partials, &level);
    vec![
        timbre.loudness,
        tremolo.swell,
        track.pitch,
        timbre.falloff,
        tremolo.depth,
        tremolo.rate,
        100.0 * track.chirp,
        clicks::counted(samples) as f64,
        timbre.hollowness,
    ]
}
