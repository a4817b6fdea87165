//! Qwen3, dense: the whole architecture, told bottom-up.
//!
//! Shapes: B batch, T tokens, V vocabulary, C hidden, F feed-forward, H query heads, K key and
//! value heads, G = H / K, D head size.
//!
//! There are two ways through the model. [`Qwen3::forward`] takes whole sequences, padded on the
//! right, and is what training differentiates. [`Qwen3::forward_cached`] continues rows whose
//! past lies in a [`KvCache`], and is what generation runs. They are equal up to rounding.
//!
//! In memory the projections that share an input are one matrix (query, key and value; gate and
//! up), because a small model's speed is the number of operations it needs. On disk they have
//! their published names; [`Qwen3::load`] joins them and [`Qwen3::published`] parts them again.

use super::config::Qwen3Config;
use super::kv_cache::{KvCache, Rows};
use super::load::{LoadError, Weights};
use rand_distr::{Distribution, StandardNormal};
use sandbox::stream::Stream;
use std::collections::BTreeMap;
use tch::{Device, Kind, Tensor, no_grad_guard};

fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Tensor {
    x.rms_norm(weight.size(), Some(weight), eps)
}

/// Rotary embedding: cosines and signed sines of every position.
///
/// With the head split into halves `(a, b)`, position p turns it into
/// `(a cos - b sin, b cos + a sin)`; the minus sign sits in the sine table, so that the rotation
/// is `x * cos + roll(x, D/2) * sin`.
#[derive(Debug)]
struct Rope {
    cos: Tensor, // [P, D]
    sin: Tensor, // [P, D]
}

impl Rope {
    fn new(config: &Qwen3Config, kind: Kind, device: Device) -> Self {
        let half = config.head_dim / 2;
        // In f32 and in this order, because that is how the published tables are computed. One
        // position more than the longest sequence serves the cache's scratch place.
        let options = (Kind::Float, Device::Cpu);
        let exponents = Tensor::arange(half, options) * 2.0 / config.head_dim as f64;
        let frequencies =
            Tensor::full([half], config.rope_theta, options).pow(&exponents).reciprocal();
        let positions = Tensor::arange(config.max_position_embeddings + 1, options);
        let angles = positions.unsqueeze(1) * frequencies.unsqueeze(0); // [P, D/2]
        let (cos, sin) = (angles.cos(), angles.sin());
        Self {
            cos: Tensor::cat(&[&cos, &cos], 1).to_kind(kind).to_device(device),
            sin: Tensor::cat(&[&sin.neg(), &sin], 1).to_kind(kind).to_device(device),
        }
    }

    /// The first `tokens` positions, shaped to broadcast over batch and heads.
    fn first(&self, tokens: i64) -> (Tensor, Tensor) {
        let part = |table: &Tensor| table.narrow(0, 0, tokens).unsqueeze(1); // [T, 1, D]
        (part(&self.cos), part(&self.sin))
    }

    /// Given positions `[B, T]`, shaped to broadcast over heads.
    fn at(&self, positions: &Tensor) -> (Tensor, Tensor) {
        let (b, t) = positions.size2().expect("positions are [B, T]");
        let flat = positions.view([-1]);
        let part = |table: &Tensor| table.index_select(0, &flat).view([b, t, 1, -1]);
        (part(&self.cos), part(&self.sin)) // [B, T, 1, D]
    }

    fn rotate(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Tensor {
        let half = x.size().last().expect("a head has a size") / 2;
        (x * cos).addcmul(&x.roll([half], [-1]), sin)
    }
}

/// Sizes that a layer needs at every step.
#[derive(Debug, Clone, Copy)]
struct Heads {
    query: i64, // H
    key: i64,   // K
    size: i64,  // D
}

/// Grouped-query attention with a norm on every query and key head.
#[derive(Debug)]
struct Attention {
    qkv_proj: Tensor, // [(H + 2K) D, C]
    o_proj: Tensor,   // [C, H D]
    q_norm: Tensor,   // [D]
    k_norm: Tensor,   // [D]
    heads: Heads,
    eps: f64,
}

impl Attention {
    /// Projects, norms and rotates: queries `[B, T, H, D]`, keys and values `[B, T, K, D]`.
    fn project(&self, x: &Tensor, cos: &Tensor, sin: &Tensor) -> (Tensor, Tensor, Tensor) {
        let (b, t, _) = x.size3().expect("activations are [B, T, C]");
        let Heads { query: h, key: k, size: d } = self.heads;
        let qkv = x.linear(&self.qkv_proj, None::<&Tensor>).view([b, t, h + 2 * k, d]);
        // One norm and one rotation for queries and keys together; their gains differ per head.
        let gain =
            Tensor::cat(&[self.q_norm.expand([h, d], false), self.k_norm.expand([k, d], false)], 0);
        let qk = qkv.narrow(2, 0, h + k).rms_norm([d], None::<&Tensor>, self.eps) * gain;
        let qk = Rope::rotate(&qk, cos, sin);
        (qk.narrow(2, 0, h), qk.narrow(2, h, k), qkv.narrow(2, h + k, k))
    }

    /// Whole sequences. Padding stands on the right, so causality alone keeps it out of sight.
    fn forward(&self, x: &Tensor, cos: &Tensor, sin: &Tensor) -> Tensor {
        let (b, t, _) = x.size3().expect("activations are [B, T, C]");
        let Heads { query: h, key: k, size: d } = self.heads;
        // 1. Project.
        let (q, keys, values) = self.project(x, cos, sin);
        // 2. (B, T, K, D) -> (B, H, T, D): each key head serves its G query heads.
        let spread = |x: &Tensor| {
            let x = x.transpose(1, 2).unsqueeze(2); // [B, K, 1, T, D]
            x.expand([b, k, h / k, t, d], false).reshape([b, h, t, d])
        };
        let (keys, values) = (spread(&keys), spread(&values));
        // 3. Attend.
        let q = q.transpose(1, 2); // [B, H, T, D]
        let out = Tensor::scaled_dot_product_attention(
            &q,
            &keys,
            &values,
            None::<&Tensor>,
            0.0,
            true,
            None,
            false,
        );
        // 4. (B, H, T, D) -> (B, T, C)
        out.transpose(1, 2).reshape([b, t, h * d]).linear(&self.o_proj, None::<&Tensor>)
    }

    /// New tokens of rows whose past is cached.
    fn forward_cached(
        &self,
        x: &Tensor,
        step: &CachedStep<'_>,
        layer: usize,
        cache: &mut KvCache,
    ) -> Tensor {
        let (b, t, _) = x.size3().expect("activations are [B, T, C]");
        let Heads { query: h, key: k, size: d } = self.heads;
        let group = h / k;
        // 1. Project, and let the new keys and values join the past.
        let (q, keys, values) = self.project(x, &step.cos, &step.sin);
        cache.write(layer, step.rows, step.positions, &keys, &values);
        let (keys, values) = cache.read(layer, step.rows, step.reach); // [B, K, R, D]
        // 2. The G queries of one key head are rows of one matrix, so that keys and values are
        //    read in place and never repeated: (B, T, K G, D) -> (B, K, G T, D).
        let q =
            q.reshape([b, t, k, group, d]).permute([0, 2, 3, 1, 4]).reshape([b, k, group * t, d]);
        // 3. Attend.
        let out = Tensor::scaled_dot_product_attention(
            &q,
            &keys,
            &values,
            Some(&step.mask),
            0.0,
            false,
            None,
            false,
        );
        // 4. (B, K, G T, D) -> (B, T, C)
        out.view([b, k, group, t, d])
            .permute([0, 3, 1, 2, 4])
            .reshape([b, t, h * d])
            .linear(&self.o_proj, None::<&Tensor>)
    }
}

/// What all layers of one cached step share.
#[derive(Debug)]
struct CachedStep<'a> {
    rows: &'a Rows,
    positions: &'a Tensor, // [B, T]
    reach: i64,
    cos: Tensor,  // [B, T, 1, D]
    sin: Tensor,  // [B, T, 1, D]
    mask: Tensor, // [B, 1, G T, R], 0 where visible and -inf elsewhere
}

/// Gated feed-forward: `down(silu(gate x) * up x)` (Shazeer 2020, "`SwiGLU`").
#[derive(Debug)]
struct Mlp {
    gate_up_proj: Tensor, // [2 F, C]
    down_proj: Tensor,    // [C, F]
}

impl Mlp {
    fn forward(&self, x: &Tensor) -> Tensor {
        let gate_up = x.linear(&self.gate_up_proj, None::<&Tensor>);
        let width = self.down_proj.size()[1];
        let gate = gate_up.narrow(-1, 0, width).silu();
        (gate * gate_up.narrow(-1, width, width)).linear(&self.down_proj, None::<&Tensor>)
    }
}

#[derive(Debug)]
struct Layer {
    input_layernorm: Tensor, // [C]
    attention: Attention,
    post_attention_layernorm: Tensor, // [C]
    mlp: Mlp,
    eps: f64,
}

impl Layer {
    fn forward(&self, x: &Tensor, cos: &Tensor, sin: &Tensor) -> Tensor {
        let x = x + self.attention.forward(&rms_norm(x, &self.input_layernorm, self.eps), cos, sin);
        let y = self.mlp.forward(&rms_norm(&x, &self.post_attention_layernorm, self.eps));
        x + y
    }

    fn forward_cached(
        &self,
        x: &Tensor,
        step: &CachedStep<'_>,
        layer: usize,
        cache: &mut KvCache,
    ) -> Tensor {
        let normed = rms_norm(x, &self.input_layernorm, self.eps);
        let x = x + self.attention.forward_cached(&normed, step, layer, cache);
        let y = self.mlp.forward(&rms_norm(&x, &self.post_attention_layernorm, self.eps));
        x + y
    }
}

/// One trainable tensor, as it lies in memory.
#[derive(Debug)]
pub struct Parameter {
    /// Its path; joined projections are called `qkv_proj` and `gate_up_proj`.
    pub name: String,
    /// The leaf itself, sharing storage with the model.
    pub tensor: Tensor,
    /// Whether weight decay applies: to matrices, not to gains.
    pub decays: bool,
}

/// A Qwen3 decoder with its output layer.
#[derive(Debug)]
pub struct Qwen3 {
    config: Qwen3Config,
    embed_tokens: Tensor, // [V, C]
    layers: Vec<Layer>,
    norm: Tensor,            // [C]
    lm_head: Option<Tensor>, // [V, C]; none when tied to the embedding
    rope: Rope,
}

/// Where a weight of the given name and shape comes from.
type Fetch<'a> = dyn FnMut(&str, &[i64]) -> Result<Tensor, LoadError> + 'a;

impl Qwen3 {
    /// Builds a model from published weights, converted to `kind` on `device`.
    ///
    /// # Errors
    /// [`LoadError`] if a weight is missing or has another shape than `config` asks for.
    pub fn load(
        config: &Qwen3Config,
        weights: &Weights,
        kind: Kind,
        device: Device,
    ) -> Result<Self, LoadError> {
        if !matches!(kind, Kind::Float | Kind::BFloat16 | Kind::Half) {
            return Err(LoadError::Kind(kind));
        }
        Self::build(config, kind, device, &mut |name, shape| weights.tensor(name, shape))
    }

    /// A model with fresh weights: gains of one, everything else normal with the configured
    /// spread. Each weight has its own stream, so the same stream gives the same model anywhere.
    pub fn random(config: &Qwen3Config, kind: Kind, device: Device, stream: Stream) -> Self {
        // Layers that write into the residual stream are scaled down by the number of writers
        // (Radford et al. 2019, §2.3), so that its variance does not grow with depth.
        let shrink = 1.0 / (2.0 * config.num_hidden_layers as f64).sqrt();
        let built = Self::build(config, kind, device, &mut |name, shape| {
            if name.ends_with("norm.weight") {
                return Ok(Tensor::ones(shape, (Kind::Float, Device::Cpu)));
            }
            let residual = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
            let spread = config.initializer_range * if residual { shrink } else { 1.0 };
            let mut rng = stream.child(name).rng();
            let count = usize::try_from(shape.iter().product::<i64>()).unwrap_or(0);
            let values: Vec<f32> = (0..count)
                .map(|_| {
                    let draw: f64 = StandardNormal.sample(&mut rng);
                    #[expect(clippy::cast_possible_truncation, reason = "weights are f32")]
                    let value = (draw * spread) as f32;
                    value
                })
                .collect();
            Ok(Tensor::from_slice(&values).view(shape))
        });
        built.expect("fresh weights have the shapes they were asked for")
    }

    fn build(
        config: &Qwen3Config,
        kind: Kind,
        device: Device,
        fetch: &mut Fetch<'_>,
    ) -> Result<Self, LoadError> {
        let c = config.hidden_size;
        let (h, k, d) = (config.num_attention_heads, config.num_key_value_heads, config.head_dim);
        let heads = Heads { query: h, key: k, size: d };
        let f = config.intermediate_size;
        let eps = config.rms_norm_eps;
        let leaf = |tensor: &Tensor| {
            tensor.to_kind(kind).to_device(device).contiguous().detach().set_requires_grad(true)
        };
        let embed_tokens = leaf(&fetch("model.embed_tokens.weight", &[config.vocab_size, c])?);
        let mut layers = Vec::new();
        for index in 0..config.num_hidden_layers {
            let mut get = |name: &str, shape: &[i64]| {
                fetch(&format!("model.layers.{index}.{name}.weight"), shape)
            };
            let qkv = [
                get("self_attn.q_proj", &[h * d, c])?,
                get("self_attn.k_proj", &[k * d, c])?,
                get("self_attn.v_proj", &[k * d, c])?,
            ];
            let gate_up = [get("mlp.gate_proj", &[f, c])?, get("mlp.up_proj", &[f, c])?];
            layers.push(Layer {
                input_layernorm: leaf(&get("input_layernorm", &[c])?),
                attention: Attention {
                    qkv_proj: leaf(&Tensor::cat(&qkv, 0)),
                    o_proj: leaf(&get("self_attn.o_proj", &[c, h * d])?),
                    q_norm: leaf(&get("self_attn.q_norm", &[d])?),
                    k_norm: leaf(&get("self_attn.k_norm", &[d])?),
                    heads,
                    eps,
                },
                post_attention_layernorm: leaf(&get("post_attention_layernorm", &[c])?),
                mlp: Mlp {
                    gate_up_proj: leaf(&Tensor::cat(&gate_up, 0)),
                    down_proj: leaf(&get("mlp.down_proj", &[c, f])?),
                },
                eps,
            });
        }
        let norm = leaf(&fetch("model.norm.weight", &[c])?);
        let lm_head = if config.tie_word_embeddings {
            None
        } else {
            Some(leaf(&fetch("lm_head.weight", &[config.vocab_size, c])?))
        };
        let rope = Rope::new(config, kind, device);
        Ok(Self { config: config.clone(), embed_tokens, layers, norm, lm_head, rope })
    }

    /// The shape.
    pub fn config(&self) -> &Qwen3Config {
        &self.config
    }

    /// Where the weights are.
    pub fn device(&self) -> Device {
        self.embed_tokens.device()
    }

    /// The type of weights and activations.
    pub fn kind(&self) -> Kind {
        self.embed_tokens.kind()
    }

    /// Hidden states of whole sequences: ids `[B, T]`, padded on the right, to `[B, T, C]`.
    /// What stands at padding has no meaning.
    pub fn forward(&self, ids: &Tensor) -> Tensor {
        let (_, t) = ids.size2().expect("ids are [B, T]");
        let (cos, sin) = self.rope.first(t);
        let mut x = Tensor::embedding(&self.embed_tokens, ids, -1, false, false); // [B, T, C]
        for layer in &self.layers {
            x = layer.forward(&x, &cos, &sin);
        }
        rms_norm(&x, &self.norm, self.config.rms_norm_eps)
    }

    /// Hidden states `[B, T, C]` of new tokens `ids [B, T]` at `positions [B, T]` of the cached
    /// `rows`. Every position below `reach` may be looked at, and none of the new ones is at or
    /// beyond it, except padding, which stands at the cache's scratch place.
    pub fn forward_cached(
        &self,
        ids: &Tensor,
        positions: &Tensor,
        rows: &Rows,
        reach: i64,
        cache: &mut KvCache,
    ) -> Tensor {
        let _guard = no_grad_guard();
        let (b, t) = ids.size2().expect("ids are [B, T]");
        let (cos, sin) = self.rope.at(positions);
        let past = Tensor::arange(reach, (Kind::Int64, self.device()));
        let hidden = past.view([1, 1, reach]).gt_tensor(&positions.unsqueeze(2)); // [B, T, R]
        let group = self.config.group_size();
        let mask = Tensor::zeros([b, t, reach], (self.kind(), self.device()))
            .masked_fill(&hidden, f64::NEG_INFINITY)
            .unsqueeze(1) // [B, 1, T, R]
            .expand([b, group, t, reach], false)
            .reshape([b, 1, group * t, reach]);
        let step = CachedStep { rows, positions, reach, cos, sin, mask };
        let mut x = Tensor::embedding(&self.embed_tokens, ids, -1, false, false); // [B, T, C]
        for (index, layer) in self.layers.iter().enumerate() {
            x = layer.forward_cached(&x, &step, index, cache);
        }
        rms_norm(&x, &self.norm, self.config.rms_norm_eps)
    }

    /// The output layer: hidden states `[.., C]` to logits `[.., V]` in f32.
    pub fn logits(&self, hidden: &Tensor) -> Tensor {
        let head = self.lm_head.as_ref().unwrap_or(&self.embed_tokens);
        hidden.linear(head, None::<&Tensor>).to_kind(Kind::Float)
    }

    /// Every trainable tensor, always in the same order.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut all = Vec::new();
        let mut add = |name: String, tensor: &Tensor| {
            let decays = tensor.dim() >= 2;
            all.push(Parameter { name, tensor: tensor.shallow_clone(), decays });
        };
        add("model.embed_tokens.weight".into(), &self.embed_tokens);
        for (index, layer) in self.layers.iter().enumerate() {
            let mut add =
                |name: &str, tensor| add(format!("model.layers.{index}.{name}.weight"), tensor);
            add("input_layernorm", &layer.input_layernorm);
            add("self_attn.qkv_proj", &layer.attention.qkv_proj);
            add("self_attn.q_norm", &layer.attention.q_norm);
            add("self_attn.k_norm", &layer.attention.k_norm);
            add("self_attn.o_proj", &layer.attention.o_proj);
            add("post_attention_layernorm", &layer.post_attention_layernorm);
            add("mlp.gate_up_proj", &layer.mlp.gate_up_proj);
            add("mlp.down_proj", &layer.mlp.down_proj);
        }
        add("model.norm.weight".into(), &self.norm);
        if let Some(lm_head) = &self.lm_head {
            add("lm_head.weight".into(), lm_head);
        }
        all
    }

    /// The weights under their published names, as views where nothing was joined.
    pub fn published(&self) -> BTreeMap<String, Tensor> {
        let config = &self.config;
        let d = config.head_dim;
        let (q, k) = (config.num_attention_heads * d, config.num_key_value_heads * d);
        let f = config.intermediate_size;
        let mut all = BTreeMap::new();
        for Parameter { name, tensor, .. } in self.parameters() {
            let tensor = tensor.detach();
            let mut part = |published: &str, joined: &str, start: i64, length: i64| {
                all.insert(name.replace(joined, published), tensor.narrow(0, start, length));
            };
            if name.contains("qkv_proj") {
                part("q_proj", "qkv_proj", 0, q);
                part("k_proj", "qkv_proj", q, k);
                part("v_proj", "qkv_proj", q + k, k);
            } else if name.contains("gate_up_proj") {
                part("gate_proj", "gate_up_proj", 0, f);
                part("up_proj", "gate_up_proj", f, f);
            } else {
                all.insert(name, tensor);
            }
        }
        all
    }
}
