//! Weights as numbers: the three types that models are saved in.

use half::{bf16, f16};
use safetensors::tensor::Dtype;

/// A type of weights that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WeightType {
    F32,
    F16,
    Bf16,
}

impl WeightType {
    pub(super) fn of(dtype: Dtype) -> Option<Self> {
        match dtype {
            Dtype::F32 => Some(Self::F32),
            Dtype::F16 => Some(Self::F16),
            Dtype::BF16 => Some(Self::Bf16),
            _ => None,
        }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// The name as in `config.json`.
    pub(super) fn torch_name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::F16 => "float16",
            Self::Bf16 => "bfloat16",
        }
    }

    /// The values of these bytes, in `values`, which is cleared before.
    pub(super) fn decode(self, bytes: &[u8], values: &mut Vec<f32>) {
        values.clear();
        match self {
            Self::F32 => {
                let (chunks, _) = bytes.as_chunks::<4>();
                values.extend(chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)));
            }
            Self::F16 => {
                let (chunks, _) = bytes.as_chunks::<2>();
                values.extend(chunks.iter().map(|chunk| f16::from_le_bytes(*chunk).to_f32()));
            }
            Self::Bf16 => {
                let (chunks, _) = bytes.as_chunks::<2>();
                values.extend(chunks.iter().map(|chunk| bf16::from_le_bytes(*chunk).to_f32()));
            }
        }
    }

    /// The bytes of these values, rounded to the nearest of this type, in `bytes`, which is cleared
    /// before.
    pub(super) fn encode(self, values: &[f32], bytes: &mut Vec<u8>) {
        bytes.clear();
        for &value in values {
            match self {
                Self::F32 => bytes.extend(value.to_le_bytes()),
                Self::F16 => bytes.extend(f16::from_f32(value).to_le_bytes()),
                Self::Bf16 => bytes.extend(bf16::from_f32(value).to_le_bytes()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_each_type_come_back_as_they_were() {
        let values = [0.0, -0.0, 1.5, -2.25, 65_504.0, f32::INFINITY, f32::NEG_INFINITY];
        for kind in [WeightType::F32, WeightType::F16, WeightType::Bf16] {
            let (mut bytes, mut back) = (Vec::new(), Vec::new());
            let exact = if kind == WeightType::Bf16 { &values[..4] } else { &values[..] };
            kind.encode(exact, &mut bytes);
            assert_eq!(bytes.len(), exact.len() * kind.bytes());
            kind.decode(&bytes, &mut back);
            assert_eq!(back, exact);
        }
        let mut bytes = Vec::new();
        WeightType::F16.encode(&[f32::NAN], &mut bytes);
        let mut back = Vec::new();
        WeightType::F16.decode(&bytes, &mut back);
        assert!(back[0].is_nan());
    }
}
