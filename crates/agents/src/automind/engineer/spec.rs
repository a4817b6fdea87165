//! The engineer's plans: a recipe with its settings and the cards that it takes in, as text that
//! carries all that is needed to code it.

use super::reading::Reading;
use crate::fence::{fenced, walk};
use crate::knowledge::Slot;
use rand::seq::IndexedRandom as _;
use rand::{Rng, RngExt as _};
use std::fmt::Write as _;

/// The four plain recipes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PlainModel {
    Line,
    Neighbours,
    Forest,
    Boosting,
}

impl PlainModel {
    pub(super) const ALL: [Self; 4] = [Self::Line, Self::Neighbours, Self::Forest, Self::Boosting];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Neighbours => "neighbours",
            Self::Forest => "forest",
            Self::Boosting => "boosting",
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Line => "a penalised linear model on scaled columns",
            Self::Neighbours => "the nearest neighbours on scaled columns",
            Self::Forest => "a random forest",
            Self::Boosting => "boosted trees",
        }
    }
}

/// A snippet in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedCard {
    pub(super) id: String,
    pub(super) slot: Slot,
    pub(super) code: String,
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) model: PlainModel,
    /// Inverse of the penalty of a line.
    pub(super) strength: &'static str,
    pub(super) neighbours: u32,
    pub(super) trees: u32,
    pub(super) leaf: u32,
    pub(super) rounds: u32,
    pub(super) rate: &'static str,
    /// Least lines that can have a slip; `None` for no more than it takes.
    pub(super) lines: Option<u32>,
    /// In the order in which they were taken in.
    pub(super) cards: Vec<PlannedCard>,
    /// Names that were misspelt in the code that is to be repaired.
    pub(super) repairs: Vec<String>,
}

const STRENGTHS: [&str; 5] = ["0.01", "0.1", "1", "10", "100"];
const NEIGHBOURS: [u32; 4] = [3, 5, 10, 20];
const TREES: [u32; 3] = [30, 60, 120];
const LEAVES: [u32; 4] = [1, 2, 4, 8];
const ROUNDS: [u32; 3] = [30, 60, 120];
const RATES: [&str; 3] = ["0.03", "0.1", "0.2"];

impl Spec {
    pub(super) fn plain(model: PlainModel) -> Self {
        Self {
            model,
            strength: "1",
            neighbours: 10,
            trees: 60,
            leaf: 2,
            rounds: 60,
            rate: "0.1",
            lines: None,
            cards: Vec::new(),
            repairs: Vec::new(),
        }
    }

    /// The plan in words.
    pub(super) fn text(&self, reading: &Reading) -> String {
        let Self { model, strength, neighbours, trees, leaf, rounds, rate, .. } = self;
        let mut text = format!(
            "Settings: model={} strength={strength} neighbours={neighbours} trees={trees} \
             leaf={leaf} rounds={rounds} rate={rate}",
            model.name()
        );
        if let Some(lines) = self.lines {
            let _ = write!(text, " lines={lines}");
        }
        text.push_str("\n\nRead the tables");
        if reading.item.is_some() {
            text.push_str(", and each row's item as columns of numbers");
        }
        let _ = writeln!(
            text,
            ". Words become indicator columns, gaps medians. Fit {} to all columns, validate on \
             held-out training rows by `{}`, then fit to all rows and predict those of the test set.",
            model.in_words(),
            if reading.metric.is_empty() { "the metric" } else { &reading.metric },
        );
        for PlannedCard { id, slot, code } in &self.cards {
            let _ = write!(
                text,
                "\nCard `{id}` in slot `{}`:\n{}",
                slot.name(),
                fenced("python", code)
            );
        }
        for name in &self.repairs {
            let _ = write!(text, "\nRepair: `{name}` is misspelt in the code; all else stays.\n");
        }
        text
    }

    /// The plan that a text states; `None` for one of somebody else.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (mut settings, mut heads, mut repairs) = (None, Vec::new(), Vec::new());
        let mut codes: Vec<String> = Vec::new();
        walk(text, |line, block| {
            if let Some(block) = block {
                codes.resize((block + 1).max(codes.len()), String::new());
                codes[block].push_str(line);
                codes[block].push('\n');
                return;
            }
            settings = settings.or_else(|| line.strip_prefix("Settings: "));
            heads.extend(line.strip_prefix("Card `"));
            let name = line.strip_prefix("Repair: `").and_then(|line| line.split_once('`'));
            repairs.extend(name.map(|(name, _)| name.to_owned()));
        });
        let mut spec = Self::plain(PlainModel::Line);
        for word in settings?.split_whitespace() {
            let (key, value) = word.split_once('=')?;
            match key {
                "model" => spec.model = PlainModel::ALL.into_iter().find(|m| m.name() == value)?,
                "strength" => spec.strength = STRENGTHS.into_iter().find(|s| *s == value)?,
                "neighbours" => spec.neighbours = value.parse().ok()?,
                "trees" => spec.trees = value.parse().ok()?,
                "leaf" => spec.leaf = value.parse().ok()?,
                "rounds" => spec.rounds = value.parse().ok()?,
                "lines" => spec.lines = Some(value.parse().ok()?),
                "rate" => spec.rate = RATES.into_iter().find(|r| *r == value)?,
                _ => return None,
            }
        }
        for (head, code) in heads.into_iter().zip(codes) {
            let (id, slot) = head.split_once("` in slot `")?;
            let slot = Slot::from_name(slot.trim_end_matches("`:"))?;
            spec.cards.push(PlannedCard { id: id.to_owned(), slot, code });
        }
        spec.repairs = repairs;
        Some(spec)
    }

    /// Takes a card in; it replaces another one of a slot that has one card.
    pub(super) fn take(&mut self, card: PlannedCard) {
        self.cards
            .retain(|old| old.id != card.id && !(card.slot.is_single() && old.slot == card.slot));
        self.cards.push(card);
    }

    /// One setting anew. Another model takes the place of a card's.
    pub(super) fn vary(&mut self, rng: &mut impl Rng) {
        let mut kinds = vec![0];
        kinds.push(1 + PlainModel::ALL.iter().position(|model| *model == self.model).unwrap_or(0));
        match kinds.choose(rng).copied().unwrap_or(0) {
            1 => self.strength = other(&STRENGTHS, self.strength, rng),
            2 => self.neighbours = other(&NEIGHBOURS, self.neighbours, rng),
            3 if rng.random::<bool>() => self.trees = other(&TREES, self.trees, rng),
            3 => self.leaf = other(&LEAVES, self.leaf, rng),
            4 if rng.random::<bool>() => self.rounds = other(&ROUNDS, self.rounds, rng),
            4 => self.rate = other(&RATES, self.rate, rng),
            _ => {
                self.model = other(&PlainModel::ALL, self.model, rng);
                self.cards.retain(|card| card.slot != Slot::Model);
            }
        }
    }

    /// The code of the cards of a slot, one after the other; `None` if there are none.
    pub(super) fn cards_of(&self, slot: Slot) -> Option<String> {
        let mut codes = self.cards.iter().filter(|card| card.slot == slot).peekable();
        codes.peek()?;
        Some(codes.fold(String::new(), |code, card| code + card.code.trim_end() + "\n"))
    }
}

/// One of `all` that is not `known`.
fn other<T: Copy + PartialEq>(all: &[T], known: T, rng: &mut impl Rng) -> T {
    let others: Vec<T> = all.iter().copied().filter(|one| *one != known).collect();
    others.choose(rng).copied().unwrap_or(known)
}
