//! Hands the weights in training to generators of other processes, through a folder.

use crate::checkpoint::CheckpointError;
use crate::generate::sample::Sampling;
use crate::generate::{Probe, Publication, PublishedWeights};
use crate::model::{Qwen3, save_folder};
use crate::train::batch::{Memory, MicroBatch, TrainSequence};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use tasks::files;
use tch::Kind;

/// How folders of published weights begin: not as those of checkpoints.
const PREFIX: &str = "weights-";
/// How far generators may be from the trainer in f32, in nats: other kernels add in another order.
const TOLERANCE: f64 = 1e-3;
/// And in narrower types, which round to 8 or 11 bits.
const NARROW_TOLERANCE: f64 = 0.03;

/// A folder that holds the newest published weights, and nothing else of ours.
#[derive(Debug)]
pub struct Publisher {
    folder: Utf8PathBuf,
    newest: Option<Utf8PathBuf>,
}

impl Publisher {
    /// Publishes into `folder`, which is made.
    ///
    /// # Errors
    /// [`CheckpointError::Io`] if the folder cannot be made.
    pub fn new(folder: &Utf8Path) -> Result<Self, CheckpointError> {
        fs::create_dir_all(folder)?;
        // Servers have working folders of their own.
        let folder = folder.canonicalize_utf8()?;
        // What a killed run left.
        for entry in folder.read_dir_utf8()? {
            let entry = entry?;
            if entry.file_name().trim_start_matches('.').starts_with(PREFIX) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(Self { folder, newest: None })
    }

    /// The folder that the run in `out`, which exists, publishes into: one of its own in `shared`,
    /// or in `out` itself.
    ///
    /// # Errors
    /// [`CheckpointError::Io`] if there is no `out`.
    pub fn folder_of_run(
        out: &Utf8Path,
        shared: Option<&Utf8Path>,
    ) -> Result<Utf8PathBuf, CheckpointError> {
        let out = out.canonicalize_utf8()?;
        Ok(match shared {
            None => out.join("published"),
            Some(shared) => shared.join(out.as_str().trim_start_matches('/').replace('/', "-")),
        })
    }

    /// Writes what is trained of `model`, and scores `probe` with it: a known conversation of at
    /// least two tokens.
    ///
    /// # Errors
    /// [`CheckpointError`] if a file cannot be written; what was published before stays.
    pub fn publish(
        &mut self,
        version: u64,
        model: &Qwen3,
        memory: &Memory,
        probe: &[i64],
    ) -> Result<Publication, CheckpointError> {
        let path = self.folder.join(format!("{PREFIX}{version:06}"));
        let building = files::temporary_neighbour(&path);
        fs::create_dir(&building)?;
        let written = save_folder(model, &building).map_err(CheckpointError::from);
        if let Err(error) = written {
            // A full disk has no room for what cannot be used.
            let _ = fs::remove_dir_all(&building);
            return Err(error);
        }
        if let Some(before) = self.newest.take() {
            fs::remove_dir_all(before)?;
        }
        fs::rename(&building, &path)?;
        self.newest = Some(path.clone());
        let weights = PublishedWeights::Folder { path, adapters: model.lora().is_some() };
        let probe = Some(scored(probe, model, memory));
        Ok(Publication { version, weights, probe })
    }
}

fn scored(ids: &[i64], model: &Qwen3, memory: &Memory) -> Probe {
    let mut sequence = TrainSequence::default();
    sequence.push(&ids[..1], false);
    sequence.push(&ids[1..], true);
    let sequences = [sequence];
    let micro = MicroBatch::new(&sequences, &[0], memory, model.device());
    let found = micro.log_probs(model, &Sampling::default(), memory);
    let mut log_probs = vec![0.0; found.numel()];
    found.copy_data(&mut log_probs, found.numel());
    let tolerance = if model.kind() == Kind::Float { TOLERANCE } else { NARROW_TOLERANCE };
    Probe { ids: ids.to_vec(), log_probs, tolerance }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        // The checkpoints have the weights; this copy is as large as the model.
        if let Some(newest) = &self.newest {
            let _ = fs::remove_dir_all(newest);
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::policy::tests::small;
    use crate::train::presets::Scale;
    use tch::no_grad;

    #[test]
    fn the_newest_weights_are_there_alone_and_go_with_the_publisher() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let out = dir.join("run");
        fs::create_dir(&out).unwrap();
        let shared = dir.join("shared");
        assert_eq!(Publisher::folder_of_run(&out, None).unwrap().file_name(), Some("published"));
        let folder = Publisher::folder_of_run(&out, Some(&shared)).unwrap();
        assert!(folder.starts_with(&shared) && folder.as_str().ends_with("-run"), "{folder}");

        // Of a killed run, and of somebody else.
        for left in ["weights-000009", ".weights-000010.1.tmp", "step-000004"] {
            fs::create_dir_all(folder.join(left)).unwrap();
        }
        let names = || {
            let entries = folder.read_dir_utf8().unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().to_owned()).collect();
            names.sort();
            names
        };
        let (model, _) = small();
        let memory = Scale::Tiny.memory();
        let mut publisher = Publisher::new(&folder).unwrap();
        assert_eq!(names(), ["step-000004"]);
        let first = publisher.publish(1, &model, &memory, &[3, 4, 5]).unwrap();
        no_grad(|| {
            for parameter in model.parameters() {
                let mut tensor = parameter.tensor;
                let _ = tensor.g_mul_scalar_(1.5);
            }
        });
        let second = publisher.publish(2, &model, &memory, &[3, 4, 5]).unwrap();
        assert_eq!(names(), ["step-000004", "weights-000002"]);
        let PublishedWeights::Folder { path, adapters: false } = &second.weights else {
            panic!("{second:?}")
        };
        assert!(path.join("model.safetensors").is_file() && path.join("config.json").is_file());
        let [first, second] = [first, second].map(|it| it.probe.unwrap());
        assert_eq!((first.ids.len(), first.log_probs.len()), (3, 2));
        assert!(first.mean_gap(&second.log_probs) > TOLERANCE, "other weights are told apart");
        drop(publisher);
        assert_eq!(names(), ["step-000004"]);
    }
}
