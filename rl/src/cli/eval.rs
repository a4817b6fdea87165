//! `rl eval`: on held-out tasks of a corpus, on a task of a suite, or on a benchmark.

use super::benchmark::BenchFlags;
use super::policies::NamedPolicies;
use super::{ProgressBars, RunFlags, add_sandboxes, add_script_cache};
use crate::eval::world::{ItemScore, WorldEvalSettings};
use crate::eval::{self, EvalSettings};
use crate::report::LearntSection;
use crate::rollout::GuideSettings;
use crate::run::settings::{Validate as _, claim, own, resolve};
use crate::world;
use agents::guide::channel::OnLost;
use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use serde::Serialize;
use tasks::stream::Stream;
use toml::Table;
use worlds::Part;

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
    /// Keep what scripts did in this folder, and run none that another run on this machine has run
    /// before: all stages of a job share one folder.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["sandboxes", "world", "bench"])]
    script_cache: Option<Utf8PathBuf>,
    #[command(flatten)]
    settings: EvalFlags,
    #[command(flatten)]
    guide: GuideFlags,
    #[command(flatten)]
    world: WorldFlags,
    #[command(flatten)]
    bench: BenchFlags,
}

/// Who advises the policies.
#[derive(Debug, Args)]
struct GuideFlags {
    /// Let people advise the policies: the address of a guide server, or the folder of a guide store. Its
    /// token comes from `GUIDE_TOKEN`.
    #[arg(long, value_name = "URL|DIR", conflicts_with_all = ["bench", "world"])]
    guide: Option<String>,
    /// A scripted person advises the policies and keeps step with them, so that episodes repeat; `--guide`
    /// is then a folder [default: `guide` in `--out`]. docs/GUIDANCE.md explains the file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bench", "world"])]
    person: Option<Utf8PathBuf>,
    /// What episodes do while the guide server does not answer: `continue`, `stop`, or for example
    /// `wait=2m` [default: continue].
    #[arg(long, value_name = "WHAT", requires = "guide")]
    on_lost: Option<OnLost>,
}

impl GuideFlags {
    /// The settings that they stand for, if there are any.
    fn settings(&self) -> Option<GuideSettings> {
        let Self { guide, person, on_lost } = self;
        let is_guided = guide.is_some() || person.is_some();
        is_guided.then(|| GuideSettings {
            place: guide.clone(),
            person: person.clone(),
            on_lost: on_lost.unwrap_or_default(),
        })
    }
}

/// Flags of an evaluation on a task of a suite.
#[derive(Debug, Args)]
struct WorldFlags {
    /// A task of a suite of generated environments (docs/WORLDS.md), such as `suite/household`, to
    /// evaluate policies on.
    #[arg(
        long,
        value_name = "FOLDER",
        conflicts_with_all = ["bench", "tasks", "scripted", "composed", "split", "sandboxes"]
    )]
    world: Option<Utf8PathBuf>,
    /// Which items of `--world`: `train`, or the sealed `dev` or `test` [default: test].
    #[arg(long, value_parser = part, requires = "world")]
    part: Option<Part>,
    /// Print the score and those of the items as one line of JSON; for one policy alone.
    #[arg(long, requires = "world")]
    json: bool,
}

fn part(name: &str) -> Result<Part, String> {
    let found = Part::ALL.into_iter().find(|part| part.name() == name);
    found.ok_or_else(|| "it must be `train`, `dev` or `test`".to_owned())
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct ScoreLine<'a> {
    score: f64,
    items: &'a [ItemScore],
}

#[derive(Debug, Args, Serialize)]
struct EvalFlags {
    /// The corpus made by `factory generate`.
    #[arg(
        long,
        value_name = "FOLDER",
        required_unless_present_any = ["bench", "world"],
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
        if let Some(folder) = &self.world.world {
            return self.run_in_world(folder, policies, bars);
        }
        if policies.is_empty() && !self.settings.scripted && !self.settings.composed {
            bail!("nothing to compare; give `--policy NAME=FOLDER`, or `--scripted`, or both");
        }
        let scale = policies.scale()?;
        let mut flags = Table::try_from(&self.settings)?;
        add_sandboxes(&mut flags, &self.sandboxes);
        add_script_cache(&mut flags, self.script_cache.as_deref());
        flags.insert("policies".into(), toml::Value::try_from(policies.sources())?);
        if let Some(guide) = self.guide.settings() {
            flags.insert("guide".into(), toml::Value::try_from(guide)?);
        }
        let mut defaults = EvalSettings::defaults(scale);
        if own("rules.tool_call_format", config.as_deref(), set)?.is_none() {
            defaults.rules.tool_call_format = policies.tool_call_format()?;
        }
        let settings: EvalSettings = resolve(&defaults, config.as_deref(), flags, set)?;
        let settings = settings.check()?;
        claim(out, &*settings, &EvalSettings::FREE)?;
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

    fn run_in_world(
        &self,
        folder: &Utf8Path,
        policies: NamedPolicies,
        bars: &ProgressBars,
    ) -> Result<String> {
        let RunFlags { out, config, set, .. } = &self.common;
        if policies.is_empty() {
            bail!("nothing to evaluate; give `--policy NAME=FOLDER`");
        }
        let mut defaults = WorldEvalSettings::defaults(policies.scale()?, &world::spec_of(folder)?);
        defaults.world = folder.to_owned();
        defaults.part = self.world.part.unwrap_or(defaults.part);
        defaults.policies = policies.sources();
        if self.world.json && defaults.policies.len() > 1 {
            bail!("`--json` prints the score of one policy; give one `--policy`");
        }
        let flags = Table::try_from(&self.settings)?;
        let flags = flags.into_iter().filter(|(key, _)| ["attempts", "seed"].contains(&&**key));
        let settings: WorldEvalSettings =
            resolve(&defaults, config.as_deref(), flags.collect(), set)?;
        let settings = settings.check()?;
        claim(out, &*settings, &["rollout.workers"])?;
        let device = self.common.device()?;
        let mut settings = settings.into_inner();
        settings.rollout.cache = policies.cache(&settings.rollout, settings.dtype, device)?;
        let stream = Stream::root(settings.seed).child("random policy");
        let contestants = policies.open(settings.dtype, device, stream)?;
        let evaluation = eval::world::run(&settings, &contestants, out, bars)?;
        if self.world.json {
            let row = &evaluation.rows[0];
            // Whoever reads one number does not see that it is of fewer items.
            if let Some(last) = &row.last_fault {
                let faults = row.faults;
                bail!("there is no score, for {faults} episodes broke, the last because: {last}");
            }
            let line = ScoreLine { score: row.score, items: &row.items };
            return Ok(serde_json::to_string(&line)? + "\n");
        }
        Ok(evaluation.table())
    }
}
