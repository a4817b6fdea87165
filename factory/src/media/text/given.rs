//! Texts that are given, and what can be wrong with them.

use super::blemish::{BARE, TYPOS, slipped, strength};
use super::counts;
use super::lexicon::LONG;
use crate::media::{Blemish, Format, ItemReader, Look, MediumError, Reading};
use crate::numeric::draws::Draws;

/// The longest text that can be written, in bytes.
pub(crate) const MOST_TEXT: usize = 4 << 10;
/// The fewest words: a cell with two of them is read as text by whatever reads tables.
const FEWEST_WORDS: usize = 2;

/// ASCII texts of any content.
#[derive(Debug)]
pub struct GivenText;

impl ItemReader for GivenText {
    fn blemishes(&self) -> &'static [Blemish] {
        &[TYPOS, BARE]
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Cells, Format::Text]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        let text = decode(bytes)?;
        let (plain, generic) = (counts::plain(text), counts::generic(text));
        Ok(Reading { plain, generic, estimates: Vec::new() })
    }

    fn python(&self) -> &'static str {
        include_str!("counts.py")
    }
}

/// Makes sure that a text can be written: printable ASCII and line ends, of two words or more and
/// at most 4 KiB.
pub(crate) fn check(text: &str) -> Result<(), MediumError> {
    if text.len() > MOST_TEXT {
        let length = text.len();
        return Err(MediumError(format!("a text of {length} bytes; give at most {MOST_TEXT}")));
    }
    check_content(text)
}

fn check_content(text: &str) -> Result<(), MediumError> {
    let shows = |c: char| c.is_ascii_graphic() || c == ' ' || c == '\n';
    if let Some(other) = text.chars().find(|c| !shows(*c)) {
        return Err(MediumError(format!(
            "a text with {other:?}; give letters, digits and marks of ASCII, blanks and line feeds"
        )));
    }
    let words = text.split_ascii_whitespace().count();
    if words < FEWEST_WORDS {
        return Err(MediumError(format!("a text of {words} words; give {FEWEST_WORDS} or more")));
    }
    Ok(())
}

/// The text as it is kept, with the blemishes in force. Blanks and empty lines that part nothing are
/// dropped, so that they carry nothing. In cells, blanks stand for line feeds; files end with one.
pub(crate) fn write(text: &str, look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
    let text = tidied(&blemished(text, strength(look, TYPOS), strength(look, BARE), draws));
    let text = if look.format == Format::Cells { text.replace('\n', " ") } else { text + "\n" };
    text.into_bytes()
}

/// A text with one blank between words, none at the ends of lines, and at most one empty line between
/// others.
fn tidied(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

/// A text with a share of its longer words mistyped, and a share of the full stops and semicolons
/// that end words missing. Only words of letters alone are mistyped, and blanks stay as they are.
pub(super) fn blemished(text: &str, typos: f64, bare: f64, draws: &mut Draws) -> String {
    let mut blemished = String::with_capacity(text.len() + text.len() / LONG);
    for part in text.split_inclusive([' ', '\n']) {
        let mut word = part.trim_end_matches([' ', '\n']);
        let gap = &part[word.len()..];
        if word.len() > 1 && word.ends_with(['.', ';']) && draws.chance(bare) {
            word = &word[..word.len() - 1];
        }
        let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let lettered = core.bytes().all(|byte| byte.is_ascii_alphabetic());
        if core.len() >= LONG && lettered && draws.chance(typos) {
            let (before, after) = word.split_once(core).unwrap_or_default();
            blemished.extend([before, &slipped(core, draws), after]);
        } else {
            blemished.push_str(word);
        }
        blemished.push_str(gap);
    }
    blemished
}

/// The text of a cell, or of a file without the line feed at its end.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, MediumError> {
    let text = std::str::from_utf8(bytes).map_err(|error| MediumError(error.to_string()))?;
    check_content(text)?;
    Ok(text.strip_suffix('\n').unwrap_or(text))
}
