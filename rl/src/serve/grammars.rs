//! Grammars over the vocabulary of the served model.

use crate::generate::sample::Grammar;
use crate::text::tokenizer::Tokenizer;
use llguidance::ParserFactory;
use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};
use std::fmt;
use std::sync::Arc;

/// Compiles grammars. Making one takes about a second for a large vocabulary.
pub(super) struct Grammars(ParserFactory);

impl fmt::Debug for Grammars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grammars").finish_non_exhaustive()
    }
}

impl Grammars {
    /// For a model with `vocab_size` tokens, of which those in `ending` end a turn.
    ///
    /// # Errors
    /// The library's message.
    pub(super) fn new(
        tokenizer: Arc<Tokenizer>,
        vocab_size: i64,
        ending: &[i64],
    ) -> Result<Self, String> {
        let vocabulary: TokEnv = Arc::new(Vocabulary::new(tokenizer, vocab_size, ending)?);
        let factory = ParserFactory::new_simple(&vocabulary);
        let mut factory = factory.map_err(|error| format!("{error:#}"))?;
        factory.quiet();
        // What is wrong is told to a client, not the whole grammar.
        factory.limits_mut().verbose_errors = false;
        Ok(Self(factory))
    }

    /// Compiles a grammar in the library's dialect of Lark.
    ///
    /// # Errors
    /// The library's message, if the grammar is invalid or uses an unsupported feature.
    pub(super) fn compile(&self, source: String) -> Result<Grammar, String> {
        let parser = self.0.create_parser(TopLevelGrammar::from_lark(source));
        parser.map(Grammar::new).map_err(|error| format!("{error:#}"))
    }
}

/// The vocabulary as the library reads it.
struct Vocabulary {
    tokenizer: Arc<Tokenizer>,
    trie: TokTrie,
}

impl Vocabulary {
    fn new(tokenizer: Arc<Tokenizer>, vocab_size: i64, ending: &[i64]) -> Result<Self, String> {
        let words: Vec<Vec<u8>> = (0..vocab_size).map(|id| word(&tokenizer, id)).collect();
        let ending: Result<Vec<TokenId>, _> = ending.iter().map(|&id| id.try_into()).collect();
        let ending = ending.map_err(|_| "a token that ends a turn has no valid id")?;
        let size = u32::try_from(words.len()).map_err(|_| "the vocabulary is too large")?;
        let first = *ending.first().ok_or("no token of this model ends a turn")?;
        let trie = TokTrie::from(&TokRxInfo::new(size, first), &words).with_eos_tokens(&ending);
        Ok(Self { tokenizer, trie })
    }
}

/// The bytes of a token. Control tokens are marked, so that no text of a grammar allows them; ids
/// that only pad the model's vocabulary have none and are never allowed.
fn word(tokenizer: &Tokenizer, id: i64) -> Vec<u8> {
    let mut bytes = tokenizer.bytes(id).unwrap_or_default();
    if tokenizer.is_control(id) {
        bytes.insert(0, TokTrie::SPECIAL_TOKEN_MARKER);
    }
    bytes
}

impl TokenizerEnv for Vocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    /// Text that the grammar forces is tokenized as the model was trained to see it.
    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        self.trie.tokenize_with_greedy_fallback(bytes, |text| {
            let ids = self.tokenizer.encode(text).unwrap_or_default();
            ids.into_iter().filter_map(|id| id.try_into().ok()).collect()
        })
    }
}
