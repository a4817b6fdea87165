//! `rl sample`.

use super::{ProgressBars, RunFlags, cache_of, scale_of};
use crate::checkpoint::policy;
use crate::checkpoint::source::{PolicySource, locate};
use crate::eval::PolicyContestant;
use crate::eval::sample::{self, SampleSettings};
use crate::run::settings::{Validate as _, claim, resolve};
use crate::world;
use anyhow::{Result, bail};
use camino::Utf8PathBuf;
use clap::Args;
use serde::Serialize;
use toml::Table;

#[derive(Debug, Args)]
pub(super) struct SampleArgs {
    #[command(flatten)]
    common: RunFlags,
    #[command(flatten)]
    settings: SampleFlags,
    /// Which items: only `train`, because samples are trained on.
    #[arg(long, value_parser = ["train"], default_value = "train")]
    part: String,
    /// Print what was sampled as one line of JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args, Serialize)]
struct SampleFlags {
    /// The policy: a run, a model's folder or name.
    #[arg(long)]
    model: String,
    /// A task of a suite of generated environments (docs/WORLDS.md), such as `suite/household`.
    #[arg(long, value_name = "FOLDER")]
    world: Utf8PathBuf,
    /// Episodes per item [default: 4].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    /// Items, the first ones [default: all that may be trained on].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<u32>,
    /// Most episodes of an item that become examples, those with the largest rewards [default: all].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<u32>,
    /// The smallest reward of an example [default: any].
    #[arg(long, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: Option<f64>,
    /// The seed of everything [default: 0].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
}

impl SampleArgs {
    /// Samples. Returns the summary for the terminal.
    ///
    /// # Errors
    /// If settings are invalid, the policy cannot be opened, or episodes cannot be played.
    pub(super) fn run(&self, bars: &ProgressBars) -> Result<String> {
        let RunFlags { out, config, set, .. } = &self.common;
        let source = locate(&self.settings.model)?;
        let PolicySource::Folder(folder) = &source else {
            bail!("`{}` has no weights yet; give a run or a model's folder", self.settings.model);
        };
        let spec = world::spec_of(&self.settings.world)?;
        let defaults = SampleSettings::defaults(scale_of(&source)?, &spec);
        let flags = Table::try_from(&self.settings)?;
        let settings: SampleSettings = resolve(&defaults, config.as_deref(), flags, set)?;
        let settings = settings.check()?;
        claim(out, &*settings, &SampleSettings::FREE)?;
        let device = self.common.device()?;
        let mut settings = settings.into_inner();
        settings.rollout.cache = cache_of(&[folder], &settings.rollout, settings.dtype, device)?;
        let (model, tokenizer) = policy::open(folder, settings.dtype.kind(), device)?;
        let policy =
            PolicyContestant { name: "policy".to_owned(), model: model.merged(), tokenizer };
        let summary = sample::run(&settings, &policy, out, bars)?;
        if self.json {
            return Ok(serde_json::to_string(&summary)? + "\n");
        }
        Ok(summary.to_string())
    }
}
