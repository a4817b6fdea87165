//! Seed sets: the embedded `mlebench`, a folder, or a single file.

use crate::spec::embedded;
use crate::spec::seed::{self, Seed, SeedError};
use camino::Utf8Path;
use std::collections::BTreeSet;

/// The name of the built-in set.
pub const MLEBENCH: &str = "mlebench";

/// Seeds in order of their names, all different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedSet {
    seeds: Vec<Seed>,
}

impl SeedSet {
    /// Finds the set called `name`: a built-in one, a folder of `.toml` files, or one file.
    ///
    /// # Errors
    /// [`SeedError`] that says what exists, or which line of which file is wrong.
    pub fn resolve(name: &str) -> Result<Self, SeedError> {
        seed::check_allowed(name)?;
        if name == MLEBENCH {
            let parse = |(file, text): &(&str, &str)| Seed::parse(Utf8Path::new(file), text);
            return Self::of(embedded::MLEBENCH.iter().map(parse).collect::<Result<_, _>>()?);
        }
        let path = Utf8Path::new(name);
        if path.is_dir() {
            let mut files = Vec::new();
            for entry in path.read_dir_utf8()? {
                files.push(entry?.into_path());
            }
            files.retain(|file| file.extension() == Some("toml"));
            files.sort();
            if files.is_empty() {
                return Err(SeedError::EmptyFolder(path.to_owned()));
            }
            return Self::of(files.iter().map(|file| read(file)).collect::<Result<_, _>>()?);
        }
        if path.is_file() {
            return Self::of(vec![read(path)?]);
        }
        Err(SeedError::Unknown { name: name.to_owned(), known: vec![MLEBENCH.to_owned()] })
    }

    fn of(mut seeds: Vec<Seed>) -> Result<Self, SeedError> {
        seeds.sort_by(|a, b| a.id.cmp(&b.id));
        let mut names = BTreeSet::new();
        for seed in &seeds {
            if !names.insert(seed.id.as_str()) {
                return Err(SeedError::Duplicate(seed.id.clone()));
            }
        }
        Ok(Self { seeds })
    }

    /// All seeds, by name.
    pub fn seeds(&self) -> &[Seed] {
        &self.seeds
    }

    /// A fingerprint of all seeds, so that a corpus is only continued with the same ones.
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for seed in &self.seeds {
            // A seed is plain data, and its Debug form names every field and value.
            hasher.update(format!("{seed:?}\n").as_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }
}

fn read(file: &Utf8Path) -> Result<Seed, SeedError> {
    if let Some(name) = file.file_stem() {
        seed::check_allowed(name)?;
    }
    Seed::parse(file, &fs_err::read_to_string(file)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::seed::{BenchSplit, EVALUATION_ONLY};

    #[test]
    fn the_embedded_set_is_the_training_side_of_mlebench() {
        let set = SeedSet::resolve(MLEBENCH).unwrap();
        let count = |split| set.seeds().iter().filter(|seed| seed.split == split).count();
        assert_eq!(set.seeds().len(), 60);
        assert_eq!(count(BenchSplit::Medium), 38);
        assert_eq!(count(BenchSplit::High), 15);
        assert_eq!(count(BenchSplit::Dev), 7);
        assert!(set.seeds().iter().all(|seed| !EVALUATION_ONLY.contains(&seed.id.as_str())));
    }

    #[test]
    fn an_unknown_set_lists_what_exists() {
        let text = SeedSet::resolve("mlbench").unwrap_err().to_string();
        assert!(text.contains("mlebench"), "{text}");
    }

    #[test]
    fn the_low_split_is_refused_as_a_name_and_as_a_file() {
        for name in ["spooky-author-identification", "elsewhere/leaf-classification.toml"] {
            let dir = tempfile::tempdir().unwrap();
            let path = Utf8Path::from_path(dir.path()).unwrap().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(&path, "").unwrap();
            let name = if name.ends_with("toml") { path.as_str() } else { name };
            let error = SeedSet::resolve(name).unwrap_err();
            assert!(matches!(error, SeedError::EvaluationOnly(_)), "{error}");
        }
    }
}
