//! Text to token ids and back, through Hugging Face's `tokenizer.json`.
//!
//! Control tokens (`<|im_start|>` and its kin) are never recognised inside text, except in what a
//! chat template renders, and there only the template's own. So nothing that a task's description
//! or a script's output contains can open or close a turn. Tags of the turn grammar are ordinary
//! vocabulary, as in Qwen3: the policy writes them itself.

pub use super::pieces::Pieces;

use crate::text::template::{JINJA, RESPONSE_TEMPLATE, response_template};
use agents::grammar::ToolCallFormat;
use aho_corasick::{AhoCorasick, MatchKind};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use tasks::files;
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

/// The files of a tokenizer that transformers looks for. Only the first is read here, and by
/// [`ChatTemplate`](crate::text::template::ChatTemplate) the next two; all are copied with the
/// vocabulary.
const FILES: [&str; 7] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
];

/// Why a tokenizer could not be read, trained or used.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The file is missing, unreadable or not a tokenizer.
    #[error("failed to read `{path}` as a tokenizer")]
    Open {
        /// The path of `tokenizer.json`.
        path: Utf8PathBuf,
        /// The error of the tokenizers library.
        #[source]
        source: tokenizers::Error,
    },
    /// A token that the chat layout needs is not in the vocabulary.
    #[error("the vocabulary of `{path}` has no `{token}`; it is not a Qwen chat tokenizer")]
    NoToken {
        /// The path of `tokenizer.json`.
        path: Utf8PathBuf,
        /// The token that is missing.
        token: &'static str,
    },
    /// The vocabulary is of a kind that we do not read.
    #[error("`{path}` {reason}; it is not a Qwen tokenizer, and no other can be used")]
    Kind {
        /// The path of `tokenizer.json`.
        path: Utf8PathBuf,
        /// The feature of it that Qwen's tokenizers do not have.
        reason: &'static str,
    },
    /// A vocabulary could not be trained.
    #[error("failed to train the vocabulary")]
    Train(#[source] tokenizers::Error),
    /// Text could not be encoded.
    #[error("failed to turn text into tokens")]
    Encode(#[source] tokenizers::Error),
    /// Ids could not be decoded.
    #[error("failed to turn tokens into text")]
    Decode(#[source] tokenizers::Error),
    /// A file could not be read or written.
    #[error("failed to read or write the tokenizer's files")]
    Io(#[from] io::Error),
    /// An id that means nothing.
    #[error("the vocabulary has no token {0}")]
    NoId(i64),
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
    /// Finds control tokens, the longest where several begin; `special` has their ids and texts.
    finder: AhoCorasick,
    special: Vec<(i64, String)>,
    /// The files that it came in, byte for byte.
    files: Arc<BTreeMap<&'static str, Vec<u8>>>,
}

impl Tokenizer {
    /// Reads `<folder>/tokenizer.json`, and keeps it and the files beside it that belong to it.
    ///
    /// # Errors
    /// [`TokenizerError`] if it cannot be read, lacks a control token or is not Qwen's kind.
    pub fn open(folder: &Utf8Path) -> Result<Self, TokenizerError> {
        let path = folder.join(FILES[0]);
        let mut files = BTreeMap::new();
        for name in FILES {
            match fs::read(folder.join(name)) {
                Ok(bytes) => files.insert(name, bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound && name != FILES[0] => None,
                Err(error) => return Err(TokenizerError::Open { path, source: error.into() }),
            };
        }
        Self::new(files, &path)
    }

    /// As [`Self::train_for`], with calls in [`ToolCallFormat::Code`].
    ///
    /// # Errors
    /// [`TokenizerError::Train`].
    pub fn train(
        texts: &[String],
        vocab_size: usize,
        pieces: Pieces,
    ) -> Result<Self, TokenizerError> {
        Self::train_for(texts, vocab_size, pieces, ToolCallFormat::Code)
    }

    /// Learns a byte-level BPE vocabulary of at most `vocab_size` tokens, within `pieces`, from
    /// `texts`, whose turns write calls in `format`. The same texts in the same order give the same
    /// file.
    ///
    /// # Errors
    /// [`TokenizerError::Train`].
    pub fn train_for(
        texts: &[String],
        vocab_size: usize,
        pieces: Pieces,
        format: ToolCallFormat,
    ) -> Result<Self, TokenizerError> {
        let pattern = SplitPattern::Regex(pieces.pattern(format).into());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)
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
        let pieces = texts.iter().flat_map(|text| self::pieces(text));
        learner.train(&mut trainer, pieces).map_err(TokenizerError::Train)?;
        let control = CONTROL.map(|token| AddedToken::from(token, true));
        let tags = TAGS.map(|token| AddedToken::from(token, false).normalized(false));
        learner.add_special_tokens(&control);
        learner.add_tokens(&tags);
        let vocabulary = learner.to_string(true).map_err(TokenizerError::Train)?;
        let settings = serde_json::json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": END_OF_TURN,
            "pad_token": END_OF_TEXT,
            "clean_up_tokenization_spaces": false,
            "chat_template": JINJA,
            RESPONSE_TEMPLATE: response_template(format),
        });
        let settings = serde_json::to_vec_pretty(&settings).map_err(io::Error::from)?;
        let files = BTreeMap::from([(FILES[0], vocabulary.into_bytes()), (FILES[1], settings)]);
        Self::new(files, Utf8Path::new(FILES[0]))
    }

    fn new(
        files: BTreeMap<&'static str, Vec<u8>>,
        path: &Utf8Path,
    ) -> Result<Self, TokenizerError> {
        let mut inner = tokenizers::Tokenizer::from_bytes(&files[FILES[0]])
            .map_err(|source| TokenizerError::Open { path: path.to_owned(), source })?;
        let id = |token: &'static str| {
            let missing = || TokenizerError::NoToken { path: path.to_owned(), token };
            inner.token_to_id(token).map(i64::from).ok_or_else(missing)
        };
        let control = ControlIds {
            start_of_turn: id(START_OF_TURN)?,
            end_of_turn: id(END_OF_TURN)?,
            end_of_text: id(END_OF_TEXT)?,
        };
        let unusable = |reason| TokenizerError::Kind { path: path.to_owned(), reason };
        if !matches!(inner.get_decoder(), Some(DecoderWrapper::ByteLevel(_))) {
            return Err(unusable("does not spell its tokens in bytes"));
        }
        let mut special: Vec<(i64, String)> = inner
            .get_added_tokens_decoder()
            .into_iter()
            .filter(|(_, token)| token.special && !token.content.is_empty())
            .map(|(id, token)| (i64::from(id), token.content))
            .collect();
        special.sort();
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(special.iter().map(|(_, token)| token))
            .map_err(|error| TokenizerError::Encode(error.into()))?;
        let layout = format!("{START_OF_TURN}user\n a \n{END_OF_TURN} \n{START_OF_TURN} b");
        let expected = inner.encode_fast(layout.as_str(), false).map_err(TokenizerError::Encode)?;
        inner.set_encode_special_tokens(true);
        let tokenizer = Self { inner, control, finder, special, files: Arc::new(files) };
        if tokenizer.encode_with_control(&layout, None)? != signed_ids(expected.get_ids()) {
            return Err(unusable("joins control tokens with the text beside them"));
        }
        Ok(tokenizer)
    }

    /// Whether both have the same tokens under the same ids.
    pub fn has_vocabulary_of(&self, other: &Self) -> bool {
        self.inner.get_vocab(true) == other.inner.get_vocab(true)
    }

    /// Writes the files that it came in, or those of a vocabulary of our own: `tokenizer.json`,
    /// and the settings that transformers looks for beside it.
    ///
    /// # Errors
    /// [`TokenizerError`] if a file cannot be written.
    pub fn save(&self, folder: &Utf8Path) -> Result<(), TokenizerError> {
        for (name, bytes) in &*self.files {
            files::write_atomic(&folder.join(name), bytes)?;
        }
        Ok(())
    }

    /// One of the files that it came in.
    pub(crate) fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// The ids of plain text. Control tokens in it are spelt out like any other characters.
    ///
    /// # Errors
    /// [`TokenizerError::Encode`].
    pub fn encode(&self, text: &str) -> Result<Vec<i64>, TokenizerError> {
        let encoding = self.inner.encode_fast(text, false).map_err(TokenizerError::Encode)?;
        Ok(signed_ids(encoding.get_ids()))
    }

    /// The ids of text in which control tokens count, as transformers reads it. A `mark` inside
    /// one makes it plain text; marks themselves are left out.
    ///
    /// # Errors
    /// [`TokenizerError::Encode`].
    pub fn encode_with_control(
        &self,
        text: &str,
        mark: Option<char>,
    ) -> Result<Vec<i64>, TokenizerError> {
        let mut ids = Vec::new();
        let mut end = 0;
        let plain = |stretch: &str| match mark {
            Some(mark) => self.encode(&stretch.replace(mark, "")),
            None => self.encode(stretch),
        };
        for found in self.finder.find_iter(text) {
            ids.extend(plain(&text[end..found.start()])?);
            ids.push(self.special[found.pattern().as_usize()].0);
            end = found.end();
        }
        ids.extend(plain(&text[end..])?);
        Ok(ids)
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

    /// The bytes of one token. The bytes of several tokens, concatenated and decoded as UTF-8, are
    /// the text that [`Self::decode`] returns.
    ///
    /// # Errors
    /// [`TokenizerError::NoId`] if the vocabulary has no such token.
    pub fn bytes(&self, id: i64) -> Result<Vec<u8>, TokenizerError> {
        let token = u32::try_from(id).ok().and_then(|id| self.inner.id_to_token(id));
        let token = token.ok_or(TokenizerError::NoId(id))?;
        let bytes: Option<Vec<u8>> = token.chars().map(byte).collect();
        Ok(bytes.unwrap_or_else(|| token.into_bytes()))
    }

    /// Whether a token structures conversations and is no part of their text.
    pub fn is_control(&self, id: i64) -> bool {
        self.special.binary_search_by_key(&id, |(id, _)| *id).is_ok()
    }

    /// The texts of all control tokens.
    pub fn control_tokens(&self) -> impl Iterator<Item = &str> {
        self.special.iter().map(|(_, token)| token.as_str())
    }

    /// The highest id.
    pub fn last_id(&self) -> i64 {
        self.inner.get_vocab(true).into_values().max().map_or(-1, i64::from)
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

/// Token ids as libtorch has them.
pub(crate) fn signed_ids(ids: &[u32]) -> Vec<i64> {
    ids.iter().map(|&id| i64::from(id)).collect()
}

/// The byte that a character of a byte-level vocabulary stands for. Printable bytes stand for
/// themselves; the others, in order, for the characters from U+0100 on (Radford et al. 2019,
/// GPT-2's `bytes_to_unicode`).
fn byte(character: char) -> Option<u8> {
    let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if let Ok(byte) = u8::try_from(u32::from(character)) {
        return printable(byte).then_some(byte);
    }
    let place = usize::try_from(u32::from(character) - 0x100).ok()?;
    (0..=u8::MAX).filter(|&byte| !printable(byte)).nth(place)
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
        LazyLock::new(|| Tokenizer::train(&corpus(), 400, Pieces::Lines).unwrap());

    #[test]
    fn training_twice_gives_the_same_file() {
        let text = |tokenizer: &Tokenizer| tokenizer.inner.to_string(false).unwrap();
        for _ in 0..3 {
            assert!(
                text(&TOKENIZER) == text(&Tokenizer::train(&corpus(), 400, Pieces::Lines).unwrap())
            );
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
    fn words_numbers_and_signs_are_tokens_of_their_own() {
        let words = Tokenizer::train(&corpus(), 700, Pieces::Words).unwrap();
        let parts = |text: &str| -> Vec<String> {
            let ids = words.encode(text).unwrap();
            ids.iter().map(|id| words.decode(&[*id]).unwrap()).collect()
        };
        assert_eq!(
            parts("import pandas as pd\ntrain = pd.read_csv('train.csv')\n"),
            [
                "import", " pandas", " as", " pd", "\n", "train", " =", " pd", ".", "read_csv",
                "('", "train", ".", "csv", "')", "\n"
            ]
        );
        assert_eq!(parts("<code>\nprint"), ["<code>", "\n", "print"]);
        // What was never seen is spelt out, and comes back.
        assert_eq!(parts("Ridge(0.25)").concat(), "Ridge(0.25)");
    }

    #[test]
    fn scripts_in_json_have_the_same_pieces_as_elsewhere() {
        let code = "import pandas as pd\ntrain = pd.read_csv('train.csv')\nprint(\"\\n\")";
        let turn = ToolCallFormat::Hermes.python_turn("Try.", code);
        let texts = vec![turn.clone(); 3];
        let parts = |pieces| -> Vec<String> {
            let tokenizer =
                Tokenizer::train_for(&texts, 700, pieces, ToolCallFormat::Hermes).unwrap();
            let ids = tokenizer.encode(&turn).unwrap();
            assert_eq!(tokenizer.decode(&ids).unwrap(), turn);
            ids.iter().map(|id| tokenizer.decode(&[*id]).unwrap()).collect()
        };
        assert_eq!(
            parts(Pieces::Lines),
            [
                "<think>",
                "Try.",
                "</think>",
                "\n",
                "<tool_call>",
                "\n",
                "{\"name\": \"python\", \"arguments\": {\"code\": \"import pandas as pd\\n",
                "train = pd.read_csv('train.csv')\\n",
                "print(\\\"\\\\n\\\")\"}}\n",
                "</tool_call>"
            ]
        );
        let words = parts(Pieces::Words);
        for pair in [["\\n", "train"], ["\\n", "print"], ["\\\\", "n"]] {
            assert!(words.windows(2).any(|found| found == pair), "{pair:?} in {words:?}");
        }
    }

    #[test]
    fn text_is_never_encoded_as_control_tokens() {
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
    fn files_of_a_tokenizer_are_copied_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        TOKENIZER.save(dir).unwrap();
        let foreign = "{ \"eos_token\": \"<|im_end|>\",   \"extra\": 1e2 }";
        fs::write(dir.join("tokenizer_config.json"), foreign).unwrap();
        fs::write(dir.join("chat_template.jinja"), "{{ messages }}").unwrap();
        fs::write(dir.join("merges.txt"), b"#version: 0.2\n\xc4\xa0 t\n").unwrap();
        fs::write(dir.join("README.md"), "stays").unwrap();
        let (mut folder, mut expected) = (dir.to_owned(), None);
        for generation in ["first", "second"] {
            let next = dir.join(generation);
            fs::create_dir(&next).unwrap();
            Tokenizer::open(&folder).unwrap().save(&next).unwrap();
            let mut files: Vec<(String, Vec<u8>)> = next
                .read_dir_utf8()
                .unwrap()
                .map(|entry| entry.unwrap())
                .map(|entry| (entry.file_name().to_owned(), fs::read(entry.path()).unwrap()))
                .collect();
            files.sort();
            for (name, bytes) in &files {
                assert!(*bytes == fs::read(dir.join(name)).unwrap(), "{name}");
            }
            assert_eq!(files.len(), 4);
            assert!(expected.is_none_or(|expected| expected == files));
            (folder, expected) = (next, Some(files));
        }
    }

    #[test]
    fn other_kinds_of_tokenizers_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        TOKENIZER.save(dir).unwrap();
        let whole: serde_json::Value =
            serde_json::from_slice(&fs::read(dir.join("tokenizer.json")).unwrap()).unwrap();
        let refusal = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut changed = whole.clone();
            change(&mut changed);
            fs::write(dir.join("tokenizer.json"), changed.to_string()).unwrap();
            Tokenizer::open(dir).map(|_| ()).unwrap_err().to_string()
        };
        let swallows = refusal(&|tokenizer| {
            for token in tokenizer["added_tokens"].as_array_mut().unwrap() {
                token["rstrip"] = true.into();
            }
        });
        assert!(swallows.contains("joins control tokens with the text beside them"), "{swallows}");
        let spelt = refusal(&|tokenizer| tokenizer["decoder"] = serde_json::Value::Null);
        assert!(spelt.contains("does not spell its tokens in bytes"), "{spelt}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Tokenizer::open(Utf8Path::new("/nonexistent")).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/tokenizer.json"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_round_trips(text in "\\PC{0,60}|(<code>|<\\|im_end\\|>|[a-z0-9_ \n\t]){0,20}") {
            prop_assert_eq!(TOKENIZER.decode(&TOKENIZER.encode(&text).unwrap()).unwrap(), text);
        }

        #[test]
        fn bytes_make_up_the_text(ids in prop::collection::vec(0..=TOKENIZER.last_id(), 0..30)) {
            let bytes: Vec<u8> = ids.iter().flat_map(|&id| TOKENIZER.bytes(id).unwrap()).collect();
            prop_assert_eq!(TOKENIZER.decode(&ids).unwrap(), String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn control_tokens_count_where_they_are_asked_for(
            text in "(<\\|im_(start|end)\\|>|<\\|endoftext\\|>|<|\\||[a-z \n]|<think>){0,20}",
        ) {
            let mut library = TOKENIZER.inner.clone();
            library.set_encode_special_tokens(false);
            let expected = library.encode_fast(text.as_str(), false).unwrap();
            prop_assert_eq!(TOKENIZER.encode_with_control(&text, None).unwrap(), signed_ids(expected.get_ids()));
        }
    }
}
