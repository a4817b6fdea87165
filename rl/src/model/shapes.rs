//! The shapes of published Qwen3 and Qwen2.5 models, as in their `config.json`.

use super::config::{Family, Mixture, Qwen3Config, RopeScaling};

/// One published model.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// The name that commands take.
    pub name: &'static str,
    /// Its repository below `Qwen/`.
    pub repository: &'static str,
    family: Family,
    vocab: i64,
    layers: i64,
    hidden: i64,
    feed_forward: i64,
    heads: (i64, i64),
    head: i64,
    context: i64,
    tied: bool,
    experts: Option<(i64, i64, i64)>,
    ends: &'static [i64],
}

/// The ids of `<|im_end|>`, which ends a turn, and of `<|endoftext|>`.
const TURN_END: i64 = 151_645;
const TEXT_END: i64 = 151_643;

const fn dense(
    name: &'static str,
    repository: &'static str,
    [layers, hidden, feed_forward, heads]: [i64; 4],
    tied: bool,
) -> Published {
    Published {
        name,
        repository,
        family: Family::Qwen3,
        vocab: 151_936,
        layers,
        hidden,
        feed_forward,
        heads: (heads, 8),
        head: 128,
        context: 40_960,
        tied,
        experts: None,
        ends: &[TURN_END, TEXT_END],
    }
}

/// A base model of Qwen2.5 and, beside it, the one that follows instructions: `heads` are query heads
/// and key heads, `contexts` the two context lengths.
const fn qwen2_5(
    names: [&'static str; 2],
    repositories: [&'static str; 2],
    [layers, hidden, feed_forward]: [i64; 3],
    heads: (i64, i64),
    contexts: [i64; 2],
) -> [Published; 2] {
    // The smaller ones tie their output layer to the embedding; the larger ones pad the vocabulary
    // further.
    let is_large = hidden > 2048;
    let base = Published {
        name: names[0],
        repository: repositories[0],
        family: Family::Qwen2,
        vocab: if is_large { 152_064 } else { 151_936 },
        layers,
        hidden,
        feed_forward,
        heads,
        head: hidden / heads.0,
        context: contexts[0],
        tied: !is_large,
        experts: None,
        ends: &[TEXT_END],
    };
    let instruct = Published {
        name: names[1],
        repository: repositories[1],
        context: contexts[1],
        ends: &[TURN_END],
        ..base
    };
    [base, instruct]
}

const QWEN2_5: [[Published; 2]; 4] = [
    qwen2_5(
        ["qwen2.5-0.5b", "qwen2.5-0.5b-instruct"],
        ["Qwen2.5-0.5B", "Qwen2.5-0.5B-Instruct"],
        [24, 896, 4864],
        (14, 2),
        [32_768, 32_768],
    ),
    qwen2_5(
        ["qwen2.5-1.5b", "qwen2.5-1.5b-instruct"],
        ["Qwen2.5-1.5B", "Qwen2.5-1.5B-Instruct"],
        [28, 1536, 8960],
        (12, 2),
        [131_072, 32_768],
    ),
    qwen2_5(
        ["qwen2.5-3b", "qwen2.5-3b-instruct"],
        ["Qwen2.5-3B", "Qwen2.5-3B-Instruct"],
        [36, 2048, 11_008],
        (16, 2),
        [32_768, 32_768],
    ),
    qwen2_5(
        ["qwen2.5-7b", "qwen2.5-7b-instruct"],
        ["Qwen2.5-7B", "Qwen2.5-7B-Instruct"],
        [28, 3584, 18_944],
        (28, 4),
        [131_072, 32_768],
    ),
];

/// Every model that has a name here, smallest first in each family.
pub const PUBLISHED: [Published; 15] = [
    dense("qwen3-0.6b", "Qwen3-0.6B", [28, 1024, 3072, 16], true),
    dense("qwen3-1.7b", "Qwen3-1.7B", [28, 2048, 6144, 16], true),
    dense("qwen3-4b", "Qwen3-4B", [36, 2560, 9728, 32], true),
    dense("qwen3-8b", "Qwen3-8B", [36, 4096, 12_288, 32], false),
    dense("qwen3-14b", "Qwen3-14B", [40, 5120, 17_408, 40], false),
    Published {
        name: "qwen3-30b-a3b",
        repository: "Qwen3-30B-A3B",
        heads: (32, 4),
        experts: Some((128, 8, 768)),
        ..dense("", "", [48, 2048, 6144, 32], false)
    },
    dense("qwen3-32b", "Qwen3-32B", [64, 5120, 25_600, 64], false),
    QWEN2_5[0][0],
    QWEN2_5[0][1],
    QWEN2_5[1][0],
    QWEN2_5[1][1],
    QWEN2_5[2][0],
    QWEN2_5[2][1],
    QWEN2_5[3][0],
    QWEN2_5[3][1],
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
            family: self.family,
            vocab_size: self.vocab,
            hidden_size: self.hidden,
            intermediate_size: self.feed_forward,
            num_hidden_layers: self.layers,
            num_attention_heads: self.heads.0,
            num_key_value_heads: self.heads.1,
            head_dim: self.head,
            max_position_embeddings: self.context,
            rms_norm_eps: 1e-6,
            rope_theta: 1e6,
            rope_scaling: RopeScaling::Default,
            mixture,
            tie_word_embeddings: self.tied,
            initializer_range: 0.02,
            eos_token_ids: self.ends.to_vec(),
            bos_token_id: Some(TEXT_END),
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
            ("qwen2.5-0.5b", 494_032_768),
            ("qwen2.5-1.5b", 1_543_714_304),
            ("qwen2.5-3b-instruct", 3_085_938_688),
            ("qwen2.5-7b", 7_615_616_512),
            ("qwen2.5-7b-instruct", 7_615_616_512),
        ] {
            let config = Published::named(name).unwrap().config();
            assert_eq!(config.parameter_count(), count, "{name}");
        }
        let names: std::collections::BTreeSet<_> = PUBLISHED.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), PUBLISHED.len());
        for Published { name, repository, .. } in PUBLISHED {
            assert_eq!(repository.to_lowercase(), name);
        }
        let sparse = Published::named("qwen3-30b-a3b").unwrap().config();
        assert!((3.2e9..3.5e9).contains(&(sparse.active_parameter_count() as f64)));
    }
}
