//! Messages of the protocol that are not JSON, with the field numbers of the Python package
//! `tinker` 0.25 (`tinker/proto/tinker_public_pb2.py`). Arrays travel as little-endian bytes.

use std::collections::BTreeMap;

/// The content type of these messages.
pub(super) const PROTOBUF: &str = "application/x-protobuf";

pub(super) const FLOAT32: i32 = 1;
pub(super) const INT64: i32 = 2;

/// A forward pass, with a backward pass unless `forward_only`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ForwardBackwardRequest {
    #[prost(string, tag = "1")]
    pub(super) model_id: String,
    /// A repetition of the request with the same number is answered by the first one's result; 0
    /// for none.
    #[prost(int32, tag = "2")]
    pub(super) seq_id: i32,
    #[prost(message, repeated, tag = "3")]
    pub(super) data: Vec<Datum>,
    #[prost(string, tag = "4")]
    pub(super) loss_fn: String,
    #[prost(btree_map = "string, double", tag = "5")]
    pub(super) loss_fn_config: BTreeMap<String, f64>,
    #[prost(bool, tag = "6")]
    pub(super) forward_only: bool,
}

/// A sequence, with what its loss is made from.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Datum {
    #[prost(message, repeated, tag = "1")]
    pub(super) model_input: Vec<Chunk>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub(super) loss_fn_inputs: BTreeMap<String, Tensor>,
}

/// A piece of a sequence. It may be an image as well, which is never sent from here.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Chunk {
    #[prost(message, optional, tag = "1")]
    pub(super) encoded_text: Option<EncodedText>,
}

/// Tokens, as 32-bit integers.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct EncodedText {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) tokens: Vec<u8>,
}

/// A vector of numbers.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Tensor {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(super) dense: Option<Vec<u8>>,
    #[prost(int32, tag = "3")]
    pub(super) dtype: i32,
    #[prost(int64, repeated, tag = "4")]
    pub(super) shape: Vec<i64>,
}

impl Tensor {
    pub(super) fn floats(values: &[f32]) -> Self {
        let dense = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::new(dense, FLOAT32, values.len())
    }

    pub(super) fn integers(values: &[i64]) -> Self {
        let dense = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::new(dense, INT64, values.len())
    }

    fn new(dense: Vec<u8>, dtype: i32, length: usize) -> Self {
        Self { dense: Some(dense), dtype, shape: vec![crate::model::signed(length)] }
    }
}

/// The result of a pass.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ForwardBackwardOutput {
    #[prost(message, repeated, tag = "2")]
    pub(super) loss_fn_outputs: Vec<ArrayRecord>,
    #[prost(btree_map = "string, double", tag = "3")]
    pub(super) metrics: BTreeMap<String, f64>,
}

/// The values of all sequences of a pass, by their name.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ArrayRecord {
    #[prost(btree_map = "string, message", tag = "2")]
    pub(super) fields: BTreeMap<String, BatchedTensor>,
    #[prost(int64, tag = "3")]
    pub(super) num_datums: i64,
}

/// Vectors end to end. The i-th lies between the i-th and the next of `offsets`, which are bytes as
/// 64-bit integers.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BatchedTensor {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) data: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) offsets: Vec<u8>,
    #[prost(int32, tag = "3")]
    pub(super) dtype: i32,
    #[prost(int64, repeated, tag = "4")]
    pub(super) trailing_shape: Vec<i64>,
}

impl BatchedTensor {
    /// The vectors, if this is what the message describes.
    pub(super) fn vectors(&self) -> Option<Vec<Vec<f32>>> {
        if self.dtype != FLOAT32 || !self.trailing_shape.is_empty() {
            return None;
        }
        let offsets = words::<8>(&self.offsets)?
            .map(|bytes| usize::try_from(i64::from_le_bytes(bytes)).ok())
            .collect::<Option<Vec<usize>>>()?;
        offsets.windows(2).map(|pair| floats(self.data.get(pair[0]..pair[1])?)).collect()
    }
}

/// The result of a request for samples.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SampleResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) sequences: Vec<SampledSequence>,
}

/// A sample: tokens as 32-bit integers, and their log-probabilities.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SampledSequence {
    /// [`STOPPED`], or 1 at the limit of tokens.
    #[prost(int32, tag = "1")]
    pub(super) stop_reason: i32,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) tokens: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub(super) logprobs: Option<Vec<u8>>,
}

/// The sample ended with a token that ends a turn.
pub(super) const STOPPED: i32 = 0;

/// 32-bit floats; nothing if the length is no multiple of theirs.
pub(super) fn floats(bytes: &[u8]) -> Option<Vec<f32>> {
    words::<4>(bytes).map(|words| words.map(f32::from_le_bytes).collect())
}

/// Tokens from 32-bit integers; nothing if the length is no multiple of theirs.
pub(super) fn tokens(bytes: &[u8]) -> Option<Vec<i64>> {
    words::<4>(bytes).map(|words| words.map(|word| i32::from_le_bytes(word).into()).collect())
}

fn words<const N: usize>(bytes: &[u8]) -> Option<impl Iterator<Item = [u8; N]>> {
    let (words, rest) = bytes.as_chunks::<N>();
    rest.is_empty().then(|| words.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message as _;

    // tinker 0.25.0, protobuf 7.36.2:
    // m = pb.ForwardBackwardRequest(model_id="m", seq_id=2, loss_fn="ppo", forward_only=True)
    // d = m.data.add(); d.model_input.add().encoded_text.tokens = np.int32([5, 6]).tobytes()
    // t = pb.Tensor(dense=np.float32([0.5, 0]).tobytes(), dtype=1); t.shape.append(2)
    // d.loss_fn_inputs["weights"].CopyFrom(t); m.loss_fn_config["clip_low_threshold"] = 0.8
    // m.SerializeToString(deterministic=True).hex()
    #[test]
    fn request_has_the_bytes_of_the_published_package() {
        let datum = Datum {
            model_input: vec![Chunk {
                encoded_text: Some(EncodedText { tokens: vec![5, 0, 0, 0, 6, 0, 0, 0] }),
            }],
            loss_fn_inputs: [("weights".to_owned(), Tensor::floats(&[0.5, 0.0]))].into(),
        };
        let request = ForwardBackwardRequest {
            model_id: "m".to_owned(),
            seq_id: 2,
            data: vec![datum],
            loss_fn: "ppo".to_owned(),
            loss_fn_config: [("clip_low_threshold".to_owned(), 0.8)].into(),
            forward_only: true,
        };
        let expected: Vec<u8> = (0..EXPECTED.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&EXPECTED[at..at + 2], 16).unwrap())
            .collect();
        assert_eq!(request.encode_to_vec(), expected);
    }

    const EXPECTED: &str = "0a016d10021a2a0a0c0a0a0a080500000006000000121a0a0777656967687473120f0a080000003f000000001801220102220370706f2a1d0a12636c69705f6c6f775f7468726573686f6c64119a9999999999e93f3001";

    #[test]
    fn damaged_arrays_are_not_read() {
        let good = BatchedTensor {
            data: [1.0_f32, 2.0, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect(),
            offsets: [0_i64, 4, 12].iter().flat_map(|offset| offset.to_le_bytes()).collect(),
            dtype: FLOAT32,
            trailing_shape: Vec::new(),
        };
        assert_eq!(good.vectors().unwrap(), [vec![1.0], vec![2.0, 3.0]]);
        let short = BatchedTensor { data: good.data[..8].to_vec(), ..good.clone() };
        let ragged = BatchedTensor { offsets: good.offsets[..23].to_vec(), ..good.clone() };
        let other = BatchedTensor { dtype: INT64, ..good.clone() };
        let mut backwards = good.clone();
        backwards.offsets[8] = 16;
        for damaged in [short, ragged, other, backwards] {
            assert!(damaged.vectors().is_none(), "{damaged:?}");
        }
        assert!(tokens(&[1, 0, 0]).is_none());
        assert_eq!(tokens(&[1, 0, 0, 0, 2, 1, 0, 0]).unwrap(), [1, 258]);
    }
}
