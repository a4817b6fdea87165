//! Vectors kept by model and text, so that a text is paid once and a run repeats without a network.

use crate::chat::ChatError;
use crate::embedding::EmbeddingModel;
use crate::record::write_whole;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

/// One kept vector, and a file of the folder.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptVector {
    model: String,
    text: String,
    vector: Vec<f32>,
}

/// A model that is asked only for the texts whose vectors a folder does not hold. They lie in
/// `FOLDER/KK/KEY.json`, where KEY is a hash of model and text, and `KK` begins it. Several processes
/// may share a folder.
///
/// # Examples
/// ```rust
/// use camino::Utf8Path;
/// use llm::{EmbeddingModel as _, KeptEmbeddings, NoEmbeddings};
///
/// let folder = tempfile::tempdir()?;
/// let folder = Utf8Path::from_path(folder.path()).expect("UTF-8");
/// let model = KeptEmbeddings::new(NoEmbeddings, folder);
/// assert!(model.embed("m", &["a text"]).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct KeptEmbeddings<M> {
    model: M,
    folder: Utf8PathBuf,
}

impl<M> KeptEmbeddings<M> {
    /// Vectors of `model`, kept in `folder`.
    pub fn new(model: M, folder: &Utf8Path) -> Self {
        Self { model, folder: folder.to_owned() }
    }

    fn path(&self, model: &str, text: &str) -> Utf8PathBuf {
        let mut hasher = blake3::Hasher::new();
        // The length tells where the name of the model ends.
        hasher.update(&(model.len() as u64).to_le_bytes());
        hasher.update(model.as_bytes());
        hasher.update(text.as_bytes());
        let key = hasher.finalize().to_hex().to_string();
        self.folder.join(&key[..2]).join(format!("{key}.json"))
    }

    /// `None` if there is no vector, or a damaged one, which is written again.
    fn kept(&self, model: &str, text: &str) -> Result<Option<Vec<f32>>, ChatError> {
        let path = self.path(model, text);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match serde_json::from_slice(&bytes) {
            Ok(KeptVector { model: of, text: to, vector }) if of == model && to == text => {
                Ok(Some(vector))
            }
            _ => {
                tracing::warn!("`{path}` is damaged and written again");
                Ok(None)
            }
        }
    }
}

impl<M: EmbeddingModel> EmbeddingModel for KeptEmbeddings<M> {
    fn embed(&self, model: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>, ChatError> {
        let mut vectors: BTreeMap<&str, Vec<f32>> = BTreeMap::new();
        let mut missing: Vec<&str> = Vec::new();
        for &text in texts {
            if vectors.contains_key(text) || missing.contains(&text) {
                continue;
            }
            match self.kept(model, text)? {
                Some(vector) => drop(vectors.insert(text, vector)),
                None => missing.push(text),
            }
        }
        if !missing.is_empty() {
            let embedded = self.model.embed(model, &missing)?;
            for (text, vector) in missing.into_iter().zip(embedded) {
                let path = self.path(model, text);
                let kept = KeptVector { model: model.to_owned(), text: text.to_owned(), vector };
                let json = serde_json::to_vec(&kept).map_err(io::Error::from)?;
                fs::create_dir_all(path.parent().expect("the path has a folder"))?;
                write_whole(&path, &json)?;
                vectors.insert(text, kept.vector);
            }
        }
        // A model that gave too few vectors has given too few here.
        Ok(texts.iter().filter_map(|text| vectors.get(text).cloned()).collect())
    }
}

/// No model: all that is known is what a folder keeps.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEmbeddings;

impl EmbeddingModel for NoEmbeddings {
    fn embed(&self, model: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>, ChatError> {
        let Some(first) = texts.first() else { return Ok(Vec::new()) };
        Err(ChatError::NotRecorded {
            key: format!("for a vector of `{model}`"),
            begin: first.chars().take(40).collect(),
            nearest: format!("; vectors of {} texts are not kept", texts.len()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Lengths of texts as vectors; texts that were asked for are noted.
    #[derive(Debug, Default)]
    struct Lengths(Mutex<Vec<String>>);

    impl EmbeddingModel for &Lengths {
        fn embed(&self, _: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>, ChatError> {
            let mut asked = self.0.lock().unwrap();
            asked.extend(texts.iter().map(|text| (*text).to_owned()));
            Ok(texts.iter().map(|text| vec![text.len() as f32, 0.1]).collect())
        }
    }

    #[test]
    fn texts_are_embedded_once_for_each_model_and_kept_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let lengths = Lengths::default();
        let kept = KeptEmbeddings::new(&lengths, folder);
        let vectors = kept.embed("m", &["ab", "a", "ab"]).unwrap();
        assert_eq!(vectors, [[2.0, 0.1], [1.0, 0.1], [2.0, 0.1]]);
        assert_eq!(kept.embed("m", &["a", "abc"]).unwrap(), [[1.0, 0.1], [3.0, 0.1]]);
        assert_eq!(lengths.0.lock().unwrap().as_slice(), ["ab", "a", "abc"]);
        kept.embed("other", &["a"]).unwrap();
        assert_eq!(lengths.0.lock().unwrap().len(), 4);

        let alone = KeptEmbeddings::new(NoEmbeddings, folder);
        assert_eq!(alone.embed("m", &["abc", "a"]).unwrap(), [[3.0, 0.1], [1.0, 0.1]]);
        let error = alone.embed("m", &["a", "new"]).unwrap_err().to_string();
        assert!(error.contains("`new`") && error.contains("1 texts"), "{error}");
        // A damaged file is as good as none.
        fs::write(kept.path("m", "a"), "{").unwrap();
        assert_eq!(kept.embed("m", &["a"]).unwrap(), [[1.0, 0.1]]);
        assert_eq!(alone.embed("m", &["a"]).unwrap(), [[1.0, 0.1]]);
    }
}
