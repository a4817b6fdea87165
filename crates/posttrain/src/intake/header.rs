//! The headers of safetensors files, read with bounds.
//!
//! The data themselves are never mapped or read whole: a place is where a tensor's bytes lie, and they
//! are read once, in order.

use safetensors::tensor::{Dtype, Metadata};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// Bytes of a header beside its tensors, at most.
const HEADER: u64 = 1 << 20;
/// Bytes that a tensor may take in a header. Published models take some two hundred.
const ENTRY: u64 = 1 << 10;
/// Bytes before the header: its length.
const LENGTH: u64 = 8;

/// Where a tensor lies in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TensorPlace {
    /// Index of the file.
    pub(super) file: usize,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// From the beginning of the file.
    pub(super) offset: u64,
}

impl TensorPlace {
    /// Number of values.
    pub(super) fn values(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Reads the header of `file`, which is the file with this index, has `size` bytes, and should have no
/// more than `most` tensors.
///
/// # Errors
/// What is wrong with the file, as a clause.
pub(super) fn read_header(
    file: &File,
    index: usize,
    size: u64,
    most: usize,
) -> Result<BTreeMap<String, TensorPlace>, String> {
    let mut length = [0; 8];
    file.read_exact_at(&mut length, 0).map_err(|_| "it is shorter than a header".to_owned())?;
    let length = u64::from_le_bytes(length);
    if length > HEADER + ENTRY * most as u64 || length + LENGTH > size {
        return Err(format!("its header claims to have {length} bytes"));
    }
    let mut header = vec![0; usize::try_from(length).map_err(|_| "its header is too large")?];
    file.read_exact_at(&mut header, LENGTH).map_err(|_| "its header cannot be read".to_owned())?;
    // Reading it also checks that no tensors overlap, that none is missing in between, and that each
    // is as long as its shape says.
    let metadata: Metadata = serde_json::from_slice(&header)
        .map_err(|error| format!("its header is damaged: {error}"))?;
    let end = LENGTH + length + metadata.data_len() as u64;
    if end != size {
        return Err(format!(
            "it has {size} bytes, and its header says {end}: it is cut off or grown"
        ));
    }
    let places = metadata.tensors().into_iter().map(|(name, info)| {
        let place = TensorPlace {
            file: index,
            dtype: info.dtype,
            shape: info.shape.clone(),
            offset: LENGTH + length + info.data_offsets.0 as u64,
        };
        (name, place)
    });
    Ok(places.collect())
}
