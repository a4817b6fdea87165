//! Banks of sentences: one for all dossiers, one per trade, one per register.
//!
//! A bank is a text file. Each of its lines is `kind: sentence`, the sentence without its capital and
//! its full stop. `{it}` is a slot, `[door|way]` a choice, and `<is working again>` a *cue*: words by
//! which the reader recognises the sentence, and which no other sentence has. A star behind the kind
//! says that the sentence does not suit every genre.

use super::genre::{Register, Trade};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The sentences with cues, which the Python twin reads, too.
pub(super) const CUES: &str = include_str!("banks/cues.txt");

/// What a sentence with a cue says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CueKind {
    /// A thing works.
    Good,
    /// A thing does not work.
    Bad,
    /// Whose fault something was.
    Blame,
    /// Thanks.
    Praise,
    /// When the management was asked for something.
    Request,
    /// When the management answered.
    Answer,
    /// What was paid.
    Paid,
}

impl CueKind {
    const ALL: [(&'static str, Self); 7] = [
        ("good", Self::Good),
        ("bad", Self::Bad),
        ("blame", Self::Blame),
        ("praise", Self::Praise),
        ("request", Self::Request),
        ("answer", Self::Answer),
        ("paid", Self::Paid),
    ];

    /// The slots that say what it is about.
    fn slots(self) -> &'static [&'static str] {
        match self {
            Self::Good | Self::Bad => &["{it}"],
            Self::Blame => &["{guilty}", "{other}"],
            Self::Praise => &[],
            Self::Request | Self::Answer => &["{date}"],
            Self::Paid => &["{sum}"],
        }
    }
}

/// Where a sentence names what it is about, seen from its cue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Before the cue.
    Before,
    /// Behind the cue.
    After,
}

/// The words by which a sentence is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cue {
    pub(super) kind: CueKind,
    /// In lower case, without marks around them.
    pub(super) words: Vec<&'static str>,
    /// Where the nearest mention of what it is about stands.
    pub(super) side: Side,
    /// Whether the party named nearest is the one that did nothing wrong.
    pub(super) inverted: bool,
}

impl Cue {
    fn of(kind: CueKind, line: &'static str) -> Option<Self> {
        let (before, rest) = line.split_once('<')?;
        let (words, after) = rest.split_once('>')?;
        let slots = kind.slots();
        let last = slots.iter().filter_map(|slot| Some((before.rfind(slot)?, *slot))).max();
        let first = slots.iter().filter_map(|slot| Some((after.find(slot)?, *slot))).min();
        let side = if last.is_some() { Side::Before } else { Side::After };
        let inverted = last.or(first).is_some_and(|(_, slot)| slot == "{other}");
        Some(Self { kind, words: words.split(' ').collect(), side, inverted })
    }
}

/// A sentence of a bank.
#[derive(Debug, Clone)]
pub(super) struct Template {
    /// With its slots and choices, without the marks of its cue.
    pub(super) text: String,
    /// Whether it does not suit every genre.
    pub(super) narrow: bool,
    pub(super) cue: Option<Cue>,
}

impl Template {
    /// Whether somebody is named.
    pub(super) fn names(&self) -> bool {
        self.text.contains("{person}")
    }
}

/// The sentences of one file, by their kind.
#[derive(Debug)]
pub(super) struct Bank(BTreeMap<&'static str, Vec<Template>>);

impl Bank {
    fn parse(file: &'static str) -> Self {
        let mut kinds: BTreeMap<&str, Vec<Template>> = BTreeMap::new();
        for (kind, line) in file.lines().filter_map(|line| line.split_once(": ")) {
            let name = kind.trim_end_matches('*');
            let cue_kind = CueKind::ALL.iter().find(|(known, _)| *known == name);
            let cue = cue_kind.and_then(|(_, kind)| Cue::of(*kind, line));
            let text = line.replace(['<', '>'], "");
            let narrow = kind.ends_with('*');
            kinds.entry(name).or_default().push(Template { text, narrow, cue });
        }
        Self(kinds)
    }

    /// The sentences of a kind; none if there is no such kind.
    pub(super) fn of(&self, kind: &str) -> &[Template] {
        self.0.get(kind).map_or(&[], Vec::as_slice)
    }

    /// All of its sentences.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &Template)> {
        self.0.iter().flat_map(|(kind, templates)| templates.iter().map(|t| (*kind, t)))
    }
}

/// The banks.
#[derive(Debug)]
pub(super) struct Banks {
    /// Sentences with cues.
    pub(super) cues: Bank,
    /// Sentences for all trades.
    pub(super) common: Bank,
    trades: BTreeMap<Trade, Bank>,
    registers: BTreeMap<Register, Bank>,
}

impl Banks {
    /// What happens in a trade.
    pub(super) fn trade(&self, trade: Trade) -> &Bank {
        &self.trades[&trade]
    }

    /// How a kind of papers words things.
    pub(super) fn register(&self, register: Register) -> &Bank {
        &self.registers[&register]
    }

    /// All banks.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = &Bank> {
        [&self.cues, &self.common]
            .into_iter()
            .chain(self.trades.values())
            .chain(self.registers.values())
    }
}

/// All banks, parsed once.
pub(super) static BANKS: LazyLock<Banks> = LazyLock::new(|| {
    let trade = |trade: Trade| match trade {
        Trade::Ward => include_str!("banks/ward.txt"),
        Trade::Plant => include_str!("banks/plant.txt"),
        Trade::Hotel => include_str!("banks/hotel.txt"),
        Trade::Farm => include_str!("banks/farm.txt"),
        Trade::Systems => include_str!("banks/systems.txt"),
        Trade::Transport => include_str!("banks/transport.txt"),
        Trade::School => include_str!("banks/school.txt"),
        Trade::Office => include_str!("banks/office.txt"),
    };
    let register = |register: Register| match register {
        Register::Letter => include_str!("banks/letter.txt"),
        Register::Log => include_str!("banks/log.txt"),
        Register::Minutes => include_str!("banks/minutes.txt"),
        Register::Inspection => include_str!("banks/inspection.txt"),
        Register::Forum => include_str!("banks/forum.txt"),
        Register::Interview => include_str!("banks/interview.txt"),
    };
    Banks {
        cues: Bank::parse(CUES),
        common: Bank::parse(include_str!("banks/common.txt")),
        trades: Trade::ALL.iter().map(|known| (*known, Bank::parse(trade(*known)))).collect(),
        registers: Register::ALL
            .iter()
            .map(|known| (*known, Bank::parse(register(*known))))
            .collect(),
    }
});

#[cfg(test)]
mod tests {
    use super::super::keys::KEYS;
    use super::*;
    use crate::media::text::lexicon::mistyped_forms;
    use std::collections::BTreeSet;

    /// The words of a sentence's fixed text; slots and choices part its runs.
    fn runs(text: &str) -> Vec<Vec<String>> {
        let word = |part: &str| {
            let core = part.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            core.to_ascii_lowercase()
        };
        let parts = text.split(' ').map(|part| {
            if part.contains(['{', '[', '|', ']']) { String::new() } else { word(part) }
        });
        let parts: Vec<String> = parts.collect();
        parts.split(String::is_empty).map(<[String]>::to_vec).collect()
    }

    #[test]
    fn banks_hold_some_hundred_sentences_of_plain_characters() {
        assert!(BANKS.all().flat_map(Bank::all).count() >= 900);
        for bank in BANKS.all() {
            let mut seen = BTreeSet::new();
            for (kind, template) in bank.all() {
                let text = &template.text;
                assert!(seen.insert((kind, text)), "`{text}` stands twice");
                let plain = text.is_ascii() && !text.contains(['<', '>', '\\', '"']);
                assert!(plain && (kind == "question") == text.contains(['.', '?']), "{text}");
            }
        }
    }

    #[test]
    fn no_sentence_has_the_cue_of_another() {
        let cues: Vec<&Template> = BANKS.cues.all().map(|(_, template)| template).collect();
        assert!(cues.iter().all(|template| template.cue.is_some()));
        for one in &cues {
            let cue = one.cue.as_ref().unwrap();
            for (_, other) in BANKS.all().flat_map(Bank::all) {
                let found = runs(&other.text).iter().any(|run| {
                    run.windows(cue.words.len()).any(|window| window == cue.words.as_slice())
                });
                assert_eq!(found, other.text == one.text, "`{}` and `{}`", one.text, other.text);
            }
        }
    }

    #[test]
    fn words_with_a_meaning_stand_only_where_they_mean_it() {
        for (kind, template) in BANKS.all().flat_map(Bank::all) {
            let words =
                || template.text.split([' ', '[', ']', '|']).map(|word| word.trim_matches(','));
            for list in ["strong", "staffing"] {
                let held = words().filter(|word| KEYS.list(list).contains(word)).count();
                assert_eq!(held, usize::from(kind == list), "{}", template.text);
            }
            let units = words().filter(|word| ["euros", "minutes"].contains(word)).count();
            let amounts = usize::from(["wait", "paid", "unpaid"].contains(&kind));
            assert!(units == amounts || kind == "opening", "{}", template.text);
        }
    }

    #[test]
    fn no_word_of_the_banks_is_another_one_mistyped() {
        for (_, template) in BANKS.all().flat_map(Bank::all) {
            for word in runs(&template.text).into_iter().flatten() {
                // Words of cues alone mean nothing.
                let Some((known, false)) = KEYS.known(&word) else { continue };
                assert!(known.is_of_cues_alone(), "{word}: {}", template.text);
            }
        }
        // A name or a key that is mistyped leads back to itself.
        for known in KEYS.all() {
            for form in mistyped_forms(known.word) {
                assert_eq!(KEYS.known(&form).map(|(it, _)| it.word), Some(known.word), "{form}");
            }
        }
    }

    #[test]
    fn every_thing_that_can_break_has_reports_in_its_trade() {
        for trade in Trade::ALL {
            let matters = KEYS.matters(trade);
            assert!(matters.len() >= 12, "{trade:?}");
            for matter in matters {
                let prefix = format!("{matter}: ");
                let reports = BANKS.trade(trade).of("report").iter();
                let of_it: Vec<_> = reports.filter(|r| r.text.starts_with(&prefix)).collect();
                assert_eq!(of_it.len(), 2, "{matter}");
                assert!(of_it.iter().all(|r| r.text.matches(matter).count() == 2), "{matter}");
            }
            assert_eq!(KEYS.parties(trade).len(), 2);
        }
    }
}
