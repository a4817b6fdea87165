//! The shapes of published Qwen3 models, as in their `config.json`.

use super::config::{Mixture, Qwen3Config, RopeScaling};

/// One published model.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// The name that commands take.
    pub name: &'static str,
    /// Its repository below `Qwen/`.
    pub repository: &'static str,
    layers: i64,
    hidden: i64,
    feed_forward: i64,
    heads: (i64, i64),
    tied: bool,
    experts: Option<(i64, i64, i64)>,
}

const fn dense(
    name: &'static str,
    repository: &'static str,
    [layers, hidden, feed_forward, heads]: [i64; 4],
    tied: bool,
) -> Published {
    Published {
        name,
        repository,
        layers,
        hidden,
        feed_forward,
        heads: (heads, 8),
        tied,
        experts: None,
    }
}

/// Every model that has a name here, smallest first.
pub const PUBLISHED: [Published; 7] = [
    dense("qwen3-0.6b", "Qwen3-0.6B", [28, 1024, 3072, 16], true),
    dense("qwen3-1.7b", "Qwen3-1.7B", [28, 2048, 6144, 16], true),
    dense("qwen3-4b", "Qwen3-4B", [36, 2560, 9728, 32], true),
    dense("qwen3-8b", "Qwen3-8B", [36, 4096, 12_288, 32], false),
    dense("qwen3-14b", "Qwen3-14B", [40, 5120, 17_408, 40], false),
    Published {
        name: "qwen3-30b-a3b",
        repository: "Qwen3-30B-A3B",
        layers: 48,
        hidden: 2048,
        feed_forward: 6144,
        heads: (32, 4),
        tied: false,
        experts: Some((128, 8, 768)),
    },
    dense("qwen3-32b", "Qwen3-32B", [64, 5120, 25_600, 64], false),
];

impl Published {
    /// The model with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PUBLISHED.iter().find(|published| published.name == name)
    }

    /// The configuration of a model of this shape.
    pub fn config(&self) -> Qwen3Config {
        let mixture = self.experts.map(|(experts, per_token, intermediate_size)| Mixture {
            experts,
            per_token,
            intermediate_size,
            normalise: true,
            sparse_step: 1,
            dense_layers: Vec::new(),
        });
        Qwen3Config {
            vocab_size: 151_936,
            hidden_size: self.hidden,
            intermediate_size: self.feed_forward,
            num_hidden_layers: self.layers,
            num_attention_heads: self.heads.0,
            num_key_value_heads: self.heads.1,
            head_dim: 128,
            max_position_embeddings: 40_960,
            rms_norm_eps: 1e-6,
            rope_theta: 1e6,
            rope_scaling: RopeScaling::Default,
            mixture,
            tie_word_embeddings: self.tied,
            initializer_range: 0.02,
            eos_token_ids: vec![151_645, 151_643],
            bos_token_id: Some(151_643),
            pad_token_id: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The sums of element counts in the headers of the published safetensors files; those of
    // tied models hold the embedding once.
    #[test]
    fn parameter_counts_are_the_published_ones() {
        for (name, count) in [
            ("qwen3-0.6b", 596_049_920),
            ("qwen3-1.7b", 1_720_574_976),
            ("qwen3-4b", 4_022_468_096),
            ("qwen3-8b", 8_190_735_360),
            ("qwen3-14b", 14_768_307_200),
            ("qwen3-30b-a3b", 30_532_122_624),
            ("qwen3-32b", 32_762_123_264),
        ] {
            let config = Published::named(name).unwrap().config();
            assert_eq!(config.parameter_count(), count, "{name}");
        }
        let sparse = Published::named("qwen3-30b-a3b").unwrap().config();
        assert!((3.2e9..3.5e9).contains(&(sparse.active_parameter_count() as f64)));
    }
}
