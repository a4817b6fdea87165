//! Fresh weights: what a model is before it was ever trained.

use super::config::Qwen3Config;
use super::induction::InductionHeads;
use super::qwen3::Qwen3;
use rand_distr::{Distribution, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tasks::stream::Stream;
use tch::{Device, Kind, Tensor};

/// What fresh attention looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InitialAttention {
    /// Nothing in particular.
    #[default]
    Random,
    /// What followed tokens like the current one, which makes it likelier to follow again: induction heads
    /// (Olsson et al. 2022, "In-context learning and induction heads"). A small model that begins with
    /// them learns within tens of updates to copy words and to compare them, which takes hundreds
    /// otherwise (docs/LOG.md).
    Induction,
}

impl InitialAttention {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_random(&self) -> bool {
        *self == Self::Random
    }
}

impl Qwen3 {
    /// A model with fresh weights: gains of one, biases of zero, everything else normal with the
    /// configured spread. Each weight has its own stream, so the same stream gives the same model anywhere.
    pub fn random(config: &Qwen3Config, kind: Kind, device: Device, stream: Stream) -> Self {
        Self::fresh(config, InitialAttention::Random, kind, device, stream)
    }

    /// The same, with attention that begins as `attention` says.
    pub fn fresh(
        config: &Qwen3Config,
        attention: InitialAttention,
        kind: Kind,
        device: Device,
        stream: Stream,
    ) -> Self {
        let draw = |name: &str, shape: &[i64]| {
            Self::fresh_weight(config, name, shape, (Kind::Float, Device::Cpu), |spread| {
                normal(shape, spread, stream.child(name))
            })
        };
        let built = match attention {
            InitialAttention::Random => {
                Self::build(config, kind, device, &mut |name, shape| Ok(draw(name, shape)))
            }
            InitialAttention::Induction => {
                let heads = InductionHeads::new(config, stream.child("induction"));
                Self::build(config, kind, device, &mut |name, shape| {
                    Ok(heads.set(name, draw(name, shape)))
                })
            }
        };
        built.expect("fresh weights have the shapes they were asked for")
    }

    /// A fresh weight: gains of one, biases of zero, and for everything else what `normal` draws with the
    /// standard deviation that it is given.
    pub(super) fn fresh_weight(
        config: &Qwen3Config,
        name: &str,
        shape: &[i64],
        options: (Kind, Device),
        normal: impl FnOnce(f64) -> Tensor,
    ) -> Tensor {
        if name.ends_with("norm.weight") {
            Tensor::ones(shape, options)
        } else if name.ends_with("bias") {
            Tensor::zeros(shape, options)
        } else {
            normal(config.initializer_range * Self::shrink(config, name))
        }
    }

    /// The factor of a fresh weight's standard deviation: matrices that write into the residual
    /// stream are scaled down by the number of writers (Radford et al. 2019, §2.3), so that its
    /// variance does not grow with depth.
    fn shrink(config: &Qwen3Config, name: &str) -> f64 {
        if writes(name) { 1.0 / (2.0 * config.num_hidden_layers as f64).sqrt() } else { 1.0 }
    }
}

/// Whether a matrix writes into the residual stream.
pub(super) fn writes(name: &str) -> bool {
    name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight")
}

/// Draws from a normal distribution around 0.
pub(super) fn normal(shape: &[i64], spread: f64, stream: Stream) -> Tensor {
    let mut rng = stream.rng();
    let count = usize::try_from(shape.iter().product::<i64>()).unwrap_or(0);
    let values: Vec<f32> = (0..count)
        .map(|_| {
            let draw: f64 = StandardNormal.sample(&mut rng);
            #[expect(clippy::cast_possible_truncation, reason = "weights are f32")]
            let value = (draw * spread) as f32;
            value
        })
        .collect();
    Tensor::from_slice(&values).view(shape)
}
