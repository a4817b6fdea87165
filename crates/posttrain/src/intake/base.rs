//! The base model, which submissions are compared with.

use super::config::{self, Config};
use super::header::{TensorPlace, read_header};
use super::names::{CONFIG, FileKind, TEXTS};
use super::values::WeightType;
use crate::fault::Fault;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::BTreeMap;
use std::fs::File;

/// Tensors of a base, at most; mixtures of experts have tens of thousands.
const TENSORS: usize = 1 << 20;

/// A base model on disk: its weights stay there.
#[derive(Debug)]
pub struct BaseModel {
    pub(super) folder: Utf8PathBuf,
    pub(super) config: Config,
    pub(super) files: Vec<File>,
    pub(super) tensors: BTreeMap<String, TensorPlace>,
    /// Tokenizer, template and generation settings, by name.
    pub(super) texts: BTreeMap<String, Vec<u8>>,
}

impl BaseModel {
    /// Opens the model in `folder`, which comes from the operator.
    ///
    /// # Errors
    /// [`Fault`] if it is not a model of safetensors in one of the types that are read.
    pub fn open(folder: &Utf8Path) -> Result<Self, Fault> {
        let unusable = |why: String| Fault::Base { folder: folder.to_owned(), why };
        let config = config::parse(&fs::read(folder.join(CONFIG))?)
            .map_err(|refusal| unusable(refusal.message))?;
        let (mut names, mut texts) = (Vec::new(), BTreeMap::new());
        for entry in folder.read_dir_utf8()? {
            let entry = entry?;
            let name = entry.file_name().to_owned();
            if FileKind::of(&name) == FileKind::Weights {
                names.push(name);
            } else if TEXTS.contains(&name.as_str()) {
                texts.insert(name, fs::read(entry.path())?);
            }
        }
        names.sort();
        let (mut files, mut tensors) = (Vec::new(), BTreeMap::new());
        for name in names {
            let file = fs::File::open(folder.join(&name))?.into_file();
            let size = file.metadata()?.len();
            let read = read_header(&file, files.len(), size, TENSORS);
            tensors.extend(read.map_err(|why| unusable(format!("`{name}`: {why}")))?);
            files.push(file);
        }
        if tensors.is_empty() {
            return Err(unusable("it has no `*.safetensors` with weights".to_owned()));
        }
        for (name, place) in &tensors {
            if WeightType::of(place.dtype).is_none() || place.shape.is_empty() {
                let why = format!(
                    "`{name}` has the type {} and {} dimensions; F32, F16 and BF16 with at least one \
                     are read",
                    place.dtype,
                    place.shape.len()
                );
                return Err(unusable(why));
            }
        }
        Ok(Self { folder: folder.to_owned(), config, files, tensors, texts })
    }

    /// Whether the output layer is the embedding itself.
    pub(super) fn is_tied(&self) -> bool {
        self.config.get("tie_word_embeddings").and_then(serde_json::Value::as_bool) == Some(true)
    }

    /// Rows of the vocabulary.
    pub(super) fn vocabulary(&self) -> Option<usize> {
        let size = self.config.get("vocab_size").and_then(serde_json::Value::as_u64);
        size.and_then(|size| usize::try_from(size).ok())
    }
}
