//! Supervised fine-tuning on scripted agents' episodes, on the good answers of searches, on the best
//! of a policy's own episodes, or on the user's data.
//!
//! 1. Scripted agents play real episodes on the training tasks, every rung of the public ladder
//!    equally often: the policy should know weak and strong approaches, so that reinforcement
//!    has something to choose between.
//! 2. A tiny or small policy gets a tokenizer of its own, trained on these episodes.
//! 3. The policy is trained on the agents' turns. Prompts and observations are context and masked;
//!    the loss is the mean over target tokens of a batch.
//!
//! Every stage is resumable: episodes are appended as they end, the vocabulary is a function of
//! them, and training resumes from its newest checkpoint to the same curve.

mod best;
mod data;
mod demonstrations;
mod error;
mod example;
mod settings;

pub use data::LineError;
pub use error::{Halt, SftError};
pub use settings::{Demonstrator, SftSettings};

use crate::checkpoint::policy;
use crate::checkpoint::source::PolicySource;
use crate::optim::{Decay, Schedule};
use crate::run::settings::Checked;
use crate::run::stop::{RunEnd, Stop, Stopped};
use crate::run::view::Stages;
use crate::text::template::ChatTemplate;
use crate::train::batch::TrainSequence;
use crate::train::harness::{Cadence, Earlier, Harness};
use crate::train::learner::{Learner, TrainingLoss, UpdateStats};
use crate::train::native::NativeLearner;
use agents::scaffold::runner::ScriptedError;
use camino::Utf8Path;
use demonstrations::{
    check_format, demonstrate, fresh, from_episodes, from_expert, from_samples, from_searches,
};
use example::Example;
use rand::seq::SliceRandom;
use serde::Serialize;
use tasks::stream::Stream;
use tch::Device;

/// One line of `metrics.jsonl`.
#[derive(Debug, Serialize)]
struct SftStepMetrics {
    step: u64,
    epoch: u64,
    /// Mean negative log-likelihood of target tokens, in nats.
    loss: f64,
    /// Target tokens of the batch.
    tokens: usize,
    learning_rate: f64,
    gradient_norm: f64,
}

/// Generates demonstrations and fine-tunes on them; `out` is the run's folder. Resumes a run that is
/// there.
///
/// # Errors
/// [`SftError`].
pub fn run(
    settings: &Checked<SftSettings>,
    source: &PolicySource,
    out: &Utf8Path,
    device: Device,
    stages: &dyn Stages,
    stop: &Stop,
) -> Result<RunEnd, SftError> {
    let root = Stream::root(settings.seed).child("sft");
    let stream = root.child("demonstrations");
    let examples = match examples(settings, out, stream, stages, stop) {
        Err(SftError::Scripted(ScriptedError::Caller(Halt::Stopped))) => {
            return Ok(RunEnd::Stopped(Stopped {
                step: 0,
                steps: 0,
                checkpoint: None,
                code: stop.exit_code(),
            }));
        }
        other => other?,
    };
    let format = settings.rules.tool_call_format;

    let earlier = Earlier::find(out, settings.keep)?;
    let kind = settings.dtype.kind();
    let (model, tokenizer) = match (earlier.folder(), source) {
        (Some(checkpoint), _) => policy::open(checkpoint, kind, device)?,
        (None, PolicySource::Folder(folder)) => {
            let stream = root.child("adapters");
            policy::open_to_train(folder, settings.lora.as_ref(), kind, device, stream)?
        }
        (None, PolicySource::BuiltIn(shape)) => {
            let pieces = settings.pieces(*shape);
            let vocabulary = (settings.vocab_size, format);
            fresh(*shape, &examples, pieces, vocabulary, device, root.child("weights"))?
        }
    };
    let template = ChatTemplate::new(&tokenizer)?;
    let mut samples = Vec::new();
    for example in &examples {
        let mut sample = example.sequence(&template)?;
        if !settings.assistant_only_loss {
            sample.trained.fill(true);
        }
        if sample.ids.len() <= settings.context {
            samples.push(sample);
        }
    }
    let left_out = examples.len() - samples.len();
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
        peak: settings.learning_rate,
        warmup: settings.warmup,
        decay: Decay::Cosine { floor: 0.05 },
        steps,
    };
    let mut learner = NativeLearner::new(&model, &tokenizer, settings.adam, settings.memory);
    let cadence = Cadence { steps, checkpoint_every: settings.checkpoint_every, validation: None };
    let mut harness: Harness<'_, _> = Harness::new(earlier, cadence, stop)?;
    harness.restore(&mut learner)?;
    let mut metrics = harness.metrics()?;
    let bar = stages.stage("imitating", steps);
    bar.set_position(harness.step());
    while !harness.is_over() {
        if harness.is_stopping() {
            if harness.is_unsaved() {
                harness.save(&learner)?;
            }
            return Ok(harness.stopped());
        }
        let step = harness.step();
        let epoch = step / per_epoch;
        let mut chosen =
            batch_of(&samples, step, per_epoch, settings.batch, root.child("order").index(epoch));
        let stream = root.child("noise").index(step);
        chosen.iter_mut().zip(0..).for_each(|(sample, place)| {
            sample.drop_context_tokens(
                settings.context_noise,
                tokenizer.vocab_size(),
                stream.index(place),
            );
        });
        let UpdateStats { loss, tokens, .. } =
            learner.accumulate(&TrainingLoss::CrossEntropy(&chosen), &mut || ())?;
        let rate = schedule.rate(step);
        let gradient_norm = learner.step(rate)?;
        metrics.append(&SftStepMetrics {
            step: step + 1,
            epoch,
            loss,
            tokens,
            learning_rate: rate,
            gradient_norm,
        })?;
        bar.set_message(format!("loss {loss:.3}"));
        if bar.is_hidden() {
            tracing::info!(step = step + 1, epoch, loss, learning_rate = rate, "imitated");
        }
        bar.inc(1);
        harness.made(());
        if harness.checkpoint_is_due(false) {
            harness.save(&learner)?;
        }
    }
    bar.finish();
    Ok(harness.finished(out))
}

/// All that is imitated, in a fixed order.
fn examples(
    settings: &SftSettings,
    out: &Utf8Path,
    stream: Stream,
    stages: &dyn Stages,
    stop: &Stop,
) -> Result<Vec<Example>, SftError> {
    if !settings.data.is_empty() {
        return data::read(&settings.data);
    }
    if !settings.samples.is_empty() {
        return from_samples(settings);
    }
    let demonstrations = if !settings.searches.is_empty() {
        from_searches(settings, out)
    } else if !settings.episodes.is_empty() {
        from_episodes(settings, out)
    } else if let Some(folder) = &settings.world {
        from_expert(folder, out)
    } else {
        demonstrate(settings, out, stream, stages, stop)
    }?;
    check_format(&demonstrations, settings.rules.tool_call_format)?;
    Ok(demonstrations.into_iter().map(|episode| Example::Episode(Box::new(episode))).collect())
}

/// The samples of a step: each epoch is a new shuffle, cut into batches.
fn batch_of(
    samples: &[TrainSequence],
    step: u64,
    per_epoch: u64,
    batch: usize,
    stream: Stream,
) -> Vec<TrainSequence> {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.shuffle(&mut stream.rng());
    let first = usize::try_from(step % per_epoch).unwrap_or(0) * batch;
    order[first..samples.len().min(first + batch)]
        .iter()
        .map(|&index| samples[index].clone())
        .collect()
}
