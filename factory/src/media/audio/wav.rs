//! WAV files with the one header that recordings have: 8 kHz, mono, 16 bits.
//!
//! The header depends on the length alone, so it carries no signal, and the reader refuses a
//! file unless writing its samples again gives the same bytes.

use super::level::UNIT;
use crate::media::MediumError;
use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use std::io::Cursor;

/// Full scale of 16 bits.
pub(super) const SCALE: f64 = 32768.0;
/// The longest recording that is read, in [`UNIT`]s: about a second.
pub(super) const LONGEST: usize = 32;
/// How long recordings that are read may be, in [`UNIT`]s: half a second to one.
const UNITS: std::ops::RangeInclusive<usize> = 16..=LONGEST;
/// The fewest and the most samples of a file, and what their number is a multiple of.
pub(crate) const SAMPLES: [usize; 3] = [*UNITS.start() * UNIT, LONGEST * UNIT, UNIT];
/// What the header says; the rate is [`RATE`](super::level::RATE).
const SPEC: WavSpec = WavSpec {
    channels: 1,
    sample_rate: 8000,
    bits_per_sample: 16,
    sample_format: SampleFormat::Int,
};

/// The file of samples in [-1, 1]; louder ones are cut off.
pub(super) fn encode(samples: &[f64]) -> Vec<u8> {
    let steps: Vec<i16> = samples.iter().map(|sample| nearest(sample * SCALE)).collect();
    written(&steps).expect("a recording fits into memory and into the format")
}

/// The file of samples in steps of [`SCALE`] for full scale.
fn written(steps: &[i16]) -> Result<Vec<u8>, hound::Error> {
    let mut file = Cursor::new(Vec::new());
    let mut writer = WavWriter::new(&mut file, SPEC)?;
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
pub(super) fn lasts(samples: usize) -> bool {
    samples.is_multiple_of(UNIT) && UNITS.contains(&(samples / UNIT))
}

/// The samples of a file, in steps of [`SCALE`] for full scale.
///
/// # Errors
/// [`MediumError`] unless the file is one that [`encode`] can have written.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<i16>, MediumError> {
    let wrong = |error: hound::Error| MediumError(format!("not a WAV file: {error}"));
    let mut reader = WavReader::new(bytes).map_err(wrong)?;
    let count = reader.len() as usize;
    if reader.spec() != SPEC || !lasts(count) {
        let spec = reader.spec();
        return Err(MediumError(format!("a recording cannot have {count} samples of {spec:?}")));
    }
    let steps = reader.samples().collect::<Result<Vec<i16>, _>>().map_err(wrong)?;
    if written(&steps).map_err(wrong)? != bytes {
        return Err(MediumError("its header is not that of a recording".to_owned()));
    }
    Ok(steps)
}

/// The nearest whole number of 16 bits; halves go away from zero.
#[expect(clippy::cast_possible_truncation, reason = "within 16 bits by then")]
fn nearest(value: f64) -> i16 {
    (value + 0.5_f64.copysign(value)).clamp(-SCALE, SCALE - 1.0) as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(count: usize) -> Vec<f64> {
        (0..count).map(|i| (i as f64 / count as f64 - 0.5) * 2.4).collect()
    }

    #[test]
    fn samples_come_back_within_a_step_and_cut_off() {
        let samples = ramp(20 * UNIT);
        let back = decode(&encode(&samples)).unwrap();
        for (sample, back) in samples.iter().zip(back) {
            let back = f64::from(back) / SCALE;
            assert!((sample.clamp(-1.0, 1.0) - back).abs() <= 1.0 / SCALE);
        }
    }

    #[test]
    fn the_header_is_that_of_the_sampling_rate_and_of_the_length() {
        assert_eq!(f64::from(SPEC.sample_rate), super::super::level::RATE);
        let [quiet, loud] = [0.1, -0.9].map(|level| encode(&vec![level; 20 * UNIT]));
        assert_eq!(quiet.len(), 44 + 2 * 20 * UNIT);
        assert_eq!(quiet[..44], loud[..44]);
    }

    #[test]
    fn other_lengths_and_headers_are_refused() {
        for count in [0, UNIT, 20 * UNIT + 1, 33 * UNIT] {
            assert!(decode(&encode(&ramp(count))).is_err(), "{count}");
        }
        let file = encode(&ramp(20 * UNIT));
        for byte in 0..file.len() - 2 * 20 * UNIT {
            let mut damaged = file.clone();
            damaged[byte] ^= 1;
            assert!(decode(&damaged).is_err(), "{byte}");
        }
        assert!(decode(&file[..file.len() - 1]).is_err());
        assert!(decode(&[&file[..], &[0]].concat()).is_err());
    }
}
