//! Where a policy comes from: a name or a folder.

use crate::checkpoint::{CheckpointError, Checkpoints};
use crate::model::Published;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

/// A policy that can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicySource {
    /// The built-in shape with fresh weights.
    Tiny,
    /// A folder in Hugging Face's format.
    Folder(Utf8PathBuf),
}

/// Why a policy could not be found.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Neither a folder nor a name.
    #[error(
        "`{0}` is neither a folder nor a model's name; use `tiny`, `qwen3-0.6b` to `qwen3-32b`, `qwen3-30b-a3b`, the folder of a run, or that of a model"
    )]
    Unknown(String),
    /// A published model that is not on this machine.
    #[error(
        "`{name}` is not on this machine (looked in `{cache}`); fetch it with `hf download Qwen/{repository}`, \
         or copy such a download there, or give its folder as `--model`"
    )]
    NotCached {
        /// The name.
        name: String,
        /// Where we looked.
        cache: Utf8PathBuf,
        /// The repository.
        repository: &'static str,
    },
    /// A run that has not come to its first checkpoint.
    #[error("the run `{0}` has no checkpoint yet; let it go on, or give another `--model`")]
    NoCheckpoint(Utf8PathBuf),
    /// The cache is unreadable.
    #[error("failed to read the Hugging Face cache")]
    Io(#[from] std::io::Error),
    /// The run's checkpoints are unreadable.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

/// Finds what `name` means: `tiny`, a published model's name, a run's folder (its newest
/// checkpoint), or a model's folder.
///
/// # Errors
/// [`SourceError`], which says what to do.
pub fn locate(name: &str) -> Result<PolicySource, SourceError> {
    if name == "tiny" {
        return Ok(PolicySource::Tiny);
    }
    if let Some(published) = Published::named(name) {
        return cached(name, published.repository, &cache_folder());
    }
    let folder = Utf8Path::new(name);
    if !folder.is_dir() {
        return Err(SourceError::Unknown(name.to_owned()));
    }
    let is_model = ["config.json", "adapter_config.json"].map(|file| folder.join(file).is_file());
    if is_model.contains(&true) || !folder.join("settings.toml").is_file() {
        return Ok(PolicySource::Folder(folder.to_owned()));
    }
    match Checkpoints::of(folder, 1).latest()? {
        Some(checkpoint) => Ok(PolicySource::Folder(checkpoint.folder().to_owned())),
        None => Err(SourceError::NoCheckpoint(folder.to_owned())),
    }
}

fn cache_folder() -> Utf8PathBuf {
    let variable = |name: &str| {
        std::env::var(name).ok().filter(|value| !value.is_empty()).map(Utf8PathBuf::from)
    };
    variable("HF_HUB_CACHE")
        .or_else(|| variable("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/huggingface/hub")))
        .unwrap_or_else(|| Utf8PathBuf::from(".cache/huggingface/hub"))
}

fn cached(
    name: &str,
    repository: &'static str,
    cache: &Utf8Path,
) -> Result<PolicySource, SourceError> {
    let missing =
        || SourceError::NotCached { name: name.to_owned(), cache: cache.to_owned(), repository };
    let folder = cache.join(format!("models--Qwen--{repository}"));
    let main = folder.join("refs/main");
    if !main.is_file() {
        return Err(missing());
    }
    let snapshot = folder.join("snapshots").join(fs::read_to_string(main)?.trim());
    if snapshot.join("config.json").is_file() {
        Ok(PolicySource::Folder(snapshot))
    } else {
        Err(missing())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_nothing_are_explained() {
        assert_eq!(locate("tiny").unwrap(), PolicySource::Tiny);
        let error = locate("no/such/folder").unwrap_err().to_string();
        assert!(error.contains("no/such/folder") && error.contains("qwen3-0.6b"), "{error}");
    }

    #[test]
    fn published_models_are_found_in_the_cache_or_explained() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Utf8Path::from_path(dir.path()).unwrap();
        let error = cached("qwen3-8b", "Qwen3-8B", cache).unwrap_err().to_string();
        assert!(
            error.contains("hf download Qwen/Qwen3-8B") && error.contains(cache.as_str()),
            "{error}"
        );
        let snapshot = cache.join("models--Qwen--Qwen3-8B/snapshots/abc");
        fs::create_dir_all(&snapshot).unwrap();
        fs::create_dir_all(cache.join("models--Qwen--Qwen3-8B/refs")).unwrap();
        fs::write(cache.join("models--Qwen--Qwen3-8B/refs/main"), "abc\n").unwrap();
        fs::write(snapshot.join("config.json"), "{}").unwrap();
        assert_eq!(cached("qwen3-8b", "Qwen3-8B", cache).unwrap(), PolicySource::Folder(snapshot));
    }
}
