//! WAV files of the two forms that sounds have: mono, 16 bits, at 8 or 16 kHz.
//!
//! The header depends on form and length alone, so it carries no signal, and the reader refuses a
//! file unless writing its samples again gives the same bytes.

use super::level::UNIT;
use crate::media::MediumError;
use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use std::io::Cursor;
use std::ops::RangeInclusive;

/// Full scale of 16 bits.
pub(super) const SCALE: f64 = 32768.0;
/// The longest recording that is read, in [`UNIT`]s: about a second.
pub(super) const LONGEST: usize = 32;
/// The fewest and the most samples of a recording's file, and what their number is a multiple of.
pub(crate) const SAMPLES: [usize; 3] = [16 * UNIT, LONGEST * UNIT, UNIT];

/// Files of recordings, of half a second to one; the rate is [`RATE`](super::level::RATE).
pub(super) const RECORDING: WavForm = WavForm { rate: 8000, unit: UNIT, units: 16..=LONGEST };
/// Files of soundscapes, of 5 to 10 seconds.
pub(super) const SOUNDSCAPE: WavForm = WavForm { rate: 16_000, unit: 2048, units: 40..=78 };

/// What all files of a kind of sound have in common.
#[derive(Debug)]
pub(super) struct WavForm {
    /// Samples per second.
    pub rate: u32,
    /// What the number of samples is a multiple of.
    pub unit: usize,
    /// How many units a file may have.
    pub units: RangeInclusive<usize>,
}

impl WavForm {
    /// What the header says.
    const fn spec(&self) -> WavSpec {
        WavSpec {
            channels: 1,
            sample_rate: self.rate,
            bits_per_sample: 16,
            sample_format: SampleFormat::Int,
        }
    }

    /// The file of samples in [-1, 1]; louder ones are cut off.
    pub(super) fn encode(&self, samples: &[f64]) -> Vec<u8> {
        let steps: Vec<i16> = samples.iter().map(|sample| nearest(sample * SCALE)).collect();
        self.written(&steps).expect("a sound fits into memory and into the format")
    }

    /// The file of samples in steps of [`SCALE`] for full scale.
    fn written(&self, steps: &[i16]) -> Result<Vec<u8>, hound::Error> {
        let mut file = Cursor::new(Vec::new());
        let mut writer = WavWriter::new(&mut file, self.spec())?;
        let count = u32::try_from(steps.len()).map_err(|_| hound::Error::TooWide)?;
        let mut block = writer.get_i16_writer(count);
        for step in steps {
            block.write_sample(*step);
        }
        block.flush()?;
        writer.finalize()?;
        Ok(file.into_inner())
    }

    /// Whether a file may have so many samples.
    pub(super) fn lasts(&self, samples: usize) -> bool {
        samples.is_multiple_of(self.unit) && self.units.contains(&(samples / self.unit))
    }

    /// The samples of a file, in steps of [`SCALE`] for full scale.
    ///
    /// # Errors
    /// [`MediumError`] unless the file is one that [`WavForm::encode`] can have written.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<Vec<i16>, MediumError> {
        let wrong = |error: hound::Error| MediumError(format!("not a WAV file: {error}"));
        let mut reader = WavReader::new(bytes).map_err(wrong)?;
        let (count, spec) = (reader.len() as usize, reader.spec());
        if spec != self.spec() || !self.lasts(count) {
            return Err(MediumError(format!(
                "such a sound cannot have {count} samples of {spec:?}"
            )));
        }
        let steps = reader.samples().collect::<Result<Vec<i16>, _>>().map_err(wrong)?;
        if self.written(&steps).map_err(wrong)? != bytes {
            return Err(MediumError("its header is not that of a sound".to_owned()));
        }
        Ok(steps)
    }
}

/// The nearest whole number of 16 bits; halves go away from zero.
#[expect(clippy::cast_possible_truncation, reason = "within 16 bits by then")]
fn nearest(value: f64) -> i16 {
    (value + 0.5_f64.copysign(value)).clamp(-SCALE, SCALE - 1.0) as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::audio::level::RATE;

    fn ramp(count: usize) -> Vec<f64> {
        (0..count).map(|i| (i as f64 / count as f64 - 0.5) * 2.4).collect()
    }

    #[test]
    fn samples_come_back_within_a_step_and_cut_off() {
        for (form, count) in [(RECORDING, 20 * UNIT), (SOUNDSCAPE, 50 * 2048)] {
            let samples = ramp(count);
            let back = form.decode(&form.encode(&samples)).unwrap();
            for (sample, back) in samples.iter().zip(back) {
                let back = f64::from(back) / SCALE;
                assert!((sample.clamp(-1.0, 1.0) - back).abs() <= 1.0 / SCALE);
            }
        }
    }

    #[test]
    fn the_header_is_that_of_the_sampling_rate_and_of_the_length() {
        assert_eq!(f64::from(RECORDING.rate), RATE);
        for (form, count) in [(RECORDING, 20 * UNIT), (SOUNDSCAPE, 50 * 2048)] {
            let [quiet, loud] = [0.1, -0.9].map(|level| form.encode(&vec![level; count]));
            assert_eq!(quiet.len(), 44 + 2 * count);
            assert_eq!(quiet[..44], loud[..44]);
        }
    }

    #[test]
    fn other_lengths_and_headers_are_refused() {
        for count in [0, UNIT, 20 * UNIT + 1, 33 * UNIT] {
            assert!(RECORDING.decode(&RECORDING.encode(&ramp(count))).is_err(), "{count}");
        }
        for count in [39 * 2048, 50 * 2048 + 1, 79 * 2048] {
            assert!(SOUNDSCAPE.decode(&SOUNDSCAPE.encode(&ramp(count))).is_err(), "{count}");
        }
        let file = RECORDING.encode(&ramp(20 * UNIT));
        for byte in 0..file.len() - 2 * 20 * UNIT {
            let mut damaged = file.clone();
            damaged[byte] ^= 1;
            assert!(RECORDING.decode(&damaged).is_err(), "{byte}");
        }
        assert!(RECORDING.decode(&file[..file.len() - 1]).is_err());
        assert!(RECORDING.decode(&[&file[..], &[0]].concat()).is_err());
        // A file of one form is none of the other.
        let same = WavForm { rate: 16_000, ..RECORDING };
        assert!(RECORDING.decode(&same.encode(&ramp(20 * UNIT))).is_err());
    }
}
