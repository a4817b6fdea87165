//! WAV files with the one header that recordings have: 8 kHz, mono, 16 bits.
//!
//! The header depends on the length alone, so it carries no signal, and the reader checks every
//! byte of it.

use super::level::{RATE, UNIT};
use crate::media::MediumError;
use crate::numeric::draws::floor;

/// Bytes before the samples.
const HEADER: usize = 44;
/// Full scale of 16 bits.
pub(super) const SCALE: f64 = 32768.0;
/// The longest recording that is read, in [`UNIT`]s: about a second.
pub(super) const LONGEST: usize = 32;
/// How long recordings that are read may be, in [`UNIT`]s: half a second to one.
const UNITS: std::ops::RangeInclusive<usize> = 16..=LONGEST;

/// The file of samples in [-1, 1]; louder ones are cut off.
pub(super) fn encode(samples: &[f64]) -> Vec<u8> {
    let mut bytes = header(2 * samples.len());
    bytes.reserve(2 * samples.len());
    bytes.extend(samples.iter().flat_map(|sample| nearest(sample * SCALE).to_le_bytes()));
    bytes
}

/// The samples of a file, in steps of [`SCALE`] for full scale.
///
/// # Errors
/// [`MediumError`] unless the file is one that [`encode`] can have written.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<i16>, MediumError> {
    let data = bytes
        .strip_prefix(&header(bytes.len().saturating_sub(HEADER))[..])
        .ok_or_else(|| MediumError("not a mono WAV file of 16 bits at 8 kHz".to_owned()))?;
    let (pairs, rest) = data.as_chunks::<2>();
    if !rest.is_empty() || pairs.len() % UNIT != 0 || !UNITS.contains(&(pairs.len() / UNIT)) {
        return Err(MediumError(format!("a recording cannot have {} bytes of sound", data.len())));
    }
    Ok(pairs.iter().map(|pair| i16::from_le_bytes(*pair)).collect())
}

/// RIFF, the format chunk and the head of the data chunk.
fn header(data: usize) -> Vec<u8> {
    let rate = u32::try_from(floor(RATE)).unwrap_or(u32::MAX);
    // Files that are too long for the format are refused for their length.
    let data = u32::try_from(data).unwrap_or(u32::MAX - 36);
    let mut bytes = Vec::with_capacity(HEADER);
    bytes.extend(b"RIFF");
    bytes.extend((data.saturating_add(36)).to_le_bytes());
    bytes.extend(b"WAVEfmt ");
    bytes.extend(16u32.to_le_bytes());
    // PCM, one channel.
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(rate.to_le_bytes());
    bytes.extend((2 * rate).to_le_bytes());
    // Bytes per sample, bits per sample.
    bytes.extend(2u16.to_le_bytes());
    bytes.extend(16u16.to_le_bytes());
    bytes.extend(b"data");
    bytes.extend(data.to_le_bytes());
    bytes
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
    fn other_lengths_and_headers_are_refused() {
        for count in [0, UNIT, 20 * UNIT + 1, 33 * UNIT] {
            assert!(decode(&encode(&ramp(count))).is_err(), "{count}");
        }
        let file = encode(&ramp(20 * UNIT));
        for byte in 0..HEADER {
            let mut damaged = file.clone();
            damaged[byte] ^= 1;
            assert!(decode(&damaged).is_err(), "{byte}");
        }
        assert!(decode(&file[..file.len() - 1]).is_err());
    }
}
