//! Pretrained weights that scripts find in `models/`.

use super::header::fingerprint;
use camino::Utf8Path;
use std::io;

/// Names that a prompt shows.
const NAMES: usize = 40;

/// A folder of pretrained weights, which scripts find in `models/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PretrainedWeights {
    /// Names in the folder, sorted; that of a folder ends with `/`.
    names: Vec<String>,
    /// Its files, as [`fingerprint`] writes them.
    fingerprint: String,
}

impl PretrainedWeights {
    /// Those in `folder`. The beginning and the end of every file is read.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn of(folder: &Utf8Path) -> io::Result<Self> {
        let mut names = Vec::new();
        for entry in folder.read_dir_utf8()? {
            let entry = entry?;
            // A link, as caches have them, counts as what it leads to.
            let end = if entry.path().is_dir() { "/" } else { "" };
            names.push(format!("{}{end}", entry.file_name()));
        }
        names.sort();
        Ok(Self { names, fingerprint: fingerprint(folder)? })
    }

    /// Its files, a line each: path, size and hash.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The names in words, at most 40 of them.
    pub fn list(&self) -> String {
        let shown = &self.names[..self.names.len().min(NAMES)];
        match self.names.len() - shown.len() {
            0 if shown.is_empty() => "none".to_owned(),
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    /// What an agent is told of them.
    pub fn sentence(&self) -> String {
        format!(
            "Pretrained weights are in the folder `models/`, which is read-only: {}.",
            self.list()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;

    #[test]
    fn folder_is_named_and_a_changed_file_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        assert_eq!(PretrainedWeights::of(path).unwrap().list(), "none");
        fs::create_dir(path.join("resnet50")).unwrap();
        fs::write(path.join("resnet50/model.safetensors"), "weights").unwrap();
        fs::write(path.join("README.md"), "").unwrap();
        let weights = PretrainedWeights::of(path).unwrap();
        assert_eq!(weights.list(), "README.md, resnet50/");
        assert!(
            weights.sentence().contains("`models/`") && weights.sentence().contains("resnet50/")
        );
        fs::write(path.join("resnet50/model.safetensors"), "changed").unwrap();
        let changed = PretrainedWeights::of(path).unwrap();
        assert_eq!(changed.list(), weights.list());
        assert_ne!(changed.fingerprint(), weights.fingerprint());
        for number in 0..60 {
            fs::write(path.join(format!("{number:02}")), "").unwrap();
        }
        assert!(PretrainedWeights::of(path).unwrap().list().ends_with("39 and 22 more"));
        PretrainedWeights::of(&path.join("missing")).unwrap_err();
    }
}
