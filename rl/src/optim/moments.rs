//! The first and second moment of every weight's gradient, and how they are stored.

use crate::model::{LoadError, Weights, signed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tch::{Device, Kind, Tensor};

/// How `AdamW` stores its moments, under the names that Transformers' and TRL's `optim` uses where
/// they have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MomentStore {
    /// In f32 on the device of the weights: 8 bytes per weight.
    #[serde(rename = "adamw")]
    Full,
    /// In 8 bits, quantized block by block: 2 bytes per weight (Dettmers et al. 2022).
    #[serde(rename = "adamw-8bit")]
    EightBit,
    /// In f32 in host memory, copied to the GPU piece by piece: no GPU memory.
    #[serde(rename = "adamw-offload")]
    Offload,
}

/// The moments of one parameter, as flat lists in its order.
#[derive(Debug)]
pub(super) enum Moments {
    Plain { first: Tensor, second: Tensor, weights: Device },
    EightBit { first: Blocks, second: Blocks },
}

impl Moments {
    /// Zero for every weight of `parameter`.
    pub(super) fn new(store: MomentStore, parameter: &Tensor) -> Self {
        let (count, weights) = (signed(parameter.numel()), parameter.device());
        let plain = |device| {
            let zeros = || Tensor::zeros([count], (Kind::Float, device));
            Self::Plain { first: zeros(), second: zeros(), weights }
        };
        match store {
            MomentStore::Full => plain(weights),
            MomentStore::Offload => plain(Device::Cpu),
            MomentStore::EightBit => Self::EightBit {
                first: Blocks::zeros(count, Sign::Either, weights),
                second: Blocks::zeros(count, Sign::Positive, weights),
            },
        }
    }

    /// Both moments of `length` weights from `start` on, in f32 where the weights are. They may
    /// share memory with what is kept.
    pub(super) fn load(&self, start: i64, length: i64) -> (Tensor, Tensor) {
        match self {
            Self::Plain { first, second, weights } => {
                let part = |all: &Tensor| all.narrow(0, start, length).to_device(*weights);
                (part(first), part(second))
            }
            Self::EightBit { first, second } => {
                (first.load(start, length), second.load(start, length))
            }
        }
    }

    /// Keeps what was made of [`Self::load`]'s tensors.
    pub(super) fn store(&mut self, start: i64, new_first: &Tensor, new_second: &Tensor) {
        match self {
            // Beside the weights, the update was made in place.
            Self::Plain { first, weights, .. } if first.device() == *weights => (),
            Self::Plain { first, second, .. } => {
                let length = signed(new_first.numel());
                first.narrow(0, start, length).copy_(new_first);
                second.narrow(0, start, length).copy_(new_second);
            }
            Self::EightBit { first, second } => {
                first.store(start, new_first);
                second.store(start, new_second);
            }
        }
    }

    fn tensors(&self) -> Vec<(&'static str, &Tensor)> {
        match self {
            Self::Plain { first, second, .. } => vec![("first", first), ("second", second)],
            Self::EightBit { first, second } => vec![
                ("first", &first.codes),
                ("first-scale", &first.scales),
                ("second", &second.codes),
                ("second-scale", &second.scales),
            ],
        }
    }

    /// Everything that is kept, for the parameter with this name.
    pub(super) fn state(&self, name: &str) -> BTreeMap<String, Tensor> {
        let named =
            |(what, tensor): (&str, &Tensor)| (format!("{what}.{name}"), tensor.shallow_clone());
        self.tensors().into_iter().map(named).collect()
    }

    /// Goes back to a saved state.
    pub(super) fn restore(&mut self, saved: &Weights, name: &str) -> Result<(), LoadError> {
        for (what, tensor) in self.tensors() {
            let stored = saved.tensor(&format!("{what}.{name}"), &tensor.size())?;
            tensor.shallow_clone().copy_(&stored);
        }
        Ok(())
    }
}

/// How many numbers share a scale (Dettmers et al. 2022, §2.1, with the block of their code).
const BLOCK: i64 = 256;

/// Which numbers are to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Either,
    Positive,
}

/// Numbers in 8 bits: each block of [`BLOCK`] is divided by its largest magnitude, and of the
/// quotients the nearest of 256 levels is kept.
#[derive(Debug)]
pub(super) struct Blocks {
    codes: Tensor,   // [n], u8
    scales: Tensor,  // [n / BLOCK, rounded up]
    levels: Tensor,  // [256], rising
    middles: Tensor, // [255], between neighbouring levels
    zero: i64,       // the level that is zero
    sign: Sign,
}

impl Blocks {
    fn zeros(count: i64, sign: Sign, device: Device) -> Self {
        let levels = levels(sign);
        let zero = levels.iter().position(|level| *level == 0.0).map_or(0, signed);
        let middles: Vec<f32> =
            levels.windows(2).map(|pair| f32::midpoint(pair[0], pair[1])).collect();
        let tensor = |values: &[f32]| Tensor::from_slice(values).to_device(device);
        Self {
            codes: Tensor::full([count], zero, (Kind::Uint8, device)),
            scales: Tensor::zeros([(count + BLOCK - 1) / BLOCK], (Kind::Float, device)),
            levels: tensor(&levels),
            middles: tensor(&middles),
            zero,
            sign,
        }
    }

    /// The blocks that `length` numbers from `start` on fill; `start` begins one.
    fn blocks(start: i64, length: i64) -> (i64, i64) {
        (start / BLOCK, (length + BLOCK - 1) / BLOCK)
    }

    fn load(&self, start: i64, length: i64) -> Tensor {
        let (block, blocks) = Self::blocks(start, length);
        let codes = self.codes.narrow(0, start, length).to_kind(Kind::Int);
        let values = self.levels.index_select(0, &codes);
        let scales = self.scales.narrow(0, block, blocks);
        values * scales.repeat_interleave_self_int(BLOCK, 0, blocks * BLOCK).narrow(0, 0, length)
    }

    fn store(&mut self, start: i64, values: &Tensor) {
        let length = signed(values.numel());
        let (block, blocks) = Self::blocks(start, length);
        let padded = values.constant_pad_nd([0, blocks * BLOCK - length]).view([blocks, BLOCK]);
        let scales = padded.abs().amax([1].as_slice(), true); // [blocks, 1]
        let quotients = padded / scales.clamp_min(f64::from(f32::MIN_POSITIVE));
        let mut codes = quotients.bucketize(&self.middles, true, false);
        if self.sign == Sign::Positive {
            // A second moment that is not zero must not become zero: the update divides by its
            // root, and a first moment that survives would make it leap.
            let lost = quotients.gt(0.0).logical_and(&codes.eq(self.zero));
            codes = codes.masked_fill(&lost, self.zero + 1);
        }
        let codes = codes.to_kind(Kind::Uint8).view([-1]).narrow(0, 0, length);
        self.codes.narrow(0, start, length).copy_(&codes);
        self.scales.narrow(0, block, blocks).copy_(&scales.squeeze_dim(1));
    }
}

/// The 256 levels of dynamic quantisation (Dettmers 2015, §2.1; Dettmers et al. 2022, §1.3): seven
/// decades up to one, each cut into twice as many parts as the one below, whose middles are
/// levels; zero; and one. The sign takes a bit, and leaves half as many parts.
fn levels(sign: Sign) -> Vec<f32> {
    let mut levels = vec![0.0, 1.0];
    for decade in 0..7 {
        let top = 10_f64.powi(decade - 6);
        let parts = 1 << if sign == Sign::Either { decade } else { decade + 1 };
        for part in 0..parts {
            let middle = 0.1 + 0.9 * (f64::from(part) + 0.5) / f64::from(parts);
            #[expect(clippy::cast_possible_truncation, reason = "levels are kept in f32")]
            let level = (top * middle) as f32;
            levels.push(level);
            if sign == Sign::Either {
                levels.push(-level);
            }
        }
    }
    levels.sort_by(f32::total_cmp);
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // bitsandbytes: m = functional.create_dynamic_map(signed); len(m), m[[0, 125, 127, 128, -2]],
    // m.sum(), (m ** 2).sum(); and for signed=False m[[0, 1, 125, 128, -2]]
    #[test]
    fn published_levels() {
        let summary = |levels: &[f32], places: [usize; 5]| {
            let wide = || levels.iter().map(|level| f64::from(*level));
            let (sum, squares): (f64, f64) =
                (wide().sum(), wide().map(|level| level * level).sum());
            (levels.len(), places.map(|place| levels[place]), sum, squares)
        };
        let (count, some, sum, squares) = summary(&levels(Sign::Either), [0, 125, 127, 128, 254]);
        assert_eq!(count, 256);
        let expected = [-0.992_968_74, -3.25e-6, 0.0, 5.5e-7, 0.992_968_74];
        assert!(some.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-7), "{some:?}");
        assert!((sum - 1.0).abs() < 1e-5 && (squares - 48.595_837).abs() < 1e-4, "{sum} {squares}");
        let (count, some, sum, squares) = summary(&levels(Sign::Positive), [0, 1, 125, 128, 254]);
        assert_eq!(count, 256);
        let expected = [0.0, 3.25e-7, 0.097_890_63, 0.110_546_87, 0.996_484_4];
        assert!(some.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-7), "{some:?}");
        assert!(
            (sum - 75.105_27).abs() < 1e-3 && (squares - 48.597_45).abs() < 1e-3,
            "{sum} {squares}"
        );
    }

    proptest! {
        #[test]
        fn eight_bit_moments_are_within_their_rounding_error(
            values in prop::collection::vec(-1.0_f32..1.0, 1..700), scale in -12_i32..3,
        ) {
            let values: Vec<f32> = values.into_iter().map(|x| x * 10_f32.powi(scale)).collect();
            for sign in [Sign::Either, Sign::Positive] {
                let values: Vec<f32> = values
                    .iter()
                    .map(|x| if sign == Sign::Positive { x.abs() } else { *x })
                    .collect();
                let mut blocks = Blocks::zeros(signed(values.len()), sign, Device::Cpu);
                blocks.store(0, &Tensor::from_slice(&values));
                let found = Vec::<f32>::try_from(blocks.load(0, signed(values.len()))).unwrap();
                for (block, found) in values.chunks(256).zip(found.chunks(256)) {
                    let largest = block.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
                    for (value, found) in block.iter().zip(found) {
                        // Levels of the highest decade are 0.9 / 64 apart.
                        prop_assert!((value - found).abs() <= 0.0071 * largest, "{} {}", value, found);
                        prop_assert!(sign == Sign::Either || *value == 0.0 || *found > 0.0);
                    }
                }
            }
        }
    }
}
