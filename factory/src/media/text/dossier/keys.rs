//! The words by which a reader finds its way: names, months, things that break down, parties, words
//! of alarm; and the words of the cues. Typing mistakes lead back to them.

use super::bank::{BANKS, Cue};
use super::genre::Trade;
use crate::media::text::lexicon::mistyped_forms;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// The lists of words, shared with the Python twin.
pub(super) const LISTS: &str = include_str!("banks/keys.txt");

/// Units of amounts.
const UNITS: [&str; 2] = ["minutes", "euros"];

/// A word that means something to the reader.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) word: &'static str,
    /// Counting from 0.
    pub(super) month: Option<usize>,
    /// Which of the persons of all lists.
    pub(super) person: Option<usize>,
    /// Whether it is something that can break down.
    pub(super) matter: bool,
    /// Which of the two parties of its trade.
    pub(super) party: Option<usize>,
    pub(super) strong: bool,
    pub(super) staffing: bool,
    /// The cues that begin with it.
    pub(super) cues: Vec<&'static Cue>,
}

impl Known {
    /// Whether it means nothing but for the cues that it is a word of.
    #[cfg(test)]
    pub(super) fn is_of_cues_alone(&self) -> bool {
        let of_lists = self.month.is_some() || self.person.is_some() || self.party.is_some();
        !(of_lists || self.matter || self.strong || self.staffing || UNITS.contains(&self.word))
    }
}

/// The lists of words and all known words, under every form.
#[derive(Debug)]
pub(super) struct Keys {
    lists: BTreeMap<&'static str, Vec<&'static str>>,
    known: Vec<Known>,
    /// The place of a known word, and whether it is spelled as it should be. It is looked up, never
    /// gone through.
    forms: HashMap<String, (usize, bool)>,
}

impl Keys {
    /// The words of a list; none if there is no such list.
    pub(super) fn list(&self, name: &str) -> &[&'static str] {
        self.lists.get(name).map_or(&[], Vec::as_slice)
    }

    /// What can break down in a trade.
    pub(super) fn matters(&self, trade: Trade) -> &[&'static str] {
        self.list(name(trade))
    }

    /// The two parties of a trade.
    pub(super) fn parties(&self, trade: Trade) -> &[&'static str] {
        self.list(&format!("{} parties", name(trade)))
    }

    /// The known word that a word in lower case is, and whether it is spelled as it should be.
    pub(super) fn known(&self, word: &str) -> Option<(&Known, bool)> {
        self.forms.get(word).map(|(place, exact)| (&self.known[*place], *exact))
    }

    /// All known words.
    #[cfg(test)]
    pub(super) fn all(&self) -> &[Known] {
        &self.known
    }
}

/// The name of a trade's list.
fn name(trade: Trade) -> &'static str {
    match trade {
        Trade::Ward => "ward",
        Trade::Plant => "plant",
        Trade::Hotel => "hotel",
        Trade::Farm => "farm",
        Trade::Systems => "systems",
        Trade::Transport => "transport",
        Trade::School => "school",
        Trade::Office => "office",
    }
}

/// All keys, made once.
pub(super) static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let lists: BTreeMap<&str, Vec<&str>> = LISTS
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, words)| (name, words.split(' ').collect()))
        .collect();
    let mut known: BTreeMap<&str, Known> = BTreeMap::new();
    let mut named = 0;
    // In the order of the file.
    for name in LISTS.lines().filter_map(|line| Some(line.split_once(": ")?.0)) {
        for (place, entry) in lists[name].iter().enumerate() {
            for word in entry.split('/') {
                let known = known.entry(word).or_insert(Known { word, ..Known::default() });
                match name {
                    "month" => known.month = Some(place),
                    "surname" | "first" => known.person = Some(named),
                    "strong" => known.strong = true,
                    "staffing" => known.staffing = true,
                    name if name.ends_with("parties") => known.party = Some(place),
                    _ => known.matter = true,
                }
            }
            named += usize::from(["surname", "first"].contains(&name));
        }
    }
    for cue in BANKS.cues.all().filter_map(|(_, template)| template.cue.as_ref()) {
        for (place, word) in cue.words.iter().enumerate() {
            let known = known.entry(word).or_insert(Known { word, ..Known::default() });
            if place == 0 {
                known.cues.push(cue);
            }
        }
    }
    for word in UNITS {
        known.entry(word).or_insert(Known { word, ..Known::default() });
    }
    let known: Vec<Known> = known.into_values().collect();
    // Right spellings go first: no mistyped form displaces them.
    let mut forms: HashMap<String, (usize, bool)> = HashMap::new();
    for (place, known) in known.iter().enumerate() {
        forms.insert(known.word.to_owned(), (place, true));
    }
    for (place, known) in known.iter().enumerate() {
        for form in mistyped_forms(known.word) {
            forms.entry(form).or_insert((place, false));
        }
    }
    Keys { lists, known, forms }
});
