//! `rl prefer`.

use super::{Continue, ProgressBars, RunFlags, folder_of, scale_of};
use crate::checkpoint::source::locate;
use crate::run::guide;
use crate::run::settings::{Validate as _, claim, resolve};
use crate::run::stop::Stop;
use crate::train::prefer::{self, PreferSettings};
use anyhow::{Context, Result};
use camino::Utf8PathBuf;
use clap::Args;
use serde::Serialize;
use toml::Table;

#[derive(Debug, Args)]
pub(super) struct PreferArgs {
    #[command(flatten)]
    common: RunFlags,
    #[command(flatten)]
    from: Continue,
    #[command(flatten)]
    settings: PreferFlags,
}

#[derive(Debug, Args, Serialize)]
struct PreferFlags {
    /// The policy to start from, which is also the reference model: a run, a model's folder or name.
    #[arg(long)]
    model: String,
    /// Pairs, a JSON object a line as TRL's `DPOTrainer` reads them: `prompt`, `chosen` and
    /// `rejected`; may be repeated. `rl sample` writes such files.
    #[arg(long, value_name = "FILE", required = true)]
    data: Vec<Utf8PathBuf>,
    /// The seed of everything [default: 0].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    /// Passes over the pairs [default: 3 for tiny policies, else 1].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    epochs: Option<u32>,
    /// Peak learning rate [default: 1e-4 for tiny policies, else 1e-6].
    #[arg(long, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    learning_rate: Option<f64>,
    /// How strongly the policy is held at the reference [default: 0.1].
    #[arg(long, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    beta: Option<f64>,
    /// Share of the pairs that are held out [default: 0].
    #[arg(long, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    validation_share: Option<f64>,
}

impl PreferArgs {
    /// Trains the policy; returns the folder of the last checkpoint.
    ///
    /// # Errors
    /// If settings are invalid, the run fails, or it was stopped.
    pub(super) fn run(&self, bars: &ProgressBars) -> Result<String> {
        let RunFlags { out, config, set, .. } = &self.common;
        let source = locate(&self.settings.model)?;
        let defaults = PreferSettings::defaults(scale_of(&source)?);
        let flags = Table::try_from(&self.settings)?;
        let settings: PreferSettings = resolve(&defaults, config.as_deref(), flags, set)?;
        let settings = settings.check()?;
        claim(out, &*settings, &[])?;
        guide::write(out, guide::PREFER)?;
        self.from.roll_back(out)?;
        let stop = Stop::on_signals().context("failed to listen for signals")?;
        folder_of(prefer::run(&settings, &source, out, self.common.device()?, bars, &stop)?)
    }
}
