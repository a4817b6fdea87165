//! The folder of a model, where a flag names a run of `rl`.

use camino::{Utf8Path, Utf8PathBuf};
use clap::builder::{StringValueParser, TypedValueParser};

/// Reads a flag that names a model's folder or a run.
pub(super) fn parser() -> impl TypedValueParser<Value = Utf8PathBuf> {
    StringValueParser::new().map(|given| model_folder(&given))
}

/// The folder of a model: the newest checkpoint where it is that of a run of `rl`, as `rl` itself has it.
/// Any other folder is taken as it is; whoever loads it reports what is missing.
fn model_folder(given: &str) -> Utf8PathBuf {
    let folder = Utf8PathBuf::from(given);
    let newest =
        if folder.join("config.json").is_file() { None } else { newest_checkpoint(&folder) };
    newest.unwrap_or(folder)
}

/// The checkpoint with the highest number below the folder of a run.
fn newest_checkpoint(run: &Utf8Path) -> Option<Utf8PathBuf> {
    let entries = run.join("checkpoints").read_dir_utf8().ok()?;
    let number = |path: &Utf8Path| path.file_name()?.strip_prefix("step-")?.parse::<u64>().ok();
    entries
        .filter_map(|entry| Some(entry.ok()?.into_path()))
        .filter(|path| path.join("config.json").is_file())
        .filter_map(|path| Some((number(&path)?, path)))
        .max()
        .map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;

    #[test]
    fn run_stands_for_its_newest_checkpoint_and_any_other_folder_for_itself() {
        let folder = tempfile::tempdir().unwrap();
        let run = Utf8Path::from_path(folder.path()).unwrap();
        let found = || model_folder(run.as_str());
        assert_eq!(found(), run);
        for name in ["step-000050", "step-000100", "best"] {
            fs::create_dir_all(run.join("checkpoints").join(name)).unwrap();
            fs::write(run.join("checkpoints").join(name).join("config.json"), "{}").unwrap();
        }
        // One that is being written has no configuration yet.
        fs::create_dir_all(run.join("checkpoints/step-000150")).unwrap();
        assert_eq!(found(), run.join("checkpoints/step-000100"));
        fs::write(run.join("config.json"), "{}").unwrap();
        assert_eq!(found(), run);
    }
}
