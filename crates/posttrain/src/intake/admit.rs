//! The one way in: a path becomes a snapshot, or a refusal.

use super::adapter::AdapterConfig;
use super::base::BaseModel;
use super::compare::Distance;
use super::config;
use super::header::{TensorPlace, read_header};
use super::names::{ADAPTER_CONFIG, ADAPTER_WEIGHTS, CONFIG, FileKind, WEIGHTS};
use super::output_folder::{Listing, OutputFolder, SubmittedFolder, shown};
use super::store::ModelStore;
use super::stream::{self, Source};
use crate::digest::Digest;
use crate::fault::Fault;
use crate::ledger::ModelFacts;
use crate::refusal::{Refusal, RefusalCode};
use fs_err as fs;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use tasks::units::ByteSize;

/// Bytes of a configuration.
const CONFIG_LIMIT: ByteSize = ByteSize::mib(1);
/// Bytes of a file of a tokenizer.
const TEXT_LIMIT: ByteSize = ByteSize::mib(32);
/// Files of weights.
const SHARDS: usize = 512;
/// Files that are named as left out.
const LEFT_OUT: usize = 16;
/// The median cosine with the base below which a model is called foreign.
const FOREIGN: f64 = 0.5;
/// The weights that are as long as the vocabulary.
const VOCABULARY: [&str; 2] = ["model.embed_tokens.weight", "lm_head.weight"];
/// The output layer, which a model with a tied one may have on disk all the same.
const HEAD: &str = "lm_head.weight";

/// Everything that intake needs.
#[derive(Debug)]
pub struct Intake {
    /// Where agents put models.
    pub output: OutputFolder,
    /// What they are compared with.
    pub base: BaseModel,
    /// Where snapshots go.
    pub store: ModelStore,
}

/// A model that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Admitted {
    /// The hash of its snapshot, which [`ModelStore::open`] opens.
    pub model: Digest,
    /// Size of the snapshot in bytes.
    pub bytes: u64,
    /// What was found out about it.
    pub facts: ModelFacts,
}

/// Why a model was not accepted: through the agent, or through us.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// A mistake of the agent.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A failure of ours.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<io::Error> for IntakeError {
    fn from(error: io::Error) -> Self {
        Self::Fault(error.into())
    }
}

impl Intake {
    /// Takes a snapshot of the model that an agent calls `path`.
    ///
    /// # Errors
    /// A [`Refusal`] if it is not a model of the base's shape in safe files, or a [`Fault`].
    pub fn admit(&self, path: &str) -> Result<Admitted, IntakeError> {
        let folder = self.output.submitted(path)?;
        let listing = folder.list()?;
        let is_adapter = listing.of(FileKind::AdapterConfig).next().is_some();
        let mut admitted = if is_adapter {
            self.admit_adapter(&folder, &listing)?
        } else {
            self.admit_whole(&folder, &listing)?
        };
        admitted.facts.other_tokenizer = self.has_other_tokenizer(&folder, &listing)?;
        let named = &mut admitted.facts.left_out;
        named.extend(listing.left_out);
        if named.len() > LEFT_OUT {
            let more = named.len() - LEFT_OUT;
            named.truncate(LEFT_OUT);
            named.push(format!("and {more} more"));
        }
        Ok(admitted)
    }

    /// Takes a snapshot of the base, which is graded as submissions are.
    ///
    /// # Errors
    /// A [`Fault`]; also one if the base itself has weights that are not finite.
    pub fn admit_base(&self) -> Result<Admitted, Fault> {
        let vocabulary = self.base.vocabulary();
        self.snapshot(&Source::Base, vocabulary).map_err(|error| match error {
            IntakeError::Fault(fault) => fault,
            IntakeError::Refused(refusal) => {
                Fault::Base { folder: self.base.folder.clone(), why: refusal.message }
            }
        })
    }

    fn admit_whole(
        &self,
        folder: &SubmittedFolder,
        listing: &Listing,
    ) -> Result<Admitted, IntakeError> {
        if listing.of(FileKind::Config).next().is_none() {
            return Err(missing(CONFIG).into());
        }
        let config = config::parse(&folder.read(CONFIG, CONFIG_LIMIT)?)?;
        let vocabulary = config::compare(&config, &self.base.config)?;
        let names: Vec<&str> = listing.of(FileKind::Weights).collect();
        if names.is_empty() {
            return Err(missing(WEIGHTS).into());
        }
        let (files, mut tensors) = self.open_weights(folder, &names)?;
        let mut left_out = Vec::new();
        // A tied output layer is the embedding: what is on disk under its name is not used.
        if self.base.is_tied()
            && !self.base.tensors.contains_key(HEAD)
            && tensors.remove(HEAD).is_some()
        {
            left_out.push(HEAD.to_owned());
        }
        self.check_shapes(&tensors, vocabulary)?;
        let source = Source::Whole { files: &files, tensors: &tensors };
        let mut admitted = self.snapshot(&source, Some(vocabulary))?;
        admitted.facts.left_out = left_out;
        Ok(admitted)
    }

    fn admit_adapter(
        &self,
        folder: &SubmittedFolder,
        listing: &Listing,
    ) -> Result<Admitted, IntakeError> {
        if listing.of(FileKind::Weights).next().is_some() {
            let message = "the folder has an adapter and whole weights: submit one of them";
            return Err(Refusal::new(RefusalCode::Adapter, message).into());
        }
        if listing.of(FileKind::AdapterWeights).next().is_none() {
            return Err(missing(ADAPTER_WEIGHTS).into());
        }
        let config = AdapterConfig::parse(&folder.read(ADAPTER_CONFIG, CONFIG_LIMIT)?)?;
        let (files, tensors) = self.open_weights(folder, &[ADAPTER_WEIGHTS])?;
        let adapter = config.fit(tensors, &self.base)?;
        let source = Source::Adapted { file: &files[0], adapter: &adapter };
        let mut admitted = self.snapshot(&source, self.base.vocabulary())?;
        admitted.facts.adapter = true;
        Ok(admitted)
    }

    /// Opens files of weights and reads their headers.
    fn open_weights(
        &self,
        folder: &SubmittedFolder,
        names: &[&str],
    ) -> Result<(Vec<File>, BTreeMap<String, TensorPlace>), IntakeError> {
        if names.len() > SHARDS {
            let message =
                format!("there are more than {SHARDS} files of weights; use larger shards");
            return Err(Refusal::new(RefusalCode::TooLarge, message).into());
        }
        let (limit, most) = (self.weights_limit(), 2 * self.base.tensors.len() + 64);
        let (mut files, mut tensors) = (Vec::new(), BTreeMap::new());
        for &name in names {
            let (file, size) = folder.open(name, limit)?;
            let places = read_header(&file, files.len(), size, most).map_err(|why| {
                let message = format!(
                    "`{}`: {why}; save it again, and submit it after it was written completely",
                    shown(name)
                );
                Refusal::new(RefusalCode::Damaged, message)
            })?;
            for (tensor, place) in places {
                if tensors.insert(tensor.clone(), place).is_some() {
                    let message = format!(
                        "`{}` is in two files; remove the shards of an older checkpoint",
                        shown(&tensor)
                    );
                    return Err(Refusal::new(RefusalCode::Damaged, message).into());
                }
            }
            if tensors.len() > most {
                let message = "there are more than twice as many weights as in the base: only models of \
                               its shape are evaluated";
                return Err(Refusal::new(RefusalCode::Shape, message).into());
            }
            files.push(file);
        }
        Ok((files, tensors))
    }

    /// Bytes of a file of weights: twice the values of the base, each in four bytes, and a header.
    fn weights_limit(&self) -> ByteSize {
        let values: usize = self.base.tensors.values().map(TensorPlace::values).sum();
        ByteSize::new(values as u64 * 8 + (16 << 20))
    }

    /// Every weight of the base must be there, of its shape, and nothing else.
    fn check_shapes(
        &self,
        tensors: &BTreeMap<String, TensorPlace>,
        vocabulary: usize,
    ) -> Result<(), Refusal> {
        let refused = |message| Refusal::new(RefusalCode::Shape, message);
        for (name, base) in &self.base.tensors {
            let Some(found) = tensors.get(name) else {
                return Err(refused(format!(
                    "`{name}` is missing: are all files of the weights there?"
                )));
            };
            let mut expected = base.shape.clone();
            if VOCABULARY.contains(&name.as_str()) && Some(base.shape[0]) == self.base.vocabulary()
            {
                expected[0] = vocabulary;
            }
            if found.shape != expected {
                return Err(refused(format!(
                    "`{name}` has the shape {:?}, and must have {expected:?}: only models of the \
                     base's shape are evaluated, with the `vocab_size` of their `config.json`",
                    found.shape
                )));
            }
        }
        match tensors.keys().find(|name| !self.base.tensors.contains_key(*name)) {
            Some(name) => Err(refused(format!(
                "the base has no weight `{}`: only models of the base's shape are evaluated",
                shown(name)
            ))),
            None => Ok(()),
        }
    }

    /// Writes a snapshot: the base's configuration and texts with these weights.
    fn snapshot(
        &self,
        source: &Source<'_>,
        vocabulary: Option<usize>,
    ) -> Result<Admitted, IntakeError> {
        let building = self.store.begin()?;
        let weights = fs::File::create(building.folder.join(WEIGHTS))?;
        let mut out = BufWriter::with_capacity(1 << 20, weights);
        let distance: Distance = stream::write(&mut out, &self.base, source)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        let mut config = self.base.config.clone();
        if let Some(vocabulary) = vocabulary {
            config.insert("vocab_size".to_owned(), vocabulary.into());
        }
        if let Some(kind) = source.weight_type(&self.base) {
            for key in ["dtype", "torch_dtype"] {
                config.entry(key).and_modify(|name| *name = kind.torch_name().into());
            }
        }
        tasks::files::write_json(
            &building.folder.join(CONFIG),
            &tasks::json::sorted(Value::Object(config)),
        )?;
        for (name, bytes) in &self.base.texts {
            tasks::files::write_atomic(&building.folder.join(name), bytes)?;
        }
        let model = self.store.keep(&building)?;
        let facts = ModelFacts {
            copy: distance.is_copy(),
            foreign: distance.cosine() < FOREIGN,
            changed: distance.changed(),
            cosine: distance.cosine(),
            adapter: false,
            other_tokenizer: false,
            left_out: Vec::new(),
        };
        Ok(Admitted { model, bytes: self.store.size(model)?, facts })
    }

    /// Whether a tokenizer or a template is not the base's. Nothing of it is used but this.
    fn has_other_tokenizer(
        &self,
        folder: &SubmittedFolder,
        listing: &Listing,
    ) -> Result<bool, Refusal> {
        for name in listing.of(FileKind::Text) {
            // These two differ with the version of the library that wrote them.
            if matches!(name, "tokenizer_config.json" | "generation_config.json") {
                continue;
            }
            let Some(base) = self.base.texts.get(name) else { continue };
            let submitted = folder.read(name, TEXT_LIMIT)?;
            let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
            let is_same = submitted == *base
                || read(base).is_some_and(|base| read(&submitted).as_ref() == Some(&base));
            if !is_same {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn missing(name: &str) -> Refusal {
    let message = format!(
        "there is no `{name}` in the folder: save the model with `save_pretrained(folder, \
         safe_serialization=True)` and submit that folder"
    );
    Refusal::new(RefusalCode::Missing, message)
}
