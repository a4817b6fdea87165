//! Adapters as PEFT saves them: `W + scale · B A`, which the server merges itself.

use super::base::BaseModel;
use super::header::TensorPlace;
use super::values::WeightType;
use crate::refusal::{Refusal, RefusalCode};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Rank of an adapter, at most.
const RANK: usize = 4_096;
/// What the names of adapted weights begin with.
const PREFIX: &str = "base_model.model.";

/// `adapter_config.json`, as far as it changes what an adapter means.
#[derive(Debug, Deserialize)]
pub(super) struct AdapterConfig {
    peft_type: String,
    r: usize,
    lora_alpha: f64,
    #[serde(default)]
    use_rslora: bool,
    #[serde(default)]
    use_dora: bool,
    #[serde(default)]
    fan_in_fan_out: bool,
    #[serde(default)]
    bias: Option<String>,
    #[serde(default)]
    modules_to_save: Option<Vec<String>>,
    #[serde(default)]
    rank_pattern: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    alpha_pattern: Option<BTreeMap<String, Value>>,
}

/// The two factors of one matrix's change.
#[derive(Debug)]
pub(super) struct LowRank {
    /// `[r, in]`
    pub(super) a: TensorPlace,
    /// `[out, r]`
    pub(super) b: TensorPlace,
}

/// An adapter that fits the base.
#[derive(Debug)]
pub(super) struct Adapter {
    /// What the product is multiplied by.
    pub(super) scale: f64,
    /// By the name of the base's weight.
    pub(super) targets: BTreeMap<String, LowRank>,
}

fn refused(why: impl AsRef<str>) -> Refusal {
    let message = format!(
        "the adapter {}; merge it into the base yourself (`merge_and_unload()` and \
         `save_pretrained`, or `rl merge`) and submit the whole model",
        why.as_ref()
    );
    Refusal::new(RefusalCode::Adapter, message)
}

impl AdapterConfig {
    /// Reads the bytes of an `adapter_config.json`.
    ///
    /// # Errors
    /// A [`Refusal`] if it is not a plain `LoRA`.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        let config: Self = serde_json::from_slice(bytes)
            .map_err(|error| refused(format!("has a configuration that is not read: {error}")))?;
        let is_empty =
            |map: &Option<BTreeMap<String, Value>>| map.as_ref().is_none_or(BTreeMap::is_empty);
        let has_more = config.use_dora
            || config.fan_in_fan_out
            || config.bias.as_deref().is_some_and(|bias| bias != "none")
            || config.modules_to_save.as_ref().is_some_and(|modules| !modules.is_empty())
            || !is_empty(&config.rank_pattern)
            || !is_empty(&config.alpha_pattern);
        if config.peft_type != "LORA" || has_more {
            return Err(refused(
                "is not a plain LoRA (no DoRA, biases, saved modules or patterns of ranks)",
            ));
        }
        if !(1..=RANK).contains(&config.r) || !config.lora_alpha.is_finite() {
            return Err(refused(format!(
                "has a rank outside of 1 to {RANK}, or no finite `lora_alpha`"
            )));
        }
        Ok(config)
    }

    fn scale(&self) -> f64 {
        let rank = self.r as f64;
        self.lora_alpha / if self.use_rslora { rank.sqrt() } else { rank }
    }

    /// Fits the tensors of an adapter to the base.
    ///
    /// # Errors
    /// A [`Refusal`] if a tensor has no place in the base, no partner, or another shape.
    pub(super) fn fit(
        &self,
        tensors: BTreeMap<String, TensorPlace>,
        base: &BaseModel,
    ) -> Result<Adapter, Refusal> {
        let mut halves: BTreeMap<String, (Option<TensorPlace>, Option<TensorPlace>)> =
            BTreeMap::new();
        for (name, place) in tensors {
            let inner = name.strip_prefix(PREFIX).unwrap_or_default();
            let a = inner.strip_suffix(".lora_A.weight");
            let b = inner.strip_suffix(".lora_B.weight");
            let module = a.or(b).ok_or_else(|| {
                let name = super::output_folder::shown(&name);
                refused(format!("has `{name}`, which is no matrix of a LoRA"))
            })?;
            if WeightType::of(place.dtype).is_none() {
                return Err(refused(format!("has weights of the type {}", place.dtype)));
            }
            let pair = halves.entry(format!("{module}.weight")).or_default();
            *(if a.is_some() { &mut pair.0 } else { &mut pair.1 }) = Some(place);
        }
        let mut targets = BTreeMap::new();
        for (name, pair) in halves {
            let shown = super::output_folder::shown(&name);
            let Some(weight) = base.tensors.get(&name) else {
                return Err(refused(format!("is of another model: the base has no `{shown}`")));
            };
            let (Some(a), Some(b)) = pair else {
                return Err(refused(format!("has one half of `{shown}` only")));
            };
            let fits = weight.shape.len() == 2
                && a.shape == [self.r, weight.shape[1]]
                && b.shape == [weight.shape[0], self.r];
            if !fits {
                return Err(refused(format!(
                    "is of another model, or of another rank than `r`: `{shown}` is {:?} in the base, \
                     and its factors are {:?} and {:?}",
                    weight.shape, b.shape, a.shape
                )));
            }
            targets.insert(name, LowRank { a, b });
        }
        if targets.is_empty() {
            return Err(refused("has no weights"));
        }
        Ok(Adapter { scale: self.scale(), targets })
    }
}
