//! The learner whose weights are on a server.

use super::client::TinkerClient;
use super::error::TinkerError;
use super::model::{AdapterStart, RemoteModel};
use super::saved::{Saved, needed};
use super::settings::LearnerSettings;
use super::update;
use crate::checkpoint::{Checkpoint, CheckpointError, policy};
use crate::generate::sample::Sampling;
use crate::generate::{Publication, PublishedWeights};
use crate::optim::{AdamConfig, OptimError};
use crate::text::tokenizer::Tokenizer;
use crate::train::batch::TrainSequence;
use crate::train::learner::{Learner, LearnerError, TrainingLoss, UpdateStats, WeightSet};
use camino::Utf8Path;
use fs_err as fs;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// How a learner on a server begins.
#[derive(Debug, Clone, Copy)]
pub struct TinkerStart<'a> {
    /// The settings of the learner.
    pub settings: &'a LearnerSettings,
    /// The optimizer's settings.
    pub adam: AdamConfig,
    /// The folder of the policy on this machine: its shape and tokenizer.
    pub folder: &'a Utf8Path,
    /// The policy's tokenizer.
    pub tokenizer: &'a Tokenizer,
    /// The adapters; of rank 0 for the model itself.
    pub adapters: AdapterStart,
}

/// The learner whose weights are on a server.
#[derive(Debug)]
pub struct TinkerLearner<'a> {
    pub(super) start: TinkerStart<'a>,
    base_model: String,
    pub(super) model: RemoteModel,
    /// Whether there is a gradient that no step has used.
    pub(super) has_gradient: bool,
    updates: u64,
    /// The copy of the weights that generators sample with.
    published: Option<String>,
    /// What this run has saved on the server.
    saved: Mutex<BTreeSet<String>>,
}

impl<'a> TinkerLearner<'a> {
    /// Opens a session and loads the model there.
    ///
    /// # Errors
    /// [`TinkerError`] if the server cannot be reached or refuses the model.
    pub fn open(start: TinkerStart<'a>) -> Result<Self, TinkerError> {
        if start.folder.join("adapter_config.json").is_file() {
            return Err(TinkerError::Unsupported(
                "`model` has adapters, which would not reach the server; merge them into their \
                 model, start the server with it, and give that as `model`",
            ));
        }
        let client = TinkerClient::open(start.settings)?;
        let base_model = client.base_model(&start.settings.base_model)?;
        let model = RemoteModel::create(&client, &base_model, start.adapters)?;
        tracing::info!(base_model, model = model.id(), "the server has loaded the model");
        Ok(Self {
            start,
            base_model,
            model,
            has_gradient: false,
            updates: 0,
            published: None,
            saved: Mutex::default(),
        })
    }

    /// The model on the server.
    pub fn model(&self) -> &RemoteModel {
        &self.model
    }

    /// Writes what a checkpoint has of the state on the server, and removes there what no
    /// checkpoint needs any more.
    fn save_remotely(&self, folder: &Utf8Path) -> Result<(), SaveError> {
        let mut saved = self.saved.lock().expect("no thread panics while it holds this");
        let base = policy::base_of(self.start.folder).map_err(CheckpointError::from)?;
        for file in ["config.json", "generation_config.json"] {
            let from = base.join(file);
            if from.is_file() {
                fs::copy(from, folder.join(file)).map_err(CheckpointError::from)?;
            }
        }
        self.start.tokenizer.save(folder).map_err(CheckpointError::from)?;
        // A name is given once for each model, and a step may be saved twice.
        let name = format!("updates-{}-{}", self.updates, self.model.next());
        let state = self.model.save_state(&name)?;
        let export = self.start.settings.export.then(|| self.model.export(&name)).transpose()?;
        let now = Saved::new(&self.base_model, state, export, self.updates);
        now.write(folder)?;
        let keep = folder.parent().map(needed).unwrap_or_default();
        saved.retain(|path| {
            let remove = !keep.contains(path);
            if remove && let Err(error) = self.model.delete(path) {
                tracing::warn!(%error, path, "an old state stays on the server");
            }
            !remove
        });
        saved.extend(now.paths().cloned());
        Ok(())
    }
}

/// Why a state was not saved.
#[derive(Debug, thiserror::Error)]
enum SaveError {
    #[error(transparent)]
    Server(#[from] TinkerError),
    #[error(transparent)]
    Files(#[from] CheckpointError),
}

impl From<SaveError> for CheckpointError {
    fn from(error: SaveError) -> Self {
        match error {
            SaveError::Server(error) => Self::Learner(Box::new(error)),
            SaveError::Files(error) => error,
        }
    }
}

impl Learner for TinkerLearner<'_> {
    fn accumulate(
        &mut self,
        loss: &TrainingLoss<'_>,
        beat: &mut dyn FnMut(),
    ) -> Result<UpdateStats, LearnerError> {
        Ok(match loss {
            TrainingLoss::CrossEntropy(samples) => self.imitate(samples, beat)?,
            // Settings refuse it before anything is played.
            TrainingLoss::Imitation { .. } | TrainingLoss::Weighted { .. } => {
                return Err(TinkerError::Unsupported("the server's losses do not add up").into());
            }
            TrainingLoss::Surrogate(update) => self.surrogate(update, beat)?,
        })
    }

    fn step(&mut self, rate: f64) -> Result<f64, LearnerError> {
        let norm = self.model.optim_step(rate, &self.start.adam)?;
        self.has_gradient = false;
        if !norm.is_finite() {
            let name = "the whole model".to_owned();
            return Err(OptimError::NotFinite { name, step: self.updates }.into());
        }
        self.updates += 1;
        Ok(norm)
    }

    fn log_probs(
        &self,
        weights: WeightSet,
        samples: &[TrainSequence],
        sampling: &Sampling,
        beat: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<f32>>, LearnerError> {
        if weights == WeightSet::Reference {
            return Err(LearnerError::NoReference);
        }
        update::scorable(sampling)?;
        let mut scores = vec![Vec::new(); samples.len()];
        let chosen: Vec<usize> =
            (0..samples.len()).filter(|&index| samples[index].trained_count() > 0).collect();
        let scored: Vec<&TrainSequence> = chosen.iter().map(|&index| &samples[index]).collect();
        for (index, found) in chosen.into_iter().zip(self.score(&scored, beat)?) {
            scores[index] = found;
        }
        Ok(scores)
    }

    fn save(&self, folder: &Utf8Path) -> Result<u64, CheckpointError> {
        self.save_remotely(folder)?;
        Ok(self.updates)
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        let folder = checkpoint.folder();
        let saved = Saved::read(folder)?;
        let failed = |error: TinkerError| CheckpointError::Learner(Box::new(error));
        if saved.base_model != self.base_model {
            let server = self.model.client().connection().server();
            let (wanted, known) = (saved.base_model, format!("`{}`", self.base_model));
            return Err(failed(TinkerError::OtherModel { server, wanted, known }));
        }
        self.model.load_state(&saved.state).map_err(failed)?;
        self.updates = saved.updates;
        // Earlier starts of the run saved these.
        let known = folder.parent().map(needed).unwrap_or_default();
        self.saved.lock().expect("no thread panics while it holds this").extend(known);
        Ok(())
    }

    fn publish(&mut self, version: u64, _probe: &[i64]) -> Result<Publication, LearnerError> {
        let (name, copy) = self.model.publish()?;
        if let Some(before) = self.published.replace(copy)
            && let Err(error) = self.model.delete(&before)
        {
            tracing::debug!(%error, "a copy of old weights stays on the server");
        }
        Ok(Publication { version, weights: PublishedWeights::Named(name), probe: None })
    }
}
