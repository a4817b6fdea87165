//! Where a policy comes from: a name or a folder.

use crate::checkpoint::policy::{self, PolicyError};
use crate::checkpoint::{CheckpointError, Checkpoints};
use crate::model::Published;
use crate::run::settings::{SettingsError, at, of_run};
use crate::text::template;
use crate::train::presets::Scale;
use agents::grammar::ToolCallFormat;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

/// A policy that can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicySource {
    /// A built-in shape with fresh weights.
    BuiltIn(BuiltIn),
    /// A folder in Hugging Face's format.
    Folder(Utf8PathBuf),
}

/// The built-in shapes, by their names as `--model`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    /// `tiny`: a million parameters, whose tokens are lines. It chooses among scripts that it was
    /// shown.
    Tiny,
    /// `small`: two million parameters, whose tokens are words. It is shown parts of scripts, and
    /// puts them together.
    Small,
}

impl BuiltIn {
    /// The shape with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "tiny" => Some(Self::Tiny),
            "small" => Some(Self::Small),
            _ => None,
        }
    }

    /// The scale, which decides its defaults.
    pub fn scale(self) -> Scale {
        match self {
            Self::Tiny => Scale::Tiny,
            Self::Small => Scale::Small,
        }
    }
}

/// Why a policy could not be found.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Neither a folder nor a name.
    #[error(
        "`{0}` is neither a folder nor a model's name; use `tiny`, `small`, `qwen3-0.6b` to `qwen3-32b`, `qwen3-30b-a3b`, `qwen2.5-0.5b` to `qwen2.5-7b-instruct`, the folder of a run, or that of a model"
    )]
    Unknown(String),
    /// A published model that is not on this machine.
    #[error(
        "`{name}` is not on this machine (looked in `{cache}`); fetch it with `hf download Qwen/{repository}`, \
         or copy such a download there, or give its folder as `--model`"
    )]
    NotCached {
        /// The name of the model.
        name: String,
        /// The cache folder that was searched.
        cache: Utf8PathBuf,
        /// The repository on the Hugging Face hub.
        repository: &'static str,
    },
    /// A run that has not come to its first checkpoint.
    #[error("the run `{0}` has no checkpoint yet; let it go on, or give another `--model`")]
    NoCheckpoint(Utf8PathBuf),
    /// The cache, or a file of the policy, is unreadable.
    #[error("failed to read the Hugging Face cache or the policy's files")]
    Io(#[from] std::io::Error),
    /// The run's checkpoints are unreadable.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The settings of the policy's run are unreadable.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The policy's own files are unreadable.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A file of the tokenizer is damaged.
    #[error("failed to parse `{path}`; copy it again from where the model comes from")]
    Tokenizer {
        /// The path of `tokenizer_config.json`.
        path: Utf8PathBuf,
        /// The parser's error, with line and column.
        #[source]
        source: serde_json::Error,
    },
}

/// Finds what `name` means: `tiny` or `small`, a published model's name, a run's folder (its newest
/// checkpoint), or a model's folder. Of a link, as the one to a run's best checkpoint, it finds what
/// the link points to now.
///
/// # Errors
/// [`SourceError`], which says what to do.
pub fn locate(name: &str) -> Result<PolicySource, SourceError> {
    if let Some(shape) = BuiltIn::named(name) {
        return Ok(PolicySource::BuiltIn(shape));
    }
    if let Some(published) = Published::named(name) {
        return cached(name, published.repository, &cache_folder());
    }
    let folder = followed(Utf8Path::new(name));
    if !folder.is_dir() {
        return Err(SourceError::Unknown(name.to_owned()));
    }
    let is_model = ["config.json", "adapter_config.json"].map(|file| folder.join(file).is_file());
    if is_model.contains(&true) || !folder.join("settings.toml").is_file() {
        return Ok(PolicySource::Folder(folder));
    }
    match Checkpoints::new(&folder, 1).latest()? {
        Some(checkpoint) => Ok(PolicySource::Folder(checkpoint.folder().to_owned())),
        None => Err(SourceError::NoCheckpoint(folder)),
    }
}

/// How the policy in `folder` writes its tool calls. A checkpoint's run says it in its settings; else
/// the tokenizer says it, if `rl` made it. `None` for a policy that was trained on neither format by
/// `rl`, such as a published model.
///
/// # Errors
/// [`SourceError`] if one of these files is damaged.
pub fn tool_call_format(folder: &Utf8Path) -> Result<Option<ToolCallFormat>, SourceError> {
    let run = folder.parent().filter(|parent| parent.file_name() == Some("checkpoints"));
    if let Some(run) = run.and_then(Utf8Path::parent)
        && let Some(settings) = of_run(run)?
        && at(&settings, "rules").is_some()
    {
        let named = at(&settings, "rules.tool_call_format").and_then(toml::Value::as_str);
        let is_named = |format: &ToolCallFormat| Some(format.name()) == named;
        // Settings leave the default out.
        return Ok(Some(ToolCallFormat::ALL.into_iter().find(is_named).unwrap_or_default()));
    }
    let file = "tokenizer_config.json";
    let own = folder.join(file);
    let path = if own.is_file() { own } else { policy::base_of(folder)?.join(file) };
    if !path.is_file() {
        return Ok(None);
    }
    let config = serde_json::from_slice(&fs::read(&path)?)
        .map_err(|source| SourceError::Tokenizer { path, source })?;
    Ok(template::tool_call_format(&config))
}

/// The folder itself, where it is a link: what was made with it is then not taken for what another
/// target would have made.
pub(crate) fn followed(folder: &Utf8Path) -> Utf8PathBuf {
    // Without the slash at its end, behind which no link is seen.
    let folder: Utf8PathBuf = folder.components().collect();
    match (folder.read_link_utf8(), folder.parent()) {
        (Ok(target), Some(parent)) => parent.join(target),
        _ => folder,
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
    fn unknown_name_gives_an_error_that_lists_published_models() {
        assert_eq!(locate("tiny").unwrap(), PolicySource::BuiltIn(BuiltIn::Tiny));
        assert_eq!(locate("small").unwrap(), PolicySource::BuiltIn(BuiltIn::Small));
        let error = locate("no/such/folder").unwrap_err().to_string();
        assert!(error.contains("no/such/folder") && error.contains("qwen3-0.6b"), "{error}");
    }

    #[test]
    fn link_is_resolved_to_its_target() {
        let dir = tempfile::tempdir().unwrap();
        let checkpoints = Utf8Path::from_path(dir.path()).unwrap();
        let step = checkpoints.join("step-000040");
        fs::create_dir(&step).unwrap();
        fs::write(step.join("config.json"), "{}").unwrap();
        fs::os::unix::fs::symlink("step-000040", checkpoints.join("best")).unwrap();
        for name in ["best", "best/", "step-000040", "step-000040/"] {
            let found = locate(checkpoints.join(name).as_str()).unwrap();
            assert_eq!(found, PolicySource::Folder(step.clone()), "{name}");
        }
    }

    #[test]
    fn format_of_calls_is_that_of_the_run_or_of_our_tokenizer() {
        let dir = tempfile::tempdir().unwrap();
        let run = Utf8Path::from_path(dir.path()).unwrap();
        let step = run.join("checkpoints/step-000040");
        fs::create_dir_all(&step).unwrap();
        assert_eq!(tool_call_format(&step).unwrap(), None);
        let config = step.join("tokenizer_config.json");
        fs::write(&config, "{\"chat_template\": \"\"}").unwrap();
        assert_eq!(tool_call_format(&step).unwrap(), None);
        let template = template::response_template(ToolCallFormat::Hermes);
        fs::write(&config, serde_json::json!({"response_template": template}).to_string()).unwrap();
        assert_eq!(tool_call_format(&step).unwrap(), Some(ToolCallFormat::Hermes));
        fs::write(run.join("settings.toml"), "[rules]\nprompt = \"full\"\n").unwrap();
        assert_eq!(tool_call_format(&step).unwrap(), Some(ToolCallFormat::Code));
        fs::write(run.join("settings.toml"), "[rules]\ntool_call_format = \"hermes\"\n").unwrap();
        assert_eq!(tool_call_format(&step).unwrap(), Some(ToolCallFormat::Hermes));
        fs::remove_file(run.join("settings.toml")).unwrap();
        fs::write(&config, "{").unwrap();
        let error = tool_call_format(&step).unwrap_err().to_string();
        assert!(error.contains("tokenizer_config.json"), "{error}");
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
