//! The shape of a Qwen3 model, in the words of the published `config.json`.
//!
//! [`Qwen3Config`] is the checked form: whoever holds one may rely on every division being
//! exact and on no unsupported variant being asked for. `RawConfig` is what stands in the file.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};

/// A checked dense Qwen3 shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawConfig", into = "RawConfig")]
pub struct Qwen3Config {
    /// Rows of the embedding, V.
    pub vocab_size: i64,
    /// Width of the residual stream, C.
    pub hidden_size: i64,
    /// Width of the feed-forward layer, F.
    pub intermediate_size: i64,
    /// Layers.
    pub num_hidden_layers: i64,
    /// Query heads, H; a multiple of K.
    pub num_attention_heads: i64,
    /// Key and value heads, K.
    pub num_key_value_heads: i64,
    /// Width of one head, D; even. Not always C / H.
    pub head_dim: i64,
    /// The longest sequence.
    pub max_position_embeddings: i64,
    /// Added to the mean square in every norm.
    pub rms_norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Whether the output layer is the embedding itself.
    pub tie_word_embeddings: bool,
    /// Standard deviation of fresh weights.
    pub initializer_range: f64,
    /// Ids that end a turn, the first being the one we emit.
    pub eos_token_ids: Vec<i64>,
    /// The first id of a text, where there is one.
    pub bos_token_id: Option<i64>,
    /// The id that fills unused places.
    pub pad_token_id: Option<i64>,
}

/// Why a `config.json` was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Missing or unreadable.
    #[error("failed to read the model's configuration")]
    Io(#[from] std::io::Error),
    /// Not JSON, or a field is missing or of the wrong type.
    #[error("failed to parse `{path}` as a Qwen3 `config.json`")]
    Json {
        /// The file.
        path: Utf8PathBuf,
        /// What serde found.
        #[source]
        source: serde_json::Error,
    },
    /// A number that cannot be.
    #[error("`{field}` is {got}; it must be {expected}")]
    Value {
        /// The key.
        field: &'static str,
        /// Its value.
        got: String,
        /// What it must be.
        expected: String,
    },
    /// A real variant that this build does not implement.
    #[error("`{field}` is `{got}`; only dense Qwen3 with `{expected}` is supported")]
    Unsupported {
        /// The key.
        field: &'static str,
        /// Its value.
        got: String,
        /// What is supported.
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
            tie_word_embeddings: true,
            initializer_range: 0.05,
            eos_token_ids: vec![end_of_turn, end_of_text],
            bos_token_id: None,
            pad_token_id: Some(end_of_text),
        }
    }

    /// How many query heads share one key head, H / K.
    pub fn group_size(&self) -> i64 {
        self.num_attention_heads / self.num_key_value_heads
    }

    /// The number of weights, a tied output layer counted once.
    pub fn parameter_count(&self) -> i64 {
        let (c, d) = (self.hidden_size, self.head_dim);
        let heads = self.num_attention_heads + 2 * self.num_key_value_heads;
        let attention = heads * d * c + self.num_attention_heads * d * c + 2 * d;
        let layer = attention + 3 * self.intermediate_size * c + 2 * c;
        let embeddings = if self.tie_word_embeddings { 1 } else { 2 } * self.vocab_size * c;
        embeddings + self.num_hidden_layers * layer + c
    }
}

/// One id or several, as `eos_token_id` is written in the wild.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Ids {
    One(i64),
    Many(Vec<i64>),
}

/// Where newer files keep the rotary settings.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RopeParameters {
    rope_theta: Option<f64>,
    #[serde(default = "default_rope_type")]
    rope_type: String,
}

fn default_rope_type() -> String {
    "default".into()
}

fn default_act() -> String {
    "silu".into()
}

fn default_initializer_range() -> f64 {
    0.02
}

/// `config.json` as it stands. Keys that do not matter to us are ignored on reading.
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
    head_dim: Option<i64>,
    max_position_embeddings: i64,
    rms_norm_eps: f64,
    rope_theta: Option<f64>,
    rope_parameters: Option<RopeParameters>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rope_scaling: Option<serde_json::Value>,
    #[serde(default)]
    tie_word_embeddings: bool,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    attention_dropout: f64,
    #[serde(default = "default_act")]
    hidden_act: String,
    #[serde(default = "default_initializer_range")]
    initializer_range: f64,
    #[serde(default)]
    use_sliding_window: bool,
    eos_token_id: Option<Ids>,
    bos_token_id: Option<i64>,
    pad_token_id: Option<i64>,
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

impl TryFrom<RawConfig> for Qwen3Config {
    type Error = ConfigError;

    fn try_from(raw: RawConfig) -> Result<Self, ConfigError> {
        supported(raw.model_type == "qwen3", "model_type", &raw.model_type, "qwen3")?;
        supported(raw.hidden_act == "silu", "hidden_act", &raw.hidden_act, "silu")?;
        supported(!raw.attention_bias, "attention_bias", &raw.attention_bias, "false")?;
        supported(!raw.use_sliding_window, "use_sliding_window", &true, "false")?;
        if let Some(scaling) = &raw.rope_scaling {
            supported(scaling.is_null(), "rope_scaling", scaling, "null")?;
        }
        let rope = raw.rope_parameters;
        if let Some(rope) = &rope {
            supported(rope.rope_type == "default", "rope_type", &rope.rope_type, "default")?;
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
        let head_dim = positive("head_dim", raw.head_dim.unwrap_or(hidden_size / heads))?;
        if head_dim % 2 != 0 {
            return Err(ConfigError::Value {
                field: "head_dim",
                got: head_dim.to_string(),
                expected: "even, because rotation pairs its halves".into(),
            });
        }
        Ok(Self {
            vocab_size: positive("vocab_size", raw.vocab_size)?,
            hidden_size,
            intermediate_size: positive("intermediate_size", raw.intermediate_size)?,
            num_hidden_layers: positive("num_hidden_layers", raw.num_hidden_layers)?,
            num_attention_heads: heads,
            num_key_value_heads: kv_heads,
            head_dim,
            max_position_embeddings: positive(
                "max_position_embeddings",
                raw.max_position_embeddings,
            )?,
            rms_norm_eps: raw.rms_norm_eps,
            rope_theta: rope
                .and_then(|rope| rope.rope_theta)
                .or(raw.rope_theta)
                .unwrap_or(10_000.0),
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
        Self {
            architectures: vec!["Qwen3ForCausalLM".into()],
            model_type: "qwen3".into(),
            vocab_size: config.vocab_size,
            hidden_size: config.hidden_size,
            intermediate_size: config.intermediate_size,
            num_hidden_layers: config.num_hidden_layers,
            num_attention_heads: config.num_attention_heads,
            num_key_value_heads: Some(config.num_key_value_heads),
            head_dim: Some(config.head_dim),
            max_position_embeddings: config.max_position_embeddings,
            rms_norm_eps: config.rms_norm_eps,
            // Both spellings: readers before and after transformers 5 look in different places.
            rope_theta: Some(config.rope_theta),
            rope_parameters: Some(RopeParameters {
                rope_theta: Some(config.rope_theta),
                rope_type: default_rope_type(),
            }),
            rope_scaling: None,
            tie_word_embeddings: config.tie_word_embeddings,
            attention_bias: false,
            attention_dropout: 0.0,
            hidden_act: default_act(),
            initializer_range: config.initializer_range,
            use_sliding_window: false,
            eos_token_id: match config.eos_token_ids.as_slice() {
                [] => None,
                [id] => Some(Ids::One(*id)),
                ids => Some(Ids::Many(ids.to_vec())),
            },
            bos_token_id: config.bos_token_id,
            pad_token_id: config.pad_token_id,
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
    fn a_shape_survives_its_file() {
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
            ("attention_bias", true.into(), "attention_bias"),
            ("use_sliding_window", true.into(), "use_sliding_window"),
            ("hidden_act", "gelu".into(), "hidden_act"),
            ("num_key_value_heads", 3.into(), "num_key_value_heads"),
            ("head_dim", 31.into(), "head_dim"),
            ("vocab_size", (-1).into(), "vocab_size"),
            ("rope_scaling", serde_json::json!({"rope_type": "yarn"}), "rope_scaling"),
        ] {
            let error = json(|config| config[field] = value).unwrap_err().to_string();
            assert!(error.contains(word), "{field}: {error}");
        }
    }

    #[test]
    fn the_tiny_shape_has_about_a_million_weights() {
        let count = Qwen3Config::tiny(1500, 1, 2).parameter_count();
        assert!((900_000..1_300_000).contains(&count), "{count}");
    }
}
