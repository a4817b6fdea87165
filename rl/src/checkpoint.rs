//! Checkpoints: all that a run needs to go on as if it had never stopped.
//!
//! ```text
//! <run>/checkpoints/step-000120/
//!   model.safetensors config.json generation_config.json tokenizer.json tokenizer_config.json
//!   optimizer.safetensors     moments, and f32 weights where the model's own are narrower
//!   training.json             step, and whatever the loop wants back
//! ```
//! The folder is itself a Hugging Face model. It is built under a temporary name and renamed when
//! every file is on disk, so a folder with the right name is complete.

use crate::model::{LoadError, Qwen3, Qwen3Config, Weights, save_folder, write_safetensors};
use crate::optim::{AdamW, OptimError};
use crate::template::{Template, TemplateError};
use crate::tokenizer::{Tokenizer, TokenizerError};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use sandbox::files;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tch::{Device, Kind};

/// The version of `training.json` that this build reads and writes.
const VERSION: u32 = 2;

/// Why a checkpoint could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// A file could not be read or written.
    #[error("failed to read or write a checkpoint")]
    Io(#[from] std::io::Error),
    /// The folder lacks a file of a checkpoint.
    #[error(
        "`{folder}` is not a checkpoint: it has no `{missing}`; give a folder such as `<run>/checkpoints/step-000100`"
    )]
    NotOne {
        /// The folder.
        folder: Utf8PathBuf,
        /// The first file that is missing.
        missing: &'static str,
    },
    /// `training.json` is not what it should be.
    #[error("failed to parse `{path}`; was it written by another version, or by another command?")]
    Training {
        /// The file.
        path: Utf8PathBuf,
        /// What serde found.
        #[source]
        source: serde_json::Error,
    },
    /// The model could not be read or written.
    #[error(transparent)]
    Model(#[from] LoadError),
    /// The tokenizer could not be read or written.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// Conversations cannot be laid out.
    #[error("failed to use the chat template of `{folder}`")]
    Template {
        /// The policy.
        folder: Utf8PathBuf,
        /// Why.
        #[source]
        source: TemplateError,
    },
    /// Model and tokenizer are two models'.
    #[error(
        "the tokenizer of `{folder}` has ids up to {last_id}, its model {vocab_size} of them; \
         copy the tokenizer's files from where the model comes from"
    )]
    Vocabulary {
        /// The policy.
        folder: Utf8PathBuf,
        /// The tokenizer's highest id.
        last_id: i64,
        /// How many tokens the model knows.
        vocab_size: i64,
    },
    /// The optimizer's state does not fit.
    #[error(transparent)]
    Optimizer(#[from] OptimError),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Training<S> {
    version: u32,
    step: u64,
    /// Of the optimizer: steps from which nothing could be learnt do not count.
    updates: u64,
    state: S,
}

/// The checkpoints of one run.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: Utf8PathBuf,
    keep: usize,
}

/// One checkpoint on disk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Checkpoint {
    step: u64,
    folder: Utf8PathBuf,
}

impl Checkpoints {
    /// The checkpoints below `<run>/checkpoints`, of which the last `keep` (at least one) stay.
    pub fn of(run: &Utf8Path, keep: usize) -> Self {
        Self { folder: run.join("checkpoints"), keep: keep.max(1) }
    }

    /// Writes the checkpoint of `step`, then removes those that are too old.
    ///
    /// # Errors
    /// [`CheckpointError`] if a file cannot be written; what was there stays.
    pub fn save(
        &self,
        step: u64,
        model: &Qwen3,
        tokenizer: &Tokenizer,
        optimizer: &AdamW,
        state: &impl Serialize,
    ) -> Result<Checkpoint, CheckpointError> {
        fs::create_dir_all(&self.folder)?;
        let folder = self.folder.join(format!("step-{step:06}"));
        let building = files::temporary_neighbour(&folder);
        remove(&building)?;
        fs::create_dir(&building)?;
        save_folder(model, &building)?;
        tokenizer.save(&building)?;
        write_safetensors(&building.join("optimizer.safetensors"), &optimizer.state())?;
        files::write_json(
            &building.join("training.json"),
            &Training { version: VERSION, step, updates: optimizer.updates(), state },
        )?;
        // The same step can only be written twice by a run that was wound back; the new one counts.
        remove(&folder)?;
        fs::rename(&building, &folder)?;
        fs::File::open(&self.folder)?.sync_all()?;
        let all = self.all()?;
        for old in &all[..all.len().saturating_sub(self.keep)] {
            remove(&old.folder)?;
        }
        Ok(Checkpoint { step, folder })
    }

    /// The newest checkpoint, if there is any. Also clears away what a killed run left unfinished.
    ///
    /// # Errors
    /// [`CheckpointError::Io`].
    pub fn latest(&self) -> Result<Option<Checkpoint>, CheckpointError> {
        if !self.folder.is_dir() {
            return Ok(None);
        }
        for entry in self.folder.read_dir_utf8()? {
            let entry = entry?;
            if entry.file_name().starts_with(".step-") {
                remove(entry.path())?;
            }
        }
        Ok(self.all()?.pop())
    }

    /// Every checkpoint, oldest first.
    fn all(&self) -> Result<Vec<Checkpoint>, CheckpointError> {
        let mut all = Vec::new();
        for entry in self.folder.read_dir_utf8()? {
            let entry = entry?;
            let step = entry.file_name().strip_prefix("step-").and_then(|step| step.parse().ok());
            if let Some(step) = step {
                all.push(Checkpoint { step, folder: entry.into_path() });
            }
        }
        all.sort();
        Ok(all)
    }
}

impl Checkpoint {
    /// The checkpoint in `folder`.
    ///
    /// # Errors
    /// [`CheckpointError::NotOne`] naming what is missing.
    pub fn open(folder: &Utf8Path) -> Result<Self, CheckpointError> {
        require(folder, &MODEL_FILES)?;
        require(folder, &["optimizer.safetensors", "training.json"])?;
        let training: Training<serde_json::Value> = read_training(folder)?;
        Ok(Self { step: training.step, folder: folder.to_owned() })
    }

    /// How many steps had been made.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Where it is.
    pub fn folder(&self) -> &Utf8Path {
        &self.folder
    }

    /// What the loop stored.
    ///
    /// # Errors
    /// [`CheckpointError`] if it is not of this form.
    pub fn state<S: DeserializeOwned>(&self) -> Result<S, CheckpointError> {
        let training: Training<S> = read_training(&self.folder)?;
        Ok(training.state)
    }

    /// Puts the optimizer where it was.
    ///
    /// # Errors
    /// [`CheckpointError`] if the state is of another model.
    pub fn restore(&self, optimizer: &mut AdamW) -> Result<(), CheckpointError> {
        let saved = Weights::map(&[self.folder.join("optimizer.safetensors")])?;
        let training: Training<serde_json::Value> = read_training(&self.folder)?;
        Ok(optimizer.restore(&saved, training.updates)?)
    }
}

const MODEL_FILES: [&str; 2] = ["config.json", "tokenizer.json"];

fn require(folder: &Utf8Path, files: &[&'static str]) -> Result<(), CheckpointError> {
    match files.iter().find(|file| !folder.join(file).is_file()) {
        Some(missing) => Err(CheckpointError::NotOne { folder: folder.to_owned(), missing }),
        None => Ok(()),
    }
}

/// A policy from any Hugging Face folder: a checkpoint of ours or a published model.
///
/// # Errors
/// [`CheckpointError`] naming what is missing or does not fit.
pub fn open_policy(
    folder: &Utf8Path,
    kind: Kind,
    device: Device,
) -> Result<(Qwen3, Tokenizer), CheckpointError> {
    require(folder, &MODEL_FILES)?;
    let config = Qwen3Config::open(folder).map_err(LoadError::from)?;
    let tokenizer = Tokenizer::open(folder)?;
    let (last_id, vocab_size) = (tokenizer.last_id(), config.vocab_size);
    if last_id >= vocab_size {
        return Err(CheckpointError::Vocabulary { folder: folder.to_owned(), last_id, vocab_size });
    }
    Template::new(&tokenizer)
        .map_err(|source| CheckpointError::Template { folder: folder.to_owned(), source })?;
    let model = Qwen3::load(&config, &Weights::open(folder)?, kind, device)?;
    Ok((model, tokenizer))
}

/// Puts the optimizer where the newest checkpoint left it, and returns how many steps had been
/// made; without a checkpoint none.
///
/// # Errors
/// [`CheckpointError`] if the checkpoint is damaged or of another model.
pub fn resume(latest: Option<&Checkpoint>, optimizer: &mut AdamW) -> Result<u64, CheckpointError> {
    let Some(checkpoint) = latest else { return Ok(0) };
    checkpoint.restore(optimizer)?;
    tracing::info!(step = checkpoint.step(), "continuing");
    Ok(checkpoint.step())
}

fn read_training<S: DeserializeOwned>(folder: &Utf8Path) -> Result<Training<S>, CheckpointError> {
    let path = folder.join("training.json");
    serde_json::from_slice(&fs::read(&path)?)
        .map_err(|source| CheckpointError::Training { path, source })
}

fn remove(folder: &Utf8Path) -> Result<(), std::io::Error> {
    if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::AdamConfig;
    use sandbox::stream::Stream;
    use tch::Tensor;

    fn policy() -> (Qwen3, Tokenizer) {
        let tokenizer = Tokenizer::train(&vec!["print(1)\n".to_owned(); 3], 300).unwrap();
        let control = tokenizer.control();
        let config = Qwen3Config {
            hidden_size: 16,
            num_hidden_layers: 1,
            ..Qwen3Config::tiny(
                i64::try_from(tokenizer.vocab_size()).unwrap(),
                control.end_of_turn,
                control.end_of_text,
            )
        };
        (Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(2)), tokenizer)
    }

    fn train(model: &Qwen3, optimizer: &mut AdamW, steps: std::ops::Range<i64>) -> Vec<u64> {
        steps
            .map(|step| {
                let ids = Tensor::from_slice(&[step, step + 1, step + 2]).unsqueeze(0);
                let loss = model.logits(&model.forward(&ids)).square().mean(Kind::Float);
                loss.backward();
                optimizer.step(1e-2).unwrap();
                loss.double_value(&[]).to_bits()
            })
            .collect()
    }

    #[test]
    fn a_resumed_run_continues_to_the_last_bit() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let checkpoints = Checkpoints::of(dir, 2);
        let (model, tokenizer) = policy();
        let mut optimizer = AdamW::new(&model, AdamConfig::default());
        train(&model, &mut optimizer, 0..4);
        checkpoints.save(4, &model, &tokenizer, &optimizer, &"seen").unwrap();
        let straight = train(&model, &mut optimizer, 4..8);

        let latest = checkpoints.latest().unwrap().unwrap();
        assert_eq!((latest.step(), latest.state::<String>().unwrap().as_str()), (4, "seen"));
        let (model, _) = open_policy(latest.folder(), Kind::Float, Device::Cpu).unwrap();
        let mut optimizer = AdamW::new(&model, AdamConfig::default());
        latest.restore(&mut optimizer).unwrap();
        assert_eq!(train(&model, &mut optimizer, 4..8), straight);
    }

    #[test]
    fn the_newest_stay_and_debris_goes() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let checkpoints = Checkpoints::of(dir, 2);
        assert_eq!(checkpoints.latest().unwrap(), None);
        let (model, tokenizer) = policy();
        let optimizer = AdamW::new(&model, AdamConfig::default());
        for step in [1, 2, 10] {
            checkpoints.save(step, &model, &tokenizer, &optimizer, &()).unwrap();
        }
        fs::create_dir(dir.join("checkpoints/.step-000011.99.tmp")).unwrap();
        assert_eq!(checkpoints.latest().unwrap().unwrap().step(), 10);
        let mut names: Vec<String> = dir
            .join("checkpoints")
            .read_dir_utf8()
            .unwrap()
            .map(|e| e.unwrap().file_name().to_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["step-000002", "step-000010"]);
    }

    #[test]
    fn a_tokenizer_of_another_model_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let (model, tokenizer) = policy();
        save_folder(&model, dir).unwrap();
        tokenizer.save(dir).unwrap();
        assert!(open_policy(dir, Kind::Float, Device::Cpu).is_ok());
        let other = Tokenizer::train(&vec!["print(12)\n".to_owned(); 3], 310).unwrap();
        assert!(other.vocab_size() > tokenizer.vocab_size());
        other.save(dir).unwrap();
        let error = open_policy(dir, Kind::Float, Device::Cpu).unwrap_err().to_string();
        let last = other.vocab_size() - 1;
        assert!(error.contains(&format!("ids up to {last}")), "{error}");
    }

    #[test]
    fn a_folder_that_is_no_checkpoint_says_what_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let error = Checkpoint::open(dir).unwrap_err().to_string();
        assert!(error.contains("no `config.json`") && error.contains("step-000100"), "{error}");
        let error =
            open_policy(&dir.join("nowhere"), Kind::Float, Device::Cpu).unwrap_err().to_string();
        assert!(error.contains("is not a checkpoint"), "{error}");
    }
}
