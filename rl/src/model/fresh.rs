//! Fresh weights: what a model is before it was ever trained.

use super::config::Qwen3Config;
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
    /// Nothing in particular: query and key heads are drawn apart.
    #[default]
    Random,
    /// Equal tokens: of the query heads that share a key head, all but the first begin equal to it, so a
    /// token's query is nearest to the keys of tokens like it (after Trockman and Kolter 2023, "Mimetic
    /// initialization of self-attention layers"). Small models learn sooner to compare words (docs/LOG.md).
    EqualTokens,
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
        let built = Self::build(config, kind, device, &mut |name, shape| {
            let weight = draw(name, shape);
            match (attention, name.strip_suffix("q_proj.weight")) {
                (InitialAttention::EqualTokens, Some(layer)) => {
                    let [keys, groups, size] =
                        [config.num_key_value_heads, config.group_size(), config.head_dim];
                    let key = draw(&format!("{layer}k_proj.weight"), &[keys * size, shape[1]]);
                    // [K, G, D, C]: the first of each group stays as it is.
                    let queries = weight.view([keys, groups, size, shape[1]]);
                    let others = queries.narrow(1, 1, groups - 1);
                    let key = key.view([keys, 1, size, shape[1]]);
                    others.shallow_clone().copy_(&key.expand_as(&others));
                    Ok(weight)
                }
                _ => Ok(weight),
            }
        });
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
        let residual = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
        if residual { 1.0 / (2.0 * config.num_hidden_layers as f64).sqrt() } else { 1.0 }
    }
}

/// Draws from a normal distribution around 0.
fn normal(shape: &[i64], spread: f64, stream: Stream) -> Tensor {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_first_query_head_of_a_group_look_at_equal_tokens() {
        let config = Qwen3Config::small(400, 1, 2);
        let stream = Stream::root(3);
        let fresh = |attention| {
            Qwen3::fresh(&config, attention, Kind::Float, Device::Cpu, stream).published()
        };
        let (plain, equal) =
            (fresh(InitialAttention::Random), fresh(InitialAttention::EqualTokens));
        let (keys, groups, size) =
            (config.num_key_value_heads, config.group_size(), config.head_dim);
        assert_eq!((keys, groups), (2, 3));
        for (name, weight) in &equal {
            let Some(layer) = name.strip_suffix("q_proj.weight") else {
                assert_eq!(*weight, plain[name], "{name}");
                continue;
            };
            let key = &equal[&format!("{layer}k_proj.weight")];
            for head in 0..keys * groups {
                let rows = |weight: &Tensor, head: i64| weight.narrow(0, head * size, size);
                let is_key = rows(weight, head) == rows(key, head / groups);
                assert_eq!(is_key, head % groups > 0, "{name}, head {head}");
                if !is_key {
                    assert_eq!(rows(weight, head), rows(&plain[name], head));
                }
            }
        }
    }
}
