//! `rl sft`.

use super::{Continue, ProgressBars, RunFlags, folder_of, scale_of};
use crate::checkpoint::source::{PolicySource, locate, tool_call_format};
use crate::run::guide;
use crate::run::settings::{Validate as _, claim, resolve};
use crate::run::stop::Stop;
use crate::train::sft::{self, SftSettings};
use crate::world;
use anyhow::{Context, Result, bail};
use camino::Utf8PathBuf;
use clap::Args;
use serde::Serialize;
use toml::Table;

#[derive(Debug, Args)]
pub(super) struct SftArgs {
    #[command(flatten)]
    common: RunFlags,
    #[command(flatten)]
    from: Continue,
    #[command(flatten)]
    settings: SftFlags,
    /// Say what the run would take (tokens, updates, memory, seconds), and write nothing. With
    /// `--data` alone.
    #[arg(long)]
    dry_run: bool,
    /// With `--dry-run`: as one line of JSON.
    #[arg(long, requires = "dry_run")]
    json: bool,
}

#[derive(Debug, Args, Serialize)]
struct SftFlags {
    /// `tiny` and `small` (built in, need nothing), a published model's name (`qwen3-0.6b` to
    /// `qwen3-32b`, `qwen2.5-0.5b` to `qwen2.5-7b-instruct`), or a folder.
    #[arg(long, default_value = "tiny")]
    model: String,
    /// The corpus made by `factory generate`.
    #[arg(
        long,
        value_name = "FOLDER",
        required_unless_present_any = ["world", "data"],
        conflicts_with_all = ["world", "data"]
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Utf8PathBuf>,
    /// A task of a suite of generated environments (docs/WORLDS.md), such as `suite/household`:
    /// imitate the expert of its training items.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["data", "searches"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    world: Option<Utf8PathBuf>,
    /// Examples to imitate, a JSON object a line or one list of them: `messages`, or `prompt` and
    /// `completion`, or `text`, as TRL's `SFTTrainer` reads them; or `instruction` and `output`, as in
    /// Alpaca. May be repeated.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["searches", "episodes"])]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    data: Vec<Utf8PathBuf>,
    /// Runs of agents on tasks of the corpus, as `agents run` and `agents eval` leave them: imitate
    /// the good answers of searches and the conversations of linear agents that reached the median,
    /// and no scripted agents; may be repeated.
    #[arg(long, value_name = "FOLDER")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    searches: Vec<Utf8PathBuf>,
    /// Samples of guided runs, as `agents guide export` makes them: imitate what of them is to be
    /// trained on, and no scripted agents; may be repeated.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["searches", "episodes", "data"])]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<Utf8PathBuf>,
    /// Runs of `rl eval` (with `--split train`) or `rl train`: imitate the best of every four
    /// episodes on a task (`--set best_of=4`), and no scripted agents; may be repeated.
    #[arg(long, value_name = "FOLDER", conflicts_with = "searches")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    episodes: Vec<Utf8PathBuf>,
    /// The seed of everything [default: 0].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    /// Demonstrations per task and approach [default: 3].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    /// Passes over the demonstrations [default: 8 for tiny policies, else 2].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    epochs: Option<u32>,
    /// Peak learning rate [default: 3e-3 for tiny policies, 1e-3 for trained ones in a world, else 1e-5].
    #[arg(long, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    learning_rate: Option<f64>,
    /// Share of the examples that are held out, to measure `eval_loss` on [default: 0].
    #[arg(long, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    validation_share: Option<f64>,
    /// Most examples, drawn by chance [default: all].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_samples: Option<u32>,
    /// Most updates [default: all of the epochs].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_steps: Option<u32>,
    /// Keep what scripts did in this folder, and run none that another run on this machine has run
    /// before: all stages of a job share one folder.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["world", "data", "samples", "searches", "episodes"])]
    #[serde(rename = "script_cache_folder", skip_serializing_if = "Option::is_none")]
    script_cache: Option<Utf8PathBuf>,
    /// The old name of `--learning-rate`.
    #[arg(long, hide = true, allow_negative_numbers = true, conflicts_with = "learning_rate")]
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
}

impl SftArgs {
    /// Trains the policy; returns the folder of the last checkpoint.
    ///
    /// # Errors
    /// If settings are invalid, the run fails, or it was stopped.
    pub(super) fn run(&self, bars: &ProgressBars) -> Result<String> {
        let RunFlags { out, config, set, .. } = &self.common;
        // clap's `requires` says nothing where a flag is given that `data` conflicts with.
        if self.dry_run && self.settings.data.is_empty() {
            bail!(
                "`--dry-run` says what a run on `--data` would take; with tasks, environments or episodes it has no answer: leave it out"
            );
        }
        let source = locate(&self.settings.model)?;
        let scale = scale_of(&source)?;
        let mut defaults = SftSettings::defaults(scale);
        if let PolicySource::Folder(folder) = &source {
            defaults.rules.tool_call_format = tool_call_format(folder)?.unwrap_or_default();
        }
        if let Some(folder) = &self.settings.world {
            let is_trained = matches!(source, PolicySource::Folder(_));
            defaults.set_world(&world::spec_of(folder)?, scale, is_trained);
        }
        let settings: SftSettings =
            resolve(&defaults, config.as_deref(), Table::try_from(&self.settings)?, set)?;
        let settings = settings.check()?;
        if matches!(source, PolicySource::BuiltIn(_)) && settings.lora.is_some() {
            bail!(
                "`lora` trains adapters beside finished weights, and `tiny` and `small` have none; leave it out, or give the folder of a model"
            );
        }
        if self.dry_run {
            let found = sft::estimate(&settings, &source, self.common.device()?)?;
            let json = || Ok(serde_json::to_string(&found)? + "\n");
            return if self.json { json() } else { Ok(found.to_string()) };
        }
        claim(out, &*settings, &["workers", "script_cache_folder"])?;
        guide::write(out, guide::SFT)?;
        self.from.roll_back(out)?;
        let stop = Stop::on_signals().context("failed to listen for signals")?;
        folder_of(sft::run(&settings, &source, out, self.common.device()?, bars, &stop)?)
    }
}
