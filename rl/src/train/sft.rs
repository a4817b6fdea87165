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

use crate::checkpoint::policy::{self, PolicyError};
use crate::checkpoint::source::PolicySource;
use crate::checkpoint::{CheckpointError, Checkpoints, resume};
use crate::generate::sample::Sampling;
use crate::model::{Gradients, LoraSettings, Qwen3, Qwen3Config};
use crate::optim::{AdamConfig, AdamW, Decay, OptimError, Schedule};
use crate::rollout::episodes::stored;
use crate::run::metrics::Metrics;
use crate::run::settings::{SettingsError, require};
use crate::run::stop::{Ended, Stop, Stopped};
use crate::run::view::Stages;
use crate::text::template::{Template, TemplateError};
use crate::text::tokenizer::{Tokenizer, TokenizerError};
use crate::train::batch::{Memory, Micro, Sample, micro_batches};
use crate::train::presets::{Dtype, Scale};
use crate::train::sample::spoken;
use agents::playground::{Playground, PlaygroundError};
use agents::scaffold::ladder::{ScriptedError, ScriptedJob, Stage, play_all};
use agents::scaffold::react::Rules;
use agents::scaffold::scripted::{Approach, Purpose};
use agents::trajectory::{self, Trajectory, TrajectoryError};
use camino::{Utf8Path, Utf8PathBuf};
use rand::seq::SliceRandom;
use sandbox::stream::Stream;
use sandbox::task::{Corpus, Split};
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
/// | `context_noise` | 0.1 | share of context tokens that are replaced by chance; large: 0 |
/// | `warmup` | 20 | updates until the peak |
/// | `dtype` | `f32` | type of weights and activations; `bf16` for large policies |
/// | `lora` | none | see [`LoraSettings`]: adapters are trained instead |
/// | `memory` | see [`Memory`] | what is traded for memory |
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
    /// Share of context tokens that are replaced by any token of the vocabulary, drawn anew for
    /// each update (word dropout: Iyyer et al. 2015, §4). A tiny policy knows nothing but its
    /// demonstrations, and a word that none of them has would lead it anywhere.
    pub context_noise: f64,
    /// Updates until the peak.
    pub warmup: u64,
    /// The type of weights and activations.
    pub dtype: Dtype,
    /// Adapters to train instead of the model itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lora: Option<LoraSettings>,
    /// What is traded for memory.
    pub memory: Memory,
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
            context_noise: match scale {
                Scale::Tiny => 0.1,
                Scale::Large => 0.0,
            },
            warmup: 20,
            dtype: scale.dtype(),
            lora: None,
            memory: scale.memory(),
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
        self.rules.episode.policy.check()?;
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
        let noise = self.context_noise;
        require((0.0..1.0).contains(&noise), "context_noise", &noise, "at least 0 and below 1")?;
        require(
            self.checkpoint_every > 0,
            "checkpoint_every",
            &self.checkpoint_every,
            "at least 1",
        )?;
        self.lora.as_ref().map_or(Ok(()), LoraSettings::check)?;
        self.memory.check()
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
    Scripted(#[from] ScriptedError<Halt>),
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
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A checkpoint could not be read or written.
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

/// Why demonstrations were not played to the last.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// One could not be stored.
    #[error(transparent)]
    Trajectories(#[from] TrajectoryError),
    /// Somebody asked to stop.
    #[error("stopped on request")]
    Stopped,
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

/// Plays demonstrations and imitates them; `out` is the run's folder. Goes on where it was.
///
/// # Errors
/// [`SftError`].
pub fn run(
    settings: &SftSettings,
    source: &PolicySource,
    out: &Utf8Path,
    device: Device,
    stages: &dyn Stages,
    stop: &Stop,
) -> Result<Ended, SftError> {
    let root = Stream::root(settings.seed).child("sft");
    let stream = root.child("demonstrations");
    let demonstrations = match demonstrate(settings, out, stream, stages, stop) {
        Err(SftError::Scripted(ScriptedError::Caller(Halt::Stopped))) => {
            return Ok(Ended::Stopped(Stopped {
                step: 0,
                steps: 0,
                checkpoint: None,
                code: stop.exit_code(),
            }));
        }
        other => other?,
    };

    let checkpoints = Checkpoints::of(out, settings.keep);
    checkpoints.tidy()?;
    let latest = checkpoints.latest()?;
    let kind = settings.dtype.kind();
    let (model, tokenizer) = match (&latest, source) {
        (Some(checkpoint), _) => policy::open(checkpoint.folder(), kind, device)?,
        (None, PolicySource::Folder(folder)) => {
            let stream = root.child("adapters");
            policy::open_to_train(folder, settings.lora.as_ref(), kind, device, stream)?
        }
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
    let mut saved = done;
    for step in done..steps {
        if stop.is_requested() {
            if step > saved {
                let saved = checkpoints.save(step, &model, &tokenizer, &optimizer, &(), None)?;
                last = Some(saved.folder().to_owned());
            }
            return Ok(Ended::Stopped(Stopped {
                step,
                steps,
                checkpoint: last,
                code: stop.exit_code(),
            }));
        }
        let epoch = step / per_epoch;
        let mut chosen =
            batch_of(&samples, step, per_epoch, settings.batch, root.child("order").index(epoch));
        let stream = root.child("noise").index(step);
        chosen.iter_mut().zip(0..).for_each(|(sample, place)| {
            sample.blur(settings.context_noise, tokenizer.vocab_size(), stream.index(place));
        });
        let mut gradients = Gradients::default();
        let (loss, tokens) = imitate(&model, &chosen, &settings.memory, &mut gradients);
        let rate = schedule.rate(step);
        let gradient_norm = optimizer.step(&mut gradients, rate)?;
        metrics.append(&Line { step: step + 1, epoch, loss, tokens, rate, gradient_norm })?;
        bar.set_message(format!("loss {loss:.3}"));
        if bar.is_hidden() {
            tracing::info!(step = step + 1, epoch, loss, rate, "imitated");
        }
        bar.inc(1);
        if (step + 1) % settings.checkpoint_every == 0 || step + 1 == steps {
            let written = checkpoints.save(step + 1, &model, &tokenizer, &optimizer, &(), None)?;
            (saved, last) = (step + 1, Some(written.folder().to_owned()));
        }
    }
    bar.finish();
    Ok(Ended::Finished(last.unwrap_or_else(|| out.to_owned())))
}

/// Plays what has not been played yet and returns all demonstrations in a fixed order.
fn demonstrate(
    settings: &SftSettings,
    out: &Utf8Path,
    stream: Stream,
    stages: &dyn Stages,
    stop: &Stop,
) -> Result<Vec<Trajectory>, SftError> {
    let path = out.join("demonstrations.jsonl");
    let mut played = stored(&path)?;
    let done: BTreeSet<_> = played.iter().map(Trajectory::key).collect();
    let corpus = Corpus::open(&settings.tasks).map_err(PlaygroundError::from)?;
    let tasks = corpus.split(Split::Train);
    if tasks.is_empty() {
        return Err(PlaygroundError::EmptySplit(Split::Train).into());
    }
    let mut jobs = Vec::new();
    for task in tasks {
        for approach in Approach::PUBLIC {
            for attempt in 0..settings.attempts {
                let name = format!("scripted/{}", approach.name());
                if !done.contains(&(task.id(), name.as_str(), attempt)) {
                    jobs.push(ScriptedJob { task, approach, attempt });
                }
            }
        }
    }
    let (mut faults, mut last) = (0, String::new());
    if !jobs.is_empty() {
        let playground = Playground::open(&settings.tasks)?;
        let bar = stages.stage("playing", (played.len() + jobs.len()) as u64);
        bar.set_position(played.len() as u64);
        let stage = Stage {
            sandbox: playground.sandbox(),
            rules: &settings.rules,
            purpose: Purpose::Demonstration,
            workers: settings.workers,
            stream,
        };
        let _watch = stop.abandons(playground.sandbox());
        play_all(&stage, &jobs, &mut |result| {
            bar.inc(1);
            match result {
                Ok(trajectory) => {
                    trajectory::append(&path, std::slice::from_ref(&trajectory))?;
                    played.push(trajectory);
                }
                // It broke because the sandbox was told to end.
                Err(_) if stop.is_requested() => return Err(Halt::Stopped),
                Err(fault) => {
                    faults += 1;
                    last = crate::run::chain(&fault);
                    tracing::warn!(fault = last, "a demonstration broke");
                }
            }
            Ok(())
        })?;
        bar.finish();
    }
    // A stray fault costs one demonstration; many mean that the place is broken.
    if faults * 10 > jobs.len() {
        return Err(SftError::Faults { faults, episodes: jobs.len(), last });
    }
    played.sort_by(|a, b| a.key().cmp(&b.key()));
    Ok(played)
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

/// Adds up the gradient of the mean loss over target tokens; returns that loss and their number.
pub fn imitate(
    model: &Qwen3,
    samples: &[Sample],
    memory: &Memory,
    gradients: &mut Gradients,
) -> (f64, usize) {
    let tokens: usize = samples.iter().map(Sample::trained_count).sum();
    let mut total = 0.0;
    for chosen in micro_batches(samples, 0..samples.len(), memory.micro_tokens) {
        let micro = Micro::new(samples, &chosen, model.device());
        micro.differentiate(model, &Sampling::default(), memory, gradients, &mut |log_probs, _| {
            let loss = -log_probs.sum(Kind::Float) / tokens as f64;
            total += loss.double_value(&[]);
            loss
        });
    }
    (total, tokens)
}
