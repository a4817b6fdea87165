//! The shape of a Qwen3 or Qwen2.5 model, with the keys of the published `config.json`.
//!
//! [`Qwen3Config`] is the checked form: its divisions are exact and it has no unsupported variant.
//! `RawConfig` is the content of the file.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};

/// A mixture of experts as the feed-forward layer; each token is routed to a few (Qwen3-MoE).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mixture {
    /// Experts of a layer, E.
    pub experts: i64,
    /// Experts that a token is routed to, at most E.
    pub per_token: i64,
    /// Width of one expert.
    pub intermediate_size: i64,
    /// Whether the router's weights of these experts are scaled to a sum of one.
    pub normalise: bool,
    /// Layer `i` (from 0) is a mixture if `i + 1` is a multiple of this.
    pub sparse_step: i64,
    /// Indices of layers that are dense in any case.
    pub dense_layers: Vec<i64>,
}

/// How rotary frequencies are changed to reach beyond the trained length.
#[derive(Debug, Clone, PartialEq)]
pub enum RopeScaling {
    /// No scaling: the frequencies of training.
    Default,
    /// Positions are divided by a factor (Chen et al. 2023).
    Linear {
        /// The factor that positions are divided by; at least 1.
        factor: f64,
    },
    /// Slow frequencies are divided, fast ones kept (Peng et al. 2023, "YaRN"): what Qwen3
    /// publishes for 131,072 tokens.
    Yarn(Yarn),
}

/// The constants of `YaRN`, in the names of `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Yarn {
    /// How many times longer than the trained length.
    pub factor: f64,
    /// The context length of pre-training, in tokens.
    pub original_max_position_embeddings: i64,
    /// The factor of cosines and sines.
    pub attention_factor: f64,
    /// Rotations over the trained length above which a frequency is kept.
    pub beta_fast: f64,
    /// Rotations below which it is divided in full.
    pub beta_slow: f64,
    /// Whether the bounds between the two are rounded outwards.
    pub truncate: bool,
}

/// Which of two architectures a model has. They differ in the attention layer alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Qwen2 and Qwen2.5: queries, keys and values have a bias, heads have no norm, and the width
    /// of a head is C / H.
    Qwen2,
    /// Qwen3: a norm on every query and key head, and no bias.
    Qwen3,
}

/// A checked shape, of Qwen3 or, as `family` says, of Qwen2.5.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawConfig", into = "RawConfig")]
pub struct Qwen3Config {
    /// What the attention layer consists of.
    pub family: Family,
    /// Rows of the embedding, V.
    pub vocab_size: i64,
    /// Width of the residual stream, C.
    pub hidden_size: i64,
    /// Width of the feed-forward layer, F.
    pub intermediate_size: i64,
    /// The number of transformer layers.
    pub num_hidden_layers: i64,
    /// Query heads, H; a multiple of K.
    pub num_attention_heads: i64,
    /// Key and value heads, K.
    pub num_key_value_heads: i64,
    /// Width of one head, D; even. Not always C / H in Qwen3.
    pub head_dim: i64,
    /// The context length: most tokens of one sequence.
    pub max_position_embeddings: i64,
    /// The epsilon that every norm adds to the mean square.
    pub rms_norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// The scaling of these frequencies for long sequences.
    pub rope_scaling: RopeScaling,
    /// Experts instead of one feed-forward layer.
    pub mixture: Option<Mixture>,
    /// Whether the output layer is the embedding itself.
    pub tie_word_embeddings: bool,
    /// Standard deviation of fresh weights.
    pub initializer_range: f64,
    /// Ids that end a turn; the first is the one that SFT trains on.
    pub eos_token_ids: Vec<i64>,
    /// The first id of a text, where there is one.
    pub bos_token_id: Option<i64>,
    /// The id of padding.
    pub pad_token_id: Option<i64>,
}

/// Why a `config.json` was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// `config.json` is missing or cannot be read.
    #[error("failed to read the model's configuration")]
    Io(#[from] std::io::Error),
    /// Not JSON, or a field is missing or of the wrong type.
    #[error("failed to parse `{path}` as the `config.json` of a Qwen3 or Qwen2.5 model")]
    Json {
        /// The path of `config.json`.
        path: Utf8PathBuf,
        /// The parser's error, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// A value out of its range.
    #[error("`{field}` is {got}; it must be {expected}")]
    Value {
        /// The key in `config.json`.
        field: &'static str,
        /// The value that was found.
        got: String,
        /// The accepted values.
        expected: String,
    },
    /// A real variant that this build does not implement.
    #[error("`{field}` is `{got}`; only `{expected}` is supported")]
    Unsupported {
        /// The key in `config.json`.
        field: &'static str,
        /// The value that was found.
        got: String,
        /// The only value that is supported.
        expected: &'static str,
    },
}

impl Qwen3Config {
    /// Reads `<folder>/config.json`.
    ///
    /// # Errors
    /// [`ConfigError`] if the file is missing, malformed or asks for an unsupported variant.
    pub fn open(folder: &Utf8Path) -> Result<Self, ConfigError> {
        let path = folder.join("config.json");
        let text = fs::read(&path)?;
        let raw: RawConfig =
            serde_json::from_slice(&text).map_err(|source| ConfigError::Json { path, source })?;
        raw.try_into()
    }

    /// The built-in shape for a laptop: about a million parameters with a small vocabulary.
    pub fn tiny(vocab_size: i64, end_of_turn: i64, end_of_text: i64) -> Self {
        Self {
            family: Family::Qwen3,
            vocab_size,
            hidden_size: 128,
            intermediate_size: 384,
            num_hidden_layers: 4,
            num_attention_heads: 4,
            num_key_value_heads: 2,
            head_dim: 32,
            max_position_embeddings: 4096,
            rms_norm_eps: 1e-6,
            rope_theta: 10_000.0,
            rope_scaling: RopeScaling::Default,
            mixture: None,
            tie_word_embeddings: true,
            initializer_range: 0.05,
            eos_token_ids: vec![end_of_turn, end_of_text],
            bos_token_id: None,
            pad_token_id: Some(end_of_text),
        }
    }

    /// Two million parameters at a vocabulary of 1,500, for policies that put scripts together from
    /// words on a laptop.
    pub fn small(vocab_size: i64, end_of_turn: i64, end_of_text: i64) -> Self {
        Self {
            hidden_size: 192,
            intermediate_size: 512,
            num_attention_heads: 6,
            ..Self::tiny(vocab_size, end_of_turn, end_of_text)
        }
    }

    /// How many query heads share one key head, H / K.
    pub fn group_size(&self) -> i64 {
        self.num_attention_heads / self.num_key_value_heads
    }

    /// The mixture of a layer, if it is one.
    pub fn mixture_of(&self, layer: i64) -> Option<&Mixture> {
        self.mixture.as_ref().filter(|mixture| {
            !mixture.dense_layers.contains(&layer) && (layer + 1) % mixture.sparse_step == 0
        })
    }

    /// The number of weights, a tied output layer counted once.
    pub fn parameter_count(&self) -> i64 {
        self.count(|mixture| mixture.experts)
    }

    /// The number of weights that are active for one token: all but those of experts that it is
    /// not routed to.
    pub fn active_parameter_count(&self) -> i64 {
        self.count(|mixture| mixture.per_token)
    }

    fn count(&self, experts: impl Fn(&Mixture) -> i64) -> i64 {
        let (c, d) = (self.hidden_size, self.head_dim);
        let heads = self.num_attention_heads + 2 * self.num_key_value_heads;
        let own = match self.family {
            Family::Qwen2 => heads * d,
            Family::Qwen3 => 2 * d,
        };
        let attention = heads * d * c + self.num_attention_heads * d * c + own;
        let feed_forward = |layer| match self.mixture_of(layer) {
            Some(mixture) => {
                mixture.experts * c + experts(mixture) * 3 * mixture.intermediate_size * c
            }
            None => 3 * self.intermediate_size * c,
        };
        let layers: i64 =
            (0..self.num_hidden_layers).map(|layer| attention + feed_forward(layer) + 2 * c).sum();
        let embeddings = if self.tie_word_embeddings { 1 } else { 2 } * self.vocab_size * c;
        embeddings + layers + c
    }
}

/// One id or several: `eos_token_id` is published in both forms.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Ids {
    One(i64),
    Many(Vec<i64>),
}

/// The rotary settings. Files of transformers 5 keep all of them under `rope_parameters`, older
/// ones keep the base beside `rope_scaling`, which older still calls its type `type`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct RawRope {
    #[serde(skip_serializing_if = "Option::is_none")]
    rope_theta: Option<f64>,
    #[serde(alias = "type")]
    rope_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    factor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_max_position_embeddings: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attention_factor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beta_fast: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beta_slow: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncate: Option<bool>,
}

impl RawRope {
    /// Checks the scaling; `longest` is the model's longest sequence.
    fn scaling(&self, longest: i64) -> Result<RopeScaling, ConfigError> {
        let kind = self.rope_type.as_deref().unwrap_or("default");
        let factor = || at_least_one("rope_scaling.factor", self.factor);
        match kind {
            "default" => Ok(RopeScaling::Default),
            "linear" => Ok(RopeScaling::Linear { factor: factor()? }),
            "yarn" => {
                let original = positive(
                    "rope_scaling.original_max_position_embeddings",
                    self.original_max_position_embeddings.unwrap_or(longest),
                )?;
                let factor = factor()?;
                Ok(RopeScaling::Yarn(Yarn {
                    factor,
                    original_max_position_embeddings: original,
                    // Peng et al. 2023, equation 22.
                    attention_factor: self.attention_factor.unwrap_or(0.1 * factor.ln() + 1.0),
                    beta_fast: self.beta_fast.unwrap_or(32.0),
                    beta_slow: self.beta_slow.unwrap_or(1.0),
                    truncate: self.truncate.unwrap_or(true),
                }))
            }
            other => Err(ConfigError::Unsupported {
                field: "rope_type",
                got: other.to_owned(),
                expected: "default, linear or yarn",
            }),
        }
    }

    fn from_scaling(scaling: &RopeScaling, theta: f64) -> Self {
        let plain = |kind: &str| Self {
            rope_theta: Some(theta),
            rope_type: Some(kind.to_owned()),
            ..Self::default()
        };
        match scaling {
            RopeScaling::Default => plain("default"),
            RopeScaling::Linear { factor } => Self { factor: Some(*factor), ..plain("linear") },
            RopeScaling::Yarn(yarn) => Self {
                factor: Some(yarn.factor),
                original_max_position_embeddings: Some(yarn.original_max_position_embeddings),
                attention_factor: Some(yarn.attention_factor),
                beta_fast: Some(yarn.beta_fast),
                beta_slow: Some(yarn.beta_slow),
                truncate: Some(yarn.truncate),
                ..plain("yarn")
            },
        }
    }
}

fn at_least_one(field: &'static str, value: Option<f64>) -> Result<f64, ConfigError> {
    match value {
        Some(value) if value >= 1.0 && value.is_finite() => Ok(value),
        other => Err(ConfigError::Value {
            field,
            got: other.map_or("unset".into(), |value| value.to_string()),
            expected: "a number of at least 1".into(),
        }),
    }
}

/// The default of `head_dim` in Qwen3, as in transformers.
const HEAD_DIM: i64 = 128;

/// `model_type` of dense models.
const DENSE_TYPE: &str = "qwen3";
/// `model_type` of Qwen2 and Qwen2.5.
const QWEN2_TYPE: &str = "qwen2";
/// The entry of `layer_types` for a layer that attends to the whole sequence.
const FULL_ATTENTION: &str = "full_attention";
/// `model_type` of mixtures of experts.
const MIXTURE_TYPE: &str = "qwen3_moe";

fn default_act() -> String {
    "silu".into()
}

fn default_initializer_range() -> f64 {
    0.02
}

/// The content of `config.json`. Keys that are not used here are ignored.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RawConfig {
    #[serde(default)]
    architectures: Vec<String>,
    model_type: String,
    vocab_size: i64,
    hidden_size: i64,
    intermediate_size: i64,
    num_hidden_layers: i64,
    num_attention_heads: i64,
    num_key_value_heads: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head_dim: Option<i64>,
    max_position_embeddings: i64,
    rms_norm_eps: f64,
    rope_theta: Option<f64>,
    rope_parameters: Option<RawRope>,
    rope_scaling: Option<RawRope>,
    #[serde(default)]
    tie_word_embeddings: bool,
    /// Means something in Qwen3 alone: in Qwen2 queries, keys and values always have a bias.
    #[serde(skip_serializing_if = "Option::is_none")]
    attention_bias: Option<bool>,
    #[serde(default)]
    attention_dropout: f64,
    #[serde(default = "default_act")]
    hidden_act: String,
    #[serde(default = "default_initializer_range")]
    initializer_range: f64,
    #[serde(default)]
    use_sliding_window: bool,
    /// Written by transformers 5; one entry a layer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    layer_types: Vec<String>,
    eos_token_id: Option<Ids>,
    bos_token_id: Option<i64>,
    pad_token_id: Option<i64>,
    #[serde(flatten)]
    mixture: RawMixture,
}

/// The keys that `qwen3_moe` adds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct RawMixture {
    /// `num_experts` in published files, `num_local_experts` in those that transformers 5 writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    num_experts: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_local_experts: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_experts_per_tok: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moe_intermediate_size: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    norm_topk_prob: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decoder_sparse_step: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mlp_only_layers: Option<Vec<i64>>,
}

impl RawMixture {
    fn checked(self) -> Result<Mixture, ConfigError> {
        let given = |field, value: Option<i64>| positive(field, value.unwrap_or(0));
        let experts = given("num_experts", self.num_experts.or(self.num_local_experts))?;
        let per_token = given("num_experts_per_tok", self.num_experts_per_tok)?;
        if per_token > experts {
            return Err(ConfigError::Value {
                field: "num_experts_per_tok",
                got: per_token.to_string(),
                expected: format!("at most `num_experts` ({experts})"),
            });
        }
        Ok(Mixture {
            experts,
            per_token,
            intermediate_size: given("moe_intermediate_size", self.moe_intermediate_size)?,
            normalise: self.norm_topk_prob.unwrap_or(false),
            sparse_step: given("decoder_sparse_step", self.decoder_sparse_step.or(Some(1)))?,
            dense_layers: self.mlp_only_layers.unwrap_or_default(),
        })
    }

    fn from_mixture(mixture: &Mixture) -> Self {
        Self {
            num_experts: Some(mixture.experts),
            num_local_experts: Some(mixture.experts),
            num_experts_per_tok: Some(mixture.per_token),
            moe_intermediate_size: Some(mixture.intermediate_size),
            norm_topk_prob: Some(mixture.normalise),
            decoder_sparse_step: Some(mixture.sparse_step),
            mlp_only_layers: Some(mixture.dense_layers.clone()),
        }
    }
}

fn supported(
    holds: bool,
    field: &'static str,
    got: &impl ToString,
    expected: &'static str,
) -> Result<(), ConfigError> {
    if holds {
        Ok(())
    } else {
        Err(ConfigError::Unsupported { field, got: got.to_string(), expected })
    }
}

fn positive(field: &'static str, value: i64) -> Result<i64, ConfigError> {
    // An upper bound far beyond any real model keeps products of sizes inside i64.
    if (1..=1 << 24).contains(&value) {
        Ok(value)
    } else {
        Err(ConfigError::Value {
            field,
            got: value.to_string(),
            expected: "between 1 and 2^24".into(),
        })
    }
}

/// The width of a head. Readers of Qwen2 do not agree on whether `head_dim` counts there, so a value
/// is refused with which they would not have the same model.
fn head_dim(
    family: Family,
    given: Option<i64>,
    hidden_size: i64,
    heads: i64,
) -> Result<i64, ConfigError> {
    if family == Family::Qwen3 {
        return positive("head_dim", given.unwrap_or(HEAD_DIM));
    }
    let share = hidden_size / heads;
    let wrong = |field, got: i64, expected| {
        Err(ConfigError::Value { field, got: got.to_string(), expected })
    };
    if hidden_size % heads != 0 {
        let expected = format!("a multiple of `num_attention_heads` ({heads}) in `{QWEN2_TYPE}`");
        return wrong("hidden_size", hidden_size, expected);
    }
    match given {
        Some(other) if other != share => {
            let expected = format!("`hidden_size` / `num_attention_heads` ({share})");
            wrong("head_dim", other, expected)
        }
        _ => Ok(share),
    }
}

impl TryFrom<RawConfig> for Qwen3Config {
    type Error = ConfigError;

    fn try_from(raw: RawConfig) -> Result<Self, ConfigError> {
        let sparse = raw.model_type == MIXTURE_TYPE;
        let family = if raw.model_type == QWEN2_TYPE { Family::Qwen2 } else { Family::Qwen3 };
        let known = sparse || family == Family::Qwen2 || raw.model_type == DENSE_TYPE;
        supported(known, "model_type", &raw.model_type, "qwen3, qwen3_moe or qwen2")?;
        supported(raw.hidden_act == "silu", "hidden_act", &raw.hidden_act, "silu")?;
        if let Some(bias) = raw.attention_bias {
            match family {
                Family::Qwen2 => supported(bias, "attention_bias", &bias, "true")?,
                Family::Qwen3 => supported(!bias, "attention_bias", &bias, "false")?,
            }
        }
        supported(!raw.use_sliding_window, "use_sliding_window", &true, "false")?;
        if let Some(other) = raw.layer_types.iter().find(|kind| *kind != FULL_ATTENTION) {
            supported(false, "layer_types", other, FULL_ATTENTION)?;
        }
        let heads = positive("num_attention_heads", raw.num_attention_heads)?;
        let kv_heads = positive("num_key_value_heads", raw.num_key_value_heads.unwrap_or(heads))?;
        if heads % kv_heads != 0 {
            return Err(ConfigError::Value {
                field: "num_key_value_heads",
                got: kv_heads.to_string(),
                expected: format!("a divisor of `num_attention_heads` ({heads})"),
            });
        }
        let hidden_size = positive("hidden_size", raw.hidden_size)?;
        let head_dim = head_dim(family, raw.head_dim, hidden_size, heads)?;
        if head_dim % 2 != 0 {
            return Err(ConfigError::Value {
                field: "head_dim",
                got: head_dim.to_string(),
                expected: "even, because rotation pairs its halves".into(),
            });
        }
        let longest = positive("max_position_embeddings", raw.max_position_embeddings)?;
        let theta = raw.rope_parameters.as_ref().and_then(|rope| rope.rope_theta);
        let rope = raw.rope_parameters.or(raw.rope_scaling).unwrap_or_default();
        Ok(Self {
            family,
            vocab_size: positive("vocab_size", raw.vocab_size)?,
            hidden_size,
            intermediate_size: positive("intermediate_size", raw.intermediate_size)?,
            num_hidden_layers: positive("num_hidden_layers", raw.num_hidden_layers)?,
            num_attention_heads: heads,
            num_key_value_heads: kv_heads,
            head_dim,
            max_position_embeddings: longest,
            rms_norm_eps: raw.rms_norm_eps,
            rope_theta: theta.or(raw.rope_theta).unwrap_or(10_000.0),
            rope_scaling: rope.scaling(longest)?,
            mixture: if sparse { Some(raw.mixture.checked()?) } else { None },
            tie_word_embeddings: raw.tie_word_embeddings,
            initializer_range: raw.initializer_range,
            eos_token_ids: match raw.eos_token_id {
                None => Vec::new(),
                Some(Ids::One(id)) => vec![id],
                Some(Ids::Many(ids)) => ids,
            },
            bos_token_id: raw.bos_token_id,
            pad_token_id: raw.pad_token_id,
        })
    }
}

impl From<Qwen3Config> for RawConfig {
    fn from(config: Qwen3Config) -> Self {
        let is_qwen3 = config.family == Family::Qwen3;
        let (architecture, model_type) = match (config.family, &config.mixture) {
            (Family::Qwen3, Some(_)) => ("Qwen3MoeForCausalLM", MIXTURE_TYPE),
            (Family::Qwen3, None) => ("Qwen3ForCausalLM", DENSE_TYPE),
            (Family::Qwen2, _) => ("Qwen2ForCausalLM", QWEN2_TYPE),
        };
        let rope = RawRope::from_scaling(&config.rope_scaling, config.rope_theta);
        Self {
            architectures: vec![architecture.into()],
            model_type: model_type.into(),
            vocab_size: config.vocab_size,
            hidden_size: config.hidden_size,
            intermediate_size: config.intermediate_size,
            num_hidden_layers: config.num_hidden_layers,
            num_attention_heads: config.num_attention_heads,
            num_key_value_heads: Some(config.num_key_value_heads),
            head_dim: is_qwen3.then_some(config.head_dim),
            max_position_embeddings: config.max_position_embeddings,
            rms_norm_eps: config.rms_norm_eps,
            // Both spellings: readers before and after transformers 5 look in different places.
            rope_theta: Some(config.rope_theta),
            rope_scaling: (config.rope_scaling != RopeScaling::Default).then(|| rope.clone()),
            rope_parameters: Some(rope),
            tie_word_embeddings: config.tie_word_embeddings,
            attention_bias: is_qwen3.then_some(false),
            attention_dropout: 0.0,
            hidden_act: default_act(),
            initializer_range: config.initializer_range,
            use_sliding_window: false,
            layer_types: Vec::new(),
            eos_token_id: match config.eos_token_ids.as_slice() {
                [] => None,
                [id] => Some(Ids::One(*id)),
                ids => Some(Ids::Many(ids.to_vec())),
            },
            bos_token_id: config.bos_token_id,
            pad_token_id: config.pad_token_id,
            mixture: config.mixture.as_ref().map(RawMixture::from_mixture).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(edit: impl FnOnce(&mut serde_json::Value)) -> Result<Qwen3Config, serde_json::Error> {
        let mut value = serde_json::to_value(Qwen3Config::tiny(1000, 1, 2)).unwrap();
        edit(&mut value);
        serde_json::from_value(value)
    }

    #[test]
    fn config_round_trips() {
        assert_eq!(json(|_| ()).unwrap(), Qwen3Config::tiny(1000, 1, 2));
    }

    #[test]
    fn both_places_of_the_rotary_base_are_read() {
        let old = json(|value| {
            value["rope_theta"] = 5e5.into();
            value.as_object_mut().unwrap().remove("rope_parameters");
        });
        assert_eq!(old.unwrap().rope_theta.to_bits(), 5e5_f64.to_bits());
        let new = json(|value| {
            value["rope_parameters"]["rope_theta"] = 1e6.into();
            value.as_object_mut().unwrap().remove("rope_theta");
        });
        assert_eq!(new.unwrap().rope_theta.to_bits(), 1e6_f64.to_bits());
    }

    #[test]
    fn variants_we_do_not_implement_are_refused_by_name() {
        for (field, value, word) in [
            ("model_type", "llama".into(), "model_type"),
            ("layer_types", serde_json::json!(["sliding_attention"]), "layer_types"),
            ("attention_bias", true.into(), "attention_bias"),
            ("use_sliding_window", true.into(), "use_sliding_window"),
            ("hidden_act", "gelu".into(), "hidden_act"),
            ("num_key_value_heads", 3.into(), "num_key_value_heads"),
            ("head_dim", 31.into(), "head_dim"),
            ("vocab_size", (-1).into(), "vocab_size"),
            ("rope_parameters", serde_json::json!({"rope_type": "llama3"}), "rope_type"),
            ("rope_parameters", serde_json::json!({"rope_type": "yarn"}), "factor"),
        ] {
            let error = json(|config| config[field] = value).unwrap_err().to_string();
            assert!(error.contains(word), "{field}: {error}");
        }
    }

    /// `config.json` of Qwen2.5-7B-Instruct, key for key.
    const QWEN2_5_7B: &str = r#"{
        "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
        "eos_token_id": 151645, "hidden_act": "silu", "hidden_size": 3584,
        "initializer_range": 0.02, "intermediate_size": 18944, "max_position_embeddings": 32768,
        "max_window_layers": 28, "model_type": "qwen2", "num_attention_heads": 28,
        "num_hidden_layers": 28, "num_key_value_heads": 4, "rms_norm_eps": 1e-06,
        "rope_theta": 1000000.0, "sliding_window": 131072, "tie_word_embeddings": false,
        "torch_dtype": "bfloat16", "transformers_version": "4.43.1", "use_cache": true,
        "use_sliding_window": false, "vocab_size": 152064}"#;

    #[test]
    fn config_of_qwen2_5_is_read_and_written_as_it_is_published() {
        let config: Qwen3Config = serde_json::from_str(QWEN2_5_7B).unwrap();
        assert_eq!((config.family, config.head_dim), (Family::Qwen2, 128));
        assert_eq!(config.parameter_count(), 7_615_616_512);
        let written = serde_json::to_value(&config).unwrap();
        let published: serde_json::Value = serde_json::from_str(QWEN2_5_7B).unwrap();
        for (key, value) in published.as_object().unwrap() {
            // What follows from other keys, or says nothing of the model, is left out.
            let is_left_out =
                ["max_window_layers", "sliding_window", "transformers_version", "use_cache"]
                    .contains(&key.as_str());
            if key != "torch_dtype" && !is_left_out {
                assert_eq!(&written[key], value, "{key}");
            }
        }
        let unknown = ["head_dim", "attention_bias", "layer_types"].map(|key| &written[key]);
        assert!(unknown.iter().all(|value| value.is_null()), "{written}");
        assert_eq!(serde_json::from_value::<Qwen3Config>(written).unwrap(), config);
    }

    #[test]
    fn variants_of_qwen2_that_readers_take_differently_are_refused() {
        let read = |key: &str, value: serde_json::Value| {
            let mut config: serde_json::Value = serde_json::from_str(QWEN2_5_7B).unwrap();
            config[key] = value;
            serde_json::from_value::<Qwen3Config>(config).map_err(|error| error.to_string())
        };
        assert!(
            read("head_dim", 128.into()).is_ok() && read("attention_bias", true.into()).is_ok()
        );
        let full = vec!["full_attention"; 28];
        assert!(read("layer_types", serde_json::json!(full)).is_ok());
        for (key, value) in [
            ("head_dim", 64.into()),
            ("attention_bias", false.into()),
            ("use_sliding_window", true.into()),
            ("layer_types", serde_json::json!(["full_attention", "sliding_attention"])),
            ("hidden_size", 3585.into()),
            ("hidden_act", "gelu".into()),
        ] {
            let error = read(key, value).unwrap_err();
            assert!(error.contains(key), "{key}: {error}");
        }
    }

    #[test]
    fn config_with_mixture_and_scaling_round_trips() {
        let mixture = Mixture {
            experts: 8,
            per_token: 2,
            intermediate_size: 48,
            normalise: true,
            sparse_step: 2,
            dense_layers: vec![3],
        };
        let yarn = Yarn {
            factor: 4.0,
            original_max_position_embeddings: 32_768,
            attention_factor: 1.138_629_436_111_989,
            beta_fast: 32.0,
            beta_slow: 1.0,
            truncate: true,
        };
        let config = Qwen3Config {
            mixture: Some(mixture),
            rope_scaling: RopeScaling::Yarn(yarn),
            ..Qwen3Config::tiny(1000, 1, 2)
        };
        let mut value = serde_json::to_value(&config).unwrap();
        assert_eq!(serde_json::from_value::<Qwen3Config>(value.clone()).unwrap(), config);
        assert!(config.mixture_of(0).is_none() && config.mixture_of(3).is_none());
        assert!(config.mixture_of(1).is_some());
        assert!(config.active_parameter_count() < config.parameter_count());

        // As Qwen3's page tells users to write it.
        value.as_object_mut().unwrap().remove("rope_parameters");
        value["rope_scaling"] = serde_json::json!(
            {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
        );
        assert_eq!(serde_json::from_value::<Qwen3Config>(value.clone()).unwrap(), config);
        value["num_experts_per_tok"] = 9.into();
        let error = serde_json::from_value::<Qwen3Config>(value).unwrap_err().to_string();
        assert!(error.contains("num_experts_per_tok"), "{error}");
    }

    #[test]
    fn the_tiny_shape_has_about_a_million_weights() {
        let count = Qwen3Config::tiny(1500, 1, 2).parameter_count();
        assert!((900_000..1_300_000).contains(&count), "{count}");
    }
}
