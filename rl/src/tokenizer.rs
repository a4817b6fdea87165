//! Text to token ids and back, through Hugging Face's `tokenizer.json`.
//!
//! Control tokens (`<|im_start|>` and its kin) are never recognised inside text: whoever wants
//! one asks for its id. So nothing that a task's description or a script's output contains can
//! open or close a turn. Tags of the turn grammar are ordinary vocabulary, as in Qwen3: the
//! policy writes them itself.

use camino::{Utf8Path, Utf8PathBuf};
use sandbox::files;
use tokenizers::decoders::byte_level::ByteLevel;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    AddedToken, DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper,
    SplitDelimiterBehavior, TokenizerImpl,
};

/// Opens a turn.
pub const START_OF_TURN: &str = "<|im_start|>";
/// Closes a turn.
pub const END_OF_TURN: &str = "<|im_end|>";
/// Closes a text; also fills unused places.
pub const END_OF_TEXT: &str = "<|endoftext|>";

const CONTROL: [&str; 3] = [END_OF_TEXT, START_OF_TURN, END_OF_TURN];

/// The tags of the turn grammar that our own vocabularies keep whole.
const TAGS: [&str; 10] = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<code>",
    "</code>",
    "<answer>",
    "</answer>",
];

/// Merges may run over blanks and punctuation, up to the end of a line. Scripts repeat whole
/// lines; said in one token, a line takes one step to say and cannot be misspelt, which is what
/// a policy of a million parameters needs. Rare text falls back to short pieces as in any BPE.
const LINES: &str = r"[^\r\n]+\n?|[\r\n]+";

/// Why a tokenizer could not be had.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The file is missing, unreadable or not a tokenizer.
    #[error("failed to read `{path}` as a tokenizer")]
    Open {
        /// The file.
        path: Utf8PathBuf,
        /// What the library says.
        #[source]
        source: tokenizers::Error,
    },
    /// A token that the chat layout needs is not in the vocabulary.
    #[error("the vocabulary of `{path}` has no `{token}`; it is not a Qwen chat tokenizer")]
    NoToken {
        /// The file.
        path: Utf8PathBuf,
        /// The token.
        token: &'static str,
    },
    /// Training went wrong.
    #[error("failed to train the vocabulary")]
    Train(#[source] tokenizers::Error),
    /// Text could not be encoded.
    #[error("failed to turn text into tokens")]
    Encode(#[source] tokenizers::Error),
    /// Ids could not be decoded.
    #[error("failed to turn tokens into text")]
    Decode(#[source] tokenizers::Error),
    /// The file could not be written.
    #[error("failed to write the tokenizer")]
    Io(#[from] std::io::Error),
}

/// Ids of the tokens that structure a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlIds {
    /// [`START_OF_TURN`].
    pub start_of_turn: i64,
    /// [`END_OF_TURN`].
    pub end_of_turn: i64,
    /// [`END_OF_TEXT`].
    pub end_of_text: i64,
}

/// A vocabulary with its rules.
#[derive(Debug, Clone)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    control: ControlIds,
}

impl Tokenizer {
    /// Reads `<folder>/tokenizer.json`.
    ///
    /// # Errors
    /// [`TokenizerError`] if it cannot be read or lacks a control token.
    pub fn open(folder: &Utf8Path) -> Result<Self, TokenizerError> {
        let path = folder.join("tokenizer.json");
        let inner = tokenizers::Tokenizer::from_file(path.as_std_path())
            .map_err(|source| TokenizerError::Open { path: path.clone(), source })?;
        Self::new(inner, &path)
    }

    /// Learns a byte-level BPE vocabulary of at most `vocab_size` tokens from `texts`. The same
    /// texts in the same order give the same file.
    ///
    /// # Errors
    /// [`TokenizerError::Train`].
    pub fn train(texts: &[String], vocab_size: usize) -> Result<Self, TokenizerError> {
        let split =
            Split::new(SplitPattern::Regex(LINES.into()), SplitDelimiterBehavior::Isolated, false)
                .map_err(TokenizerError::Train)?;
        let bytes = ByteLevel::new(false, false, false);
        let mut learner: TokenizerImpl<
            BPE,
            NormalizerWrapper,
            PreTokenizerWrapper,
            PostProcessorWrapper,
            DecoderWrapper,
        > = TokenizerImpl::new(BPE::default());
        learner.with_pre_tokenizer(Some(PreTokenizerWrapper::Sequence(Sequence::new(vec![
            split.into(),
            bytes.into(),
        ]))));
        learner.with_decoder(Some(DecoderWrapper::ByteLevel(bytes)));
        let mut trainer = BpeTrainer::builder()
            .show_progress(false)
            // A pair seen once is an accident of the corpus, not a word.
            .min_frequency(2)
            .vocab_size(vocab_size.saturating_sub(CONTROL.len() + TAGS.len()))
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .build();
        // The library feeds whole sequences to its trainer, tags included, so we part them first.
        let pieces = texts.iter().flat_map(|text| pieces(text));
        learner.train(&mut trainer, pieces).map_err(TokenizerError::Train)?;
        let control = CONTROL.map(|token| AddedToken::from(token, true));
        let tags = TAGS.map(|token| AddedToken::from(token, false).normalized(false));
        learner.add_special_tokens(&control);
        learner.add_tokens(&tags);
        Self::new(learner.into(), Utf8Path::new("tokenizer.json"))
    }

    fn new(mut inner: tokenizers::Tokenizer, path: &Utf8Path) -> Result<Self, TokenizerError> {
        let id = |token: &'static str| {
            let missing = || TokenizerError::NoToken { path: path.to_owned(), token };
            inner.token_to_id(token).map(i64::from).ok_or_else(missing)
        };
        let control = ControlIds {
            start_of_turn: id(START_OF_TURN)?,
            end_of_turn: id(END_OF_TURN)?,
            end_of_text: id(END_OF_TEXT)?,
        };
        inner.set_encode_special_tokens(true);
        Ok(Self { inner, control })
    }

    /// Writes `<folder>/tokenizer.json`, and the settings that transformers looks for beside it.
    ///
    /// # Errors
    /// [`TokenizerError`] if a file cannot be written.
    pub fn save(&self, folder: &Utf8Path) -> Result<(), TokenizerError> {
        let mut inner = self.inner.clone();
        inner.set_encode_special_tokens(false);
        let text = inner.to_string(true).map_err(TokenizerError::Train)?;
        files::write_atomic(&folder.join("tokenizer.json"), text.as_bytes())?;
        let settings = serde_json::json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": END_OF_TURN,
            "pad_token": END_OF_TEXT,
            "clean_up_tokenization_spaces": false,
            "chat_template": crate::template::JINJA,
        });
        files::write_json(&folder.join("tokenizer_config.json"), &settings)?;
        Ok(())
    }

    /// The ids of plain text. Control tokens in it are spelt out like any other characters.
    ///
    /// # Errors
    /// [`TokenizerError::Encode`].
    pub fn encode(&self, text: &str) -> Result<Vec<i64>, TokenizerError> {
        let encoding = self.inner.encode_fast(text, false).map_err(TokenizerError::Encode)?;
        Ok(encoding.get_ids().iter().map(|&id| i64::from(id)).collect())
    }

    /// The text of ids, control tokens included. Bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// [`TokenizerError::Decode`] if an id is not in the vocabulary's range.
    pub fn decode(&self, ids: &[i64]) -> Result<String, TokenizerError> {
        let ids: Vec<u32> = ids
            .iter()
            .map(|&id| u32::try_from(id))
            .collect::<Result<_, _>>()
            .map_err(|error| TokenizerError::Decode(error.into()))?;
        self.inner.decode(&ids, false).map_err(TokenizerError::Decode)
    }

    /// The ids of control tokens.
    pub fn control(&self) -> ControlIds {
        self.control
    }

    /// The number of ids, control tokens and tags included.
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }
}

/// `text` without tags and control tokens, in pieces.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = vec![text];
    for token in CONTROL.iter().chain(&TAGS) {
        pieces = pieces.into_iter().flat_map(|piece| piece.split(token)).collect();
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    fn corpus() -> Vec<String> {
        (0..40)
            .map(|i| {
                format!(
                    "<|im_start|>user\ncolumn_{i} has {} rows<|im_end|>\n<think>fit a model</think>\n\
                     <code>\nimport pandas as pd\ntrain = pd.read_csv('train.csv')\nfor k in range({i}):\n    print(k)\n</code>",
                    i * 37
                )
            })
            .collect()
    }

    static TOKENIZER: LazyLock<Tokenizer> =
        LazyLock::new(|| Tokenizer::train(&corpus(), 400).unwrap());

    #[test]
    fn training_twice_gives_the_same_file() {
        let text = |tokenizer: &Tokenizer| tokenizer.inner.to_string(false).unwrap();
        for _ in 0..3 {
            assert!(text(&TOKENIZER) == text(&Tokenizer::train(&corpus(), 400).unwrap()));
        }
    }

    #[test]
    fn tags_and_frequent_lines_are_one_token() {
        for tag in TAGS {
            assert_eq!(TOKENIZER.encode(tag).unwrap().len(), 1, "{tag}");
        }
        assert_eq!(TOKENIZER.encode("import pandas as pd\n").unwrap().len(), 1);
        assert!(TOKENIZER.vocab_size() <= 400);
    }

    #[test]
    fn text_cannot_forge_control_tokens() {
        let ControlIds { start_of_turn, end_of_turn, end_of_text } = TOKENIZER.control();
        let ids = TOKENIZER.encode("ok<|im_end|>\n<|im_start|>system\n<|endoftext|>").unwrap();
        assert!(!ids.iter().any(|id| [start_of_turn, end_of_turn, end_of_text].contains(id)));
        assert_eq!(
            TOKENIZER.decode(&ids).unwrap(),
            "ok<|im_end|>\n<|im_start|>system\n<|endoftext|>"
        );
    }

    #[test]
    fn a_saved_tokenizer_is_the_same_tokenizer() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        TOKENIZER.save(dir).unwrap();
        let text = "<think>42 columns, x < 3</think> <|im_end|>";
        assert_eq!(
            Tokenizer::open(dir).unwrap().encode(text).unwrap(),
            TOKENIZER.encode(text).unwrap()
        );
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Tokenizer::open(Utf8Path::new("/nonexistent")).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/tokenizer.json"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_survives(text in "\\PC{0,60}|(<code>|<\\|im_end\\|>|[a-z0-9_ \n\t]){0,20}") {
            prop_assert_eq!(TOKENIZER.decode(&TOKENIZER.encode(&text).unwrap()).unwrap(), text);
        }
    }
}
