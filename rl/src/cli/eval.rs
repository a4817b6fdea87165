//! `rl eval`.

use super::{ProgressBars, RunFlags, cache_of, scale_of};
use crate::checkpoint::policy;
use crate::checkpoint::source::{PolicySource, locate};
use crate::eval::{self, EvalSettings, PolicyContestant};
use crate::model::Qwen3;
use crate::run::settings::{Validate as _, claim, resolve};
use crate::train::presets::Scale;
use anyhow::{Result, bail};
use camino::Utf8PathBuf;
use clap::Args;
use serde::Serialize;
use tasks::stream::Stream;
use toml::Table;

#[derive(Debug, Args)]
pub(super) struct EvalArgs {
    #[command(flatten)]
    common: RunFlags,
    /// A policy as NAME=SOURCE, or `random` for fresh weights in the first one's shape; may be
    /// repeated, with another name.
    #[arg(long = "policy", value_name = "NAME=SOURCE")]
    policies: Vec<String>,
    #[command(flatten)]
    settings: EvalFlags,
}

#[derive(Debug, Args, Serialize)]
struct EvalFlags {
    /// The corpus made by `factory generate`.
    #[arg(long, value_name = "FOLDER")]
    tasks: Utf8PathBuf,
    /// Also play the scripted agents, from the constant to the oracle.
    #[arg(long)]
    scripted: bool,
    /// `val` (held out) or `train` [default: val].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<String>,
    /// Episodes per agent and task [default: 4].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    /// The seed of everything [default: 0].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
}

impl EvalArgs {
    /// Evaluates the agents; returns the table of results.
    ///
    /// # Errors
    /// If settings are invalid, a policy cannot be opened, or an evaluation fails.
    pub(super) fn run(&self, bars: &ProgressBars) -> Result<String> {
        let RunFlags { out, config, set, .. } = &self.common;
        let mut named = Vec::new();
        let mut random = false;
        for policy in &self.policies {
            match policy.split_once('=') {
                Some((name, source)) if !name.is_empty() => match locate(source)? {
                    PolicySource::Tiny => random = true,
                    PolicySource::Folder(folder) => named.push((name.to_owned(), folder)),
                },
                _ if policy == "random" => random = true,
                _ => bail!("`--policy {policy}` is neither NAME=SOURCE nor `random`"),
            }
        }
        if random && named.is_empty() {
            bail!(
                "`--policy random` takes its shape and vocabulary from another policy; give one as NAME=FOLDER"
            );
        }
        if named.is_empty() && !self.settings.scripted {
            bail!("nothing to compare; give `--policy NAME=FOLDER`, or `--scripted`, or both");
        }
        let scale = match named.first() {
            Some((_, folder)) => scale_of(&PolicySource::Folder(folder.clone()))?,
            None => Scale::Tiny,
        };
        let mut policies: Vec<(String, String)> =
            named.iter().map(|(name, folder)| (name.clone(), folder.to_string())).collect();
        if random {
            policies.insert(0, ("random".into(), "tiny".into()));
        }
        let mut flags = Table::try_from(&self.settings)?;
        flags.insert("policies".into(), toml::Value::try_from(policies)?);
        let settings: EvalSettings =
            resolve(&EvalSettings::defaults(scale), config.as_deref(), flags, set)?;
        let settings = settings.check()?;
        claim(out, &*settings, &["rollout.workers"])?;
        let device = self.common.device()?;
        let mut folders: Vec<&Utf8PathBuf> = named.iter().map(|(_, folder)| folder).collect();
        if random {
            folders.extend(folders.first().copied());
        }
        let cache = cache_of(&folders, &settings.rollout, settings.dtype, device)?;
        let mut settings = settings.into_inner();
        settings.rollout.cache = cache;
        let settings = settings.check()?;
        let mut contestants = Vec::new();
        for (name, folder) in named {
            let (model, tokenizer) = policy::open(&folder, settings.dtype.kind(), device)?;
            contestants.push(PolicyContestant { name, model, tokenizer });
        }
        if let (true, Some(first)) = (random, contestants.first()) {
            let stream = Stream::root(settings.seed).child("random policy");
            let model = Qwen3::random(first.model.config(), settings.dtype.kind(), device, stream);
            let tokenizer = first.tokenizer.clone();
            contestants.insert(0, PolicyContestant { name: "random".into(), model, tokenizer });
        }
        let evaluation = eval::run(&settings, &contestants, out, bars)?;
        Ok(evaluation.table())
    }
}
