//! Text to token ids and back: the vocabulary, and the checkpoint's chat template.

mod pieces;
pub mod template;
pub mod tokenizer;
