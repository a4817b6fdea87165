//! Qwen3 and Qwen2.5: layers, output layer, and the weights under their published names.
//!
//! The two differ in the attention layer ([`Family`]).
//!
//! Shapes: N packed tokens; B rows of T tokens; V vocabulary, C hidden, F feed-forward, E experts,
//! H query heads, K key and value heads, G = H / K, D head size.
//!
//! There are two ways through the model. A [`Pass`](super::Pass) takes whole sequences, packed
//! end to end, and is what training uses. [`Qwen3::forward_cached`] continues rows whose
//! past lies in a [`KvCache`], and is what generation runs. They are equal up to rounding.
//!
//! In memory the projections that share an input are one matrix (query, key and value; gate and
//! up; all experts of a layer), because speed is the number of operations it needs. On disk they
//! have their published names; [`Qwen3::load`] joins them and [`Qwen3::published`] parts them
//! again.

use super::attention::{Attention, CachedStep, HeadNorms, Heads, Past, WholeStep, causal_mask};
use super::config::{Family, Qwen3Config};
use super::cpu;
use super::cpu_linear::CpuLinear;
use super::feed_forward::{Experts, FeedForward, Mlp};
use super::head::Head;
use super::kv_cache::{CacheRows, KvCache};
use super::linear::{FusedLinear, MakePart, Projection};
use super::load::{Fetch, LoadError, Weights};
use super::lora::{Lora, MakeAdapter};
use super::onednn::PackedWeight;
use super::packed::Packed;
use super::rope::Rope;
use std::collections::BTreeMap;
use tch::{Device, Kind, Tensor, no_grad_guard};

pub(super) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Tensor {
    x.rms_norm(weight.size(), Some(weight), eps)
}

#[derive(Debug)]
pub(super) struct DecoderLayer {
    input_layernorm: Tensor, // [C]
    attention: Attention,
    post_attention_layernorm: Tensor, // [C]
    feed_forward: FeedForward,
    eps: f64,
}

impl DecoderLayer {
    fn for_generation(&self, merge: bool, choice: CpuLinear) -> Self {
        Self {
            input_layernorm: self.input_layernorm.shallow_clone(),
            attention: self.attention.for_generation(merge, choice),
            post_attention_layernorm: self.post_attention_layernorm.shallow_clone(),
            feed_forward: self.feed_forward.for_generation(merge, choice),
            eps: self.eps,
        }
    }

    /// `[N, C]` to `[N, C]`.
    pub(super) fn forward(&self, x: &Tensor, step: &WholeStep) -> Tensor {
        let x = x + self.attention.forward(&rms_norm(x, &self.input_layernorm, self.eps), step);
        let y = self.feed_forward.forward(&rms_norm(&x, &self.post_attention_layernorm, self.eps));
        x + y
    }

    fn forward_cached(
        &self,
        x: &Tensor,
        step: &CachedStep<'_>,
        layer: usize,
        cache: &mut KvCache,
    ) -> Tensor {
        let on_cpu = cpu::takes(x);
        let norm = |x: &Tensor, gain: &Tensor| {
            if on_cpu { cpu::rms_norm(x, gain, self.eps) } else { rms_norm(x, gain, self.eps) }
        };
        let normed = norm(x, &self.input_layernorm);
        let x = x + self.attention.forward_cached(&normed, step, layer, cache);
        let normed = norm(&x, &self.post_attention_layernorm);
        let feed_forward = &self.feed_forward;
        x + if on_cpu { feed_forward.forward_cpu(&normed) } else { feed_forward.forward(&normed) }
    }

    fn linears(&self) -> Vec<(&'static str, &FusedLinear)> {
        let attention = &self.attention;
        let mut all = vec![
            ("self_attn.qkv_proj", &attention.qkv_proj),
            ("self_attn.o_proj", &attention.o_proj),
        ];
        match &self.feed_forward {
            FeedForward::Dense(mlp) => all.extend([
                ("mlp.gate_up_proj", &mlp.gate_up_proj),
                ("mlp.down_proj", &mlp.down_proj),
            ]),
            FeedForward::Experts(experts) => all.push(("mlp.gate", &experts.router)),
        }
        all
    }

    fn linears_mut(&mut self) -> Vec<&mut FusedLinear> {
        let attention = &mut self.attention;
        let mut all = vec![&mut attention.qkv_proj, &mut attention.o_proj];
        match &mut self.feed_forward {
            FeedForward::Dense(mlp) => all.extend([&mut mlp.gate_up_proj, &mut mlp.down_proj]),
            FeedForward::Experts(experts) => all.push(&mut experts.router),
        }
        all
    }

    /// Freezes everything but the adapters that `make` has.
    fn adapt(&mut self, scale: f64, make: &mut MakePart<'_>) -> Result<(), LoadError> {
        let norms = self.attention.norms.as_mut();
        let of_heads = norms.into_iter().flat_map(|norms| [&mut norms.query, &mut norms.key]);
        let of_layer = [&mut self.input_layernorm, &mut self.post_attention_layernorm];
        for gain in of_layer.into_iter().chain(of_heads) {
            *gain = gain.detach();
        }
        if let FeedForward::Experts(experts) = &mut self.feed_forward {
            experts.freeze();
        }
        self.linears_mut().into_iter().try_for_each(|linear| linear.adapt(scale, make))
    }

    fn gains(&self) -> Vec<(&'static str, &Tensor)> {
        let mut all = vec![("input_layernorm", &self.input_layernorm)];
        if let Some(norms) = &self.attention.norms {
            all.extend([("self_attn.q_norm", &norms.query), ("self_attn.k_norm", &norms.key)]);
        }
        all.push(("post_attention_layernorm", &self.post_attention_layernorm));
        all
    }

    fn experts(&self) -> Option<&Experts> {
        match &self.feed_forward {
            FeedForward::Dense(_) => None,
            FeedForward::Experts(experts) => Some(experts),
        }
    }

    /// The trainable parameters of the layer with this index, always in the same order.
    pub(super) fn parameters(&self, index: usize) -> Vec<Parameter> {
        let mut all = Vec::new();
        let mut add_as = |name: String, tensor: &Tensor| {
            all.extend(Parameter::if_trainable(format!("model.layers.{index}.{name}"), tensor));
        };
        let mut add = |name: &str, tensor: &Tensor| add_as(format!("{name}.weight"), tensor);
        for (name, gain) in self.gains() {
            add(name, gain);
        }
        for (name, linear) in self.linears() {
            add(name, linear.weight());
            for (part, down, up) in linear.adapters() {
                add(&format!("{part}.lora_A"), down);
                add(&format!("{part}.lora_B"), up);
            }
        }
        if let Some(experts) = self.experts() {
            add("mlp.experts.gate_up_proj", &experts.gate_up_proj);
            add("mlp.experts.down_proj", &experts.down_proj);
        }
        for (name, linear) in self.linears() {
            if let Some(bias) = linear.bias() {
                add_as(format!("{name}.bias"), bias);
            }
        }
        all
    }

    /// The weights under their published names below the layer.
    fn published(&self) -> Vec<(String, Tensor)> {
        let gain = |(name, gain): (&str, &Tensor)| (format!("{name}.weight"), gain.detach());
        let mut all: Vec<(String, Tensor)> = self.gains().into_iter().map(gain).collect();
        for Projection { name, weight, bias } in
            self.linears().into_iter().flat_map(|(_, linear)| linear.published())
        {
            all.push((format!("{name}.weight"), weight));
            all.extend(bias.map(|bias| (format!("{name}.bias"), bias)));
        }
        for (expert, (gate, up, down)) in
            self.experts().into_iter().flat_map(Experts::each).enumerate()
        {
            for (name, tensor) in [("gate_proj", gate), ("up_proj", up), ("down_proj", down)] {
                all.push((format!("mlp.experts.{expert}.{name}.weight"), tensor));
            }
        }
        all
    }
}

/// One trainable tensor, as it lies in memory.
#[derive(Debug)]
pub struct Parameter {
    /// Its path; joined projections are called `qkv_proj` and `gate_up_proj`, joined experts
    /// `experts.gate_up_proj` and `experts.down_proj`.
    pub name: String,
    /// The leaf itself, sharing storage with the model.
    pub tensor: Tensor,
    /// Whether weight decay applies: to matrices, not to gains and biases.
    pub decays: bool,
}

impl Parameter {
    /// `tensor`, unless it is frozen.
    fn if_trainable(name: String, tensor: &Tensor) -> Option<Self> {
        let decays = tensor.dim() >= 2;
        tensor.requires_grad().then(|| Self { name, tensor: tensor.shallow_clone(), decays })
    }
}

/// New tokens of rows whose past is cached.
#[derive(Debug, Clone, Copy)]
pub struct NewTokens<'a> {
    /// `[B, T]`.
    pub ids: &'a Tensor,
    /// `[B, T]`; padding comes last in a row and stands at the cache's scratch place.
    pub positions: &'a Tensor,
    /// The rows of the cache, B of them.
    pub rows: &'a CacheRows,
    /// Every position below it may be looked at, and all positions but padding's are.
    pub reach: i64,
    /// Whether all rows begin with these tokens. The caller knows, where the device would have to
    /// be asked.
    pub all_begin: bool,
}

/// A decoder of Qwen3 or Qwen2.5 with its output layer.
#[derive(Debug)]
pub struct Qwen3 {
    config: Qwen3Config,
    embed_tokens: Tensor, // [V, C]
    layers: Vec<DecoderLayer>,
    norm: Tensor,            // [C]
    lm_head: Option<Tensor>, // [V, C]; none when tied to the embedding
    /// The output layer once more, for oneDNN, where generation uses it.
    packed_head: Option<PackedWeight>,
    rope: Rope,
    lora: Option<Lora>,
}

const EMBED_TOKENS: &str = "model.embed_tokens.weight";
const NORM: &str = "model.norm.weight";
const LM_HEAD: &str = "lm_head.weight";

/// The published name of a projection, its outputs O' and its inputs I.
type ProjectionShape = (&'static str, i64, i64);

/// Projections as one linear layer, from weights and biases of a layer by their names below it.
fn fused(
    projections: &[ProjectionShape],
    has_bias: bool,
    leaf: &dyn Fn(&Tensor) -> Tensor,
    get: &mut Fetch<'_>,
) -> Result<FusedLinear, LoadError> {
    let fetched = projections.iter().map(|&(name, outputs, inputs)| {
        let weight = get(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = has_bias.then(|| get(&format!("{name}.bias"), &[outputs])).transpose()?;
        Ok(Projection { name, weight, bias })
    });
    let fetched: Result<Vec<_>, LoadError> = fetched.collect();
    Ok(FusedLinear::join(fetched?, leaf))
}

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

    pub(super) fn build(
        config: &Qwen3Config,
        kind: Kind,
        device: Device,
        fetch: &mut Fetch<'_>,
    ) -> Result<Self, LoadError> {
        let c = config.hidden_size;
        let heads @ Heads { query: h, key: k, size: d } = Heads::from_config(config);
        let f = config.intermediate_size;
        let eps = config.rms_norm_eps;
        let leaf = |tensor: &Tensor| {
            tensor.to_kind(kind).to_device(device).contiguous().detach().set_requires_grad(true)
        };
        let embed_tokens = leaf(&fetch(EMBED_TOKENS, &[config.vocab_size, c])?);
        let mut layers = Vec::new();
        for index in 0..config.num_hidden_layers {
            let mut get =
                |name: &str, shape: &[i64]| fetch(&format!("model.layers.{index}.{name}"), shape);
            let of_heads = [
                ("self_attn.q_proj", h * d, c),
                ("self_attn.k_proj", k * d, c),
                ("self_attn.v_proj", k * d, c),
            ];
            let has_bias = config.family == Family::Qwen2;
            let qkv_proj = fused(&of_heads, has_bias, &leaf, &mut get)?;
            let mut linear =
                |projections: &[ProjectionShape]| fused(projections, false, &leaf, &mut get);
            let o_proj = linear(&[("self_attn.o_proj", c, h * d)])?;
            let feed_forward = match config.mixture_of(index) {
                None => FeedForward::Dense(Mlp {
                    gate_up_proj: linear(&[("mlp.gate_proj", f, c), ("mlp.up_proj", f, c)])?,
                    down_proj: linear(&[("mlp.down_proj", c, f)])?,
                }),
                Some(mixture) => {
                    let router = linear(&[("mlp.gate", mixture.experts, c)])?;
                    let mut weight =
                        |name: &str, shape: &[i64]| get(&format!("{name}.weight"), shape);
                    FeedForward::Experts(Experts::fetch(mixture, c, router, &leaf, &mut weight)?)
                }
            };
            let mut gain = |name: &str, width: i64| {
                Ok::<_, LoadError>(leaf(&get(&format!("{name}.weight"), &[width])?))
            };
            let norms = match config.family {
                Family::Qwen2 => None,
                Family::Qwen3 => {
                    Some(HeadNorms::new(gain("self_attn.q_norm", d)?, gain("self_attn.k_norm", d)?))
                }
            };
            layers.push(DecoderLayer {
                input_layernorm: gain("input_layernorm", c)?,
                attention: Attention { qkv_proj, o_proj, norms, heads, eps },
                post_attention_layernorm: gain("post_attention_layernorm", c)?,
                feed_forward,
                eps,
            });
        }
        let norm = leaf(&fetch(NORM, &[c])?);
        let lm_head = if config.tie_word_embeddings {
            None
        } else {
            Some(leaf(&fetch(LM_HEAD, &[config.vocab_size, c])?))
        };
        let rope = Rope::new(config, kind, device);
        Ok(Self {
            config: config.clone(),
            embed_tokens,
            layers,
            norm,
            lm_head,
            packed_head: None,
            rope,
            lora: None,
        })
    }

    /// The model as generation runs it, until its weights change. It shares them, but for copies
    /// of what would otherwise be joined anew at every step; with `merge_adapters`, also of every
    /// matrix that has adapters, which are merged into it (rounded once, from f32); and of matrices
    /// for which `choice` uses oneDNN.
    #[must_use]
    pub fn for_generation(&self, merge_adapters: bool, choice: CpuLinear) -> Self {
        let _guard = no_grad_guard();
        let layer = |layer: &DecoderLayer| layer.for_generation(merge_adapters, choice);
        let layers = self.layers.iter().map(layer).collect();
        Self {
            packed_head: PackedWeight::new(self.head().weight, choice),
            config: self.config.clone(),
            embed_tokens: self.embed_tokens.shallow_clone(),
            layers,
            norm: self.norm.shallow_clone(),
            lm_head: self.lm_head.as_ref().map(Tensor::shallow_clone),
            rope: self.rope.shared(),
            lora: self.lora.clone().filter(|_| !merge_adapters),
        }
    }

    /// The model with its adapters merged into its matrices, for those who only generate.
    #[must_use]
    pub fn merged(self) -> Self {
        let _guard = no_grad_guard();
        // A layer at a time, so that no more than one is there twice.
        let layer = |layer: DecoderLayer| layer.for_generation(true, CpuLinear::Mkl);
        let layers = self.layers.into_iter().map(layer).collect();
        Self { layers, lora: None, ..self }
    }

    /// Freezes all weights and puts adapters beside the projections with the given published
    /// names. Adapters that were there are lost.
    pub(super) fn adapt(
        &mut self,
        lora: Lora,
        targets: &[&str],
        scale: f64,
        make: &mut MakeAdapter<'_>,
    ) -> Result<(), LoadError> {
        let mut missing: Vec<&str> = targets.to_vec();
        for (index, layer) in self.layers.iter_mut().enumerate() {
            layer.adapt(scale, &mut |name, outputs, inputs| {
                if !targets.contains(&name) {
                    return Ok(None);
                }
                missing.retain(|target| *target != name);
                make(&format!("model.layers.{index}.{name}"), outputs, inputs).map(Some)
            })?;
        }
        if let Some(target) = missing.first() {
            return Err(LoadError::NoProjection((*target).to_owned()));
        }
        self.embed_tokens = self.embed_tokens.detach();
        self.norm = self.norm.detach();
        self.lm_head = self.lm_head.take().map(|head| head.detach());
        self.lora = Some(lora);
        Ok(())
    }

    /// Its adapters, if it has any.
    pub fn lora(&self) -> Option<&Lora> {
        self.lora.as_ref()
    }

    /// The configuration that the model was made with.
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

    /// The input of the first layer: ids of any shape `[..]` to embeddings `[.., C]`.
    pub(super) fn embed(&self, ids: &Tensor) -> Tensor {
        Tensor::embedding(&self.embed_tokens, ids, -1, false, false)
    }

    /// The inputs that all layers share in a pass over `packed`.
    pub(super) fn whole_step(&self, packed: &Packed) -> WholeStep {
        let angles = self.rope.at(&packed.positions);
        WholeStep::new(packed, angles, self.kind())
    }

    /// The layers, first to last.
    pub(super) fn layers(&self) -> &[DecoderLayer] {
        &self.layers
    }

    /// The final hidden states of whole sequences, `[N, C]`, without gradient and without what
    /// a [`Pass`](super::Pass) keeps for one.
    pub fn hidden(&self, packed: &Packed) -> Tensor {
        let _guard = no_grad_guard();
        let step = self.whole_step(packed);
        let x = self.embed(&packed.ids);
        self.layers.iter().fold(x, |x, layer| layer.forward(&x, &step))
    }

    /// Logits `[N, V]` in f32 of whole sequences, without gradient.
    pub fn forward(&self, packed: &Packed) -> Tensor {
        let _guard = no_grad_guard();
        self.logits(&self.hidden(packed))
    }

    /// The final hidden states of new tokens: `[B, T, C]`. Their keys and values join `cache`.
    pub fn forward_cached(&self, new: &NewTokens<'_>, cache: &mut KvCache) -> Tensor {
        let _guard = no_grad_guard();
        let &NewTokens { ids, positions, rows, reach, .. } = new;
        let mut x = self.embed(ids);
        let past = self.past(&x, new);
        let (index, angles) = (rows.index(positions.device()), self.rope.at(positions));
        let step = CachedStep { rows, index, positions, reach, angles, past };
        for (index, layer) in self.layers.iter().enumerate() {
            x = layer.forward_cached(&x, &step, index, cache);
        }
        x
    }

    /// The cached positions that new tokens, embedded as `x`, attend to.
    fn past(&self, x: &Tensor, new: &NewTokens<'_>) -> Past {
        let &NewTokens { positions, reach, .. } = new;
        let (_, width) = positions.size2().expect("positions are [B, T]");
        if width == 1 && cpu::takes(x) && cpu::takes_heads(Heads::from_config(&self.config)) {
            let places = Vec::<i64>::try_from(positions.view([-1])).expect("positions are i64");
            // Padding stands beyond the reach.
            let length = |place: i64| if place < reach { place + 1 } else { 0 };
            let lengths = places.into_iter().map(|place| usize::try_from(length(place)));
            return Past::Places(lengths.map(|length| length.unwrap_or(0)).collect());
        }
        // Padding comes last, so that no token attends to it.
        if width > 1 && new.all_begin {
            return Past::None;
        }
        Past::Mask(causal_mask(positions, reach, self.config.group_size(), self.kind()))
    }

    /// Final hidden states `[N, C]` to logits `[N, V]` in f32, without gradient.
    pub fn logits(&self, hidden: &Tensor) -> Tensor {
        self.head().logits(hidden)
    }

    pub(super) fn head(&self) -> Head<'_> {
        let weight = self.lm_head.as_ref().unwrap_or(&self.embed_tokens);
        let packed = self.packed_head.as_ref();
        Head { norm: &self.norm, weight, packed, eps: self.config.rms_norm_eps }
    }

    /// The trainable parameters, always in the same order.
    pub fn parameters(&self) -> Vec<Parameter> {
        let layers = self.layers.iter().enumerate();
        let mut all: Vec<Parameter> = self.embedding().into_iter().collect();
        all.extend(layers.flat_map(|(index, layer)| layer.parameters(index)));
        // A tied output layer is the embedding, which is there already.
        all.extend(self.norm_parameter());
        all.extend(
            self.lm_head.as_ref().and_then(|head| Parameter::if_trainable(LM_HEAD.into(), head)),
        );
        all
    }

    /// The embedding, if it is trained.
    pub(super) fn embedding(&self) -> Option<Parameter> {
        Parameter::if_trainable(EMBED_TOKENS.into(), &self.embed_tokens)
    }

    /// The output layer, if it is trained: the embedding where they are tied.
    pub(super) fn head_parameter(&self) -> Option<Parameter> {
        match &self.lm_head {
            Some(head) => Parameter::if_trainable(LM_HEAD.into(), head),
            None => self.embedding(),
        }
    }

    /// The gain of the last norm, if it is trained.
    pub(super) fn norm_parameter(&self) -> Option<Parameter> {
        Parameter::if_trainable(NORM.into(), &self.norm)
    }

    /// The weights under their published names, adapters merged in; views where nothing was
    /// joined or merged.
    pub fn published(&self) -> BTreeMap<String, Tensor> {
        let mut all = BTreeMap::from([
            (EMBED_TOKENS.to_owned(), self.embed_tokens.detach()),
            (NORM.to_owned(), self.norm.detach()),
        ]);
        all.extend(self.lm_head.iter().map(|head| (LM_HEAD.to_owned(), head.detach())));
        for (index, layer) in self.layers.iter().enumerate() {
            let below = |(name, tensor)| (format!("model.layers.{index}.{name}"), tensor);
            all.extend(layer.published().into_iter().map(below));
        }
        all
    }
}
