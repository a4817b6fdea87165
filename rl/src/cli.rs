//! The command line: flags, files and defaults in, plain settings out. No logic of learning.

use crate::bench::DeviceBenchArgs;
use crate::checkpoint::source::{PolicySource, locate};
use crate::checkpoint::{Checkpoints, Resume, policy};
use crate::eval::{self, EvalSettings, PolicyContestant};
use crate::model::{Published, Qwen3, Qwen3Config};
use crate::report::{self, ReportSources};
use crate::rollout::RolloutSettings;
use crate::run::device::{self, DeviceChoice};
use crate::run::settings::{
    Checked, Validate as _, at, claim, of_run, own, resolve, warn_of_old_name,
};
use crate::run::stop::{RunEnd, Stop};
use crate::run::view::Stages;
use crate::serve::{InferenceConfig, InferenceServer};
use crate::train::grpo::{self, TrainSettings};
use crate::train::plan;
use crate::train::presets::{Dtype, Scale};
use crate::train::sft::{self, SftSettings};
use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, Parser, Subcommand};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::net::IpAddr;
use tasks::stream::Stream;
use tasks::units::ByteSize;
use tch::Device;
use toml::Table;
use web::token::{BadToken, Token};

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
    /// Evaluate policies and scripted agents on held-out tasks.
    Eval(EvalArgs),
    /// Serve a policy through an API that is compatible with OpenAI's.
    ///
    ///   rl serve --model sft --port 8000
    ///   curl localhost:8000/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Hello"}]}'
    ///
    /// The address is printed on standard output. Ctrl-C stops the server. docs/SERVE.md lists the
    /// parameters of requests.
    #[command(verbatim_doc_comment)]
    Serve(PolicyServeArgs),
    /// Show the memory plan of a run of `rl train`, and settings that fit the device.
    Plan(PlanArgs),
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
    /// Write a page about a run, or about all stages together.
    Report(ReportArgs),
}

/// Flags that all commands with settings have.
#[derive(Debug, Args)]
struct RunFlags {
    /// The folder of the run; a run that is there is resumed.
    #[arg(long, value_name = "FOLDER")]
    out: Utf8PathBuf,
    /// A recipe (`sandmle`: the paper's training, and what `rl train` does with large policies
    /// by default; `sparse`: its ablation of the reward) or a TOML file with settings;
    /// flags win over it. Every run writes its own as `settings.toml`.
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
    fn wind_back(&self, out: &Utf8Path) -> Result<()> {
        Ok(Checkpoints::new(out, 1).wind_back(&Resume::from(self.resume.as_str()))?)
    }
}

#[derive(Debug, Args)]
struct SftArgs {
    #[command(flatten)]
    common: RunFlags,
    #[command(flatten)]
    from: Continue,
    #[command(flatten)]
    settings: SftFlags,
}

#[derive(Debug, Args, Serialize)]
struct SftFlags {
    /// `tiny` (built in, needs nothing), `qwen3-0.6b` to `qwen3-32b`, or a folder.
    #[arg(long, default_value = "tiny")]
    model: String,
    /// The corpus made by `factory generate`.
    #[arg(long, value_name = "FOLDER")]
    tasks: Utf8PathBuf,
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
    /// Peak learning rate [default: 3e-3 for tiny policies, else 1e-5].
    #[arg(long, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    learning_rate: Option<f64>,
    /// The old name of `--learning-rate`.
    #[arg(long, hide = true, allow_negative_numbers = true, conflicts_with = "learning_rate")]
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
}

#[derive(Debug, Args)]
struct TrainArgs {
    #[command(flatten)]
    common: RunFlags,
    #[command(flatten)]
    from: Continue,
    #[command(flatten)]
    settings: TrainFlags,
}

#[derive(Debug, Args, Serialize)]
struct TrainFlags {
    /// The policy to start from: a run of `rl sft`, a model's folder or name.
    #[arg(long)]
    model: String,
    /// The corpus made by `factory generate`.
    #[arg(long, value_name = "FOLDER")]
    tasks: Utf8PathBuf,
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
    /// Learning rate [default: 2e-4 for tiny policies, else 1e-6].
    #[arg(long, allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    learning_rate: Option<f64>,
    /// The old name of `--learning-rate`.
    #[arg(long, hide = true, allow_negative_numbers = true, conflicts_with = "learning_rate")]
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
}

#[derive(Debug, Args)]
struct EvalArgs {
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

#[derive(Debug, Args)]
struct PolicyServeArgs {
    /// A run of `rl sft` or `rl train`, a model's folder or name.
    #[arg(long)]
    model: String,
    /// What clients call the model [default: as given to `--model`].
    #[arg(long, value_name = "NAME")]
    served_model_name: Option<String>,
    /// The address to listen on. Other machines are served only with a key.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// What clients must show, as `Authorization: Bearer KEY`.
    #[arg(long, env = "RL_API_KEY", hide_env_values = true, value_name = "KEY", value_parser = key)]
    api_key: Option<Token>,
    /// Most answers that are generated at once [default: 16, or 4 if a large policy is served by a
    /// CPU].
    #[arg(long, value_name = "N")]
    max_num_seqs: Option<usize>,
    /// The old name of `--max-num-seqs`.
    #[arg(long, hide = true, conflicts_with = "max_num_seqs")]
    rows: Option<usize>,
    /// Context length: most tokens of a prompt and its answer together, at most those of the model
    /// [default: 4096, or 8192 if a large policy is served by a GPU].
    #[arg(long, value_name = "TOKENS")]
    max_model_len: Option<usize>,
    /// The old name of `--max-model-len`.
    #[arg(long, hide = true, conflicts_with = "max_model_len")]
    context: Option<usize>,
    /// Size of the KV cache, such as `8GiB`. Memory is taken as answers need it; if it is too little
    /// for all of them, some wait [default: what the device has left, at most what `--max-num-seqs`
    /// answers of `--max-model-len` tokens need].
    #[arg(long, value_name = "SIZE")]
    cache: Option<ByteSize>,
    /// Most answers that wait for a row; further requests are refused and may be repeated.
    #[arg(long, default_value_t = 256, value_name = "N")]
    queue: usize,
    /// `auto`, `cpu`, `cuda` or `cuda:N`.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// The type of the weights [default: f32 on a CPU, bf16 on a GPU].
    #[arg(long)]
    dtype: Option<Dtype>,
    /// Threads of libtorch [default: 1 for tiny policies, else one per processor].
    #[arg(long, value_name = "N")]
    threads: Option<i32>,
}

#[derive(Debug, Args)]
struct PlanArgs {
    /// A published model's name, such as `qwen3-8b`, or a folder.
    #[arg(long)]
    model: String,
    /// How much a GPU has, such as `141GiB` [default: what `--device` has].
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
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

#[derive(Debug, Args)]
struct ReportArgs {
    /// The corpus: how it was made, and some of its tasks.
    #[arg(long, value_name = "FOLDER")]
    tasks: Option<Utf8PathBuf>,
    /// A run of `rl sft`: its curve.
    #[arg(long, value_name = "FOLDER")]
    sft: Option<Utf8PathBuf>,
    /// A run of `rl train`: its curves, its best policy, some episodes; may still be going on.
    #[arg(long, value_name = "FOLDER")]
    grpo: Option<Utf8PathBuf>,
    /// A folder of `rl eval`: the comparison, and episodes of before and after.
    #[arg(long, value_name = "FOLDER")]
    eval: Option<Utf8PathBuf>,
    /// The HTML file to write.
    #[arg(long, value_name = "FILE")]
    out: Utf8PathBuf,
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
    /// Does it, and returns what belongs on standard output.
    ///
    /// # Errors
    /// Whatever went wrong, with what to do about it.
    pub fn run(self, bars: &ProgressBars) -> Result<String> {
        match self.command {
            RlCommand::Sft(args) => sft(&args, bars),
            RlCommand::Train(args) => train(&args, bars),
            RlCommand::Eval(args) => evaluate(&args, bars),
            RlCommand::Plan(args) => plan(&args),
            RlCommand::Bench(args) => args.run(),
            RlCommand::Serve(args) => serve(args),
            RlCommand::Report(args) => {
                let ReportArgs { tasks, sft, grpo, eval, out } = args;
                report::write(&ReportSources { tasks, sft, grpo, eval }, &out)?;
                Ok(format!("{out}\n"))
            }
        }
    }
}

fn scale_of(source: &PolicySource) -> Result<Scale> {
    match source {
        PolicySource::Tiny => Ok(Scale::Tiny),
        PolicySource::Folder(folder) => {
            let config = Qwen3Config::open(&policy::base_of(folder)?)
                .with_context(|| format!("`{folder}` is not a model's folder; give a run of `rl sft` or `rl train`, one of its checkpoints, or a model in Hugging Face's format"))?;
            Ok(Scale::from_parameters(config.parameter_count()))
        }
    }
}

fn sft(args: &SftArgs, bars: &ProgressBars) -> Result<String> {
    let RunFlags { out, config, set, .. } = &args.common;
    let source = locate(&args.settings.model)?;
    let defaults = SftSettings::defaults(scale_of(&source)?);
    let settings: SftSettings =
        resolve(&defaults, config.as_deref(), Table::try_from(&args.settings)?, set)?;
    let settings = settings.check()?;
    if source == PolicySource::Tiny && settings.lora.is_some() {
        bail!(
            "`lora` trains adapters beside finished weights, and `tiny` has none; leave it out, or give the folder of a model"
        );
    }
    claim(out, &*settings, &["workers"])?;
    args.from.wind_back(out)?;
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    folder_of(sft::run(&settings, &source, out, args.common.device()?, bars, &stop)?)
}

/// The folder that a finished run leaves. One that was stopped is no failure, but ends the
/// command with another code.
fn folder_of(ended: RunEnd) -> Result<String> {
    match ended {
        RunEnd::Finished(folder) => Ok(format!("{folder}\n")),
        RunEnd::Stopped(stopped) => Err(stopped.into()),
    }
}

fn train(args: &TrainArgs, bars: &ProgressBars) -> Result<String> {
    let RunFlags { out, config, set, .. } = &args.common;
    let source = locate(&args.settings.model)?;
    let PolicySource::Folder(folder) = &source else {
        bail!(
            "fresh weights cannot be reinforced: they never earn a reward; run `rl sft --model tiny` first and give its folder"
        );
    };
    let scale = scale_of(&source)?;
    let config = config.as_deref().or(recipe_of(scale));
    let flags = Table::try_from(&args.settings)?;
    let mut settings: TrainSettings = resolve(&TrainSettings::defaults(scale), config, flags, set)?;
    // The optimizer keeps its moments in the largest form that fits the device, unless the user
    // or the run that goes on says otherwise.
    let own = own("adam.optim", config, set)?;
    let begun = of_run(out)?.and_then(|run| at(&run, "adam.optim").cloned());
    let is_given = own.is_some() || begun.is_some();
    if let (None, Some(moments)) = (own, begun) {
        settings.adam.optim = moments.try_into().context("the run's `adam.optim`")?;
    }
    let settings = settings.check()?;
    let device = args.common.device()?;
    let fitted = fitted(&settings, is_given, folder, device)?;
    // The cache is what the device has free today, and no property of the run.
    let mut lasting = fitted.clone().into_inner();
    lasting.rollout.cache = settings.rollout.cache;
    claim(out, &lasting, &TrainSettings::FREE)?;
    args.from.wind_back(out)?;
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    let ended = grpo::run(&fitted, folder, out, device, bars, &stop)?;
    folder_of(ended)
}

/// The recipe for policies of this scale, where none is named.
fn recipe_of(scale: Scale) -> Option<&'static str> {
    match scale {
        Scale::Tiny => None,
        Scale::Large => Some("sandmle"),
    }
}

/// The settings with a cache that fits into what the device has free, and on a GPU, unless they
/// are given, with moments that leave room for it.
fn fitted(
    settings: &Checked<TrainSettings>,
    is_given: bool,
    folder: &Utf8Path,
    device: Device,
) -> Result<Checked<TrainSettings>> {
    let Some(limit) = device::free_memory(device) else { return Ok(settings.clone()) };
    let shape = Qwen3Config::open(&policy::base_of(folder)?)?;
    let (fitted, _) = if is_given || device == Device::Cpu {
        plan::filled(settings, &shape, device, limit)?
    } else {
        plan::choose(settings, &shape, device, limit, host_memory())?
    };
    if fitted.adam.optim != settings.adam.optim {
        let moments = toml::Value::try_from(fitted.adam.optim)?;
        tracing::info!(%moments, "chosen so that the run fits the device");
    }
    Ok(fitted.check()?)
}

/// What the computer has free for moments that are offloaded, in bytes.
fn host_memory() -> u64 {
    device::free_memory(Device::Cpu).unwrap_or(u64::MAX)
}

fn plan(args: &PlanArgs) -> Result<String> {
    // A published model need not be here: its shape is known.
    let shape = match Published::named(&args.model) {
        Some(published) => published.config(),
        None => match locate(&args.model)? {
            PolicySource::Folder(folder) => Qwen3Config::open(&policy::base_of(&folder)?)?,
            PolicySource::Tiny => {
                bail!("the tiny policy fits anywhere; give a model's name or folder")
            }
        },
    };
    let scale = Scale::from_parameters(shape.parameter_count());
    let config = args.config.as_deref().or(recipe_of(scale));
    let flags = Table::from_iter([
        ("model".to_owned(), args.model.clone().into()),
        ("tasks".to_owned(), "tasks".into()),
    ]);
    let settings: TrainSettings =
        resolve(&TrainSettings::defaults(scale), config, flags, &args.set)?;
    let settings = settings.check()?;
    let (device, limit, host) = if let Some(size) = args.memory {
        // A size that is given is that of a GPU, which need not be on this machine.
        (Device::Cuda(0), size.bytes(), u64::MAX)
    } else {
        let device = args.device.resolve()?;
        let unknown = "the device does not say how much memory it has; give `--memory`";
        (device, device::free_memory(device).context(unknown)?, host_memory())
    };
    let (chosen, plan) = plan::choose(&settings, &shape, device, limit, host)?;
    let moments = toml::Value::try_from(chosen.adam.optim)?;
    let cache = chosen.rollout.cache.context("a plan that fits has a cache")?;
    let (rows, context) = (chosen.rollout.max_num_seqs, chosen.rollout.max_model_len);
    let (long, short) = plan::held(&chosen, &shape);
    Ok(format!(
        "{plan}\n\nof {rows} sequences the KV cache holds {long} at a time at full length ({context} tokens), {short} at a quarter of it\nsettings: --set adam.optim={moments} --set rollout.cache={cache}\n"
    ))
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
    let left =
        shapes.iter().map(|shape| Ok(plan::cache_beside(weights, settings, shape, dtype, limit)?));
    Ok(left.collect::<Result<Vec<_>>>()?.into_iter().max())
}

#[expect(clippy::print_stdout, reason = "scripts wait for the address")]
fn serve(args: PolicyServeArgs) -> Result<String> {
    let source = locate(&args.model)?;
    let PolicySource::Folder(folder) = &source else {
        bail!("fresh weights have nothing to say; give the folder of a run or of a model");
    };
    let scale = scale_of(&source)?;
    let threads = args.threads.or_else(|| i32::try_from(scale.rollout().threads).ok());
    let device = device::set_up(args.device, threads)?;
    let usual = if device == Device::Cpu { Dtype::F32 } else { Dtype::Bf16 };
    let dtype = args.dtype.unwrap_or(usual);
    let (rows, context) = match (scale, device) {
        (Scale::Tiny, _) => (16, 4096),
        (Scale::Large, Device::Cpu) => (4, 4096),
        (Scale::Large, _) => (16, 8192),
    };
    let renamed =
        [(args.rows, "--rows", "--max-num-seqs"), (args.context, "--context", "--max-model-len")];
    for (_, old, new) in renamed.iter().filter(|(given, ..)| given.is_some()) {
        warn_of_old_name(old, new);
    }
    let rows = args.max_num_seqs.or(args.rows).unwrap_or(rows);
    let context = args.max_model_len.or(args.context).unwrap_or(context);
    let rollout = RolloutSettings {
        max_num_seqs: rows,
        max_model_len: context,
        cache: args.cache,
        ..scale.rollout()
    };
    let cache = cache_of(&[folder], &rollout, dtype, device)?;
    let (model, tokenizer) = policy::open(folder, dtype.kind(), device)?;
    let config = InferenceConfig {
        listen: (args.host, args.port).into(),
        name: args.served_model_name.unwrap_or(args.model),
        key: args.api_key,
        rows,
        context,
        cache,
        queue: args.queue,
    };
    let server = InferenceServer::bind(config.check()?, model, tokenizer)?;
    let address = server.address();
    tracing::info!(%folder, %address, "serving");
    println!("listening on http://{address}");
    server.run()?;
    Ok(String::new())
}

fn evaluate(args: &EvalArgs, bars: &ProgressBars) -> Result<String> {
    let RunFlags { out, config, set, .. } = &args.common;
    let mut named = Vec::new();
    let mut random = false;
    for policy in &args.policies {
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
    if named.is_empty() && !args.settings.scripted {
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
    let mut flags = Table::try_from(&args.settings)?;
    flags.insert("policies".into(), toml::Value::try_from(policies)?);
    let settings: EvalSettings =
        resolve(&EvalSettings::defaults(scale), config.as_deref(), flags, set)?;
    let settings = settings.check()?;
    claim(out, &*settings, &["rollout.workers"])?;
    let device = args.common.device()?;
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

/// A key that a client can send.
fn key(secret: &str) -> std::result::Result<Token, BadToken> {
    Token::new(secret, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(arguments: &[&str]) -> Result<String> {
        RlCli::try_parse_from([&["rl"], arguments].concat()).unwrap().run(&ProgressBars::default())
    }

    #[test]
    fn the_papers_recipe_is_what_large_policies_get_and_it_fits_an_h200() {
        // What a card of 141 GB shows.
        let plan = |more: &[&str]| {
            run(&[&["plan", "--model", "qwen3-8b", "--memory", "139GiB"], more].concat())
        };
        let default = plan(&[]).unwrap();
        assert!(default.contains("(40960 tokens)"), "{default}");
        assert_eq!(default, plan(&["--config", "sandmle"]).unwrap());
        let longer = plan(&["--set", "rollout.max_model_len=32768"]).unwrap();
        assert!(longer.contains("(32768 tokens)"), "{longer}");
    }
}
