//! The least time that a piece of work can take: what has to be read, over how fast the device
//! reads; what has to be computed, over how fast it computes.
//!
//! Counted is the work that cannot be avoided: every active weight is read once per decoding step,
//! every cached key and value once, and a product of `[N, I]` with `[I, O]` is `2 N I O`
//! operations. Norms, rotations, softmax, sampling and the optimizer are not counted, so a floor
//! is never reached.

use crate::model::{LoraSettings, Qwen3Config};
use crate::train::plan::adapter_parameters;
use tch::Kind;

/// The measured speed of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// Bytes a second, read and written, of a large copy.
    pub bandwidth: f64,
    /// Operations a second of a large product.
    pub operations: f64,
}

/// One step of decoding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeStep {
    /// Weights that are read, in bytes.
    pub weights: f64,
    /// Keys and values that are read, in bytes.
    pub cache: f64,
    operations: f64,
}

impl DecodeStep {
    /// A token for each of `rows` conversations that have `context` tokens on average.
    pub fn new(config: &Qwen3Config, kind: Kind, rows: usize, context: f64) -> Self {
        let (rows, size) = (rows as f64, kind.elt_size_in_bytes() as f64);
        let kept = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim;
        let seen = config.num_hidden_layers * config.num_attention_heads * config.head_dim;
        Self {
            weights: (layers(config, |mixture| visited(mixture, rows)) + head(config)) * size,
            cache: rows * context * kept as f64 * size,
            operations: rows
                * (2.0 * (per_token(config) + head(config)) + 4.0 * context * seen as f64),
        }
    }

    /// The least time, in seconds.
    pub fn seconds(&self, speed: Speed) -> f64 {
        ((self.weights + self.cache) / speed.bandwidth).max(self.operations / speed.operations)
    }
}

/// The shape of one update.
#[derive(Debug, Clone, Copy)]
pub struct UpdateShape<'a> {
    /// The configuration of the model.
    pub config: &'a Qwen3Config,
    /// Its adapters, if those are what is trained.
    pub lora: Option<&'a LoraSettings>,
    /// Whether layers are gone through twice on the way forward.
    pub recompute: bool,
}

impl UpdateShape<'_> {
    /// Operations for sequences of these lengths, of whose tokens `trained` are predicted. A
    /// product costs as much as itself for the gradient of what went in, and again for that of
    /// the weight, unless that is frozen; the output layer is never recomputed.
    pub fn operations(&self, lengths: &[usize], trained: usize) -> f64 {
        let again = if self.recompute { 1.0 } else { 0.0 };
        let frozen = if self.lora.is_some() { 0.0 } else { 1.0 };
        let tokens: f64 = lengths.iter().map(|&length| length as f64).sum();
        let adapters = self.lora.map_or(0.0, |lora| adapter_parameters(lora, self.config) as f64);
        let products =
            2.0 * per_token(self.config) * (2.0 + frozen + again) + 2.0 * adapters * (3.0 + again);
        let output = 2.0 * head(self.config) * (2.0 + frozen);
        // Causal: a token attends to half of its sequence on average, for scores and for values.
        let width =
            self.config.num_hidden_layers * self.config.num_attention_heads * self.config.head_dim;
        let pairs: f64 = lengths.iter().map(|&length| (length as f64).powi(2) / 2.0).sum();
        let attention = 4.0 * pairs * width as f64 * (3.0 + again);
        tokens * products + trained as f64 * output + attention
    }
}

/// Operations of reading `tokens` tokens without gradient, attention left out.
pub fn reading(config: &Qwen3Config, tokens: usize) -> f64 {
    2.0 * per_token(config) * tokens as f64
}

/// Weights of all layers that are active for one token.
fn per_token(config: &Qwen3Config) -> f64 {
    layers(config, |mixture| mixture.per_token as f64)
}

/// Weights of the output layer.
fn head(config: &Qwen3Config) -> f64 {
    (config.vocab_size * config.hidden_size) as f64
}

/// Weights of all layers, with so many experts of each mixture.
fn layers(config: &Qwen3Config, experts: impl Fn(&crate::model::Mixture) -> f64) -> f64 {
    let embeddings = if config.tie_word_embeddings { 1.0 } else { 2.0 } * head(config);
    let all = config.parameter_count() as f64 - embeddings - config.hidden_size as f64;
    let unvisited = |layer| {
        config.mixture_of(layer).map_or(0.0, |mixture| {
            let expert = 3 * mixture.intermediate_size * config.hidden_size;
            (mixture.experts as f64 - experts(mixture)) * expert as f64
        })
    };
    all - (0..config.num_hidden_layers).map(unvisited).sum::<f64>()
}

/// The expected number of experts of a layer that are used when `rows` tokens are routed evenly.
fn visited(mixture: &crate::model::Mixture, rows: f64) -> f64 {
    let share = mixture.per_token as f64 / mixture.experts as f64;
    mixture.experts as f64 * (1.0 - (1.0 - share).powf(rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Published;

    /// Published for an H200: 4.8 TB/s; 790 TFLOP/s is what a large product reaches.
    const H200: Speed = Speed { bandwidth: 4.8e12, operations: 790e12 };

    fn qwen3_8b() -> Qwen3Config {
        Published::named("qwen3-8b").unwrap().config()
    }

    // By hand: 7.57e9 weights without the embedding are 15.1 GB, and a token's keys and values in
    // 36 layers of 8 heads of 128 are 147,456 bytes.
    #[test]
    fn a_decoding_step_of_eight_billion_weights() {
        for (rows, context, milliseconds) in
            [(1, 2048.0, 3.2), (64, 2048.0, 7.2), (64, 4096.0, 11.2), (64, 8192.0, 19.3)]
        {
            let step = DecodeStep::new(&qwen3_8b(), Kind::BFloat16, rows, context);
            assert!((step.weights - 15.137e9).abs() < 0.01e9, "{}", step.weights);
            let found = step.seconds(H200) * 1e3;
            assert!((found - milliseconds).abs() < 0.06, "{rows} x {context}: {found} ms");
        }
    }

    // By hand, per token: 6 operations a weight are 45.4e9, attention over 8k 7.2e9.
    #[test]
    fn an_update_of_eight_billion_weights() {
        let (config, lengths) = (qwen3_8b(), [8192; 4]);
        let rate = |recompute, lora: Option<&LoraSettings>| {
            let update = UpdateShape { config: &config, lora, recompute };
            let tokens: usize = lengths.iter().sum();
            tokens as f64 * H200.operations / update.operations(&lengths, tokens)
        };
        assert!((rate(false, None) - 15_000.0).abs() < 100.0, "{}", rate(false, None));
        // Without a second pass through the output layer, a little above 11.3 thousand.
        assert!((rate(true, None) - 11_460.0).abs() < 100.0, "{}", rate(true, None));
        let adapters = LoraSettings::default();
        let gain = rate(false, Some(&adapters)) / rate(false, None);
        // A third of the products falls away, and little is added.
        assert!((1.3..1.5).contains(&gain), "{gain}");
    }

    #[test]
    fn unused_experts_are_not_counted() {
        let config = Published::named("qwen3-30b-a3b").unwrap().config();
        let weights = |rows| DecodeStep::new(&config, Kind::BFloat16, rows, 0.0).weights / 2.0;
        let whole = (config.parameter_count() - config.vocab_size * config.hidden_size) as f64;
        let active =
            (config.active_parameter_count() - config.vocab_size * config.hidden_size) as f64;
        assert!((weights(1) / active - 1.0).abs() < 1e-3);
        assert!((weights(64) / whole - 0.985).abs() < 0.005);
        assert!(weights(2000) <= whole);
    }
}
