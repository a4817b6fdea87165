//! What the tokens of our own vocabularies are made of: how text is parted before BPE merges it.

use agents::grammar::ToolCallFormat;

/// Merges may cover white space and punctuation, up to the end of a line. Scripts repeat whole
/// lines. As one token, a line is sampled in one step and cannot be misspelt, which a policy of a
/// million parameters needs. Rare text falls back to short tokens as in any BPE.
const LINES: &str = r"[^\r\n]+\n?|[\r\n]+";

/// Merges stay within a word with the space before it, a number, or a run of signs. A script is
/// then put together from words, and any two of them can meet.
const WORDS: &str = r" ?[A-Za-z_]+| ?[0-9]+(?:\.[0-9]+)?| ?[^\sA-Za-z0-9_]+|\s+";

/// As [`LINES`] for scripts in JSON, which are one line: an escaped line end ends a piece, too. A
/// whole script would be one token otherwise.
const LINES_IN_JSON: &str =
    r"(?:[^\r\n\\]|\\[^n\r\n])*(?:\\n|\n)|(?:[^\r\n\\]|\\[^n\r\n])+|[\r\n]+|\\";

/// As [`WORDS`] for scripts in JSON: an escape is a piece of its own. The first word of a line would
/// begin with the letter of the escape before it otherwise.
const WORDS_IN_JSON: &str =
    r"\\[^\r\n]| ?[A-Za-z_]+| ?[0-9]+(?:\.[0-9]+)?| ?[^\sA-Za-z0-9_\\]+|\s+|\\";

/// As [`WORDS`], with every digit a token of its own: who has seen few numbers can then read and
/// compute all of them.
const WORDS_AND_DIGITS: &str = r" ?[A-Za-z_]+|[0-9]| ?[^\sA-Za-z0-9_]+|\s+";

/// What the tokens of a vocabulary are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pieces {
    /// Up to whole lines.
    Lines,
    /// Words, numbers and signs.
    Words,
    /// Words, digits and signs.
    WordsAndDigits,
}

impl Pieces {
    /// The regular expression of a piece, where scripts stand in calls of `format`.
    pub(super) fn pattern(self, format: ToolCallFormat) -> &'static str {
        match (self, format) {
            (Self::Lines, ToolCallFormat::Code) => LINES,
            (Self::Words, ToolCallFormat::Code) => WORDS,
            (Self::Lines, ToolCallFormat::Hermes) => LINES_IN_JSON,
            (Self::Words, ToolCallFormat::Hermes) => WORDS_IN_JSON,
            // What is learnt without tools has no calls in any format.
            (Self::WordsAndDigits, _) => WORDS_AND_DIGITS,
        }
    }
}
