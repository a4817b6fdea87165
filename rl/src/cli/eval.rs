//! `rl eval`: on held-out tasks of a corpus, or on a benchmark.

use super::benchmark::BenchFlags;
use super::policies::NamedPolicies;
use super::{ProgressBars, RunFlags, add_sandboxes};
use crate::eval::{self, EvalSettings};
use crate::report::LearntSection;
use crate::run::settings::{Validate as _, claim, own, resolve};
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
    /// Play the policies' episodes on these environment servers instead of this machine: addresses
    /// such as `http://10.0.0.5:8765`, separated by commas. All serve the same corpus by the same
    /// rules (docs/DEPLOY.md); their token comes from `SANDBOX_TOKEN`.
    #[arg(long, value_name = "URL", value_delimiter = ',', conflicts_with = "bench")]
    sandboxes: Vec<String>,
    #[command(flatten)]
    settings: EvalFlags,
    #[command(flatten)]
    bench: BenchFlags,
}

#[derive(Debug, Args, Serialize)]
struct EvalFlags {
    /// The corpus made by `factory generate`.
    #[arg(
        long,
        value_name = "FOLDER",
        required_unless_present = "bench",
        conflicts_with = "bench"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Utf8PathBuf>,
    /// Also play the scripted agents, from the constant to the oracle.
    #[arg(long, conflicts_with = "bench")]
    scripted: bool,
    /// Also play the scripted agent that puts scripts together from parts, which a `small` policy
    /// imitates.
    #[arg(long, conflicts_with = "bench")]
    composed: bool,
    /// `val` (held out) or `train` [default: val].
    #[arg(long, conflicts_with = "bench")]
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<String>,
    /// Episodes per agent and task [default: 4].
    #[arg(long, conflicts_with = "bench")]
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    /// The seed of everything [default: 0].
    #[arg(long, conflicts_with = "bench")]
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
}

impl EvalArgs {
    /// Evaluates the agents; returns the table of results and those of what was learnt.
    ///
    /// # Errors
    /// If settings are invalid, a policy cannot be opened, or an evaluation fails.
    pub(super) fn run(&self, bars: &ProgressBars) -> Result<String> {
        let RunFlags { out, config, set, .. } = &self.common;
        let policies = NamedPolicies::from_flags(&self.policies)?;
        if let Some(bench) = self.bench.bench() {
            return self.bench.run(bench, policies, &self.common, bars);
        }
        if policies.is_empty() && !self.settings.scripted && !self.settings.composed {
            bail!("nothing to compare; give `--policy NAME=FOLDER`, or `--scripted`, or both");
        }
        let scale = policies.scale()?;
        let mut flags = Table::try_from(&self.settings)?;
        add_sandboxes(&mut flags, &self.sandboxes);
        flags.insert("policies".into(), toml::Value::try_from(policies.sources())?);
        let mut defaults = EvalSettings::defaults(scale);
        if own("rules.tool_call_format", config.as_deref(), set)?.is_none() {
            defaults.rules.tool_call_format = policies.tool_call_format()?;
        }
        let settings: EvalSettings = resolve(&defaults, config.as_deref(), flags, set)?;
        let settings = settings.check()?;
        claim(out, &*settings, &["rollout.sandboxes", "rollout.script_cache", "rollout.workers"])?;
        let device = self.common.device()?;
        let mut settings = settings.into_inner();
        settings.rollout.cache = policies.cache(&settings.rollout, settings.dtype, device)?;
        let settings = settings.check()?;
        let stream = Stream::root(settings.seed).child("random policy");
        let contestants = policies.open(settings.dtype, device, stream)?;
        let evaluation = eval::run(&settings, &contestants, out, bars)?;
        let mut text = evaluation.table();
        if let Some(learnt) = LearntSection::of_evaluation(out, &evaluation, None)? {
            text.push('\n');
            text.push_str(&learnt.page("What was learnt").markdown());
        }
        Ok(text)
    }
}
