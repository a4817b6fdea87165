//! `rl train`.

use super::device_memory::DeviceMemory;
use super::{
    Continue, ProgressBars, RunFlags, add_sandboxes, add_script_cache, folder_of, host_memory,
    recipe_of, scale_of, set_of_rollout,
};
use crate::checkpoint::policy;
use crate::checkpoint::source::{PolicySource, locate, tool_call_format};
use crate::generate::remote::{EngineApi, EngineSettings};
use crate::model::Qwen3Config;
use crate::run::settings::{Checked, Validate as _, at, claim, of_run, own, resolve};
use crate::run::stop::Stop;
use crate::run::{device, guide};
use crate::train::grpo::{self, TrainSettings};
use crate::train::plan;
use crate::world;
use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use serde::Serialize;
use tch::Device;
use toml::Table;

/// The cap of truncated importance sampling where engines sample and nothing else is set.
const CAP_OF_ENGINES: f64 = 2.0;

#[derive(Debug, Args)]
pub(super) struct TrainArgs {
    #[command(flatten)]
    common: RunFlags,
    #[command(flatten)]
    from: Continue,
    #[command(flatten)]
    settings: TrainFlags,
    /// The engine that samples turns on other machines [default: this process samples].
    #[arg(long, requires = "servers")]
    engine: Option<EngineApi>,
    /// The addresses of the engine's servers, separated by commas.
    #[arg(long, value_name = "URL", value_delimiter = ',', requires = "engine")]
    servers: Vec<String>,
    /// Play episodes on these environment servers instead of this machine: addresses such as
    /// `http://10.0.0.5:8765`, separated by commas. All serve the same corpus by the same rules
    /// (docs/DEPLOY.md); their token comes from `SANDBOX_TOKEN`.
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    sandboxes: Vec<String>,
    /// Keep what scripts did in this folder, and run none that another run on this machine has run
    /// before: all stages of a job share one folder.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["sandboxes", "world"])]
    script_cache: Option<Utf8PathBuf>,
    /// How much of the device's memory the run may use, such as `80GiB`: its settings are chosen
    /// for that [default: what is free].
    #[arg(long, value_name = "SIZE")]
    memory: Option<DeviceMemory>,
    /// Train on a server over the Tinker protocol, such as `http://10.0.0.5:8000`
    /// (`docs/LEARNERS.md`). It has a copy of the policy's weights.
    #[arg(long, value_name = "URL", conflicts_with = "memory")]
    learner_url: Option<String>,
}

#[derive(Debug, Args, Serialize)]
struct TrainFlags {
    /// The policy to start from: a run of `rl sft`, a model's folder or name.
    #[arg(long)]
    model: String,
    /// The corpus made by `factory generate`.
    #[arg(
        long,
        value_name = "FOLDER",
        required_unless_present = "world",
        conflicts_with = "world"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Utf8PathBuf>,
    /// A task of a suite of generated environments (docs/WORLDS.md), such as `suite/household`:
    /// train on its items.
    #[arg(long, value_name = "FOLDER", conflicts_with = "searches")]
    #[serde(skip_serializing_if = "Option::is_none")]
    world: Option<Utf8PathBuf>,
    /// Searches on tasks of the corpus, as `agents run` and `agents eval` leave them: train on
    /// their questions (draft, improve, debug, crossover), an answer each, with the grade of the
    /// script's submission as reward; may be repeated.
    #[arg(long, value_name = "FOLDER")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    searches: Vec<Utf8PathBuf>,
    /// The seed of everything [default: 0].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    /// Updates [default: 24 for tiny policies, else 100].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u32>,
    /// Tasks per update [default: 16].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks_per_step: Option<u32>,
    /// Group size: episodes per task [default: 4].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    group_size: Option<u32>,
    /// The old name of `--group-size`.
    #[arg(long, hide = true, conflicts_with = "group_size")]
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<u32>,
    /// Learning rate [default: 2e-4 for tiny policies, 2e-5 for them in a world, else 1e-6].
    #[arg(long, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    learning_rate: Option<f64>,
    /// The old name of `--learning-rate`.
    #[arg(long, hide = true, allow_negative_numbers = true, conflicts_with = "learning_rate")]
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
}

impl TrainArgs {
    /// Trains the policy; returns the folder of the best or last checkpoint.
    ///
    /// # Errors
    /// If settings are invalid, the run does not fit the device or fails, or it was stopped.
    pub(super) fn run(&self, bars: &ProgressBars) -> Result<String> {
        let RunFlags { out, config, set, .. } = &self.common;
        let source = locate(&self.settings.model)?;
        let PolicySource::Folder(folder) = &source else {
            bail!(
                "`{0}` has no trained weights, which GRPO needs: random ones never earn a reward; run `rl sft --model {0}` first and give its folder",
                self.settings.model
            );
        };
        let scale = scale_of(&source)?;
        let config = config.as_deref().or(recipe_of(scale));
        let mut flags = Table::try_from(&self.settings)?;
        if let Some(api) = self.engine {
            let engine = Table::try_from(EngineSettings::new(api, self.servers.clone()))?;
            set_of_rollout(&mut flags, "engine", engine.into());
        }
        add_sandboxes(&mut flags, &self.sandboxes);
        add_script_cache(&mut flags, self.script_cache.as_deref());
        if let Some(url) = &self.learner_url {
            flags.insert(
                "learner".into(),
                Table::from_iter([("url".into(), url.clone().into())]).into(),
            );
        }
        let mut defaults = TrainSettings::defaults(scale);
        defaults.rules.tool_call_format = tool_call_format(folder)?.unwrap_or_default();
        if let Some(folder) = &self.settings.world {
            defaults.set_world(&world::spec_of(folder)?, scale);
        }
        let mut settings: TrainSettings = resolve(&defaults, config, flags, set)?;
        // Engines compute with other kernels than the trainer.
        let has_engine = settings.rollout.engine.is_some();
        if has_engine && settings.tis_cap <= 0.0 && own("tis_cap", config, set)?.is_none() {
            settings.tis_cap = CAP_OF_ENGINES;
        }
        // The optimizer keeps its moments in the largest form that fits the device, unless the user
        // or the run that is resumed has another form.
        let own = own("adam.optim", config, set)?;
        let begun = of_run(out)?.and_then(|run| at(&run, "adam.optim").cloned());
        let is_given = own.is_some() || begun.is_some();
        if let (None, Some(moments)) = (own, begun) {
            settings.adam.optim = moments.try_into().context("the run's `adam.optim`")?;
        }
        let settings = settings.check()?;
        let device = self.common.device()?;
        // The memory of other machines is theirs to plan.
        let fitted = match &settings.learner {
            Some(_) => settings.clone(),
            None => fitted(&settings, is_given, folder, (device, self.memory))?,
        };
        // What follows from the memory that the device has free today is no property of the run.
        let mut lasting = fitted.clone().into_inner();
        lasting.rollout.cache = settings.rollout.cache;
        lasting.rollout.merge_adapters = settings.rollout.merge_adapters;
        claim(out, &lasting, &TrainSettings::FREE)?;
        guide::write(out, guide::TRAIN)?;
        self.from.roll_back(out)?;
        let stop = Stop::on_signals().context("failed to listen for signals")?;
        let ended = grpo::run(&fitted, folder, out, device, bars, &stop)?;
        folder_of(ended)
    }
}

/// The settings with a cache that fits into the given memory of the device, or what it has free,
/// and on a GPU, or where memory is given, with moments that leave room for it unless they are
/// given.
fn fitted(
    settings: &Checked<TrainSettings>,
    is_given: bool,
    folder: &Utf8Path,
    (device, memory): (Device, Option<DeviceMemory>),
) -> Result<Checked<TrainSettings>> {
    let given = memory.map(|memory| memory.each.bytes());
    let Some(limit) = given.or_else(|| device::free_memory(device)) else {
        return Ok(settings.clone());
    };
    let shape = Qwen3Config::open(&policy::base_of(folder)?)?;
    let fitted = if is_given || (device == Device::Cpu && given.is_none()) {
        plan::filled(settings, &shape, device, limit)
    } else {
        plan::choose(settings, &shape, device, limit, host_memory())
    };
    let (fitted, _) = match memory.and_then(DeviceMemory::note) {
        Some(note) => fitted.context(note)?,
        None => fitted?,
    };
    let moments = toml::Value::try_from(fitted.adam.optim)?;
    let cache = fitted.rollout.cache.map_or_else(|| "as needed".to_owned(), |it| it.to_string());
    let merge_adapters = fitted.lora.is_some() && fitted.rollout.merges_adapters();
    tracing::info!(%moments, %cache, merge_adapters, "memory settings; `rl plan` shows the table");
    Ok(fitted.check()?)
}
