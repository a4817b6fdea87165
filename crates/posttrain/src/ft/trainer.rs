//! The trainer, a program of its own: `rl`, or another one that answers as `rl` does.

use super::check::{ErrorClass, Rejection};
use super::fault::{FtFault, StageError};
use super::schema::{BaseFacts, TrainerSchema};
use crate::child::{ChildEnd, ChildHow, ChildJob};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::Deserialize;
use serde_json::Value;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

/// Time for the schema.
const ASKING: Duration = Duration::from_mins(2);
/// Files one of which holds the weights of a checkpoint.
const WEIGHTS: [&str; 3] =
    ["model.safetensors", "model.safetensors.index.json", "adapter_model.safetensors"];

/// A trainer and what it trains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trainer {
    /// The program and its first arguments.
    pub program: Vec<String>,
    /// This crate's program, which starts it.
    pub launcher: Utf8PathBuf,
    /// The base model.
    pub base: Utf8PathBuf,
    /// The device, as the trainer names it.
    pub device: String,
}

/// What a training reads and writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrainJob<'a> {
    /// `data.json`.
    pub(super) data: &'a Utf8Path,
    /// `train.toml`.
    pub(super) config: &'a Utf8Path,
    /// The folder of the run.
    pub(super) out: &'a Utf8Path,
    /// More flags.
    pub(super) more: &'a [String],
}

/// What a training would take.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct TrainEstimate {
    /// Share of samples that are longer than the context, in [0, 1].
    pub(super) over_long_share: f64,
    /// Bytes of memory.
    pub(super) memory_bytes: u64,
    /// Bytes of memory that are free, where that is known.
    pub(super) memory_free_bytes: Option<u64>,
}

impl Trainer {
    /// The settings that it has.
    ///
    /// # Errors
    /// [`FtFault`] if it cannot be asked, or says what cannot be read.
    pub fn schema(&self) -> Result<TrainerSchema, FtFault> {
        let words = self.words(&["schema", "sft"]);
        let end = self.run(&words, ASKING, || true)?;
        let unusable = |why: String| FtFault::Trainer {
            program: self.program.join(" "),
            why,
            said: end.said.clone(),
        };
        match end.how {
            ChildHow::Ended(status) if status.success() => {
                TrainerSchema::read(&printed(&end)?).map_err(unusable)
            }
            ChildHow::Ended(status) => Err(unusable(format!("`schema sft` ended with {status}"))),
            _ => Err(unusable("`schema sft` took too long".to_owned())),
        }
    }

    /// What of the base decides about settings.
    ///
    /// # Errors
    /// [`FtFault::Base`] if its configuration cannot be read.
    pub fn base_facts(&self) -> Result<BaseFacts, FtFault> {
        let path = self.base.join("config.json");
        let bad = |why: String| FtFault::Base { folder: self.base.clone(), why };
        let text = fs::read(path).map_err(|error| bad(error.to_string()))?;
        let config: Value =
            serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
        Ok(BaseFacts { most_positions: config["max_position_embeddings"].as_u64() })
    }

    /// What a training would take.
    pub(super) fn estimate(
        &self,
        job: TrainJob<'_>,
        limit: Duration,
    ) -> Result<TrainEstimate, StageError> {
        let mut words = self.sft(job);
        words.extend(["--dry-run", "--json"].map(str::to_owned));
        let end = self.run(&words, limit, || true)?;
        if let Some(rejection) = failure(&end, "the estimate", limit) {
            return Err(rejection.into());
        }
        let unusable = |error: serde_json::Error| FtFault::Trainer {
            program: self.program.join(" "),
            why: format!("its estimate is none: {error}"),
            said: end.said.clone(),
        };
        Ok(serde_json::from_str(&printed(&end)?).map_err(unusable)?)
    }

    /// Trains, as long as `look` finds nothing against it. Returns the folder of the last checkpoint, in
    /// which there are weights.
    pub(super) fn train(
        &self,
        job: TrainJob<'_>,
        limit: Duration,
        mut look: impl FnMut() -> Result<(), StageError>,
    ) -> Result<Utf8PathBuf, StageError> {
        let mut against = Ok(());
        let end = self.run(&self.sft(job), limit, || {
            against = look();
            against.is_ok()
        })?;
        against?;
        if let Some(rejection) = failure(&end, "the training", limit) {
            return Err(rejection.into());
        }
        let printed = printed(&end)?;
        let printed = printed.trim().lines().last().unwrap_or_default();
        let folder = Utf8PathBuf::from(printed);
        if !WEIGHTS.iter().any(|name| folder.join(name).is_file()) {
            return Err(Rejection::new(
                ErrorClass::Env,
                format!(
                    "the trainer ended well and named `{printed}` as its checkpoint, where there are no \
                     weights; look at the disk and at the trainer"
                ),
            )
            .into());
        }
        Ok(folder)
    }

    /// Runs the trainer for at most `limit`, and as long as it may go on.
    fn run(
        &self,
        words: &[String],
        limit: Duration,
        may_go_on: impl FnMut() -> bool,
    ) -> Result<ChildEnd, FtFault> {
        let job = ChildJob { launcher: &self.launcher, words, input: &[], limit };
        let program = job.program().to_owned();
        job.run(may_go_on).map_err(|source| FtFault::Spawn { program, source })
    }

    fn sft(&self, job: TrainJob<'_>) -> Vec<String> {
        let TrainJob { data, config, out, more } = job;
        let mut words = self.words(&[
            "sft",
            "--model",
            self.base.as_str(),
            "--data",
            data.as_str(),
            "--config",
            config.as_str(),
            "--out",
            out.as_str(),
            "--device",
            &self.device,
        ]);
        words.extend_from_slice(more);
        words
    }

    fn words(&self, more: &[&str]) -> Vec<String> {
        self.program.iter().cloned().chain(more.iter().map(|&word| word.to_owned())).collect()
    }
}

/// What a program printed; nothing if a process that outlived it holds its output.
fn printed(end: &ChildEnd) -> Result<String, FtFault> {
    match &end.printed {
        Ok(printed) => Ok(String::from_utf8_lossy(printed).into_owned()),
        Err(error) if error.kind() == ErrorKind::TimedOut => Ok(String::new()),
        Err(error) => Err(std::io::Error::new(error.kind(), error.to_string()).into()),
    }
}

/// Why a program that ended did not do its work; `None` if it did.
fn failure(end: &ChildEnd, what: &str, limit: Duration) -> Option<Rejection> {
    let said = &end.said;
    match &end.how {
        ChildHow::Ended(status) if status.success() => None,
        ChildHow::Ended(status) => {
            let class = class_of(*status, said);
            Some(Rejection::new(class, format!("{what} ended with {status}: {said}")))
        }
        ChildHow::TimedOut => Some(Rejection::new(
            ErrorClass::Config,
            format!(
                "{what} took longer than {} s and was ended; train on fewer tokens at a time, or set \
                 fewer updates",
                limit.as_secs()
            ),
        )),
        ChildHow::Stopped => None,
    }
}

/// What has to change after the trainer failed, by what it said. A signal that nobody here sent is the
/// machine's.
fn class_of(status: ExitStatus, said: &str) -> ErrorClass {
    let said = said.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if has(&["out of memory", "not enough memory", "cannot allocate memory", "bad_alloc"]) {
        ErrorClass::Oom
    } else if has(&["no space left", "disk quota", "read-only file system", "permission denied"]) {
        ErrorClass::Env
    } else if has(&["no example to train on", "no such key", "it must be an object"]) {
        ErrorClass::Data
    } else if status.signal().is_some() {
        ErrorClass::Env
    } else {
        ErrorClass::Config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_the_trainer_have_the_class_of_what_has_to_change() {
        let exited = ExitStatus::from_raw(1 << 8);
        for (said, expected) in [
            ("CUDA out of memory. Tried to allocate 2 GiB", ErrorClass::Oom),
            ("write: No space left on device (os error 28)", ErrorClass::Env),
            ("error: no example to train on, or none to validate on, fits", ErrorClass::Data),
            ("the gradient of `lm_head` is not finite at step 3", ErrorClass::Config),
            ("", ErrorClass::Config),
        ] {
            assert_eq!(class_of(exited, said), expected, "{said}");
        }
        assert_eq!(class_of(ExitStatus::from_raw(9), "loading"), ErrorClass::Env);
    }
}
