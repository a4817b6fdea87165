//! One case to be measured, and how it is run.

use super::machine::{Gauge, Machine};
use super::report::{CaseResult, Measurement};
use super::sizes::{BenchSizes, shape};
use super::{decode, grpo, parity, sft};
use crate::checkpoint::policy::{self, PolicyError};
use crate::generate::engine::{Engine, EngineError, TurnOptions};
use crate::generate::sample::Sampling;
use crate::model::{ConfigError, LoadError, Lora, LoraSettings, Qwen3, Qwen3Config};
use crate::optim::OptimError;
use crate::run::device;
use crate::train::plan::MemoryPlanError;
use crate::train::presets::Dtype;
use camino::Utf8PathBuf;
use clap::ValueEnum;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tch::Device;

/// The cases of `rl bench`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum BenchCase {
    /// Whether the device computes what the CPU computes, on small models of its own.
    Parity,
    /// Generation, many conversations at once.
    Decode,
    /// An SFT step of the whole model.
    Sft,
    /// An SFT step of adapters.
    SftLora,
    /// A GRPO step of the whole model: generation, gradients, optimizer.
    Grpo,
    /// A GRPO step of adapters.
    GrpoLora,
}

impl BenchCase {
    /// All of them, in the order in which they are run.
    pub const ALL: [Self; 6] =
        [Self::Parity, Self::Decode, Self::Sft, Self::SftLora, Self::Grpo, Self::GrpoLora];
}

/// Where a model comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelSource {
    /// A shape's name; the weights are random.
    Shape(String),
    /// The folder of a model.
    Folder(Utf8PathBuf),
}

/// One case to be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BenchJob {
    /// The case to measure.
    pub case: BenchCase,
    /// The model to measure it with.
    pub model: ModelSource,
    /// The type of weights and activations.
    pub dtype: Dtype,
    /// The sizes of the case.
    pub sizes: BenchSizes,
    /// Where chance comes from.
    pub seed: u64,
}

/// Why a case could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// There is no such shape.
    #[error(
        "there is no shape `{0}`; use `tiny`, `tiny-moe`, or the name of a published model, such as `qwen3-8b`"
    )]
    Shape(String),
    /// The memory of the device is unknown.
    #[error("the memory of the device is unknown")]
    UnknownMemory,
    /// The case does not fit the device.
    #[error(transparent)]
    Plan(#[from] MemoryPlanError),
    /// The model's shape is unreadable.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The model's folder is damaged.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Adapters could not be attached.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Nothing could be generated.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No update could be made.
    #[error(transparent)]
    Optim(#[from] OptimError),
}

impl BenchJob {
    /// The name of the result.
    pub fn name(&self) -> String {
        let BenchSizes { rows, context, sequences, length, conversation, lora_rank, .. } =
            self.sizes;
        let shape = match &self.model {
            ModelSource::Shape(name) => name.as_str(),
            ModelSource::Folder(folder) => folder.file_name().unwrap_or(folder.as_str()),
        };
        let sft = format!("{shape}: SFT, {sequences} x {length}");
        let grpo = format!("{shape}: GRPO, {rows} x {conversation}");
        match self.case {
            BenchCase::Parity => "parity".to_owned(),
            BenchCase::Decode => format!("{shape}: decoding, {rows} x {context}"),
            BenchCase::Sft => format!("{sft}, full"),
            BenchCase::SftLora => format!("{sft}, LoRA {lora_rank}"),
            BenchCase::Grpo => format!("{grpo}, full"),
            BenchCase::GrpoLora => format!("{grpo}, LoRA {lora_rank}"),
        }
    }

    /// Measures it on `device`, in this process.
    ///
    /// # Errors
    /// [`BenchError`]. What does not fit by `rl plan` is no error but a result.
    ///
    /// # Panics
    /// If libtorch fails, for one because memory runs out.
    pub fn run(&self, device: Device) -> Result<Measurement, BenchError> {
        let mut settings = BTreeMap::new();
        let ending = match self.measure(device, &mut settings) {
            Ok(ending) => ending,
            Err(BenchError::Plan(error)) => CaseResult::TooLarge { reason: error.to_string() },
            Err(error) => return Err(error),
        };
        Ok(Measurement {
            name: self.name(),
            machine: Machine::from_device(device),
            settings,
            ending,
        })
    }

    fn measure(
        &self,
        device: Device,
        used: &mut BTreeMap<String, serde_json::Value>,
    ) -> Result<CaseResult, BenchError> {
        let Self { case, dtype, sizes, seed, .. } = self;
        let (dtype, stream) = (*dtype, Stream::root(*seed).child("bench"));
        if *case == BenchCase::Parity {
            return Ok(CaseResult::Compared { checks: parity::measure(device, stream)? });
        }
        let mut gauge = Gauge::start(device);
        let config = self.config()?;
        used.insert("dtype".into(), format!("{dtype:?}").to_lowercase().into());
        let lora = |case: &BenchCase| {
            matches!(case, BenchCase::SftLora | BenchCase::GrpoLora).then(|| sizes.lora(&config))
        };
        let lora = lora(case);
        let figures = match case {
            BenchCase::Parity | BenchCase::Decode => {
                let model = self.open(&config, None, device)?;
                decode::measure(&model, dtype, sizes, &mut gauge, stream)?
            }
            BenchCase::Sft | BenchCase::SftLora => {
                let (settings, plan) = sft::settings(&config, dtype, lora, sizes, device)?;
                describe(&settings, used);
                let model = self.open(&config, settings.lora.as_ref(), device)?;
                sft::measure(&model, (&settings, &plan), sizes, &mut gauge, stream)?
            }
            BenchCase::Grpo | BenchCase::GrpoLora => {
                let (settings, plan) = grpo::settings(&config, dtype, lora, sizes, device)?;
                describe(&settings, used);
                used.insert("rows".into(), settings.rollout.max_num_seqs.into());
                let model = self.open(&config, settings.lora.as_ref(), device)?;
                grpo::measure(&model, (&settings, &plan), sizes, &mut gauge, stream)?
            }
        };
        Ok(CaseResult::Measured(figures))
    }

    fn config(&self) -> Result<Qwen3Config, BenchError> {
        match &self.model {
            ModelSource::Shape(name) => shape(name).ok_or_else(|| BenchError::Shape(name.clone())),
            ModelSource::Folder(folder) => Ok(Qwen3Config::open(&policy::base_of(folder)?)?),
        }
    }

    fn open(
        &self,
        config: &Qwen3Config,
        lora: Option<&LoraSettings>,
        device: Device,
    ) -> Result<Qwen3, BenchError> {
        let kind = self.dtype.kind();
        let stream = Stream::root(self.seed).child("adapters");
        let mut model = match &self.model {
            ModelSource::Shape(_) => {
                let seed = i64::from_ne_bytes(self.seed.to_ne_bytes());
                Qwen3::drawn(config, kind, device, seed)
            }
            ModelSource::Folder(folder) => policy::open(folder, kind, device)?.0,
        };
        if let Some(settings) = lora {
            let base = Utf8PathBuf::from("base");
            Lora { settings: settings.clone(), base }.attach(&mut model, stream)?;
        }
        Ok(model)
    }
}

/// Takes note of settings that were chosen.
fn describe(
    settings: &crate::train::grpo::TrainSettings,
    used: &mut BTreeMap<String, serde_json::Value>,
) {
    let mut note = |name: &str, value: serde_json::Value| used.insert(name.to_owned(), value);
    note("max_tokens_per_micro_batch", settings.memory.max_tokens_per_micro_batch.into());
    note("recompute", settings.memory.gradient_checkpointing.into());
    if let Ok(moments) = serde_json::to_value(settings.adam.optim) {
        note("moments", moments);
    }
}

/// How much memory a case may plan with.
pub(super) fn limit(device: Device) -> Result<u64, BenchError> {
    device::memory(device).ok_or(BenchError::UnknownMemory)
}

/// How much of the computer's memory offloaded moments may take.
pub(super) fn host() -> u64 {
    device::free_memory(Device::Cpu).unwrap_or(u64::MAX)
}

/// Has the device load what generation needs, so that no clock sees it.
pub(super) fn warm_up(model: &Qwen3) -> Result<(), BenchError> {
    let mut engine = Engine::new(model, 1, 16);
    let (sampling, stream) = (Sampling::default(), Stream::root(0));
    engine.admit(&[0; 8], TurnOptions { sampling, stream, max_tokens: 3, ignore_eos: true })?;
    while !engine.is_idle() {
        engine.step()?;
    }
    Ok(())
}

/// Ids that no model has an opinion about.
pub(super) fn random_ids(config: &Qwen3Config, count: usize, stream: Stream) -> Vec<i64> {
    let mut rng = stream.child("ids").rng();
    (0..count).map(|_| rng.random_range(0..config.vocab_size)).collect()
}
