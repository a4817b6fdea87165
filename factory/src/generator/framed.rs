//! Framed files: named arrays in one flat file, for rows that cross the boundary of a jail.
//!
//! ```text
//! MLEROWS1                          8 bytes
//! length of the header              8 bytes, little-endian
//! [{"name", "kind", "shape", "offset"}, ...]   JSON
//! values of all arrays, one after the other, little-endian
//! ```
//!
//! Kinds are `f64`, `u8`, `i16` and `utf8`: texts, each followed by a zero byte, whose shape is
//! their number and their length in bytes. Arrays are in the order of the header and leave no gap,
//! so that a file has one form. No pickle, no archive, no path: whatever the bytes are, reading
//! them gives arrays or an error, and takes no more memory than a few times the file.

use ndarray::{ArrayD, IxDyn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tasks::units::ByteSize;

/// The largest framed file that is read.
pub const MOST_FRAMED: ByteSize = ByteSize::mib(48);
/// The longest header that is read, in bytes.
const MOST_HEADER: usize = 64 << 10;
/// The most arrays that are read.
const MOST_ARRAYS: usize = 256;
/// The most axes of an array.
const MOST_AXES: usize = 4;
const MAGIC: &[u8; 8] = b"MLEROWS1";

/// One array of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FramedArray {
    /// Its name, unique within the file.
    pub name: String,
    /// Its values.
    pub values: FramedValues,
}

/// The values of an array, in C order.
#[derive(Debug, Clone, PartialEq)]
pub enum FramedValues {
    /// Floats; NaN and infinities can occur.
    Numbers(ArrayD<f64>),
    /// Levels of pictures.
    Bytes(ArrayD<u8>),
    /// Samples of sounds.
    Shorts(ArrayD<i16>),
    /// Texts without zero bytes.
    Texts(Vec<String>),
}

/// Bytes that are no framed file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FramedError {
    /// It is larger than what is read.
    #[error("it has {0} bytes; at most {MOST_FRAMED} are read")]
    TooLarge(usize),
    /// It does not begin as such a file does.
    #[error("it does not begin with `MLEROWS1` and the length of a header")]
    Start,
    /// The header is no list of arrays.
    #[error("its header is malformed: {0}")]
    Header(String),
    /// An array is not where or what the header says.
    #[error("its array `{name}` {fault}")]
    Array {
        /// Name of the array, at most 60 characters of it.
        name: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// Something follows the last array.
    #[error("{0} bytes follow its last array")]
    Rest(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FramedKind {
    F64,
    U8,
    I16,
    Utf8,
}

/// An array as the header describes it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FramedEntry {
    name: String,
    kind: FramedKind,
    shape: Vec<usize>,
    offset: usize,
}

/// Writes a file.
///
/// # Panics
/// If a text holds a zero byte.
///
/// # Examples
/// ```rust
/// use factory::generator::framed::{FramedArray, FramedValues, decode, encode};
///
/// let values = FramedValues::Texts(vec!["oak".to_owned(), String::new()]);
/// let arrays = vec![FramedArray { name: "wood".to_owned(), values }];
/// assert_eq!(decode(&encode(&arrays))?, arrays);
/// assert!(decode(b"PK\x03\x04").is_err());
/// # Ok::<(), factory::generator::framed::FramedError>(())
/// ```
pub fn encode(arrays: &[FramedArray]) -> Vec<u8> {
    let (mut header, mut payload) = (Vec::new(), Vec::new());
    for FramedArray { name, values } in arrays {
        let offset = payload.len();
        let (kind, shape) = match values {
            FramedValues::Numbers(values) => {
                payload.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                (FramedKind::F64, values.shape().to_vec())
            }
            FramedValues::Bytes(values) => {
                payload.extend(values.iter());
                (FramedKind::U8, values.shape().to_vec())
            }
            FramedValues::Shorts(values) => {
                payload.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                (FramedKind::I16, values.shape().to_vec())
            }
            FramedValues::Texts(texts) => {
                for text in texts {
                    assert!(!text.contains('\0'), "a text of a framed file has a zero byte");
                    payload.extend(text.bytes().chain([0]));
                }
                (FramedKind::Utf8, vec![texts.len(), payload.len() - offset])
            }
        };
        header.push(FramedEntry { name: name.clone(), kind, shape, offset });
    }
    let header = serde_json::to_vec(&header).expect("names and numbers can be written as JSON");
    let length = (header.len() as u64).to_le_bytes();
    [MAGIC, &length[..], &header, &payload].concat()
}

/// Reads a file.
///
/// # Errors
/// [`FramedError`] for any other bytes.
pub fn decode(bytes: &[u8]) -> Result<Vec<FramedArray>, FramedError> {
    if bytes.len() > MOST_FRAMED.length() {
        return Err(FramedError::TooLarge(bytes.len()));
    }
    let rest = bytes.strip_prefix(MAGIC).ok_or(FramedError::Start)?;
    let (length, rest) = rest.split_first_chunk::<8>().ok_or(FramedError::Start)?;
    let malformed = |what: &str| FramedError::Header(what.to_owned());
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > MOST_HEADER {
        return Err(malformed("it is longer than 64 KiB"));
    }
    let (header, mut payload) =
        rest.split_at_checked(length).ok_or_else(|| malformed("it ends before its length"))?;
    let header: Vec<FramedEntry> =
        serde_json::from_slice(header).map_err(|error| malformed(&error.to_string()))?;
    if header.len() > MOST_ARRAYS {
        return Err(malformed("it has more than 256 arrays"));
    }
    let mut names = BTreeSet::new();
    let mut arrays = Vec::with_capacity(header.len());
    let mut offset = 0;
    for entry in header {
        let fault =
            |fault| FramedError::Array { name: entry.name.chars().take(60).collect(), fault };
        if !names.insert(entry.name.clone()) {
            return Err(fault("is there twice"));
        }
        if entry.offset != offset {
            return Err(fault("does not begin where the one before it ends"));
        }
        let size =
            entry.size().ok_or_else(|| fault("has a shape that no array of its kind has"))?;
        let (values, after) =
            payload.split_at_checked(size).ok_or_else(|| fault("ends after the file"))?;
        (payload, offset) = (after, offset + size);
        let values = entry.values(values).map_err(fault)?;
        arrays.push(FramedArray { name: entry.name, values });
    }
    if payload.is_empty() { Ok(arrays) } else { Err(FramedError::Rest(payload.len())) }
}

impl FramedEntry {
    /// Bytes of its values; none if no array has its shape.
    fn size(&self) -> Option<usize> {
        if self.shape.is_empty() || self.shape.len() > MOST_AXES {
            return None;
        }
        let count = |axes: &[usize]| {
            axes.iter().try_fold(1, |count: usize, length| count.checked_mul(*length))
        };
        match self.kind {
            // No axis is longer than the file can be, also where another one is empty.
            _ if self.shape.iter().any(|length| *length > MOST_FRAMED.length()) => None,
            FramedKind::F64 => count(&self.shape)?.checked_mul(8),
            FramedKind::I16 => count(&self.shape)?.checked_mul(2),
            FramedKind::U8 => count(&self.shape),
            FramedKind::Utf8 if self.shape.len() == 2 => Some(self.shape[1]),
            FramedKind::Utf8 => None,
        }
    }

    /// Its values from as many bytes as it has.
    fn values(&self, bytes: &[u8]) -> Result<FramedValues, &'static str> {
        let shape = IxDyn(&self.shape);
        let failed = |_| "has a shape that no array of its kind has";
        Ok(match self.kind {
            FramedKind::F64 => {
                let values =
                    bytes.as_chunks::<8>().0.iter().map(|value| f64::from_le_bytes(*value));
                FramedValues::Numbers(
                    ArrayD::from_shape_vec(shape, values.collect()).map_err(failed)?,
                )
            }
            FramedKind::I16 => {
                let values =
                    bytes.as_chunks::<2>().0.iter().map(|value| i16::from_le_bytes(*value));
                FramedValues::Shorts(
                    ArrayD::from_shape_vec(shape, values.collect()).map_err(failed)?,
                )
            }
            FramedKind::U8 => {
                FramedValues::Bytes(ArrayD::from_shape_vec(shape, bytes.to_vec()).map_err(failed)?)
            }
            FramedKind::Utf8 => FramedValues::Texts(texts(bytes, self.shape[0])?),
        })
    }
}

/// So many texts, each followed by a zero byte.
fn texts(bytes: &[u8], count: usize) -> Result<Vec<String>, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8")?;
    let texts: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    let is_whole = text.is_empty() || text.ends_with('\0');
    if is_whole && texts.len() == count {
        Ok(texts)
    } else {
        Err("does not have as many texts as its shape says")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = FramedValues> {
        let shape = proptest::collection::vec(0..5_usize, 1..=MOST_AXES);
        prop_oneof![
            (shape.clone(), any::<u64>()).prop_map(|(shape, seed)| {
                let mut next = seed;
                FramedValues::Numbers(ArrayD::from_shape_simple_fn(IxDyn(&shape), || {
                    next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    next as f64 - 1e18
                }))
            }),
            (shape.clone(), any::<u8>()).prop_map(|(shape, value)| {
                FramedValues::Bytes(ArrayD::from_elem(IxDyn(&shape), value))
            }),
            (shape, any::<i16>()).prop_map(|(shape, value)| {
                FramedValues::Shorts(ArrayD::from_elem(IxDyn(&shape), value))
            }),
            proptest::collection::vec("[^\0]{0,9}", 0..6).prop_map(FramedValues::Texts),
        ]
    }

    fn arrays() -> impl Strategy<Value = Vec<FramedArray>> {
        proptest::collection::btree_map(".{0,12}", values(), 0..6).prop_map(|arrays| {
            arrays.into_iter().map(|(name, values)| FramedArray { name, values }).collect()
        })
    }

    proptest! {
        #[test]
        fn arrays_written_and_read_are_the_same(arrays in arrays()) {
            let bytes = encode(&arrays);
            prop_assert_eq!(decode(&bytes).unwrap(), arrays.clone());
            prop_assert_eq!(encode(&arrays), bytes);
        }

        #[test]
        fn reading_any_bytes_never_panics(bytes: Vec<u8>, header in ".{0,200}") {
            let _ = decode(&bytes);
            let length = (header.len() as u64).to_le_bytes();
            let _ = decode(&[MAGIC, &length[..], header.as_bytes(), &bytes].concat());
        }

        #[test]
        fn damaged_file_is_refused_or_read_without_panic(
            arrays in arrays(), place: prop::sample::Index, byte: u8, cut: prop::sample::Index,
        ) {
            let mut bytes = encode(&arrays);
            prop_assert!(decode(&bytes[..cut.index(bytes.len())]).is_err(), "it is cut short");
            let place = place.index(bytes.len());
            bytes[place] = byte;
            let _ = decode(&bytes);
        }
    }

    fn file(header: &str, payload: &[u8]) -> Vec<u8> {
        let length = (header.len() as u64).to_le_bytes();
        [MAGIC, &length[..], header.as_bytes(), payload].concat()
    }

    #[test]
    fn malformed_file_is_refused_with_its_reason() {
        let entry = |kind: &str, shape: &str, offset: u64| {
            format!(r#"[{{"name":"a","kind":"{kind}","shape":{shape},"offset":{offset}}}]"#)
        };
        let twice = format!("[{0},{0}]", r#"{"name":"a","kind":"u8","shape":[0],"offset":0}"#);
        for (bytes, reason) in [
            (b"\x80\x04\x95pickle".to_vec(), "it does not begin with"),
            (MAGIC.to_vec(), "it does not begin with"),
            ([&MAGIC[..], &[0xff; 8]].concat(), "longer than 64 KiB"),
            ([&MAGIC[..], &[9, 0, 0, 0, 0, 0, 0, 0], b"[]"].concat(), "ends before its length"),
            (file("{}", b""), "header is malformed"),
            (file(&entry("f32", "[1]", 0), &[0; 4]), "header is malformed"),
            (file(&entry("u8", "[2]", 1), &[0; 3]), "does not begin where"),
            (file(&entry("f64", "[2]", 0), &[0; 15]), "ends after the file"),
            (file(&entry("f64", "[2]", 0), &[0; 17]), "1 bytes follow"),
            (file(&entry("u8", "[]", 0), &[0]), "has a shape"),
            (file(&entry("u8", "[1,1,1,1,1]", 0), &[0]), "has a shape"),
            (file(&entry("f64", "[4294967296,4294967296,16]", 0), b""), "has a shape"),
            (file(&entry("u8", "[0,9223372036854775807]", 0), b""), "has a shape"),
            (file(&entry("utf8", "[1]", 0), b"\0"), "has a shape"),
            (file(&entry("utf8", "[2,2]", 0), b"a\0"), "as many texts"),
            (file(&entry("utf8", "[1,1]", 0), b"a"), "as many texts"),
            (file(&entry("utf8", "[1,2]", 0), b"\xff\0"), "is not UTF-8"),
            (file(&twice, b""), "is there twice"),
            (vec![0; MOST_FRAMED.length() + 1], "at most 48MiB"),
        ] {
            let error = decode(&bytes).unwrap_err().to_string();
            assert!(error.contains(reason), "{error} instead of {reason}");
        }
    }
}
