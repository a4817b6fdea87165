//! The command line of `rl`: resolves flags, files and defaults to settings, and runs a command.
//!
//! One file per command; here is what several of them share.

mod benchmark;
mod check_engine;
mod device_memory;
mod eval;
mod merge;
mod plan;
mod policies;
mod prefer;
mod report;
mod sample;
mod schema;
mod serve;
mod sft;
mod train;

use crate::bench::DeviceBenchArgs;
use crate::checkpoint::source::PolicySource;
use crate::checkpoint::{Checkpoints, Resume, policy};
use crate::model::Qwen3Config;
use crate::rollout::RolloutSettings;
use crate::run::device::{self, DeviceChoice};
use crate::run::stop::RunEnd;
use crate::run::view::Stages;
use crate::train::plan::cache_beside;
use crate::train::presets::{Dtype, Scale};
use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use check_engine::CheckEngineArgs;
use clap::{Args, Parser, Subcommand};
use eval::EvalArgs;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use merge::MergeArgs;
use plan::PlanArgs;
use prefer::PreferArgs;
use report::ReportArgs;
use sample::SampleArgs;
use schema::SchemaArgs;
use serve::PolicyServeArgs;
use sft::SftArgs;
use tasks::units::ByteSize;
use tch::Device;
use toml::{Table, Value};
use train::TrainArgs;

/// Train agents for machine learning engineering: SFT, GRPO, evaluation.
///
/// The usual order, on a corpus made by `factory generate --out tasks`:
///
///   rl sft   --model tiny    --tasks tasks --out sft
///   rl train --model sft     --tasks tasks --out grpo
///   rl eval  --policy sft=sft --policy grpo=grpo --scripted --tasks tasks --out eval
///
/// Every command resumes when it is run again with the same `--out`. Ctrl-C stops `rl sft` and
/// `rl train` after saving a checkpoint.
#[derive(Debug, Parser)]
#[command(name = "rl", version, verbatim_doc_comment)]
pub struct RlCli {
    /// The command to run.
    #[command(subcommand)]
    command: RlCommand,
}

#[derive(Debug, Subcommand)]
enum RlCommand {
    /// Fine-tune a policy on demonstrations of scripted agents (SFT).
    Sft(SftArgs),
    /// Train a policy by GRPO on its own episodes.
    Train(TrainArgs),
    /// Sample a policy's answers on training items, with their rewards: examples and pairs to learn from.
    ///
    ///   rl sample --model sft --world suite/arithmetic --attempts 8 --best 1 --threshold 0.5 --out own
    ///   rl sft    --model sft --data own/samples.jsonl --out rft
    ///   rl prefer --model sft --data own/pairs.jsonl   --out dpo
    #[command(verbatim_doc_comment)]
    Sample(SampleArgs),
    /// Train a policy on pairs of a better and a worse answer (DPO).
    ///
    ///   rl prefer --model sft --data pairs.jsonl --out dpo
    #[command(verbatim_doc_comment)]
    Prefer(PreferArgs),
    /// Evaluate policies and scripted agents on held-out tasks, or on a benchmark.
    ///
    ///   rl eval --policy sft=sft --policy grpo=grpo --scripted --tasks tasks --out eval
    ///   rl eval --bench mlebench-lite --data standins --preset lite-react --policy grpo=grpo --out eval
    ///
    /// A benchmark ends in `leaderboard.html`. Exit codes: 3 if something was not played.
    #[command(verbatim_doc_comment)]
    Eval(Box<EvalArgs>),
    /// Serve a policy through an API that is compatible with OpenAI's.
    ///
    ///   rl serve --model sft
    ///   curl localhost:8001/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Task: binary classification"}]}'
    ///
    /// The address is printed on standard output. Ctrl-C stops the server. docs/SERVE.md lists the
    /// parameters of requests.
    #[command(verbatim_doc_comment)]
    Serve(PolicyServeArgs),
    /// Make several models of one shape into one: mean, slerp, task arithmetic, TIES.
    ///
    ///   rl merge --model sft-a --model sft-b --out soup
    ///   rl merge --method ties --base base --model math --model code --density 0.2 --out both
    ///
    /// Weights are computed in f32, one after another, on the CPU.
    #[command(verbatim_doc_comment)]
    Merge(MergeArgs),
    /// Show the memory plan of a run of `rl train`, and settings that fit the device.
    Plan(PlanArgs),
    /// List the settings of a command as JSON: every key with its type, defaults, range and meaning.
    ///
    ///   rl schema sft
    ///   rl schema train --key rollout.sampling
    #[command(verbatim_doc_comment)]
    Schema(SchemaArgs),
    /// Check that servers of vLLM or SGLang can sample for `rl train`.
    ///
    ///   rl check-engine --model MODEL --engine sglang --servers URL,URL
    ///
    /// Publishes the model's weights, then changed ones, then the first again; each time the
    /// servers sample some turns, whose log-probabilities are compared with those that this
    /// process computes. What was served before is replaced. docs/ENGINES.md says how servers are
    /// started.
    #[command(verbatim_doc_comment)]
    CheckEngine(CheckEngineArgs),
    /// Measure what a device does with a model of some shape, beside what it could do at best.
    ///
    ///   rl bench --shape qwen3-8b --random-weights --device cuda:0 --json 8b.json
    ///   rl bench --shape tiny --random-weights --device cpu
    ///
    /// `parity` compares the device with the CPU, on small models of its own. `decode` times steps
    /// of the engine with contexts nearly full; its floor is the time to read all weights, keys and
    /// values once. `sft` and `grpo` time whole updates, in full and (`-lora`) of adapters; their
    /// floor is the time of the matrix products. Floors come from speeds that are measured on the
    /// same device: of a large copy, and of a large product. Memory is what is in use before a
    /// case and at most during it, beside what `rl plan` says of the same settings; of the moments
    /// and rows that are asked for, those that fit by that plan are taken. A case that does not fit
    /// is a result, and the others go on: each runs in a process of its own.
    #[command(verbatim_doc_comment)]
    Bench(Box<DeviceBenchArgs>),
    /// Show what was learnt in a run and an evaluation, and write a page about all stages.
    ///
    ///   rl report --grpo grpo --eval eval
    ///   rl report --tasks tasks --sft sft --grpo grpo --eval eval --out page.html --json learnt.json
    ///
    /// The tables on standard output say which approaches policies choose, what of their scripts is
    /// in no demonstration, what they gain on seen and on new prompts, and how far they are from the
    /// scripted agents. docs/METRICS.md explains the numbers.
    #[command(verbatim_doc_comment)]
    Report(ReportArgs),
}

/// Flags that all commands with settings have.
#[derive(Debug, Args)]
struct RunFlags {
    /// The folder of the run; a run that is there is resumed.
    #[arg(long, value_name = "FOLDER")]
    out: Utf8PathBuf,
    /// A recipe (`sandmle`: the paper's training, and what `rl train` does with large policies
    /// by default; `sparse`: its ablation of the reward; `format`: a control, with a reward for well-formed turns
    /// alone; `curriculum`: draws of tasks that still have
    /// a gradient, and rewards above gold) or a TOML file with settings; flags win over it. Every run writes its own as `settings.toml`.
    #[arg(long, value_name = "NAME|FILE")]
    config: Option<String>,
    /// Any setting by its dotted key, such as `rollout.sampling.temperature=0.8`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// `auto`, `cpu`, `cuda` or `cuda:N`.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// Threads of libtorch; default: one per processor.
    #[arg(long, value_name = "N")]
    threads: Option<i32>,
}

/// The checkpoint from which a run is resumed.
#[derive(Debug, Args)]
struct Continue {
    /// The checkpoint from which a run is resumed: `latest`, `best` (of `rl train`), or one of its
    /// folders, such as `step-000008`. Newer ones are removed.
    #[arg(long, value_name = "CHECKPOINT", default_value = "latest")]
    resume: String,
}

impl Continue {
    fn roll_back(&self, out: &Utf8Path) -> Result<()> {
        Ok(Checkpoints::new(out, 1).roll_back(&Resume::from(self.resume.as_str()))?)
    }
}

/// A command whose work is not done: what to say, and how the process ends.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct NotPlayed {
    /// What goes to standard output all the same.
    pub output: String,
    /// What was not played, and what to do.
    pub text: String,
    /// The exit code.
    pub code: u8,
}

impl NotPlayed {
    /// Something was not played, such as a competition without data.
    pub const INCOMPLETE: u8 = 3;
}

/// Progress on standard error.
#[derive(Debug, Clone, Default)]
pub struct ProgressBars(pub MultiProgress);

impl Stages for ProgressBars {
    fn stage(&self, name: &'static str, length: u64) -> ProgressBar {
        let template = "{prefix:>12} {bar:28} {pos}/{len} {per_sec} eta {eta} {msg}";
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.0.add(ProgressBar::new(length).with_style(style).with_prefix(name))
    }
}

impl RunFlags {
    fn device(&self) -> Result<Device> {
        Ok(device::set_up(self.device, self.threads)?)
    }
}

impl RlCli {
    /// Runs the command and returns its standard output.
    ///
    /// # Errors
    /// The error of the command, with what to do about it.
    pub fn run(self, bars: &ProgressBars) -> Result<String> {
        match self.command {
            RlCommand::Sft(args) => args.run(bars),
            RlCommand::Train(args) => args.run(bars),
            RlCommand::Sample(args) => args.run(bars),
            RlCommand::Prefer(args) => args.run(bars),
            RlCommand::Eval(args) => args.run(bars),
            RlCommand::Merge(args) => args.run(),
            RlCommand::Plan(args) => args.run(),
            RlCommand::Schema(args) => args.run(),
            RlCommand::CheckEngine(args) => args.run(),
            RlCommand::Bench(args) => args.run(),
            RlCommand::Serve(args) => args.run(),
            RlCommand::Report(args) => args.run(),
        }
    }
}

fn scale_of(source: &PolicySource) -> Result<Scale> {
    match source {
        PolicySource::BuiltIn(shape) => Ok(shape.scale()),
        PolicySource::Folder(folder) => {
            let config = Qwen3Config::open(&policy::base_of(folder)?)
                .with_context(|| format!("`{folder}` is not a model's folder; give a run of `rl sft` or `rl train`, one of its checkpoints, or a model in Hugging Face's format"))?;
            Ok(Scale::from_parameters(config.parameter_count()))
        }
    }
}

/// The folder that a finished run leaves. One that was stopped is no failure, but ends the
/// command with another code.
fn folder_of(ended: RunEnd) -> Result<String> {
    match ended {
        RunEnd::Finished(folder) => Ok(format!("{folder}\n")),
        RunEnd::Stopped(stopped) => Err(stopped.into()),
    }
}

/// Puts the addresses of `--sandboxes` where the setting is, in `rollout`.
fn add_sandboxes(flags: &mut Table, addresses: &[String]) {
    if !addresses.is_empty() {
        let addresses = addresses.iter().cloned().map(Value::String).collect();
        set_of_rollout(flags, "sandboxes", Value::Array(addresses));
    }
}

/// Adds the folder of `--script-cache`, which wins over a config's.
fn add_script_cache(flags: &mut Table, folder: Option<&Utf8Path>) {
    if let Some(folder) = folder {
        set_of_rollout(flags, "script_cache_folder", Value::String(folder.to_string()));
    }
}

/// Puts the value of a flag where the setting is, in `rollout`.
fn set_of_rollout(flags: &mut Table, key: &str, value: Value) {
    let rollout = flags.entry("rollout").or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(rollout) = rollout {
        rollout.insert(key.to_owned(), value);
    }
}

/// The recipe for policies of this scale, where none is named.
fn recipe_of(scale: Scale) -> Option<&'static str> {
    match scale {
        Scale::Tiny | Scale::Small => None,
        Scale::Large => Some("sandmle"),
    }
}

/// What the computer has free for moments that are offloaded, in bytes.
fn host_memory() -> u64 {
    device::free_memory(Device::Cpu).unwrap_or(u64::MAX)
}

/// The cache for policies that only generate, one of them at a time: as it was asked for, else what
/// the device has left beside the weights of all.
fn cache_of(
    folders: &[&Utf8PathBuf],
    settings: &RolloutSettings,
    dtype: Dtype,
    device: Device,
) -> Result<Option<ByteSize>> {
    let Some(limit) = device::memory(device).filter(|_| settings.cache.is_none()) else {
        return Ok(settings.cache);
    };
    let shapes = folders.iter().map(|folder| Ok(Qwen3Config::open(&policy::base_of(folder)?)?));
    let shapes: Vec<Qwen3Config> = shapes.collect::<Result<_>>()?;
    let parameters: i64 = shapes.iter().map(Qwen3Config::parameter_count).sum();
    let weights = u64::try_from(parameters)? * dtype.kind().elt_size_in_bytes() as u64;
    let of = (dtype, device);
    let left = shapes.iter().map(|shape| Ok(cache_beside(weights, settings, shape, of, limit)?));
    Ok(left.collect::<Result<Vec<_>>>()?.into_iter().max())
}
