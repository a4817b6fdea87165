//! Patterns of text with slots and choices, and banks of them.
//!
//! In a pattern, `{symbol}` is replaced by a fact or by another pattern; `{Symbol}` begins with a
//! capital; `{a symbol}` gets an article. `[one|other|]` is a choice, which may be empty and may
//! hold slots and further choices.

use std::collections::BTreeMap;
use std::str::FromStr;

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PatternPart {
    /// Text as it stands.
    Text(String),
    /// What a symbol stands for.
    Slot {
        /// Name of a fact or of a list of patterns.
        symbol: String,
        /// Whether the text begins with a capital.
        capital: bool,
        /// Whether an indefinite article comes first.
        article: bool,
    },
    /// One of several patterns.
    Choice(Vec<Pattern>),
}

/// Text with slots and choices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(pub(super) Vec<PatternPart>);

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a pattern: {what}")]
pub(super) struct PatternError {
    text: String,
    what: &'static str,
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let (pattern, rest) =
            parse(text).map_err(|what| PatternError { text: text.to_owned(), what })?;
        match rest {
            "" => Ok(pattern),
            _ => Err(PatternError { text: text.to_owned(), what: "`]` or `|` without `[`" }),
        }
    }
}

/// A pattern up to the end of its choice, and what follows.
fn parse(text: &str) -> Result<(Pattern, &str), &'static str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        let plain = rest.find(['{', '}', '[', '|', ']']).unwrap_or(rest.len());
        if plain > 0 {
            parts.push(PatternPart::Text(rest[..plain].to_owned()));
        }
        rest = &rest[plain..];
        match rest.chars().next() {
            Some('{') => {
                let (slot, after) = rest[1..].split_once('}').ok_or("`{` without `}`")?;
                parts.push(parse_slot(slot)?);
                rest = after;
            }
            Some('[') => {
                let (choice, after) = parse_choice(&rest[1..])?;
                parts.push(choice);
                rest = after;
            }
            Some('}') => return Err("`}` without `{`"),
            // Whether a choice is open here is the caller's to know.
            _ => return Ok((Pattern(parts), rest)),
        }
    }
}

fn parse_choice(text: &str) -> Result<(PatternPart, &str), &'static str> {
    let (mut choices, mut rest) = (Vec::new(), text);
    loop {
        let (pattern, after) = parse(rest)?;
        choices.push(pattern);
        match after.split_at_checked(1) {
            Some(("|", after)) => rest = after,
            Some(("]", after)) => return Ok((PatternPart::Choice(choices), after)),
            _ => return Err("`[` without `]`"),
        }
    }
}

fn parse_slot(slot: &str) -> Result<PatternPart, &'static str> {
    let capital = slot.starts_with(char::is_uppercase);
    let slot = slot.to_lowercase();
    let (article, symbol) =
        slot.strip_prefix("a ").map_or((false, slot.as_str()), |symbol| (true, symbol));
    if symbol.is_empty() || !symbol.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
        return Err("a slot holds a name, as in `{row}` or `{a row}`");
    }
    Ok(PatternPart::Slot { symbol: symbol.to_owned(), capital, article })
}

/// Lists of patterns by symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatternBank(BTreeMap<String, Vec<Pattern>>);

/// Why a file is no bank of patterns.
#[derive(Debug, thiserror::Error)]
pub(super) enum PatternBankError {
    /// It is not TOML with lists of texts.
    #[error("failed to parse the patterns")]
    Toml(#[from] toml::de::Error),
    /// One of the texts is no pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A list has no pattern.
    #[error("`{0}` has no patterns")]
    Empty(String),
}

impl FromStr for PatternBank {
    type Err = PatternBankError;

    fn from_str(text: &str) -> Result<Self, PatternBankError> {
        let lists: BTreeMap<String, Vec<String>> = toml::from_str(text)?;
        let mut bank = BTreeMap::new();
        for (symbol, texts) in lists {
            if texts.is_empty() {
                return Err(PatternBankError::Empty(symbol));
            }
            let patterns = texts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
            bank.insert(symbol, patterns);
        }
        Ok(Self(bank))
    }
}

impl PatternBank {
    /// The patterns of a symbol; `None` if the bank has no such symbol.
    pub(super) fn patterns(&self, symbol: &str) -> Option<&[Pattern]> {
        self.0.get(symbol).map(Vec::as_slice)
    }

    /// All symbols with their patterns, in order of their names.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[Pattern])> {
        self.0.iter().map(|(symbol, patterns)| (symbol.as_str(), patterns.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(symbol: &str, capital: bool, article: bool) -> PatternPart {
        PatternPart::Slot { symbol: symbol.to_owned(), capital, article }
    }

    #[test]
    fn slots_and_choices_are_parsed() {
        let Pattern(parts) = "{Org} [has|keeps [all|]] {a row}.".parse().unwrap();
        let text = |text: &str| PatternPart::Text(text.to_owned());
        let inner = PatternPart::Choice(vec![Pattern(vec![text("all")]), Pattern(Vec::new())]);
        let choice = PatternPart::Choice(vec![
            Pattern(vec![text("has")]),
            Pattern(vec![text("keeps "), inner]),
        ]);
        let expected = [
            slot("org", true, false),
            text(" "),
            choice,
            text(" "),
            slot("row", false, true),
            text("."),
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn malformed_patterns_are_refused() {
        for text in ["{row", "row}", "[one|two", "one]", "a|b", "{two words}", "{}", "[", "[a"] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
        assert!("a = []".parse::<PatternBank>().is_err());
        assert!("a = [\"{\"]".parse::<PatternBank>().is_err());
    }
}
