//! `rl plan`.

use super::device_memory::DeviceMemory;
use super::{host_memory, recipe_of};
use crate::checkpoint::policy;
use crate::checkpoint::source::{PolicySource, locate};
use crate::model::{Published, Qwen3Config};
use crate::run::device::{self, DeviceChoice};
use crate::run::settings::{Validate as _, resolve};
use crate::train::grpo::TrainSettings;
use crate::train::plan;
use crate::train::presets::Scale;
use anyhow::{Context, Result, bail};
use clap::Args;
use tch::Device;
use toml::Table;

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    /// A published model's name, such as `qwen3-8b` or `qwen2.5-7b`, or a folder.
    #[arg(long)]
    model: String,
    /// How much a GPU has, such as `141GiB` or, of several, `8x80GiB` [default: what `--device` has].
    #[arg(long, value_name = "SIZE")]
    memory: Option<DeviceMemory>,
    /// Settings of `rl train`: a TOML file, or the name of a recipe.
    #[arg(long, value_name = "NAME|FILE")]
    config: Option<String>,
    /// Any setting of `rl train` by its dotted key; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// `auto`, `cpu`, `cuda` or `cuda:N`.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
}

impl PlanArgs {
    /// The memory plan of the run, and settings that fit the device.
    ///
    /// # Errors
    /// If settings are invalid, the device's memory is unknown, or no settings fit.
    pub(super) fn run(&self) -> Result<String> {
        // A published model need not be here: its shape is known.
        let shape = match Published::named(&self.model) {
            Some(published) => published.config(),
            None => match locate(&self.model)? {
                PolicySource::Folder(folder) => Qwen3Config::open(&policy::base_of(&folder)?)?,
                PolicySource::BuiltIn(_) => {
                    bail!("a built-in policy fits anywhere; give a model's name or folder")
                }
            },
        };
        let scale = Scale::from_parameters(shape.parameter_count());
        let config = self.config.as_deref().or(recipe_of(scale));
        let flags = Table::from_iter([
            ("model".to_owned(), self.model.clone().into()),
            ("tasks".to_owned(), "tasks".into()),
        ]);
        let settings: TrainSettings =
            resolve(&TrainSettings::defaults(scale), config, flags, &self.set)?;
        let settings = settings.check()?;
        let (device, limit, host) = if let Some(size) = self.memory {
            // A size that is given is that of a GPU, which need not be on this machine.
            (Device::Cuda(0), size.each.bytes(), u64::MAX)
        } else {
            let device = self.device.resolve()?;
            let unknown = "the memory of the device is unknown; give `--memory`";
            (device, device::free_memory(device).context(unknown)?, host_memory())
        };
        let note = self.memory.and_then(DeviceMemory::note);
        let chosen = plan::choose(&settings, &shape, device, limit, host);
        let (chosen, plan) = match note.clone() {
            Some(note) => chosen.context(note)?,
            None => chosen?,
        };
        let moments = toml::Value::try_from(chosen.adam.optim)?;
        let note = note.map(|note| format!("{note}; ")).unwrap_or_default();
        if chosen.rollout.engine.is_some() {
            return Ok(format!(
                "{plan}\n\n{note}turns are sampled on other machines\nsettings: --set adam.optim={moments}\n"
            ));
        }
        let cache = chosen.rollout.cache.context("a plan that fits has a cache")?;
        let (rows, context) = (chosen.rollout.max_num_seqs, chosen.rollout.max_model_len);
        let (long, short) = plan::held(&chosen, &shape);
        let merged = chosen.rollout.merge_adapters;
        let merged = merged.map(|merge| format!(" --set rollout.merge_adapters={merge}"));
        let merged = merged.unwrap_or_default();
        Ok(format!(
            "{plan}\n\n{note}of {rows} sequences the KV cache holds {long} at a time at full length ({context} tokens), {short} at a quarter of it\nsettings: --set adam.optim={moments} --set rollout.cache={cache}{merged}\n"
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::cli::{ProgressBars, RlCli};
    use anyhow::Result;
    use clap::Parser;

    fn run(arguments: &[&str]) -> Result<String> {
        RlCli::try_parse_from([&["rl"], arguments].concat()).unwrap().run(&ProgressBars::default())
    }

    #[test]
    fn plan_of_a_large_policy_uses_the_papers_recipe_and_fits_an_h200() {
        // What a card of 141 GB shows.
        let plan = |more: &[&str]| {
            run(&[&["plan", "--model", "qwen3-8b", "--memory", "139GiB"], more].concat())
        };
        let default = plan(&[]).unwrap();
        assert!(default.contains("(40960 tokens)"), "{default}");
        assert_eq!(default, plan(&["--config", "sandmle"]).unwrap());
        let longer = plan(&["--set", "rollout.max_model_len=32768"]).unwrap();
        assert!(longer.contains("(32768 tokens)"), "{longer}");

        // With engines there is no cache beside the weights, so the larger moments fit.
        let engine = "rollout.engine={api='sglang', servers=['http://10.0.0.5:30000']}";
        let engines = plan(&["--set", engine]).unwrap();
        assert!(!engines.contains("keys and values"), "{engines}");
        assert!(engines.contains("turns are sampled on other machines"), "{engines}");
    }
}
