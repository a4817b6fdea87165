//! A policy on disk: a model in Hugging Face's format with its tokenizer, or adapters in PEFT's
//! format on one. [`crate::checkpoint::source`] finds it, a checkpoint is one.

use super::store::is_remote;
use crate::model::{LoadError, Lora, LoraSettings, Qwen3, Qwen3Config, Weights};
use crate::text::template::{ChatTemplate, TemplateError};
use crate::text::tokenizer::{Tokenizer, TokenizerError};
use camino::{Utf8Path, Utf8PathBuf};
use tasks::stream::Stream;
use tch::{Device, Kind};

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The folder lacks a file.
    #[error(
        "`{folder}` is not a checkpoint: it has no `{missing}`; give a folder such as `<run>/checkpoints/step-000100`"
    )]
    NotOne {
        /// The folder that was given.
        folder: Utf8PathBuf,
        /// The first file that is missing.
        missing: &'static str,
    },
    /// Adapters without their model.
    #[error(
        "the adapters in `{folder}` belong to the model in `{base}`, which is not there; put it back, or name its folder as `base_model_name_or_path` in `adapter_config.json`"
    )]
    NoBase {
        /// The folder of the adapters.
        folder: Utf8PathBuf,
        /// Where their model should be.
        base: Utf8PathBuf,
    },
    /// Adapters of another shape.
    #[error(
        "`{0}` has adapters of another shape than `lora` asks for; leave `lora` out to go on with them"
    )]
    OtherAdapters(Utf8PathBuf),
    /// The weights are on another machine.
    #[error(
        "the weights of `{0}` are on the server that trained them; its `trainer/remote.json` names them as `export`: unpack that archive on the server, and give the folder"
    )]
    Remote(Utf8PathBuf),
    /// Conversations cannot be laid out.
    #[error("failed to use the chat template of `{folder}`")]
    Template {
        /// The folder of the policy.
        folder: Utf8PathBuf,
        /// The error of the template.
        #[source]
        source: TemplateError,
    },
    /// Model and tokenizer are two models'.
    #[error(
        "the tokenizer of `{folder}` has ids up to {last_id}, its model {vocab_size} of them; \
         copy the tokenizer's files from where the model comes from"
    )]
    Vocabulary {
        /// The folder of the policy.
        folder: Utf8PathBuf,
        /// The tokenizer's highest id.
        last_id: i64,
        /// How many tokens the model knows.
        vocab_size: i64,
    },
    /// The folder cannot be read.
    #[error("failed to read the policy's folder")]
    Io(#[from] std::io::Error),
    /// The model is missing or damaged.
    #[error(transparent)]
    Model(#[from] LoadError),
    /// The tokenizer is missing or damaged.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// What every policy has.
pub(crate) const FILES: [&str; 2] = ["config.json", "tokenizer.json"];

/// The folder of the whole model behind `folder`: itself, or the base of the adapters in it.
///
/// # Errors
/// [`PolicyError`] if adapters are described wrongly, or their base is not there.
pub fn base_of(folder: &Utf8Path) -> Result<Utf8PathBuf, PolicyError> {
    base(folder, Lora::describe(folder)?.as_ref()).map(Utf8Path::to_owned)
}

fn base<'a>(folder: &'a Utf8Path, lora: Option<&'a Lora>) -> Result<&'a Utf8Path, PolicyError> {
    match lora {
        None => Ok(folder),
        Some(lora) if lora.base.join("config.json").is_file() => Ok(&lora.base),
        Some(Lora { base, .. }) => {
            Err(PolicyError::NoBase { folder: folder.to_owned(), base: base.clone() })
        }
    }
}

pub(crate) fn require(folder: &Utf8Path, files: &[&'static str]) -> Result<(), PolicyError> {
    match files.iter().find(|file| !folder.join(file).is_file()) {
        Some(missing) => Err(PolicyError::NotOne { folder: folder.to_owned(), missing }),
        None => Ok(()),
    }
}

/// A policy from any Hugging Face folder: a checkpoint of ours, a published model, or adapters in
/// PEFT's format on either.
///
/// # Errors
/// [`PolicyError`] naming what is missing or does not fit.
pub fn open(
    folder: &Utf8Path,
    kind: Kind,
    device: Device,
) -> Result<(Qwen3, Tokenizer), PolicyError> {
    // Before the weights are read, which may take minutes.
    let template = |tokenizer: &Tokenizer| {
        ChatTemplate::new(tokenizer)
            .map(|_| ())
            .map_err(|source| PolicyError::Template { folder: folder.to_owned(), source })
    };
    open_checked(folder, kind, device, &template)
}

/// As [`open`], also of a base model, which has no chat template.
///
/// # Errors
/// [`PolicyError`] naming what is missing or does not fit.
pub fn open_base(
    folder: &Utf8Path,
    kind: Kind,
    device: Device,
) -> Result<(Qwen3, Tokenizer), PolicyError> {
    open_checked(folder, kind, device, &|_| Ok(()))
}

fn open_checked(
    folder: &Utf8Path,
    kind: Kind,
    device: Device,
    check: &dyn Fn(&Tokenizer) -> Result<(), PolicyError>,
) -> Result<(Qwen3, Tokenizer), PolicyError> {
    if is_remote(folder) {
        return Err(PolicyError::Remote(folder.to_owned()));
    }
    let lora = Lora::describe(folder)?;
    let base = base(folder, lora.as_ref())?;
    require(base, &FILES)?;
    let mut config = Qwen3Config::open(base).map_err(LoadError::from)?;
    let named = if folder.join("tokenizer.json").is_file() { folder } else { base };
    let tokenizer = Tokenizer::open(named)?;
    let (last_id, vocab_size) = (tokenizer.last_id(), config.vocab_size);
    if last_id >= vocab_size {
        return Err(PolicyError::Vocabulary { folder: folder.to_owned(), last_id, vocab_size });
    }
    check(&tokenizer)?;
    // `config.json` of a base model may name the end of a text alone, but turns end by this.
    let end_of_turn = tokenizer.control().end_of_turn;
    if !config.eos_token_ids.contains(&end_of_turn) {
        config.eos_token_ids.insert(0, end_of_turn);
    }
    let mut model = Qwen3::load(&config, &Weights::open(base)?, kind, device)?;
    if let Some(lora) = lora {
        lora.open(&mut model, folder)?;
    }
    Ok((model, tokenizer))
}

/// The tokenizer of the policy in `folder`, which has a chat template.
///
/// # Errors
/// [`PolicyError`] naming what is missing or does not fit.
pub fn open_tokenizer(folder: &Utf8Path) -> Result<Tokenizer, PolicyError> {
    let base = base_of(folder)?;
    require(&base, &FILES)?;
    let named = if folder.join("tokenizer.json").is_file() { folder } else { &base };
    let tokenizer = Tokenizer::open(named)?;
    ChatTemplate::new(&tokenizer)
        .map_err(|source| PolicyError::Template { folder: folder.to_owned(), source })?;
    Ok(tokenizer)
}

/// A policy to train: as [`open`], and with fresh adapters if `settings` asks for them and
/// the policy has none.
///
/// # Errors
/// [`PolicyError`]; adapters of another shape are refused.
pub fn open_to_train(
    folder: &Utf8Path,
    settings: Option<&LoraSettings>,
    kind: Kind,
    device: Device,
    stream: Stream,
) -> Result<(Qwen3, Tokenizer), PolicyError> {
    let (mut model, tokenizer) = open(folder, kind, device)?;
    match (settings, model.lora()) {
        (Some(settings), None) => {
            // Adapters name their base, from wherever they are read.
            let base = folder.canonicalize_utf8()?;
            Lora { settings: settings.clone(), base }.attach(&mut model, stream)?;
        }
        (Some(settings), Some(lora))
            if lora.settings != settings.clone().fitted(model.config()) =>
        {
            return Err(PolicyError::OtherAdapters(folder.to_owned()));
        }
        _ => (),
    }
    Ok((model, tokenizer))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::save_folder;
    use crate::text::tokenizer::Pieces;

    /// One layer, 16 wide.
    pub(crate) fn small() -> (Qwen3, Tokenizer) {
        let tokenizer =
            Tokenizer::train(&vec!["print(1)\n".to_owned(); 3], 300, Pieces::Lines).unwrap();
        let control = tokenizer.control();
        let config = Qwen3Config {
            hidden_size: 16,
            num_hidden_layers: 1,
            ..Qwen3Config::tiny(
                i64::try_from(tokenizer.vocab_size()).unwrap(),
                control.end_of_turn,
                control.end_of_text,
            )
        };
        (Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(2)), tokenizer)
    }

    #[test]
    fn a_tokenizer_of_another_model_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let (model, tokenizer) = small();
        save_folder(&model, dir).unwrap();
        tokenizer.save(dir).unwrap();
        assert!(open(dir, Kind::Float, Device::Cpu).is_ok());
        let other =
            Tokenizer::train(&vec!["print(12)\n".to_owned(); 3], 310, Pieces::Lines).unwrap();
        assert!(other.vocab_size() > tokenizer.vocab_size());
        other.save(dir).unwrap();
        let error = open(dir, Kind::Float, Device::Cpu).unwrap_err().to_string();
        let last = other.vocab_size() - 1;
        assert!(error.contains(&format!("ids up to {last}")), "{error}");
    }
}
