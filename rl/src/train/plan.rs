//! The memory plan: how much device memory a run needs, computed before it begins.
//!
//! The KV cache gets what is left beside everything else; at least one sequence of full length must
//! fit into it.
//!
//! Sizes follow from the model's shape and the settings; no tensor is made. What libtorch needs
//! besides (kernels, fragmentation) is added as a share.

use crate::generate::engine::{PREFILL_PAIRS, PREFILL_TOKENS};
use crate::model::{CpuLinear, KvCache, LoraSettings, LoraTarget, Qwen3Config};
use crate::optim::{MomentStore, PIECE};
use crate::rollout::RolloutSettings;
use crate::train::batch::Memory;
use crate::train::grpo::TrainSettings;
use crate::train::presets::Dtype;
use std::fmt;
use tasks::units::ByteSize;
use tch::Device;

/// Memory of libtorch itself, as a share of the tensors: kernels, handles, and fragmentation of its
/// allocator.
const OVERHEAD: f64 = 0.08;
/// The name of the copies that oneDNN needs.
const PACKED: &str = "weights packed for oneDNN";
/// If the KV cache holds fewer sequences of full length than this, a smaller optimizer is chosen.
const ENOUGH: usize = 12;

/// When memory is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPhase {
    /// During the whole run.
    Always,
    /// While gradients are computed and applied.
    Update,
    /// While episodes are generated.
    Rollout,
    /// In the computer's memory, not the device's.
    Host,
}

/// The memory of one purpose.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryItem {
    /// The purpose, as the table shows it.
    pub name: &'static str,
    /// The phase in which it is needed.
    pub phase: MemoryPhase,
    /// The size in bytes.
    pub bytes: u64,
}

/// The memory of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryPlan {
    /// The items of the plan, one per purpose and phase.
    pub items: Vec<MemoryItem>,
}

/// Why a run was refused.
#[derive(Debug, thiserror::Error)]
pub enum MemoryPlanError {
    /// It does not fit.
    #[error(
        "this run needs {} of memory and the device has {}:\n{plan}\n{}",
        gib(.plan.peak()), gib(*.limit), plan.advice(*.limit)
    )]
    TooLarge {
        /// The plan of the run.
        plan: Box<MemoryPlan>,
        /// What there is, in bytes.
        limit: u64,
    },
    /// There is no room to generate.
    #[error(
        "weights and one conversation of full length need {} of memory and the device has {}:\n{plan}\nlower `rollout.max_model_len` (`--max-model-len`), or take a smaller policy",
        gib(.plan.peak()), gib(*.limit)
    )]
    NoRoom {
        /// The plan of weights and one sequence.
        plan: Box<MemoryPlan>,
        /// What there is, in bytes.
        limit: u64,
    },
}

/// What decides the memory of updates.
#[derive(Debug, Clone, Copy)]
pub struct Updates<'a> {
    /// The type of weights and activations.
    pub dtype: Dtype,
    /// Adapters, if they are trained instead of the model.
    pub lora: Option<&'a LoraSettings>,
    /// What bounds a pass.
    pub memory: Memory,
    /// How the optimizer's moments are kept.
    pub moments: MomentStore,
    /// The longest sequence, in tokens.
    pub longest: usize,
}

impl MemoryPlan {
    /// Of a run with these settings and a model of this shape on `device`.
    pub fn new(settings: &TrainSettings, config: &Qwen3Config, device: Device) -> Self {
        let updates = Updates {
            dtype: settings.dtype,
            lora: settings.lora.as_ref(),
            memory: settings.memory,
            moments: settings.adam.optim,
            longest: settings.rollout.max_model_len,
        };
        let mut plan = Self::of_updates(&updates, config, device);
        if settings.rollout.engine.is_some() {
            // Other machines generate.
            return plan;
        }
        let narrow = bytes_of(settings.dtype);
        let mut add = |name, phase, bytes| plan.items.push(MemoryItem { name, phase, bytes });
        if let Some(lora) = settings.lora.as_ref().filter(|_| settings.rollout.merges_adapters()) {
            let merged = merged_parameters(lora, config) * narrow;
            add("weights with adapters merged in", MemoryPhase::Rollout, merged);
        }
        plan.add_rollout(&settings.rollout, config, settings.dtype, device);
        plan
    }

    /// Of updates alone, as those of `rl sft`.
    pub fn of_updates(updates: &Updates<'_>, config: &Qwen3Config, device: Device) -> Self {
        let wide = 4;
        let narrow = bytes_of(updates.dtype);
        let parameters = count(config.parameter_count());
        let trained = updates.lora.map_or(parameters, |lora| adapter_parameters(lora, config));
        let frozen_and_adapters =
            if updates.lora.is_some() { parameters + trained } else { parameters };
        let tokens = count(updates.memory.max_tokens_per_micro_batch.max(updates.longest));
        let mut items = Vec::new();
        let mut add = |name, phase, bytes| items.push(MemoryItem { name, phase, bytes });

        add("weights", MemoryPhase::Always, frozen_and_adapters * narrow);
        if updates.dtype != Dtype::F32 {
            add("weights in f32, for the optimizer", MemoryPhase::Always, trained * wide);
        }
        let (place, bytes) = match updates.moments {
            MomentStore::Full => (MemoryPhase::Always, 2 * wide),
            MomentStore::EightBit => (MemoryPhase::Always, 2),
            // Without a GPU there is no other place.
            MomentStore::Offload if device == Device::Cpu => (MemoryPhase::Always, 2 * wide),
            MomentStore::Offload => (MemoryPhase::Host, 2 * wide),
        };
        add("moments", place, trained * bytes);

        add("gradients in f32", MemoryPhase::Update, trained * wide);
        let largest =
            if updates.lora.is_some() { 0 } else { count(config.vocab_size * config.hidden_size) };
        add("one matrix's gradient on its way", MemoryPhase::Update, largest * narrow);
        add("one piece's update", MemoryPhase::Update, trained.min(count(PIECE)) * wide * 5);
        let layers = count(config.num_hidden_layers);
        let inputs = tokens * count(config.hidden_size) * narrow;
        let inside = tokens * activations(config) * narrow;
        if updates.memory.gradient_checkpointing {
            add("inputs of layers", MemoryPhase::Update, layers * inputs);
            // As much again for the gradients of what is inside.
            add("one layer's activations", MemoryPhase::Update, 2 * inside);
        } else {
            add(
                "all layers' activations",
                MemoryPhase::Update,
                layers * (inputs + inside) + inside,
            );
        }
        if updates.memory.share_prefixes {
            // At most: of each token and each that it may look at.
            let masks = tokens * count(updates.longest) * narrow;
            add("masks of shared prefixes", MemoryPhase::Update, masks);
        }
        add("logits", MemoryPhase::Update, logits(&updates.memory, config, narrow));
        Self { items }
    }

    /// Of policies with `weights` bytes in all, of which one at a time, of this shape, generates.
    fn of_generation(
        weights: u64,
        settings: &RolloutSettings,
        config: &Qwen3Config,
        (dtype, device): (Dtype, Device),
    ) -> Self {
        let items =
            vec![MemoryItem { name: "weights", phase: MemoryPhase::Always, bytes: weights }];
        let mut plan = Self { items };
        plan.add_rollout(settings, config, dtype, device);
        plan
    }

    fn add_rollout(
        &mut self,
        settings: &RolloutSettings,
        config: &Qwen3Config,
        dtype: Dtype,
        device: Device,
    ) {
        let narrow = bytes_of(dtype);
        let mut add =
            |name, bytes| self.items.push(MemoryItem { name, phase: MemoryPhase::Rollout, bytes });
        if device == Device::Cpu && dtype == Dtype::F32 {
            let packed = packed_parameters(settings.cpu_linear, config) * narrow;
            if packed > 0 {
                add(PACKED, packed);
            }
        }
        let all_rows = full_cache(settings, config, dtype);
        let cache = settings.cache.map_or(all_rows, ByteSize::bytes).min(all_rows);
        add("keys and values", cache);
        add("one layer's, while they grow", cache / count(2 * config.num_hidden_layers));
        let vocab = count(config.vocab_size);
        let reading = count(PREFILL_TOKENS) * activations(config) * narrow / 2;
        let longest =
            PREFILL_PAIRS.min(settings.max_model_len.saturating_mul(settings.max_model_len));
        let mask = count(longest) * count(config.group_size()) * narrow;
        add("reading prompts", reading + mask + 3 * count(settings.max_num_seqs) * vocab * 4);
    }

    fn sum(&self, phase: MemoryPhase) -> u64 {
        self.items.iter().filter(|item| item.phase == phase).map(|item| item.bytes).sum()
    }

    /// The most that is needed at once, libtorch's own share included.
    pub fn peak(&self) -> u64 {
        let most = self.sum(MemoryPhase::Update).max(self.sum(MemoryPhase::Rollout));
        let bytes = (self.sum(MemoryPhase::Always) + most) as f64 * (1.0 + OVERHEAD);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "far below 2^53"
        )]
        let bytes = bytes as u64;
        bytes
    }

    /// What to do if this does not fit into `limit` bytes.
    fn advice(&self, limit: u64) -> &'static str {
        let bytes =
            |name| self.items.iter().find(|item| item.name == name).map_or(0, |it| it.bytes);
        let weights = ["weights", "weights in f32, for the optimizer", "gradients in f32"];
        if weights.into_iter().map(bytes).sum::<u64>() > limit {
            "weights, their f32 copies and gradients alone do not fit, so no setting of the whole \
             model does. Train adapters instead, with `--set lora.rank=32`; or train it on several \
             GPUs with an engine for that (verl, SkyRL, TRL), for which `sandbox serve` is the \
             environment (docs/OPENENV.md)"
        } else if bytes(PACKED) > 0 {
            "set `rollout.cpu_linear=mkl`, which needs no packed weights and may be slower; lower \
             `rollout.cache`, `rollout.max_model_len` or `memory.max_tokens_per_micro_batch`, or \
             train adapters with `--set lora.rank=32`"
        } else {
            "lower `rollout.cache`, `rollout.max_model_len` or \
             `memory.max_tokens_per_micro_batch`, set `adam.optim` to `adamw-8bit` or \
             `adamw-offload`, or train adapters with `--set lora.rank=32`; `rl plan` looks for \
             settings that fit"
        }
    }

    /// Refuses what does not fit.
    ///
    /// # Errors
    /// [`MemoryPlanError::TooLarge`] with the table.
    pub fn fit(self, limit: u64) -> Result<Self, MemoryPlanError> {
        if self.peak() <= limit {
            Ok(self)
        } else {
            Err(MemoryPlanError::TooLarge { plan: self.into(), limit })
        }
    }
}

impl fmt::Display for MemoryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for phase in
            [MemoryPhase::Always, MemoryPhase::Update, MemoryPhase::Rollout, MemoryPhase::Host]
        {
            let items = || self.items.iter().filter(|item| item.phase == phase);
            let title = match phase {
                MemoryPhase::Always => "always",
                MemoryPhase::Update => "while updating",
                MemoryPhase::Rollout => "while generating",
                MemoryPhase::Host => "in the computer's memory",
            };
            if items().next().is_none() {
                continue;
            }
            writeln!(f, "{title:<40}{:>12}", gib(self.sum(phase)))?;
            for MemoryItem { name, bytes, .. } in items() {
                writeln!(f, "  {name:<38}{:>12}", gib(*bytes))?;
            }
        }
        write!(f, "{:<40}{:>12}", "at most, with libtorch's own share", gib(self.peak()))
    }
}

/// Settings that fit into `limit` bytes and a model of this shape: the given ones, or those with
/// the largest moments that leave room for twelve conversations of full length, or the smallest
/// moments. The cache gets what is left, if it is not given. Moments are offloaded only if they
/// fit into `host` bytes of the computer's memory.
///
/// # Errors
/// [`MemoryPlanError::TooLarge`] with the smallest that was tried.
pub fn choose(
    settings: &TrainSettings,
    config: &Qwen3Config,
    device: Device,
    limit: u64,
    host: u64,
) -> Result<(TrainSettings, MemoryPlan), MemoryPlanError> {
    let stores = [MomentStore::Full, MomentStore::EightBit, MomentStore::Offload];
    let given = settings.adam.optim;
    let mut chosen = filled(settings, config, device, limit);
    for moments in stores.into_iter().skip_while(|store| *store != given).skip(1) {
        if chosen.as_ref().is_ok_and(|(found, _)| has_enough(found, settings, config)) {
            break;
        }
        let mut tried = settings.clone();
        tried.adam.optim = moments;
        if MemoryPlan::new(&tried, config, device).sum(MemoryPhase::Host) <= host {
            chosen = filled(&tried, config, device, limit);
        }
    }
    chosen
}

/// The settings, with a cache of what `limit` leaves for it beside everything else if none is
/// given, and their plan. Adapters are merged for generation where that leaves room for twelve
/// conversations of full length, if nothing else is asked for.
///
/// # Errors
/// [`MemoryPlanError::TooLarge`] if there is no room for a single conversation of full length, or
/// if the settings do not fit as they are.
pub fn filled(
    settings: &TrainSettings,
    config: &Qwen3Config,
    device: Device,
    limit: u64,
) -> Result<(TrainSettings, MemoryPlan), MemoryPlanError> {
    if settings.rollout.engine.is_some() {
        // There is no cache to fill.
        let plan = MemoryPlan::new(settings, config, device);
        return Ok((settings.clone(), plan.fit(limit)?));
    }
    if settings.lora.is_some() && settings.rollout.merge_adapters.is_none() {
        let with = |merge: bool| {
            let mut tried = settings.clone();
            tried.rollout.merge_adapters = Some(merge);
            filled(&tried, config, device, limit)
        };
        let merged = with(true);
        let is_roomy = merged.as_ref().is_ok_and(|(found, _)| has_enough(found, settings, config));
        return if is_roomy { merged } else { with(false) };
    }
    let of = |cache: Option<ByteSize>| {
        let mut tried = settings.clone();
        tried.rollout.cache = cache;
        let plan = MemoryPlan::new(&tried, config, device);
        (tried, plan)
    };
    let cache = settings.rollout.cache.unwrap_or_else(|| {
        let fits = |cache: ByteSize| of(Some(cache)).1.peak() <= limit;
        largest(&settings.rollout, config, settings.dtype, &fits)
    });
    let (tried, plan) = of(Some(cache));
    Ok((tried, plan.fit(limit)?))
}

/// What is left of `limit` bytes for the cache beside policies with `weights` bytes in all, of
/// which one at a time, of this shape, generates; at most room for all rows.
///
/// # Errors
/// [`MemoryPlanError::NoRoom`] if a single conversation of full length does not fit.
pub fn cache_beside(
    weights: u64,
    settings: &RolloutSettings,
    config: &Qwen3Config,
    (dtype, device): (Dtype, Device),
    limit: u64,
) -> Result<ByteSize, MemoryPlanError> {
    let plan = |cache: ByteSize| {
        let tried = RolloutSettings { cache: Some(cache), ..settings.clone() };
        MemoryPlan::of_generation(weights, &tried, config, (dtype, device))
    };
    let cache = largest(settings, config, dtype, &|cache| plan(cache).peak() <= limit);
    match plan(cache).fit(limit) {
        Ok(_) => Ok(cache),
        Err(_) => Err(MemoryPlanError::NoRoom { plan: plan(cache).into(), limit }),
    }
}

/// The largest cache that `fits`, in whole MiB, between room for one conversation of full length
/// and room for all; the former, if nothing does.
fn largest(
    settings: &RolloutSettings,
    config: &Qwen3Config,
    dtype: Dtype,
    fits: &dyn Fn(ByteSize) -> bool,
) -> ByteSize {
    let mib = 1 << 20;
    let mut low = row(settings.max_model_len, config, dtype).div_ceil(mib);
    let mut high = full_cache(settings, config, dtype).div_ceil(mib);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(ByteSize::mib(middle)) { low = middle } else { high = middle - 1 }
    }
    ByteSize::mib(low)
}

/// Whether the cache that was `found` holds twelve conversations of full length, or is as `given`.
fn has_enough(found: &TrainSettings, given: &TrainSettings, config: &Qwen3Config) -> bool {
    let conversations = count(given.rollout.max_num_seqs.min(ENOUGH));
    let enough = conversations * row(given.rollout.max_model_len, config, given.dtype);
    given.rollout.engine.is_some()
        || given.rollout.cache.is_some()
        || found.rollout.cache.is_some_and(|cache| cache.bytes() >= enough)
}

/// How many conversations the cache holds at a time if they are as long as can be, and if they
/// have a quarter of that.
pub fn held(settings: &TrainSettings, config: &Qwen3Config) -> (usize, usize) {
    let all_rows = full_cache(&settings.rollout, config, settings.dtype);
    let cache = settings.rollout.cache.map_or(all_rows, ByteSize::bytes);
    let fit = |context: usize| {
        let fit = cache / row(context, config, settings.dtype);
        usize::try_from(fit).unwrap_or(usize::MAX).min(settings.rollout.max_num_seqs)
    };
    (fit(settings.rollout.max_model_len), fit(settings.rollout.max_model_len / 4))
}

/// Keys and values of all rows at full length.
fn full_cache(settings: &RolloutSettings, config: &Qwen3Config, dtype: Dtype) -> u64 {
    count(settings.max_num_seqs) * row(settings.max_model_len, config, dtype)
}

/// Bytes of one element.
fn bytes_of(dtype: Dtype) -> u64 {
    count(dtype.kind().elt_size_in_bytes())
}

/// Keys and values of one conversation of `context` tokens, as far as the model goes.
fn row(context: usize, config: &Qwen3Config, dtype: Dtype) -> u64 {
    let longest = usize::try_from(config.max_position_embeddings).unwrap_or(usize::MAX);
    count(context.min(longest) + 1) * count(KvCache::token_bytes(config, dtype.kind()))
}

/// Logits, their f32 copy, log-probabilities, and the gradients of the two.
fn logits(memory: &Memory, config: &Qwen3Config, narrow: u64) -> u64 {
    count(memory.logit_tokens) * count(config.vocab_size) * (2 * narrow + 3 * 4)
}

/// Elements that one layer keeps of one token for its way back: what goes into every product
/// and every function that is not linear.
fn activations(config: &Qwen3Config) -> u64 {
    let (c, d) = (config.hidden_size, config.head_dim);
    let (h, k) = (config.num_attention_heads, config.num_key_value_heads);
    let attention = 3 * c + (h + 2 * k) * d + 4 * (h + k) * d + 2 * h * d;
    let dense = 3 * c + 4 * config.intermediate_size;
    let feed_forward = config.mixture.as_ref().map_or(dense, |mixture| {
        let visits = mixture.per_token * (4 * mixture.intermediate_size + 3 * c);
        3 * c + 2 * mixture.experts + visits
    });
    count(attention + feed_forward)
}

/// Weights of all adapters.
pub(crate) fn adapter_parameters(lora: &LoraSettings, config: &Qwen3Config) -> u64 {
    let (c, d, f) = (config.hidden_size, config.head_dim, config.intermediate_size);
    let (q, k) = (config.num_attention_heads * d, config.num_key_value_heads * d);
    let dense =
        (0..config.num_hidden_layers).filter(|layer| config.mixture_of(*layer).is_none()).count();
    let (all, dense) = (count(config.num_hidden_layers), count(dense));
    let of = |target: &LoraTarget| match target {
        LoraTarget::QProj | LoraTarget::OProj => all * count(lora.rank * (c + q)),
        LoraTarget::KProj | LoraTarget::VProj => all * count(lora.rank * (c + k)),
        LoraTarget::GateProj | LoraTarget::UpProj | LoraTarget::DownProj => {
            dense * count(lora.rank * (c + f))
        }
    };
    lora.targets.iter().map(of).sum()
}

/// Weights of the matrices that adapters are merged into: joined ones are copied whole.
fn merged_parameters(lora: &LoraSettings, config: &Qwen3Config) -> u64 {
    use LoraTarget::{DownProj, GateProj, KProj, OProj, QProj, UpProj, VProj};
    let (c, d, f) = (config.hidden_size, config.head_dim, config.intermediate_size);
    let (q, k) = (config.num_attention_heads * d, config.num_key_value_heads * d);
    let any = |targets: &[LoraTarget], weights: i64| {
        if targets.iter().any(|target| lora.targets.contains(target)) { weights } else { 0 }
    };
    let attention = any(&[QProj, KProj, VProj], c * (q + 2 * k)) + any(&[OProj], c * q);
    let dense = any(&[GateProj, UpProj], 2 * c * f) + any(&[DownProj], c * f);
    let layer = |layer: i64| attention + if config.mixture_of(layer).is_none() { dense } else { 0 };
    count((0..config.num_hidden_layers).map(layer).sum::<i64>())
}

/// Weights of the matrices that generation on a CPU has once more, for oneDNN.
fn packed_parameters(choice: CpuLinear, config: &Qwen3Config) -> u64 {
    let (c, d, f) = (config.hidden_size, config.head_dim, config.intermediate_size);
    let (q, k) = (config.num_attention_heads * d, config.num_key_value_heads * d);
    let packed =
        |outputs: i64, inputs: i64| choice.rows(outputs, inputs).map_or(0, |_| outputs * inputs);
    let attention = packed(q + 2 * k, c) + packed(c, q);
    let feed_forward = |layer: i64| match config.mixture_of(layer) {
        None => packed(2 * f, c) + packed(c, f),
        Some(mixture) => packed(mixture.experts, c),
    };
    let layers = (0..config.num_hidden_layers).map(|layer| attention + feed_forward(layer));
    count(layers.sum::<i64>() + packed(config.vocab_size, c))
}

/// Counts are positive and small beside 2^64.
fn count(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or(u64::MAX)
}

fn gib(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Family, KvCache, Lora, Published, Qwen3};
    use crate::optim::{AdamConfig, AdamW};
    use crate::run::settings::resolve;
    use crate::train::presets::Scale;
    use tasks::stream::Stream;
    use tch::{Kind, Tensor};
    use toml::Table;

    const H200: Device = Device::Cuda(0);
    /// Its memory by its name.
    const GPU: u64 = 141 << 30;
    /// The memory of the computer that it is in.
    const HOST: u64 = 128 << 30;

    fn large() -> TrainSettings {
        TrainSettings::defaults(Scale::Large)
    }

    fn bytes(plan: &MemoryPlan, name: &str) -> u64 {
        plan.items.iter().find(|item| item.name == name).map_or(0, |item| item.bytes)
    }

    #[test]
    fn plan_of_eight_billion_weights_fits_one_gpu() {
        let config = Published::named("qwen3-8b").unwrap().config();
        // 2 bytes of weights, 4 each of f32 weights, gradients and two moments: 147 GB of 151.
        assert!(MemoryPlan::new(&large(), &config, H200).fit(GPU).is_err());
        let (full, plan) = choose(&large(), &config, H200, GPU, HOST).unwrap();
        let fits = |settings: &TrainSettings, plan: &MemoryPlan| {
            let (long, short) = held(settings, &config);
            assert!(plan.peak() <= GPU && plan.peak() > GPU - (1 << 30), "{plan}");
            assert_eq!(settings.rollout.max_num_seqs, 64);
            (settings.adam.optim, long, short)
        };
        assert_eq!(fits(&full, &plan), (MomentStore::EightBit, 14, 59));
        let adapters = TrainSettings { lora: Some(LoraSettings::default()), ..large() };
        let (adapters, plan) = choose(&adapters, &config, H200, GPU, HOST).unwrap();
        assert_eq!(fits(&adapters, &plan), (MomentStore::Full, 21, 64));
    }

    #[test]
    fn qwen2_5_of_seven_billion_weights_fits_one_gpu() {
        let config = Published::named("qwen2.5-7b").unwrap().config();
        for (lora, moments) in
            [(None, MomentStore::EightBit), (Some(LoraSettings::default()), MomentStore::Full)]
        {
            let settings = TrainSettings { lora, ..large() };
            let (chosen, plan) = choose(&settings, &config, H200, GPU, HOST).unwrap();
            assert!(plan.peak() <= GPU && chosen.adam.optim == moments, "{plan}");
            // Keys and values of four heads: 28 KiB a layer less than Qwen3-8B's.
            assert!(held(&chosen, &config).0 >= 32, "{plan}");
        }
    }

    #[test]
    fn the_papers_recipe_fits_what_an_h200_has_free() {
        let config = Published::named("qwen3-8b").unwrap().config();
        let settings: TrainSettings =
            resolve(&large(), Some("sandmle"), Table::new(), &[]).unwrap();
        // The driver keeps some of the 141 GiB, and shows a little under 140.
        let free = 139 << 30;
        assert!(filled(&settings, &config, H200, free).is_err(), "with full moments");
        for (host, moments) in [(HOST, MomentStore::Offload), (32 << 30, MomentStore::EightBit)] {
            let (chosen, plan) = choose(&settings, &config, H200, free, host).unwrap();
            assert_eq!(chosen.adam.optim, moments);
            assert!(plan.peak() <= free && plan.sum(MemoryPhase::Host) <= host, "{plan}");
            let (long, short) = held(&chosen, &config);
            assert!(long >= 8 && short >= 32, "{long} {short}");
            // No setting that changes the result of training has moved.
            let mut given = chosen;
            (given.adam.optim, given.rollout.cache) = (settings.adam.optim, None);
            assert_eq!(given, settings);
        }
    }

    #[test]
    fn run_that_does_not_fit_is_refused_with_its_memory_plan() {
        let config = Published::named("qwen3-32b").unwrap().config();
        let error = choose(&large(), &config, H200, GPU, HOST).unwrap_err().to_string();
        for word in ["141.00 GiB", "gradients in f32", "lora.rank", "several GPUs", "SkyRL"] {
            assert!(error.contains(word), "{error}");
        }
        // Whose weights fit, though the run does not.
        let config = Published::named("qwen3-8b").unwrap().config();
        let error = choose(&large(), &config, H200, 100 << 30, 0).unwrap_err().to_string();
        assert!(error.contains("rl plan") && !error.contains("SkyRL"), "{error}");
    }

    #[test]
    fn sizes_are_those_of_real_tensors() {
        for family in [Family::Qwen3, Family::Qwen2] {
            sizes_are_those_of(&Qwen3Config { family, ..Qwen3Config::tiny(500, 1, 2) });
        }
    }

    fn sizes_are_those_of(config: &Qwen3Config) {
        let mut model = Qwen3::random(config, Kind::BFloat16, Device::Cpu, Stream::root(1));
        let mut settings = large();
        settings.rollout.max_num_seqs = 3;
        settings.rollout.max_model_len = 100;
        let size = |tensor: &Tensor| count(tensor.numel() * tensor.kind().elt_size_in_bytes());
        let weights = |model: &Qwen3| -> u64 { model.published().values().map(size).sum() };
        for moments in [MomentStore::Full, MomentStore::EightBit] {
            settings.adam.optim = moments;
            let plan = MemoryPlan::new(&settings, config, H200);
            assert_eq!(bytes(&plan, "weights"), weights(&model));
            let state: u64 =
                AdamW::new(&model, AdamConfig { optim: moments, ..AdamConfig::default() })
                    .state()
                    .values()
                    .map(size)
                    .sum();
            let planned =
                bytes(&plan, "moments") + bytes(&plan, "weights in f32, for the optimizer");
            // Scales of 8-bit blocks are 1/32 of their codes.
            assert!((planned..=planned + planned / 30).contains(&state), "{planned} {state}");
        }
        let cache = KvCache::new(config, 3, 100, Kind::BFloat16, Device::Cpu);
        assert_eq!(
            bytes(&MemoryPlan::new(&settings, config, H200), "keys and values"),
            count(cache.bytes())
        );

        let lora = LoraSettings { rank: 5, ..LoraSettings::default() };
        Lora { settings: lora.clone(), base: "base".into() }
            .attach(&mut model, Stream::root(2))
            .unwrap();
        let trained: u64 = model.parameters().iter().map(|parameter| size(&parameter.tensor)).sum();
        settings.lora = Some(lora);
        assert_eq!(
            bytes(&MemoryPlan::new(&settings, config, H200), "gradients in f32"),
            2 * trained
        );
        for targets in [LoraSettings::default().targets, vec![LoraTarget::KProj]] {
            let lora = LoraSettings { rank: 5, targets, ..LoraSettings::default() };
            let mut model = Qwen3::random(config, Kind::BFloat16, Device::Cpu, Stream::root(1));
            let shared = model.published();
            let attached = Lora { settings: lora.clone(), base: "base".into() };
            attached.attach(&mut model, Stream::root(2)).unwrap();
            settings.lora = Some(lora);
            // What has another place than the weights that are trained is a copy.
            let is_copy = |(name, tensor): (&String, &Tensor)| {
                (tensor.data_ptr() != shared[name].data_ptr()).then(|| size(tensor))
            };
            let merged = model.for_generation(true, CpuLinear::Mkl).published();
            let copied: u64 = merged.iter().filter_map(is_copy).sum();
            let plan = MemoryPlan::new(&settings, config, H200);
            assert_eq!(bytes(&plan, "weights with adapters merged in"), copied);
            settings.rollout.merge_adapters = Some(false);
            let rollout = |plan: &MemoryPlan| plan.sum(MemoryPhase::Rollout);
            let beside = MemoryPlan::new(&settings, config, H200);
            assert_eq!(rollout(&beside) + copied, rollout(&plan));
            settings.rollout.merge_adapters = None;
        }
    }

    #[test]
    fn packed_weights_count_where_generation_has_them() {
        // Every matrix has 512 inputs.
        let dense = Qwen3Config {
            hidden_size: 512,
            intermediate_size: 512,
            head_dim: 128,
            ..Qwen3Config::tiny(500, 1, 2)
        };
        let model = Qwen3::random(&dense, Kind::Float, Device::Cpu, Stream::root(1));
        let matrices = model.parameters().into_iter().filter(|parameter| parameter.decays);
        // The embedding is the output layer.
        let expected: usize = matrices.map(|parameter| 4 * parameter.tensor.numel()).sum();
        let planned = |choice: CpuLinear, dtype, device| {
            let mut settings = TrainSettings::defaults(Scale::Tiny);
            (settings.rollout.cpu_linear, settings.dtype) = (choice, dtype);
            bytes(&MemoryPlan::new(&settings, &dense, device), PACKED)
        };
        let (choice, cpu) = (CpuLinear::Onednn, Device::Cpu);
        assert_eq!(planned(choice, Dtype::F32, cpu), count(expected));
        assert_eq!(planned(choice, Dtype::Bf16, cpu), 0);
        assert_eq!(planned(choice, Dtype::F32, H200), 0);
        assert_eq!(planned(CpuLinear::Mkl, Dtype::F32, cpu), 0);
    }
}
