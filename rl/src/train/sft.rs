//! Supervised fine-tuning on scripted agents' episodes, on the good answers of searches, on the best
//! of a policy's own episodes, or on the user's data.
//!
//! 1. Scripted agents play real episodes on the training tasks, every rung of the public ladder
//!    equally often: the policy should know weak and strong approaches, so that reinforcement
//!    has something to choose between.
//! 2. A tiny or small policy gets a tokenizer of its own, trained on these episodes.
//! 3. The policy is trained on the agents' turns. Prompts and observations are context and masked;
//!    the loss is the mean over target tokens of a batch.
//! 4. With `validation_share` some examples are held out; the loss on them decides which checkpoint is
//!    the best, and may end a run.
//!
//! Every stage is resumable: episodes are appended as they end, the vocabulary is a function of
//! them, and training resumes from its newest checkpoint to the same curve.

mod best;
mod data;
mod demonstrations;
mod error;
mod estimate;
pub(in crate::train) mod example;
mod samples;
mod settings;

pub use error::{Halt, SftError};
pub use estimate::{SftEstimate, estimate};
pub use settings::{Demonstrator, SftSettings};

use crate::checkpoint::policy;
use crate::checkpoint::source::PolicySource;
use crate::generate::sample::Sampling;
use crate::model::Qwen3;
use crate::run::settings::Checked;
use crate::run::stop::{RunEnd, Stop, Stopped};
use crate::run::view::Stages;
use crate::text::template::ChatTemplate;
use crate::text::tokenizer::Tokenizer;
use crate::train::batch::TrainSequence;
use crate::train::choice::{Chosen, write_left_out};
use crate::train::harness::{Earlier, Validation};
use crate::train::learner::{Learner, TrainingLoss, WeightSet};
use crate::train::native::NativeLearner;
use crate::train::offline::{
    self, Nothing, OfflineContext, OfflineLoss, OfflinePlan, cosine, steps_of,
};
use agents::scaffold::runner::ScriptedError;
use camino::Utf8Path;
use demonstrations::{
    check_format, demonstrate, fresh, from_episodes, from_expert, from_samples, from_searches,
};
use example::NamedExample;
use samples::Samples;
use tasks::stream::Stream;
use tch::Device;

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
    let root = root_of(settings);
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
    let earlier = Earlier::find(out, settings.keep)?;
    let begun = earlier.folder();
    let Prepared { model, tokenizer, samples } =
        prepare(settings, source, begun, examples, device)?;
    write_left_out(&samples.left_out, out, settings.context)?;
    let tokens: usize = samples.train.iter().map(|sample| sample.ids.len()).sum();
    tracing::info!(
        episodes = samples.train.len(),
        held_out = samples.held_out.len(),
        left_out = samples.left_out.len(),
        tokens,
        vocabulary = tokenizer.vocab_size(),
        "demonstrations"
    );
    let mut learner = NativeLearner::new(&model, &tokenizer, settings.adam, settings.memory);
    let imitation = Imitation {
        samples: &samples,
        context_noise: settings.context_noise,
        vocab_size: tokenizer.vocab_size(),
        noise: root.child("noise"),
    };
    let context = OfflineContext {
        plan: plan_of(settings, &samples),
        order: root.child("order"),
        doing: "imitating",
        out,
        stages,
        stop,
    };
    offline::train(&imitation, &mut learner, earlier, context)
}

fn root_of(settings: &SftSettings) -> Stream {
    Stream::root(settings.seed).child("sft")
}

/// A policy, and what it is to imitate.
struct Prepared {
    model: Qwen3,
    tokenizer: Tokenizer,
    samples: Samples,
}

/// Opens the policy, that of the checkpoint `begun` if there is one, and lays out the examples.
fn prepare(
    settings: &SftSettings,
    source: &PolicySource,
    begun: Option<&Utf8Path>,
    examples: Vec<NamedExample>,
    device: Device,
) -> Result<Prepared, SftError> {
    let root = root_of(settings);
    let SftSettings { max_samples, validation_share: share, .. } = *settings;
    let examples = Chosen::draw(examples, max_samples, share, root.child("choice"))?;
    let kind = settings.dtype.kind();
    let (model, tokenizer) = match (begun, source) {
        (Some(checkpoint), _) => policy::open(checkpoint, kind, device)?,
        (None, PolicySource::Folder(folder)) => {
            let stream = root.child("adapters");
            policy::open_to_train(folder, settings.lora.as_ref(), kind, device, stream)?
        }
        (None, PolicySource::BuiltIn(shape)) => {
            fresh(*shape, &examples.train, settings, device, root.child("weights"))?
        }
    };
    let samples = Samples::new(&examples, settings, &ChatTemplate::new(&tokenizer)?)?;
    Ok(Prepared { model, tokenizer, samples })
}

/// How long the run is and what it keeps.
fn plan_of(settings: &SftSettings, samples: &Samples) -> OfflinePlan {
    let SftSettings { batch, epochs, max_steps, checkpoint_every, keep_best, .. } = *settings;
    let steps = steps_of(samples.train.len(), batch, epochs, max_steps);
    let validation = Validation {
        every: settings.validate_every,
        keep_best,
        patience: settings.early_stopping_patience,
    };
    OfflinePlan {
        examples: samples.train.len(),
        batch,
        shuffled: settings.shuffle_dataset,
        steps,
        schedule: cosine(settings.learning_rate, settings.warmup, steps),
        checkpoint_every,
        validation: (!samples.held_out.is_empty()).then_some(validation),
    }
}

/// Cross-entropy over target tokens.
struct Imitation<'a> {
    samples: &'a Samples,
    context_noise: f64,
    vocab_size: usize,
    /// The stream of context tokens that are replaced.
    noise: Stream,
}

impl OfflineLoss for Imitation<'_> {
    type Update = Nothing;
    type Validation = Nothing;
    type Error = SftError;

    fn accumulate(
        &self,
        learner: &mut dyn Learner,
        chosen: &[usize],
        step: u64,
    ) -> Result<(f64, usize, Nothing), SftError> {
        let mut samples: Vec<TrainSequence> =
            chosen.iter().map(|&place| self.samples.train[place].clone()).collect();
        let stream = self.noise.index(step);
        samples.iter_mut().zip(0..).for_each(|(sample, place)| {
            sample.drop_context_tokens(self.context_noise, self.vocab_size, stream.index(place));
        });
        let found = learner.accumulate(&TrainingLoss::CrossEntropy(&samples), &mut || ())?;
        Ok((found.loss, found.tokens, Nothing {}))
    }

    /// The mean over target tokens, as of a batch.
    fn validate(&self, learner: &dyn Learner) -> Result<(f64, Nothing), SftError> {
        let sampling = Sampling::default();
        let held_out = &self.samples.held_out;
        let found = learner.log_probs(WeightSet::Current, held_out, &sampling, &mut || ())?;
        let tokens = found.iter().map(Vec::len).sum::<usize>();
        let sum: f64 = found.iter().flatten().copied().map(f64::from).sum();
        Ok((-sum / tokens.max(1) as f64, Nothing {}))
    }
}

/// All that is imitated, in a fixed order.
fn examples(
    settings: &SftSettings,
    out: &Utf8Path,
    stream: Stream,
    stages: &dyn Stages,
    stop: &Stop,
) -> Result<Vec<NamedExample>, SftError> {
    if !settings.data.is_empty() {
        return Ok(data::read(&settings.data)?);
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
    Ok(demonstrations.into_iter().map(NamedExample::of_episode).collect())
}
