//! `rl eval --bench`: policies on a benchmark.

use super::policies::NamedPolicies;
use super::{NotPlayed, ProgressBars, RunFlags};
use crate::eval::benchmark::{self, BenchData, BenchEvalError, BenchEvalSettings};
use crate::run::settings::{Validate as _, claim, resolve};
use crate::run::stop::Stop;
use agents::grammar::ToolCallFormat;
use agents::preset::Preset;
use agents::run::stop::AgentStop;
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::Args;
use evals::bench::machine::MachineOptions;
use evals::bench::output;
use evals::bench::suite::{BenchName, Selection, data_folder};
use serde::Serialize;
use std::sync::Arc;
use tasks::stream::Stream;
use tasks::task::Opening;
use toml::Table;

/// Flags of a benchmark, whose runs are searches or linear agents.
#[derive(Debug, Args)]
pub(super) struct BenchFlags {
    /// Play a benchmark: `mlebench-lite`, `mlebench`, `mle-dojo`, or `synthetic`, the held-out tasks of a corpus.
    #[arg(long, value_name = "NAME", requires = "preset", requires = "policies")]
    bench: Option<BenchName>,
    /// The folder with the data of the benchmark: `ID/prepared` of each competition, or a corpus
    /// [default for mlebench-lite: `MLE_BENCH_DATA`, else MLE-bench's own folder in the user's
    /// cache].
    #[arg(long, value_name = "FOLDER", requires = "bench")]
    data: Option<Utf8PathBuf>,
    /// The scaffold with its settings: a name or a TOML file. `--set preset.search.steps=20` sets
    /// one of them.
    #[arg(long, value_name = "NAME", requires = "bench")]
    preset: Option<String>,
    /// Runs of each task, with seeds 0, 1, … [default: 3].
    #[arg(long, requires = "bench")]
    seeds: Option<u32>,
    /// Runs at a time [default: 4].
    #[arg(long, requires = "bench")]
    jobs: Option<u32>,
    /// Play these tasks only: names, a file of names, or `prepared` for all that are there.
    #[arg(long, value_name = "IDS", value_delimiter = ',', requires = "bench")]
    only: Option<Vec<String>>,
    /// GPUs to deal out to scripts, one to each run that plays [default: what the preset says].
    #[arg(long, value_name = "INDICES", value_delimiter = ',', requires = "bench")]
    gpus: Vec<u32>,
    /// Let runs that play at a time share a GPU.
    #[arg(long, requires = "gpus")]
    share_gpus: bool,
    /// Pretrained weights, which scripts find in `models/`, read-only.
    #[arg(long, value_name = "FOLDER", requires = "bench")]
    weights: Option<Utf8PathBuf>,
    /// A checkout of mle-bench, for leaderboards.
    #[arg(long, value_name = "FOLDER", requires = "bench")]
    mlebench: Option<Utf8PathBuf>,
    /// A checkout of MLE-Dojo, for metrics and leaderboards.
    #[arg(long, value_name = "FOLDER", requires = "bench")]
    mledojo: Option<Utf8PathBuf>,
    /// Leaderboards of MLE-bench's competitions, for places among people: a folder with `ID.csv` of the columns `rank,score`.
    #[arg(long, value_name = "FOLDER", requires = "bench")]
    boards: Option<Utf8PathBuf>,
}

/// Those flags that are settings.
#[derive(Debug, Serialize)]
struct BenchSettingFlags {
    data: Utf8PathBuf,
    policies: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seeds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<u32>,
}

impl BenchFlags {
    /// The benchmark, if one is asked for.
    pub(super) fn bench(&self) -> Option<BenchName> {
        self.bench
    }

    /// Plays the benchmark; returns the table of results.
    ///
    /// # Errors
    /// [`NotPlayed`] if something was not played; any other error if the evaluation broke.
    pub(super) fn run(
        &self,
        bench: BenchName,
        policies: NamedPolicies,
        common: &RunFlags,
        bars: &ProgressBars,
    ) -> Result<String> {
        let RunFlags { out, config, set, .. } = common;
        let preset = self.preset.as_deref().context("name the scaffold: `--preset NAME`")?;
        let preset = Preset::load(preset, &[])?;
        let default = ToolCallFormat::default();
        for (policy, format) in policies.tool_call_formats()? {
            if format != default {
                tracing::warn!(
                    policy,
                    "writes its tool calls as `{}`, and the ReAct scaffold of benchmarks asks for \
                     `{}`: its turns may be malformed there",
                    format.name(),
                    default.name()
                );
            }
        }
        let flags = Table::try_from(BenchSettingFlags {
            data: data_folder(bench, self.data.as_deref())?,
            policies: policies.sources(),
            seeds: self.seeds,
            jobs: self.jobs,
        })?;
        let defaults = BenchEvalSettings::defaults(bench, preset, policies.scale()?);
        let settings: BenchEvalSettings = resolve(&defaults, config.as_deref(), flags, set)?;
        let settings = settings.check()?;
        let free = ["rollout.script_cache", "rollout.workers", "jobs", "seeds"];
        claim(out, &*settings, &free)?;
        let device = common.device()?;
        let mut settings = settings.into_inner();
        settings.rollout.cache = policies.cache(&settings.rollout, settings.dtype, device)?;
        let contestants =
            policies.open(settings.dtype, device, Stream::root(0).child("random policy"))?;
        let selection = Selection::from_names(self.only.as_deref())?;
        let opening = Opening { checkout: self.mlebench.clone(), mledojo: self.mledojo.clone() };
        let machine = MachineOptions {
            gpus: self.gpus.clone(),
            share_gpus: self.share_gpus,
            weights: self.weights.clone(),
        };
        let data = BenchData {
            selection: &selection,
            opening: &opening,
            boards: self.boards.as_deref(),
            machine: &machine,
        };
        let stop = Stop::on_signals().context("failed to listen for signals")?;
        let searches = Arc::new(AgentStop::default());
        let stopped = Arc::clone(&searches);
        let _watch = stop.on_request(move || {
            tracing::warn!("stopping; the same command goes on (once more to end at once)");
            stopped.stop();
        });
        let ended = benchmark::run(&settings, data, contestants, out, bars, &searches);
        let evaluation = ended.map_err(|error| match &error {
            BenchEvalError::Tasks(tasks) if !tasks.hints().is_empty() => {
                let hints = tasks.hints().join("\nhint: ");
                let (output, text) = (String::new(), format!("error: {error}\nhint: {hints}"));
                NotPlayed { output, text, code: NotPlayed::INCOMPLETE }.into()
            }
            _ => anyhow::Error::new(error),
        })?;
        let played = &evaluation.played;
        let table = output::write(out, &evaluation.field, &played.runs, &evaluation.conditions)?;
        let table = table.map_or_else(String::new, |table| table.to_string());
        let Some(text) = played.unfinished() else { return Ok(table) };
        let code = if stop.is_requested() { stop.exit_code() } else { NotPlayed::INCOMPLETE };
        Err(NotPlayed { output: table, text, code }.into())
    }
}
