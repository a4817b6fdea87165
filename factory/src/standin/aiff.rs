//! AIFF files: one channel of 16 bits.

use super::sound::step;

/// The file of samples in [-1, 1] at `rate` per second; louder ones are cut off.
pub(super) fn encode(samples: &[f64], rate: u16) -> Vec<u8> {
    let frames = u32::try_from(samples.len()).expect("a short recording");
    let mut common = Vec::new();
    common.extend(1_i16.to_be_bytes());
    common.extend(frames.to_be_bytes());
    common.extend(16_i16.to_be_bytes());
    common.extend(extended(rate));
    // No offset into blocks, and no blocks.
    let mut sound = vec![0; 8];
    sound.extend(samples.iter().flat_map(|sample| step(*sample).to_be_bytes()));
    let mut form = b"AIFF".to_vec();
    form.extend(chunk(*b"COMM", &common));
    form.extend(chunk(*b"SSND", &sound));
    chunk(*b"FORM", &form)
}

/// A name, a length and as many bytes, which must be an even number.
fn chunk(name: [u8; 4], bytes: &[u8]) -> Vec<u8> {
    let mut chunk = name.to_vec();
    chunk.extend(u32::try_from(bytes.len()).expect("a short recording").to_be_bytes());
    chunk.extend(bytes);
    chunk
}

/// A positive whole number as a float of 80 bits.
fn extended(value: u16) -> [u8; 10] {
    let zeros = value.leading_zeros();
    let exponent = u16::try_from(16_383 + 15 - zeros).expect("below 2^15");
    let mantissa = (u64::from(value) << 48) << zeros;
    let mut bytes = [0; 10];
    bytes[..2].copy_from_slice(&exponent.to_be_bytes());
    bytes[2..].copy_from_slice(&mantissa.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_holds_rate_and_length() {
        // 44,100 and 2,000 as other programs write them.
        assert_eq!(extended(44_100), [0x40, 0x0E, 0xAC, 0x44, 0, 0, 0, 0, 0, 0]);
        assert_eq!(extended(2_000), [0x40, 0x09, 0xFA, 0, 0, 0, 0, 0, 0, 0]);
        let file = encode(&[0.0, 0.5, -1.0, 2.0], 2_000);
        assert_eq!((&file[..4], &file[8..16]), (b"FORM".as_slice(), b"AIFFCOMM".as_slice()));
        assert_eq!(file[20..26], [0, 1, 0, 0, 0, 4]);
        assert_eq!(file[file.len() - 8..], [0, 0, 0x40, 0, 0x80, 0, 0x7F, 0xFF]);
    }
}
