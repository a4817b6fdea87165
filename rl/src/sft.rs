//! Supervised fine-tuning on scripted agents' episodes.
//!
//! 1. Scripted agents play real episodes on the training tasks, every rung of the public ladder
//!    equally often: the policy should know weak and strong approaches, so that reinforcement
//!    has something to choose between.
//! 2. A tiny policy gets a vocabulary of its own, learnt from these episodes.
//! 3. The policy imitates what the agents said. Prompt and environment are context, never a
//!    target; the loss is the mean over target tokens of a batch.
//!
//! Every stage is resumable: episodes are appended as they end, the vocabulary is a function of
//! them, and training goes on from its newest checkpoint to the same curve.

use crate::batch::{Micro, Sample, micro_batches};
use crate::checkpoint::{CheckpointError, Checkpoints, open_policy, resume};
use crate::metrics::{Metrics, mend};
use crate::model::{Qwen3, Qwen3Config};
use crate::optim::{AdamConfig, AdamW, Decay, OptimError, Schedule};
use crate::presets::Scale;
use crate::rollout::spoken;
use crate::sample::Sampling;
use crate::settings::{SettingsError, require};
use crate::source::PolicySource;
use crate::template::{Template, TemplateError};
use crate::tokenizer::{Tokenizer, TokenizerError};
use agents::playground::{Playground, PlaygroundError};
use agents::scaffold::ladder::{ScriptedError, ScriptedJob, Stage, play_all};
use agents::scaffold::react::Rules;
use agents::scaffold::scripted::Approach;
use agents::trajectory::{self, Trajectory, TrajectoryError};
use camino::{Utf8Path, Utf8PathBuf};
use indicatif::ProgressBar;
use rand::seq::SliceRandom;
use sandbox::stream::Stream;
use sandbox::task::Split;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tch::{Device, Kind};

/// The settings of `rl sft`.
///
/// | field | tiny | purpose |
/// | --- | --- | --- |
/// | `attempts` | 3 | episodes per task and approach |
/// | `vocab_size` | 3000 | tokens of a tiny policy's vocabulary |
/// | `epochs` | 8 | passes over the episodes |
/// | `batch` | 16 | episodes per update |
/// | `rate` | 3e-3 | peak learning rate |
/// | `warmup` | 20 | updates until the peak |
/// | `micro_tokens` | 4096 | tokens that are differentiated at once |
/// | `context` | 1536 | longer episodes are left out |
/// | `checkpoint_every` | 50 | updates between checkpoints |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SftSettings {
    /// `tiny`, a model's name or a folder.
    pub model: String,
    /// The corpus.
    pub tasks: Utf8PathBuf,
    /// The seed of everything.
    pub seed: u64,
    /// Episodes per task and approach.
    pub attempts: u64,
    /// Tokens of a tiny policy's vocabulary.
    pub vocab_size: usize,
    /// Passes over the episodes.
    pub epochs: u64,
    /// Episodes per update.
    pub batch: usize,
    /// Peak learning rate.
    pub rate: f64,
    /// Updates until the peak.
    pub warmup: u64,
    /// Tokens that are differentiated at once.
    pub micro_tokens: usize,
    /// Longer episodes are left out.
    pub context: usize,
    /// Updates between checkpoints.
    pub checkpoint_every: u64,
    /// Checkpoints that stay.
    pub keep: usize,
    /// Threads that play.
    pub workers: usize,
    /// The optimizer's constants.
    pub adam: AdamConfig,
    /// The rules of episodes.
    pub rules: Rules,
}

impl SftSettings {
    /// Defaults for a policy of this scale.
    pub fn defaults(scale: Scale) -> Self {
        let rollout = scale.rollout();
        Self {
            model: String::new(),
            tasks: Utf8PathBuf::new(),
            seed: 0,
            attempts: 3,
            vocab_size: 3000,
            epochs: match scale {
                Scale::Tiny => 8,
                Scale::Large => 2,
            },
            batch: 16,
            rate: match scale {
                Scale::Tiny => 3e-3,
                Scale::Large => 1e-5,
            },
            warmup: 20,
            micro_tokens: 4096,
            context: rollout.context,
            checkpoint_every: 50,
            keep: 2,
            workers: rollout.workers,
            adam: AdamConfig::default(),
            rules: scale.rules(),
        }
    }

    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`SettingsError::Range`] naming the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        require(self.attempts > 0, "attempts", &self.attempts, "at least 1")?;
        require(self.epochs > 0, "epochs", &self.epochs, "at least 1")?;
        require(self.batch > 0, "batch", &self.batch, "at least 1")?;
        require(
            self.vocab_size >= 300,
            "vocab_size",
            &self.vocab_size,
            "at least 300: bytes, tags and some words",
        )?;
        require(self.rate > 0.0 && self.rate.is_finite(), "rate", &self.rate, "above 0")?;
        require(self.checkpoint_every > 0, "checkpoint_every", &self.checkpoint_every, "at least 1")
    }
}

/// Why fine-tuning stopped.
#[derive(Debug, thiserror::Error)]
pub enum SftError {
    /// No place to play.
    #[error(transparent)]
    Playground(#[from] PlaygroundError),
    /// The agents could not play.
    #[error(transparent)]
    Scripted(#[from] ScriptedError<TrajectoryError>),
    /// Episodes could not be stored.
    #[error(transparent)]
    Trajectories(#[from] TrajectoryError),
    /// Too many episodes broke.
    #[error("{faults} of {episodes} demonstrations broke; the last said: {last}")]
    Faults {
        /// How many broke.
        faults: usize,
        /// Of how many.
        episodes: usize,
        /// What the last one said.
        last: String,
    },
    /// The vocabulary could not be made.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// A demonstration could not be laid out.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The policy could not be read or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The update could not be made.
    #[error(transparent)]
    Optim(#[from] OptimError),
    /// A file of the run could not be written.
    #[error("failed to write the run's files")]
    Io(#[from] std::io::Error),
    /// Nothing to imitate.
    #[error("no demonstration fits into `context = {0}` tokens")]
    NothingFits(usize),
}

/// Shows how far a stage has come.
pub trait Stages {
    /// A bar for a stage of `length` units.
    fn stage(&self, name: &'static str, length: u64) -> ProgressBar;
}

/// One line of `metrics.jsonl`.
#[derive(Debug, Serialize)]
struct Line {
    step: u64,
    epoch: u64,
    /// Mean negative log-likelihood of target tokens, in nats.
    loss: f64,
    /// Target tokens of the batch.
    tokens: usize,
    rate: f64,
    gradient_norm: f64,
}

/// Plays demonstrations and imitates them; `out` is the run's folder. Returns the folder of the
/// last checkpoint.
///
/// # Errors
/// [`SftError`].
pub fn run(
    settings: &SftSettings,
    source: &PolicySource,
    out: &Utf8Path,
    device: Device,
    stages: &dyn Stages,
) -> Result<Utf8PathBuf, SftError> {
    let root = Stream::root(settings.seed).child("sft");
    let demonstrations = demonstrate(settings, out, root.child("demonstrations"), stages)?;

    let checkpoints = Checkpoints::of(out, settings.keep);
    let latest = checkpoints.latest()?;
    let (model, tokenizer) = match (&latest, source) {
        (Some(checkpoint), _) => open_policy(checkpoint.folder(), Kind::Float, device)?,
        (None, PolicySource::Folder(folder)) => open_policy(folder, Kind::Float, device)?,
        (None, PolicySource::Tiny) => {
            tiny(&demonstrations, settings.vocab_size, device, root.child("weights"))?
        }
    };
    let template = Template::new(&tokenizer)?;
    let mut samples = Vec::new();
    for demonstration in &demonstrations {
        let sample = spoken(demonstration, &template)?;
        if sample.ids.len() <= settings.context {
            samples.push(sample);
        }
    }
    let left_out = demonstrations.len() - samples.len();
    let tokens: usize = samples.iter().map(|sample| sample.ids.len()).sum();
    tracing::info!(
        episodes = samples.len(),
        left_out,
        tokens,
        vocabulary = tokenizer.vocab_size(),
        "demonstrations"
    );
    if samples.is_empty() {
        return Err(SftError::NothingFits(settings.context));
    }

    let per_epoch = samples.len().div_ceil(settings.batch) as u64;
    let steps = per_epoch * settings.epochs;
    let schedule = Schedule {
        peak: settings.rate,
        warmup: settings.warmup,
        decay: Decay::Cosine { floor: 0.05 },
        steps,
    };
    let mut optimizer = AdamW::new(&model, settings.adam);
    let done = resume(latest.as_ref(), &mut optimizer)?;
    let mut metrics = Metrics::resume(out, done)?;
    let bar = stages.stage("imitating", steps);
    bar.set_position(done);
    let mut last = latest.map(|checkpoint| checkpoint.folder().to_owned());
    for step in done..steps {
        let epoch = step / per_epoch;
        let chosen =
            batch_of(&samples, step, per_epoch, settings.batch, root.child("order").index(epoch));
        let (loss, tokens) = imitate(&model, &chosen, settings.micro_tokens);
        let rate = schedule.rate(step);
        let gradient_norm = optimizer.step(rate)?;
        metrics.append(&Line { step: step + 1, epoch, loss, tokens, rate, gradient_norm })?;
        bar.set_message(format!("loss {loss:.3}"));
        bar.inc(1);
        if (step + 1) % settings.checkpoint_every == 0 || step + 1 == steps {
            let saved = checkpoints.save(step + 1, &model, &tokenizer, &optimizer, &())?;
            last = Some(saved.folder().to_owned());
        }
    }
    bar.finish();
    Ok(last.unwrap_or_else(|| out.to_owned()))
}

/// Plays what has not been played yet and returns all demonstrations in a fixed order.
fn demonstrate(
    settings: &SftSettings,
    out: &Utf8Path,
    stream: Stream,
    stages: &dyn Stages,
) -> Result<Vec<Trajectory>, SftError> {
    let path = out.join("demonstrations.jsonl");
    let mut played = Vec::new();
    if path.is_file() {
        mend(&path)?;
        played = trajectory::read(&path)?;
    }
    let done: BTreeSet<(String, String, u64)> = played.iter().map(key).collect();
    let playground = Playground::open(&settings.tasks)?;
    let mut jobs = Vec::new();
    for task in playground.tasks(Split::Train)? {
        for approach in Approach::PUBLIC {
            for attempt in 0..settings.attempts {
                let name = format!("scripted/{}", approach.name());
                if !done.contains(&(task.id().as_str().to_owned(), name, attempt)) {
                    jobs.push(ScriptedJob { task, approach, attempt });
                }
            }
        }
    }
    let bar = stages.stage("playing", (played.len() + jobs.len()) as u64);
    bar.set_position(played.len() as u64);
    let stage = Stage {
        sandbox: playground.sandbox(),
        rules: &settings.rules,
        workers: settings.workers,
        stream,
    };
    let (mut faults, mut last) = (0, String::new());
    play_all(&stage, &jobs, &mut |result| {
        bar.inc(1);
        match result {
            Ok(trajectory) => {
                trajectory::append(&path, std::slice::from_ref(&trajectory))?;
                played.push(trajectory);
            }
            Err(fault) => {
                faults += 1;
                last = crate::chain(&fault);
                tracing::warn!(fault = last, "a demonstration broke");
            }
        }
        Ok(())
    })?;
    bar.finish();
    // A stray fault costs one demonstration; many mean that the place is broken.
    if faults * 10 > jobs.len() {
        return Err(SftError::Faults { faults, episodes: jobs.len(), last });
    }
    played.sort_by_key(key);
    Ok(played)
}

fn key(trajectory: &Trajectory) -> (String, String, u64) {
    (trajectory.task.as_str().to_owned(), trajectory.agent.clone(), trajectory.attempt)
}

/// A fresh tiny policy with a vocabulary learnt from what was said.
fn tiny(
    demonstrations: &[Trajectory],
    vocab_size: usize,
    device: Device,
    stream: Stream,
) -> Result<(Qwen3, Tokenizer), TokenizerError> {
    let texts: Vec<String> = demonstrations
        .iter()
        .flat_map(|trajectory| trajectory.segments.iter().map(|segment| segment.text.clone()))
        .collect();
    let tokenizer = Tokenizer::train(&texts, vocab_size)?;
    let control = tokenizer.control();
    let size = i64::try_from(tokenizer.vocab_size()).unwrap_or(i64::MAX);
    let config = Qwen3Config::tiny(size, control.end_of_turn, control.end_of_text);
    Ok((Qwen3::random(&config, Kind::Float, device, stream), tokenizer))
}

/// The samples of a step: each epoch is a new shuffle, cut into batches.
fn batch_of(
    samples: &[Sample],
    step: u64,
    per_epoch: u64,
    batch: usize,
    stream: Stream,
) -> Vec<Sample> {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.shuffle(&mut stream.rng());
    let first = usize::try_from(step % per_epoch).unwrap_or(0) * batch;
    order[first..samples.len().min(first + batch)]
        .iter()
        .map(|&index| samples[index].clone())
        .collect()
}

/// Accumulates the gradient of the mean loss over target tokens; returns it and their number.
fn imitate(model: &Qwen3, samples: &[Sample], micro_tokens: usize) -> (f64, usize) {
    let tokens: usize = samples.iter().map(Sample::trained_count).sum();
    let mut total = 0.0;
    for chosen in micro_batches(samples, micro_tokens) {
        let micro = Micro::new(samples, &chosen, model.device());
        let loss = -micro.log_probs(model, &Sampling::default()).sum(Kind::Float) / tokens as f64;
        loss.backward();
        total += loss.double_value(&[]);
    }
    (total, tokens)
}
