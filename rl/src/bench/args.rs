//! `rl bench`: flags to jobs, one process per job, and one table of results.

use super::report::{BenchReport, CaseResult, Measurement};
use super::{BenchCase, BenchJob, BenchSizes, Machine, ModelSource, machine, shape};
use crate::checkpoint::policy;
use crate::checkpoint::source::{PolicySource, locate};
use crate::model::Qwen3Config;
use crate::run::device::DeviceChoice;
use crate::train::presets::{Dtype, Scale};
use anyhow::{Context, Result, bail};
use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::time::Instant;
use tch::Device;

/// The flags of `rl bench`.
#[derive(Debug, Args)]
pub struct DeviceBenchArgs {
    /// A published shape, such as `qwen3-8b` or `qwen3-30b-a3b`, or one for a laptop: `tiny`,
    /// `tiny-moe`. Needs `--random-weights`.
    #[arg(long, value_name = "NAME", requires = "random_weights", conflicts_with = "model")]
    shape: Option<String>,
    /// Give the shape random weights, drawn on the device; speed and memory are those of trained
    /// ones.
    #[arg(long, requires = "shape")]
    random_weights: bool,
    /// A model to measure instead of a shape: a run's or a model's folder, or its name.
    #[arg(long, value_name = "NAME|FOLDER")]
    model: Option<String>,
    /// What to measure; may be repeated. `none` measures nothing and shows what `--with` has.
    #[arg(long, value_enum, default_value = "all", value_name = "CASE")]
    case: Vec<CaseChoice>,
    /// `auto`, `cpu`, `cuda` or `cuda:N`.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// The type of weights and activations [default: f32 on a CPU, bf16 on a GPU].
    #[arg(long)]
    dtype: Option<Dtype>,
    /// Conversations at once: of `decode`, and of a step of `grpo` [default: 64; 8 for small
    /// models].
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Tokens that a conversation of `decode` has; may be repeated, each is a case [default: 2048
    /// and 4096; 128 and 256 for small models].
    #[arg(long, value_name = "TOKENS")]
    context: Vec<usize>,
    /// Steps of `decode` that are timed [default: 64; 16 for small models].
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
    /// Sequences of a step of `sft` [default: 8].
    #[arg(long, value_name = "N")]
    sequences: Option<usize>,
    /// Tokens of each of them [default: 8192; 256 for small models].
    #[arg(long, value_name = "TOKENS")]
    length: Option<usize>,
    /// Tokens of a conversation of `grpo`: a quarter of them prompt, half of them sampled in
    /// four turns, a quarter answers [default: 4096; 256 in three turns for small models].
    #[arg(long, value_name = "TOKENS")]
    conversation: Option<usize>,
    /// Rank of the adapters of `sft-lora` and `grpo-lora` [default: 32; 8 for small models].
    #[arg(long, value_name = "RANK")]
    lora_rank: Option<i64>,
    /// The seed of weights and tokens.
    #[arg(long, default_value_t = 0)]
    seed: u32,
    /// Threads of libtorch; default: one per processor.
    #[arg(long, value_name = "N")]
    threads: Option<i32>,
    /// Where results go as JSON, after every case.
    #[arg(long, value_name = "FILE")]
    json: Option<Utf8PathBuf>,
    /// Where the table goes, besides standard output.
    #[arg(long, value_name = "FILE")]
    table: Option<Utf8PathBuf>,
    /// Results to go on from, as `--json` wrote them; those with the same names are replaced; may
    /// be repeated.
    #[arg(long, value_name = "FILE")]
    with: Vec<Utf8PathBuf>,
    /// One case, as JSON, to be measured in this process.
    #[arg(long, hide = true, value_name = "JSON")]
    job: Option<String>,
}

/// The values of `--case`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CaseChoice {
    /// All of the following.
    All,
    /// Whether the device computes what the CPU computes, on small models of its own.
    Parity,
    /// Generation, many conversations at once.
    Decode,
    /// An SFT step of the whole model.
    Sft,
    /// An SFT step of adapters.
    SftLora,
    /// A GRPO step of the whole model.
    Grpo,
    /// A GRPO step of adapters.
    GrpoLora,
    /// No case: only the results given by `--with`.
    None,
}

impl CaseChoice {
    fn cases(self) -> Vec<BenchCase> {
        match self {
            Self::All => BenchCase::ALL.to_vec(),
            Self::Parity => vec![BenchCase::Parity],
            Self::Decode => vec![BenchCase::Decode],
            Self::Sft => vec![BenchCase::Sft],
            Self::SftLora => vec![BenchCase::SftLora],
            Self::Grpo => vec![BenchCase::Grpo],
            Self::GrpoLora => vec![BenchCase::GrpoLora],
            Self::None => Vec::new(),
        }
    }
}

impl DeviceBenchArgs {
    /// Measures the cases of `--case`, one after the other, and returns the table.
    ///
    /// # Errors
    /// If there is nothing to measure, or a file cannot be read or written. Also if a comparison
    /// does not hold or a case failed; the table is then on standard output.
    pub fn run(self) -> Result<String> {
        if let Some(job) = &self.job {
            return self.measure_here(job);
        }
        // This process does not use the device. A missing device fails here, once, and not in
        // every case.
        let device = self.device.resolve()?;
        let mut report = BenchReport::default();
        for path in &self.with {
            for result in BenchReport::read(path)?.results {
                report.add(result);
            }
        }
        for job in self.jobs(device)? {
            let name = job.name();
            tracing::info!(case = name, "measuring");
            let began = Instant::now();
            let result = self.measure_apart(&job, device)?;
            let seconds = began.elapsed().as_secs();
            match &result.ending {
                CaseResult::Measured(figures) => tracing::info!(
                    case = name,
                    value = figures.value,
                    unit = figures.unit,
                    at_floor = figures.at_floor,
                    seconds,
                    "measured"
                ),
                CaseResult::Compared { .. } => tracing::info!(case = name, seconds, "compared"),
                other => {
                    let reason = other.reason().lines().next().unwrap_or_default();
                    tracing::warn!(case = name, seconds, reason, "not measured");
                }
            }
            report.add(result);
            self.write(&report)?;
        }
        self.write(&report)?;
        let table = report.to_string();
        let wrong: Vec<&str> = report
            .results
            .iter()
            .filter(|result| result.is_wrong())
            .map(|result| result.name.as_str())
            .collect();
        if wrong.is_empty() {
            return Ok(table);
        }
        #[expect(clippy::print_stdout, reason = "the table is the result, and it has one")]
        {
            print!("{table}");
        }
        bail!("failed or out of limits: {}; see the table", wrong.join("; "))
    }

    fn write(&self, report: &BenchReport) -> Result<()> {
        if let Some(path) = &self.json {
            report.write(path)?;
        }
        if let Some(path) = &self.table {
            tasks::files::write_atomic(path, report.to_string().as_bytes())?;
        }
        Ok(())
    }

    /// The jobs of all cases, in order.
    fn jobs(&self, device: Device) -> Result<Vec<BenchJob>> {
        let mut cases: Vec<BenchCase> =
            self.case.iter().flat_map(|choice| choice.cases()).collect();
        cases.sort_unstable();
        cases.dedup();
        if cases.is_empty() {
            return Ok(Vec::new());
        }
        let (model, config) = self.source(&cases)?;
        let scale = Scale::from_parameters(config.parameter_count());
        let (defaults, usual) = BenchSizes::defaults(scale);
        let sizes = BenchSizes {
            rows: at_least_one("rows", self.rows.unwrap_or(defaults.rows))?,
            steps: at_least_one("steps", self.steps.unwrap_or(defaults.steps))?,
            sequences: at_least_one("sequences", self.sequences.unwrap_or(defaults.sequences))?,
            length: at_least_one("length", self.length.unwrap_or(defaults.length))?,
            conversation: self.conversation.unwrap_or(defaults.conversation),
            lora_rank: self.lora_rank.unwrap_or(defaults.lora_rank),
            ..defaults
        };
        if sizes.conversation < 4 * (sizes.turns + 1) {
            bail!(
                "`--conversation` is {}; it must be at least {}",
                sizes.conversation,
                4 * (sizes.turns + 1)
            );
        }
        if sizes.lora_rank < 1 {
            bail!("`--lora-rank` is {}; it must be at least 1", sizes.lora_rank);
        }
        let contexts = if self.context.is_empty() { &usual[..] } else { &self.context };
        let longest = usize::try_from(config.max_position_embeddings).unwrap_or(usize::MAX);
        let most = contexts.iter().copied().max().unwrap_or(0).max(sizes.conversation);
        if most.max(sizes.length) >= longest {
            bail!(
                "the model reads at most {longest} tokens; lower `--context`, `--length` or `--conversation`"
            );
        }
        let usual = if device == Device::Cpu { Dtype::F32 } else { Dtype::Bf16 };
        let dtype = self.dtype.unwrap_or(usual);
        let seed = u64::from(self.seed);
        let mut jobs = Vec::new();
        for case in cases {
            let contexts = if case == BenchCase::Decode { contexts } else { &contexts[..1] };
            for &context in contexts {
                let sizes = BenchSizes { context: at_least_one("context", context)?, ..sizes };
                jobs.push(BenchJob { case, model: model.clone(), dtype, sizes, seed });
            }
        }
        Ok(jobs)
    }

    /// The model to measure, and its shape.
    fn source(&self, cases: &[BenchCase]) -> Result<(ModelSource, Qwen3Config)> {
        if let Some(name) = &self.shape {
            let config = shape(name).ok_or_else(|| super::BenchError::Shape(name.clone()))?;
            return Ok((ModelSource::Shape(name.clone()), config));
        }
        if let Some(name) = &self.model {
            let PolicySource::Folder(folder) = locate(name)? else {
                bail!("`{name}` is a shape without weights; use `--shape {name} --random-weights`");
            };
            let config = Qwen3Config::open(&policy::base_of(&folder)?)?;
            return Ok((ModelSource::Folder(folder), config));
        }
        if cases != [BenchCase::Parity] {
            bail!(
                "nothing to measure; give `--shape qwen3-8b --random-weights` or `--model FOLDER`"
            );
        }
        // The case has models of its own.
        let name = "tiny".to_owned();
        let config = shape(&name).context("the built-in shape is there")?;
        Ok((ModelSource::Shape(name), config))
    }

    /// Measures a job in a process of its own.
    fn measure_apart(&self, job: &BenchJob, device: Device) -> Result<Measurement> {
        let program = std::env::current_exe().context("failed to find this program")?;
        let mut command = Command::new(program);
        let device = machine::name(device);
        command.args(["bench", "--device", &device]);
        command.args(["--job", &serde_json::to_string(job)?]);
        if let Some(threads) = self.threads {
            command.args(["--threads", &threads.to_string()]);
        }
        let output = command
            .stdin(Stdio::null())
            .output()
            .context("failed to start a process for the case")?;
        if output.status.success() {
            let result = serde_json::from_slice(&output.stdout);
            return result.context("the output of the case's process is not a result");
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(12)..].join("\n");
        tracing::warn!(case = job.name(), status = %output.status, "the end of its log:\n{tail}");
        let ending = failed(&output);
        let machine = Machine { device, ..Machine::default() };
        Ok(Measurement { name: job.name(), machine, settings: BTreeMap::new(), ending })
    }

    /// Measures a job in this process, which `measure_apart` has started.
    fn measure_here(&self, job: &str) -> Result<String> {
        let job: BenchJob = serde_json::from_str(job).context("`--job` is not a job as JSON")?;
        let device = crate::run::device::set_up(self.device, self.threads)?;
        Ok(serde_json::to_string(&job.run(device)?)? + "\n")
    }
}

/// The result of a case whose process failed, from its log and exit status.
fn failed(output: &Output) -> CaseResult {
    let text = String::from_utf8_lossy(&output.stderr);
    let is_out_of_memory = |line: &&str| {
        ["out of memory", "can't allocate memory", "memory allocation of", "bad_alloc"]
            .iter()
            .any(|words| line.contains(words))
    };
    if let Some(line) = text.lines().find(is_out_of_memory) {
        return CaseResult::OutOfMemory { reason: brief(line).to_owned() };
    }
    // The kernel's OOM killer sends SIGKILL.
    if output.status.signal() == Some(9) {
        return CaseResult::OutOfMemory { reason: "the process was killed".into() };
    }
    let last = |matches: fn(&str) -> bool| text.lines().rfind(|line| matches(line));
    // The message of a panic is on the line after its place in the code.
    let panic = text.lines().skip_while(|line| !line.contains("panicked at")).nth(1);
    let error = last(|line| line.starts_with("error:")).or(panic);
    let reason = error.or(last(|line| !line.trim().is_empty())).unwrap_or("no message");
    CaseResult::Broken { reason: format!("{} ({})", brief(reason), output.status) }
}

/// The message of libtorch in a line of a panic, without its stack trace; else the line.
fn brief(line: &str) -> &str {
    let message = line.split_once("Torch(\"").map_or(line, |(_, message)| message);
    message.split("\\n").next().unwrap_or(message).trim_end_matches("\")").trim()
}

fn at_least_one(flag: &str, value: usize) -> Result<usize> {
    if value == 0 {
        bail!("`--{flag}` is 0; it must be at least 1");
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;

    fn output(code: i32, text: &str) -> Output {
        let status = ExitStatus::from_raw(code);
        Output { status, stdout: Vec::new(), stderr: text.into() }
    }

    #[test]
    fn failed_process_gives_its_reason() {
        let panic = "INFO libtorch\n\nthread 'main' panicked at tensor.rs:1:2:\n\
            called `Result::unwrap()` on an `Err` value: Torch(\"CUDA out of memory. Tried to allocate 2.00 GiB\\nframe #0\")\nnote: run with\n";
        for (code, text, is_memory, words) in [
            (101 << 8, panic, true, "Tried to allocate"),
            (9, "INFO libtorch", true, "killed"),
            (134 << 8, "memory allocation of 99 bytes failed", true, "99 bytes"),
            (1 << 8, "INFO libtorch\nerror: no driver", false, "error: no driver (exit status: 1)"),
            (
                101 << 8,
                "thread 'main' panicked at a.rs:1:2:\nwrong shape\nnote: x",
                false,
                "wrong shape",
            ),
            (11, "", false, "no message"),
        ] {
            let (found, reason) = match failed(&output(code, text)) {
                CaseResult::OutOfMemory { reason } => (true, reason),
                CaseResult::Broken { reason } => (false, reason),
                other => panic!("{other:?}"),
            };
            assert_eq!(found, is_memory, "{reason}");
            assert!(reason.contains(words), "{reason}");
            assert!(!reason.contains("unwrap") && !reason.contains("frame"), "{reason}");
        }
    }
}
