//! Checkpoints: all that a run needs to go on as if it had never stopped.
//!
//! ```text
//! <run>/checkpoints/step-000120/
//!   model.safetensors config.json generation_config.json tokenizer.json tokenizer_config.json
//!   trainer/optimizer.safetensors     moments, and f32 weights where the model's own are narrower
//!   trainer/remote.json               instead of weights and moments: where a server has them
//!   training.json                     step, and whatever the loop wants back
//! <run>/checkpoints/best      a link to the checkpoint of the best validation, if there is one
//! ```
//! The folder is itself a Hugging Face model. vLLM and `SGLang` take every `*.safetensors` in it for
//! weights of the model, so what else is of that kind lies in `trainer/`. It is built under a
//! temporary name and renamed when every file is on disk, so a folder with the right name is
//! complete. A run goes on from its newest checkpoint; from another one after it was wound back to
//! it ([`Resume`]).

use super::error::CheckpointError;
use crate::checkpoint::policy;
use crate::model::{
    ADAPTERS, LoadError, Lora, Qwen3, Qwen3Config, Weights, save_folder, write_safetensors,
};
use crate::optim::AdamW;
use crate::text::tokenizer::Tokenizer;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use safetensors::SafeTensorError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tasks::files;

/// The version of checkpoints that this build writes.
pub(super) const VERSION: u32 = 4;
/// The oldest version that it reads. Before version 4 the optimizer's state lay beside the model.
pub(super) const OLDEST: u32 = 3;

/// Where the state is of a learner on other machines. A checkpoint with this file has neither weights
/// nor an optimizer's state of its own.
pub(crate) const REMOTE_STATE: &str = "trainer/remote.json";
const OPTIMIZER: &str = "trainer/optimizer.safetensors";
const OLD_OPTIMIZER: &str = "optimizer.safetensors";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Training<S> {
    version: u32,
    step: u64,
    /// Of the optimizer: steps without a gradient do not count.
    updates: u64,
    state: S,
}

/// From which of its checkpoints a run goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Resume {
    /// The newest.
    #[default]
    Latest,
    /// The one of the best validation.
    Best,
    /// The one in this folder, or of this name, such as `step-000008`.
    At(Utf8PathBuf),
}

impl From<&str> for Resume {
    fn from(name: &str) -> Self {
        match name {
            "latest" => Self::Latest,
            "best" => Self::Best,
            folder => Self::At(folder.into()),
        }
    }
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
    /// The checkpoints below `<run>/checkpoints`, of which the last `keep` (at least one) stay,
    /// and the best.
    pub fn new(run: &Utf8Path, keep: usize) -> Self {
        Self { folder: run.join("checkpoints"), keep: keep.max(1) }
    }

    /// Writes the checkpoint of `step`, points to the one of the `best` step, and removes those
    /// that are too old. `write` puts weights and optimizer into a folder and returns how many
    /// updates were made, as [`write()`] does.
    ///
    /// # Errors
    /// [`CheckpointError::Save`] if a file cannot be written; what was there stays.
    pub fn save(
        &self,
        step: u64,
        write: &dyn Fn(&Utf8Path) -> Result<u64, CheckpointError>,
        state: &impl Serialize,
        best: Option<u64>,
    ) -> Result<Checkpoint, CheckpointError> {
        let folder = self.path(step);
        let building = files::temporary_neighbour(&folder);
        let build = || {
            fs::create_dir_all(&self.folder)?;
            remove(&building)?;
            fs::create_dir(&building)?;
            let updates = write(&building)?;
            files::write_json(
                &building.join("training.json"),
                &Training { version: VERSION, step, updates, state },
            )?;
            // The same step can only be written twice by a run that was wound back; the new one
            // counts.
            discard(&folder)?;
            fs::rename(&building, &folder)?;
            Ok(fs::File::open(&self.folder)?.sync_all()?)
        };
        build().map_err(|source: CheckpointError| {
            // A full disk has no room for what cannot be used. If even that fails, the next start
            // clears it away.
            let _ = remove(&building);
            let last_good = self.all().ok().and_then(|all| Some(all.last()?.folder.clone()));
            CheckpointError::Save { step, last_good, source: Box::new(source) }
        })?;
        self.point_to_best(best)?;
        let all = self.all()?;
        for old in &all[..all.len().saturating_sub(self.keep)] {
            if Some(old.step) != best {
                discard(&old.folder)?;
            }
        }
        Ok(Checkpoint { step, folder })
    }

    /// Makes `checkpoints/best` lead to the checkpoint of this step, or nowhere if there is none.
    ///
    /// # Errors
    /// [`CheckpointError::Io`].
    pub fn point_to_best(&self, step: Option<u64>) -> Result<(), CheckpointError> {
        let link = self.best_link();
        let target = step.map(|step| self.path(step)).filter(|folder| folder.is_dir());
        let name = target.as_ref().and_then(|folder| folder.file_name());
        let now = link.read_link_utf8().ok();
        match name {
            Some(name) if now.as_deref() != Some(Utf8Path::new(name)) => {
                let building = files::temporary_neighbour(&link);
                if building.is_symlink() {
                    fs::remove_file(&building)?;
                }
                fs::os::unix::fs::symlink(name, &building)?;
                fs::rename(&building, &link)?;
            }
            None if now.is_some() => fs::remove_file(&link)?,
            _ => (),
        }
        Ok(())
    }

    /// Clears away what a killed run left unfinished. Only for the run itself: to anybody else, what
    /// is unfinished may be about to be finished.
    ///
    /// # Errors
    /// [`CheckpointError::Io`].
    pub fn tidy(&self) -> Result<(), CheckpointError> {
        if self.folder.is_dir() {
            for entry in self.folder.read_dir_utf8()? {
                let entry = entry?;
                if entry.file_name().starts_with(".step-") {
                    remove(entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// The newest checkpoint, if there is any.
    ///
    /// # Errors
    /// [`CheckpointError::Damaged`], which names the newest one that is whole, if this one is not.
    pub fn latest(&self) -> Result<Option<Checkpoint>, CheckpointError> {
        if !self.folder.is_dir() {
            return Ok(None);
        }
        let mut all = self.all()?;
        let Some(newest) = all.pop() else { return Ok(None) };
        match newest.check() {
            Ok(()) => Ok(Some(newest)),
            Err(version @ CheckpointError::Version { .. }) => Err(version),
            Err(source) => {
                let whole = all.into_iter().rev().find(|checkpoint| checkpoint.check().is_ok());
                let (newest, older) = (newest.folder, whole.map(|older| older.folder));
                Err(CheckpointError::Damaged { newest, older, source: Box::new(source) })
            }
        }
    }

    /// Makes another checkpoint the newest, by removing all that are newer.
    ///
    /// # Errors
    /// [`CheckpointError`] if there is no such checkpoint, or it is damaged; then all stay.
    pub fn roll_back(&self, to: &Resume) -> Result<(), CheckpointError> {
        let (wanted, folder) = match to {
            Resume::Latest => return Ok(()),
            Resume::Best => ("best".to_owned(), self.best_link()),
            Resume::At(folder) if folder.components().count() == 1 => {
                (folder.to_string(), self.folder.join(folder))
            }
            Resume::At(folder) => (folder.to_string(), folder.clone()),
        };
        let all = if self.folder.is_dir() { self.all()? } else { Vec::new() };
        let real = |folder: &Utf8Path| folder.canonicalize_utf8().ok();
        let named = real(&folder);
        let Some(target) = all.iter().find(|one| named.is_some() && real(&one.folder) == named)
        else {
            let there = all.into_iter().map(|one| one.folder).collect();
            return Err(CheckpointError::NotOfRun { wanted, there });
        };
        target.check()?;
        // The newest first: whenever this is interrupted, what is left is a run that came less far.
        for later in all.iter().rev().take_while(|one| one.step > target.step) {
            tracing::warn!(checkpoint = %later.folder, "removing, to go back to step {}", target.step);
            discard(&later.folder)?;
        }
        Ok(())
    }

    fn path(&self, step: u64) -> Utf8PathBuf {
        self.folder.join(format!("step-{step:06}"))
    }

    fn best_link(&self) -> Utf8PathBuf {
        self.folder.join("best")
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
    /// [`PolicyError::NotOne`](policy::PolicyError::NotOne) naming what is missing.
    pub fn open(folder: &Utf8Path) -> Result<Self, CheckpointError> {
        policy::require(&policy::base_of(folder)?, &policy::FILES)?;
        policy::require(folder, &["training.json"])?;
        let training: Training<serde_json::Value> = read_training(folder)?;
        if !is_remote(folder) {
            policy::require(folder, &[optimizer_file(training.version)])?;
        }
        Ok(Self { step: training.step, folder: folder.to_owned() })
    }

    /// Whether every file is there and of the right length.
    fn check(&self) -> Result<(), CheckpointError> {
        Self::open(&self.folder)?;
        if is_remote(&self.folder) {
            Qwen3Config::open(&self.folder).map_err(LoadError::from)?;
            let path = self.folder.join(REMOTE_STATE);
            let parse = |source| CheckpointError::Training { path: path.clone(), source };
            return serde_json::from_slice::<serde_json::Value>(&fs::read(&path)?)
                .map(drop)
                .map_err(parse);
        }
        if Lora::describe(&self.folder)?.is_some() {
            Weights::map(&[self.folder.join(ADAPTERS)])?;
        } else {
            Qwen3Config::open(&self.folder).map_err(LoadError::from)?;
            Weights::open(&self.folder)?;
        }
        let Training { version, .. } = read_training::<serde_json::Value>(&self.folder)?;
        Weights::map(&[self.folder.join(optimizer_file(version))])?;
        Ok(())
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
        let training: Training<serde_json::Value> = read_training(&self.folder)?;
        let saved = Weights::map(&[self.folder.join(optimizer_file(training.version))])?;
        Ok(optimizer.restore(&saved, training.updates)?)
    }
}

/// Writes a policy and its optimizer into `folder`, and returns how many updates were made.
///
/// # Errors
/// [`CheckpointError`] if a file cannot be written.
pub fn write(
    folder: &Utf8Path,
    model: &Qwen3,
    tokenizer: &Tokenizer,
    optimizer: &AdamW,
) -> Result<u64, CheckpointError> {
    save_folder(model, folder).map_err(written)?;
    tokenizer.save(folder)?;
    let path = folder.join(OPTIMIZER);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    write_safetensors(&path, &optimizer.state()).map_err(written)?;
    Ok(optimizer.updates())
}

/// Whether a server has the weights of the checkpoint in `folder`.
pub(super) fn is_remote(folder: &Utf8Path) -> bool {
    folder.join(REMOTE_STATE).is_file()
}

/// Where a checkpoint of a version has the optimizer's state.
fn optimizer_file(version: u32) -> &'static str {
    if version < 4 { OLD_OPTIMIZER } else { OPTIMIZER }
}

fn read_training<S: DeserializeOwned>(folder: &Utf8Path) -> Result<Training<S>, CheckpointError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let path = folder.join("training.json");
    let text = fs::read(&path)?;
    let parse = |source| CheckpointError::Training { path: path.clone(), source };
    let Versioned { version } = serde_json::from_slice(&text).map_err(parse)?;
    if !(OLDEST..=VERSION).contains(&version) {
        return Err(CheckpointError::Version { path, found: version });
    }
    serde_json::from_slice(&text).map_err(parse)
}

/// A file that could not be written is not one that is damaged.
fn written(error: LoadError) -> CheckpointError {
    match error {
        LoadError::Format { source: SafeTensorError::IoError(source), .. } => source.into(),
        other => other.into(),
    }
}

/// Removes a checkpoint so that no half of it is ever seen under its name.
fn discard(folder: &Utf8Path) -> Result<(), std::io::Error> {
    if !folder.exists() {
        return Ok(());
    }
    let going = folder.with_file_name(format!(".{}.going", folder.file_name().unwrap_or("step-")));
    remove(&going)?;
    fs::rename(folder, &going)?;
    remove(&going)
}

fn remove(folder: &Utf8Path) -> Result<(), std::io::Error> {
    if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::policy::tests::small;
    use crate::optim::AdamConfig;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use tch::{Device, Kind};

    #[test]
    fn a_checkpoint_of_another_version_is_not_called_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let checkpoints = Checkpoints::new(dir, 2);
        let (model, tokenizer) = small();
        let optimizer = AdamW::new(&model, AdamConfig::default());
        let saved = checkpoints
            .save(1, &|folder| write(folder, &model, &tokenizer, &optimizer), &(), None)
            .unwrap();
        let path = saved.folder().join("training.json");
        let text = fs::read_to_string(&path).unwrap();
        let older = text.replace(&format!("\"version\": {VERSION}"), "\"version\": 1");
        assert_ne!(older, text);
        fs::write(&path, older).unwrap();
        let error = checkpoints.latest().unwrap_err().to_string();
        assert!(error.contains("version 1") && error.contains("--model"), "{error}");
        assert!(policy::open(saved.folder(), Kind::Float, Device::Cpu).is_ok());
    }

    #[test]
    fn a_checkpoint_has_no_tensors_beside_its_weights_and_older_ones_are_resumed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let checkpoints = Checkpoints::new(dir, 2);
        let (model, tokenizer) = small();
        let mut optimizer = AdamW::new(&model, AdamConfig::default());
        let saved = checkpoints
            .save(1, &|folder| write(folder, &model, &tokenizer, &optimizer), &(), None)
            .unwrap();
        // vLLM and SGLang load all of them as the model.
        let tensors: Vec<Utf8PathBuf> = saved
            .folder()
            .read_dir_utf8()
            .unwrap()
            .map(|entry| entry.unwrap().into_path())
            .filter(|path| path.extension() == Some("safetensors"))
            .collect();
        assert_eq!(tensors, [saved.folder().join("model.safetensors")]);

        let (path, moved) = (saved.folder().join("training.json"), saved.folder().join(OPTIMIZER));
        let text = fs::read_to_string(&path).unwrap();
        let (now, before) = (format!("\"version\": {VERSION}"), "\"version\": 3");
        assert!(text.contains(&now), "{text}");
        fs::write(&path, text.replace(&now, before)).unwrap();
        // A version 3 that was moved by hand is not taken for a whole one.
        let error = Checkpoint::open(saved.folder()).unwrap_err().to_string();
        assert!(error.contains("no `optimizer.safetensors`"), "{error}");
        fs::rename(&moved, saved.folder().join(OLD_OPTIMIZER)).unwrap();
        let older = checkpoints.latest().unwrap().unwrap();
        assert_eq!((older.step(), older.folder()), (1, saved.folder()));
        older.restore(&mut optimizer).unwrap();
    }

    #[test]
    fn weights_have_the_read_permissions_of_their_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (model, _) = small();
        for (name, folder, file) in [("open", 0o755, 0o644), ("closed", 0o700, 0o600)] {
            let folder_of = Utf8Path::from_path(dir.path()).unwrap().join(name);
            fs::create_dir(&folder_of).unwrap();
            fs::set_permissions(&folder_of, Permissions::from_mode(folder)).unwrap();
            save_folder(&model, &folder_of).unwrap();
            let weights = fs::metadata(folder_of.join("model.safetensors")).unwrap();
            assert_eq!(weights.permissions().mode() & 0o777, file, "{name}");
        }
    }

    #[test]
    fn newest_checkpoints_are_kept_and_incomplete_ones_removed() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let checkpoints = Checkpoints::new(dir, 2);
        assert_eq!(checkpoints.latest().unwrap(), None);
        let (model, tokenizer) = small();
        let optimizer = AdamW::new(&model, AdamConfig::default());
        for step in [1, 2, 10] {
            checkpoints
                .save(step, &|folder| write(folder, &model, &tokenizer, &optimizer), &(), None)
                .unwrap();
        }
        fs::create_dir(dir.join("checkpoints/.step-000011.99.tmp")).unwrap();
        checkpoints.tidy().unwrap();
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
    fn best_checkpoint_is_kept_and_can_be_resumed_from() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let checkpoints = Checkpoints::new(dir, 1);
        let (model, tokenizer) = small();
        let optimizer = AdamW::new(&model, AdamConfig::default());
        let steps =
            || -> Vec<u64> { checkpoints.all().unwrap().iter().map(Checkpoint::step).collect() };
        let link = dir.join("checkpoints/best");
        for (step, best) in [(1, Some(1)), (2, Some(2)), (3, Some(2)), (4, Some(2))] {
            checkpoints
                .save(step, &|folder| write(folder, &model, &tokenizer, &optimizer), &(), best)
                .unwrap();
        }
        assert_eq!(steps(), [2, 4]);
        assert_eq!(link.read_link_utf8().unwrap(), "step-000002");
        // As a run that was killed between the two leaves it, or one that was wound back.
        fs::remove_file(&link).unwrap();
        fs::os::unix::fs::symlink("step-000009", &link).unwrap();
        checkpoints.point_to_best(Some(2)).unwrap();
        assert!(Checkpoint::open(&link).is_ok());

        let gone = checkpoints.roll_back(&Resume::from("step-000003")).unwrap_err().to_string();
        assert!(gone.contains("no checkpoint `step-000003`; it has `"), "{gone}");
        checkpoints.roll_back(&Resume::Latest).unwrap();
        assert_eq!(steps(), [2, 4]);
        checkpoints.roll_back(&Resume::Best).unwrap();
        assert_eq!(steps(), [2]);
        checkpoints.point_to_best(None).unwrap();
        assert!(!link.is_symlink());
        assert!(matches!(
            checkpoints.roll_back(&Resume::Best),
            Err(CheckpointError::NotOfRun { .. })
        ));
    }

    #[test]
    fn a_folder_that_is_no_checkpoint_says_what_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let error = Checkpoint::open(dir).unwrap_err().to_string();
        assert!(error.contains("no `config.json`") && error.contains("step-000100"), "{error}");
        let error =
            policy::open(&dir.join("nowhere"), Kind::Float, Device::Cpu).unwrap_err().to_string();
        assert!(error.contains("is not a checkpoint"), "{error}");
    }
}
