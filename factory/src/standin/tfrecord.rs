//! `TFRecord` files of `tf.train.Example`s: a length, a masked checksum, the message, its checksum.
//!
//! The message is `features: { map<name, bytes_list | int64_list> }` in the wire format of protocol
//! buffers. Only what is needed is written.

/// A feature of one value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Feature<'a> {
    /// Bytes, such as an encoded picture or a text.
    Bytes(&'a [u8]),
    /// A whole number that is not negative.
    Count(u64),
}

/// One record: the features of a row by their names.
pub(super) fn record(features: &[(&str, Feature<'_>)]) -> Vec<u8> {
    let mut map = Vec::new();
    for (name, feature) in features {
        let value = match feature {
            Feature::Bytes(bytes) => field(1, &field(1, bytes)),
            Feature::Count(count) => field(3, &field(1, &varint(*count))),
        };
        let entry = [field(1, name.as_bytes()), field(2, &value)].concat();
        map.extend(field(1, &entry));
    }
    let message = field(1, &map);
    let length = (message.len() as u64).to_le_bytes();
    let mut record = length.to_vec();
    record.extend(masked(&length).to_le_bytes());
    record.extend(&message);
    record.extend(masked(&message).to_le_bytes());
    record
}

/// A field whose value has a length: its number, the length and the bytes.
fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    let mut field = varint(number << 3 | 2);
    field.extend(varint(bytes.len() as u64));
    field.extend(bytes);
    field
}

/// Seven bits a byte, the lowest first; all but the last byte have the highest bit set.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7F).expect("seven bits");
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// The checksum as it is stored, turned so that a checksum of a checksum stays useful.
fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xA282_EAD8)
}

/// The checksum CRC-32C (Castagnoli), with its polynomial reflected.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |value: u32, _| if value & 1 == 1 { value >> 1 ^ 0x82F6_3B78 } else { value >> 1 };
    let fold = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), step);
    !bytes.iter().fold(u32::MAX, fold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_of_the_known_text_is_the_published_one() {
        // The check value of CRC-32C, and RFC 3720, B.4: 32 bytes of zeros.
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
    }

    #[test]
    fn message_follows_the_wire_format() {
        let record = record(&[("a", Feature::Count(300))]);
        // Worked out by hand: map, entry, name, value, list of whole numbers, 300.
        let message = [10, 13, 10, 11, 10, 1, b'a', 18, 6, 26, 4, 10, 2, 0xAC, 2];
        assert_eq!(record[12..27], message);
        assert_eq!((record.len(), record[0]), (8 + 4 + 15 + 4, 15));
    }
}
