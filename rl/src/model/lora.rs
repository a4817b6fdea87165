//! Low-rank adapters (Hu et al. 2021): the model is frozen, and small matrices beside its
//! projections are trained. In and out in PEFT's format.

use super::config::Qwen3Config;
use super::load::{LoadError, Weights, write_safetensors};
use super::qwen3::Qwen3;
use crate::run::settings::{SettingsError, require};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rand::{Rng, RngExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::files;
use tasks::stream::Stream;
use tch::Tensor;

/// The file that adapters are in.
pub const ADAPTERS: &str = "adapter_model.safetensors";

/// The prefix of every name in PEFT's files.
const PREFIX: &str = "base_model.model.";

/// A projection that can have an adapter, in PEFT's names.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is the projection of its name")]
pub enum LoraTarget {
    QProj,
    KProj,
    VProj,
    OProj,
    GateProj,
    UpProj,
    DownProj,
}

impl LoraTarget {
    fn published(self) -> &'static str {
        match self {
            Self::QProj => "self_attn.q_proj",
            Self::KProj => "self_attn.k_proj",
            Self::VProj => "self_attn.v_proj",
            Self::OProj => "self_attn.o_proj",
            Self::GateProj => "mlp.gate_proj",
            Self::UpProj => "mlp.up_proj",
            Self::DownProj => "mlp.down_proj",
        }
    }
}

/// The adapters of a model.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `rank` | 32 | rank of every update |
/// | `alpha` | 64 | updates are scaled by `alpha / rank` |
/// | `targets` | all seven that the model has | projections that have one; those of experts cannot |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoraSettings {
    /// Rank of every update, at least 1.
    pub rank: i64,
    /// Updates are scaled by `alpha / rank`.
    pub alpha: f64,
    /// Projections that have one.
    pub targets: Vec<LoraTarget>,
}

impl Default for LoraSettings {
    fn default() -> Self {
        let targets = vec![
            LoraTarget::QProj,
            LoraTarget::KProj,
            LoraTarget::VProj,
            LoraTarget::OProj,
            LoraTarget::GateProj,
            LoraTarget::UpProj,
            LoraTarget::DownProj,
        ];
        Self { rank: 32, alpha: 64.0, targets }
    }
}

impl LoraSettings {
    /// These for a model of this shape. Of all seven projections, which nobody has chosen, a model
    /// whose feed-forward parts are all experts has four.
    #[must_use]
    pub fn fitted(self, config: &Qwen3Config) -> Self {
        let has_dense =
            (0..config.num_hidden_layers).any(|layer| config.mixture_of(layer).is_none());
        if has_dense || self.targets != Self::default().targets {
            return self;
        }
        let targets =
            vec![LoraTarget::QProj, LoraTarget::KProj, LoraTarget::VProj, LoraTarget::OProj];
        Self { targets, ..self }
    }

    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`SettingsError::Range`] naming the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        let Self { rank, alpha, targets } = self;
        require(*rank > 0, "lora.rank", rank, "at least 1")?;
        require(*alpha > 0.0 && alpha.is_finite(), "lora.alpha", alpha, "above 0")?;
        require(!targets.is_empty(), "lora.targets", &"empty", "at least one projection")
    }
}

/// Adapters, and the folder of the model that they belong to.
#[derive(Debug, Clone, PartialEq)]
pub struct Lora {
    /// Rank, scale and target projections of the adapters.
    pub settings: LoraSettings,
    /// Where the frozen weights are.
    pub base: Utf8PathBuf,
}

/// The part of PEFT's `adapter_config.json` that means something here.
#[derive(Debug, Serialize, Deserialize)]
struct AdapterConfig {
    peft_type: String,
    task_type: Option<String>,
    base_model_name_or_path: String,
    r: i64,
    lora_alpha: f64,
    target_modules: Vec<LoraTarget>,
    #[serde(default)]
    use_rslora: bool,
    #[serde(default)]
    use_dora: bool,
    #[serde(default)]
    fan_in_fan_out: bool,
    #[serde(default)]
    lora_dropout: f64,
    #[serde(default = "no_bias")]
    bias: String,
}

fn no_bias() -> String {
    "none".into()
}

impl Lora {
    /// Reads `<folder>/adapter_config.json`; none if there is no such file.
    ///
    /// # Errors
    /// [`LoadError`] if it is malformed, or asks for a variant that is not supported.
    pub fn describe(folder: &Utf8Path) -> Result<Option<Self>, LoadError> {
        let path = folder.join("adapter_config.json");
        if !path.is_file() {
            return Ok(None);
        }
        let config: AdapterConfig = serde_json::from_slice(&fs::read(&path)?)
            .map_err(|source| LoadError::Index { path: path.clone(), source })?;
        let variant = [
            (config.peft_type != "LORA", "peft_type"),
            (config.use_rslora, "use_rslora"),
            (config.use_dora, "use_dora"),
            (config.fan_in_fan_out, "fan_in_fan_out"),
            (config.bias != "none", "bias"),
            (config.r < 1, "r"),
        ];
        if let Some((_, field)) = variant.into_iter().find(|(differs, _)| *differs) {
            return Err(LoadError::Adapter { path, field });
        }
        let settings = LoraSettings {
            rank: config.r,
            alpha: config.lora_alpha,
            targets: config.target_modules,
        };
        Ok(Some(Self { settings, base: config.base_model_name_or_path.into() }))
    }

    /// Freezes `model` and gives it fresh adapters, which change nothing yet: A is uniform within
    /// `1 / sqrt(I)`, as PEFT draws it, and B is zero.
    ///
    /// # Errors
    /// [`LoadError::NoProjection`] if no layer has one of the projections that were chosen.
    pub fn attach(self, model: &mut Qwen3, stream: Stream) -> Result<(), LoadError> {
        let rank = self.settings.rank;
        let fitted = Self { settings: self.settings.fitted(model.config()), ..self };
        fitted.adapt(model, &mut |name, outputs, inputs| {
            let bound = (inputs as f64).sqrt().recip();
            let mut rng = stream.child(name).rng();
            let count = usize::try_from(rank * inputs).unwrap_or(0);
            let values: Vec<f32> = (0..count).map(|_| uniform(&mut rng, bound)).collect();
            let down = Tensor::from_slice(&values).view([rank, inputs]);
            Ok((down, Tensor::zeros([outputs, rank], (tch::Kind::Float, tch::Device::Cpu))))
        })
    }

    /// Freezes `model` and gives it the adapters in `folder`.
    ///
    /// # Errors
    /// [`LoadError`] if one is missing or has another shape, or belongs to no projection.
    pub fn open(self, model: &mut Qwen3, folder: &Utf8Path) -> Result<(), LoadError> {
        let path = folder.join(ADAPTERS);
        let weights = Weights::map(std::slice::from_ref(&path))?;
        let rank = self.settings.rank;
        let mut used = 0;
        self.adapt(model, &mut |name, outputs, inputs| {
            used += 2;
            let down = weights.tensor(&format!("{PREFIX}{name}.lora_A.weight"), &[rank, inputs])?;
            let up = weights.tensor(&format!("{PREFIX}{name}.lora_B.weight"), &[outputs, rank])?;
            Ok((down, up))
        })?;
        let found = weights.names().count();
        if used == found { Ok(()) } else { Err(LoadError::Strays { path, used, found }) }
    }

    fn adapt(self, model: &mut Qwen3, make: &mut MakeAdapter<'_>) -> Result<(), LoadError> {
        let names: Vec<&str> =
            self.settings.targets.iter().map(|target| target.published()).collect();
        let scale = self.settings.alpha / self.settings.rank as f64;
        model.adapt(self, &names, scale, make)
    }
}

/// A `[r, I]` and B `[O, r]` of the projection with the given published name, from O and I.
pub(super) type MakeAdapter<'a> =
    dyn FnMut(&str, i64, i64) -> Result<(Tensor, Tensor), LoadError> + 'a;

#[expect(clippy::cast_possible_truncation, reason = "weights are f32")]
fn uniform(rng: &mut impl Rng, bound: f64) -> f32 {
    rng.random_range(-bound..bound) as f32
}

/// Writes the adapters of `model` into `folder` as PEFT expects them.
///
/// # Errors
/// [`LoadError`] if a file cannot be written.
pub(super) fn save_adapters(
    model: &Qwen3,
    lora: &Lora,
    folder: &Utf8Path,
) -> Result<(), LoadError> {
    let tensors: BTreeMap<String, Tensor> = model
        .parameters()
        .into_iter()
        .map(|parameter| (format!("{PREFIX}{}", parameter.name), parameter.tensor))
        .collect();
    write_safetensors(&folder.join(ADAPTERS), &tensors)?;
    let config = AdapterConfig {
        peft_type: "LORA".into(),
        task_type: Some("CAUSAL_LM".into()),
        base_model_name_or_path: lora.base.to_string(),
        r: lora.settings.rank,
        lora_alpha: lora.settings.alpha,
        target_modules: lora.settings.targets.clone(),
        use_rslora: false,
        use_dora: false,
        fan_in_fan_out: false,
        lora_dropout: 0.0,
        bias: no_bias(),
    };
    Ok(files::write_json(&folder.join("adapter_config.json"), &config)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CpuLinear, Mixture, Packed, signed};
    use tch::{Device, Kind, no_grad};

    #[test]
    fn experts_have_no_adapters_unless_they_are_asked_for() {
        let mixture = Mixture {
            experts: 4,
            per_token: 2,
            intermediate_size: 16,
            normalise: true,
            sparse_step: 1,
            dense_layers: Vec::new(),
        };
        let config = Qwen3Config { mixture: Some(mixture), ..Qwen3Config::tiny(40, 1, 2) };
        let targets = |settings: LoraSettings, config: &Qwen3Config| {
            let mut model = Qwen3::random(config, Kind::Float, Device::Cpu, Stream::root(1));
            let attached =
                Lora { settings, base: "base".into() }.attach(&mut model, Stream::root(2));
            attached.map(|()| model.lora().unwrap().settings.targets.len())
        };
        assert_eq!(targets(LoraSettings::default(), &config).unwrap(), 4);
        let chosen = LoraSettings { targets: vec![LoraTarget::UpProj], ..LoraSettings::default() };
        let refused = targets(chosen, &config).unwrap_err();
        assert!(matches!(refused, LoadError::NoProjection(_)), "{refused}");
        // One layer without experts is enough to have them all.
        let mut mixed = config.clone();
        mixed.mixture.as_mut().unwrap().dense_layers = vec![1];
        assert_eq!(targets(LoraSettings::default(), &mixed).unwrap(), 7);
    }

    #[test]
    fn merged_adapters_change_the_model_as_those_beside_it_do() {
        let config = Qwen3Config::tiny(40, 1, 2);
        let logits =
            |model: &Qwen3| model.forward(&Packed::new([[3_i64, 7, 5, 9].as_slice()], Device::Cpu));
        let gap = |a: &Tensor, b: &Tensor| (a - b).abs().max().double_value(&[]);
        let settings = LoraSettings { rank: 3, ..LoraSettings::default() };
        let mut model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(1));
        let before = logits(&model);
        Lora { settings, base: "base".into() }.attach(&mut model, Stream::root(2)).unwrap();
        let unchanged = gap(&logits(&model), &before);
        no_grad(|| {
            for (index, parameter) in model.parameters().into_iter().enumerate() {
                let mut tensor = parameter.tensor;
                let steps = Tensor::arange(signed(tensor.numel()), (Kind::Float, Device::Cpu));
                let values = (steps * 0.7 + index as f64).sin() * 0.05;
                tensor.copy_(&values.view(tensor.size().as_slice()));
            }
        });
        let beside = logits(&model);
        assert!(unchanged < 1e-6 && gap(&beside, &before) > 0.1);
        let (mkl, packed) = (CpuLinear::Mkl, CpuLinear::Onednn);
        let generating = [(true, mkl), (false, mkl), (true, packed), (false, packed)]
            .map(|(merge, choice)| model.for_generation(merge, choice));
        for merged in generating.into_iter().chain([model.merged()]) {
            assert!(gap(&logits(&merged), &beside) < 1e-5);
        }
    }
}
