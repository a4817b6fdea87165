//! Text from the banks of patterns, by draws.

use super::english::{capitalised, with_article};
use super::pattern::{Pattern, PatternBank, PatternPart};
use crate::numeric::draws::Draws;
use crate::spec::embedded;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use tasks::stream::Stream;

/// The files of `factory/pages/`, by name without extension.
static BANKS: LazyLock<BTreeMap<&'static str, PatternBank>> = LazyLock::new(|| {
    let parse = |(file, text): &(&'static str, &str)| {
        let bank = text.parse().expect("a test parses every embedded file");
        (file.trim_end_matches(".toml"), bank)
    };
    embedded::PAGES.iter().map(parse).collect()
});

/// The bank of the domains that have none of their own.
const GENERAL: &str = "domain_general";

/// The names of the registers' banks, sorted.
pub(super) fn registers() -> Vec<&'static str> {
    BANKS.keys().copied().filter(|name| name.starts_with("register_")).collect()
}

/// Text from the banks of one register and one domain. Each text has a stream of its own, by its
/// symbol and by how often that symbol was asked for.
#[derive(Debug)]
pub(super) struct Phrases {
    banks: [&'static PatternBank; 3],
    facts: BTreeMap<String, String>,
    stream: Stream,
    /// Number of texts by symbol.
    calls: BTreeMap<String, u64>,
    /// Patterns that were used, by symbol and position. None is used twice before all are.
    used: BTreeMap<String, BTreeSet<usize>>,
}

impl Phrases {
    /// Text in a register, with the people and places of a domain; other domains than those with
    /// a file have general ones.
    ///
    /// # Panics
    /// If there is no such register.
    pub(super) fn new(register: &str, domain: &str, stream: Stream) -> Self {
        let domain = BANKS.get(format!("domain_{domain}").as_str()).unwrap_or(&BANKS[GENERAL]);
        Self {
            banks: [&BANKS[register], domain, &BANKS["common"]],
            facts: BTreeMap::new(),
            stream,
            calls: BTreeMap::new(),
            used: BTreeMap::new(),
        }
    }

    /// Makes a symbol stand for a text from now on.
    pub(super) fn set(&mut self, symbol: &str, text: impl Into<String>) {
        self.facts.insert(symbol.to_owned(), text.into());
    }

    /// Draws a text for a symbol, and makes the symbol stand for it from now on.
    pub(super) fn fix(&mut self, symbol: &str) {
        let text = self.text(symbol);
        self.set(symbol, text);
    }

    /// A text for a symbol, as the pattern has it.
    ///
    /// # Panics
    /// If no fact and no bank has the symbol, or one of those that it leads to.
    pub(super) fn text(&mut self, symbol: &str) -> String {
        let calls = self.calls.entry(symbol.to_owned()).or_default();
        let mut draws = Draws::new(self.stream.child(symbol).index(*calls));
        *calls += 1;
        tidied(&self.symbol(symbol, &mut draws))
    }

    /// A text for a symbol whose sentences begin with capitals.
    ///
    /// # Panics
    /// As [`Phrases::text`].
    pub(super) fn sentences(&mut self, symbol: &str) -> String {
        let text = self.text(symbol);
        let mut sentences = String::with_capacity(text.len());
        // Whether a sentence has ended, and whether the next letter begins one.
        let (mut ended, mut begins) = (false, true);
        for c in text.chars() {
            if begins && !c.is_whitespace() {
                sentences.extend(c.to_uppercase());
            } else {
                sentences.push(c);
            }
            // The point of a number or of a file's name ends no sentence.
            begins = c.is_whitespace() && (begins || ended);
            ended = matches!(c, '.' | '?' | '!');
        }
        sentences
    }

    fn symbol(&mut self, symbol: &str, draws: &mut Draws) -> String {
        if let Some(fact) = self.facts.get(symbol) {
            return fact.clone();
        }
        let patterns = self.banks.iter().find_map(|bank| bank.patterns(symbol));
        let patterns = patterns.unwrap_or_else(|| panic!("there is a pattern for `{symbol}`"));
        let used = self.used.entry(symbol.to_owned()).or_default();
        if used.len() == patterns.len() {
            used.clear();
        }
        let unused: Vec<usize> = (0..patterns.len()).filter(|at| !used.contains(at)).collect();
        let at = *draws.pick(&unused);
        used.insert(at);
        self.pattern(&patterns[at], draws)
    }

    fn pattern(&mut self, pattern: &Pattern, draws: &mut Draws) -> String {
        let mut text = String::new();
        for part in &pattern.0 {
            match part {
                PatternPart::Text(plain) => text.push_str(plain),
                PatternPart::Choice(choices) => {
                    let chosen = draws.whole(0, choices.len() - 1);
                    text.push_str(&self.pattern(&choices[chosen], draws));
                }
                PatternPart::Slot { symbol, capital, article } => {
                    let mut filled = self.symbol(symbol, draws);
                    if *article {
                        filled = with_article(&filled);
                    }
                    text.push_str(&if *capital { capitalised(&filled) } else { filled });
                }
            }
        }
        text
    }
}

/// Text without the blanks that empty choices leave.
fn tidied(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut rest = text.trim().chars().peekable();
    while let Some(c) = rest.next() {
        // Three points stand for what is left out, with a blank before them.
        let mark = ",.;:?!".contains(c) && rest.peek() != Some(&'.');
        if tidied.ends_with(' ') && (c == ' ' || mark) {
            tidied.pop();
        }
        tidied.push(c);
    }
    tidied
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Symbols that are facts of a task.
    const FACTS: [&str; 55] = [
        "named_file",
        "file_label",
        "extension",
        "bytes",
        "most",
        "class_count",
        "columns",
        "last_column",
        "row",
        "rows",
        "story_one_raw",
        "story_two_raw",
        "story_raw",
        "target",
        "targets",
        "labels",
        "means",
        "classes",
        "query",
        "series",
        "step",
        "season",
        "period_steps",
        "train",
        "test",
        "truth",
        "id",
        "shows",
        "size",
        "levels",
        "top",
        "column",
        "companion",
        "factor",
        "share",
        "echo",
        "blemish",
        "items",
        "low",
        "high",
        "unit",
        "words",
        "count",
        "common",
        "form",
        "measure",
        "metric",
        "better",
        "content",
        "pixels",
        "second",
        "position",
        "positions",
        "sequence",
        "place_column",
    ];

    fn slots(pattern: &Pattern) -> Vec<&str> {
        let mut found = Vec::new();
        for part in &pattern.0 {
            match part {
                PatternPart::Text(_) => {}
                PatternPart::Slot { symbol, .. } => found.push(symbol.as_str()),
                PatternPart::Choice(choices) => found.extend(choices.iter().flat_map(slots)),
            }
        }
        found
    }

    fn phrases(stream: u64) -> Phrases {
        Phrases::new("register_memo", "retail", Stream::root(stream))
    }

    #[test]
    fn every_embedded_file_is_a_bank_with_the_symbols_of_its_kind() {
        assert!(registers().len() >= 8);
        for kind in ["register_", "domain_"] {
            let of_kind: Vec<(&&str, &PatternBank)> =
                BANKS.iter().filter(|(name, _)| name.starts_with(kind)).collect();
            let symbols = |bank: &PatternBank| -> Vec<String> {
                bank.iter().map(|(symbol, _)| symbol.to_owned()).collect()
            };
            let expected = symbols(of_kind[0].1);
            for (name, bank) in &of_kind {
                assert_eq!(symbols(bank), expected, "{name}");
            }
        }
        let domains = crate::spec::scenario::domains(&crate::spec::scenario::all().unwrap());
        for domain in domains {
            assert!(BANKS.contains_key(format!("domain_{domain}").as_str()), "{domain}");
        }
    }

    #[test]
    fn every_slot_is_a_fact_or_has_patterns() {
        let everywhere: BTreeSet<&str> = BANKS
            .iter()
            .filter(|(name, _)| ["common", "domain_general", "register_memo"].contains(name))
            .flat_map(|(_, bank)| bank.iter().map(|(symbol, _)| symbol))
            .collect();
        for (name, bank) in BANKS.iter() {
            for (symbol, patterns) in bank.iter() {
                for slot in patterns.iter().flat_map(slots) {
                    let known = everywhere.contains(slot)
                        || FACTS.contains(&slot)
                        || ["later", "name_two", "org", "one_class"].contains(&slot);
                    assert!(known, "{name}: {symbol}: {slot}");
                }
            }
        }
    }

    #[test]
    fn no_pattern_is_used_twice_before_all_are() {
        let mut phrases = phrases(1);
        let patterns = phrases.banks[1].patterns("source").unwrap().len();
        let texts: BTreeSet<String> = (0..patterns).map(|_| phrases.text("source")).collect();
        assert_eq!(texts.len(), patterns);
    }

    #[test]
    fn text_of_a_symbol_does_not_depend_on_other_symbols() {
        let (mut one, mut other) = (phrases(2), phrases(2));
        other.fix("org");
        assert_eq!(one.text("weekday"), other.text("weekday"));
        assert_ne!(one.text("place"), phrases(3).text("place"));
    }

    #[test]
    fn blanks_of_empty_choices_are_left_out() {
        assert_eq!(tidied(" a  b , c . "), "a b, c.");
        assert_eq!(tidied("`a b ...`, c"), "`a b ...`, c");
    }

    #[test]
    fn sentences_begin_with_capitals_and_numbers_end_none() {
        let mut phrases = phrases(4);
        phrases.set("said", "it is 9.5 m. see `train.csv`. then? yes.");
        assert_eq!(phrases.sentences("said"), "It is 9.5 m. See `train.csv`. Then? Yes.");
    }
}
