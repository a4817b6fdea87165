//! `rl check-engine`.

use crate::checkpoint::policy;
use crate::checkpoint::source::{PolicySource, locate};
use crate::generate::engine::TurnOptions;
use crate::generate::remote::{EngineApi, EngineSettings, RemoteGenerator};
use crate::generate::sample::Sampling;
use crate::generate::{ConversationId, Generated, Generator, Publication};
use crate::model::Qwen3;
use crate::optim::AdamConfig;
use crate::run::device::{self, DeviceChoice};
use crate::run::watchdog::Heartbeat;
use crate::text::tokenizer::Tokenizer;
use crate::train::batch::{Memory, TrainSequence};
use crate::train::learner::{Learner, WeightSet};
use crate::train::native::NativeLearner;
use crate::train::presets::Dtype;
use crate::train::publisher::Publisher;
use anyhow::{Result, bail, ensure};
use camino::Utf8PathBuf;
use clap::Args;
use std::fmt::Write as _;
use std::time::Instant;
use tasks::stream::Stream;
use tch::{Kind, no_grad};

/// What turns go on from.
const PROMPT: &str = "import pandas as pd\n\ntrain = pd.read_csv(\"input/train.csv\")\n";
/// What matrices are multiplied by for the second weights.
const CHANGE: f64 = 0.97;

#[derive(Debug, Args)]
pub(super) struct CheckEngineArgs {
    /// The model that is published: a run, a model's folder or name.
    #[arg(long)]
    model: String,
    /// The engine.
    #[arg(long)]
    engine: EngineApi,
    /// The addresses of its servers, separated by commas.
    #[arg(long, value_name = "URL", value_delimiter = ',', required = true)]
    servers: Vec<String>,
    /// A folder that this process and the servers see under the same path, best in memory.
    #[arg(long, value_name = "FOLDER", default_value = "/dev/shm")]
    weights: Utf8PathBuf,
    /// Turns for each weights; each has its own draws.
    #[arg(long, value_name = "N", default_value_t = 8)]
    turns: u64,
    /// Tokens of a turn.
    #[arg(long, value_name = "N", default_value_t = 64)]
    turn_tokens: usize,
    /// Temperature of the draws.
    #[arg(long, default_value_t = 1.0)]
    temperature: f64,
    /// The type of weights and activations in this process; servers should have the same
    /// [default: f32 on a CPU, bf16 on a GPU].
    #[arg(long)]
    dtype: Option<Dtype>,
    /// `auto`, `cpu`, `cuda` or `cuda:N`.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
}

impl CheckEngineArgs {
    /// Compares servers with this process, and returns a table.
    ///
    /// # Errors
    /// If the model or an address cannot be used, a server does not take weights over, or
    /// log-probabilities differ by more than rounding explains.
    pub(super) fn run(&self) -> Result<String> {
        ensure!(self.turns > 0 && self.turn_tokens > 0, "a turn of a token is the least");
        let PolicySource::Folder(folder) = locate(&self.model)? else {
            bail!("`{}` has no weights; give a run, a model's folder or name", self.model);
        };
        let device = device::set_up(self.device, None)?;
        let usual = if device.is_cuda() { Dtype::Bf16 } else { Dtype::F32 };
        let kind = self.dtype.unwrap_or(usual).kind();
        let (model, tokenizer) = policy::open(&folder, kind, device)?;
        let prompt = tokenizer.encode(PROMPT)?;
        ensure!(prompt.len() > 1, "the tokenizer makes a single token of a script");
        let engine = EngineSettings {
            patience_seconds: 0,
            ..EngineSettings::new(self.engine, self.servers.clone())
        };
        engine.check()?;
        let most = usize::try_from(self.turns)?;
        let room = (most, prompt.len() + self.turn_tokens);
        let key = EngineSettings::key()?;
        let mut generator = RemoteGenerator::new(&engine, model.config(), room, key.as_ref())?;
        let mut learner = self.learner(&model, &tokenizer)?;

        let mut table = format!(
            "{:<10}{:>12}{:>10}{:>10}{:>12}{:>12}\n",
            "weights", "publish [s]", "turns", "tokens", "mean gap", "largest"
        );
        let stages = [("first", 1.0), ("changed", CHANGE), ("first", CHANGE.recip())];
        for (version, (name, factor)) in (1_u64..).zip(stages) {
            scale(&model, factor);
            let began = Instant::now();
            let publication = learner.publish(version, &prompt)?;
            generator.publish(&publication)?;
            let seconds = began.elapsed().as_secs_f64();
            let turns = self.sample(&mut generator, &prompt)?;
            let gaps = self.gaps(&learner, &prompt, &turns)?;
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let largest = gaps.iter().copied().fold(0.0, f64::max);
            writeln!(
                table,
                "{name:<10}{seconds:>12.2}{:>10}{:>10}{mean:>12.2e}{largest:>12.2e}",
                turns.len(),
                gaps.len()
            )?;
            let tolerance = tolerance(&publication);
            ensure!(
                mean <= tolerance,
                "{table}sampled tokens have log-probabilities that are {mean:.2e} from ours in the \
                 mean, and {tolerance:.0e} is allowed: does the server report them at the \
                 temperature of the request (vLLM: `--logprobs-mode processed_logprobs`), in the \
                 same type as `--dtype`?"
            );
        }
        Ok(table + "every server took the weights over and agrees\n")
    }

    fn learner<'m>(&self, model: &'m Qwen3, tokenizer: &'m Tokenizer) -> Result<NativeLearner<'m>> {
        let memory = Memory {
            max_tokens_per_micro_batch: 4096,
            logit_tokens: 1024,
            gradient_checkpointing: true,
            share_prefixes: false,
        };
        let folder = self.weights.join(format!("rl-check-engine-{}", std::process::id()));
        let learner = NativeLearner::new(model, tokenizer, AdamConfig::default(), memory);
        Ok(learner.with_publisher(Publisher::new(&folder)?))
    }

    /// All turns at once, so that servers batch them.
    fn sample(&self, generator: &mut RemoteGenerator, prompt: &[i64]) -> Result<Vec<Generated>> {
        generator.begin(usize::try_from(self.turns)?)?;
        for turn in 0..self.turns {
            let options = TurnOptions {
                sampling: Sampling { temperature: self.temperature, ..Sampling::default() },
                stream: Stream::root(turn),
                max_tokens: self.turn_tokens,
                ignore_eos: false,
            };
            generator.start(ConversationId(turn), prompt, options)?;
        }
        let mut turns = Vec::new();
        while (turns.len() as u64) < self.turns {
            turns.extend(generator.poll(&Heartbeat::default())?);
        }
        generator.finish()?;
        Ok(turns)
    }

    /// How far each sampled token's log-probability is from ours, in nats.
    fn gaps(
        &self,
        learner: &NativeLearner<'_>,
        prompt: &[i64],
        turns: &[Generated],
    ) -> Result<Vec<f64>> {
        let sequence = |turn: &Generated| {
            let mut sequence = TrainSequence::default();
            sequence.push(prompt, false);
            sequence.push(&turn.ids, true);
            sequence
        };
        let sequences: Vec<TrainSequence> = turns.iter().map(sequence).collect();
        let sampling = Sampling { temperature: self.temperature, ..Sampling::default() };
        let ours = learner.log_probs(WeightSet::Current, &sequences, &sampling, &mut || ())?;
        let pairs = turns.iter().zip(ours);
        let gap = |(found, own): (&f32, f32)| f64::from((found - own).abs());
        Ok(pairs.flat_map(|(turn, own)| turn.log_probs.iter().zip(own).map(gap)).collect())
    }
}

/// Multiplies the matrices of a model.
fn scale(model: &Qwen3, factor: f64) {
    no_grad(|| {
        for parameter in model.parameters() {
            let mut tensor = parameter.tensor;
            if tensor.dim() > 1 && tensor.kind() != Kind::Int64 {
                let _ = tensor.g_mul_scalar_(factor);
            }
        }
    });
}

/// What rounding explains, in nats.
fn tolerance(publication: &Publication) -> f64 {
    publication.probe.as_ref().map_or(0.0, |probe| probe.tolerance)
}
